"""A solver with a memory: the same answers, asked once."""

import pytest
import torch
from stages import Asks, solver_of

from helpers import Changed, all_equal, majority_of_three, seeds, unknown_where
from smtlayer import Z3, Sat, Solution, Status, Table
from smtlayer.solvers.host.memory import Memory
from smtlayer.testing import random_theory
from smtlayer.testing.theories import addition, xor


def signs(*rows):
    return torch.tensor(rows, dtype=torch.int8)


def numbers(*rows):
    return torch.tensor(rows, dtype=torch.float64)


def counting(theory, change=lambda asked, answer: answer, size=1000):
    """A solver with a memory, and the list of what its inner solver was asked."""
    questions = []

    def count(asked, answer):
        questions.append(asked)
        return change(asked, answer)

    return remembering(Changed(Table().compile(theory), count), size), questions


def remembering(solver, size):
    """A solver with a memory, and another as its last stage."""
    return solver_of(solver.theory, Memory(Asks(solver), size))


def random_questions(theory, seed, rows=40):
    generator = torch.Generator().manual_seed(seed)

    def draw(columns):
        return (torch.randint(0, 3, (rows, columns), generator=generator) - 1).to(torch.int8)

    inputs = draw(theory.n_inputs)
    weights = torch.randint(1, 4, inputs.shape, generator=generator).double()
    weights[inputs == 0] = torch.nan
    return inputs, weights, draw(theory.n_outputs)


def ask_all(solver, inputs, weights, outputs):
    return [
        solver.solve(inputs),
        solver.maximize(inputs, weights),
        solver.maximize(inputs, weights, outputs),
        solver.core(inputs, weights, outputs),
    ]


def assert_same(ours, theirs):
    assert type(ours) is type(theirs)
    for name in ours.__slots__:
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert mine.dtype == other.dtype, name
        assert torch.equal(mine, other), name


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_answers_are_those_without_a_memory_bit_by_bit(seed):
    theory = random_theory(seed)
    plain, remembers = Table().compile(theory), remembering(Table().compile(theory), 60)
    for round_ in range(4):  # the small memory forgets some of it in between
        questions = random_questions(theory, seed=seed + round_ % 2)
        for ours, theirs in zip(
            ask_all(remembers, *questions), ask_all(plain, *questions), strict=True
        ):
            assert_same(ours, theirs)
    assert remembers.cache_hits > 0


def test_only_rows_not_seen_are_asked_in_one_batch_and_in_order():
    solver, questions = counting(xor())
    solver.solve(signs([1, 1], [1, -1]))
    answer = solver.solve(signs([-1, 1], [1, 1], [-1, -1], [1, -1], [0, 1]))
    assert [q.inputs.tolist() for q in questions] == [
        [[1, 1], [1, -1]],
        [[-1, 1], [-1, -1], [0, 1]],
    ]
    assert answer.outputs[:4].tolist() == [[1], [-1], [-1], [1]]
    assert solver.cache_hits == 2


def test_weights_and_wanted_outputs_go_with_the_rows_that_are_asked():
    solver, questions = counting(majority_of_three())
    inputs, wanted = signs([1, 1, -1], [-1, -1, 1], [1, 1, 1]), signs([-1], [1], [-1])
    weights = numbers([1, 2, 3], [4, 5, 6], [7, 8, 9])
    for ask in (solver.core, solver.maximize):
        ask(inputs[:1], weights[:1], wanted[:1])
        ask(inputs, weights, wanted)
        assert torch.equal(questions[-1].inputs, inputs[1:])
        assert torch.equal(questions[-1].weights, weights[1:])
        assert torch.equal(questions[-1].outputs, wanted[1:])


def test_a_row_repeated_within_a_batch_is_asked_once():
    solver, questions = counting(majority_of_three())
    row, weights, wanted = signs([1, 1, -1]), numbers([1, 2, 3]), signs([-1])
    batch = [part.repeat(6, 1) for part in (row, weights, wanted)]
    for ask in (solver.core, solver.maximize, lambda x, w, y: solver.solve(x)):
        before = solver.cache_hits
        answer = ask(*batch)
        assert len(questions[-1].inputs) == 1
        assert solver.cache_hits - before == 5
        assert len(answer.status) == 6
        assert (answer.inputs == answer.inputs[0]).all()
    assert len(questions) == 3


