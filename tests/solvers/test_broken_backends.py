"""Solvers that are wrong on purpose: each law must catch those that break it."""

import dataclasses
import functools
from collections.abc import Callable

import pytest

from helpers import Answer, Asked, Changed
from smtlayer import Table
from smtlayer.solvers import Solver
from smtlayer.testing import LAWS, Case, SolverConformance, random_theory
from smtlayer.testing.conformance import (
    best_repair,
    facts,
    honest_unknown,
    independent_rows,
    minimal_core,
    possible,
    repeatable,
    same_status,
    sound,
)
from smtlayer.testing.theories import addition, free_outputs, xor
from solvers import broken

Wrong = Callable[[Solver, Asked, Answer], Answer]

BROKEN = [
    (sound, broken.overrules_an_input, "solve overruled an input"),
    (sound, broken.overlooks_the_wanted_outputs, "other outputs than wanted"),
    (sound, broken.shifts_the_outputs, "SAT, but not a model"),
    (sound, broken.shifts_the_inputs, "SAT, but not a model"),
    (same_status, broken.takes_unsat_for_sat, "status differs"),
    (same_status, broken.takes_sat_for_unsat, "status differs"),
    (same_status, broken.takes_unknown_for_unsat, "status differs"),
    (minimal_core, broken.blames_no_input, "not a contradiction"),
    (minimal_core, broken.blames_everybody, "not minimal"),
    (minimal_core, broken.blames_free_inputs, "a free input is in the core"),
    (minimal_core, broken.blames_inputs_of_satisfiable_rows, "not UNSAT has a core"),
    (minimal_core, broken.blames_inputs_of_rows_it_gave_up, "not UNSAT has a core"),
    (minimal_core, broken.adds_one_to_the_core, "not minimal"),
    (minimal_core, broken.blames_the_most_confident, "not the core that deletion"),
    (minimal_core, broken.deletes_by_column, "not the core that deletion"),
    (minimal_core, broken.breaks_ties_from_the_right, "not the core that deletion"),
    (minimal_core, broken.shifts_the_blame, "not minimal"),
    (minimal_core, broken.takes_unknown_for_unsat, "not a contradiction"),
    (best_repair, broken.overrules_the_fewest, "a cheaper repair exists"),
    (best_repair, broken.loses_tiny_weights, "a cheaper repair exists"),
    (best_repair, broken.loses_tiny_costs, "cost is not the overruled weight"),
    (best_repair, broken.charges_for_free_inputs, "cost is not the overruled weight"),
    (best_repair, broken.weighs_free_inputs, "cost is not the overruled weight"),
    (best_repair, broken.overrules_without_need, "a cheaper repair exists"),
    (independent_rows, broken.answers_the_row_before, "changed"),
    (independent_rows, broken.gives_up_on_the_last_row, "status changed"),
    (independent_rows, broken.blames_by_position, "core changed"),
    (independent_rows, broken.models_by_position, "a deterministic model changed"),
    (independent_rows, broken.costs_by_position, "cost changed"),
    (repeatable, broken.EveryOtherTime(broken.gives_up), "status changed"),
    (repeatable, broken.EveryOtherTime(broken.costs_by_position), "cost changed"),
    (repeatable, broken.EveryOtherTime(broken.blames_no_input), "core changed"),
    (repeatable, broken.EveryOtherTime(broken.models_by_position), "a deterministic model changed"),
    (honest_unknown, broken.leaves_outputs, "a row without a model has outputs"),
    (honest_unknown, broken.leaves_inputs, "a row without a model has inputs"),
    (honest_unknown, broken.leaves_a_cost, "a row without a model has a cost"),
    (honest_unknown, broken.takes_unknown_for_unsat, "UNSAT, but there is a model"),
    (facts, broken.overrules_facts, "a fact is overruled"),
    (facts, broken.charges_for_facts, "cost is not the overruled weight"),
    (facts, broken.gives_up_repairs_with_facts, "status differs"),
    (facts, broken.blames_facts, "a fact is blamed"),
    (facts, broken.takes_facts_for_heavy_inputs, "a fact is blamed"),
    (facts, broken.spares_facts_too_late, "not minimal"),
    (facts, broken.ignores_facts, "status differs"),
    (possible, broken.takes_unsat_for_sat, "status differs"),
    (possible, broken.takes_unknown_for_unsat, "status differs"),
    (possible, broken.overrules_facts, "no model has it"),
    (possible, broken.overlooks_the_wanted_outputs, "not possible"),
    (possible, broken.takes_queries_for_unsat, "not possible"),
]


@functools.cache
def cases() -> tuple[Case, ...]:
    theories = (addition(), free_outputs(), random_theory(3), random_theory(11))
    return tuple(Case.make(Table(), theory, seed) for seed, theory in enumerate(theories))


def check(law: Callable[[Case], None], wrong: Wrong, **claims: object) -> None:
    for case in cases():
        change = functools.partial(wrong, case.solver)
        law(dataclasses.replace(case, solver=Changed(case.solver, change, **claims)))


def right(solver: Solver, asked: Asked, answer: Answer) -> Answer:
    return answer


@pytest.mark.parametrize(
    ("law", "wrong", "message"),
    BROKEN,
    ids=lambda value: getattr(value, "__name__", "") if callable(value) else "",
)
def test_the_law_catches_a_solver_that(law, wrong, message):
    with pytest.raises(AssertionError, match=message):
        check(law, wrong)


@pytest.mark.parametrize("law", LAWS)
def test_every_law_lets_the_right_solver_pass_and_catches_wrong_ones(law):
    check(law, right, limit_ms=None)
    assert sum(caught is law for caught, *_ in BROKEN) >= 3


@pytest.mark.parametrize(
    "law", [sound, same_status, best_repair, repeatable, honest_unknown, possible]
)
def test_a_solver_with_a_time_limit_may_answer_unknown(law):
    check(law, broken.gives_up)


@pytest.mark.parametrize("law", [honest_unknown, possible])
def test_a_solver_without_a_time_limit_may_not_give_up(law):
    with pytest.raises(AssertionError, match="UNKNOWN, without a time limit"):
        check(law, broken.gives_up, limit_ms=None)


def test_only_a_deterministic_solver_must_repeat_its_models():
    check(repeatable, broken.EveryOtherTime(broken.models_by_position), deterministic=False)


@dataclasses.dataclass(frozen=True)
class Blamer:
    """A whole backend that blames everybody."""

    def compile(self, theory):
        solver = Table().compile(theory)
        return Changed(solver, functools.partial(broken.blames_everybody, solver))


class Conformance(SolverConformance):
    backend = Blamer()
    theories = {"xor": xor, "addition": addition}  # noqa: RUF012
    seeds = 4


def test_the_shipped_suite_runs_the_laws():
    suite = Conformance()
    suite.test_named_theories_obey(sound)
    suite.test_random_theories_obey(sound)
    with pytest.raises(AssertionError, match="not minimal"):
        suite.test_named_theories_obey(minimal_core)
    with pytest.raises(AssertionError, match="not minimal"):
        suite.test_random_theories_obey(minimal_core)


def test_the_shipped_suite_does_not_pass_for_want_of_theories():
    suite = Conformance()
    suite.theories, suite.seeds = {}, 0
    with pytest.raises(AssertionError, match="no theories"):
        suite.test_named_theories_obey(sound)
    with pytest.raises(AssertionError, match="no seeds"):
        suite.test_random_theories_obey(sound)
