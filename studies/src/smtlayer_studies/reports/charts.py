"""This file draws curves as SVG that a page holds: its colours are those of the page's style."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smtlayer_studies.reports.curves import placed
from smtlayer_studies.reports.html import Html, join, tag

_WIDTH, _HEIGHT = 440, 270
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 10, 12, 40  # margins
_MOST_DOTS = 40
Epochs = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Series:
    """A training to draw.

    Attributes:
        name: For the legend.
        epochs: As a record holds them.
        score: The share of rows that came out right in the end, if that is known.
        labelled: Whether pre-training had labels, so that its accuracy means something.
    """

    name: str
    epochs: Epochs
    score: float | None
    labelled: bool = True


@dataclass(frozen=True)
class _Scale:
    """Where numbers lie in a chart."""

    across: tuple[float, float]
    up: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.across
        return round(_LEFT + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        low, high = self.up
        room = _HEIGHT - _TOP - _BOTTOM
        return round(_TOP + room * (1 - (value - low) / (high - low)), 1)


def curves(series: Sequence[Series]) -> Html:
    """Accuracy, loss and seconds by epoch, side by side where there is room."""
    shown = [one for one in series if one.epochs]
    if not shown:
        return tag("p", "No epoch is done yet.", class_="note")
    charts = tag("div", _accuracy(shown), _loss(shown), _seconds(shown), class_="charts")
    return join(charts, _legend(shown))


def _accuracy(series: Sequence[Series]) -> Html:
    scale = _Scale(_across(series), (0, 100))
    lines = [
        part
        for number, one in enumerate(series)
        for part in (
            *_line(scale, one, number, "accuracy", 100, "{:.1f} % right"),
            *_level(scale, one, number),
        )
    ]
    told = "; ".join(f"{one.name}: {_from_to(one, 'accuracy', 100, '{:.1f} %')}" for one in series)
    return _figure("Training rows right, %", scale, lines, told, _before(series))


def _loss(series: Sequence[Series]) -> Html:
    losses = (float(epoch["loss"]) for one in series for epoch in one.epochs)
    scale = _Scale(_across(series), (0, _ceiling(losses)))
    lines = [
        part
        for number, one in enumerate(series)
        for part in _line(scale, one, number, "loss", 1, "loss {:.4g}")
    ]
    told = "; ".join(f"{one.name}: {_from_to(one, 'loss', 1, '{:.3g}')}" for one in series)
    return _figure("Loss", scale, lines, told, _before(series))


def _seconds(series: Sequence[Series]) -> Html:
    seconds = (float(epoch["seconds"]) for one in series for epoch in one.epochs)
    scale = _Scale(_across(series), (0, _ceiling(seconds)))
    width = 0.8 / len(series)
    bars = [
        part
        for number, one in enumerate(series)
        for phase in ("pretrain", "train")
        for place, epoch in placed(one.epochs, phase)
        for part in _bar(scale, one, number, place - 0.4 + number * width, width, epoch)
    ]
    told = "; ".join(f"{one.name}: {_from_to(one, 'seconds', 1, '{:.3g} s')}" for one in series)
    return _figure("Seconds an epoch, solver darker", scale, bars, told, _before(series))


def _line(
    scale: _Scale, one: Series, number: int, what: str, times: float, form: str
) -> list[Html]:
    parts = []
    for phase in ("pretrain", "train"):
        if what == "accuracy" and phase == "pretrain" and not one.labelled:
            continue
        points = [(place, times * float(epoch[what])) for place, epoch in placed(one.epochs, phase)]
        points = [(place, value) for place, value in points if math.isfinite(value)]
        if len(points) > 1:
            way = " ".join(f"{scale.x(place)},{scale.y(value)}" for place, value in points)
            kind = f"line s{number % 6}" + (" dashed" if phase == "pretrain" else "")
            parts.append(tag("polyline", points=way, class_=kind))
        if len(points) <= _MOST_DOTS:
            for place, value in points:
                said = f"{one.name}, {_place(place)}: {form.format(value)}"
                at = {"cx": scale.x(place), "cy": scale.y(value), "r": 3.5}
                parts.append(tag("g", tag("title", said), tag("circle", **at), class_=_s(number)))
    return parts


def _level(scale: _Scale, one: Series, number: int) -> list[Html]:
    """The score after training, across the chart."""
    if one.score is None:
        return []
    height = scale.y(100 * one.score)
    said = f"{one.name}, after training: {100 * one.score:.1f} % right"
    line = tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=height, y2=height, class_="line dotted")
    return [tag("g", tag("title", said), line, class_=_s(number))]


def _bar(
    scale: _Scale, one: Series, number: int, left: float, width: float, epoch: Mapping[str, Any]
) -> list[Html]:
    whole = float(epoch["seconds"])
    solver = min(whole, float(epoch["solver"].get("solver_seconds", 0.0)))
    x, right = scale.x(left), scale.x(left + width)
    said = f"{one.name}: {whole:.3g} s" + (f", {solver:.2g} s of it solver" if solver else "")
    rects = [
        tag("rect", x=x, y=scale.y(top), width=max(0.5, round(right - x - 1, 1)),
            height=round(scale.y(0) - scale.y(top), 1), class_=kind)
        for top, kind in ((whole, "pale"), (solver, "strong"))
        if top
    ]  # fmt: skip
    return [tag("g", tag("title", said), *rects, class_=f"bar {_s(number)}")]


def _figure(title: str, scale: _Scale, parts: Sequence[Html], told: str, before: int) -> Html:
    axes = [*_shade(scale, before), *_grid(scale), *_epoch_numbers(scale)]
    drawn = tag(
        "svg", *axes, *parts, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img",
        aria_label=f"{title}, by epoch. {told}.",
    )  # fmt: skip
    return tag("figure", tag("figcaption", title), drawn, class_="chart")


def _grid(scale: _Scale) -> list[Html]:
    parts = []
    for tick in _ticks(scale.up[1]):
        height = scale.y(tick)
        parts.append(tag("line", x1=_LEFT, x2=_WIDTH - _RIGHT, y1=height, y2=height, class_="grid"))
        parts.append(_label(_LEFT - 7, height + 4, f"{tick:g}", "end"))
    return parts


def _epoch_numbers(scale: _Scale) -> list[Html]:
    first, last = math.ceil(scale.across[0]), math.floor(scale.across[1])
    step = max(1, math.ceil((last - first) / 9))
    places = [place for place in range(first, last + 1) if place and (place - 1) % step == 0]
    numbers = [_label(scale.x(place), _HEIGHT - 22, str(place), "middle") for place in places]
    return [*numbers, _label((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 5, "epoch", "middle")]


def _shade(scale: _Scale, before: int) -> list[Html]:
    """The part of the chart that is pre-training."""
    if not before:
        return []
    width = round(scale.x(0) - _LEFT, 1)
    room = tag("rect", x=_LEFT, y=_TOP, width=width, height=scale.y(0) - _TOP, class_="before")
    return [room, _label(_LEFT + 4, _TOP + 12, "pre-training", "start")]


def _label(x: float, y: float, said: str, anchor: str) -> Html:
    return tag("text", said, x=x, y=y, text_anchor=anchor)


def _legend(series: Sequence[Series]) -> Html | None:
    names = [
        tag("li", tag("span", class_=f"swatch {_s(number)}", aria_hidden="true"), one.name)
        for number, one in enumerate(series)
    ]
    styles = [
        tag("li", tag("span", class_=f"stroke {kind}", aria_hidden="true"), said)
        for kind, said, shown in (
            ("dotted", "the score after training", any(one.score is not None for one in series)),
            ("dashed", "pre-training", _before(series) > 0),
        )
        if shown
    ]
    return tag("ul", *names, *styles, class_="legend")


def _across(series: Sequence[Series]) -> tuple[float, float]:
    before = _before(series)
    after = max(len(placed(one.epochs, "train")) for one in series)
    return (-before - 0.6 if before else 0.4), max(after, 1) + 0.6


def _before(series: Sequence[Series]) -> int:
    return max((len(placed(one.epochs, "pretrain")) for one in series), default=0)


def _from_to(one: Series, what: str, times: float, form: str) -> str:
    """The first and the last number of training, for those who do not see the chart."""
    found = [times * float(epoch[what]) for _, epoch in placed(one.epochs, "train")]
    if not found:
        return "no training yet"
    ends = [form.format(value) for value in (found[0], found[-1])]
    return ends[0] if len(found) == 1 else f"from {ends[0]} to {ends[1]}"


def _ticks(highest: float) -> list[float]:
    """About five round numbers from 0 to the highest.

    Examples:
        >>> _ticks(100), _ticks(0.7)
        ([0.0, 20.0, 40.0, 60.0, 80.0, 100.0], [0.0, 0.2, 0.4, 0.6])
    """
    step = _step(highest)
    return [round(i * step, 10) for i in range(int(highest / step + 1e-9) + 1)]


def _step(highest: float) -> float:
    """1, 2 or 5 times a power of ten, so that six steps are enough."""
    power: float = 10.0 ** math.floor(math.log10(highest / 5))
    return next(n * power for n in (1, 2, 5, 10) if highest / (n * power) < 6 + 1e-6)


def _ceiling(numbers: Iterable[float]) -> float:
    """A round number at or above all of these, and above zero."""
    highest = max((number for number in numbers if math.isfinite(number)), default=0.0)
    if highest <= 0:
        return 1.0
    step = _step(highest)
    return round(math.ceil(highest / step - 1e-9) * step, 10)


def _place(place: int) -> str:
    return f"epoch {place}" if place > 0 else f"pre-training epoch {place}"


def _s(number: int) -> str:
    return f"s{number % 6}"
