"""What z3 does where others cannot: theories it gives up on, time limits, and equal blame."""

import time

import pytest
import torch
import z3

from helpers import BACKENDS, all_equal, input_gradient, majority_of_three
from smtlayer import (
    Z3,
    Auto,
    Core,
    Enumerate,
    SMTLayer,
    SolverUnknownError,
    Status,
    Table,
    Theory,
    TooManyModelsError,
)
from smtlayer.testing import random_theory
from smtlayer.testing.theories import addition

LIMIT_MS = 200


def undecided() -> Theory:
    """With a, a real power that z3 does not decide; without, nothing difficult."""
    a, b, y = z3.Bools("a b y")
    power = 2 ** z3.Real("r") == 3
    return Theory([z3.Implies(a, power), y == z3.Or(a, b)], inputs=[a, b], outputs=[y])


def hard(holes: int = 11) -> Theory:
    """With a, more pigeons than holes; without, nothing difficult."""
    a, b, y = z3.Bools("a b y")
    sits = [[z3.Bool(f"sits_{i}_{j}") for j in range(holes)] for i in range(holes + 1)]
    housed = [z3.Or(pigeon) for pigeon in sits]
    alone = [z3.AtMost(*(pigeon[j] for pigeon in sits), 1) for j in range(holes)]
    return Theory(
        [z3.Implies(a, z3.And(*housed, *alone)), y == z3.Or(a, b)], inputs=[a, b], outputs=[y]
    )


ROWS = torch.tensor([[1, -1], [-1, 1], [-1, -1]], dtype=torch.int8)
WANTED = torch.tensor([[1], [-1], [-1]], dtype=torch.int8)
ASK = {
    "solve": lambda solver: solver.solve(ROWS),
    "maximize": lambda solver: solver.maximize(ROWS, torch.ones(3, 2)),
    "core": lambda solver: solver.core(ROWS, torch.ones(3, 2), WANTED),
}


@pytest.mark.usefixtures("time_for_z3")
@pytest.mark.parametrize(
    ("theory", "question"),
    [
        (undecided, "solve"),
        (undecided, "maximize"),
        (undecided, "core"),
        (hard, "solve"),
        (hard, "core"),
    ],
)
def test_what_z3_cannot_decide_is_unknown_and_zero_and_the_next_row_is_not(theory, question):
    answer = ASK[question](Z3().compile(theory()))
    assert not answer.inputs[0].any()
    if isinstance(answer, Core):
        assert answer.status.tolist() == [Status.UNKNOWN, Status.UNSAT, Status.SAT]
        assert answer.inputs[1].tolist() == [False, True]
    else:
        assert answer.status.tolist() == [Status.UNKNOWN, Status.SAT, Status.SAT]
        assert answer.outputs.tolist() == [[0], [1], [-1]]
        assert answer.cost.tolist() == [float("inf"), 0.0, 0.0]


@pytest.mark.usefixtures("time_for_z3")
def test_a_repair_is_the_best_so_far_where_z3_cannot_decide_in_time():
    best = ASK["maximize"](Z3().compile(hard()))
    assert best.status.tolist() == [Status.SAT] * 3
    assert best.proved.tolist() == [False, True, True]
    assert best.inputs[0, 0] == -1, "pigeons in too few holes"
    assert best.cost.tolist()[1:] == [0.0, 0.0]
    assert 1.0 <= best.cost[0] <= 2.0


@pytest.mark.slow  # it asserts a time
@pytest.mark.parametrize("question", ASK)
def test_the_time_limit_holds_for_each_row(question):
    solver = Z3(timeout_ms=LIMIT_MS).compile(hard())
    start = time.monotonic()
    answer = ASK[question](solver)
    proved = answer.proved if question == "maximize" else answer.status != Status.UNKNOWN
    assert proved.tolist() == [False, True, True]
    assert LIMIT_MS / 1000 * 0.9 <= time.monotonic() - start <= LIMIT_MS / 1000 + 1.0


def test_the_time_limit_of_a_row_is_not_one_for_each_step_of_its_answer(clock, time_for_z3):
    inputs, y = [z3.Bool(f"x{i}") for i in range(10)], z3.Bool("y")
    theory = Theory([y == z3.Or(inputs), z3.AtMost(*inputs, 1)], inputs=inputs, outputs=[y])
    solver = Z3(timeout_ms=LIMIT_MS, remember=0).compile(theory)
    false, true = -torch.ones(1, 10, dtype=torch.int8), torch.ones(1, 10, dtype=torch.int8)
    ask = [
        lambda: solver.core(false, torch.ones(1, 10), torch.ones(1, 1, dtype=torch.int8)),
        lambda: solver.maximize(true, torch.ones(1, 10)),
    ]
    assert [question().status.item() for question in ask] == [Status.UNSAT, Status.SAT]
    clock.step_s = 0.03
    for question in ask:
        time_for_z3.clear()
        answer = question()
        assert max(time_for_z3) < LIMIT_MS
        assert len(time_for_z3) <= 6  # of ten steps and more
        if isinstance(answer, Core):
            assert answer.status.item() == Status.UNKNOWN
        else:  # a model was found on the way, not proved best
            assert (answer.status.item(), answer.proved.item()) == (Status.SAT, False)
            assert 9 <= answer.cost.item() <= 10


