"""Small problems over images of digits: theories, what training shows, facts and labels."""

import itertools

import pytest
import torch

from smtlayer import SMTLayer
from smtlayer.errors import ConfigError
from smtlayer.lab import FACT, LabOptions, run_lab
from smtlayer_studies.runs import RunConfig, Trainer
from smtlayer_studies.runs.metrics import evaluate
from smtlayer_studies.tasks.digit_problem.problems import PROBLEMS, lab_problem, values_of
from smtlayer_studies.tasks.digit_problem.task import DigitProblem
from smtlayer_studies.tasks.lab_problems import task_problem
from smtlayer_studies.tasks.mnist import DigitData, Digits
from smtlayer_studies.tasks.options import make_task
from tasks.test_long_addition_task import every_row, fake_digits

SHAPES = ("rock", "paper", "scissors")
BEATS = {("paper", "rock"), ("scissors", "paper"), ("rock", "scissors")}


def half(a, b):
    return {"total": a + b}


def rock_paper_scissors(first, second):
    pair = SHAPES[first], SHAPES[second]
    won = "first" if pair in BEATS else "second" if pair[::-1] in BEATS else "nobody"
    return {"winner": won}


def roster(a, b, c, d, deadline):
    return {"met": a + max(b, c) + d <= deadline}


def invoice(price, quantity, coupon):
    amount = price * quantity
    return {"total": amount - coupon if amount >= 10 else amount}


# The answers in Python, the values of each input, and how many readings of the images fit training.
DIRECT = {
    "mnist-half": (half, [range(5)] * 2, 3),
    "rock-paper-scissors": (rock_paper_scissors, [range(3)] * 2, 3),
    "roster": (roster, [range(1, 6)] * 4 + [range(6, 14)], 1),
    "invoice": (invoice, [range(1, 6)] * 3, 1),
}


def pixels(batch):
    """The digits of fake images."""
    return (batch.features[:, :, 0, 0] * 25.5).round().long()


def bars() -> DigitData:
    """Images with one bright bar, whose place is the digit."""
    labels = torch.arange(10).repeat_interleave(12)
    images = torch.zeros(len(labels), 28, 28, dtype=torch.uint8)
    images[torch.arange(len(labels)), 3 + 2 * labels] = 255
    digits = Digits(images, labels)
    return DigitData(digits, digits, "sample")


def test_every_problem_is_checked_here():
    assert set(DIRECT) == set(PROBLEMS)


@pytest.mark.parametrize("name", DIRECT)
def test_theories_answer_every_combination_as_python_does(name):
    answer, values, _ = DIRECT[name]
    theory = PROBLEMS[name].theory()
    rows = list(itertools.product(*values))
    columns = zip(*rows, strict=True)
    names = [symbol.name for symbol in theory.input_symbols]
    inputs = theory.encode(**dict(zip(names, columns, strict=True)))
    found = theory.decode(SMTLayer(theory)(inputs.float()))
    for output, got in found.items():
        assert list(got) == [answer(*row)[output] for row in rows]


@pytest.mark.parametrize("name", DIRECT)
def test_so_many_readings_of_the_images_fit_what_training_shows(name):
    answer, values, expected = DIRECT[name]
    facts = PROBLEMS[name].facts
    shown = PROBLEMS[name].shown or list(itertools.product(*values))
    digits = values[0]

    def fits(reading):
        return all(
            answer(*(reading[v] for v in row[: len(row) - facts]), *row[len(row) - facts :])
            == answer(*row)
            for row in shown
        )

    maps = itertools.product(digits, repeat=len(digits))
    assert sum(fits(dict(zip(digits, values, strict=True))) for values in maps) == expected


@pytest.mark.parametrize("name", DIRECT)
def test_training_shows_exactly_its_combinations_equally_often_and_tests_show_all(name):
    task = DigitProblem(problem=name, digits=fake_digits())
    every = set(itertools.product(*DIRECT[name][1]))
    shown = set(PROBLEMS[name].shown) or every
    for split, expected in (("train", shown), ("test", every)):
        rows = task.rows(split, 2 * len(expected), 0)
        inputs = rows.symbols if rows.facts is None else rows.symbols + rows.facts
        found = [tuple(row) for row in values_of(task.theory, inputs).tolist()]
        assert sorted(found) == sorted(2 * list(expected))
        assert rows.seen.tolist() == [row in shown for row in found]


@pytest.mark.parametrize("name", DIRECT)
def test_rows_carry_the_answer_as_target_and_the_images_of_their_values(name):
    task = DigitProblem(problem=name, digits=fake_digits())
    batch = every_row(task.rows("test", 300, 1))
    read = task.theory.decode_inputs(batch.symbols)
    facts = {} if batch.facts is None else task.theory.decode_inputs(batch.facts)
    images = [symbol.name for symbol in task.theory.input_symbols][: batch.features.shape[1]]
    assert pixels(batch).T.tolist() == [list(read[name]) for name in images]
    rows = zip(*(read[name] if name in images else facts[name] for name in read), strict=True)
    answers = [DIRECT[name][0](*row) for row in rows]
    for output, got in task.theory.decode(batch.targets * 2 - 1).items():
        assert list(got) == [answer[output] for answer in answers]
    assert task.network()(batch.features[:2]).shape == (2, task.theory.n_inputs)


