"""Repairs by the list of models that have the wanted outputs."""

import multiprocessing

import pytest
import torch
import z3
from stages import Asks, solver_of

from helpers import Changed, seeds
from smtlayer import Enumerate, Sat, Solution, Status, Table, Theory
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.solvers.host.listed_repairs import ListedRepairs
from smtlayer.testing import random_theory
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


def counting(theory, size=1000):
    """A solver with lists, and the number of rows of each question that they do not answer."""
    asked = []

    def count(question, answer):
        asked.append(len(answer.status))
        return answer

    last = Asks(Changed(Table().compile(theory), count))
    stage = ListedRepairs(last, to_cnf(theory), theory.n_inputs, size)
    return solver_of(theory, stage), asked


def pinned():
    """A label leaves one of two inputs: total = 2 is 0 + 2, 1 + 1 or 2 + 0, and a is not b."""
    a, b = z3.BitVecs("a b", 2)
    total = z3.BitVec("total", 3)
    wide = z3.ZeroExt(1, a) + z3.ZeroExt(1, b)
    return Theory([total == wide, a != b], inputs=[a, b], outputs=[total])


def ask(solver, theory, a, b, weights, total):
    inputs = theory.encode(a=[a], b=[b])
    outputs = theory.encode_outputs(total=[total])
    return solver.maximize(inputs, torch.tensor([weights], dtype=torch.float64), outputs)


def test_the_models_of_a_label_are_listed_once_and_the_weights_choose():
    theory = pinned()
    solver, asked = counting(theory)
    first = ask(solver, theory, 0, 0, [5.0, 1.0, 1.0, 1.0], 2)
    assert theory.decode_inputs(first.inputs) == {"a": [0], "b": [2]}
    assert (first.cost.item(), first.proved.item(), first.status.item()) == (1.0, True, Status.SAT)
    assert solver.cache_hits == 0
    second = ask(solver, theory, 0, 0, [1.0, 1.0, 5.0, 1.0], 2)
    assert theory.decode_inputs(second.inputs) == {"a": [2], "b": [0]}
    assert theory.decode(second.outputs) == {"total": [2]}
    assert solver.cache_hits == 1
    assert len(solver._first) == 1
    assert asked == []


def test_hits_count_in_a_batch_that_the_lists_answer_in_part():
    theory = pinned()
    solver, asked = counting(theory)
    ask(solver, theory, 0, 0, [5.0, 1.0, 1.0, 1.0], 2)
    outputs = theory.encode_outputs(total=[2, 2])
    outputs[1] = 0  # nothing wanted, so no list
    weights = torch.tensor([[5.0, 1.0, 1.0, 1.0]] * 2, dtype=torch.float64)
    solver.maximize(theory.encode(a=[0, 1], b=[0, 2]), weights, outputs)
    assert (solver.cache_hits, asked) == (1, [1])


def test_a_label_that_no_input_has_is_a_contradiction():
    theory = pinned()
    solver, asked = counting(theory)
    for _ in range(2):
        found = ask(solver, theory, 1, 0, [1.0] * 4, 6)
        assert found.status.item() == Status.UNSAT
        assert found.cost.item() == float("inf")
        assert not found.inputs.any()
        assert not found.outputs.any()
    assert asked == []


def test_costs_that_differ_by_less_than_rounding_are_left_to_the_solver():
    theory = pinned()
    solver, asked = counting(theory)
    found = ask(solver, theory, 0, 0, [1.0, 1.0, 1.0 + 2**-52, 3.0], 2)
    assert asked == [1]  # 0 + 2 costs 1 + 2**-52, 2 + 0 costs 1
    assert theory.decode_inputs(found.inputs) == {"a": [2], "b": [0]}
    tie = ask(solver, theory, 2, 0, [1e-300, 1.0, 1.0, 1.0], 2)  # fits as it is
    assert asked == [1]
    assert tie.cost.item() == 0


