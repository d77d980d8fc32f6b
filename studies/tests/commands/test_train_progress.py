"""How far a training is: bars on a terminal, a line an epoch in a log."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from smtlayer_studies.commands.train_steps import _Bars
from smtlayer_studies.runs import Event, load_experiment

LESSONS = [
    Event("pretrain", done, 4, 0.5, 0.25, 0.1, epochs=2, part=part)
    for part in ("teacher", "student")
    for done in range(1, 5)
]
TRAINING = [Event("train", done, 2, 0.125, 0.5, 0.0, epochs=1) for done in (1, 2)]


@pytest.fixture
def shown():
    """What a console has shown of some events, and the bars."""

    def show(events, **options):
        console = Console(file=io.StringIO(), width=100, **options)
        config = load_experiment("mnist-addition-10").config("best", seed=0, device="cpu")
        with Progress(console=console) as progress:
            bars = _Bars(progress, console, config)
            for event in events:
                bars.show(event)
        return console.file.getvalue(), progress.tasks

    return show


def test_a_log_has_one_line_per_epoch(shown):
    text, _ = shown(LESSONS + TRAINING)
    lines = [line for line in text.splitlines() if line.startswith("best")]
    printed = "loss 0.500, accuracy 25.0%, solver 10% of the time"
    assert lines == [
        f"best, pretrain, {part}: epoch {epoch} of 2, {printed}"
        for part in ("teacher", "student")
        for epoch in (1, 2)
    ] + ["best, train: epoch 1 of 1, loss 0.125, accuracy 50.0%, solver 0% of the time"]


def test_a_terminal_has_a_bar_a_phase_and_no_lines(shown):
    text, bars = shown(LESSONS + TRAINING, force_terminal=True)
    assert "epoch 1 of" not in text
    assert [(bar.description, bar.completed, bar.total) for bar in bars] == [
        ("pretrain, teacher", 4, 4), ("pretrain, student", 4, 4), ("train", 2, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("terminal", [False, True])
def test_the_evaluation_has_a_bar_or_a_line_from_its_start(terminal):
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal)
    config = load_experiment("mnist-addition-10").config("best", seed=0, device="cpu")
    with Progress(console=console) as progress:
        bars = _Bars(progress, console, config)
        for done in (0, 500, 1000):
            bars.score(done, 1000)
    (bar,) = progress.tasks
    assert (bar.description, bar.completed, bar.total) == ("evaluation", 1000, 1000)
    assert ("best: evaluating 1,000 examples\n" in console.file.getvalue()) == (not terminal)


def test_a_training_that_starts_again_has_a_new_bar(shown):
    _, bars = shown(TRAINING * 2, force_terminal=True)
    assert [(bar.description, bar.completed) for bar in bars] == [("train", 2), ("train", 2)]
