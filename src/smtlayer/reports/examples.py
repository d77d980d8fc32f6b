"""This file draws test rows: what the network read, what the solver overruled, what it answered."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from smtlayer.nn import SMTLayer
from smtlayer.reports.pyplot import pyplot
from smtlayer.tasks import Batch

_TRUE, _FALSE, _OVERRULED = "#2563eb", "#cbd5e1", "#f59e0b"
_RIGHT, _WRONG = "#15803d", "#b91c1c"


@torch.no_grad()
def draw_examples(path: Path, layer: SMTLayer, logits: Tensor, batch: Batch, title: str) -> Path:
    """Draws rows of a task whose features are images, one column of pictures a symbol.

    Under each image stand its bits as the network reads them: filled for true, light for false,
    orange where the solver overruled the network, and the number they make. Beside the images
    stands the solver's answer.

    Args:
        path: The PNG to write.
        layer: The trained layer; its `eval()` rule is used.
        logits: What the network made of the rows, (B, n).
        batch: The rows.
        title: Shown above the rows.
    """
    plt = pyplot()
    answer = layer.eval().solve(logits)
    theory = layer.theory
    values = theory.decode_inputs(answer.inputs)
    results = theory.decode(answer.outputs)
    truth = theory.decode((batch.targets * 2 - 1).cpu())
    rows, digits = batch.features.shape[:2]
    columns = 2 if rows % 2 == 0 else 1
    per_row = digits + 1
    figure, axes = plt.subplots(
        rows // columns, columns * per_row, squeeze=False,
        figsize=(1.45 * columns * per_row, 1.75 * rows / columns + 0.8),
    )  # fmt: skip
    figure.suptitle(title, fontsize=12)
    figure.text(
        0.5, 0.004, "blue: true, grey: false, paler: less sure, orange: overruled by the solver",
        ha="center", va="bottom", fontsize=8, color="#64748b",
    )  # fmt: skip
    for row in range(rows):
        cells = axes[row // columns][(row % columns) * per_row :][:per_row]
        start = 0
        for digit, (name, width) in enumerate(zip(values, theory.input_widths, strict=True)):
            part = slice(start, start + width)
            start += width
            _picture(cells[digit], batch.features[row, digit])
            _bits(cells[digit], logits[row, part], answer.inputs[row, part], values[name][row])
        result, wanted = (_row_text(values, row) for values in (results, truth))
        _answer(cells[digits], result, wanted, bool(answer.cost[row] > 0))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout(h_pad=1.2, rect=(0, 0.012, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _row_text(values: dict[str, Any], row: int) -> str:
    return ", ".join(str(value[row]) for value in values.values())


def _picture(axis: Any, image: Tensor) -> None:
    axis.imshow(image.cpu().numpy(), cmap="gray_r", vmin=0, vmax=1)
    axis.set_xticks([])
    axis.set_yticks([])
    for side in axis.spines.values():
        side.set_color(_FALSE)


def _bits(axis: Any, logits: Tensor, found: Tensor, value: Any) -> None:
    """Squares under an image, the stronger in colour the more confident the network is."""
    width, sure = len(logits), torch.sigmoid(logits.abs().float()) * 2 - 1
    for i in range(width):
        read, kept = bool(logits[i] > 0), bool(found[i] > 0)
        colour = _OVERRULED if read != kept else _TRUE if kept else _FALSE
        axis.add_patch(_square(axis, i, width, colour, 0.35 + 0.65 * float(sure[i])))
        axis.text(
            (i + 0.5) / (width + 1), -0.13, "1" if kept else "0", transform=axis.transAxes,
            ha="center", va="center", fontsize=8, color="white" if kept else "#334155",
        )  # fmt: skip
    axis.text(
        (width + 0.5) / (width + 1), -0.13, f"= {value}", transform=axis.transAxes,
        ha="center", va="center", fontsize=8,
    )  # fmt: skip


def _square(axis: Any, i: int, width: int, colour: str, alpha: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (i / (width + 1) + 0.01, -0.22), 1 / (width + 1) - 0.02, 0.18, transform=axis.transAxes,
        facecolor=colour, alpha=alpha, clip_on=False,
    )  # fmt: skip


def _answer(axis: Any, result: Any, wanted: Any, repaired: bool) -> None:
    axis.axis("off")
    colour = _RIGHT if result == wanted else _WRONG
    axis.text(0.08, 0.55, f"→ {result}", fontsize=17, color=colour, transform=axis.transAxes)
    notes = [] if result == wanted else [f"truth {wanted}"]
    notes += ["repaired"] if repaired else []
    axis.text(0.1, 0.28, ", ".join(notes), fontsize=8, color=colour, transform=axis.transAxes)
