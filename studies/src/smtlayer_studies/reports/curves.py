"""Curves of trainings by epoch: accuracy, loss and seconds, as a PNG file or as inline SVG."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smtlayer_cli.pyplot import pyplot
from smtlayer_studies.reports.svg import inline_svg
from smtlayer_studies.runs import RunRecord
from smtlayer_studies.tasks.marks import INK, QUIET, save

_COLOURS = ("#2563eb", "#f59e0b", "#15803d", "#b91c1c", "#7c3aed", "#0891b2")
_SHADE, _GRID, _PAPER = "#f1f5f9", "#e2e8f0", "#ffffff"
# Custom properties of the page that take the place of colours, light or dark.
_VARIABLES = {colour: f"--s{i}" for i, colour in enumerate(_COLOURS)} | {
    _SHADE: "--ground", _GRID: "--line", _PAPER: "--paper", QUIET: "--quiet", INK: "--ink",
}  # fmt: skip
_MOST_DOTS = 40
_TITLES = {
    "accuracy": "Training accuracy, %",
    "loss": "Loss",
    "seconds": "Seconds per epoch; darker: solver",
}
_FORMATS = {"accuracy": "{:.1f} %", "loss": "{:.3g}", "seconds": "{:.3g} s"}
Epochs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Series:
    """A training to draw.

    Attributes:
        name: For the legend.
        epochs: As a record holds them.
        score: Accuracy after training, from 0 to 1, or None if it is not known.
        split: The split of that score.
        labelled: Whether pre-training had labels, so that its accuracy means something.
    """

    name: str
    epochs: Epochs
    score: float | None = None
    split: str = "test"
    labelled: bool = True

    def values(self, what: str, phase: str) -> list[tuple[int, float]]:
        """Epoch numbers with a value: from 1 in training, up to -1 in pre-training."""
        if what == "accuracy" and phase == "pretrain" and not self.labelled:
            return []
        times = 100 if what == "accuracy" else 1
        return [(place, times * float(epoch[what])) for place, epoch in self.phase(phase)]

    def phase(self, name: str) -> list[tuple[int, Mapping[str, Any]]]:
        """The epochs of a phase with their numbers."""
        found = [epoch for epoch in self.epochs if epoch["phase"] == name]
        start = 1 if name == "train" else -len(found)
        return [(start + i, epoch) for i, epoch in enumerate(found)]


@dataclass(frozen=True)
class Chart:
    """One chart of a page; `svg` is safe HTML."""

    title: str
    svg: str


def draw_curves(records: Mapping[str, RunRecord], path: Path) -> Path:
    """Draws accuracy, loss and seconds by epoch, with the solver's share of the seconds.

    All methods begin their training at epoch 1. Pre-training is to the left of it and has negative
    numbers.

    Args:
        records: Finished runs, by the name that the legend shows.
        path: The PNG to write.
    """
    with pyplot().rc_context({"text.parse_math": False}):  # a name may have a dollar sign
        return save(curves_figure([_series(*item) for item in records.items()]), path)


def curves_figure(series: Sequence[Series]) -> Any:
    """The same as a figure."""
    figure, axes = pyplot().subplots(1, 3, figsize=(13.5, 4.3))
    for axis, what in zip(axes, _TITLES, strict=True):
        _draw(axis, what, series)
        axis.set_title(_TITLES[what], pad=18, fontsize=11.5, color=INK)
    for i, one in enumerate(series):
        score = "" if one.score is None else f": {one.split} accuracy {100 * one.score:.1f} %"
        axes[0].plot([], [], color=_colour(i), marker="o", markersize=4, label=one.name + score)
    axes[0].plot([], [], color=QUIET, linestyle=":", label="accuracy after training")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="lower center", ncols=min(4, len(series) + 1),
        frameon=False, fontsize=9.5,
    )  # fmt: skip
    lines = -(-(len(series) + 1) // 4)
    figure.tight_layout(rect=(0, 0.02 + 0.055 * lines, 1, 1), w_pad=2.5)
    return figure


def charts(series: Sequence[Series]) -> list[Chart]:
    """One inline SVG each for accuracy, loss and seconds; none if no epoch is done."""
    shown = [one for one in series if one.epochs]
    return [_chart(what, shown) for what in _TITLES] if shown else []


def _chart(what: str, series: Sequence[Series]) -> Chart:
    figure, axis = pyplot().subplots(figsize=(4.4, 2.6))
    _draw(axis, what, series)
    figure.subplots_adjust(left=0.11, right=0.99, bottom=0.16, top=0.93)
    ends = "; ".join(f"{one.name}: {_from_to(one, what)}" for one in series)
    text = f"{_TITLES[what]}, by epoch. {ends}."
    return Chart(_TITLES[what], inline_svg(figure, f"chart-{what}", text, _VARIABLES))


def _draw(axis: Any, what: str, series: Sequence[Series]) -> None:
    width = 0.8 / max(1, len(series))
    for i, one in enumerate(series):
        if what == "seconds":
            _bars(axis, one, _colour(i), (i + 0.5) * width - 0.4, width)
        else:
            _lines(axis, one, what, _colour(i))
    axis.set_ylim(*((-3, 103) if what == "accuracy" else (0, 1.06 * _highest(series, what) or 1)))
    _finish(axis, series)


def _lines(axis: Any, one: Series, what: str, colour: str) -> None:
    for phase, style in (("pretrain", "--"), ("train", "-")):
        points = one.values(what, phase)
        if points:
            axis.plot(
                *zip(*points, strict=True), style, color=colour, marker="o", linewidth=1.6,
                markersize=4 if len(points) <= _MOST_DOTS else 0, zorder=3,
                markerfacecolor=colour if phase == "train" else _PAPER,
            )  # fmt: skip
    if what == "accuracy" and one.score is not None:
        axis.axhline(100 * one.score, color=colour, linestyle=":", linewidth=1.3, zorder=2)


def _bars(axis: Any, one: Series, colour: str, shift: float, width: float) -> None:
    """One bar per epoch: the solver's seconds at the bottom, the rest, paler, on top."""
    both = one.phase("pretrain") + one.phase("train")
    places = [place + shift for place, _ in both]
    solver = [
        min(epoch["seconds"], epoch["solver"].get("solver_seconds", 0.0)) for _, epoch in both
    ]
    rest = [epoch["seconds"] - part for (_, epoch), part in zip(both, solver, strict=True)]
    axis.bar(places, solver, width, color=colour, zorder=3)
    axis.bar(places, rest, width, bottom=solver, color=colour, alpha=0.35, zorder=3)


