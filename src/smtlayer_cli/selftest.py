"""Tests of each backend on a theory with known answers, for `smtlayer doctor`."""

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
# The loss wants y to be true in all rows. Where it is, the gradient confirms the inputs. Elsewhere
# both inputs are blamed, as changing either makes y true, and both are pulled across zero.
_GRADIENT = ((-1.0, 1.0), (1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))
_REPORT = "Please report this with the output of `smtlayer doctor --json`."
_LIMITS = "Worker processes may fail to start: check `ulimit -u`, memory and /dev/shm."


def backend(name: str) -> Iterator[Finding]:
    """Tests a backend forward and backward on every device."""
    import torch

    from smtlayer import solvers

    options: Backend = getattr(solvers, name)()
    yield run_layer(name, options, "cpu")
    if torch.cuda.is_available():
        yield run_layer(f"{name} on cuda", options, "cuda")


def workers() -> Iterator[Finding]:
    """Tests a pool of two worker processes."""
    from smtlayer.solvers import Z3

    if sys.platform == "win32":
        text = "pools of worker processes need Linux or macOS"
        yield Finding("workers", "off", text, "workers=partial(ProcessPoolExecutor, 2)")
        return
    yield run_layer("workers", Z3(workers=2), "cpu", _LIMITS)


def run_layer(name: str, options: Backend, device: str, remedy: str = _REPORT) -> Finding:
    """Runs the layer with a backend on a device."""
    import torch
    import z3

    from smtlayer.nn import SMTLayer
    from smtlayer.theory import Theory

    a, b, y = z3.Bools("a b y")
    start = time.perf_counter()
    layer = SMTLayer(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]), backend=options)
    logits = torch.tensor(_LOGITS, device=device, requires_grad=True)
    outputs = layer(logits)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(outputs, torch.ones_like(outputs))
    loss.backward()  # type: ignore[no-untyped-call]
    took = 1000 * (time.perf_counter() - start)
    right = outputs.flatten().tolist() == list(_WANTED)
    gradient = [] if logits.grad is None else logits.grad.sign().tolist()
    pulled = gradient == [list(row) for row in _GRADIENT]
    facts = {"forward": right, "backward": pulled, "ms": took}
    if right and pulled:
        text = f"a xor b is correct, forward and backward ({took:.0f} ms)"
        return Finding(name, "ok", text, "", facts)
    wrong = " and ".join(
        side for side, good in (("forward", right), ("backward", pulled)) if not good
    )
    return Finding(name, "broken", f"a xor b is wrong {wrong}", remedy, facts)
