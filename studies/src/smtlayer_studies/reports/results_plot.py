"""Draws results: one dot per seed, beside the numbers of the paper."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smtlayer_cli.pyplot import pyplot
from smtlayer_studies.reports.paper import EXPERIMENTS, TITLES, experiment_title
from smtlayer_studies.reports.result_tables import METHOD_TITLES, method_title
from smtlayer_studies.reports.results import METHODS, Result

_COLOURS = {
    "conventional": "#cbd5e1", "conventional-same-budget": "#64748b", "paper": "#2563eb",
    "best": "#15803d", "one-rule": "#7c3aed", "no-shift": "#84cc16",
}  # fmt: skip
_VARIANT = f"{METHOD_TITLES['one-rule']}, "
_OTHER = "#b45309"  # methods that belong to one experiment only
_QUOTED = {"conventional": "D", "satnet": "x", "scallop": "+"}
_INK, _GREY, _PALE = "#1e293b", "#64748b", "#f1f5f9"
_TICKS = (0, 50, 80, 90, 95, 98, 99, 99.5, 99.9)
_LEAST = 0.05  # errors below this, in per cent, are drawn as this


def draw_table(results: Sequence[Result], path: Path) -> Path:
    """Draws one band per experiment, with one dot per seed of each method.

    The scale is logarithmic in the error: 98 and 99 % are as far apart as 96 and 98 %.

    Args:
        results: The results, in the order of the table.
        path: The picture to write.
    """
    plt = pyplot()
    variants = [method for method in METHOD_TITLES if method_title(method).startswith(_VARIANT)]
    results = [r for r in results if r.method not in variants]  # they would hide others
    names = list(dict.fromkeys(result.experiment for result in results))
    figure, axis = plt.subplots(figsize=(11, 1.7 + 0.85 * len(names)))
    for place, experiment in enumerate(names):
        ours = [result for result in results if result.experiment == experiment]
        if place % 2 == 0:
            axis.axhspan(place - 0.5, place + 0.5, color=_PALE, zorder=0)
        _draw_quoted(axis, experiment, place)
        _draw_ours(axis, ours, place)
    _scale(axis, [experiment_title(experiment) for experiment in names])
    _legend(axis, results)
    figure.suptitle("Test accuracy: one dot per seed; bars are the paper's SMTLayer", fontsize=13)
    figure.text(
        0.5, 0.006,
        "The scale is logarithmic in the error. Numbers at the right: our mean, and the paper's. "
        "Differences between the two are in the table.",
        ha="center", va="bottom", fontsize=8, color="#475569",
    )  # fmt: skip
    figure.tight_layout(rect=(0, 0.02, 1, 0.99))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def _position(accuracy: float) -> float:
    """The position of an accuracy in per cent: minus the logarithm of its error."""
    return -math.log10(max(_LEAST, 100 - accuracy) / 100)


def _lane(place: int, lane: int, lanes: int) -> float:
    return place + 0.7 * ((lane + 0.5) / lanes - 0.5)


def _draw_ours(axis: Any, ours: Sequence[Result], place: int) -> None:
    lanes = max(3, len(ours))
    for lane, result in enumerate(ours):
        height = _lane(place, lane, lanes)
        colour = _COLOURS.get(result.method, _OTHER)
        spots = [_position(accuracy) for accuracy in result.accuracy]
        axis.plot([min(spots), max(spots)], [height] * 2, color=colour, lw=1, alpha=0.5, zorder=3)
        axis.scatter(spots, [height] * len(spots), s=30, color=colour, alpha=0.8, lw=0, zorder=4)
        if result.method not in METHODS:
            right = max(spots) < 0.9 * _position(100)  # else there is no room for the name
            axis.annotate(
                method_title(result.method), (max(spots) if right else min(spots), height),
                xytext=(6 if right else -6, 0), textcoords="offset points",
                ha="left" if right else "right", va="center", fontsize=7, color=colour, zorder=5,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
            )  # fmt: skip
        if result.method == "best":
            axis.text(
                1.012, place - 0.16, f"{result.mean:.1f}", transform=axis.get_yaxis_transform(),
                va="center", fontsize=9, color=colour,
            )  # fmt: skip


def _draw_quoted(axis: Any, experiment: str, place: int) -> None:
    """The paper's layer as a bar through the band; the other numbers as small marks in it."""
    if experiment not in EXPERIMENTS:
        return
    paper = EXPERIMENTS[experiment]
    for method, mark in _QUOTED.items():
        accuracy = paper.accuracy(method)
        if accuracy is not None:
            _quoted_mark(axis, mark, [_position(accuracy)], [place - 0.36])
    layer = paper.methods["smtlayer"].accuracy
    axis.plot([_position(layer)] * 2, [place - 0.42, place + 0.42], color=_INK, lw=1.6, zorder=2)
    axis.text(
        1.012, place + 0.18, f"{layer:.1f}", transform=axis.get_yaxis_transform(), va="center",
        fontsize=8, color=_INK,
    )  # fmt: skip


def _scale(axis: Any, titles: Sequence[str]) -> None:
    axis.set_yticks(range(len(titles)), titles, fontsize=9)
    axis.set_ylim(len(titles) - 0.5, -0.5)
    axis.set_xticks([_position(tick) for tick in _TICKS], [f"{tick:g} %" for tick in _TICKS])
    axis.set_xlim(-0.06, _position(100) + 0.08)
    axis.grid(axis="x", color="#e2e8f0", zorder=1)
    axis.tick_params(length=0)
    for side in axis.spines.values():
        side.set_visible(False)


def _quoted_mark(axis: Any, mark: str, xs: list[float], ys: list[float], label: str = "") -> Any:
    hollow = {"facecolor": "none", "edgecolor": _GREY} if mark == "D" else {"color": _GREY}
    return axis.scatter(xs, ys, marker=mark, s=22, lw=1, zorder=3, label=label, **hollow)


def _legend(axis: Any, results: Sequence[Result]) -> None:
    run = {result.method for result in results}
    handles = [
        axis.scatter([], [], s=30, color=_COLOURS[method], label=method_title(method))
        for method in METHODS
        if method in run
    ]
    handles.append(axis.plot([], [], color=_INK, lw=1.6, label="SMTLayer, the paper")[0])
    for method, mark in _QUOTED.items():
        handles.append(_quoted_mark(axis, mark, [], [], f"{TITLES[method]}, the paper"))
    axis.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.45, 1.0), ncol=4, fontsize=8,
        frameon=False,
    )  # fmt: skip
