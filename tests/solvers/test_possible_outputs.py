"""Possible values of outputs: by queries, and in one pass over models or a diagram."""

import dataclasses
import itertools

import pytest
import torch
import z3

from helpers import Changed, unknown_where
from smtlayer import Z3, Circuit, Enumerate, Sat, Status, Table, Theory, one_hot
from smtlayer.solvers.base import FindsPossible, Possible
from smtlayer.solvers.possible import possible_by_models, possible_outputs
from smtlayer.testing import Case
from smtlayer.testing.conformance import possible
from smtlayer.testing.theories import addition, free_outputs, mixed_inputs, xor


def queries_of(solver, facts, change=lambda asked, answer: answer):
    """The result by queries, and the names and rows of these."""
    seen = []

    def count(asked, answer):
        seen.append((asked.name, len(asked.inputs)))
        return change(asked, answer)

    return possible_by_models(Changed(solver, count), facts), seen


@pytest.mark.parametrize("backend", [Table(), Circuit()], ids=str)
def test_table_and_circuit_answer_in_one_pass(backend):
    assert isinstance(backend.compile(xor()), FindsPossible)


@pytest.mark.parametrize("backend", [Sat(), Z3(), Enumerate()], ids=str)
def test_other_solvers_answer_by_queries(backend):
    solver = backend.compile(free_outputs())
    assert not isinstance(solver, FindsPossible)
    found = possible_outputs(solver, torch.tensor([[1, 0, 0], [0, 0, 0], [1, 1, 1]]))
    assert found.status.tolist() == [Status.SAT, Status.SAT, Status.UNSAT]
    assert found.true.tolist() == [[True, False], [True, True], [False, False]]
    assert found.false.tolist() == [[False, True], [True, True], [False, False]]


def test_rows_with_the_same_facts_are_asked_once():
    facts = torch.tensor([[0, 1], [0, 0], [0, 1], [0, 0], [0, 1]], dtype=torch.int8)
    found, seen = queries_of(Table().compile(xor()), facts)
    assert seen == [("solve", 2), ("maximize", 2)]
    assert (found.true & found.false).all()


def test_no_value_is_asked_for_that_a_model_has_shown():
    """A bit-vector of three bits takes two models, a choice of four values takes four."""
    bits, choice, a = z3.BitVec("bits", 3), z3.Int("choice"), z3.Bool("a")
    either = Theory(z3.Or(bits == 0, bits == 7), inputs=[a], outputs=[bits])
    values = Theory(a == a, inputs=[a], outputs=[one_hot(choice, [1, 2, 3, 4])])
    for theory, count in ((either, 2), (values, 4)):
        found, seen = queries_of(
            Table().compile(theory), torch.zeros(1, theory.n_inputs, dtype=torch.int8)
        )
        assert len(seen) == count
        assert (found.true & found.false).all()
    assert len(queries_of(Table().compile(addition()), torch.zeros(9, 4))[1]) <= 4


def test_an_empty_batch_has_an_empty_answer():
    for backend in (Table(), Circuit(), Sat()):
        found = possible_outputs(backend.compile(xor()), torch.zeros(0, 2, dtype=torch.int8))
        assert (found.status.shape, found.true.shape, found.false.shape) == ((0,), (0, 1), (0, 1))


def test_only_what_a_model_shows_is_possible_where_the_solver_gives_up():
    solver = Table().compile(mixed_inputs())
    nothing = torch.zeros(1, solver.theory.n_inputs, dtype=torch.int8)
    every = torch.ones(1, dtype=torch.bool)
    none, seen = queries_of(solver, nothing, lambda asked, answer: unknown_where(every, answer))
    assert none.status.tolist() == [Status.UNKNOWN]
    assert not (none.true | none.false).any()
    assert seen == [("solve", 1)]  # no further time limits to wait for

    def gives_up_later(asked, answer):
        return answer if asked.name == "solve" else unknown_where(every, answer)

    some, _ = queries_of(solver, nothing, gives_up_later)
    first = solver.solve(nothing).outputs
    assert some.status.tolist() == [Status.UNKNOWN]
    assert torch.equal(some.true, first > 0)
    assert torch.equal(some.false, first < 0)


def test_a_diagram_with_more_models_than_a_float_can_count():
    """Of 400 neighbours, at least one of each two is true."""
    x = z3.Bools(" ".join(f"x{i}" for i in range(400)))
    rules = [z3.Or(a, b) for a, b in itertools.pairwise(x)]
    solver = Circuit().compile(Theory(rules, inputs=x, outputs=x))
    facts = torch.zeros(2, 400, dtype=torch.int8)
    facts[1, [7, 9]] = -1
    found = solver.possible(facts)
    assert found.status.tolist() == [1, 1]
    assert (found.true & found.false)[0].all()
    assert (~found.true[1]).nonzero().flatten().tolist() == [7, 9]
    assert (~found.false[1]).nonzero().flatten().tolist() == [6, 8, 10]


@dataclasses.dataclass(frozen=True)
class Wrong(Changed):
    """Finds possible values itself, and differently."""

    wrong: str = ""

    def possible(self, inputs):
        found = self.inner.possible(inputs)
        match self.wrong:
            case "status":
                return dataclasses.replace(found, status=torch.ones_like(found.status))
            case "everything":
                return dataclasses.replace(found, true=torch.ones_like(found.true))
            case "one model":
                first = self.inner.solve(inputs)
                return Possible(found.status, first.outputs > 0, first.outputs < 0)
            case "row before":
                parts = (found.status, found.true, found.false)
                return Possible(*(part.roll(1, 0) for part in parts))
        return found


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("status", "status differs"),
        ("everything", "no model has it"),
        ("one model", "not possible"),
        ("row before", "status differs|no model|not possible"),
    ],
)
def test_the_law_catches_a_wrong_answer_in_one_pass(wrong, message):
    case = Case.make(Table(), free_outputs())
    same = lambda asked, answer: answer  # noqa: E731
    possible(dataclasses.replace(case, solver=Wrong(case.solver, same)))
    with pytest.raises(AssertionError, match=message):
        possible(dataclasses.replace(case, solver=Wrong(case.solver, same, wrong=wrong)))
