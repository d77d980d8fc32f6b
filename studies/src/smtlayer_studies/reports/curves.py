"""This file draws how trainings went, epoch by epoch."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from smtlayer.pyplot import pyplot
from smtlayer_studies.runs import RunRecord
from smtlayer_studies.tasks.marks import INK, QUIET, save

_COLOURS = ("#2563eb", "#f59e0b", "#15803d", "#b91c1c", "#7c3aed", "#0891b2")
_SHADE = "#f1f5f9"
Points = list[tuple[int, float]]


def draw_curves(records: Mapping[str, RunRecord], path: Path) -> Path:
    """Accuracy, loss and seconds by epoch, with the solver's part of the seconds.

    All methods begin their training at epoch 1; what came before, pre-training, stands to the left
    of it, counted backwards.

    Args:
        records: Finished runs, by the name that the legend shows.
        path: The PNG to write.
    """
    return save(curves_figure(records), path)


def curves_figure(records: Mapping[str, RunRecord]) -> Any:
    """The same as a figure, not yet written."""
    figure, (accuracy, loss, seconds) = pyplot().subplots(1, 3, figsize=(13.5, 4.3))
    width = 0.8 / max(1, len(records))
    for i, (name, record) in enumerate(records.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        _line(accuracy, record, "accuracy", colour, 100)
        _line(loss, record, "loss", colour)
        _test_score(accuracy, record, colour)
        _bars(seconds, record, colour, (i + 0.5) * width - 0.4, width)
        accuracy.plot([], [], color=colour, marker="o", markersize=4, label=_label(name, record))
    accuracy.set(ylim=(-3, 103), ylabel="rows right, %")
    loss.set(ylabel="loss")
    seconds.set(ylabel="seconds")
    titles = ("Accuracy in training", "Loss", "Time of an epoch, the solver's part darker")
    for axis, title in zip((accuracy, loss, seconds), titles, strict=True):
        axis.set_title(title, pad=18, fontsize=11.5, color=INK)
        _finish(axis, records)
    accuracy.plot([], [], color=QUIET, linestyle=":", label="the score after training")
    figure.legend(
        *accuracy.get_legend_handles_labels(), loc="lower center", ncols=min(4, len(records) + 1),
        frameon=False, fontsize=9.5,
    )  # fmt: skip
    lines = -(-(len(records) + 1) // 4)
    figure.tight_layout(rect=(0, 0.02 + 0.055 * lines, 1, 1), w_pad=2.5)
    return figure


def placed(epochs: Sequence[Mapping[str, Any]], phase: str) -> list[tuple[int, Mapping[str, Any]]]:
    """The epochs of a phase by their place: from 1 in training, up to -1 before."""
    found = [epoch for epoch in epochs if epoch["phase"] == phase]
    start = 1 if phase == "train" else -len(found)
    return [(start + i, epoch) for i, epoch in enumerate(found)]


def _line(axis: Any, record: RunRecord, what: str, colour: str, times: float = 1) -> None:
    for phase, style in (("pretrain", "--"), ("train", "-")):
        if what == "accuracy" and phase == "pretrain" and _without_labels(record):
            continue
        points = [(place, times * epoch[what]) for place, epoch in placed(record.epochs, phase)]
        if points:
            fill = colour if phase == "train" else "white"
            size = 4 if len(points) <= 40 else 0
            axis.plot(
                *zip(*points, strict=True), style, color=colour, marker="o", markersize=size,
                markerfacecolor=fill, linewidth=1.6, zorder=3,
            )  # fmt: skip


def _without_labels(record: RunRecord) -> bool:
    return bool(record.config.get("pretrain", {}).get("kind") == "autoencoder")


def _test_score(axis: Any, record: RunRecord, colour: str) -> None:
    if "accuracy" in record.scores:
        axis.axhline(
            100 * record.scores["accuracy"], color=colour, linestyle=":", linewidth=1.3, zorder=2
        )


def _label(name: str, record: RunRecord) -> str:
    if "accuracy" not in record.scores:
        return name
    return f"{name}: {100 * record.scores['accuracy']:.1f} % of {record.split} rows right"


def _bars(axis: Any, record: RunRecord, colour: str, shift: float, width: float) -> None:
    """A bar an epoch: the solver's seconds at the bottom, the rest, paler, on top."""
    both = placed(record.epochs, "pretrain") + placed(record.epochs, "train")
    places = [place + shift for place, _ in both]
    solver = [
        min(epoch["seconds"], epoch["solver"].get("solver_seconds", 0.0)) for _, epoch in both
    ]
    rest = [epoch["seconds"] - part for (_, epoch), part in zip(both, solver, strict=True)]
    axis.bar(places, solver, width, color=colour, zorder=3)
    axis.bar(places, rest, width, bottom=solver, color=colour, alpha=0.35, zorder=3)


def _finish(axis: Any, records: Mapping[str, RunRecord]) -> None:
    before = max((len(placed(record.epochs, "pretrain")) for record in records.values()), default=0)
    after = max((len(placed(record.epochs, "train")) for record in records.values()), default=1)
    axis.set_xlim(-before - 0.7 if before else 0.3, after + 0.7)
    axis.set_xlabel("epoch", color=INK)
    axis.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    axis.grid(alpha=0.25)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    if before:
        axis.axvspan(-before - 0.7, 0, color=_SHADE, zorder=0)
        axis.axvline(0, color=QUIET, linewidth=0.8, zorder=1)
        axis.text(
            (-before - 0.7) / 2, 1.01, "pre-training", fontsize=8, color=QUIET, ha="center",
            va="bottom", transform=axis.get_xaxis_transform(),
        )  # fmt: skip
