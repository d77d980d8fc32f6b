"""Tables of results, ours beside the paper's, as text that any format can render."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from smtlayer_studies.reports.differences import LIKELIHOOD, NOTES
from smtlayer_studies.reports.paper import (
    DEVICE,
    EXPERIMENTS,
    QUOTED_FROM,
    TITLES,
    experiment_title,
)
from smtlayer_studies.reports.published import PUBLISHED, UNTUNED
from smtlayer_studies.reports.results import LEAST_EPOCHS, Result

DASH = "\N{EN DASH}"
QUOTED = "\N{DAGGER}"
TIMES = "\N{MULTIPLICATION SIGN}"
METHOD_TITLES = {
    "conventional": "conventional",
    "conventional-same-budget": "conventional, same budget",
    "paper": "ours, paper's recipe",
    "best": "ours",
    "one-rule": "ours, one rule",
    "portfolio": "ours, one rule, portfolio",
    "no-cooling": "ours, one rule, no cooling",
    "no-shaking": "ours, one rule, no shaking",
    "no-cores": "ours, one rule, no cores",
    "one-rule-split-1": "ours, one rule, split 1",
    "one-rule-split-6": "ours, one rule, split 6",
    "one-rule-split-9": "ours, one rule, split 9",
    "no-shift": "ours, no shifts",
    "untaught": "ours, no distillation",
    "own-network": "ours, own network",
    "as-printed": "ours, theory as printed",
    "default-split": "ours, default split only",
    "one-rule-row": "ours, one rule, one more sum",
    "one-rule-facts": "ours, one rule, 70 facts",
    "one-rule-labels": "ours, one rule, 70 labels",
}
_COMPARED, _OTHERS = ("conventional", "smtlayer"), ("satnet", "scallop")  # in the paper
_WITH_LAYER = ("best", "likelihood", "core", "marginal", "maxsmt")  # that differ in nothing else


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    is_text: bool = False  # else numbers, which are aligned at the right


@dataclass(frozen=True)
class TextTable:
    """A table without a format."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def method_title(method: str) -> str:
    """The title of a method in tables."""
    return METHOD_TITLES.get(method, f"ours, {method}")


def tables(results: Sequence[Result]) -> tuple[TextTable, ...]:
    """The tables of the paper's experiments, and that of others if there are results of them."""
    others = [result for result in results if result.experiment in PUBLISHED]
    if not others:
        return paper_tables(results)
    of_paper = [result for result in results if result.experiment not in PUBLISHED]
    return (*(paper_tables(of_paper) if of_paper else ()), published_table(others))


def without_published(results: Sequence[Result]) -> list[Result]:
    """The results that are compared with the SMTLayer paper."""
    return [result for result in results if result.experiment not in {**PUBLISHED, **UNTUNED}]


def published_table(results: Sequence[Result]) -> TextTable:
    """Accuracies of experiments that are not in the SMTLayer paper, beside those of other papers.

    Args:
        results: Results of experiments in `PUBLISHED`; others are left out.
    """
    ours = [result for result in results if result.experiment in PUBLISHED]
    columns = (
        Column("experiment", True), Column("method", True), Column("test accuracy, %"),
        Column("symbols read, %"), Column("training, or source", True),
    )  # fmt: skip
    count = _usual_count(ours)
    rows = tuple(_grouped(_published_rows(ours, count)))
    return TextTable("published", "Other problems", columns, rows, _published_notes(ours, count))


def likelihood_table(results: Sequence[Result]) -> TextTable:
    """Trainings by exact likelihood beside trainings by blame rules.

    Args:
        results: Results; experiments that lack one of the two kinds are left out.
    """
    shown = [result for result in results if result.method in _WITH_LAYER]
    kinds = {(r.experiment, LIKELIHOOD in r.differences) for r in shown}
    ours = [r for r in shown if {(r.experiment, True), (r.experiment, False)} <= kinds]
    count = _usual_count(ours)
    columns = (
        Column("experiment", True), Column("trained by", True), Column("test accuracy, %"),
        Column("symbols read, %"), Column("settings", True),
    )  # fmt: skip
    rows = (
        (
            experiment_title(r.experiment),
            "likelihood" if LIKELIHOOD in r.differences else "blame rule",
            _spread(r, count), _one_decimal(r.representation), _differences(r),
        )
        for r in ours
    )  # fmt: skip
    title = "Likelihood and blame rules"
    notes = (_seeds_note(ours, count), f"Data: {_data(ours)}.")
    return TextTable("likelihood", title, columns, tuple(_grouped(rows)), notes)


