"""Tables of the trainings with one rule and the same settings for every problem."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from smtlayer_studies.reports.paper import EXPERIMENTS, PROBLEMS, experiment_title
from smtlayer_studies.reports.published import PUBLISHED, UNTUNED
from smtlayer_studies.reports.result_tables import Column, TextTable, method_title
from smtlayer_studies.reports.results import Record, Result

_METHOD, _PORTFOLIO = "one-rule", "portfolio"


def one_rule_table(results: Sequence[Result]) -> TextTable:
    """The accuracies of the method `one-rule`: mean, least and greatest over the seeds.

    Args:
        results: Results; other methods, and experiments that the paper does not have, are left out.
    """
    columns = (
        Column("experiment", True), Column("seeds"), Column("mean, %"), Column("least, %"),
        Column("greatest, %"), Column("epochs"), Column("SMTLayer, paper, %"),
    )  # fmt: skip
    found = [r for r in results if r.method.startswith(_METHOD) and r.experiment in EXPERIMENTS]
    return TextTable("one-rule", "One rule", columns, tuple(map(_row, found)), ())


def _row(result: Result) -> tuple[str, ...]:
    split = method_title(result.method).removeprefix(method_title(_METHOD))
    paper = EXPERIMENTS[result.experiment].accuracy("smtlayer")
    least, greatest = min(result.accuracy), max(result.accuracy)
    return (
        experiment_title(result.experiment) + split, str(len(result.seeds)),
        f"{result.mean:.1f}", f"{least:.1f}", f"{greatest:.1f}", str(result.epochs[1]),
        "\N{EN DASH}" if split or paper is None else f"{paper:.1f}",
    )  # fmt: skip


def portfolio_table(records: Sequence[Record]) -> TextTable:
    """What portfolios reach and cost, beside single trainings from the same seeds."""
    columns = (
        Column("experiment", True), Column("seeds"), Column("one rule, %"),
        Column("portfolio, %"), Column("epochs, ratio"), Column("seconds, ratio"),
    )  # fmt: skip
    rows = tuple(_portfolio_rows(records))
    notes = (
        "Means over the same seeds. Ratios: of all trainings of the portfolio to the single "
        "training. Seconds were measured beside up to fifteen other runs, so they are rough.",
    )
    return TextTable("portfolios", "Portfolios", columns, rows, notes)


def _portfolio_rows(records: Sequence[Record]) -> Iterator[tuple[str, ...]]:
    for experiment in (*PROBLEMS, *UNTUNED, *PUBLISHED):
        found = {(r["method"], r["seed"]): r for r in records if r["experiment"] == experiment}
        seeds = [s for m, s in found if m == _PORTFOLIO and (_METHOD, s) in found]
        if not seeds:
            continue
        single = [found[_METHOD, seed] for seed in seeds]
        several = [found[_PORTFOLIO, seed] for seed in seeds]
        epochs = [sum(len(m["accuracies"]) for m in r["members"]) for r in several]
        seconds = [sum(m["seconds"] for m in r["members"]) for r in several]
        alone = [sum(epoch["seconds"] for epoch in r["epochs"]) for r in single]
        yield (
            experiment_title(experiment), str(len(seeds)),
            *(f"{100 * fmean(r['scores']['accuracy'] for r in some):.1f}"
              for some in (single, several)),
            f"{fmean(epochs) / len(single[0]['epochs']):.2f}",
            f"{fmean(seconds) / fmean(alone):.2f}",
        )  # fmt: skip
