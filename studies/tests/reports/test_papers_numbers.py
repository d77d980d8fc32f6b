import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from smtlayer_studies.reports.paper import EXPERIMENTS, QUOTED_FROM, TITLES, experiment_title
from smtlayer_studies.reports.published import PUBLISHED, UNTUNED
from smtlayer_studies.runs.experiments import experiment_names

ROOT = Path(__file__).parents[3]
# The paper's table as its source has it: accuracy and seconds of the four methods.
TABLE = r"""
MNIST+ 10\% & 10.0 & 7.1 & \textbf{98.1} & 75.4 & 10.0 & 31.0 & 33.7 & 96.3 \\
MNIST+ 25\% & 32.5 & 7.1 & \textbf{98.3} & 74.8 & 34.2 & 30.9 & 65.8 & 96.4 \\
MNIST+ 50\% & 51.5 & 7.0 &  \textbf{98.6} & 75.8 & 54.8 & 32.8 & \textbf{98.4} & 96.5 \\
MNIST+ 75\% & 76.1 & 7.0 & \textbf{98.5} & 75.0 & 78.4 & 31.9 & 93.5 & 96.4 \\
MNIST+ 100\% & 98.3 & 7.1 &  \textbf{98.5} & 75.8 & 96.7 & 33.5 & \textbf{98.6} & 96.6 \\
Vis. Alg. \#1 & 24.1 & 13.2 & \textbf{98.2} & 168.2 & 19.6 & 80.1 & 18.7 & 602.8 \\
Vis. Alg. \#2 & \textbf{25.4} & 11.2 & \textbf{25.4} & 127.2 & 18.6 & 52.5 & 21.3 & 636.1 \\
Liar's Puzzle & 54.2 & 3.1 & \textbf{86.1} & 28.7 & 84.6 & 3.0 & --- & --- \\
Vis. Sudoku 10\% & 0.0 & 6.3 & \textbf{66.0} & 135.7 & 0.0 & 9.9 & --- & ---\\
Vis. Sudoku 50\% & 0.0 & 28.3 & \textbf{73.1} & 608.1 & 0.0 & 45.4 & --- & --- \\
Vis. Sudoku 100\% & 0.0 & 26.7 & \textbf{79.1} & 1199.0 & 63.2 & 86.5 & --- & --- \\
"""
SETTINGS = r"""
MNIST+ 10\% & SGD(1.0) & 0/5 &  SGD(1.0) & 3/5 & Adam(2e-3, 1e-5) & 3/5 & Adam(1e-3) & 3/5 \\
Vis. Alg. \#2 & SGD(1.0) & 0/5 & SGD(1.0) & 3/5 & Adam(2e-3, 1e-5) & 3/5 & Adam(1e-3) & 3/5 \\
Liar's Puzzle & Adam(2e-3) & 0/15 & Adam(1e-3) & 15/5 & Adam(2e-3, 1e-5) & 15/5 & --- & --- \\
Vis. Sudoku 10\% & SGD(1.0) & 0/100 & SGD(1.0) & 30/15 & Adam(2e-3, 1e-5) & 30/100 & --- & ---\\
Vis. Sudoku 100\% & SGD(1.0) & 0/100 & SGD(1.0) & 30/5 & Adam(2e-3, 1e-5) & 0/100 & --- & --- \\
"""


def cells(text):
    for line in text.strip().splitlines():
        plain = re.sub(r"\\textbf\{(.*?)\}", r"\1", line).replace(r"\\", "")
        name, *numbers = [cell.strip() for cell in plain.split("&")]
        title = name.replace("Vis. Alg.", "Visual algebra").replace("Vis.", "Visual")
        title = title.replace("Puzzle", "puzzle").replace(r"\%", " %").replace("\\#", "#")
        yield title, numbers


def test_every_number_is_the_papers():
    for row, (title, numbers) in zip(EXPERIMENTS.values(), cells(TABLE), strict=True):
        assert row.title == title
        for i, method in enumerate(TITLES):
            pair = numbers[2 * i : 2 * i + 2]
            ours = (row.accuracy(method), row.seconds(method))
            assert ours == ((None, None) if pair[0] == "---" else tuple(map(float, pair)))


def test_the_one_number_that_the_paper_quotes_itself_is_named_as_such():
    assert EXPERIMENTS["visual-sudoku-100"].accuracy("satnet") == 63.2
    assert "SATNet on Visual Sudoku 100 %" in QUOTED_FROM
    for page in ("README.md", "docs/explain/results.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert "63.2" not in text or "takes from SATNet's own paper" in text


def test_optimisers_and_epochs_are_the_papers():
    rows = {row.title: row for row in EXPERIMENTS.values()}
    for title, numbers in cells(SETTINGS):
        for i, method in enumerate(TITLES):
            optimizer, epochs = numbers[2 * i : 2 * i + 2]
            if optimizer == "---":
                assert method not in rows[title].methods
            else:
                quoted = rows[title].methods[method]
                assert (quoted.optimizer, "{}/{}".format(*quoted.epochs)) == (optimizer, epochs)


def test_every_experiment_of_the_tables_has_a_file():
    assert {*EXPERIMENTS, *PUBLISHED, *UNTUNED} == set(experiment_names())


def test_ratio_and_titles():
    assert EXPERIMENTS["mnist-addition-10"].ratio == pytest.approx(75.4 / 7.1)
    assert experiment_title("liars-puzzle") == "Liar's puzzle"
    assert experiment_title("mine") == "mine"


def test_the_papers_numbers_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        EXPERIMENTS["liars-puzzle"].title = "x"
    with pytest.raises(TypeError):
        EXPERIMENTS["liars-puzzle"].methods["scallop"] = None
