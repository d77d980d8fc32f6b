"""The list of all models: exact, bounded, and never a loop over rows."""

import math
import os
import random
import subprocess
import sys
import textwrap
from fractions import Fraction

import pytest
import torch
import z3
from torch.utils._python_dispatch import TorchDispatchMode

from helpers import all_equal, seeds
from smtlayer import Z3, Status, Table, Theory, TooManyModelsError
from smtlayer.solvers.table.exact import first_minimum
from smtlayer.solvers.table.models import list_models
from smtlayer.testing import THEORIES
from smtlayer.testing.theories import addition
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory

# columns: look-up, one word of float32, one of float64, several words
WIDTHS = [4, 8, 18, 30, 52, 53, 70, 110]


def code(inputs: int, outputs: int = 5, words: int = 12, seed: int = 0) -> Theory:
    """Some random words over the inputs, each with its own label: few models, many columns."""
    draw = random.Random(seed)
    x, y = z3.BitVec("x", inputs), z3.BitVec("y", outputs)
    labels = draw.sample(range(2**outputs), words)
    pairs = [z3.And(x == draw.getrandbits(inputs), y == label) for label in labels]
    return Theory(z3.Or(pairs), inputs=[x], outputs=[y])


def questions(theory: Theory, rows: int, seed: int = 0):
    """Words with some errors and some unknown columns; weights with ties; labels, some wrong."""
    generator = torch.Generator().manual_seed(seed)
    models = Table().compile(theory)._models
    shape, picked = (
        (rows, theory.n_inputs),
        torch.randint(len(models), (rows,), generator=generator),
    )
    wrong = torch.rand(shape, generator=generator) < 0.1
    free = torch.rand(shape, generator=generator) < 0.2
    free[::2] = False
    words = models.inputs[picked]
    inputs = torch.where(wrong, -words, words).masked_fill(free, 0)
    weights = torch.randint(1, 40, shape, generator=generator).double()
    weights[::3] += 100 * wrong[::3]  # surely wrong
    labels = models.outputs[picked]
    noise = torch.randint(-1, 2, labels.shape, generator=generator).to(torch.int8)
    return inputs, weights, torch.where(torch.arange(rows)[:, None] % 4 < 2, labels, noise)


@pytest.mark.parametrize("inputs", WIDTHS)
def test_any_number_of_columns_gets_the_cores_of_z3(inputs):
    theory = code(inputs)
    table, smt = Table().compile(theory), Z3().compile(theory)
    asked, weights, wanted = questions(theory, 12)
    ours, theirs = table.core(asked, weights, wanted), smt.core(asked, weights, wanted)
    assert torch.equal(ours.status, theirs.status)
    assert torch.equal(ours.inputs, theirs.inputs)
    assert ours.inputs.any()
    assert torch.equal(table.solve(asked).status, smt.solve(asked).status)


@pytest.mark.parametrize("inputs", WIDTHS)
def test_any_number_of_columns_gets_the_best_model_there_is(inputs):
    theory = code(inputs)
    solver = Table().compile(theory)
    models, labels = solver._models.inputs, solver._models.outputs
    asked, weights, wanted = questions(theory, 40)
    best = solver.maximize(asked, weights, wanted)
    assert set(best.status.tolist()) == {Status.SAT, Status.UNSAT}
    for row in range(40):
        costs = {
            k: weights[row][asked[row] * models[k] < 0].sum().item()
            for k in range(len(models))
            if not (wanted[row] * labels[k] < 0).any()
        }
        k = min(costs, key=lambda k: (costs[k], k), default=None)
        if k is None:
            assert (best.status[row].item(), best.cost[row].item()) == (Status.UNSAT, float("inf"))
        else:
            assert torch.equal(best.inputs[row], models[k])
            assert torch.equal(best.outputs[row], labels[k])
            assert best.cost[row].item() == costs[k]


@pytest.mark.parametrize("inputs", [4, 18, 53])
def test_solve_takes_the_first_model_and_maximize_the_first_of_the_best(inputs):
    theory = code(inputs)
    solver = Table().compile(theory)
    free = torch.zeros(1, inputs, dtype=torch.int8)
    first = solver._models.inputs[:1]
    assert first.tolist() == [min(solver._models.inputs.tolist())]
    assert torch.equal(solver.solve(free).inputs, first)
    assert torch.equal(solver.maximize(free, torch.ones(1, inputs)).inputs, first)