def test_the_deadline_is_a_fact_without_an_image_in_every_split():
    task = DigitProblem(problem="roster", digits=fake_digits(20), validation=0.1)
    for split in ("train", "validation", "test"):
        rows = task.rows(split, 50, 0)
        assert rows.items.shape == (50, 4)
        assert not rows.facts[:, :20].any()
        assert not rows.symbols[:, 20:].any()
        assert set(task.theory.decode_inputs(rows.facts)["deadline"]) <= set(range(6, 14))


@pytest.mark.parametrize("option", ["facts", "labels"])
def test_so_many_training_examples_have_their_first_value_as_a_fact_or_label(option):
    task = DigitProblem(digits=fake_digits(), **{option: 14})
    rows = task.rows("train", 70, 0)
    told = getattr(rows, option)
    assert torch.equal(told[:14, :5], rows.symbols[:14, :5])
    assert not told[14:].any()
    assert not told[:, 5:].any()
    assert getattr(rows, "labels" if option == "facts" else "facts") is None
    assert torch.unique(rows.symbols[:14], dim=0, return_counts=True)[1].tolist() == [2] * 7
    test = task.rows("test", 70, 0)
    assert (test.facts, test.labels) == (None, None)


def test_an_extra_combination_is_shown_as_often_as_the_others():
    task = make_task({"name": "digit-problem", "extra": [[1, 2]]})
    shown = values_of(task.theory, task.combinations.shown.inputs).tolist()
    assert sorted(map(tuple, shown)) == sorted([*PROBLEMS["mnist-half"].shown, (1, 2)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"problem": "chess"}, r"problem must be one of 'mnist-half', .* Got 'chess'"),
        ({"facts": -1}, r"facts and labels are numbers of training examples\. Got -1 and 0"),
        ({"extra": [[1, 9]]}, r"extra lists values of a, b, such as \[0, 0\]\. Got \[1, 9\]"),
        ({"extra": [1, 2]}, r"task\.extra must be a list of lists of whole numbers\. Got \[1, 2\]"),
        ({"extra": [[0.5]]}, r"task\.extra must be a list of lists of whole numbers"),
        ({"validation": 1.0}, r"validation must be from 0 to below 1\. Got 1\.0"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        _ = make_task({"name": "digit-problem", **options}).theory


def test_an_unknown_problem_is_refused_without_a_file_too():
    with pytest.raises(ConfigError, match=r"^digit-problem: problem must be one of mnist-half, ro"):
        DigitProblem(problem="chess")


def test_examples_are_the_same_in_all_epochs_and_differ_by_seed():
    task = DigitProblem(digits=fake_digits())
    one, later = (task.rows("train", 70, 3, epoch=epoch) for epoch in (0, 7))
    assert torch.equal(one.items, later.items)
    assert not torch.equal(one.items, task.rows("train", 70, 4).items)


@pytest.mark.parametrize("name", DIRECT)
def test_the_lab_knows_the_problem(name):
    problem = task_problem(name)
    facts = PROBLEMS[name].facts
    assert problem.readers == (0,) * (len(problem.widths) - facts) + (FACT,) * facts
    assert len(problem.shown) == len(PROBLEMS[name].shown) or len(problem.tested)


def test_with_one_more_sum_a_wrong_reading_shows_in_training():
    options = LabOptions(steps=150)
    bare, more = (run_lab(lab_problem("mnist-half", extra), ["marginal"], seeds=8, options=options)
                  for extra in ((), [(1, 2)]))  # fmt: skip
    assert bare.best.unnoticed > 0
    assert more.best.unnoticed == 0


@pytest.mark.parametrize("name", ["mnist-half", "roster"])
def test_three_steps_lower_the_loss(name):
    task = DigitProblem(problem=name, digits=bars(), facts=3, labels=3)
    config = RunConfig.of(
        {
            "task": {"name": "digit-problem"}, "layer": {"backward": "marginal"},
            "train": {"rows": 20, "batch_size": 20, "epochs": 3, "warmup": 0.0,
                      "loss": "likelihood"},
        }, experiment="mine", method="best", seed=0, device="cpu",
    )  # fmt: skip
    trainer = Trainer(task, config)
    model = trainer.run()
    losses = [epoch.loss for epoch in trainer.epochs]
    assert losses[0] > losses[1] > losses[2]
    scores = evaluate(model, task.rows("test", 20, 0), task.theory, "cpu")
    assert 0 <= scores["representation"] <= 1