def test_a_layer_counts_what_z3_gave_up_on():
    layer = SMTLayer(undecided(), backend=Z3())
    gradient = input_gradient(layer, ROWS.double(), -WANTED)
    assert layer(ROWS.double()).flatten().tolist() == [0.0, 1.0, -1.0]
    assert gradient.any(-1).tolist() == [False, True, True]
    assert layer.stats.unknown == 2


@pytest.mark.usefixtures("time_for_z3")
@pytest.mark.parametrize(
    ("backend", "who"), [(Z3(timeout_ms=700), "Z3"), (Enumerate(timeout_ms=700), "Enumerate")]
)
def test_the_error_of_a_layer_names_the_solver_that_gave_up(backend, who):
    layer = SMTLayer(undecided(), backend=backend, on_unknown="raise")
    message = rf"^{who} gave up on 1 of 3 rows \(first: row 0\) after 700 ms\."
    with pytest.raises(SolverUnknownError, match=message):
        layer(ROWS.float())


def test_a_theory_that_cannot_be_listed_is_left_to_z3():
    with pytest.raises(
        TooManyModelsError, match=r"makes z3 answer unknown .* after 2 models\. Use Z3"
    ):
        Table().compile(undecided())
    choice = Auto(timeout_ms=77).choose(undecided())
    assert choice.backend == Z3(timeout_ms=77)
    assert choice.reason.startswith("it makes z3 answer unknown (")


@pytest.mark.parametrize("timeout_ms", [0, -5])
def test_a_time_limit_is_above_zero(timeout_ms):
    with pytest.raises(ValueError, match=rf"^Z3 expects timeout_ms above 0\. Got {timeout_ms}\.$"):
        Z3(timeout_ms=timeout_ms)


def test_options_compare_print_and_hash():
    assert Z3(timeout_ms=5) == Z3(timeout_ms=5) != Z3(timeout_ms=6)
    assert repr(Z3()) == "Z3(timeout_ms=10000, seed=0, workers=0, remember=50000)"
    assert len({Z3(), Z3(), Z3(seed=1)}) == 2


@pytest.mark.parametrize("seed", range(10))
def test_every_backend_blames_the_same_inputs_also_where_weights_are_equal(seed):
    generator = torch.Generator().manual_seed(seed)
    theories = [random_theory(seed), majority_of_three(), all_equal(4)]
    for theory in theories:
        inputs = torch.randint(0, 2, (12, theory.n_inputs), generator=generator) * 2 - 1
        wanted = torch.randint(0, 2, (12, theory.n_outputs), generator=generator) * 2 - 1
        weights = torch.randint(1, 4, inputs.shape, generator=generator).double()
        weights[:4] = 1.0
        table, smt, oracle = (
            backend.compile(theory).core(inputs.to(torch.int8), weights, wanted.to(torch.int8))
            for backend in BACKENDS
        )
        for other in (smt, oracle):
            assert torch.equal(table.status, other.status)
            assert torch.equal(table.inputs, other.inputs)


def test_equal_weights_are_deleted_in_column_order():
    for backend in BACKENDS:
        solver = backend.compile(majority_of_three())
        core = solver.core(
            torch.ones(1, 3, dtype=torch.int8), torch.ones(1, 3), -torch.ones(1, 1).to(torch.int8)
        )
        assert core.inputs.tolist() == [[False, True, True]], backend


def test_free_inputs_and_free_outputs_are_left_to_the_solver():
    theory = addition()
    solver = Z3().compile(theory)
    partly = theory.encode(a=3)[None]
    wanted = theory.encode_outputs(total=5)[None]
    best = solver.maximize(partly, torch.ones(1, 4), wanted)
    assert theory.decode_inputs(best.inputs[0]) == {"a": 3, "b": 2}
    nothing = torch.zeros_like(wanted)
    assert solver.core(partly, torch.ones(1, 4), nothing).status.tolist() == [Status.SAT]


def test_what_repairs_add_is_forgotten():
    row = Z3().open(all_equal(5))
    sizes = set()
    for seed in range(60):
        draw = torch.Generator().manual_seed(seed)
        inputs = (torch.randint(0, 2, (5,), generator=draw) * 2 - 1).tolist()
        assert row.maximize(inputs, torch.rand(5, generator=draw).tolist(), [0]).proved
        sizes.add((row.top, len(row._terms), len(row._number), len(row._solver.assertions())))
    assert len(sizes) == 1


@pytest.mark.parametrize("n", range(8))
def test_a_symbol_named_like_a_column_is_not_taken_for_it(n):
    odd, plain, y = z3.Bools(f"column!{n} plain y")
    theory = Theory([z3.Or(odd, plain), y == z3.Xor(odd, plain)], [plain, odd], [y])
    rows = torch.tensor([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype=torch.int8)
    assert Z3().compile(theory).solve(rows).outputs.flatten().tolist() == [0, 1, 1, -1]
