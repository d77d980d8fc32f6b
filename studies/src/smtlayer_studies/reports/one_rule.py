"""The table of the trainings with one rule and the same settings for every problem."""

from collections.abc import Sequence

from smtlayer_studies.reports.paper import EXPERIMENTS, experiment_title
from smtlayer_studies.reports.result_tables import Column, TextTable, method_title
from smtlayer_studies.reports.results import Result

_METHOD = "one-rule"


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