def test_a_core_hangs_on_the_order_of_the_weights_only():
    solver, questions = counting(all_equal(3))
    inputs, wanted = signs([1, 1, 1]), signs([-1])
    first = solver.core(inputs, numbers([1, 2, 3]), wanted)
    again = solver.core(inputs, numbers([0.1, 20, 1e9]), wanted)
    assert_same(again, first)
    assert len(questions) == 1
    other = solver.core(inputs, numbers([3, 2, 1]), wanted)
    assert len(questions) == 2
    assert other.inputs.tolist() != first.inputs.tolist()


def test_equal_weights_are_ordered_by_column():
    solver, questions = counting(all_equal(3))
    inputs, wanted = signs([1, 1, 1]), signs([-1])
    solver.core(inputs, numbers([5, 5, 5]), wanted)
    solver.core(inputs, numbers([3, 2, 1]), wanted)  # the first column first, as among equals
    assert len(questions) == 1
    solver.core(inputs, numbers([5, 5, 6]), wanted)
    assert len(questions) == 2


def test_a_repair_hangs_on_the_exact_weights():
    solver, questions = counting(all_equal(3))
    inputs, weights = signs([1, -1, 1]), numbers([1, 3, 3])
    assert solver.maximize(inputs, weights).cost.item() == 3.0
    assert solver.maximize(inputs, weights.clone()).cost.item() == 3.0
    assert len(questions) == 1
    closest = torch.nextafter(weights, torch.tensor(10.0).double())
    cost = solver.maximize(inputs, closest).cost
    assert cost.item() == closest[0, 1].item() != 3.0
    assert len(questions) == 2
    solver.maximize(inputs, weights, signs([-1]))
    solver.maximize(inputs, weights, signs([0]))  # the same as none wanted
    assert len(questions) == 3


def test_weights_do_not_matter_if_no_input_is_overruled():
    solver, questions = counting(addition())
    inputs = signs([1, -1, -1, 1], [-1, -1, 1, 1])
    solved = solver.solve(inputs)
    repaired = solver.maximize(inputs, torch.rand(2, 4, dtype=torch.float64))
    assert_same(repaired, solved)
    assert len(questions) == 1
    wanted = solved.outputs
    solver.maximize(inputs, torch.rand(2, 4, dtype=torch.float64), wanted)
    solver.maximize(inputs, torch.rand(2, 4, dtype=torch.float64), wanted)
    assert len(questions) == 2
    assert solver.cache_hits == 4


def test_solve_takes_over_what_maximize_found_at_no_cost():
    solver, questions = counting(all_equal(2))
    solver.maximize(signs([1, 1], [1, -1]), numbers([1, 2], [1, 2]))
    answer = solver.solve(signs([1, 1], [1, -1]))
    assert [len(q.inputs) for q in questions] == [2, 1]
    assert answer.status.tolist() == [Status.SAT, Status.UNSAT]
    assert answer.cost.tolist() == [0.0, float("inf")]


def test_a_row_without_a_model_may_have_a_repair():
    solver, questions = counting(all_equal(2))
    inputs = signs([1, -1])
    for _ in range(2):
        assert solver.solve(inputs).status.item() == Status.UNSAT
    assert len(questions) == 1
    assert solver.maximize(inputs, numbers([1, 2])).status.item() == Status.SAT
    assert solver.solve(inputs).status.item() == Status.UNSAT


def test_a_model_that_overrules_an_input_is_no_model_of_the_inputs():
    def costs_nothing(asked, answer):  # as an input whose weight is lost beside others might
        return Solution(answer.status, answer.inputs, answer.outputs, torch.zeros(1).double())

    solver, _ = counting(all_equal(2), costs_nothing)
    solver.maximize(signs([1, -1]), numbers([1, 2]))
    assert solver.solve(signs([1, -1])).status.item() == Status.UNSAT


def test_no_model_for_the_wanted_outputs_is_remembered():
    x = addition()
    solver, questions = counting(x)
    wanted = x.encode_outputs(total=7)[None]  # 3 + 3 is 6
    for _ in range(2):
        answer = solver.maximize(signs([1, 1, 1, 1]), numbers([1, 2, 3, 4]), wanted)
        assert answer.status.item() == Status.UNSAT
        assert answer.cost.item() == float("inf")
    assert len(questions) == 1


@pytest.mark.parametrize("free", [float("nan"), -0.0, 0.0, -5.0, float("inf")])
def test_the_weight_of_a_free_input_is_nobodys_business(free):
    solver, questions = counting(all_equal(3))
    inputs, wanted = signs([1, 0, 1]), signs([-1])
    for ask in (solver.core, solver.maximize):
        asked = len(questions)
        ask(inputs, numbers([1, 7, 2]), wanted)
        ask(inputs, numbers([1, free, 2]), wanted)
        assert len(questions) == asked + 1


