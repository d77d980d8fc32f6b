"""This file tells in a report how runs were set up, and in what they differ."""

from collections.abc import Mapping, Sequence
from typing import Any

from smtlayer_studies.reports.html import Html, join, tag
from smtlayer_studies.reports.result_tables import DASH
from smtlayer_studies.reports.run_summary import RunSummary
from smtlayer_studies.runs.run_folder import RunFolder


def configuration(run: RunFolder, level: int) -> Html:
    """All options of a run, and where and with what it ran.

    Args:
        run: Whose.
        level: Of the headings.
    """
    plain = {name: value for name, value in run.options.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in run.options.items() if isinstance(value, Mapping)}
    parts = {"run": plain, **tables}
    record = run.record
    if record is not None:
        where = record.machine | ({"commit": record.commit} if record.commit else {})
        parts |= {"versions": record.versions, "machine": where}
    layer = None
    if record is not None and record.layer:
        text = tag("p", tag("code", record.layer))
        layer = tag("details", tag("summary", "The layer as it prints"), text)
    groups = (_group(level, name, options) for name, options in parts.items())
    return join(tag("div", *groups, class_="groups"), layer)


def _group(level: int, name: str, options: Mapping[str, Any]) -> Html:
    lines = [
        tag("tr", tag("th", key, scope="row"), tag("td", shown(value)))
        for key, value in options.items()
    ]
    return tag("div", tag(f"h{level}", name), tag("table", tag("tbody", *lines)))


def differences(runs: Sequence[RunSummary]) -> Html:
    """The options that are not the same in all runs that have them."""
    flat = [_flat(run.folder.options) for run in runs]
    lines = []
    for name in dict.fromkeys(name for options in flat for name in options):
        if len({shown(options[name]) for options in flat if name in options}) > 1:
            cells = (
                tag("td", shown(options[name]) if name in options else DASH) for options in flat
            )
            lines.append(tag("tr", tag("th", tag("code", name), scope="row"), *cells))
    if not lines:
        return tag("p", "All options are the same.", class_="note")
    heads = tag("tr", tag("th", "option", scope="col"),
                *(tag("th", run.label, scope="col") for run in runs))  # fmt: skip
    table = tag("table", tag("thead", heads), tag("tbody", *lines))
    return tag("div", table, class_="wide", tabindex=0, role="region", aria_label="Differences")


def _flat(told: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in told.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{above}{name}.")
        else:
            found[f"{above}{name}"] = value
    return found if above else {"layer": "SMTLayer" if "layer" in told else "none"} | found


def shown(value: Any) -> str:
    """An option's value as the file would have it.

    Examples:
        >>> shown(True), shown(0.001), shown("core")
        ('true', '0.001', 'core')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)
