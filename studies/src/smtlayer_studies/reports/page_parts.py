"""This file makes the parts of a report that are tables and numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

from smtlayer.errors import ConfigError
from smtlayer_studies.reports.confusion import Confusion, right_share
from smtlayer_studies.reports.html import Html, join, tag
from smtlayer_studies.reports.paper import DEVICE, EXPERIMENTS, QUOTED_FROM, TITLES
from smtlayer_studies.reports.result_tables import DASH
from smtlayer_studies.reports.results import left_out
from smtlayer_studies.reports.run_summary import RunSummary
from smtlayer_studies.runs import RunConfig, RunRecord, load_experiment
from smtlayer_studies.runs.run_folder import RunFolder

_SCORES = {
    "accuracy": "rows right",
    "unseen_accuracy": "right of combinations that training does not show",
    "output_symbols": "single outputs right",
    "representation": "symbols that the network reads right",
    "overruled": "rows that the solver overruled",
    "unanswered": "rows that the solver gave up on: raise layer.timeout_ms",
}
_SHORT = {
    "accuracy": "rows right", "unseen_accuracy": "not shown", "representation": "symbols read",
    "overruled": "overruled",
}  # fmt: skip


def tiles(run: RunFolder) -> Html:
    """The scores of a run in large figures."""
    record = run.record
    if record is None:
        return _unfinished(run)
    shown = [name for name in _SCORES if name in record.scores]
    if record.scores.get("output_symbols") == record.scores.get("accuracy"):
        shown.remove("output_symbols")  # one output: the same
    parts = [
        _tile(percent(record.scores[name]), f"{record.split} {_SCORES[name]}"
              if name == "accuracy" else _SCORES[name], main=name == "accuracy")
        for name in shown
    ]  # fmt: skip
    parts.append(_tile(f"{record.epoch_seconds:.3g} s", "an epoch of training"))
    if (share := solver_share(run)) is not None:
        parts.append(_tile(percent(share), "of the time in the solver"))
    return tag("ul", *parts, class_="tiles")


def _tile(number: str, what: str, main: bool = False) -> Html:
    inside = tag("span", number, class_="number"), tag("span", what, class_="what")
    return tag("li", *inside, class_="main" if main else None)


def _unfinished(run: RunFolder) -> Html:
    done = sum(epoch["phase"] == "train" for epoch in run.epochs)
    return tag(
        "p", "This run is not finished: it has no record, and so no scores. "
        f"{done} of {run.config.train.epochs} epochs are done. "
        "The command that began it goes on with it.", class_="warn",
    )  # fmt: skip


def solver_share(run: RunFolder) -> float | None:
    """The solver's part of the seconds of training; None without a layer."""
    epochs = [epoch for epoch in run.epochs if epoch["solver"]]
    seconds = sum(epoch["seconds"] for epoch in epochs)
    return sum(e["solver"]["solver_seconds"] for e in epochs) / seconds if seconds else None


def comparison(runs: Sequence[RunSummary]) -> Html:
    """The scores of all runs side by side, with mean and spread where seeds are several."""
    heads = ["run", *_SHORT.values(), "s per epoch", "in the solver"]
    lines = [tag("tr", *map(_th, heads[:1]), *map(_th, heads[1:]))]
    body = []
    for group in _groups(runs):
        body += [_line(run) for run in group]
        if len(_records(group)) > 1:
            body.append(_mean(group))
    table = tag("table", tag("thead", *lines), tag("tbody", *body), class_="full")
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label="Scores")


def _th(text: str) -> Html:
    return tag("th", text, scope="col")


