"""The tables of problems for which no setting was tuned."""

from collections.abc import Sequence
from statistics import fmean, stdev

from smtlayer_studies.reports.paper import experiment_title
from smtlayer_studies.reports.published import PUBLISHED, SHORTCUT, UNTUNED
from smtlayer_studies.reports.result_tables import DASH, Column, TextTable, method_title
from smtlayer_studies.reports.results import Result

_METHODS = ("one-rule", "portfolio", "longer", "longer-cooling", "core", "conventional")
_RIGHT = 90  # per cent of all sums; a wrong reading has less than half


def untuned_table(results: Sequence[Result]) -> TextTable:
    """Problems for which no setting was tuned, one line per problem.

    Args:
        results: Results. Shown are experiments that the paper does not have, if they were trained
            by the one rule or by its portfolio.
    """
    ours = {(r.experiment, r.method): r for r in results if r.method in _METHODS}
    trained = {experiment for experiment, method in ours if method in _METHODS[:2]}
    rows = tuple(
        (experiment_title(name), *(_both(ours.get((name, method))) for method in _METHODS))
        for name in (*UNTUNED, *PUBLISHED)
        if name in trained
    )
    titles = [method.replace("-", " ") for method in _METHODS]
    columns = (Column("answers / symbols, %", True), *map(Column, titles))
    notes = (
        "Answers: test accuracy, mean ± sample standard deviation over the seeds, whose number is "
        "in brackets. Symbols: share whose most likely value is right, without labels in "
        "training. Rock, paper and scissors can be exchanged in a circle without changing an "
        "answer, so their symbols mean little. Longer: three times the epochs. Longer cooling: "
        "these and `anneal_core(cool=0.7, shake=0.85)`. Both were added after the rule's results "
        "were seen.",
    )
    return TextTable("untuned", "Problems without tuned settings", columns, rows, notes)


def shortcut_table(results: Sequence[Result]) -> TextTable:
    """MNIST-Half: what the sums shown in training leave open, and what settles it."""
    scores = ("seen_accuracy", "seen_symbols", "unseen_accuracy", "symbols")
    rows = tuple(
        (
            method_title(r.method), *(_mean(r.scores.get(score)) for score in scores),
            f"{sum(accuracy >= _RIGHT for accuracy in r.accuracy)} of {len(r.seeds)}",
        )
        for r in results
        if r.experiment == SHORTCUT
    )  # fmt: skip
    columns = (
        Column("method", True), Column("answers, shown sums, %"), Column("digits, shown sums, %"),
        Column("answers, other sums, %"), Column("digits, all sums, %"), Column("right reading"),
    )  # fmt: skip
    notes = (
        "Mean ± sample standard deviation over the seeds. Digits: share whose most likely "
        f"value is right. Right reading: seeds with at least {_RIGHT} % of the sums of all pairs "
        "right. A reading that gets 2, 3 and 4 wrong still has 6 of the 14 digits in the shown "
        "sums right, 42.9 %.",
    )
    return TextTable("shortcut", UNTUNED[SHORTCUT], columns, rows, notes)


def _both(result: Result | None) -> str:
    """Accuracy and symbols that are read right, with the number of seeds."""
    if result is None:
        return DASH
    # Earlier records have no most likely values; their networks read one value per symbol.
    symbols = result.scores.get("symbols", result.scores.get("representation"))
    read = f"{fmean(symbols):.1f}" if symbols else DASH
    return f"{_mean(result.accuracy)} / {read} ({len(result.seeds)})"


def _mean(values: Sequence[float] | None) -> str:
    if not values:
        return DASH
    spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    return f"{fmean(values):.1f}{spread}"