@pytest.mark.parametrize("inputs", [4, 18, 53])
def test_an_empty_batch_is_answered_with_nothing(inputs):
    solver = Table().compile(code(inputs))
    nothing, weights = torch.zeros(0, inputs, dtype=torch.int8), torch.zeros(0, inputs)
    wanted = torch.zeros(0, 5, dtype=torch.int8)
    for answer in (
        solver.solve(nothing),
        solver.maximize(nothing, weights),
        solver.maximize(nothing, weights, wanted),
    ):
        assert (answer.status.shape, answer.inputs.shape) == ((0,), (0, inputs))
        assert (answer.outputs.shape, answer.cost.shape) == ((0, 5), (0,))
    core = solver.core(nothing, weights, wanted)
    assert (core.status.shape, core.inputs.shape) == ((0,), (0, inputs))


@pytest.mark.parametrize("inputs", [2, 16])
def test_a_theory_without_a_model_is_unsat_whatever_is_asked(inputs):
    theory = all_equal(inputs)
    theory = Theory([*theory.constraints, theory.inputs[0] != theory.outputs[0]],
                    theory.inputs, theory.outputs)  # fmt: skip
    solver = Table().compile(theory)
    asked, weights = torch.ones(3, inputs, dtype=torch.int8), torch.ones(3, inputs)
    wanted = torch.zeros(3, 1, dtype=torch.int8)
    assert solver.solve(asked).status.tolist() == [Status.UNSAT] * 3
    assert solver.maximize(asked, weights).status.tolist() == [Status.UNSAT] * 3
    core = solver.core(asked, weights, wanted)
    assert core.status.tolist() == [Status.UNSAT] * 3
    assert not core.inputs.any()


def test_too_many_models_are_refused_with_what_to_do():
    message = (
        r"^Table: this theory has more than max_models=15 models over its 7 inputs and outputs\. "
        r"Use Sat\(\) instead, or raise max_models\.$"
    )
    with pytest.raises(TooManyModelsError, match=message):
        Table(max_models=15).compile(addition())
    assert len(Table(max_models=16).compile(addition())._models) == 16


def test_what_is_not_finite_is_referred_to_z3():
    with pytest.raises(TooManyModelsError, match=r"Use Z3\(\) instead, or raise max_models\.$"):
        Table(max_models=1).compile(THEORIES["strings"]())


def test_a_list_that_takes_too_much_work_is_refused_with_what_to_do():
    a = z3.BitVec("a", 40)
    y = z3.Bool("y")
    theory = Theory(y == (z3.URem(a, 7) == 3), inputs=[a], outputs=[y])
    message = (
        r"^Table: this theory needs more than max_work=20000 steps to list; \d+ models were "
        r"found\. Use Sat\(\) instead, or raise max_work\.$"
    )
    with pytest.raises(TooManyModelsError, match=message):
        Table(max_models=10**7, max_work=20_000).compile(theory)


def test_a_sudoku_is_refused_by_an_estimate():
    message = (
        r"^Table: this theory has far more than max_models=100000 models over its 648 inputs and "
        r"outputs, by an estimate\. Use Sat\(\) instead\.$"
    )
    theory = sudoku_theory(3)
    with pytest.raises(TooManyModelsError, match=message):
        Table().compile(theory)
    assert len(list_models(theory, 100_000)) == 256  # models that were listed before


@pytest.mark.parametrize("seed", seeds(14, 40))
def test_the_first_minimum_is_exact_over_many_orders_of_magnitude(seed):
    draw = random.Random(seed)
    columns, candidates, rows = draw.randint(1, 6), draw.randint(1, 12), 6
    spread = draw.choice([0, 17, 40, 150, 300])
    sizes = [10.0 ** draw.randint(-spread, spread) * draw.choice([1, 3, draw.random()])
             for _ in range(3)]  # fmt: skip
    weights = [[draw.choice([0.0, *sizes]) for _ in range(columns)] for _ in range(rows)]
    members = [[draw.randint(0, 1) for _ in range(candidates)] for _ in range(columns)]
    allowed = [[draw.random() < 0.8 for _ in range(candidates)] for _ in range(rows)]
    index, cost = first_minimum(
        torch.tensor(weights, dtype=torch.float64),
        torch.tensor(members, dtype=torch.float64),
        torch.tensor(allowed),
    )
    for row in range(rows):
        sums = {
            k: sum((Fraction(weights[row][c]) * members[c][k] for c in range(columns)), Fraction(0))
            for k in range(candidates)
            if allowed[row][k]
        }
        best = min(sums, key=lambda k: (sums[k], k), default=candidates)
        assert index[row] == best
        expected = float(sums[best]) if sums else float("inf")
        assert cost[row].item() == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("large", [1e-300, 1.0, 1e30, 1e300])
