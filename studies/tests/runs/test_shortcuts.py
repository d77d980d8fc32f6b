"""Before training: a warning if wrong readings of the symbols fit the examples that it shows."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from smtlayer.errors import ShortcutWarning, TooLargeError
from smtlayer.lab import readings
from smtlayer_studies.commands.train_steps import _Bars
from smtlayer_studies.runs import load_experiment, make_task, run, shortcuts
from smtlayer_studies.runs.shortcuts import shortcut_warning
from smtlayer_studies.tasks.registry import find_tasks, resolve


def problem_of_task(name, **options):
    return resolve(find_tasks()[name].problem)(make_task({"name": name, **options}))


def warning(experiment, method="best", seed=0, settings=()):
    config = load_experiment(experiment).config(method, seed=seed, settings=settings)
    return shortcut_warning(make_task(config.task), config)


@pytest.mark.parametrize(("split", "count", "wrong"), [(0, 128, 64), (6, 64, 0), (8, 256, 192)])
def test_the_readings_of_a_split_are_counted(split, count, wrong):
    found = readings(problem_of_task("liars-puzzle", split=split))
    assert (found.count, found.wrong, found.complete) == (count, wrong, True)


def test_training_warns_of_the_readings_of_its_own_split():
    assert warning("liars-puzzle", seed=0).startswith(
        "128 readings of the symbols fit the 12 examples that training shows; 64 of them answer "
        "some of the 72 tested examples wrongly. Add a constraint, label some symbols, or show "
        "bob_speaks_1, about_charlie_1, accuses_1, "
    )
    assert warning("liars-puzzle", seed=1) == ""
    assert warning("liars-puzzle", settings=["task.split=1"]) == ""


def test_many_readings_are_not_counted_to_the_end():
    text = warning("liars-puzzle", "as-printed")
    assert text.startswith("At least 1,000 readings of the symbols fit the 12 examples")
    assert text.endswith(", which rules these out.")


@pytest.mark.parametrize(
    ("experiment", "method"),
    [
        ("liars-puzzle", "conventional"),  # without a theory
        ("mnist-addition-10", "best"),
        ("visual-algebra-1", "best"),
        ("visual-sudoku-10", "best"),  # which cannot list what it shows
        ("mnist-half", "one-rule-row"),
        ("mnist-half", "one-rule-facts"),  # which tell more than the sums
        ("mnist-half", "one-rule-labels"),
    ],
)
def test_there_is_no_warning_without_wrong_readings(experiment, method):
    assert warning(experiment, method) == ""


def test_half_of_the_sums_leave_three_readings():
    assert warning("mnist-half", "one-rule").startswith("3 readings of the symbols fit the 7 ")
    assert "or show a = 0, b = 2, which leaves only correct ones" in warning("mnist-half", "core")


def test_a_task_whose_readings_take_too_long_gets_no_warning(monkeypatch):
    def give_up(problem, limit):
        raise TooLargeError("Too many steps.")

    monkeypatch.setattr(shortcuts, "readings", give_up)
    assert warning("liars-puzzle") == ""


def test_a_run_starts_with_the_warning(tmp_path):
    config = load_experiment("liars-puzzle").config("best", seed=0)
    with pytest.raises(ShortcutWarning, match="128 readings of the symbols fit"):  # an error here
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()

    def stop(text):
        raise KeyboardInterrupt(text)

    with pytest.raises(KeyboardInterrupt, match="128 readings of the symbols fit"):
        run(config, on_warning=stop)


def test_the_command_shows_the_warning_above_its_bars():
    console = Console(file=io.StringIO(), width=60)
    config = load_experiment("liars-puzzle").config("best")
    with Progress(console=console) as progress:
        _Bars(progress, console, config).warn("2 readings [of the symbols] fit.")
    assert console.file.getvalue().startswith("Warning: 2 readings [of the symbols] fit.\n")


def test_problems_follow_the_options_of_the_task():
    assert len(problem_of_task("mnist-addition", percent=25).shown) == 25
    assert len(problem_of_task("visual-algebra", apart=5).shown) == 40
    printed = problem_of_task("liars-puzzle", as_printed=True)
    assert printed.theory != problem_of_task("liars-puzzle").theory
    ordered = problem_of_task("visual-algebra", configuration=2, network="ordered")
    assert len(ordered.shown) == 45
    assert problem_of_task("visual-algebra", configuration=2) is None
