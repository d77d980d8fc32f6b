"""The layer timed against z3 and against a dense head."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer.lab.laboratory import one_thread
from smtlayer.nn import SMTLayer
from smtlayer.solvers import Table
from smtlayer.theory import to_signs
from smtlayer_benchmarks.baseline import RowByRow
from smtlayer_benchmarks.timing import Ratio, alternate
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.networks import DenseHead, DigitNetwork


def layer_against_z3(batch: int = 128, repeats: int = 10) -> Ratio:
    """MNIST addition, forward `smt` and backward `core`, against z3 asked row by row; one CPU core.

    Logits are random, so nearly every row needs a core in the backward pass. Our time includes
    autograd and the gradient; the baseline's time is that of its queries alone.
    """
    theory = addition_theory()
    layer = SMTLayer(theory, backend=Table())
    rows = RowByRow(theory)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, theory.n_inputs, generator=generator, requires_grad=True)
    targets = _possible_sums(theory.n_outputs, batch, generator)

    def ours() -> None:
        logits.grad = None
        loss = F.binary_cross_entropy_with_logits(layer(logits), targets)
        loss.backward()  # type: ignore[no-untyped-call]

    def theirs() -> None:
        signs = to_signs(logits.detach())
        rows.forward(signs)
        rows.backward(signs, (targets * 2 - 1).to(torch.int8))

    with one_thread():
        ours_ms, theirs_ms = alternate(ours, theirs, repeats, inner=(20, 1))
    return Ratio(
        "layer against z3", f"Table, forward smt + backward core, batch {batch}", ours_ms,
        "z3 row by row: push, assert, check, pop; core minimised", theirs_ms,
        theirs_ms / ours_ms, True, 100, "cpu, one core",
    )  # fmt: skip


def step_against_dense(device: str = "cpu", batch: int = 128, repeats: int = 0) -> Ratio:
    """A whole training step with the layer over the same step with a dense head.

    The paper's network and optimiser (SGD with momentum, clipped gradients); images are noise, so
    nearly every row needs a core in the backward pass.
    """
    repeats = repeats or (200 if device.startswith("cuda") else 8)
    theory = addition_theory()
    torch.manual_seed(0)
    heads = (SMTLayer(theory), DenseHead(theory))
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(batch, 2, 28, 28, generator=generator).to(device)
    targets = _possible_sums(theory.n_outputs, batch, generator).to(device)

    def step(model: Model) -> Callable[[], None]:
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True)
        return training_step(
            lambda: F.binary_cross_entropy_with_logits(model(images)[1], targets), optimizer, 0.1
        )

    ours, theirs = (step(Model(DigitNetwork(), head).to(device)) for head in heads)
    ours_ms, theirs_ms = alternate(ours, theirs, repeats, inner=(1, 1), device=device)
    return Ratio(
        "training step", f"digit network and SMTLayer, batch {batch}", ours_ms,
        "digit network and dense head", theirs_ms,
        ours_ms / theirs_ms, False, 1.25 if device.startswith("cuda") else 1.1, device,
    )  # fmt: skip


def training_step(
    loss: Callable[[], Tensor], optimizer: torch.optim.Optimizer, clip: float
) -> Callable[[], None]:
    """A whole training step: the loss, its gradient, clipped to a norm, and the optimiser."""
    parameters = [each for group in optimizer.param_groups for each in group["params"]]

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()

    return step


def _possible_sums(n_outputs: int, batch: int, generator: torch.Generator) -> Tensor:
    sums = torch.randint(0, 19, (batch, 1), generator=generator)
    place = torch.arange(n_outputs - 1, -1, -1)
    return ((sums >> place) & 1).float()
