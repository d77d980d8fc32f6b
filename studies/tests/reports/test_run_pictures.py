import pytest
import torch

from reports.made import PixelReader, fake_digits, png_size, record
from smtlayer import SMTLayer
from smtlayer_studies.reports import draw_run
from smtlayer_studies.reports.run_pictures import choose_examples
from smtlayer_studies.runs import Run
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.algebra.data import AlgebraSymbols
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.mnist import Digits
from smtlayer_studies.tasks.networks import DenseHead
from smtlayer_studies.tasks.sudoku.boards import make_boards
from smtlayer_studies.tasks.sudoku.data import SudokuBoards
from smtlayer_studies.tasks.sudoku.task import VisualSudoku


def whole_image_algebra():
    labels = torch.arange(10, 14)
    symbols = Digits(torch.full((4, 28, 28), 200, dtype=torch.uint8), labels)
    return VisualAlgebra(
        digits=fake_digits(), symbols=AlgebraSymbols(symbols, symbols, "fake"), configuration=2
    )


def sudoku():
    train, test = make_boards(1, seed=0), make_boards(5, seed=1)
    return VisualSudoku(digits=fake_digits(), boards=SudokuBoards(train, test, "generated boards"))


MADE = {
    "addition": (lambda: MnistAddition(digits=fake_digits()), PixelReader),
    "algebra 1": (lambda: VisualAlgebra(digits=fake_digits()), PixelReader),
    "algebra 2": (whole_image_algebra, lambda: PixelReader([0, 4, 6, 7])),
    "sudoku": (sudoku, PixelReader),
}


@pytest.mark.parametrize(("make", "network"), MADE.values(), ids=MADE)
def test_a_run_leaves_curves_and_examples_in_its_folder(make, network, tmp_path):
    task = make()
    run = Run(task, Model(network(), SMTLayer(task.theory)), record())
    paths = draw_run(run, tmp_path, count=1)
    assert paths == [tmp_path / "curves.png", tmp_path / "examples.png"]
    width, height = png_size(paths[1])
    assert width > 600
    assert height > 200


@pytest.mark.parametrize(("make", "network"), MADE.values(), ids=MADE)
def test_a_network_that_reads_well_gives_examples_that_are_right(make, network):
    task = make()
    examples = choose_examples(task, Model(network(), SMTLayer(task.theory)), 3, among=20)
    assert len(examples) == 3
    assert examples.right.all()
    assert not examples.overruled.any()


def test_liars_puzzles_are_drawn_whatever_the_network_reads(tmp_path):
    task = LiarsPuzzle()
    model = Model(task.network(), SMTLayer(task.theory))
    examples = choose_examples(task, model, 4, among=8)
    assert len(examples) == 4
    figure = task.view.figure(examples, task.view.title)
    figure.savefig(tmp_path / "examples.png")
    assert png_size(tmp_path / "examples.png")[0] > 600


def test_a_conventional_run_has_curves_alone(tmp_path):
    task = MnistAddition(digits=fake_digits())
    run = Run(task, Model(PixelReader(), DenseHead(task.theory)), record("conventional", solver=0))
    assert draw_run(run, tmp_path) == [tmp_path / "curves.png"]
    assert not (tmp_path / "examples.png").exists()


def test_pictures_show_the_rows_that_were_scored(tmp_path):
    task, asked = MnistAddition(digits=fake_digits().with_validation(0.34)), []

    class Asked:
        view = task.view

        def rows(self, split, *rest):
            asked.append(split)
            return task.rows(split, *rest)

    model = Model(PixelReader(), SMTLayer(task.theory))
    draw_run(Run(Asked(), model, record(split="validation")), tmp_path, count=1)
    assert asked == ["validation"]


def test_examples_need_a_layer():
    task = MnistAddition(digits=fake_digits())
    with pytest.raises(ValueError, match=r"expects a model with an SMTLayer\. Got one without"):
        choose_examples(task, Model(PixelReader(), DenseHead(task.theory)), 1, among=1)


def test_a_slow_solver_is_asked_about_the_first_rows_alone(monkeypatch):
    monkeypatch.setattr("smtlayer_studies.reports.run_pictures._PATIENCE", -1.0)
    task = MnistAddition(digits=fake_digits())
    layer = SMTLayer(task.theory)
    assert len(choose_examples(task, Model(PixelReader(), layer), 3, among=50)) == 3
    assert layer.stats.rows == 3
