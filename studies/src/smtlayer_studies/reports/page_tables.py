"""Numbers and tables of the report page, as plain data for its template."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from statistics import fmean, stdev
from typing import Any

from smtlayer.errors import ConfigError
from smtlayer.explain.text import Statement
from smtlayer_studies.reports.example_report import ExampleReport
from smtlayer_studies.reports.paper import EXPERIMENTS, TITLES
from smtlayer_studies.reports.result_tables import DASH
from smtlayer_studies.reports.results import left_out
from smtlayer_studies.reports.run_summary import RunSummary
from smtlayer_studies.runs import RunConfig, RunFolder, RunRecord, load_experiment

_SCORES = {
    "accuracy": "accuracy",
    "unseen_accuracy": "accuracy on combinations that training does not show",
    "seen_accuracy": "accuracy on combinations that training shows",
    "output_symbols": "of single outputs right",
    "representation": "of symbols read right by the network",
    "symbols": "of symbols whose most likely value is right",
    "seen_symbols": "of these in combinations that training shows",
    "overruled": "of examples with an input that the solver overruled",
    "unanswered": "of examples on which the solver gave up: raise layer.timeout_ms",
}
COMPARED = {
    "accuracy": "accuracy", "unseen_accuracy": "not shown in training",
    "representation": "symbols read", "overruled": "overruled",
}  # fmt: skip
FORWARD = {
    "sat": ("k-good", "satisfy the theory"),
    "unsat": ("k-bad", "contradict the theory"),
    "unknown": ("k-none", "are not answered in time"),
}
BACKWARD = {
    "correct": ("k-good", "already have the right output"),
    "blamed": ("k-work", "have inputs that are blamed for a wrong output"),
    "contradicted": ("k-bad", "have a label that no input allows"),
    "undecided": ("k-none", "are not answered in time"),
    "without_gradient": ("k-odd", "have no gradient"),
}
OTHERS = {
    "unproved": "repairs found in time that may not be the cheapest",
    "cache_hits": "answers from the cache",
}
_LONG = 450  # characters of an explanation from which on it is partly folded


@dataclass(frozen=True)
class PaperTable:
    """Our runs of an experiment beside the methods of the paper.

    Attributes:
        title: Of the experiment.
        lines: Name, accuracy in per cent, accuracy as text, seconds per epoch, whether it is ours.
            None if the paper does not have the experiment.
        caution: Why ours cannot be compared with the paper's, if so.
    """

    title: str
    lines: list[tuple[str, float, str, str, bool]] | None
    caution: str = ""


def percent(share: float | None) -> str:
    """A share as text, or a dash if there is none.

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


def tiles(folder: RunFolder) -> list[tuple[str, str]]:
    """The scores of a finished run, each with its meaning; accuracy first."""
    record = folder.record
    assert record is not None
    shown = [name for name in _SCORES if name in record.scores]
    if record.scores.get("output_symbols") == record.scores.get("accuracy"):
        shown.remove("output_symbols")  # one output: the same
    found = [(percent(record.scores[name]), _SCORES[name]) for name in shown]
    found[0] = (found[0][0], f"{record.split} accuracy")
    found.append((f"{record.epoch_seconds:.3g} s", "per epoch of training"))
    share = solver_share(folder)
    return found if share is None else [*found, (percent(share), "of the time in the solver")]


def solver_share(folder: RunFolder) -> float | None:
    """The solver's share of the seconds of training; None without a layer."""
    epochs = [epoch for epoch in folder.epochs if epoch["solver"]]
    seconds = sum(epoch["seconds"] for epoch in epochs)
    return sum(e["solver"]["solver_seconds"] for e in epochs) / seconds if seconds else None


def groups(runs: Sequence[RunSummary]) -> list[list[RunSummary]]:
    """Runs in groups that differ in nothing but their seed."""
    found: dict[str, list[RunSummary]] = {}
    for run in runs:
        same = {name: value for name, value in run.folder.options.items() if name != "seed"}
        found.setdefault(json.dumps(same, sort_keys=True, default=str), []).append(run)
    return list(found.values())


def score_cells(folder: RunFolder) -> list[str]:
    """The scores of a finished run in the columns of the comparison."""
    assert folder.record is not None
    scores = [percent(folder.record.scores.get(name)) for name in COMPARED]
    return [*scores, f"{folder.record.epoch_seconds:.3g}", percent(solver_share(folder))]


def mean_cells(group: Sequence[RunSummary]) -> list[str]:
    """Mean and spread over the runs of a group, after a name; none for a single run."""
    found = _records(group)
    if len(found) < 2:
        return []
    scores = [spread([r.scores[name] for r in found if name in r.scores]) for name in COMPARED]
    seconds = f"{fmean(record.epoch_seconds for record in found):.3g}"
    return [f"{found[0].method}: mean ± sd of {len(found)}", *scores, seconds, ""]


def paper_tables(runs: Sequence[RunSummary]) -> list[PaperTable]:
    """One table per experiment."""
    found = []
    for experiment in dict.fromkeys(run.folder.config.experiment for run in runs):
        if experiment in EXPERIMENTS:
            same = [run for run in runs if run.folder.config.experiment == experiment]
            done = [run for run in same if run.folder.record is not None]
            lines = [*_quoted_lines(experiment), *_our_lines(groups(done))]
            found.append(PaperTable(EXPERIMENTS[experiment].title, lines, _caution(done)))
        else:
            found.append(PaperTable(experiment, None))
    return found


