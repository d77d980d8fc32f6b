"""This file checks any backend against the laws of `smtlayer.solvers.base`.

Inherit, name the backend, run pytest:

    class TestMine(SolverConformance):
        backend = Mine()

Each law is also a function of a `Case`, for use outside pytest.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from smtlayer.solvers import Backend, Core, Enumerate, Solution, Solver, Status
from smtlayer.solvers.base import WeighsModels
from smtlayer.testing.theories import THEORIES, random_theory
from smtlayer.theory import Theory

_ROWS = 24
_DRAWS = 400


@dataclass(frozen=True, eq=False)
class Case:
    """A solver, the reference for it, and a batch of questions."""

    solver: Solver
    oracle: Solver
    models: frozenset[tuple[int, ...]]  # inputs and outputs side by side
    inputs: Tensor  # (B, n) int8, some of them 0
    weights: Tensor  # (B, n) float64
    outputs: Tensor  # (B, m) int8, some of them 0

    @classmethod
    def make(cls, backend: Backend, theory: Theory, seed: int = 0) -> "Case":
        """Random questions: partial, with equal weights and with weights far apart."""
        oracle, models = _reference(theory)
        generator = torch.Generator().manual_seed(seed)
        shape = (_ROWS, theory.n_inputs)
        weights = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.01
        weights[::3] = torch.randint(1, 3, shape, generator=generator)[::3].double()
        tiny = 10.0 ** -torch.randint(0, 40, shape, generator=generator).double()
        weights[1::3] = tiny[1::3]
        inputs = _signs(shape, generator)
        weights[inputs == 0] = torch.nan  # the weight of a free input is nobody's business
        return cls(
            backend.compile(theory),
            oracle,
            models,
            inputs,
            weights,
            _signs((_ROWS, theory.n_outputs), generator),
        )


@lru_cache(maxsize=256)
def _reference(theory: Theory) -> tuple[Solver, frozenset[tuple[int, ...]]]:
    """The oracle for a theory and its models, tried out once."""
    backend = Enumerate()
    models = backend.open(theory).models()
    return backend.compile(theory), frozenset((*x, *y) for x, y in models)


def sound(case: Case) -> None:
    """Law 1: models are models, and agree with what was asked."""
    solved = case.solver.solve(case.inputs)
    _are_models(case, solved)
    agreed = (solved.inputs == case.inputs) | (case.inputs == 0)
    assert agreed[solved.status == Status.SAT].all(), "solve overruled an input"
    best = case.solver.maximize(case.inputs, case.weights, case.outputs)
    _are_models(case, best)
    wanted = (best.outputs == case.outputs) | (case.outputs == 0)
    assert wanted[best.status == Status.SAT].all(), "maximize gave other outputs than wanted"


def same_status(case: Case) -> None:
    """Law 2: the same status as the reference, unless one of them gave up."""
    for question in _QUESTIONS.values():
        ours, theirs = question(case.solver, case).status, question(case.oracle, case).status
        decided = (ours != Status.UNKNOWN) & (theirs != Status.UNKNOWN)
        assert torch.equal(ours[decided], theirs[decided]), "status differs from the reference"


def minimal_core(case: Case) -> None:
    """Law 3: blamed inputs are a minimal contradiction, and the one that every backend finds."""
    core = case.solver.core(case.inputs, case.weights, case.outputs)
    assert not (core.inputs & (case.inputs == 0)).any(), "an input that was free is blamed"
    assert not core.inputs[core.status != Status.UNSAT].any(), "only UNSAT rows blame anybody"
    for row in (core.status == Status.UNSAT).nonzero().flatten().tolist():
        blamed = core.inputs[row]
        assert not _possible(case, row, blamed), "the blamed inputs are no contradiction"
        for i in blamed.nonzero().flatten().tolist():
            rest = blamed.clone()
            rest[i] = False
            assert _possible(case, row, rest), "the core is not minimal"
    reference = case.oracle.core(case.inputs, case.weights, case.outputs)
    decided = (core.status != Status.UNKNOWN) & (reference.status != Status.UNKNOWN)
    same = torch.equal(core.inputs[decided], reference.inputs[decided])
    assert same, "another core than deletion from the heaviest input ends with"


def best_repair(case: Case) -> None:
    """Law 4: the weight overruled is least, compared exactly; zero just where `solve` is SAT."""
    for outputs in (None, case.outputs):
        ours = case.solver.maximize(case.inputs, case.weights, outputs)
        theirs = case.oracle.maximize(case.inputs, case.weights, outputs)
        for row in (ours.status == Status.SAT).nonzero().flatten().tolist():
            exact = _overruled(case, ours, row)
            assert ours.proved[row] or case.solver.limit_ms is not None, "not proved, yet no limit"
            if theirs.status[row] == Status.SAT and ours.proved[row]:
                assert exact == _overruled(case, theirs, row), "a cheaper repair exists"
            said = pytest.approx(float(exact), rel=1e-9, abs=0.0)
            assert ours.cost[row].item() == said, "cost is not the weight overruled"
    free = case.solver.maximize(case.inputs, case.weights)
    solved = case.solver.solve(case.inputs).status
    decided = (solved != Status.UNKNOWN) & (free.status != Status.UNKNOWN)
    assert torch.equal((free.cost == 0)[decided], (solved == Status.SAT)[decided]), (
        "a satisfiable row must cost nothing, any other something"
    )


def independent_rows(case: Case) -> None:
    """Law 5: a permuted batch gets permuted answers, and a batch equals its rows."""
    order = torch.randperm(_ROWS, generator=torch.Generator().manual_seed(1))
    shuffled = _select(case, order)
    for question in _QUESTIONS.values():
        whole = question(case.solver, case)
        _same(case, whole, question(case.solver, shuffled), order)
        for row in range(0, _ROWS, 5):
            index = torch.tensor([row])
            _same(case, whole, question(case.solver, _select(case, index)), index)


def repeatable(case: Case) -> None:
    """Law 6: the same question gets the same answer again."""
    everything = torch.arange(_ROWS)
    for question in _QUESTIONS.values():
        _same(case, question(case.solver, case), question(case.solver, case), everything)


def honest_unknown(case: Case) -> None:
    """Law 7: a row that was given up has no model, no blame and no finite cost."""
    if case.solver.limit_ms is None:
        for question in _QUESTIONS.values():
            gave_up = question(case.solver, case).status == Status.UNKNOWN
            assert not gave_up.any(), "a solver without a time limit gave up"
    for name in ("solve", "maximize", "repair"):
        answer = _QUESTIONS[name](case.solver, case)
        assert isinstance(answer, Solution)
        without = answer.status != Status.SAT
        assert not answer.inputs[without].any(), "a row without a model has inputs"
        assert not answer.outputs[without].any(), "a row without a model has outputs"
        assert answer.cost[without].isinf().all(), "a row without a model has a cost"
        unsat = (answer.status == Status.UNSAT).nonzero().flatten().tolist()
        wanted = None if name == "repair" else case.outputs
        for row in unsat:
            kept = torch.full_like(case.inputs[0], name == "solve", dtype=torch.bool)
            asked = None if name == "solve" else wanted
            assert not _possible(case, row, kept, asked), "UNSAT, though there is a model"


def posterior(case: Case) -> None:
    """Law 8, for `WeighsModels`: the mean is that of all models; draws have the same weights."""
    solver = case.solver
    if not isinstance(solver, WeighsModels):
        return
    logits = torch.where(case.inputs == 0, 0, case.inputs * case.weights)
    exact = [_posterior(case, row, logits[row].tolist()) for row in range(_ROWS)]
    status = torch.tensor([bool(weights) for weights in exact]).to(torch.int8)
    found = solver.marginal(logits, case.outputs)
    assert torch.equal(found.status, status), "status differs from the list of all models"
    mean = torch.zeros_like(logits)
    for row, weights in enumerate(exact):
        for model, share in weights.items():
            mean[row] += share * (torch.tensor(model[: logits.shape[-1]]) > 0).double()
    assert (found.inputs - mean).abs().max() < 1e-9, "the mean differs from that of all models"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn = solver.sample(logits.repeat(_DRAWS, 1), case.outputs.repeat(_DRAWS, 1))
    assert torch.equal(drawn.status, status.repeat(_DRAWS)), "a draw of another status"
    _are_drawn(exact, torch.cat([drawn.inputs, drawn.outputs], dim=-1))


def _posterior(case: Case, row: int, logits: list[float]) -> dict[tuple[int, ...], float]:
    """The probability of each model with the wanted outputs, by the book."""
    wanted, n = case.outputs[row].tolist(), len(logits)
    weights = {
        model: math.prod(1 / (1 + math.exp(-x * z)) for x, z in zip(logits, model[:n], strict=True))
        for model in case.models
        if all(a in (0, b) for a, b in zip(wanted, model[n:], strict=True))
    }
    return {model: weight / sum(weights.values()) for model, weight in weights.items()}


def _are_drawn(exact: Sequence[Mapping[tuple[int, ...], float]], drawn: Tensor) -> None:
    """Whether the draws, over and over for all rows, come as often as they should."""
    for row, shares in enumerate(exact):
        seen = Counter(tuple(model) for model in drawn[row::_ROWS].tolist())
        if not shares:
            assert not drawn[row::_ROWS].any(), "a model was drawn where there is none"
            continue
        assert seen.keys() <= shares.keys(), "a draw without the wanted outputs, or no model"
        for model, share in shares.items():
            spread = math.sqrt(share * (1 - share) / _DRAWS)
            off = abs(seen[model] / _DRAWS - share)
            assert off < 5 * spread + 2 / _DRAWS, "a model is drawn too often or too rarely"


LAWS: tuple[Callable[[Case], None], ...] = (
    sound, same_status, minimal_core, best_repair, independent_rows, repeatable, honest_unknown,
)  # fmt: skip
LISTED_LAWS: tuple[Callable[[Case], None], ...] = (posterior,)


class SolverConformance:
    """The laws as tests, over named theories of many kinds and random ones."""

    backend: ClassVar[Backend]
    theories: ClassVar[Mapping[str, Callable[[], Theory]]] = THEORIES
    seeds: ClassVar[int] = 25

    def random(self, seed: int) -> Theory:
        """A random theory that the backend takes; small, for `Enumerate` must take it too."""
        return random_theory(seed)

    @pytest.mark.parametrize("law", [*LAWS, *LISTED_LAWS], ids=lambda law: str(law.__name__))
    def test_named_theories_obey(self, law: Callable[[Case], None]) -> None:
        """A law on each of the named theories."""
        assert self.theories, "no theories to test on"
        for builder in self.theories.values():
            law(Case.make(self.backend, builder()))

    @pytest.mark.parametrize("law", [*LAWS, *LISTED_LAWS], ids=lambda law: str(law.__name__))
    def test_random_theories_obey(self, law: Callable[[Case], None]) -> None:
        """A law on random theories; the seed of a failure is in the traceback."""
        assert self.seeds, "no seeds to test on"
        for seed in range(self.seeds):
            law(Case.make(self.backend, self.random(seed), seed))


_QUESTIONS: Mapping[str, Callable[[Solver, Case], Solution | Core]] = {
    "solve": lambda solver, case: solver.solve(case.inputs),
    "repair": lambda solver, case: solver.maximize(case.inputs, case.weights),
    "maximize": lambda solver, case: solver.maximize(case.inputs, case.weights, case.outputs),
    "core": lambda solver, case: solver.core(case.inputs, case.weights, case.outputs),
}


def _signs(shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Signs of which about one in six is free; the first half of the rows is fully known."""
    signs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    free = torch.rand(shape, generator=generator) < 1 / 3
    free[: shape[0] // 2] = False
    return torch.where(free, 0, signs).to(torch.int8)


def _are_models(case: Case, solution: Solution) -> None:
    both = torch.cat([solution.inputs, solution.outputs], dim=-1)
    for row in (solution.status == Status.SAT).nonzero().flatten().tolist():
        assert tuple(both[row].tolist()) in case.models, "SAT with something that is no model"


def _possible(case: Case, row: int, kept: Tensor, outputs: Tensor | str | None = "wanted") -> bool:
    """Whether some model agrees with kept inputs and outputs, by default the wanted ones."""
    wanted = case.outputs if isinstance(outputs, str) else outputs
    n = case.inputs.shape[-1]
    asked = torch.where(kept, case.inputs[row], 0).tolist()
    asked += [0] * case.outputs.shape[-1] if wanted is None else wanted[row].tolist()
    assert len(asked) == n + case.outputs.shape[-1]
    return any(all(a in (0, s) for a, s in zip(asked, model, strict=True)) for model in case.models)


def _overruled(case: Case, solution: Solution, row: int) -> Fraction:
    against = (solution.inputs[row] * case.inputs[row] < 0).tolist()
    weights = case.weights[row].tolist()
    return sum((Fraction(w) for w, a in zip(weights, against, strict=True) if a), Fraction(0))


def _select(case: Case, rows: Tensor) -> Case:
    return Case(
        case.solver, case.oracle, case.models,
        case.inputs[rows], case.weights[rows], case.outputs[rows],
    )  # fmt: skip


def _same(case: Case, whole: Solution | Core, part: Solution | Core, rows: Tensor) -> None:
    """Whether the answer about some rows is what the whole answer says of them."""
    assert torch.equal(whole.status[rows], part.status), "status changed"
    if isinstance(whole, Core) or isinstance(part, Core):
        assert torch.equal(whole.inputs[rows], part.inputs), "blame changed"
        return
    assert torch.equal(whole.cost[rows], part.cost), "cost changed"
    if case.solver.deterministic:
        assert torch.equal(whole.inputs[rows], part.inputs), "a deterministic model changed"
        assert torch.equal(whole.outputs[rows], part.outputs), "a deterministic model changed"
