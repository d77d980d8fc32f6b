"""Readings that fit: against all maps, on problems whose number is known, and what to show."""

import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
import z3

from smtlayer import Theory, one_hot
from smtlayer.errors import TooLargeError, UnsupportedError
from smtlayer.lab import problem_of, readings
from smtlayer.solvers.readings import answers, search
from smtlayer.solvers.table.models import list_models
from smtlayer.testing.theories import random_theory
from smtlayer_studies.tasks.lab_problems import task_problem


def sums():
    """Two digits from 0 to 4, and their sum."""
    a, b, total = z3.Ints("a b total")
    digits = [one_hot(a, range(5)), one_hot(b, range(5))]
    return Theory(total == a + b, inputs=digits, outputs=[one_hot(total, range(9))])


FOUR_SUMS = [{"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 2, "b": 3}, {"a": 2, "b": 4}]


def game():
    """Three moves, each of which beats one of the others."""
    mine, yours, result = z3.Ints("mine yours result")
    wins = result == (mine - yours + 3) % 3
    moves = [one_hot(mine, range(3)), one_hot(yours, range(3))]
    return Theory(wins, inputs=moves, outputs=[one_hot(result, range(3))])


def random_relation(seed, kind):
    """Two inputs and an output; each pair of inputs has none, one or two outputs, at random."""
    draw = random.Random(seed)
    size = {"bool": 2, "bits": 4, "one-hot": 3}[kind]
    a, b, y = [{"bool": z3.Bool, "bits": lambda n: z3.BitVec(n, 2), "one-hot": z3.Int}[kind](n)
               for n in "aby"]  # fmt: skip
    models = []
    for one, other in product(range(size), repeat=2):
        outputs = draw.sample(range(size), k=draw.choice([0, 1, 1, 1, 1, 2]))
        models += [(one, other, output) for output in outputs]

    def equal(symbol, value):
        return symbol == bool(value) if kind == "bool" else symbol == value

    formula = z3.Or([z3.And(equal(a, p), equal(b, q), equal(y, r)) for p, q, r in models])
    if kind == "one-hot":
        a, b, y = (one_hot(symbol, range(size)) for symbol in (a, b, y))
    return Theory(formula, inputs=[a, b], outputs=[y])


def answers_of(theory):
    """The only outputs of each input, by the list of all models."""
    models = list_models(theory, 10_000)
    found = {}
    for inputs, outputs in zip(models.inputs.tolist(), models.outputs.tolist(), strict=True):
        found.setdefault(tuple(inputs), set()).add(tuple(outputs))
    return {inputs: min(some) for inputs, some in found.items() if len(some) == 1}


def all_maps(problem):
    """Every map of the kinds shown to signs, as a dict by reader and signs of the kind."""
    parts = [part.tolist() for part in problem.shown.inputs.split(problem.widths, dim=-1)]
    kinds = dict.fromkeys((r, tuple(row)) for r, part in zip(problem.readers, parts, strict=True)
                          for row in part)  # fmt: skip
    patterns = [list(product((-1, 1), repeat=len(signs))) for _, signs in kinds]
    for choice in product(*patterns):
        yield dict(zip(kinds, choice, strict=True))


def read(problem, mapping, row):
    """The inputs of a row as a map reads them; None for a kind that it does not read."""
    parts = torch.tensor(row).split(problem.widths)
    kinds = [(r, tuple(p.tolist())) for r, p in zip(problem.readers, parts, strict=True)]
    if any(kind not in mapping for kind in kinds):
        return None
    return tuple(sign for kind in kinds for sign in mapping[kind])


def count_by_hand(problem):
    """The readings that fit, counted by their answers on the test."""
    right = answers_of(problem.theory)
    shown = list(zip(problem.shown.inputs.tolist(), problem.shown.outputs.tolist(), strict=True))
    found = Counter()
    for mapping in all_maps(problem):
        if all(right.get(read(problem, mapping, row)) == tuple(label) for row, label in shown):
            rows = [read(problem, mapping, row) for row in problem.tested.inputs.tolist()]
            found[tuple(right.get(row) for row in rows if row is not None)] += 1
    return found


def check_by_hand(problem):
    found, expected = readings(problem), count_by_hand(problem)
    assert found.complete
    assert found.count == len(found.fits) == expected.total()
    assert len({repr(fit) for fit in found.fits}) == found.count
    assert sorted(one.count for one in found.classes) == sorted(expected.values())
    labels = [tuple(x) for x in problem.tested.outputs.tolist()]
    if found.tested == len(labels):
        accuracies = Counter()
        for given, count in expected.items():
            accuracies[np.mean([x == y for x, y in zip(given, labels, strict=True)])] += count
        own = Counter()
        for one in found.classes:
            own[one.accuracy] += one.count
        assert own == accuracies
    return found


def part_of(theory, count, seed, **options):
    """A problem that shows some of the rows that the theory determines."""
    every = problem_of(theory, **options).shown
    drawn = torch.randperm(len(every), generator=torch.Generator().manual_seed(seed))[:count]
    rows = [theory.decode_inputs(row) for row in every[drawn].inputs]
    return problem_of(theory, rows=rows, **options), rows


@pytest.mark.parametrize("kind", ["bool", "bits", "one-hot"])
@pytest.mark.parametrize("seed", range(8))
def test_as_many_readings_fit_as_all_maps_show(kind, seed):
    theory = random_relation(seed, kind)
    for separate in (False, True) if kind != "bits" else (False,):
        problem, rows = part_of(theory, 1 + seed % (2 if separate else 4), seed, separate=separate)
        found = check_by_hand(problem)
        assert found.true_fits
        if found.wrong:
            taught = readings(problem_of(theory, rows=[*rows, *found.rows_to_show],
                                         separate=separate))  # fmt: skip
            assert taught.wrong == 0
            assert taught.count < found.count


@pytest.mark.parametrize("seed", [0, 2, 3, 4, 6, 7, 8, 11, 13])  # others determine nothing
def test_symbols_that_a_network_reads_at_once_are_one_kind(seed):
    theory = random_theory(seed)
    widths = (2, 2) if theory.n_inputs == 4 else (1,) * theory.n_inputs
    problem, _ = part_of(theory, 3, seed, widths=widths)
    check_by_hand(problem)


@pytest.mark.parametrize("kind", ["bits", "one-hot"])
@pytest.mark.parametrize("seed", range(4))
def test_without_a_list_of_models_a_solver_gives_the_same_answers(kind, seed, monkeypatch):
    theory = random_relation(seed, kind)
    problem, rows = part_of(theory, 3, seed)
    listed = readings(problem)
    monkeypatch.setattr(answers, "MAX_MODELS", 1)
    asked = readings(problem)
    assert sorted(map(repr, asked.fits)) == sorted(map(repr, listed.fits))
    assert Counter(one.accuracy for one in asked.classes) == Counter(
        one.accuracy for one in listed.classes
    )
    drawn = readings(theory, rows)  # the tested rows are drawn
    assert drawn.count == listed.count
    assert drawn.tested == listed.tested
    assert drawn.wrong == listed.wrong


def test_theories_without_clauses_are_read_by_their_list_of_models():
    word, a, b, y = z3.String("word"), *z3.Bools("a b y")
    text = z3.Concat(z3.If(a, z3.StringVal("no"), z3.StringVal("")), z3.If(b, "no", ""))
    theory = Theory([word == text, y == (z3.Length(word) == 2)], [a, b], [y])  # one of them
    assert not list_models(theory, 10).fits_sat
    problem = problem_of(theory, rows=[{"a": True, "b": False}], separate=True)
    assert check_by_hand(problem).count == 2


def test_a_theory_with_neither_clauses_nor_few_models_is_refused(monkeypatch):
    word, a = z3.String("word"), z3.Bool("a")
    theory = Theory(a == (z3.Length(word) > 2), [a], [one_hot(word, ["no", "yes", "maybe"])])
    monkeypatch.setattr(answers, "MAX_MODELS", 1)
    with pytest.raises(UnsupportedError, match=r"no clauses \(.*bits\), and it has more than 1"):
        readings(theory, [{"a": False, "word": "no"}])


def test_four_sums_of_five_digits_have_three_readings_and_one_more_row_separates_them():
    found = readings(sums(), FOUR_SUMS)
    assert (found.count, found.complete, found.true_fits, found.wrong) == (3, True, True, 2)
    assert {tuple(fit["a, b"].values()) for fit in found.fits} == {
        (0, 1, 2, 3, 4), (0, 1, 3, 2, 3), (0, 1, 4, 1, 2)}  # fmt: skip
    assert found.next_row == {"a": 0, "b": 2}
    assert readings(sums(), [*FOUR_SUMS, found.next_row]).count == 1
    assert str(found).splitlines() == [
        "3 readings of the symbols fit the 4 examples that training shows; 2 of them answer some "
        "of the 25 tested examples wrongly.",
        "      1 correct in 100.0 % of the test: the true reading",
        "      1 correct in 32.0 % of the test: 2 -> 4, 3 -> 1, 4 -> 2",
        "      1 correct in 32.0 % of the test: 2 -> 3, 3 -> 2, 4 -> 3",
        "Training accuracy does not reveal which is learned. Add a constraint, label some symbols, "
        "or show a = 0, b = 2, which leaves only correct ones.",
    ]


def test_moves_of_a_game_may_be_renamed_without_harm():
    rows = [{"mine": x, "yours": y} for x, y in product(range(3), repeat=2)]
    found = readings(game(), rows)
    assert (found.count, found.wrong, found.next_row, found.advice) == (3, 0, None, "")
    assert str(found) == (
        "3 readings of the symbols fit the 9 examples that training shows; all answer the 9 tested "
        "examples correctly, so renamed symbols do no harm."
    )


@pytest.mark.parametrize("name", ["mnist-addition-10", "visual-algebra"])
def test_only_the_true_reading_fits_what_some_tasks_show(name):
    found = readings(task_problem(name))
    assert (found.count, found.true_fits, found.complete) == (1, True, True)
    assert str(found).startswith("Only the true reading of the symbols fits the ")


def test_readings_that_were_not_counted_are_not_called_harmless():
    found = readings(task_problem("mnist-half"), limit=1)
    assert (found.count, found.complete, found.wrong) == (1, False, 0)
    assert "those found answer the 25 tested examples correctly, others may not" in str(found)


def test_the_limit_leaves_the_count_open_and_keeps_the_true_reading():
    problem = task_problem("liars-puzzle-as-printed")
    found = readings(problem, limit=20)
    assert (found.count, found.complete, found.true_fits) == (20, False, True)
    assert str(found).startswith("At least 20 readings of the symbols fit the 12 examples")
    assert readings(problem, limit=684).complete
    assert not readings(problem, limit=683).complete


def test_work_that_runs_out_leaves_the_count_open(monkeypatch):
    monkeypatch.setattr(search, "MAX_WORK", 2_000)
    found = readings(task_problem("liars-puzzle-as-printed"))
    assert not found.complete
    assert 0 < found.count < 684
    monkeypatch.setattr(answers, "MAX_WORK", 1)
    monkeypatch.setattr(answers, "MAX_MODELS", 1)
    with pytest.raises(TooLargeError, match=r"more than 1 steps of the SAT solver. Try a smaller"):
        readings(sums(), FOUR_SUMS)


def test_rows_that_the_test_needs_and_training_never_shows_are_named():
    found = readings(sums(), [{"a": 1, "b": 1}, {"a": 1, "b": 2}])
    assert found.never_shown == {"a, b": (0, 3, 4)}
    assert found.tested == 4
    assert str(found).splitlines()[-1] == (
        "Training never shows a, b = 0, 3, 4, so the test leaves them out."
    )
    own = readings(sums(), [{"a": 1, "b": 1}], tested=[{"a": 2, "b": 2}])
    assert (own.tested, own.classes, own.wrong) == (0, (), 0)
    assert str(own).splitlines()[0].endswith("the 1 example that training shows.")


def test_a_label_that_the_theory_leaves_open_fits_no_reading():
    a, y = z3.Bools("a y")
    theory = Theory(z3.Implies(a, y), inputs=[a], outputs=[y])
    found = readings(theory, [{"a": False, "y": False}])
    assert (found.count, found.true_fits, found.complete) == (0, False, True)
    assert str(found).splitlines()[:2] == [
        "No reading of the symbols fits the 1 example that training shows.",
        "The true reading does not fit: the theory does not determine a label.",
    ]
    other = readings(theory, [{"a": False, "y": True}])  # only "a is true" determines y
    assert (other.count, other.true_fits) == (1, False)
    assert "The true reading does not fit: the theory does not determine a label." in str(other)


def test_rows_to_show_are_taken_from_the_test_only_if_no_others_are_as_good():
    problem = problem_of(sums(), rows=FOUR_SUMS)
    found = readings(sums(), FOUR_SUMS, tested=[{"a": 0, "b": 2}, {"a": 1, "b": 1}])
    assert (found.tested, found.wrong, found.next_row) == (2, 2, {"a": 0, "b": 3})
    assert readings(problem).next_row == {"a": 0, "b": 2}