def _quoted_lines(experiment: str) -> list[tuple[str, float, str, str, bool]]:
    quoted = {name: EXPERIMENTS[experiment].methods.get(name) for name in TITLES}
    return [
        (f"{TITLES[name]} †", one.accuracy, f"{one.accuracy:.1f}", f"{one.seconds:.3g}", False)
        for name, one in quoted.items()
        if one is not None
    ]


def _our_lines(found: list[list[RunSummary]]) -> list[tuple[str, float, str, str, bool]]:
    methods, lines = [group[0].folder.config.method for group in found], []
    for method, group in zip(methods, found, strict=True):
        scores = [record.scores["accuracy"] for record in _records(group)]
        seconds = fmean(record.epoch_seconds for record in _records(group))
        name = method if methods.count(method) == 1 else group[0].label
        kind = name if group[0].folder.config.layer is None else f"SMTLayer, {name}"
        seeds = f", {len(scores)} seeds" if len(scores) > 1 else ""
        ours = 100 * fmean(scores), spread(scores, ""), f"{seconds:.3g}"
        lines.append((f"ours: {kind}{seeds}", *ours, True))
    return lines


def _records(runs: Sequence[RunSummary]) -> list[RunRecord]:
    return [run.folder.record for run in runs if run.folder.record is not None]


def _caution(done: Sequence[RunSummary]) -> str:
    reasons = dict.fromkeys(left_out(asdict(record)) for record in _records(done))
    if not any(reasons):
        reasons = dict.fromkeys(why for run in done for why in _cut_short(run.folder.config))
    return ", ".join(reason for reason in reasons if reason)


def _cut_short(config: RunConfig) -> list[str]:
    """What a run does less of than its experiment."""
    try:
        usual = load_experiment(config.experiment).config(config.method).train
    except ConfigError:  # a user's own method
        return []
    names = {"epochs": "epochs", "rows": "training examples", "test_rows": "test examples"}
    pairs = {
        what: (getattr(config.train, name), getattr(usual, name)) for name, what in names.items()
    }
    return [f"{mine:,} of {all_:,} {what}" for what, (mine, all_) in pairs.items() if mine < all_]


def solver_epochs(folder: RunFolder) -> list[Mapping[str, Any]]:
    """The layer's counts in each epoch of training."""
    epochs = (epoch for epoch in folder.epochs if epoch["phase"] == "train")
    return [epoch["solver"] for epoch in epochs if epoch["solver"]]


def totals(epochs: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The sums of the layer's counts."""
    return {name: sum(epoch.get(name, 0) for epoch in epochs) for name in epochs[-1]}


def shares(
    total: Mapping[str, float], kinds: Mapping[str, tuple[str, str]]
) -> list[tuple[str, str, float, float]]:
    """Class, meaning, count and share of each kind of example that occurs."""
    every = sum(total.get(name, 0) for name in kinds) or 1
    return [
        (style, text, total[name], total[name] / every)
        for name, (style, text) in kinds.items()
        if total.get(name)
    ]


def configuration(folder: RunFolder) -> dict[str, Mapping[str, Any]]:
    """All options of a run, and where it ran, in groups."""
    options, record = folder.options, folder.record
    plain = {name: value for name, value in options.items() if not isinstance(value, Mapping)}
    found = {"run": plain, **{k: table for k, table in options.items() if k not in plain}}
    if record is not None:
        where = record.machine | ({"commit": record.commit} if record.commit else {})
        found |= {"versions": record.versions, "machine": where}
    return found


def differences(runs: Sequence[RunSummary]) -> dict[str, list[str]]:
    """The options that are not the same in all runs that have them, one value per run."""
    flat = [_flat(run.folder.options) for run in runs]
    found = {}
    for name in dict.fromkeys(name for options in flat for name in options):
        values = [option_text(options[name]) if name in options else DASH for options in flat]
        if len(set(values) - {DASH}) > 1:
            found[name] = values
    return found


def _flat(options: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in options.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = value
    return found if above else {"layer": "SMTLayer" if "layer" in options else "none"} | found


def option_text(value: Any) -> str:
    """The value of an option as its file has it.

    Examples:
        >>> option_text(True), option_text(0.001), option_text("core")
        ('true', '0.001', 'core')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def explanation(one: ExampleReport) -> tuple[list[Statement], list[Statement]]:
    """The statements on an example that are shown at once, and those that are folded."""
    found = one.statements
    if sum(len(" ".join(lines)) for _, lines in found) <= _LONG:
        return found, []
    short = [part for part in found if part[0] == "overruled"]
    return short, [part for part in found if part not in short]


def paragraphs(lines: Sequence[str]) -> list[tuple[bool, list[str]]]:
    """Lines in runs of list items, which begin with a dash, and of other lines."""
    parts = groupby(lines, key=lambda line: line.startswith("- "))
    return [(is_list, [line.removeprefix("- ") for line in some]) for is_list, some in parts]
