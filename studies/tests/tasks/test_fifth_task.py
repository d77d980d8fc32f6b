"""A task in one new folder works in every command, and no other file knows it."""

import ast
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import smtlayer_studies.tasks
from fifth_task import write_distribution, write_folder
from shell import smtlayer
from smtlayer_studies.runs import load_experiment
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.options import make_task
from smtlayer_studies.tasks.registry import find_experiments, find_lab_problems, find_tasks

SOURCE = Path(smtlayer_studies.__file__).parent
TASK_PACKAGES = r"smtlayer_studies\.tasks\.(addition|algebra|liars|long_addition|sudoku)\b"


def run(*words):
    done = smtlayer(*words, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Another distribution brings the task; child processes find it, too."""
    site = write_distribution(tmp_path_factory.mktemp("site"))
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        patch.setenv("PYTHONPATH", path)
        yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == "brightness"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def trained(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return folder, run("train", "comparison", "--out", folder)


def test_a_folder_beside_the_other_tasks_is_found(tmp_path, monkeypatch):
    assert "comparison" not in find_tasks()
    write_folder(tmp_path / "brighter")
    monkeypatch.setattr(
        smtlayer_studies.tasks, "__path__", [*smtlayer_studies.tasks.__path__, str(tmp_path)]
    )
    assert find_tasks()["comparison"].folder == tmp_path / "brighter"
    assert find_experiments()["comparison-small"].parent == tmp_path / "brighter"
    task = make_task({"name": "comparison", "noise": 0.5})
    assert repr(task) == "Comparison(noise=0.5)"
    assert type(task).__module__ == "smtlayer_studies.tasks.brighter.task"
    for name in [name for name in sys.modules if ".tasks.brighter" in name]:
        del sys.modules[name]


def test_it_trains_by_its_name(trained):
    folder, text = trained
    assert "Comparison, small, best: 2 epochs" in text
    assert "Data: images of one brightness, test set." in " ".join(text.split())
    for method in ("conventional", "best"):
        assert json.loads((folder / method / "record.json").read_text())["data"] == "drawn"
    assert (folder / "best" / "examples.png").read_bytes().startswith(b"\x89PNG")
    assert load_experiment("comparison").name == "comparison-small"


def test_it_is_evaluated(trained):
    folder, _ = trained
    text = run("evaluate", folder / "best", "--tolerance", "0")
    assert "comparison-small, best" in text
    assert "40 test examples of drawn" in text
    (scores,) = [json.loads(run("evaluate", folder / "best", "--json"))["scores"]]
    assert scores == RunFolder.read(folder / "best").record.scores


def test_its_examples_are_inspected(trained):
    folder, _ = trained
    text = run("inspect", folder / "best", "--row", 3)
    assert text.startswith("comparison-small, best, test ")
    assert "level " in text
    assert " against level " in text
    assert "left is " in text
    assert [line.split()[0] for line in text.splitlines() if "%" in line][:2] == ["left", "right"]
    assert (folder / "best" / "inspect-row-3.png").read_bytes().startswith(b"\x89PNG")
    (example,) = json.loads(run("inspect", folder / "best", "--row", 3, "--json"))
    levels = example["truth"]["inputs"]
    assert example["truth"]["outputs"]["greater"] == (levels["left"] > levels["right"])


def test_a_report_shows_it(trained):
    folder, _ = trained
    run("report", folder / "best", "--out", folder / "page.html")
    page = (folder / "page.html").read_text()
    assert "comparison-small, best" in page
    assert ".levels { color: teal; }" in page
    assert page.count('<p class="levels">level ') >= 1
    assert "Levels (60)" in page  # of 30 examples, two each, in the confusion matrix
    assert "left is " in page


def test_it_is_reproduced(trained, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = run("reproduce", "table1", "--rows", "comparison-*", "--methods", "best", "--smoke")
    assert "1 of 1 runs work." in text
    kept = tmp_path / "results" / "comparison-small"
    kept.mkdir(parents=True)
    shutil.copy(trained[0] / "best" / "record.json", kept / "best-seed0.json")
    run("reproduce", "table1", "--rows", "comparison-small", "--records-only", "--out", "table.md")
    assert "| comparison-small | ours |" in Path("table.md").read_text()


def test_a_task_that_cannot_be_imported_is_left_out(tmp_path, monkeypatch):
    about = write_distribution(tmp_path) / "brightness-1.0.dist-info" / "entry_points.txt"
    about.write_text("[smtlayer.tasks]\nbroken = no_such_module:TASK\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.warns(UserWarning, match=r"task no_such_module:TASK is left out: No module named"):
        assert set(find_tasks()) == {
            "mnist-addition", "visual-algebra", "digit-problem", "liars-puzzle", "long-addition",
            "visual-sudoku",
        }  # fmt: skip


@pytest.fixture(scope="module")
def names():
    data = {name for file in FILES.values() for name in (file.name, file.dataset)}
    return {*find_tasks(), *find_experiments(), *find_lab_problems(), *data}


def named_in(text, names):
    """Names that a file has as text, and tasks that it imports."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and node.value in names:
            found.add(node.value)
        elif isinstance(node, ast.ImportFrom) and re.match(TASK_PACKAGES, node.module or ""):
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", ["runs", "reports", "commands"])
def test_no_file_outside_the_tasks_names_one(package, names):
    files = sorted((SOURCE / package).glob("*.py"))
    assert len(files) > 5
    for path in files:
        if path.name not in ("paper.py", "published.py"):  # numbers that papers report
            assert not named_in(path.read_text(), names), path


def test_the_check_of_names_sees_them(names):
    text = 'if task == "liars-puzzle":\n    data = "mnist"'
    assert named_in(text, names) == {"liars-puzzle", "mnist"}
    assert named_in("from smtlayer_studies.tasks.sudoku.view import SudokuView", names)
    text = '"""As mnist-addition-10."""\nfrom smtlayer_studies.tasks.base import Task'
    assert not named_in(text, names)
