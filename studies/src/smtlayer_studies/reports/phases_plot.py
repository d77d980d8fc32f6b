"""A picture of the phases of `anneal_core`: training accuracy over the progress of training."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from smtlayer.nn import anneal_core
from smtlayer_cli.pyplot import pyplot
from smtlayer_studies.reports.paper import PROBLEMS, experiment_title
from smtlayer_studies.reports.results import Record

_COLOURS = ("#2563eb", "#15803d", "#b45309", "#7c3aed")
_PHASES = ("cool: marginal, temperature 8 to 1", "shake: mix(core, marginal)", "core")
_SHADES = ("#fee2e2", "#fef9c3", "#e0f2fe")


def draw_phases(records: Sequence[Record], path: Path) -> Path:
    """Draws one curve per experiment, and a thin one per seed, over shaded phases.

    Args:
        records: Records of the method `one-rule`; those of experiments that are not in `PROBLEMS`
            are left out.
        path: The picture to write.
    """
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 4.4))
    _shade(axis)
    for experiment, colour in zip(PROBLEMS, _COLOURS, strict=True):
        runs = [r for r in records if (r["experiment"], r["method"]) == (experiment, "one-rule")]
        curves = [[100 * epoch["accuracy"] for epoch in run["epochs"]] for run in runs]
        if not curves:
            continue
        done = [(number + 1) / len(curves[0]) for number in range(len(curves[0]))]
        for curve in curves:
            axis.plot(done, curve, color=colour, lw=0.6, alpha=0.35)
        title = f"{experiment_title(experiment)}, {len(runs)} seeds"
        axis.plot(done, [fmean(ys) for ys in zip(*curves, strict=True)], color=colour, lw=2,
                  marker="o" if len(done) < 20 else None, ms=3.5, label=title)  # fmt: skip
    axis.set(xlim=(0, 1), ylim=(0, 109), xlabel="share of training", yticks=range(0, 101, 20))
    axis.set_ylabel("training accuracy of an epoch, %")
    axis.legend(loc="lower right", fontsize=8, frameon=False)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return path


def _shade(axis: Any) -> None:
    ends = (0.0, anneal_core.cool, anneal_core.shake, 1.0)
    for start, end, name, shade in zip(ends, ends[1:], _PHASES, _SHADES, strict=False):
        axis.axvspan(start, end, color=shade, lw=0)
        axis.text((start + end) / 2, 104.5, name, ha="center", va="center", fontsize=7)
