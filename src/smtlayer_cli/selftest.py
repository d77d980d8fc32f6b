"""This file asks each backend a question whose answer is known, for `smtlayer doctor`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from smtlayer_cli.checks import Finding

if TYPE_CHECKING:
    from smtlayer.solvers import Backend

# Four rows of logits for a and b, and y = a xor b.
_LOGITS = ((2.0, -1.0), (3.0, 0.5), (-1.0, -2.0), (-0.5, 4.0))
_WANTED = (1.0, -1.0, -1.0, 1.0)
# The loss wants y in all rows. Rows that have it are held where they are; in the others both
# inputs are blamed, since either alone allows y, and pushed across zero.
_PUSHES = ((-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
_REPORT = "Please report this with what `smtlayer doctor --json` says."
_LIMITS = "Worker processes may not start: look at `ulimit -u`, memory and /dev/shm."


def backend(name: str) -> Iterator[Finding]:
    """Forward and backward through the layer with a backend, on every device."""
    import torch

    from smtlayer import solvers

    made: dict[str, Backend] = {
        "Table": solvers.Table(), "Sat": solvers.Sat(), "Z3": solvers.Z3(),
        "Enumerate": solvers.Enumerate(),
    }  # fmt: skip
    devices = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for device in devices:
        where = name if device == "cpu" else f"{name} on {device}"
        yield _asked(where, made[name], device)


def workers() -> Iterator[Finding]:
    """The same through a pool of two worker processes."""
    from smtlayer.solvers import Z3

    if sys.platform == "win32":
        said = "pools of worker processes need Linux or macOS"
        yield Finding("workers", "off", said, "workers=partial(ProcessPoolExecutor, 2)")
        return
    yield _asked("workers", Z3(workers=2), "cpu", _LIMITS)


def _asked(name: str, asked: Backend, device: str, remedy: str = _REPORT) -> Finding:
    import torch
    import z3

    from smtlayer.nn import SMTLayer
    from smtlayer.theory import Theory

    a, b, y = z3.Bools("a b y")
    start = time.perf_counter()
    layer = SMTLayer(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]), backend=asked)
    logits = torch.tensor(_LOGITS, device=device, requires_grad=True)
    outputs = layer(logits)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(outputs, torch.ones_like(outputs))
    loss.backward()  # type: ignore[no-untyped-call]
    took = 1000 * (time.perf_counter() - start)
    right = outputs.flatten().tolist() == list(_WANTED)
    pushes = [] if logits.grad is None else logits.grad.sign().tolist()
    pushed = pushes == [list(row) for row in _PUSHES]
    facts = {"forward": right, "backward": pushed, "ms": took}
    if right and pushed:
        said = f"a xor b, forward and backward, as it should be ({took:.0f} ms)"
        return Finding(name, "ok", said, "", facts)
    wrong = " and ".join(
        side for side, good in (("forward", right), ("backward", pushed)) if not good
    )
    return Finding(name, "broken", f"a xor b is wrong {wrong}", remedy, facts)
