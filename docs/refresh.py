"""Runs the code of the pages and notebooks, and updates their outputs.

python docs/refresh.py            # all
python docs/refresh.py 1-xor faq  # those whose name contains one of these
python docs/refresh.py --into FOLDER 1-xor

A block of Python in a page may be followed by a block of text, its output. Pages that other
tests run (see tests/docs/test_doc_code.py) are skipped. Pages of the gallery show excerpts of a
script; it runs in full, which takes a minute per page, and updates the output and the picture.
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).parent
BLOCK = re.compile(r"```python\n(.*?)```(?:(\n\n```text\n)(.*?)```)?", re.DOTALL)
SCRIPT = re.compile(
    r"(```console\npython (examples/gallery/\w+\.py)\n```\n\n```text\n)(.*?)```", re.DOTALL
)
# Pages whose code cannot be run from top to bottom, and the tests that run it.
ELSEWHERE = {
    "explain/what-makes-it-train.md": "tests/test_text.py",
    "how-to/train.md": "tests/test_text.py",
    "how-to/workers.md": "tests/solvers/test_workers_page.py",
    "how-to/distributed.md": "tests/nn/test_ddp.py",
    "how-to/lightning.md": "tests/test_lightning.py",
}


def pages() -> dict[str, Path]:
    """The pages to run, by name."""
    found = {path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))}
    return {
        name: path
        for name, path in found.items()
        if not (name in ELSEWHERE or name in gallery())
        and "```python\n" in path.read_text(encoding="utf-8")
    }


def gallery() -> dict[str, Path]:
    """The pages of the gallery that show the output of a script, by name."""
    found = {f"gallery/{path.name}": path for path in sorted((DOCS / "gallery").glob("*.md"))}
    return {
        name: path
        for name, path in found.items()
        if SCRIPT.search(path.read_text(encoding="utf-8"))
    }


def notebooks() -> dict[str, Path]:
    """The notebooks of the tutorial, by name."""
    return {path.stem: path for path in sorted((DOCS / "tutorial").glob("*.ipynb"))}


def printed_by(text: str, name: str) -> list[str]:
    """The output of each block of a page."""
    names: dict[str, Any] = {"__name__": name}
    found = []
    for code, *_ in BLOCK.findall(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        found.append(out.getvalue())
    return found


def refreshed(text: str, name: str) -> str:
    """The page with updated outputs."""
    prints = iter(printed_by(text, name))

    def fill(found: re.Match[str]) -> str:
        code, between, _ = found.groups()
        out = next(prints)
        return f"```python\n{code}```" + ("" if between is None else f"{between}{out}```")

    return BLOCK.sub(fill, text)


def script_output(script: str, picture: Path) -> str:
    """The output of a full run of a script of the gallery, which also draws its picture."""
    done = subprocess.run(
        [sys.executable, script, "--picture", picture.resolve()],
        cwd=DOCS.parent,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # sums depend on the number of threads
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def with_script_output(text: str, picture: Path) -> str:
    """The page of the gallery with the output of its script."""

    def fill(found: re.Match[str]) -> str:
        return f"{found[1]}{script_output(found[2], picture)}```"

    return SCRIPT.sub(fill, text)


def executed(path: Path) -> Any:
    """The notebook after execution, without execution counts and with joined streams."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=300, record_timing=False, resources=resources).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = joined(cell.outputs)
    return notebook


def joined(outputs: Sequence[Any]) -> list[Any]:
    """Outputs with consecutive parts of a stream joined."""
    found: list[Any] = []
    for output in outputs:
        if "execution_count" in output:
            output.execution_count = None
        if found and output.output_type == "stream" and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def main(wanted: Sequence[str], into: Path | None = None) -> None:
    """Refreshes the pages and notebooks with these names, or all, optionally into a folder."""

    def selected(name: str) -> bool:
        return not wanted or any(part in name for part in wanted)

    for name, path in pages().items():
        if selected(name):
            text = refreshed(path.read_text(encoding="utf-8"), path.stem)
            ((into or path.parent) / path.name).write_text(text, encoding="utf-8")
    for name, path in gallery().items():
        if selected(name):
            page = (into or path.parent) / path.name
            text = with_script_output(path.read_text(encoding="utf-8"), page.with_suffix(".png"))
            page.write_text(text, encoding="utf-8")
    for name, path in notebooks().items():
        if selected(name):
            nbformat.write(executed(path), (into or path.parent) / path.name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--into"]:
        main(sys.argv[3:], Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