def test_the_least_weight_counts_beside_the_largest(large):
    members = torch.tensor([[1, 1], [1, 0], [0, 1]]).double()
    for small in (large * 1e-7, large * 1e-17, 1e-300, 5e-324):
        weights = torch.tensor([[large, 3 * small, 2 * small]], dtype=torch.float64)
        index, _ = first_minimum(weights, members, torch.ones(1, 2, dtype=torch.bool))
        assert index.item() == 1


@pytest.mark.parametrize("seed", seeds(14, 40))
def test_sums_that_differ_by_less_than_rounding_are_distinguished(seed):
    draw = random.Random(seed)
    scale = draw.choice([1.0, 2.0**-1000, 2.0**-1040, 2.0**900])
    parts = [draw.random() * scale * 2.0 ** draw.randint(-60, 0) for _ in range(4)]
    total = math.fsum(parts)
    for nudged in (total, math.nextafter(total, 0), math.nextafter(total, math.inf)):
        weights = torch.tensor([[*parts, nudged]], dtype=torch.float64)
        members = torch.tensor([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1]]).double()
        index, _ = first_minimum(weights, members, torch.ones(1, 2, dtype=torch.bool))
        assert index.item() == (sum(map(Fraction, parts)) > Fraction(nudged))


def test_many_ties_are_compared_a_few_rows_at_a_time():
    weights = torch.tensor([1.0, 1e-20, 1e-21, 1.0], dtype=torch.float64).repeat(200, 1)
    weights[::2, 1:3] = weights[::2, 1:3].flip(-1)
    members = torch.tensor([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]]).double()
    index, _ = first_minimum(weights, members, torch.ones(1, 3, dtype=torch.bool))
    assert index[1::2].tolist() == [1] * 100
    assert index[::2].tolist() == [0] * 100


MEMORY = """
    import resource
    import torch, z3
    from smtlayer import Theory
    from smtlayer.solvers.table.models import Models
    from smtlayer.solvers.table.table import TableSolver

    x, y = z3.BitVec("x", 16), z3.BitVec("y", 6)
    theory = Theory(y == z3.Extract(5, 0, x), inputs=[x], outputs=[y])
    torch.manual_seed(0)
    signs = torch.randint(0, 2, (20_000, 16), dtype=torch.int8) * 2 - 1
    solver = TableSolver(theory, Models(signs, signs[:, -6:].contiguous()))
    rows = torch.randint(0, 2, (1024, 16), dtype=torch.int8) * 2 - 1
    weights, wanted = torch.rand(1024, 16), signs[:1024, -6:]

    def ask(count):
        solver.solve(rows[:count])
        solver.maximize(rows[:count], weights[:count], wanted[:count])
        solver.core(rows[:count], weights[:count], wanted[:count])
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = ask(1)
    print((ask(1024) - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in kilobytes")
def test_memory_is_bounded_for_many_rows_and_many_models():
    command = [sys.executable, "-c", textwrap.dedent(MEMORY)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=environment)
    assert int(done.stdout) < 400  # megabytes; all rows and models at once would take 760


class Counted(TorchDispatchMode):
    """Counts the operations of torch."""

    operations = 0

    def __torch_dispatch__(self, operation, types, arguments=(), options=None):
        self.operations += 1
        return operation(*arguments, **(options or {}))


@pytest.mark.parametrize("inputs", [8, 18, 60])
@pytest.mark.parametrize("question", ["solve", "maximize", "core"])
def test_rows_are_answered_together(question, inputs):
    theory = code(inputs)
    solver = Table().compile(theory)

    def operations(rows):
        asked, weights, wanted = questions(theory, rows)
        with Counted() as counted:
            ask = getattr(solver, question)
            _ = ask(asked) if question == "solve" else ask(asked, weights, wanted)
        return counted.operations

    assert 0 < operations(4096) < 4096 / 8 * operations(1)
