"""Draws the picture of the start page with the network of the second tutorial page.

python docs/img/draw_start.py
"""

import base64
import io
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.image
import torch

from smtlayer.explain import Explanation, SymbolRead

HERE = Path(__file__).parent
NOTEBOOK = HERE.parent / "tutorial" / "2-addition.ipynb"
LIGHT = {"ink": "#1e293b", "quiet": "#64748b", "true": "#2563eb", "false": "#cbd5e1",
         "off": "#334155", "over": "#d97706", "line": "#cbd5e1", "well": "#f1f5f9"}  # fmt: skip
DARK = {"ink": "#e2e8f0", "quiet": "#94a3b8", "true": "#60a5fa", "false": "#475569",
        "off": "#e2e8f0", "over": "#fbbf24", "line": "#475569", "well": "#1e293b"}  # fmt: skip
WIDTH, TOP, ROW = 566, 40, 122
Colours = dict[str, str]


def trained() -> dict[str, Any]:
    """The namespace of the notebook after execution."""
    mpl.use("Agg")
    names: dict[str, Any] = {}
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    return names


def text(x: float, y: float, words: str, size: int, fill: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" {more}>{words}</text>'


def picture(x: float, y: float, image: torch.Tensor, side: int) -> str:
    """Dark ink on white paper, in both palettes."""
    file = io.BytesIO()
    matplotlib.image.imsave(file, (1 - image).numpy(), cmap="gray", vmin=0, vmax=1, format="png")
    data = base64.b64encode(file.getvalue()).decode()
    return (
        f'<rect x="{x - 1}" y="{y - 1}" width="{side + 2}" height="{side + 2}" rx="4" fill="#fff" '
        f'stroke="#94a3b8"/><image x="{x}" y="{y}" width="{side}" height="{side}" '
        f'href="data:image/png;base64,{data}"/>'
    )


def symbol(x: float, y: float, read: SymbolRead, row: Explanation, colours: Colours) -> str:
    """The bits of a digit, their value, and the solver's correction."""
    changed = {o.name: o for o in row.overruled}.get(read.name)
    parts = []
    for i, column in enumerate(read.columns):
        over = changed is not None and column.name in changed.columns
        paler = 0.35 + 0.65 * (2 / (1 + 2.718 ** -abs(column.logit)) - 1)
        fill, left = colours["true" if column.value else "false"], x + 33 * i
        mark = f'stroke="{colours["over"]}" stroke-width="4"' if over else ""
        parts.append(
            f'<rect x="{left}" y="{y}" width="28" height="28" rx="5" fill="{fill}" '
            f'fill-opacity="{paler:.2f}"/><rect x="{left}" y="{y}" width="28" height="28" rx="5" '
            f'fill="none" {mark}/>'
        )
        ink = "#fff" if column.value else colours["off"]
        middle = 'text-anchor="middle" font-weight="600"'
        parts.append(text(left + 14, y + 20, str(int(column.value)), 16, ink, middle))
    sure = f"{read.value}, {read.certainty:.0%} sure"
    parts.append(text(x, y + 54, sure, 16, colours["ink"]))
    if changed is not None:
        words = f"→ {changed.taken}"
        parts.append(text(x, y + 76, words, 16, colours["over"], 'font-weight="600"'))
    return "".join(parts)


def row_of(y: float, images: torch.Tensor, row: Explanation, colours: Colours) -> str:
    parts = [picture(4 + 92 * i, y, image, 86) for i, image in enumerate(images)]
    parts += [symbol(204 + 146 * i, y + 4, r, row, colours) for i, r in enumerate(row.read)]
    middle = 'text-anchor="middle" font-weight="700"'
    parts.append(text(522, y + 46, str(row.answer["total"]), 46, colours["ink"], middle))
    note = "fits" if row.fits else "repaired"
    fill = colours["quiet" if row.fits else "over"]
    parts.append(text(522, y + 72, note, 16, fill, 'text-anchor="middle"'))
    return "".join(parts)


def draw(rows: list[tuple[torch.Tensor, Explanation]], colours: Colours) -> str:
    height = TOP + ROW * len(rows) + 52
    heads = [(4, "images"), (204, "predicted bits"), (498, "solver")]
    parts = [text(x, 22, words, 16, colours["quiet"]) for x, words in heads]
    parts += [row_of(TOP + ROW * i, *row, colours) for i, row in enumerate(rows)]
    bottom = height - 50
    parts.append(
        f'<rect x="0" y="{bottom}" width="{WIDTH}" height="44" rx="8" fill="{colours["well"]}"/>'
    )
    known = "theory: total = a + b,  a ≤ 9,  b ≤ 9"
    parts.append(text(WIDTH / 2, bottom + 28, known, 18, colours["ink"], 'text-anchor="middle"'))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif">{"".join(parts)}</svg>\n'
    )


def main() -> None:
    names = trained()
    values, logits = names["values"], names["logits"]
    # two different digits, neither of them 0, read with confidence
    distinct = (values.prod(-1) * values.diff().squeeze(-1) != 0) & (logits.abs().amin(-1) > 2)
    plain = int((names["good"] & ~names["repaired"] & distinct).nonzero()[0])
    chosen = [plain, names["corrected"]]
    explained = names["layer"].explain(logits[chosen])
    rows = [(names["images"][i], e) for i, e in zip(chosen, explained, strict=True)]
    for name, colours in (("light", LIGHT), ("dark", DARK)):
        (HERE / f"start-{name}.svg").write_text(draw(rows, colours), encoding="utf-8")


if __name__ == "__main__":
    main()
