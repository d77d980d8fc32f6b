"""The cheapest repair, against trying every assignment."""

import itertools
import math
import random

import pytest

from helpers import seeds
from smtlayer import Status
from smtlayer.solvers.clauses.cnf import Cnf, join
from smtlayer.solvers.sat import SatRow
from smtlayer.solvers.search import maxsat
from smtlayer.solvers.search.maxsat import Repair, cheapest_repair
from smtlayer.solvers.search.oracle import Answer, exact_integers

# Weights as the layer meets them, and as it may meet them on a bad day.
SCALES = {
    "all equal": lambda draw: 1.0,
    "many ties": lambda draw: float(draw.randint(1, 3)),
    "logits": lambda draw: draw.random() + 1e-3,
    "orders apart": lambda draw: 10.0 ** draw.randint(-20, 20),
    "the smallest beside the largest": lambda draw: draw.choice([5e-324, 1e-300, 1.0, 1e300]),
}


def model_of(clauses, fixed):
    """Literals that make all clauses true, or None: propagation and trial, nothing clever."""
    while True:
        if any(-x in fixed for x in fixed):
            return None
        left = [[x for x in c if -x not in fixed] for c in clauses if fixed.isdisjoint(c)]
        if not all(left):
            return None
        units = frozenset(c[0] for c in left if len(c) == 1)
        if not units:
            break
        clauses, fixed = left, fixed | units
    if not left:
        return fixed
    tries = (model_of(left, fixed | {x}) for x in (left[0][0], -left[0][0]))
    return next((found for found in tries if found is not None), None)


class Slow:
    """An oracle in plain Python that is of little help.

    Its cores are larger than need be, its models overrule all they can, and its patience may end.
    """

    def __init__(self, clauses, top, draw, patience=10**9, soft=()):
        self.clauses, self.top, self.soft = list(clauses), top, soft
        self.deadline = math.inf
        self.draw, self.patience, self.asked = draw, patience, []
        self.found, self.models = None, []

    def check(self, literals):
        self.asked.append(list(literals))
        if len(self.asked) > self.patience:
            return Answer(Status.UNKNOWN)
        self.found = model_of(self.clauses, frozenset(literals))
        if self.found is not None:
            against = frozenset(literals)
            for x in self.soft:
                worse = model_of(self.clauses, against | {-x})
                if worse is not None:
                    self.found, against = worse, against | {-x}
            self.models.append(self.found)
            return Answer(Status.SAT)
        core = self.draw.sample(sorted(set(literals)), len(set(literals)))
        for x in list(core):
            rest = [other for other in core if other != x]
            if self.draw.random() < 0.9 and model_of(self.clauses, frozenset(rest)) is None:
                core = rest
        return Answer(Status.UNSAT, core=core)

    def model(self):
        assert self.found is not None
        return self.found

    def signs(self, model, literals):
        return [1 if (abs(x) in model) == (x > 0) else -1 for x in literals]

    def add(self, clauses):
        clauses = [list(clause) for clause in clauses]
        assert all(abs(x) <= self.top for clause in clauses for x in clause)
        self.clauses += clauses


