"""What a hostile formula might try if it got hold of the process: each is run in a sandbox."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path


def work(question, limits):
    """Does what the question says; an empty one is the rehearsal."""
    return {"did": ACTIONS[question["do"]](question)} if question else {}


def _read(question):
    return Path(question["path"]).read_text()


def _write(question):
    Path(question["path"]).write_text("written")


def _program(question):
    return subprocess.run(["/bin/sh", "-c", f"echo > {question['path']}"], check=True)


def _fork_and_run(question):
    child = os.fork()
    if child == 0:
        try:
            os.execv("/bin/sh", ["sh", "-c", f"echo > {question['path']}"])
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def _connect(question):
    socket.create_connection(("127.0.0.1", question["port"]), timeout=1)


def _block(question):
    return len(bytearray(1 << 30))


def _hoard(question):
    kept = []
    while True:
        kept.append(bytearray(32 << 20))


def _forever(question):
    while True:
        pass


def _asleep(question):
    time.sleep(3600)


def _long_answer(question):
    return "x" * 10_000_000


def _exit(question):
    os._exit(0)


def _crash(question):
    os.abort()


def _deep(question):
    return _deep(question)


def _print(question):
    print("from inside")
    sys.stderr.write("from inside\n")
    os.write(1, b"from inside\n")


def _cache(question):
    return os.environ["SMTLAYER_CACHE"]


ACTIONS = {
    name.removeprefix("_"): action
    for name, action in list(globals().items())
    if name.startswith("_") and callable(action)
}