def _finish(axis: Any, series: Sequence[Series]) -> None:
    before = max((len(one.phase("pretrain")) for one in series), default=0)
    after = max((len(one.phase("train")) for one in series), default=1)
    axis.set_xlim(-before - 0.7 if before else 0.3, max(after, 1) + 0.7)
    axis.set_xlabel("epoch", color=QUIET)
    step = max(1, math.ceil((before + after) / 9))
    axis.set_xticks([i for i in range(-before, after + 1) if i and (i - 1) % step == 0])
    axis.tick_params(colors=QUIET, labelsize=9, length=0)
    axis.grid(axis="y", color=_GRID)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[:].set_color(_GRID)
    if before:
        axis.axvspan(-before - 0.7, 0, color=_SHADE, zorder=0)
        axis.axvline(0, color=QUIET, linewidth=0.8, zorder=1)
        axis.text(
            (-before - 0.7) / 2, 1.01, "pre-training", fontsize=8, color=QUIET, ha="center",
            va="bottom", transform=axis.get_xaxis_transform(),
        )  # fmt: skip


def _highest(series: Sequence[Series], what: str) -> float:
    values = (float(epoch[what]) for one in series for epoch in one.epochs)
    return max((value for value in values if math.isfinite(value)), default=0.0)


def _series(name: str, record: RunRecord) -> Series:
    labelled = record.config.get("pretrain", {}).get("kind") != "autoencoder"
    return Series(name, record.epochs, record.scores.get("accuracy"), record.split, labelled)


def _colour(i: int) -> str:
    return _COLOURS[i % len(_COLOURS)]


def _from_to(one: Series, what: str) -> str:
    """The first and the last value of training, for readers who do not see the chart."""
    found = [_FORMATS[what].format(value) for _, value in one.values(what, "train")]
    if not found:
        return "no training yet"
    return found[0] if len(found) == 1 else f"from {found[0]} to {found[-1]}"
