"""Without any data, a task still has its theory, network, view and text."""

import pytest
import torch

from shell import python
from smtlayer.errors import MissingDataError
from smtlayer_studies.runs import RunConfig, run
from smtlayer_studies.tasks.options import make_task
from smtlayer_studies.tasks.registry import find_tasks

TASKS = [
    ({"name": "mnist-addition"}, (2, 28, 28), "MnistAddition(percent=10, data='auto'"),
    ({"name": "visual-algebra"}, (4, 28, 28), "VisualAlgebra(configuration=1, network='paper'"),
    ({"name": "visual-algebra", "configuration": 2}, (28, 224), "VisualAlgebra(configuration=2, "),
    ({"name": "liars-puzzle", "words": "glove-100d"}, (3, 10), "LiarsPuzzle(as_printed=False, wor"),
    ({"name": "long-addition"}, (4, 28, 28), "LongAddition(length=2, data='auto', validation=0.0)"),
    ({"name": "digit-problem"}, (2, 28, 28), "DigitProblem(problem='mnist-half', extra=(), fac"),
    ({"name": "digit-problem", "problem": "roster"}, (4, 28, 28), "DigitProblem(problem='roster'"),
    ({"name": "visual-sudoku"}, (81, 28, 28), "VisualSudoku(percent=100, data='auto', valid"),
]  # fmt: skip
NEEDY = [
    ({"name": "mnist-addition", "data": "mnist"}, "mnist-train-images is needed"),
    ({"name": "visual-algebra", "configuration": 2, "data": "sample"}, "emnist-letters is needed"),
    ({"name": "liars-puzzle", "words": "glove-100d"}, "glove-100d is needed"),
    ({"name": "long-addition", "data": "mnist"}, "mnist-train-images is needed"),
    ({"name": "digit-problem", "data": "mnist"}, "mnist-train-images is needed"),
    ({"name": "visual-sudoku", "data": "mnist"}, "mnist-train-images is needed"),
]


@pytest.fixture(autouse=True)
def _no_data(monkeypatch, tmp_path):
    def load(*args, **options):
        raise AssertionError("data are loaded")

    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path / "nothing"))
    for module in ("digit_task", "algebra.task", "sudoku.task"):
        monkeypatch.setattr(f"smtlayer_studies.tasks.{module}.load_digits", load)


def test_every_task_is_here():
    assert {options["name"] for options, _, _ in TASKS} == set(find_tasks())


@pytest.mark.parametrize(("options", "shape", "text"), TASKS)
def test_theory_network_view_and_repr_need_no_data(options, shape, text):
    task = make_task(options)
    assert repr(task).startswith(text)
    number = torch.float32 if len(shape) > 2 or shape[0] == 28 else torch.int64
    logits = task.network()(torch.ones(1, *shape, dtype=number))
    assert logits.shape == (1, task.theory.n_inputs)
    assert task.view.title
    assert task.scored_split == "test"
    assert task.pretraining is not None


@pytest.mark.parametrize(("options", "message"), NEEDY)
def test_data_that_are_missing_are_named_before_a_run_writes_anything(
    monkeypatch, tmp_path, options, message
):
    monkeypatch.undo()
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path / "nothing"))
    config = RunConfig.of({"task": options}, experiment="mine", method="best", seed=0, device="cpu")
    with pytest.raises(MissingDataError, match=message):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_tasks_and_experiments_are_found_without_importing_torch():
    code = """
import sys
from smtlayer_studies.tasks.registry import *
print(len(find_tasks()), len(find_experiments()), len(find_lab_problems()), short_names())
print([name for name in ("torch", "z3", "numpy", "smtlayer") if name in sys.modules])
"""
    done = python(code)
    assert done.stdout.splitlines() == [
        "6 18 10 {'mnist-addition': 'mnist-addition-10', 'visual-algebra': 'visual-algebra-1', "
        "'digit-problem': 'mnist-half', 'long-addition': 'long-addition-2', "
        "'visual-sudoku': 'visual-sudoku-100'}",
        "[]",
    ]
