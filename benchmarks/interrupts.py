"""Presses Ctrl-C for real while layers work, and forks real children while threads work.

Each backend, with and without worker processes, runs in a process of its own. This script sends
SIGINT to its process group at random times during forward passes (of many quick rows and of one
hard row in turn), backward passes, and compilation. A press that does not raise KeyboardInterrupt
is lost. After each press the layer must give correct answers. Then one process per backend forks
children while three of its threads use the layer; each child must give correct answers.

    python benchmarks/interrupts.py --presses 200 --children 100 --busy 2
"""

import argparse
import contextlib
import json
import math
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

BACKENDS = ("Z3", "Sat")
KINDS = ("forward", "backward", "compile")
WORKERS = (0, 2)
# A press ends busy workers, and the next batch has to start new ones: fewer presses there.
SHARE = {0: 6, 2: 1}
PATIENCE_S = 60.0  # on the busiest machine, before a press counts as lost or a child as stuck
BURN = "while True: pass"


@dataclass
class Presses:
    """What became of the presses of one combination."""

    backend: str
    kind: str
    workers: int
    sent: int = 0
    lost: int = 0
    wrong: int = 0  # layers that gave wrong answers afterwards
    seconds: list[float] = field(default_factory=list)  # from a press to its KeyboardInterrupt

    def __str__(self) -> str:
        slowest = f"{max(self.seconds):.2f} s" if self.seconds else "never"
        return (
            f"{self.backend:<4} {self.kind:<9} workers={self.workers}: {self.sent} presses sent, "
            f"{self.lost} lost, {self.wrong} wrong afterwards, slowest {slowest}"
        )


@dataclass
class Children:
    """What became of the forked children of one backend."""

    backend: str
    forked: int
    answered: int

    def __str__(self) -> str:
        return f"{self.backend:<4} fork: {self.answered} of {self.forked} children answered"


def main() -> int:
    """Prints one line per combination; 1 if a press was lost or a child did not answer."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog="200 presses and 100 children take about five minutes on two cores.",
    )
    parser.add_argument("--presses", type=int, default=200, help="in total (default: 200)")
    parser.add_argument("--children", type=int, default=100, help="per backend (default: 100)")
    parser.add_argument(
        "--workers", type=int, nargs="+", choices=WORKERS, default=WORKERS, help="of the backends"
    )
    parser.add_argument("--busy", type=int, default=0, help="processes that keep cores busy")
    parser.add_argument("--seed", type=int, default=0, help="of the times of the presses")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.inside[0], int(options.inside[1]), options.children)
    with burning(options.busy):
        presses, children = press_all(
            options.presses, options.workers, options.children, random.Random(options.seed)
        )
    rows: list[Any] = [*presses, *children]
    if options.json:
        parts = {"presses": presses, "children": children, "busy": options.busy}
        print(json.dumps(parts, default=asdict))
    else:
        print(*rows, sep="\n")
        print(f"{sum(p.lost for p in presses)} of {sum(p.sent for p in presses)} presses lost")
    wrong = any(p.lost or p.wrong for p in presses) or any(c.answered < c.forked for c in children)
    return int(wrong)


@contextlib.contextmanager
def burning(count: int) -> Iterator[None]:
    """Keeps this many processes busy."""
    started = [subprocess.Popen([sys.executable, "-c", BURN]) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def press_all(
    count: int, workers: list[int], forked: int, times: random.Random
) -> tuple[list[Presses], list[Children]]:
    """Spreads the presses over all combinations, at least one for each, and forks children."""
    combined, children = [], []
    whole = len(BACKENDS) * len(KINDS) * sum(SHARE[number] for number in workers)
    for backend in BACKENDS:
        for number in workers:
            due = max(1, math.ceil(count * SHARE[number] / whole))
            results = [Presses(backend, kind, number) for kind in KINDS]
            with started(backend, number, forked) as process:
                press(process, results, due, times)
                if number == workers[0]:
                    children.append(Children(backend, forked, fork(process, forked)))
                tell(process, "end")
                process.wait(PATIENCE_S)
            combined += results
    return combined, children


@contextlib.contextmanager
def started(backend: str, workers: int, children: int) -> "Iterator[subprocess.Popen[str]]":
    """A process of this script that works; its workers belong to its process group."""
    words = ["--inside", backend, str(workers), "--children", str(children)]
    with subprocess.Popen(
        [sys.executable, __file__, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        start_new_session=True,
        env={**os.environ, "SMTLAYER_CACHE": "off", "OMP_NUM_THREADS": "1"},
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def press(
    process: "subprocess.Popen[str]", results: list[Presses], due: int, times: random.Random
) -> None:
    """Presses in the middle of each kind of work, so many times."""
    for _ in range(due):
        for result in results:
            tell(process, result.kind)
            expect(process, "at work", 10 * PATIENCE_S)
            time.sleep(times.uniform(0.0, 0.3))
            one_press(process, result)


def one_press(process: "subprocess.Popen[str]", result: Presses) -> None:
    """Presses once, and has the process check that it still answers."""
    start = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    result.sent += 1
    if readable(process, PATIENCE_S):
        expect(process, "interrupted", 0)
        result.seconds.append(time.monotonic() - start)
    else:
        result.lost += 1
        tell(process, "lost")
        expect(process, "not interrupted", 10 * PATIENCE_S)
    tell(process, "answer")
    expect(process, ("right", "wrong"), 10 * PATIENCE_S)
    result.wrong += process.last == "wrong"  # type: ignore[attr-defined]


def tell(process: "subprocess.Popen[str]", line: str) -> None:
    """Sends a line."""
    assert process.stdin is not None
    process.stdin.write(line + "\n")


def readable(process: "subprocess.Popen[str]", seconds: float) -> bool:
    """Whether a line comes within some time."""
    return bool(select.select([process.stdout], [], [], seconds)[0])


def expect(process: "subprocess.Popen[str]", lines: str | tuple[str, ...], seconds: float) -> None:
    """Reads one of these lines, or ends this script."""
    if seconds and not readable(process, seconds):
        sys.exit(f"interrupts.py: no {lines!r} within {seconds:g} s.")
    assert process.stdout is not None
    line = process.last = process.stdout.readline().strip()  # type: ignore[attr-defined]
    if line not in ((lines,) if isinstance(lines, str) else lines):
        sys.exit(f"interrupts.py: expected {lines!r} from a process. Got {line!r}.")


def fork(process: "subprocess.Popen[str]", count: int) -> int:
    """Has the process fork so many children, one after the other; how many of them answered."""
    tell(process, "fork")
    expect(process, tuple(map(str, range(count + 1))), (count + 10) * PATIENCE_S)
    return int(process.last)  # type: ignore[attr-defined]


def inside(backend: str, workers: int, children: int) -> int:
    """What the processes of `started` do."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells may have it ignored
    work = Work(backend, workers)
    while (line := sys.stdin.readline().strip()) not in ("end", ""):
        if line == "fork":
            print(work.fork(children), flush=True)
            continue
        if line == "answer":
            print("right" if work.right() else "wrong", flush=True)
            continue
        try:
            print("at work", flush=True)
            while not select.select([sys.stdin], [], [], 0)[0]:
                getattr(work, line)()
            came = False
        except KeyboardInterrupt:
            came = True
        if not came:
            sys.stdin.readline()
        print("interrupted" if came else "not interrupted", flush=True)
    return 0


