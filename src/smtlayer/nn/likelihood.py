r"""Probabilities of a theory, with their true gradient.

Logits $z$ give each input symbol a distribution (`smtlayer.solvers.reading`), so

$$P = \sum_{(x, y)} P(x)$$

over the models $(x, y)$ of the theory with the wanted outputs is a probability. The derivative of
its logarithm in a logit is the posterior probability of the logit's column, which the solver
computes in the same pass, minus the prior one. It is zero for inputs that are not known, for facts,
and in rows where $P = 0$.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from smtlayer.errors import UnsupportedError
from smtlayer.nn.function import refuse_bad
from smtlayer.nn.stats import Stats
from smtlayer.nn.validate import refuse_transformed
from smtlayer.solvers import Solution, Solver
from smtlayer.solvers.base import WEIGHING_BACKENDS, Posterior, WeighsModels
from smtlayer.solvers.reading import read

if TYPE_CHECKING:
    from smtlayer.nn.graph import CapturedLikelihood


@dataclass(frozen=True, slots=True, eq=False)
class Marginals:
    """Probabilities of columns given the theory; see `SMTLayer.marginals`."""

    inputs: Tensor  # (..., n) probability of being true, zeros where impossible
    outputs: Tensor  # (..., m) the same for the outputs
    log_prob: Tensor  # (...) log-probability of the theory and the wanted outputs


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """A batch of which probabilities are asked."""

    logits: Tensor  # (B, n) float
    known: Tensor | None  # (B, n) bool, None: all
    given: Tensor | None  # (B, n) bool, None: no facts
    outputs: Tensor  # (B, m) int8, 0 for no opinion

    def to(self, device: torch.device) -> "Evidence":
        """The same batch on another device."""
        known, given = (None if m is None else m.to(device) for m in (self.known, self.given))
        return Evidence(self.logits.to(device), known, given, self.outputs.to(device))

    def odds(self) -> Tensor:
        """Logits as solvers take them, 0 where not known, infinite for facts: (B, n) float64."""
        odds = self.logits.double()
        if self.known is not None:
            odds = torch.where(self.known, odds, 0)
        if self.given is not None:
            odds = torch.where(self.given, torch.where(self.logits > 0, 1, -1) * torch.inf, odds)
        return odds

    @property
    def real(self) -> torch.dtype:
        """The dtype of probabilities: that of the logits, at least float32."""
        return torch.promote_types(self.logits.dtype, torch.float32)

    def fixed(self) -> Tensor | None:
        """Which inputs get no gradient, because they are not known or are facts: (B, n) bool."""
        if self.known is None:
            return self.given
        return ~self.known if self.given is None else ~self.known | self.given


class LikelihoodFunction(torch.autograd.Function):
    """Logits (B, n) to log-probabilities (B,), and the product of their gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        evidence: Evidence,
        solver: Solver,
        stats: Stats,
        captured: "CapturedLikelihood | None",
        gradient: bool,
    ) -> Tensor:
        """The value, and its derivative if autograd may ask for it."""
        if captured is not None:
            value, slope, bad = captured.weigh(evidence)
            if bad:
                refuse_bad(logits, evidence.known, solver.theory, evidence.given)
        else:
            local = _checked(solver, evidence)
            value, slope = weigh(solver, stats, local, gradient)
        ctx.save_for_backward(value.to(logits.device), slope)
        return value.to(logits.device)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Posterior minus prior, times the incoming gradient."""
        refuse_transformed(grad)
        value, slope = ctx.saved_tensors
        pull = grad[:, None] * slope.to(grad.device)
        # zero in impossible rows, also if the gradient of a loss is infinite there
        return torch.where(value[:, None] > -torch.inf, pull, 0), None, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> NoReturn:
        """Raises: there is no forward-mode derivative."""
        raise RuntimeError(
            "SMTLayer.log_prob has no forward-mode derivative. Use loss.backward() or "
            "torch.autograd.grad."
        )


def weigh(
    solver: Solver, stats: Stats, evidence: Evidence, gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """The log-probability of each row, (B,), and its derivative in the logits, (B, n), or None."""
    weigher, odds, dtype = with_weights(solver), evidence.odds(), evidence.logits.dtype
    slope = None
    with stats.clock(solver), torch.autocast(odds.device.type, enabled=False):
        if not gradient:
            log_prob = weigher.log_prob(odds, evidence.outputs)
        else:
            found, fixed = weigher.marginal(odds, evidence.outputs), evidence.fixed()
            log_prob, slope = found.log_prob, found.inputs - read(solver.theory, odds).mean
            slope = (slope if fixed is None else torch.where(fixed, 0, slope)).to(dtype)
    possible = log_prob > -torch.inf
    stats.add({"impossible": ~possible})
    least = torch.finfo(dtype).min  # -inf is for what is impossible
    return torch.where(possible, log_prob.clamp(min=least), log_prob).to(dtype), slope


def posterior_of(solver: Solver, stats: Stats, evidence: Evidence) -> Posterior:
    """The posterior of each row of a batch, on the device of its logits."""
    device, local = evidence.logits.device, _checked(solver, evidence)
    with stats.clock(solver), torch.autocast(device.type, enabled=False):
        found = with_weights(solver).marginal(local.odds(), local.outputs)
    stats.add({"impossible": found.log_prob == -torch.inf})
    parts = (found.status, found.log_prob, found.inputs, found.outputs)
    return Posterior(*(part.to(device) for part in parts))


def samples_of(
    solver: Solver,
    stats: Stats,
    evidence: Evidence,
    count: int,
    generator: torch.Generator | None,
) -> Solution:
    """So many models for each row of a batch, one batch after the other: (count * B) rows."""
    device = evidence.logits.device
    local = _checked(solver, evidence)
    work = local.logits.device
    odds, outputs = local.odds().repeat(count, 1), local.outputs.repeat(count, 1)
    quiet = torch.autocast(device.type, enabled=False)
    with stats.clock(solver), quiet, _drawing_from(generator, work):
        found = with_weights(solver).sample(odds, outputs)
    stats.add({"impossible": found.status[: len(local.logits)] == 0})
    parts = (found.status, found.inputs, found.outputs, found.cost, found.proved)
    return Solution(*(part.to(device) for part in parts))


def with_weights(solver: Solver, who: str = "SMTLayer.log_prob") -> WeighsModels:
    """The solver, for a caller that needs one that weighs all models; raises if it does not."""
    if isinstance(solver, WeighsModels):
        return solver
    raise UnsupportedError(
        f"{who} needs a backend that weighs all models, {WEIGHING_BACKENDS}; this theory is "
        f"answered by {solver.name}.",
        "Pass backend=Table(), if it has few models, or backend=Circuit(), if it is finite.",
    )


def _checked(solver: Solver, evidence: Evidence) -> Evidence:
    """The batch on the device where the solver works, after a check of its logits."""
    local = evidence.to(torch.device("cpu") if solver.on_host else evidence.logits.device)
    refuse_bad(local.logits, local.known, solver.theory, local.given)
    return local


@contextmanager
def _drawing_from(generator: torch.Generator | None, device: torch.device) -> Iterator[None]:
    """Inside the block random numbers depend on this generator, and on no other state."""
    if generator is None:
        yield
        return
    seed = torch.randint(2**62, (), generator=generator, device=generator.device)
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.manual_seed(int(seed))
        yield
