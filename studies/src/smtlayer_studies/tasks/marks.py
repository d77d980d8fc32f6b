"""Colours and marks that all figures of examples share."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from smtlayer_cli.pyplot import pyplot
from smtlayer_studies.tasks.examples import Reading

TRUE, FALSE, OVERRULED = "#2563eb", "#cbd5e1", "#f59e0b"
RIGHT, WRONG, CHANGED = "#15803d", "#b91c1c", "#b45309"  # text; the last where overruled
INK, QUIET = "#1e293b", "#64748b"
MARK = "overruled"  # the `gid` of every mark on something that the solver overruled


def sheet(
    count: int, size: tuple[float, float], unit: float, title: str, legend: Mapping[str, str]
) -> tuple[Any, list[Any]]:
    """A figure with one plain axis per example, in as many columns as fit on a page.

    Lengths inside an axis are units of the same length in both directions.

    Args:
        count: Number of examples.
        size: Width and height of an example, in units.
        unit: Its length in inches.
        title: Heading of the figure.
        legend: Colours by their meaning.
    """
    width, height = (side * unit for side in size)
    columns = max(1, min(count, int(13.5 / width)))
    rows = -(-count // columns)
    page = (max(columns * width, 6.5) + 0.4, rows * height + 1.05)
    figure, axes = pyplot().subplots(rows, columns, squeeze=False, figsize=page)
    left = (page[0] - columns * width) / 2 / page[0]
    figure.subplots_adjust(
        left=left, right=1 - left, bottom=0.5 / page[1], top=1 - 0.55 / page[1],
        wspace=0, hspace=0,
    )  # fmt: skip
    flat = list(axes.flat)
    for axis in flat:
        axis.set(xlim=(0, size[0]), ylim=(size[1], 0), aspect="equal", autoscale_on=False)
        axis.axis("off")
    figure.text(0.5, 1 - 0.28 / page[1], title, fontsize=12.5, ha="center", va="center", color=INK)
    _legend(figure, legend, 0.1 / page[1])
    return figure, flat[:count]


def _legend(figure: Any, legend: Mapping[str, str], bottom: float) -> None:
    patches = [pyplot().Rectangle((0, 0), 1, 1, color=colour) for colour in legend.values()]
    figure.legend(
        patches, list(legend), loc="lower center", ncols=len(legend), frameon=False, fontsize=9,
        bbox_to_anchor=(0.5, bottom), borderpad=0, handlelength=1, handleheight=1,
        columnspacing=1.8, labelcolor=INK,
    )  # fmt: skip


def save(figure: Any, path: Path) -> Path:
    """Writes a figure to a file, and closes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    pyplot().close(figure)
    return path


def box(axis: Any, place: tuple[float, float, float, float], colour: str, **options: Any) -> None:
    """A filled rectangle from its left, top, width and height."""
    left, top, width, height = place
    axis.add_patch(pyplot().Rectangle((left, top), width, height, facecolor=colour, **options))


def picture(axis: Any, image: Any, left: float, top: float, width: float, height: float) -> None:
    """An image of ink on paper, with a thin frame."""
    limits = axis.get_xlim(), axis.get_ylim()
    extent = (left, left + width, top + height, top)
    axis.imshow(image.cpu().numpy(), cmap="gray_r", vmin=0, vmax=1, extent=extent, zorder=1)
    axis.set(xlim=limits[0], ylim=limits[1])  # which an image changes
    box(axis, (left, top, width, height), "none", edgecolor=FALSE, linewidth=0.8)


def reading(axis: Any, symbol: Reading, left: float, top: float, width: float) -> None:
    """The bits of a symbol as squares, stronger the more certain, with its value below."""
    step = width / len(symbol.bits)
    for i, bit in enumerate(symbol.bits):
        least = 0.6 if bit.overruled else 0.3
        strength = least + (1 - least) * bit.certainty
        colour = OVERRULED if bit.overruled else TRUE if bit.taken else FALSE
        place = (left + i * step + 0.02, top, step - 0.04, 0.24)
        box(axis, place, colour, alpha=strength, gid=MARK if bit.overruled else None)
        pale = bit.overruled or not bit.taken or strength < 0.55
        axis.text(
            left + (i + 0.5) * step, top + 0.125, "1" if bit.taken else "0", fontsize=8,
            ha="center", va="center", color=INK if pale else "white",
        )  # fmt: skip
    axis.text(
        left + width / 2, top + 0.42, f"{symbol.name} = {symbol.text}", fontsize=9,
        ha="center", va="center", color=text_colour(symbol),
    )  # fmt: skip


def text_colour(symbol: Reading) -> str:
    """Red for a wrong value, orange for an overruled one, else plain."""
    return WRONG if symbol.wrong else CHANGED if symbol.overruled else INK


def answer_width(texts: Iterable[str], unit: float) -> float:
    """Width of the longest of some answers, in units."""
    return (0.125 * max(map(len, (*texts, "repair"))) + 0.25) / unit


def answer(axis: Any, left: float, middle: float, text: str, notes: list[str], right: bool) -> None:
    """The solver's answer, green if right and red if wrong, and smaller notes below it."""
    colour = RIGHT if right else WRONG
    axis.text(
        left, middle, text, fontsize=14, color=colour, ha="left", va="bottom", fontweight="bold"
    )
    axis.text(left, middle + 0.06, "\n".join(notes), fontsize=8.5, color=colour, va="top")
