"""Pictures that cannot be written are refused before the work that they would show."""

import sys

import pytest

from smtlayer_cli.app import app
from smtlayer_cli.errors import ExitCode, exit_code_of
from smtlayer_cli.pyplot import check_picture


def test_plots_without_matplotlib_are_refused_before_the_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    words = ["bench", "--plot", str(tmp_path / "plot.png")]
    assert exit_code_of(lambda: app(words, standalone_mode=False)) == ExitCode.MISSING
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("plot.foo", "expects a file whose name ends in .png, .pdf, .svg, .jpg or .webp. Got"),
        ("plot", "expects a file whose name ends in .png"),
        (".png", "expects a file whose name ends in .png"),
        (".", "expects a file, as"),
        ("file/plot.png", "expects a file in a folder. Got"),
    ],
)
@pytest.mark.parametrize(
    "words",
    [["lab", "visual-algebra", "--plot"], ["bench", "--plot"], ["inspect", "x", "--picture"]],
)
def test_pictures_that_cannot_be_written_are_refused_at_once(
    words, name, message, tmp_path, capsys
):
    (tmp_path / "file").touch()
    words = [*words, f"{tmp_path}/{name}"]
    assert exit_code_of(lambda: app(words, standalone_mode=False)) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith(f"smtlayer: {words[-2]} {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_pictures_of_many_formats_in_new_folders_are_taken(tmp_path):
    for name in ("a.png", "A.PDF", "new/folder/a.b.svg"):
        check_picture(tmp_path / name, "--plot")
    assert not list(tmp_path.iterdir())


def test_a_plot_of_nothing_is_refused(capsys):
    words = ["bench", "layer", "--plot", "plot.png"]
    assert exit_code_of(lambda: app(words, standalone_mode=False)) == ExitCode.USAGE
    assert "Add it: smtlayer bench layer scaling --plot plot.png." in capsys.readouterr().err
