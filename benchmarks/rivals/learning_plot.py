"""Draws the trainings that `learn.py` records: one dot per seed."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from learning_table import ENDS, QUOTED, quoted, titles
from methods import METHODS, Method
from smtlayer_cli.pyplot import pyplot

_OURS, _STAND_IN, _OTHER = "#15803d", "#b45309", "#2563eb"
_GREY, _PALE = "#64748b", "#f1f5f9"


def draw_learning(records: Sequence[dict[str, Any]], path: Path) -> Path:
    """Draws one panel per problem and one line per method, then what the paper reports.

    Args:
        records: Those of accuracies are drawn.
        path: The picture to write.
    """
    plt = pyplot()
    methods = [m for m in METHODS.values() if any(_accuracies(records, m))]
    lines = len(methods) + len(QUOTED)
    figure, axes = plt.subplots(1, len(ENDS), sharey=True, figsize=(10.5, 1.5 + 0.34 * lines))
    for column, (axis, problem) in enumerate(zip(axes, ENDS, strict=True)):
        _prepare(axis, titles(ENDS)[column], lines)
        for height, method in enumerate(methods):
            _draw(axis, height, method, _accuracies(records, method)[column])
        for height, name in enumerate(QUOTED, len(methods)):
            accuracy = quoted(problem, name)
            if accuracy is not None:
                axis.scatter([accuracy], [height], s=26, marker="D", facecolor="none",
                             edgecolor=_GREY, zorder=3)  # fmt: skip
    names = [method.title.replace("`", "") for method in methods]
    axes[0].set_yticks(range(lines), [*names, *QUOTED.values()], fontsize=10)
    for label, method in zip(axes[0].get_yticklabels(), methods, strict=False):
        label.set_color(_colour(method))
    figure.suptitle(
        "Test accuracy, %: one dot per seed; a bar is the mean\n"
        "green: ours; brown: ours, in place of Scallop; blue: other libraries", fontsize=12,
    )  # fmt: skip
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _accuracies(records: Sequence[dict[str, Any]], method: Method) -> list[list[float]]:
    """Test accuracies in per cent, one list per problem."""
    found = [r for r in records if (r["kind"], r["method"]) == ("accuracy", method.name)]
    return [[100 * r["scores"]["accuracy"] for r in found if r["problem"] == p] for p in ENDS]


def _colour(method: Method) -> str:
    if method.name == "conventional":
        return _GREY
    if method.name.startswith("topk"):
        return _STAND_IN
    return _OURS if "ours" in method.title else _OTHER


def _prepare(axis: Any, title: str, lines: int) -> None:
    axis.set(title=title, xlim=(-4, 104), ylim=(lines - 0.5, -0.5))
    axis.title.set_fontsize(11)
    for height in range(0, lines, 2):
        axis.axhspan(height - 0.5, height + 0.5, color=_PALE, zorder=0)
    axis.grid(axis="x", color="#cbd5e1", lw=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(length=0, labelsize=9)
    for side in axis.spines.values():
        side.set_visible(False)


def _draw(axis: Any, height: int, method: Method, accuracy: Sequence[float]) -> None:
    if not accuracy:
        return
    mean = sum(accuracy) / len(accuracy)
    axis.plot([mean] * 2, [height - 0.36, height + 0.36], color=_colour(method), lw=1.6, zorder=2)
    axis.scatter(
        accuracy, [height] * len(accuracy), s=26, color=_colour(method), alpha=0.65, lw=0, zorder=3
    )
