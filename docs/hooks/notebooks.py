"""Converts notebooks to pages.

A cell with the tag "hidden" is omitted; the metadata "alt" of a cell describes its picture.
"""

import base64
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

Cell = dict[str, Any]
_LINK = re.compile(r"\]\(([^):]+)\.ipynb(#[^)]*)?\)(?!\{)")  # with attributes: a download


def on_files(files: Files, config) -> Files:
    """Adds a page and its pictures for each notebook."""
    for file in [f for f in files if f.src_uri.endswith(".ipynb")]:
        page, pictures = as_page(Path(file.abs_src_path))
        files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page))
        folder = file.src_uri.rpartition("/")[0]
        for name, content in pictures.items():
            files.append(File.generated(config, f"{folder}/{name}", content=content))
    return files


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Redirects links from a notebook to its page."""
    return _LINK.sub(r"](\1.md\2)", markdown)


def as_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by name."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    pictures: dict[str, bytes] = {}
    parts: list[str] = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and "hidden" not in cell["metadata"].get("tags", ()):
            parts.append(_fenced(source, "python"))
            parts.extend(_outputs(cell, path.stem, pictures))
    download = f"[Download this page as a notebook]({path.name}){{ .notebook download }}"
    head, _, rest = parts[0].partition("\n")
    return "\n\n".join([head, download, rest, *parts[1:]]) + "\n", pictures


def _outputs(cell: Cell, stem: str, pictures: dict[str, bytes]) -> Iterator[str]:
    text = ""
    for output in cell["outputs"]:
        data = output.get("data", {})
        if "image/png" in data:
            name = f"{stem}-{len(pictures) + 1}.png"
            pictures[name] = base64.b64decode("".join(data["image/png"]))
            alt = cell["metadata"].get("alt", "Output of the code")
            yield f"![{html.escape(alt)}]({name})"
        elif "text/html" in data:
            yield f'<div class="output">{_one_block("".join(data["text/html"]))}</div>'
        elif output["output_type"] == "error":
            text += f"{output['ename']}: {output['evalue']}\n"
        else:
            text += "".join(output.get("text", data.get("text/plain", "")))
    if text:
        yield _fenced(text.rstrip("\n"), "{ .text .output }")


def _one_block(markup: str) -> str:
    """Removes empty lines, at which Markdown would end the HTML block."""
    return re.sub(r"\n\s*\n", "\n", markup)


def _fenced(text: str, kind: str) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`{3,}", text)), 3)
    return f"{fence}{kind}\n{text}\n{fence}"