def paper_tables(results: Sequence[Result]) -> tuple[TextTable, TextTable]:
    """The table of accuracies and the table of times."""
    count = _usual_count(results)
    texts = [Column("experiment", True), Column("method", True)]
    accuracy = TextTable(
        "accuracy",
        "Test accuracy",
        (*texts, Column("test accuracy, %"), Column("symbols read, %"),
         Column("what differs from the paper", True)),
        tuple(_grouped(_accuracy_rows(results, count))),
        _accuracy_notes(results, count),
    )  # fmt: skip
    times = TextTable(
        "times",
        "Seconds per epoch",
        (*texts, Column("seconds"), Column("same, dense head"), Column("ratio"),
         Column("timed epochs")),
        tuple(_grouped(_time_rows(results))),
        _time_notes(results),
    )  # fmt: skip
    return accuracy, times


def summary(results: Sequence[Result]) -> TextTable:
    """One line per experiment, for the README."""
    count = _usual_count(results)
    rows = []
    for experiment in dict.fromkeys(result.experiment for result in results):
        ours = {result.method: result for result in results if result.experiment == experiment}
        dense, best = ours.get("conventional-same-budget"), ours.get("best")
        paper = EXPERIMENTS[experiment].accuracy("smtlayer") if experiment in EXPERIMENTS else None
        rows.append((
            experiment_title(experiment), _spread(dense, count), _one_decimal(paper),
            _spread(best, count), _spread(ours.get("one-rule"), count), _differences(best),
        ))  # fmt: skip
    columns = (
        Column("Test accuracy, %", True), Column("conventional, same budget"),
        Column(f"SMTLayer, paper {QUOTED}"), Column("ours"), Column("ours, one rule"),
        Column("what differs from the paper", True),
    )  # fmt: skip
    return TextTable("summary", "Test accuracy", columns, tuple(rows), ())


def _usual_count(results: Sequence[Result]) -> int:
    """The most frequent number of seeds."""
    usual = Counter(len(result.seeds) for result in results).most_common(1)
    return usual[0][0] if usual else 0


