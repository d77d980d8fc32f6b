"""What a SAT solver answers about Sudoku boards, and how it is set."""

import copy
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, product

import pytest
import torch
import z3
from pysat.solvers import Minisat22

from helpers import seeds
from smtlayer import Z3, NotFiniteError, Sat, Status, Theory, TooLargeError
from smtlayer.solvers.clauses.translation import to_cnf
from smtlayer.testing.theories import addition, strings, xor
from smtlayer_studies.tasks.sudoku.theory import sudoku_theory


def full_board(box, seed):
    """A board without a mistake, as numbers by cell."""
    draw, size = random.Random(seed), box * box
    digits = draw.sample(range(1, size + 1), size)
    lines = [band * box + r for band in draw.sample(range(box), box) for r in range(box)]
    columns = [stack * box + c for stack in draw.sample(range(box), box) for c in range(box)]
    return {
        f"cell_{r}_{c}": digits[(box * (lines[r] % box) + lines[r] // box + columns[c]) % size]
        for r, c in product(range(size), repeat=2)
    }


def mistakes(board, box):
    """Pairs of cells that see each other and hold the same number."""
    size = box * box
    cells = list(product(range(size), repeat=2))
    return [
        (p, q)
        for p, q in combinations(cells, 2)
        if (
            p[0] == q[0] or p[1] == q[1] or (p[0] // box, p[1] // box) == (q[0] // box, q[1] // box)
        )
        and board[f"cell_{p[0]}_{p[1]}"] == board[f"cell_{q[0]}_{q[1]}"]
    ]


def hints_of(board, count, seed, wrong=False):
    """Some cells of a board; the last one of them with another number."""
    draw = random.Random(seed)
    hints = {name: board[name] for name in draw.sample(sorted(board), count)}
    if wrong:
        last = list(hints)[-1]
        size = round(len(board) ** 0.5)
        hints[last] = draw.choice([n for n in range(1, size + 1) if n != hints[last]])
    return hints


@pytest.fixture(scope="module")
def nine():
    theory = sudoku_theory()
    return theory, Sat().compile(theory)


@pytest.mark.parametrize("count", [17, 28, 36, 81])
def test_boards_are_completed(nine, count):
    theory, solver = nine
    hints = [hints_of(full_board(3, seed), count, seed) for seed in range(4)]
    found = solver.solve(torch.stack([theory.encode(**h) for h in hints]))
    assert found.status.tolist() == [Status.SAT] * 4
    for row, given in enumerate(hints):
        board = theory.decode(found.outputs[row])
        assert theory.decode_inputs(found.inputs[row]) == board
        assert not mistakes(board, 3)
        assert all(board[name] == digit for name, digit in given.items())


@pytest.mark.parametrize("seed", seeds(1, 4))
def test_a_wrong_hint_is_blamed_only_with_those_that_contradict_it(nine, seed):
    theory, solver = nine
    inputs = theory.encode(**hints_of(full_board(3, seed), 36, seed, wrong=True))[None]
    weights = torch.rand(inputs.shape, generator=torch.Generator().manual_seed(seed)) + 0.1
    nothing = torch.zeros(1, theory.n_outputs, dtype=torch.int8)
    assert solver.solve(inputs).status.item() == Status.UNSAT
    core = solver.core(inputs, weights, nothing)
    assert core.status.item() == Status.UNSAT
    blamed = core.inputs[0].nonzero().flatten().tolist()
    cnf = to_cnf(theory, direct=False)
    literals = [cnf.columns[i] * int(inputs[0, i]) for i in blamed]
    with Minisat22(bootstrap_with=cnf.clauses) as judge:
        assert judge.solve(literals) is False
        assert all(judge.solve([y for y in literals if y != x]) for x in literals)
    assert len(blamed) > 1


@pytest.mark.parametrize("seed", range(4))
def test_with_the_answer_given_the_lightest_wrong_bit_is_blamed(nine, seed):
    theory, solver = nine
    board = full_board(3, seed)
    inputs = theory.encode(**hints_of(board, 36, seed, wrong=True))[None]
    answer = theory.encode_outputs(**board)[None]
    weights = torch.rand(inputs.shape, generator=torch.Generator().manual_seed(seed)) + 0.1
    wrong = (inputs * answer < 0)[0].nonzero().flatten().tolist()
    blamed = solver.core(inputs, weights, answer).inputs[0].nonzero().flatten().tolist()
    assert blamed == [min(wrong, key=lambda i: weights[0, i])]
    right = solver.core(theory.encode(**hints_of(board, 36, seed))[None], weights, answer)
    assert (right.status.item(), right.inputs.any().item()) == (Status.SAT, False)


@pytest.fixture(scope="module")
def four():
    """The theory of small boards, and all 288 of them as signs."""
    theory = sudoku_theory(2)
    names = [f"cell_{r}_{c}" for r, c in product(range(4), repeat=2)]
    boards = [[]]
    for place in range(16):
        seen = [
            q for q in range(place)
            if q // 4 == place // 4 or q % 4 == place % 4
            or (q // 8, q % 4 // 2) == (place // 8, place % 4 // 2)
        ]  # fmt: skip
        boards = [[*b, n] for b in boards for n in range(1, 5) if n not in [b[q] for q in seen]]
    columns = torch.tensor(boards).T
    return theory, theory.encode(**dict(zip(names, columns, strict=True)))


def random_rows(theory, boards, rows, seed):
    """Boards with some bits wrong and some unknown, and a number wanted here and there."""
    generator = torch.Generator().manual_seed(seed)
    board = boards[torch.randint(len(boards), (rows,), generator=generator)]
    wrong, free = (torch.rand(board.shape, generator=generator) < share for share in (0.15, 0.2))
    inputs = torch.where(wrong, -board, board).masked_fill(free, 0)
    weights = torch.randint(1, 40, board.shape, generator=generator).double()
    weights[::2] = torch.rand(board.shape, generator=generator).double()[::2] + 1e-6
    other = boards[torch.randint(len(boards), (rows,), generator=generator)]
    wanted = torch.rand(board.shape, generator=generator) < 0.06
    return inputs, weights, torch.where(wanted, other, 0)


def test_small_boards_get_the_cheapest_repair_of_all(four):
    theory, boards = four
    assert len(boards) == 288
    inputs, weights, wanted = random_rows(theory, boards, 40, seed=0)
    best = Sat(remember=0).compile(theory).maximize(inputs, weights, wanted)
    assert best.proved.all()
    costs = torch.where(inputs[:, None] * boards < 0, weights[:, None], 0).sum(-1)
    fits = (wanted[:, None] * boards >= 0).all(-1)
    least = torch.where(fits, costs, torch.inf).amin(-1)
    assert torch.allclose(best.cost, least, rtol=1e-9)
    assert torch.equal(best.status == Status.SAT, fits.any(-1))
    known = {tuple(board) for board in boards.tolist()}
    rows = best.inputs[best.status == Status.SAT].tolist()
    assert all(tuple(row) in known for row in rows)


def test_small_boards_get_the_cores_of_z3(four):
    theory, boards = four
    inputs, weights, wanted = random_rows(theory, boards, 40, seed=1)
    ours, theirs = (b.compile(theory).core(inputs, weights, wanted) for b in (Sat(), Z3()))
    assert torch.equal(ours.status, theirs.status)
    assert torch.equal(ours.inputs, theirs.inputs)
    assert ours.inputs.any(-1).sum() > 20


def test_options_compare_print_hash_pickle_and_copy():
    assert Sat(timeout_ms=5) == Sat(timeout_ms=5) != Sat(timeout_ms=6)
    assert repr(Sat()) == "Sat(timeout_ms=10000, workers=0, remember=50000, max_clauses=5000000)"
    assert len({Sat(), Sat(), Sat(workers=1), Sat(remember=0)}) == 3
    assert pickle.loads(pickle.dumps(Sat(7, 2, 3))) == Sat(7, 2, 3) == copy.deepcopy(Sat(7, 2, 3))
    with ThreadPoolExecutor(1) as pool:
        options = Sat(workers=pool)
        assert copy.deepcopy(options) is options
        with pytest.raises(TypeError, match=r"^Sat cannot be pickled with an executor in it"):
            pickle.dumps(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout_ms": 0}, r"^Sat expects timeout_ms above 0\. Got 0\.$"),
        ({"workers": -1}, r"^Sat expects workers to be 0, a number of processes, an Executor"),
        ({"remember": -1}, r"^Sat expects remember as a whole number of 0 or more\. Got -1\.$"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Sat(**options)


def test_a_theory_that_does_not_come_down_to_bits_is_refused_with_what_to_do():
    message = (
        r"^Sat takes theories that come down to bits, and this one does not: '.*word.*' does not "
        r"come down to bits\. Use Z3\(\) or Auto\(\) instead\.$"
    )
    with pytest.raises(NotFiniteError, match=message):
        Sat().compile(strings())


def test_a_theory_too_large_is_refused_with_the_numbers_and_the_option_to_raise():
    x, y = z3.BitVecs("x y", 16)
    theory = Theory(y == x * x, [x], [y])
    message = (
        r"^Sat: this theory is too large, it takes .*[\d,]+ clauses, more than max_clauses=100\. "
        r"Raise max_clauses, or use Z3\(\) instead\.$"
    )
    with pytest.raises(TooLargeError, match=message):
        Sat(max_clauses=100).compile(theory)
    assert Sat(max_clauses=100_000).compile(theory).name == "Sat"
    with pytest.raises(ValueError, match=r"^Sat expects max_clauses as a whole number of 1"):
        Sat(max_clauses=0)


def test_answers_are_remembered_by_default():
    rows = torch.tensor([[1, 1], [1, -1], [1, 1]], dtype=torch.int8)
    kept, forgetful = Sat().compile(xor()), Sat(remember=0).compile(xor())
    for solver in (kept, forgetful, kept, forgetful):
        assert solver.solve(rows).outputs.flatten().tolist() == [-1, 1, -1]
    assert (kept.cache_hits, forgetful.cache_hits) == (1 + 3, 0)
    assert (kept.name, kept.limit_ms, kept.deterministic, kept.capturable) == (
        "Sat", 10_000, False, frozenset(),
    )  # fmt: skip
    assert kept.on_host
    assert forgetful.on_host


def test_columns_that_nothing_holds_get_a_value_and_take_any():
    a, b, y = z3.Bools("a b y")
    solver = Sat(remember=0).compile(Theory([z3.Or(a, z3.Not(a)), b == b, y == y], [a, b], [y]))
    rows = torch.tensor([[0, 0], [1, -1], [-1, 1]], dtype=torch.int8)
    found = solver.solve(rows)
    assert found.status.tolist() == [Status.SAT] * 3
    assert found.inputs[1:].tolist() == rows[1:].tolist()
    assert (found.inputs != 0).all()
    assert (found.outputs != 0).all()
    wanted = torch.ones(3, 1, dtype=torch.int8)
    assert solver.maximize(rows, torch.ones(3, 2), wanted).cost.tolist() == [0.0] * 3


def test_free_inputs_and_free_outputs_are_left_to_the_solver():
    theory = addition()
    solver = Sat().compile(theory)
    partly, wanted = theory.encode(a=3)[None], theory.encode_outputs(total=5)[None]
    best = solver.maximize(partly, torch.ones(1, 4), wanted)
    assert theory.decode_inputs(best.inputs[0]) == {"a": 3, "b": 2}
    nothing = torch.zeros_like(wanted)
    assert solver.core(partly, torch.ones(1, 4), nothing).status.tolist() == [Status.SAT]
