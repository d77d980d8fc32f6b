"""Runs the default suite beside busy processes: it must not depend on a quiet machine."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOG = Path(tempfile.gettempdir()) / "smtlayer-under-load.log"
# Also ends without the process that started it, should that be killed.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: sum(range(10**6))"


@contextmanager
def load(processes: int) -> Iterator[None]:
    """So many processes that compute for ever; they end with the block, however it ends."""
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def counts(printed: str) -> str:
    """The last line of pytest, such as `2 failed, 40 passed in 3.21s`."""
    lines = re.findall(r"^=*\s*(.*\d+ (?:passed|failed|error).*?)\s*=*$", printed, re.MULTILINE)
    return lines[-1] if lines else "no counts"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--busy", type=int, default=6, help="busy processes beside the suite")
    parser.add_argument("--times", type=int, default=3, help="runs of the suite")
    parser.add_argument("--log", type=Path, default=LOG, help="file for what they print")
    parser.add_argument("command", nargs="*", default=["make", "test"])
    options = parser.parse_args()
    failed = 0
    with load(options.busy), options.log.open("w") as log:
        for number in range(1, options.times + 1):
            start = time.monotonic()
            done = subprocess.run(
                options.command, cwd=ROOT, text=True, check=False,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            log.write(done.stdout)
            log.flush()
            failed += done.returncode != 0
            verdict = "failed" if done.returncode else "passed"
            seconds = time.monotonic() - start
            print(f"run {number}: {verdict} in {seconds:.0f} s: {counts(done.stdout)}", flush=True)
    if failed:
        print(f"What they printed is in {options.log}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