def test_questions_of_different_kinds_are_not_mixed_up():
    solver, questions = counting(majority_of_three())
    inputs, weights = signs([1, 1, -1]), numbers([1, 2, 3])
    for outputs in (signs([-1]), signs([1]), signs([0])):
        solver.core(inputs, weights, outputs)
        solver.maximize(inputs, weights, outputs)
    assert len(questions) == 6


def test_what_was_given_up_is_asked_again():
    late = []

    def gives_up_at_first(asked, answer):
        rows = torch.zeros(len(asked.inputs), dtype=torch.bool)
        rows[0] = not late
        late.append(asked)
        return unknown_where(rows, answer)

    inputs, weights, wanted = signs([1, 1], [-1, -1]), numbers([1, 2], [3, 4]), signs([-1], [-1])
    for name in ("solve", "maximize", "core"):
        solver, questions = counting(all_equal(2), gives_up_at_first)
        given = (inputs,) if name == "solve" else (inputs, weights, wanted)
        late.clear()
        assert getattr(solver, name)(*given).status[0].item() == Status.UNKNOWN
        assert len(solver._first) == 1
        assert getattr(solver, name)(*given).status[0].item() != Status.UNKNOWN
        assert questions[1].inputs.tolist() == [[1, 1]]
        getattr(solver, name)(*given)
        assert len(questions) == 2


def test_a_repair_that_is_not_proved_is_asked_again():
    def not_sure(asked, answer):
        return Solution(
            answer.status, answer.inputs, answer.outputs, answer.cost, torch.zeros(1).bool()
        )

    solver, questions = counting(all_equal(2), not_sure)
    for _ in range(3):
        assert not solver.maximize(signs([1, -1]), numbers([1, 2])).proved.item()
    assert (len(questions), len(solver._first), solver.cache_hits) == (3, 0, 0)


def test_the_least_recently_used_goes_first():
    solver, questions = counting(majority_of_three(), size=2)
    a, b, c = signs([1, 1, 1]), signs([-1, 1, 1]), signs([1, -1, 1])
    for row in (a, b, a, c):  # b was used last before a
        solver.solve(row)
    assert len(questions) == 3
    solver.solve(a)
    assert len(questions) == 3
    solver.solve(b)
    assert len(questions) == 4


def test_a_batch_larger_than_the_memory_is_answered():
    solver, _ = counting(addition(), size=3)
    inputs = random_questions(addition(), 0)[0]
    assert_same(solver.solve(inputs), Table().compile(addition()).solve(inputs))
    assert len(solver._first) == 3


def test_hits_of_a_memory_behind_it_count_too():
    large = Memory(Asks(Table().compile(xor())), 10)
    solver = solver_of(xor(), Memory(large, 1))
    for row in (signs([1, 1]), signs([1, -1]), signs([1, 1])):
        solver.solve(row)
    assert solver.cache_hits == 1


@pytest.mark.parametrize("backend", [Sat, Z3])
def test_a_memory_of_nothing_is_none_at_all_and_less_is_refused(backend):
    solver = backend(remember=0).compile(xor())
    solver.solve(signs([1, 1], [1, 1]))
    assert solver.cache_hits == 0
    message = r"expects remember as a whole number of 0 or more\. Got -1\.$"
    with pytest.raises(ValueError, match=message):
        backend(remember=-1)


def test_an_empty_batch_asks_nothing():
    solver, questions = counting(xor())
    nothing = torch.zeros(0, 2, dtype=torch.int8)
    plain = Table().compile(xor())
    given = (nothing, nothing.double(), nothing[:, :1])
    for ours, theirs in zip(ask_all(solver, *given), ask_all(plain, *given), strict=True):
        assert_same(ours, theirs)
    assert (questions, solver.cache_hits) == ([], 0)


def test_signs_and_weights_may_come_in_other_types():
    solver, questions = counting(all_equal(2))
    solver.maximize(signs([1, -1]), numbers([0.5, 2]))
    solver.maximize(signs([1, -1]).long(), numbers([0.5, 2]).float().requires_grad_())
    assert len(questions) == 1


def test_what_the_caller_does_to_an_answer_is_not_remembered():
    solver, _ = counting(xor())
    solver.solve(signs([1, -1])).outputs.zero_()
    answer = solver.solve(signs([1, -1]))
    answer.outputs.zero_()
    assert solver.solve(signs([1, -1])).outputs.item() == 1