def _grouped(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """The rows, with the name of each experiment on its first row only."""
    before = None
    for name, *cells in rows:
        yield ("" if name == before else name, *cells)
        before = name


def _accuracy_rows(results: Sequence[Result], count: int) -> Iterator[tuple[str, ...]]:
    for result, quoted in _with_quoted(results):
        title = experiment_title(result.experiment)
        if quoted is not None:
            accuracy = EXPERIMENTS[result.experiment].accuracy(quoted)
            yield title, f"{_paper_title(quoted)}", _one_decimal(accuracy), DASH, DASH
        else:
            yield (
                title, method_title(result.method), _spread(result, count),
                _one_decimal(result.representation), _differences(result),
            )  # fmt: skip


def _published_rows(results: Sequence[Result], count: int) -> Iterator[tuple[str, ...]]:
    for experiment in dict.fromkeys(result.experiment for result in results):
        known = PUBLISHED[experiment]
        for quoted in known.methods:
            accuracy = _one_decimal(quoted.accuracy)
            yield known.title, f"{quoted.method} {QUOTED}", accuracy, DASH, quoted.source
        for result in results:
            if result.experiment == experiment:
                yield (
                    known.title, method_title(result.method), _spread(result, count),
                    _one_decimal(result.representation), _differences(result),
                )  # fmt: skip


def _time_rows(results: Sequence[Result]) -> Iterator[tuple[str, ...]]:
    for result, quoted in _with_quoted(results):
        title = experiment_title(result.experiment)
        if quoted not in (None, "conventional"):
            paper = EXPERIMENTS[result.experiment].methods
            seconds, dense = (paper[name].seconds for name in (quoted, "conventional"))
            numbers = (_seconds(seconds), _seconds(dense), _ratio(seconds / dense))
            yield title, _paper_title(quoted), *numbers, DASH
        elif quoted is None and result.epoch_ratio is not None:
            ratio = _ratio(result.epoch_ratio, result.epoch_ratio_sd)
            numbers = (_seconds(result.epoch_seconds), _seconds(result.conventional_seconds), ratio)
            yield title, method_title(result.method), *numbers, str(result.timed_epochs)


def _with_quoted(results: Sequence[Result]) -> Iterator[tuple[Result, str | None]]:
    """Results and methods quoted from the paper, each next to what it is compared with."""
    for experiment in dict.fromkeys(result.experiment for result in results):
        ours = [result for result in results if result.experiment == experiment]
        known = EXPERIMENTS[experiment].methods if experiment in EXPERIMENTS else {}
        left = [name for name in _COMPARED if name in known]
        for result in ours:
            quoted = _COMPARED[not result.method.startswith(_COMPARED[0])]
            if quoted in left:
                left.remove(quoted)
                yield result, quoted
            yield result, None
        for quoted in (*left, *(name for name in _OTHERS if name in known)):
            yield ours[0], quoted


def _paper_title(method: str) -> str:
    return f"{TITLES[method]}, paper {QUOTED}"


def _differences(result: Result | None) -> str:
    return "; ".join(result.differences) if result and result.differences else DASH


def _one_decimal(number: float | None) -> str:
    return DASH if number is None else f"{number:.1f}"


def _spread(result: Result | None, count: int) -> str:
    if result is None:
        return DASH
    text = f"{result.mean:.1f}" + ("" if result.sd is None else f" ± {result.sd:.1f}")
    return text if len(result.seeds) == count else f"{text} ({len(result.seeds)})"


def _seconds(number: float | None) -> str:
    if number is None:
        return DASH
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def _ratio(number: float, sd: float | None = None) -> str:
    spread = "" if sd is None else f" ± {sd:.2f}"
    return f"{number:.1f} {TIMES}" if number >= 10 else f"{number:.2f}{spread} {TIMES}"


def _accuracy_notes(results: Sequence[Result], count: int) -> tuple[str, ...]:
    quoted = [EXPERIMENTS[r.experiment] for r in results if r.experiment in EXPERIMENTS]
    notes = dict.fromkeys(f" {experiment.note}" for experiment in quoted if experiment.note)
    return (
        _seeds_note(results, count) + "".join(notes),
        f"{QUOTED} {QUOTED_FROM} SATNet and Scallop were not run with these networks; "
        "*Compared by running it* trains SATNet and Scallop's gradient with smaller ones.",
        "Same budget: a dense head in place of the layer, with the optimiser, epochs and shifts of "
        "*ours*. Paper's recipe: its optimiser, epochs, pre-training and rules, except for what "
        "the last column lists.",
        "Symbols read: accuracy of the network on single symbols, which have no labels in "
        "training.",
        *NOTES,
        f"Data: {_data(results)}.",
    )


def _published_notes(results: Sequence[Result], count: int) -> tuple[str, ...]:
    return (
        f"{_seeds_note(results, count)} The layer's answer, by the rule `maxsmt`, is right if the "
        "whole sum is.",
        f"{QUOTED} Quoted from the papers named, and not run here. Their networks and training "
        "differ from ours.",
        "Every training image occurs in one example, and every test image in at most one. Symbols "
        "read: single digits, which have no labels in training.",
        f"Data: {_data(results)}.",
    )


def _seeds_note(results: Sequence[Result], count: int) -> str:
    seeds = "one seed" if count == 1 else f"{count} seeds"
    varied = any(len(result.seeds) != count for result in results)
    ours = f"Ours: mean ± sample standard deviation of {seeds}"
    return ours + (", or of the number in brackets." if varied else ".")


def _data(results: Sequence[Result]) -> str:
    groups: dict[str, list[str]] = {}
    for result in results:
        titles = groups.setdefault(result.data, [])
        if experiment_title(result.experiment) not in titles:
            titles.append(experiment_title(result.experiment))
    return "; ".join(f"{data} ({', '.join(titles)})" for data, titles in groups.items())


def _time_notes(results: Sequence[Result]) -> tuple[str, ...]:
    devices = ", ".join(dict.fromkeys(r.device for r in results if r.epoch_ratio is not None))
    return (
        f"Ours: {devices or 'not timed'}; the paper's {QUOTED}: {DEVICE}. Only ratios can be "
        "compared.",
        "Dense head: the same network, examples, batches, optimiser and shifts without the layer, "
        "timed alternately in one process on an otherwise idle machine. Ratio: of the mean "
        "seconds, ± the sample standard deviation over the timed epochs; none for fewer than "
        f"{LEAST_EPOCHS} epochs.",
    )