class Problem:
    """Random clauses, wanted literals and soft literals, some of them opposites."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.n = draw.randint(1, 7)
        variables = range(1, self.n + 1)
        self.clauses = [
            [x * draw.choice([1, -1]) for x in draw.sample(variables, draw.randint(1, min(3, n)))]
            for n in [self.n] * draw.randint(0, 16)
        ]
        self.wanted = [draw.choice([x, -x]) for x in variables if draw.random() < 0.15]
        soft = [x * draw.choice([1, -1]) for x in variables if draw.random() < 0.8]
        soft += [-x for x in soft if draw.random() < 0.2]
        scale = draw.choice(list(SCALES.values()))
        self.floats = {x: scale(draw) for x in soft}
        self.weights = exact_integers(self.floats)

    def cost(self, model):
        return sum(w for x, w in self.weights.items() if x not in model)

    def least(self):
        """The cost of the best model, None without any."""
        signs = itertools.product((1, -1), repeat=self.n)
        models = [{s * x for s, x in zip(row, range(1, self.n + 1), strict=True)} for row in signs]
        return min((self.cost(m) for m in models if self.allows(m)), default=None)

    def allows(self, model):
        return model.issuperset(self.wanted) and not any(
            model.isdisjoint(clause) for clause in self.clauses
        )

    def model(self, oracle, found):
        signs = oracle.signs(found, range(1, self.n + 1))
        return {s * x for s, x in zip(signs, range(1, self.n + 1), strict=True)}


@pytest.fixture(params=[-1.0, 1e9], ids=["looks for a good model", "does not"])
def _patience(request, monkeypatch):
    monkeypatch.setattr(maxsat, "_PATIENCE_S", request.param)


@pytest.mark.usefixtures("_patience")
@pytest.mark.parametrize("seed", seeds(40, 150))
def test_the_repair_is_the_cheapest_of_all_whatever_cores_come_up(seed):
    problem = Problem(seed)
    oracle = Slow(problem.clauses, problem.n, problem.draw, soft=problem.weights)
    repair = cheapest_repair(oracle, problem.wanted, problem.weights)
    least = problem.least()
    if least is None:
        assert repair.status is Status.UNSAT
    else:
        assert (repair.status, repair.proved) == (Status.SAT, True)
        model = problem.model(oracle, repair.model)
        assert problem.allows(model)
        assert problem.cost(model) == least


@pytest.mark.parametrize("seed", seeds(20, 60, 25))
def test_a_sat_solver_finds_the_cheapest_repairs_one_after_another(seed):
    problem = Problem(seed)
    soft, variables = list(problem.floats), range(1, problem.n + 1)
    soft += problem.draw.choices(soft, k=len(soft) // 2)  # columns that share a literal
    cnf = Cnf(join(problem.clauses), (*soft, *variables), problem.n)
    row = SatRow(cnf, len(soft), timeout_ms=60_000)
    for more in range(seed, seed + 12):  # the same clauses, other questions
        draw = random.Random(more)
        problem.wanted = [draw.choice([x, -x]) for x in variables if draw.random() < 0.2]
        scale = random.Random(more).choice(list(SCALES.values()))
        floats = [scale(draw) for _ in soft]
        exact = exact_integers(dict(enumerate(floats)))
        problem.weights = {x: sum(exact[i] for i, z in enumerate(soft) if z == x) for x in soft}
        outputs = [1 if x in problem.wanted else -(-x in problem.wanted) for x in variables]
        found = row.maximize([1] * len(soft), floats, outputs)
        least = problem.least()
        assert found.status is (Status.UNSAT if least is None else Status.SAT)
        if least is not None:
            model = {s * x for s, x in zip(found.outputs, variables, strict=True)}
            assert found.inputs == [1 if x in model else -1 for x in soft]
            assert problem.allows(model)
            assert (problem.cost(model), found.proved) == (least, True)


@pytest.mark.usefixtures("_patience")
def test_an_oracle_that_gives_up_is_never_taken_at_its_word():
    outcomes = set()
    for seed, patience in itertools.product(range(60), range(9)):
        problem = Problem(seed)
        oracle = Slow(problem.clauses, problem.n, problem.draw, patience, problem.weights)
        repair = cheapest_repair(oracle, problem.wanted, problem.weights)
        least, gave_up = problem.least(), len(oracle.asked) > patience
        outcomes.add((repair.status, repair.proved))
        if repair.status is Status.SAT:
            cost = problem.cost(problem.model(oracle, repair.model))
            assert problem.allows(problem.model(oracle, repair.model))
            seen = [problem.cost(problem.model(oracle, model)) for model in oracle.models]
            assert cost == min(seen)
            assert repair.proved is not gave_up
            assert cost == least or not repair.proved
        else:
            assert repair.status is (Status.UNKNOWN if gave_up else Status.UNSAT)
            assert gave_up or least is None
            assert not gave_up or patience < 2  # the second question would have found a model
    assert outcomes == {
        (Status.SAT, True), (Status.SAT, False), (Status.UNKNOWN, True), (Status.UNSAT, True),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("patience_s", "questions", "proved"), [(1e9, 6, False), (-1.0, 6, False), (1e9, 999, True)]
)
def test_a_long_search_looks_for_a_good_model_early(patience_s, questions, proved, monkeypatch):
    monkeypatch.setattr(maxsat, "_PATIENCE_S", patience_s)
    weights = {x: 100 + x for x in range(1, 9)}
    oracle = Slow(at_most(3, weights), 8, random.Random(0), questions, weights)
    repair = cheapest_repair(oracle, [], weights)
    kept = [x for x, sign in enumerate(oracle.signs(repair.model, weights), 1) if sign > 0]
    assert repair.proved is proved
    assert (kept == [6, 7, 8]) == (proved or patience_s < 0)


def test_heavy_literals_are_assumed_before_light_ones():
    weights = {1: 1, 2: 100, 3: 10, 4: 100, 5: 100}
    oracle = Slow([[-1, -2]], 5, random.Random(0))
    repair = cheapest_repair(oracle, [], weights)
    assert oracle.signs(repair.model, weights) == [-1, 1, 1, 1, 1]
    assert oracle.asked[0] == [2, 4, 5, 3, 1]
    assert oracle.asked[1:3] == [[], [2, 4, 5]]


def test_the_search_ends_when_the_model_at_hand_costs_no_more_than_is_owed():
    oracle = Slow([[-1], [2], [3], [4]], 4, random.Random(0))
    repair = cheapest_repair(oracle, [], {1: 9, 2: 9, 3: 9, 4: 1})
    assert oracle.signs(repair.model, [1, 2, 3, 4]) == [-1, 1, 1, 1]
    assert len(oracle.asked) == 4  # everything, anything, the heavy ones, those without the first


def at_most(count, variables):
    return [[-x for x in group] for group in itertools.combinations(variables, count + 1)]


@pytest.mark.parametrize("seed", seeds(20, 60))
def test_the_heaviest_stay_if_only_some_can_hold(seed):
    draw, count = random.Random(seed), seed % 4
    weights = {x: draw.randint(1, 9) for x in range(1, 7)}
    oracle = Slow(at_most(count, weights), 6, draw, soft=weights)
    search = maxsat._Search(oracle, [], weights)
    signs = oracle.signs(search.run().model, weights)
    cost = sum(w for w, sign in zip(weights.values(), signs, strict=True) if sign < 0)
    assert cost == sum(sorted(weights.values())[: 6 - count])
    assert cost == search._lower_bound


def test_the_lower_bound_ends_at_the_cost_of_the_repair():
    for seed in range(500, 540):
        draw, problem = random.Random(seed), Problem(seed)
        n = problem.n = draw.randint(4, 7)
        problem.wanted = []
        problem.clauses = [
            [-x for x in draw.sample(range(1, n + 1), draw.randint(2, 4))]
            for _ in range(draw.randint(4, 14))
        ]
        problem.weights = {x: draw.randint(1, 12) for x in range(1, n + 1)}
        oracle = Slow(problem.clauses, n, draw, soft=problem.weights)
        search = maxsat._Search(oracle, [], problem.weights)
        assert search.run().proved
        assert search._lower_bound == search._cost == problem.least()


@pytest.mark.parametrize("clauses", [[], [[1]], [[1], [-1]]])
def test_without_soft_literals_any_model_will_do(clauses):
    oracle = Slow(clauses, 1, random.Random(0))
    repair = cheapest_repair(oracle, [], {})
    assert repair.status is (Status.UNSAT if len(clauses) == 2 else Status.SAT)
    assert repair.proved


def test_wanted_literals_that_cannot_hold_have_no_repair():
    for wanted in ([1, -1], [2], [-3]):
        oracle = Slow([[-2], [3]], 3, random.Random(0))
        assert cheapest_repair(oracle, wanted, {1: 4, 2: 1, -3: 1}) == Repair(Status.UNSAT)


def test_of_opposite_soft_literals_the_lighter_is_overruled():
    for light, heavy in ((1, -1), (-1, 1)):
        oracle = Slow([], 1, random.Random(0))
        repair = cheapest_repair(oracle, [], {light: 10**20, heavy: 10**20 + 1})
        assert oracle.signs(repair.model, [light, heavy]) == [-1, 1]
        assert repair.proved
