"""The laws of `smtlayer.solvers.base` as a test suite for any backend.

Each law is also a function of a `Case`, for use outside pytest.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from smtlayer.solvers import Backend, Core, Enumerate, Solution, Solver, Status
from smtlayer.solvers.base import FindsPossible
from smtlayer.solvers.possible import possible_by_models
from smtlayer.testing.probability import certain_facts, most_probable, posterior, shifted_symbols
from smtlayer.testing.theories import THEORIES, random_theory
from smtlayer.theory import Theory

_ROWS = 24


@dataclass(frozen=True, eq=False)
class Case:
    """A solver, its reference solver, and a batch of queries."""

    solver: Solver
    reference: Solver  # by `Enumerate`
    models: frozenset[tuple[int, ...]]  # inputs and outputs side by side
    inputs: Tensor  # (B, n) int8, some of them 0
    weights: Tensor  # (B, n) float64
    outputs: Tensor  # (B, m) int8, some of them 0

    @classmethod
    def make(cls, backend: Backend, theory: Theory, seed: int = 0) -> "Case":
        """Random queries with free inputs, equal weights, and weights of very different sizes."""
        reference, models = _reference(theory)
        generator = torch.Generator().manual_seed(seed)
        shape = (_ROWS, theory.n_inputs)
        weights = torch.rand(shape, generator=generator, dtype=torch.float64) + 0.01
        weights[::3] = torch.randint(1, 3, shape, generator=generator)[::3].double()
        tiny = 10.0 ** -torch.randint(0, 40, shape, generator=generator).double()
        weights[1::3] = tiny[1::3]
        inputs = _signs(shape, generator)
        weights[inputs == 0] = torch.nan  # solvers must ignore the weights of free inputs
        outputs = _signs((_ROWS, theory.n_outputs), generator)
        return cls(backend.compile(theory), reference, models, inputs, weights, outputs)

    @property
    def facts(self) -> Tensor:
        """The observed inputs of infinite weight: (B, n) bool."""
        return (self.weights == torch.inf) & (self.inputs != 0)

    def with_facts(self, weight: float = torch.inf) -> "Case":
        """The case with this weight for some observed inputs, in the first rows for all."""
        chosen = torch.rand(self.inputs.shape, generator=torch.Generator().manual_seed(2)) < 1 / 3
        chosen[:3] = True
        weights = torch.where(chosen & (self.inputs != 0), weight, self.weights)
        return replace(self, weights=weights)

    def select(self, rows: Tensor) -> "Case":
        """The case with some of its queries, in this order."""
        queries = (self.inputs[rows], self.weights[rows], self.outputs[rows])
        return Case(self.solver, self.reference, self.models, *queries)


@lru_cache(maxsize=256)
def _reference(theory: Theory) -> tuple[Solver, frozenset[tuple[int, ...]]]:
    """The reference solver of a theory, and all its models."""
    models = Enumerate().open(theory).models()
    return Enumerate().compile(theory), frozenset((*x, *y) for x, y in models)


def sound(case: Case) -> None:
    """Law 1: a SAT row holds a model that agrees with the query."""
    solved = case.solver.solve(case.inputs)
    _are_models(case, solved)
    agreed = (solved.inputs == case.inputs) | (case.inputs == 0)
    assert agreed[solved.status == Status.SAT].all(), "solve overruled an input"
    best = case.solver.maximize(case.inputs, case.weights, case.outputs)
    _are_models(case, best)
    wanted = (best.outputs == case.outputs) | (case.outputs == 0)
    assert wanted[best.status == Status.SAT].all(), "maximize returned other outputs than wanted"


def same_status(case: Case) -> None:
    """Law 2: the same status as the reference, unless either is UNKNOWN."""
    for query in _QUERIES.values():
        ours, theirs = query(case.solver, case).status, query(case.reference, case).status
        decided = (ours != Status.UNKNOWN) & (theirs != Status.UNKNOWN)
        assert torch.equal(ours[decided], theirs[decided]), "status differs from the reference"


def minimal_core(case: Case) -> None:
    """Law 3: the core is a minimal contradiction, the same for every backend."""
    core = case.solver.core(case.inputs, case.weights, case.outputs)
    facts = case.facts
    assert not (core.inputs & (case.inputs == 0)).any(), "a free input is in the core"
    assert not core.inputs[core.status != Status.UNSAT].any(), "a row that is not UNSAT has a core"
    for row in (core.status == Status.UNSAT).nonzero().flatten().tolist():
        blamed = core.inputs[row]
        kept = blamed | facts[row]
        assert not _possible(case, row, kept, case.outputs), "the core is not a contradiction"
        for i in blamed.nonzero().flatten().tolist():
            rest = kept.clone()
            rest[i] = False
            assert _possible(case, row, rest, case.outputs), "the core is not minimal"
    reference = case.reference.core(case.inputs, case.weights, case.outputs)
    decided = (core.status != Status.UNKNOWN) & (reference.status != Status.UNKNOWN)
    same = torch.equal(core.inputs[decided], reference.inputs[decided])
    assert same, "not the core that deletion from the heaviest input yields"


def best_repair(case: Case) -> None:
    """Law 4: the overruled weight is minimal, exactly, and zero if and only if `solve` is SAT."""
    for outputs in (None, case.outputs):
        ours = case.solver.maximize(case.inputs, case.weights, outputs)
        theirs = case.reference.maximize(case.inputs, case.weights, outputs)
        for row in (ours.status == Status.SAT).nonzero().flatten().tolist():
            exact = _overruled(case, ours, row)
            assert ours.proved[row] or case.solver.limit_ms is not None, "not proved, but no limit"
            if theirs.status[row] == Status.SAT and ours.proved[row]:
                assert exact == _overruled(case, theirs, row), "a cheaper repair exists"
            expected = pytest.approx(float(exact), rel=1e-9, abs=0.0)
            assert ours.cost[row].item() == expected, "cost is not the overruled weight"
    free = case.solver.maximize(case.inputs, case.weights)
    solved = case.solver.solve(case.inputs).status
    decided = (solved != Status.UNKNOWN) & (free.status != Status.UNKNOWN)
    assert torch.equal((free.cost == 0)[decided], (solved == Status.SAT)[decided]), (
        "the cost must be 0 for satisfiable rows only"
    )


def independent_rows(case: Case) -> None:
    """Law 5: results do not depend on the order of rows, nor on the other rows of a batch."""
    order = torch.randperm(_ROWS, generator=torch.Generator().manual_seed(1))
    shuffled = case.select(order)
    for query in _QUERIES.values():
        whole = query(case.solver, case)
        _same(case, whole, query(case.solver, shuffled), order)
        for row in range(0, _ROWS, 5):
            index = torch.tensor([row])
            _same(case, whole, query(case.solver, case.select(index)), index)


def repeatable(case: Case) -> None:
    """Law 6: the same query gives the same result again."""
    for query in _QUERIES.values():
        _same(case, query(case.solver, case), query(case.solver, case), torch.arange(_ROWS))


def honest_unknown(case: Case) -> None:
    """Law 7: an UNKNOWN row has no model, no core and no finite cost, and is never called UNSAT."""
    if case.solver.limit_ms is None:
        for query in _QUERIES.values():
            unknown = query(case.solver, case).status == Status.UNKNOWN
            assert not unknown.any(), "UNKNOWN, without a time limit"
    for name in ("solve", "maximize", "repair"):
        answer = _QUERIES[name](case.solver, case)
        assert isinstance(answer, Solution)
        without = answer.status != Status.SAT
        assert not answer.inputs[without].any(), "a row without a model has inputs"
        assert not answer.outputs[without].any(), "a row without a model has outputs"
        assert answer.cost[without].isinf().all(), "a row without a model has a cost"
        kept = case.facts | (name == "solve")
        wanted = case.outputs if name == "maximize" else torch.zeros_like(case.outputs)
        for row in (answer.status == Status.UNSAT).nonzero().flatten().tolist():
            assert not _possible(case, row, kept[row], wanted), "UNSAT, but there is a model"


def facts(case: Case) -> None:
    """Law 9: facts are neither overruled nor blamed, and all other laws hold given them."""
    _QUERIES["core"](case.solver, case.with_facts(1e300))  # a large weight is not a fact
    case = case.with_facts()
    for name in ("repair", "maximize", "core"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a failure of the solver is reported below
            answer = _QUERIES[name](case.solver, case)
        assert not case.solver.last_error, case.solver.last_error
        if isinstance(answer, Core):
            assert not (case.facts & answer.inputs).any(), "a fact is blamed"
        else:
            assert not (case.facts & (answer.inputs * case.inputs < 0)).any(), "a fact is overruled"
    for law in (sound, same_status, minimal_core, best_repair, honest_unknown):
        law(case)


def possible(case: Case) -> None:
    """Law 10: the possible values are those in the models that agree with the facts."""
    n, solver = case.inputs.shape[-1], case.solver
    models = torch.tensor(sorted(case.models), dtype=torch.int8, device=case.inputs.device)
    for kept in (case.inputs != 0, case.with_facts().facts, torch.zeros_like(case.facts)):
        signs = case.inputs * kept
        agrees = ((signs[:, None] == models[:, :n]) | ~kept[:, None]).all(-1)  # (B, K)
        status = agrees.any(-1).to(torch.int8)
        true, false = ((agrees[..., None] & (models[:, n:] == s)).any(1) for s in (1, -1))
        for found in (
            possible_by_models(solver, signs),
            *([solver.possible(signs)] if isinstance(solver, FindsPossible) else []),
        ):
            unknown = found.status == Status.UNKNOWN
            assert not unknown.any() or solver.limit_ms is not None, "UNKNOWN, without a time limit"
            assert torch.equal(found.status[~unknown], status[~unknown]), "status differs"
            wrong = (found.true & ~true) | (found.false & ~false)
            assert not wrong.any(), "a value is possible, but no model has it"
            missed = (found.true != true) | (found.false != false)
            assert not missed[~unknown].any(), "a model has a value that is not possible"


LAWS: tuple[Callable[[Case], None], ...] = (
    sound, same_status, minimal_core, best_repair, independent_rows, repeatable, honest_unknown,
    facts, possible,
)  # fmt: skip
"""The laws of all solvers."""
LISTED_LAWS: tuple[Callable[[Case], None], ...] = (
    posterior, certain_facts, shifted_symbols, most_probable,
)  # fmt: skip
"""The laws of solvers that weigh or rank models."""


class SolverConformance:
    """Tests a backend against all laws, on named theories and on random ones.

    Derive a class, set `backend`, and run pytest:

        class TestMine(SolverConformance):
            backend = Mine()

    A backend that supports only some theories sets `theories` and overrides `random`; for theories
    that translate to clauses there are `FINITE` and `random_finite_theory`.
    """

    backend: ClassVar[Backend]
    """The backend to test."""
    theories: ClassVar[Mapping[str, Callable[[], Theory]]] = THEORIES
    """Functions that build the named theories."""
    seeds: ClassVar[int] = 25
    """Number of random theories."""

    def random(self, seed: int) -> Theory:
        """A random theory that the backend supports, small enough for `Enumerate`."""
        return random_theory(seed)

    @pytest.mark.parametrize("law", [*LAWS, *LISTED_LAWS], ids=lambda law: str(law.__name__))
    def test_named_theories_obey(self, law: Callable[[Case], None]) -> None:
        """Checks a law on each of the named theories."""
        assert self.theories, "no theories to test on"
        for builder in self.theories.values():
            law(Case.make(self.backend, builder()))

    @pytest.mark.parametrize("law", [*LAWS, *LISTED_LAWS], ids=lambda law: str(law.__name__))
    def test_random_theories_obey(self, law: Callable[[Case], None]) -> None:
        """Checks a law on random theories; the traceback of a failure shows the seed."""
        assert self.seeds, "no seeds to test on"
        for seed in range(self.seeds):
            law(Case.make(self.backend, self.random(seed), seed))


_QUERIES: Mapping[str, Callable[[Solver, Case], Solution | Core]] = {
    "solve": lambda solver, case: solver.solve(case.inputs),
    "repair": lambda solver, case: solver.maximize(case.inputs, case.weights),
    "maximize": lambda solver, case: solver.maximize(case.inputs, case.weights, case.outputs),
    "core": lambda solver, case: solver.core(case.inputs, case.weights, case.outputs),
}


def _signs(shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    """Random signs; the first half of the rows is fully known, a third of the others is free."""
    signs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
    free = torch.rand(shape, generator=generator) < 1 / 3
    free[: shape[0] // 2] = False
    return torch.where(free, 0, signs).to(torch.int8)


def _are_models(case: Case, solution: Solution) -> None:
    both = torch.cat([solution.inputs, solution.outputs], dim=-1)
    for row in (solution.status == Status.SAT).nonzero().flatten().tolist():
        assert tuple(both[row].tolist()) in case.models, "SAT, but not a model"


def _possible(case: Case, row: int, kept: Tensor, wanted: Tensor) -> bool:
    """Whether some model agrees with the kept inputs and the wanted outputs of a row."""
    signs = [*torch.where(kept, case.inputs[row], 0).tolist(), *wanted[row].tolist()]
    return any(all(s in (0, z) for s, z in zip(signs, model, strict=True)) for model in case.models)


def _overruled(case: Case, solution: Solution, row: int) -> Fraction:
    against = (solution.inputs[row] * case.inputs[row] < 0).tolist()
    weights = case.weights[row].tolist()
    return sum((Fraction(w) for w, a in zip(weights, against, strict=True) if a), Fraction(0))


def _same(case: Case, whole: Solution | Core, part: Solution | Core, rows: Tensor) -> None:
    """Asserts that a result for some rows equals those rows of the result for the whole batch."""
    assert torch.equal(whole.status[rows], part.status), "status changed"
    if isinstance(whole, Core) or isinstance(part, Core):
        assert torch.equal(whole.inputs[rows], part.inputs), "core changed"
        return
    assert torch.equal(whole.cost[rows], part.cost), "cost changed"
    if case.solver.deterministic:
        assert torch.equal(whole.inputs[rows], part.inputs), "a deterministic model changed"
        assert torch.equal(whole.outputs[rows], part.outputs), "a deterministic model changed"
