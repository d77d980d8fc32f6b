import shutil

import pytest
from typer.testing import CliRunner

from reports.made_runs import addition_runs
from reports.page_checks import checked
from smtlayer_cli.app import app
from smtlayer_cli.errors import ExitCode, exit_code_of

run = CliRunner().invoke


def report(*words):
    answer = run(app, ["report", *map(str, words)])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.fixture
def folder(tmp_path):
    """Runs of its own, for the page lands beside them."""
    return shutil.copytree(addition_runs()["best"].parent, tmp_path / "runs")


def test_the_page_lands_in_the_run(folder):
    printed = report(folder / "best")
    page = folder / "best" / "report.html"
    assert printed.startswith(f"wrote {page} (")
    assert printed.endswith(" KiB, 1 run)\n")
    assert "MNIST+ 10 %, best" in checked(page.read_text()).text


def test_a_folder_of_runs_is_one_page(folder):
    printed = report(folder)
    assert printed.endswith(" KiB, 2 runs)\n")
    page = checked((folder / "report.html").read_text())
    assert "2 runs of MNIST+ 10 %" in page.text
    assert page.text.index("conventional") < page.text.index("best")


def test_the_page_lands_where_it_is_wanted_and_a_run_stands_in_it_once(folder, tmp_path):
    out = tmp_path / "new" / "page.html"
    printed = report(folder / "best", folder, "--out", out)
    assert printed.startswith(f"wrote {out} (")
    assert "2 runs of MNIST+ 10 %" in checked(out.read_text()).text
    assert not list(folder.glob("**/report.html"))


@pytest.mark.parametrize("name", ["gone", ""])
def test_a_folder_without_runs_is_refused(capsys, tmp_path, name):
    words = ["report", str(tmp_path / name)]
    code = exit_code_of(lambda: app(words, standalone_mode=False))
    printed = capsys.readouterr().err
    assert code == ExitCode.MISSING
    assert printed.count("\n") == 1
    assert "smtlayer train EXPERIMENT --out" in printed


def code_of(*words):
    return exit_code_of(lambda: app(["report", *map(str, words)], standalone_mode=False))


def test_a_damaged_run_that_is_named_is_refused_and_nothing_is_written(capsys, folder):
    (folder / "best" / "record.json").write_text("{}")
    assert code_of(folder / "best") == ExitCode.USAGE
    assert "is not the record of a run" in capsys.readouterr().err
    assert not list(folder.glob("**/report.html"))


def test_a_damaged_run_among_others_is_left_out_and_said(capsys, folder):
    (folder / "best" / "record.json").write_text("{}")
    assert code_of(folder) in (None, ExitCode.OK)
    shown = capsys.readouterr()
    assert shown.err.startswith(f"Left out {folder / 'best'}: {folder / 'best'}/record.json is not")
    assert shown.out.endswith(" KiB, 1 run)\n")


@pytest.mark.parametrize(("name", "message"), [
    ("", "is a folder; --out expects a file, as in"),
    ("afile/page.html", "afile is a file, and"),
])  # fmt: skip
def test_a_page_that_cannot_be_written_there_is_refused_before_the_work(
    capsys, tmp_path, name, message
):
    (tmp_path / "afile").write_text("")
    assert code_of(tmp_path / "gone", "--out", tmp_path / name) == ExitCode.USAGE
    assert message in capsys.readouterr().err
