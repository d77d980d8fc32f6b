"""A theory that is too hard, and actions that hostile code could try in the sandbox."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

# Two factors of a number of 80 bits: no solver finds them in seconds.
HARD = {
    "text": "(declare-const a (_ BitVec 40)) (declare-const b (_ BitVec 40))"
    "(declare-const x (_ BitVec 80)) (declare-const ok Bool)"
    "(assert (= x (bvmul ((_ zero_extend 40) a) ((_ zero_extend 40) b))))"
    "(assert (= ok (= x (_ bv604462909806215075725313 80))))"
    "(assert (bvugt a (_ bv1 40))) (assert (bvugt b (_ bv1 40)))",
    "inputs": "ok",
    "outputs": "ok",
}

# Requirements that try to be code, to escape into the copied program, or to take too much.
REQUIREMENTS = [
    '__import__("os").system("touch PATH")',
    'open("PATH", "w")',
    "a or (lambda: open('PATH', 'w'))()",
    "[a for a in ().__class__.__base__.__subclasses__()]",
    "a.__class__",
    "(a := b)",
    'f"{open}" == a',
    "exactly(1, *a)",
    "exactly(1, a, b=open)",
    "a or b; import os",
    "a or b\\",
    "a == 10 ** 10 ** 10",
    "(" * 2_000,
    "not " * 1_200 + "a",
    "a implies " * 400 + "a",
    "a\0",
    'a "or" b',
    'x in A/B\nx == "A\\"); import os #"',
    'x in A"/B\nx == "B"',
    "import os",
    "p cnf 9999999 0\n",
    'p cnf 2 1\n1 2 0\nc """; import os\nc 1 x);import',
    "PATH",
    'x in A/B\nmatches(x, "(A{1,999}){1,999}")',
    'x in A/B\nmatches(x, "\\\\1")',
    "x in A/B\nmatches(x, 'A|\"], print(open)) #')",
    "n in 0..99999999999999",
    "n, m in -5..5\nn * m * n == 3",
    "a" * 4_000 + " or b",
    ",".join(f"n{i}" for i in range(50)) + " in 0..30\nn0 == n1",
    "a or \ud800",
]


def work(request, limits):
    """Performs the action of a request; the request for warming up is empty."""
    return {"did": ACTIONS[request["do"]](request)} if request else {}


def _read(request):
    return Path(request["path"]).read_text()


def _write(request):
    Path(request["path"]).write_text("written")


def _program(request):
    return subprocess.run(["/bin/sh", "-c", f"echo > {request['path']}"], check=True)


def _fork_and_run(request):
    child = os.fork()
    if child == 0:
        try:
            os.execv("/bin/sh", ["sh", "-c", f"echo > {request['path']}"])
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1]


def _connect(request):
    socket.create_connection(("127.0.0.1", request["port"]), timeout=1)


def _block(request):
    return len(bytearray(1 << 30))


def _hoard(request):
    kept = []
    while True:
        kept.append(bytearray(32 << 20))


def _forever(request):
    while True:
        pass


def _asleep(request):
    time.sleep(3600)


def _long_answer(request):
    return "x" * 10_000_000


def _exit(request):
    os._exit(0)


def _crash(request):
    os.abort()


def _pid(request):
    return os.getpid()


def _deep(request):
    return _deep(request)


def _print(request):
    print("from inside")
    sys.stderr.write("from inside\n")
    os.write(1, b"from inside\n")


def _cache(request):
    return os.environ["SMTLAYER_CACHE"]


ACTIONS = {
    name.removeprefix("_"): action
    for name, action in list(globals().items())
    if name.startswith("_") and callable(action)
}
