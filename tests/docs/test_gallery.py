"""Every script of the gallery runs, and its page shows its command, picture and output."""

import re
import runpy
import sys
import textwrap
import warnings
from pathlib import Path

import pytest
import torch

from outputs import agree

ROOT = Path(__file__).parents[2]
GALLERY = ROOT / "docs" / "gallery"
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
REFRESH = runpy.run_path(str(ROOT / "docs" / "refresh.py"))
NAMES = {"requirements", "tags", "roster", "decisions", "formats", "shield", "mnist-half", "pipes"}

RIVALS = {"decisions": "pyepo", "requirements": "pishield"}  # optional for a script

each_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)


def page_of(script: Path) -> Path:
    return GALLERY / f"{script.stem.replace('_', '-')}.md"


def excerpts(page: str) -> list[list[str]]:
    """The Python code of a page, in parts that are separated by an empty line or `...`."""
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    parts = [part for block in blocks for part in re.split(r"(?m)^\s*(?:\.\.\.\s*)?\n", block)]
    return [textwrap.dedent(part).splitlines() for part in parts if part.strip()]


def contains(script: list[str], part: list[str]) -> bool:
    """Whether a script has these consecutive lines, at any indentation."""
    starts = range(len(script) - len(part) + 1)
    windows = ("\n".join(script[i : i + len(part)]) for i in starts)
    return any(textwrap.dedent(window).splitlines() == part for window in windows)


@pytest.fixture
def _torch_settings():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    yield
    torch.set_num_threads(threads)
    torch.set_default_dtype(dtype)


@each_script
@pytest.mark.usefixtures("own_z3_context", "_torch_settings")
def test_a_script_prints_results_and_draws_a_picture(script, tmp_path, monkeypatch, capsys):
    picture = tmp_path / "picture.png"
    monkeypatch.setattr(sys, "argv", [str(script), "--quick", "--picture", str(picture)])
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # as in a normal run
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as stop:
        if not isinstance(stop.code, str):
            raise
        pytest.skip(stop.code)  # the script's sentence about missing data
    assert capsys.readouterr().out.strip()
    assert picture.read_bytes().startswith(b"\x89PNG")


@each_script
def test_a_script_fits_a_page(script):
    assert script.read_text(encoding="utf-8").count("\n") <= 80


@each_script
def test_the_page_of_a_script_is_complete(script):
    text = page_of(script).read_text(encoding="utf-8")
    assert text.count("\n") <= 100
    shown = REFRESH["SCRIPT"].findall(text)
    assert [name for _, name, _ in shown] == [f"examples/gallery/{script.name}"]
    assert all(output.strip() for *_, output in shown), "run: python docs/refresh.py NAME"
    picture = page_of(script).with_suffix(".png")
    assert f"]({picture.name})" in text
    assert picture.read_bytes().startswith(b"\x89PNG")
    title, *lines = [line for line in text.splitlines() if line.strip()]
    assert title.startswith("# ")
    assert all(re.match(r"[\w*`\"[(]", line) for line in lines[:3]), (
        "begin with three lines of prose"
    )


@each_script
def test_the_code_of_a_page_is_part_of_its_script(script):
    lines = script.read_text(encoding="utf-8").splitlines()
    found = excerpts(page_of(script).read_text(encoding="utf-8"))
    assert found
    for part in found:
        assert contains(lines, part), "\n".join(["not in the script:", *part])


def test_an_excerpt_may_be_indented_and_leave_out_lines():
    script = ["a = 1", "", "def f():", "    b = 2", "    c = 3", "d = 4"]
    parts = excerpts("```python\na = 1\n\n    ...\n    b = 2\n    c = 3\n```")
    assert parts == [["a = 1"], ["b = 2", "c = 3"]]
    assert all(contains(script, part) for part in parts)
    assert not contains(script, ["b = 2", "d = 4"])
    assert not contains(script, ["b = 2", "  c = 3"])


def test_every_page_has_a_script_and_a_known_name():
    pages = {path.stem for path in GALLERY.glob("*.md")} - {"index"}
    assert pages == {page_of(script).stem for script in SCRIPTS}
    assert pages == NAMES


def test_refresh_runs_the_script_of_a_page(tmp_path):
    script = "import sys; from pathlib import Path; Path(sys.argv[2]).write_bytes(b''); print(12)"
    (tmp_path / "examples" / "gallery").mkdir(parents=True)
    (tmp_path / "examples" / "gallery" / "some_use.py").write_text(script)
    run = REFRESH["with_script_output"]
    before, run.__globals__["DOCS"] = run.__globals__["DOCS"], tmp_path / "docs"
    page = "```console\npython examples/gallery/some_use.py\n```\n\n```text\n{}```\n"
    try:
        assert run(page.format("old\n"), tmp_path / "some-use.png") == page.format("12\n")
    finally:
        run.__globals__["DOCS"] = before
    assert (tmp_path / "some-use.png").exists()


@pytest.mark.slow
@each_script
def test_a_page_shows_what_its_script_prints(script, tmp_path):
    pytest.importorskip(RIVALS.get(script.stem, "smtlayer"), reason="its rival is on the page")
    text = page_of(script).read_text(encoding="utf-8")
    printed = REFRESH["with_script_output"](text, tmp_path / "picture.png")
    assert agree(printed, text), f"run: python docs/refresh.py {page_of(script).stem}\n{printed}"