class Work:
    """Layers, and long work for them."""

    def __init__(self, backend: str, workers: int) -> None:
        import torch
        import z3

        import smtlayer

        self.torch, self.z3, self.smtlayer = torch, z3, smtlayer
        kind = getattr(smtlayer, backend)
        self.backend = kind(remember=0, workers=workers, timeout_ms=100_000)
        torch.manual_seed(0)
        self.layer = smtlayer.SMTLayer(self.addition(8), backend=self.backend)
        self.rows = torch.randn(3000 if backend == "Z3" else 30_000, 16)
        self.few = torch.randn(6, 16)
        self.expected = self.sums(self.few)
        self.hard = smtlayer.SMTLayer(self.factoring(), backend=self.backend)
        self.product = self.hard.theory.encode(product=4_294_967_291 * 4_294_967_279).double()
        self.turn = 0
        logits = self.rows[: 200 if backend == "Z3" else 1000].clone().requires_grad_()
        self.outputs = self.layer(logits)
        self.backward()  # PyTorch imports some of its modules when they are first used
        self.compile()
        assert self.right()

    def addition(self, bits: int, shift: int = 0) -> Any:
        a, b = self.z3.BitVecs("a b", bits)
        total = self.z3.BitVec("total", bits + 1)
        wide = self.z3.ZeroExt(1, a) + self.z3.ZeroExt(1, b)
        return self.smtlayer.Theory(total == wide + shift, inputs=[a, b], outputs=[total])

    def factoring(self) -> Any:
        p, q = self.z3.BitVecs("p q", 32)
        product = self.z3.BitVec("product", 64)
        rules = [product == self.z3.ZeroExt(32, p) * self.z3.ZeroExt(32, q), p != 1, q != 1]
        return self.smtlayer.Theory(rules, inputs=[product], outputs=[p])

    def sums(self, logits: Any) -> list[int]:
        weights = 2 ** self.torch.arange(7, -1, -1)
        values = ((logits > 0).reshape(-1, 2, 8) * weights).sum((1, 2))
        return [int(value) for value in values]

    def right(self) -> bool:
        """Whether the layer answers a few rows correctly, forward and backward."""
        logits = self.few.clone().requires_grad_()
        outputs = self.layer(logits)
        outputs.sum().backward()
        found = self.layer.theory.decode(outputs.detach())["total"].tolist()
        return bool(found == self.expected and logits.grad.isfinite().all())

    def forward(self) -> None:
        """Many quick rows, or one hard row."""
        self.turn += 1
        if self.turn % 2:
            self.layer(self.rows)
        else:
            self.hard(self.product[None], known=self.product[None] != 0)

    def backward(self) -> None:
        self.outputs.backward(self.torch.randn_like(self.outputs), retain_graph=True)

    def compile(self) -> None:
        """Compiles and checks a theory that no cache has seen, and lists models by z3."""
        self.turn += 1
        theory = self.addition(8, shift=self.turn)
        self.smtlayer.SMTLayer(theory, backend=self.backend)
        theory.check(max_models=2000)
        n = self.z3.Real("n")
        flags = self.z3.Bools("c0 c1 c2 c3 c4 c5 c6 c7")
        rule = self.z3.Sum([self.z3.If(flag, 1, 0) for flag in flags]) + n == self.turn
        listed = self.smtlayer.Theory([rule, n > 0.5], inputs=flags[:7], outputs=flags[7:])
        listed.check(max_models=2000)

    def fork(self, count: int) -> int:
        """How many of so many children answer, forked while three threads use the layer."""
        stop = threading.Event()

        def busy() -> None:
            while not stop.is_set():
                self.layer(self.torch.randn(40, 16))

        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        answered = 0
        for _ in range(count):
            child = os.fork()
            if not child:
                signal.alarm(int(PATIENCE_S))
                os._exit(0 if self.right() else 3)
            answered += os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
        return answered


if __name__ == "__main__":
    sys.exit(main())