def test_rows_with_and_without_a_list_keep_their_order():
    theory = pinned()
    solver, asked = counting(theory)
    inputs = theory.encode(a=[0, 3, 0, 3], b=[0, 3, 0, 3])
    weights = torch.arange(1.0, 17.0, dtype=torch.float64).reshape(4, 4)
    outputs = theory.encode_outputs(total=[2, 0, 2, 6])
    outputs[1] = 0  # nothing wanted: every model will do
    found = solver.maximize(inputs, weights, outputs)
    expected = Enumerate().compile(theory).maximize(inputs, weights, outputs)
    assert asked == [1]
    assert torch.equal(found.status, expected.status)
    assert torch.equal(found.cost, expected.cost)
    assert torch.equal(found.inputs, expected.inputs)


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_the_answers_are_the_references(seed):
    theory = random_theory(seed)
    solver = Sat().compile(theory)
    assert isinstance(solver._first, ListedRepairs)
    reference = Enumerate().compile(theory)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(3):
        inputs = (torch.randint(0, 3, (40, theory.n_inputs), generator=draw) - 1).to(torch.int8)
        outputs = (torch.randint(0, 3, (40, theory.n_outputs), generator=draw) - 1).to(torch.int8)
        weights = torch.randint(1, 4, inputs.shape, generator=draw).double()
        weights[inputs == 0] = torch.nan
        ours, theirs = (s.maximize(inputs, weights, outputs) for s in (solver, reference))
        assert torch.equal(ours.status, theirs.status)
        assert torch.equal(ours.cost, theirs.cost)
        assert torch.equal(ours.proved, theirs.proved)
        sat = ours.status == Status.SAT
        overruled = torch.where(ours.inputs * inputs < 0, weights, 0.0).sum(-1)
        assert torch.equal(overruled[sat], ours.cost[sat])
        assert ((outputs == 0) | (outputs == ours.outputs))[sat].all()
        models = reference.maximize(ours.inputs, torch.ones_like(weights), ours.outputs)
        assert (models.cost[sat] == 0).all()  # the inputs and outputs together are a model


def test_many_models_make_no_list():
    a, b = z3.BitVecs("a b", 6)
    total = z3.BitVec("total", 6)
    theory = Theory(total == a + b, inputs=[a, b], outputs=[total])
    solver, asked = counting(theory)
    inputs, outputs = theory.encode(a=[0], b=[0]), theory.encode_outputs(total=[9])
    for _ in range(3):
        solver.maximize(inputs, torch.ones(1, 12, dtype=torch.float64), outputs)
    assert asked == [1, 1, 1]
    assert solver.cache_hits == 0


def test_old_lists_go():
    theory = pinned()
    solver, _ = counting(theory, size=2)
    for total in (1, 2, 3, 4):
        ask(solver, theory, 0, 0, [1.0] * 4, total)
        assert len(solver._first) <= 2


def test_sudoku_answers_pin_the_hints_down():
    """A board of which one hint is misread, and whose answers are known, comes from a list."""
    theory = sudoku_theory()
    boards = make_boards(8, seed=3)
    names = [f"{name}" for name in theory.decode_inputs(torch.zeros(theory.n_inputs))]
    truth = theory.encode(**dict(zip(names, boards.solutions.T, strict=True)))  # (8, 324)
    cells = torch.from_numpy(boards.puzzles > 0).repeat_interleave(4, -1)
    inputs, outputs = truth * cells, truth * ~cells
    first = cells.to(torch.uint8).argmax(-1)
    inputs[torch.arange(8), first] *= -1
    weights = torch.rand(inputs.shape, generator=torch.Generator().manual_seed(0)).double() + 0.1
    solver = Sat().compile(theory)
    plain = Sat(remember=0).compile(theory).maximize(inputs, weights, outputs)
    for hits in (0, 8):
        found = solver.maximize(inputs, weights, outputs)
        assert solver.cache_hits == hits
        torch.testing.assert_close(found.cost, plain.cost)
        assert torch.equal(found.inputs * cells, plain.inputs * cells)


def in_child(solver, questions, queue):
    found = solver.maximize(*questions)
    queue.put((found.status.tolist(), found.cost.tolist()))


def test_a_forked_process_lists_for_itself():
    theory = pinned()
    solver = Sat().compile(theory)
    questions = (
        theory.encode(a=[0], b=[0]), torch.ones(1, 4, dtype=torch.float64),
        theory.encode_outputs(total=[2]),
    )  # fmt: skip
    solver.maximize(*questions)
    other = (questions[0], questions[1], theory.encode_outputs(total=[3]))
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=in_child, args=(solver, other, queue))
    with solver._first._listers.get().lock:  # as another thread may hold it at the time
        child.start()
    status, cost = queue.get(timeout=300)
    child.join(300)
    assert child.exitcode == 0
    here = solver.maximize(*other)
    assert (status, cost) == (here.status.tolist(), here.cost.tolist())


def test_other_questions_are_passed_on():
    theory = pinned()
    solver, asked = counting(theory)
    inputs, weights = theory.encode(a=[1], b=[1]), torch.ones(1, 4, dtype=torch.float64)
    assert solver.solve(inputs).status.item() == Status.UNSAT
    assert isinstance(solver.maximize(inputs, weights), Solution)
    assert solver.core(inputs, weights, theory.encode_outputs(total=[3])).inputs.any()
    assert asked == [1, 1, 1]
