"""A plot of the lab's results: one dot per seed, one line per rule."""

from pathlib import Path
from textwrap import wrap

import torch

from smtlayer.lab.laboratory import GROUNDED, LabResult
from smtlayer_cli.pyplot import pyplot

_GROUNDED, _STUCK = "#15803d", "#f59e0b"
_NAME_WIDTH = 38  # characters of a rule on a line


def draw_lab(result: LabResult, path: Path) -> Path:
    """Draws the test accuracy of each seed, one line per rule; equal dots are spread out.

    Args:
        result: The results.
        path: The file to write.
    """
    plt = pyplot()
    names = ["\n".join(wrap(run.rule, _NAME_WIDTH)) for run in result.runs]
    lines = sum(max(2, name.count("\n") + 1) for name in names)
    figure, axis = plt.subplots(figsize=(8.5, 1.3 + 0.28 * lines))
    spread = torch.linspace(-0.28, 0.28, max(2, result.seeds)).tolist()[: result.seeds]
    for place, run in enumerate(result.runs):
        colours = [_GROUNDED if score >= GROUNDED else _STUCK for score in run.test]
        axis.scatter(
            [100 * score for score in run.test], [place + shift for shift in spread],
            c=colours, s=22, alpha=0.8, linewidths=0,
        )  # fmt: skip
        axis.annotate(
            f"{run.grounded} of {result.seeds}", (1.01, place), va="center", fontsize=9,
            xycoords=("axes fraction", "data"), color=_GROUNDED if run.grounded else _STUCK,
        )  # fmt: skip
    axis.axvline(100 * GROUNDED, color="#94a3b8", linewidth=0.8, linestyle="--")
    axis.set(
        xlim=(-2, 102), ylim=(len(names) - 0.5, -0.5), xlabel="test accuracy of each seed, %",
        title=f"{result.problem}: {result.shown} examples in training, {result.tested} in the test",
    )  # fmt: skip
    axis.set_yticks(range(len(names)), names, fontsize=8, family="monospace")
    axis.grid(axis="x", alpha=0.25)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path