def _groups(runs: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """Runs that differ in nothing but their seed."""
    groups: dict[str, list[RunSummary]] = {}
    for run in runs:
        same = {name: value for name, value in run.folder.options.items() if name != "seed"}
        groups.setdefault(json.dumps(same, sort_keys=True, default=str), []).append(run)
    return list(groups.values())


def _records(runs: Sequence[RunSummary]) -> list[RunRecord]:
    return [run.folder.record for run in runs if run.folder.record is not None]


def _line(run: RunSummary) -> Html:
    record, share = run.folder.record, solver_share(run.folder)
    name = tag("th", tag("a", run.label, href=f"#{anchor(run)}"), scope="row")
    if record is None:
        return tag(
            "tr", name, tag("td", "not finished", colspan=len(_SHORT) + 2, class_="note left")
        )
    cells = [percent(record.scores.get(score)) for score in _SHORT]
    cells += [f"{record.epoch_seconds:.3g}", percent(share)]
    return tag("tr", name, *(tag("td", cell) for cell in cells))


def _mean(group: Sequence[RunSummary]) -> Html:
    records = _records(group)
    cells = [
        spread([record.scores[score] for record in records if score in record.scores])
        for score in _SHORT
    ]
    cells.append(f"{fmean(record.epoch_seconds for record in records):.3g}")
    name = f"{records[0].method}: mean ± sd of {len(records)}"
    return tag("tr", tag("th", name, scope="row"), *(tag("td", cell) for cell in cells),
               tag("td", ""), class_="mean")  # fmt: skip


def against_paper(runs: Sequence[RunSummary]) -> Html:
    """Our runs beside what the paper reports, a table for each row of its table."""
    parts: list[Html] = []
    for row in dict.fromkeys(run.folder.config.experiment for run in runs):
        mine = [run for run in runs if run.folder.config.experiment == row]
        if row not in EXPERIMENTS:
            parts.append(tag("p", f"{row} is not a row of the paper's table.", class_="note"))
            continue
        parts += (
            [tag("h3", EXPERIMENTS[row].title)]
            if len({r.folder.config.experiment for r in runs}) > 1
            else []
        )
        parts += [_paper_table(row, mine), *_cautions(mine)]
    told = (
        f"† {QUOTED_FROM} Its machine: {DEVICE}. Of seconds, only ratios on one machine can be "
        "compared."
    )
    return join(*parts, tag("p", told, class_="note"))


def _paper_table(row: str, runs: Sequence[RunSummary]) -> Html:
    quoted = EXPERIMENTS[row].methods
    lines = [
        _paper_line(f"{TITLES[name]} †", quoted[name].accuracy, f"{quoted[name].accuracy:.1f}",
                    f"{quoted[name].seconds:.3g}", ours=False)
        for name in TITLES if name in quoted
    ]  # fmt: skip
    groups = _groups([run for run in runs if run.folder.record is not None])
    methods = [group[0].folder.config.method for group in groups]
    for method, group in zip(methods, groups, strict=True):
        records = _records(group)
        scores = [record.scores["accuracy"] for record in records]
        seconds = fmean(record.epoch_seconds for record in records)
        name = method if methods.count(method) == 1 else group[0].label
        kind = name if group[0].folder.config.layer is None else f"SMTLayer, {name}"
        seeds = f", {len(scores)} seeds" if len(scores) > 1 else ""
        lines.append(_paper_line(f"ours: {kind}{seeds}", 100 * fmean(scores),
                                 spread(scores, ""), f"{seconds:.3g}", ours=True))  # fmt: skip
    heads = tag("tr", _th("method"), _th("% right"), tag("td", ""), _th("s per epoch"))
    return tag("table", tag("thead", heads), tag("tbody", *lines), class_="full")


def _paper_line(name: str, share: float, shown: str, seconds: str, *, ours: bool) -> Html:
    bar = tag("span", tag("i", style=f"width:{share:.1f}%"))
    return tag(
        "tr", tag("th", name, scope="row"), tag("td", shown),
        tag("td", bar, class_="meter", aria_hidden="true"), tag("td", seconds),
        class_="ours" if ours else None,
    )  # fmt: skip


def _cautions(runs: Sequence[RunSummary]) -> list[Html]:
    """Why ours cannot be set against the paper's."""
    done = [run.folder for run in runs if run.folder.record is not None]
    reasons = dict.fromkeys(left_out(asdict(record)) for record in _records(runs))
    if not any(reasons):
        reasons = dict.fromkeys(reason for folder in done for reason in _cut_short(folder.config))
    told = ", ".join(reason for reason in reasons if reason)
    if not told:
        return []
    return [tag("p", f"Ours cannot be set against the paper's: {told}.", class_="warn")]


def _cut_short(config: RunConfig) -> list[str]:
    """In what a run does less than its experiment has it."""
    try:
        usual = load_experiment(config.experiment).config(config.method).train
    except ConfigError:  # a method of somebody's own
        return []
    names = {"epochs": "epochs", "rows": "training rows", "test_rows": "test rows"}
    pairs = {
        what: (getattr(config.train, name), getattr(usual, name)) for name, what in names.items()
    }
    return [f"{mine:,} of {all_:,} {what}" for what, (mine, all_) in pairs.items() if mine < all_]


_FORWARD = {
    "sat": ("k-good", "fit the theory"),
    "unsat": ("k-bad", "contradict it"),
    "unknown": ("k-none", "no answer in time"),
}
_BACK = {
    "correct": ("k-good", "were right already"),
    "blamed": ("k-work", "were blamed for a wrong answer"),
    "contradicted": ("k-bad", "have a label that no input allows"),
    "undecided": ("k-none", "no answer in time"),
    "without_gradient": ("k-odd", "had no gradient"),
}
_OTHERS = {
    "unproved": "repairs found in time that may not be the cheapest",
    "cache_hits": "answers from memory",
}


def solver_statistics(run: RunFolder, level: int) -> Html:
    """What the layer counted in training, in bars and, by epoch, in a table.

    Args:
        run: Whose training.
        level: Of the headings.
    """
    epochs = [epoch for epoch in run.epochs if epoch["phase"] == "train" and epoch["solver"]]
    if not epochs:
        return tag("p", "No epoch with the layer is done yet.", class_="note")
    total = {name: sum(e["solver"].get(name, 0) for e in epochs) for name in epochs[-1]["solver"]}
    others = [f"{total[name]:,.0f} {said}" for name, said in _OTHERS.items() if total.get(name)]
    seconds, share = total["solver_seconds"], solver_share(run)
    told = f"{total['rows']:,.0f} rows in {len(epochs)} epochs; the solver took {seconds:.3g} s"
    told += f", {percent(share)} of the time."
    return join(
        tag("p", told),
        _bars(level, "Going forward, readings that", total, _FORWARD),
        _bars(level, "Going back, rows that", total, _BACK),
        tag("p", f"Also: {', '.join(others)}.", class_="note") if others else None,
        _by_epoch(epochs),
    )


def _bars(
    level: int, title: str, total: Mapping[str, float], kinds: Mapping[str, tuple[str, str]]
) -> Html:
    every = sum(total.get(name, 0) for name in kinds) or 1
    found = [(kind, said, total[name]) for name, (kind, said) in kinds.items() if total.get(name)]
    bars = [tag("i", class_=kind, style=f"width:{100 * n / every:.2f}%") for kind, _, n in found]
    legend = [
        tag("li", tag("span", class_=f"swatch {kind}", aria_hidden="true"),
            f"{said}: {n:,.0f} ({percent(n / every)})")
        for kind, said, n in found
    ]  # fmt: skip
    return join(
        tag(f"h{level}", f"{title} …"), tag("div", *bars, class_="shares", aria_hidden="true"),
        tag("ul", *legend, class_="legend"),
    )  # fmt: skip


def _by_epoch(epochs: Sequence[Mapping[str, Any]]) -> Html:
    names = [*_FORWARD, *_BACK, *_OTHERS]
    heads = tag("tr", _th("epoch"), *(_th(name.replace("_", " ")) for name in names), _th("s"))
    lines = [
        tag("tr", tag("th", str(number + 1), scope="row"),
            *(tag("td", f"{epoch['solver'].get(name, 0):,.0f}") for name in names),
            tag("td", f"{epoch['solver']['solver_seconds']:.3g}"))
        for number, epoch in enumerate(epochs)
    ]  # fmt: skip
    table = tag("table", tag("thead", heads), tag("tbody", *lines))
    return tag(
        "details", tag("summary", "By epoch"),
        tag("div", table, class_="wide", tabindex=0, role="region", aria_label="Counts by epoch"),
    )  # fmt: skip


def heat_maps(told: Confusion) -> Html:
    """What symbols were read as, and taken for, in two tables side by side."""
    return tag(
        "div", _heat(told, told.read, "As the network reads"),
        _heat(told, told.taken, "After the solver"), class_="pair",
    )  # fmt: skip


def _heat(told: Confusion, counts: Sequence[Sequence[int]], title: str) -> Html:
    other = any(row[-1] for row in (*told.read, *told.taken))
    heads = [str(value) for value in told.truths] + (["other"] if other else [])
    top = tag("tr", tag("td", ""), *map(_th, heads))
    lines = []
    for i, (value, row) in enumerate(zip(told.truths, counts, strict=True)):
        shown = row if other else row[:-1]
        cells = [_heat_cell(n, sum(row), right=i == j) for j, n in enumerate(shown)]
        lines.append(tag("tr", tag("th", str(value), scope="row"), *cells))
    said = f"{title}: {percent(right_share(counts))} right"
    words = all(isinstance(value, str) for value in told.truths)
    return tag(
        "table", tag("caption", said), tag("thead", top), tag("tbody", *lines),
        class_="heat words" if words else "heat",
    )  # fmt: skip


def _heat_cell(count: int, total: int, *, right: bool) -> Html:
    if not count:
        return tag("td", "·", class_="zero")
    share = count / total
    colour = "37 99 235" if right else "220 38 38"
    strength = 0.7 * share if right else min(0.7, 0.08 + share)
    style = f"background:rgb({colour} / {strength:.2f})"
    return tag("td", str(count), style=style, title=percent(share))


def anchor(run: RunSummary) -> str:
    """Where a run is on the page."""
    return "run-" + "".join(c if c.isalnum() else "-" for c in run.label.lower())


def percent(share: float | None) -> str:
    """For people.

    Examples:
        >>> percent(0.538), percent(1.0)
        ('53.8 %', '100 %')
    """
    if share is None:
        return DASH
    return f"{100 * share:.0f} %" if share in (0, 1) else f"{100 * share:.1f} %"


def spread(shares: Sequence[float], unit: str = " %") -> str:
    """Mean and sample standard deviation, in per cent.

    Examples:
        >>> spread([0.5, 0.7]), spread([0.5], "")
        ('60.0 ± 14.1 %', '50.0')
    """
    if not shares:
        return DASH
    sd = f" ± {100 * stdev(shares):.1f}" if len(shares) > 1 else ""
    return f"{100 * fmean(shares):.1f}{sd}{unit}"
