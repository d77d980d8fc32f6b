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
