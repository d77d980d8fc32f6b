"""This file writes a report on runs: one HTML page that needs nothing else, and no network."""

from collections.abc import Callable, Sequence
from pathlib import Path

from smtlayer import __version__
from smtlayer_studies.reports.charts import Series, curves
from smtlayer_studies.reports.example_report import ExampleReport, Outcome
from smtlayer_studies.reports.html import Html, join, tag
from smtlayer_studies.reports.page_config import configuration, differences
from smtlayer_studies.reports.page_examples import card
from smtlayer_studies.reports.page_parts import (
    against_paper,
    anchor,
    comparison,
    heat_maps,
    solver_statistics,
    tiles,
)
from smtlayer_studies.reports.page_style import STYLE
from smtlayer_studies.reports.paper import experiment_title, run_title
from smtlayer_studies.reports.run_summary import RunSummary, labels, summarize
from smtlayer_studies.runs.run_folder import RunFolder

_HEADINGS: dict[Outcome, str] = {
    "corrected": "Corrected: the network was wrong, the answer is right",
    "failed": "Failed: the answer is wrong",
    "right": "Right",
}


def write_report(
    paths: Sequence[Path],
    out: Path,
    *,
    data_dir: Path | None = None,
    on_run: Callable[[str], None] = lambda label: None,
) -> Path:
    """Writes a page on one run, or on several side by side.

    Args:
        paths: Folders of runs.
        out: The HTML file.
        data_dir: The data folder; by default the environment's `SMTLAYER_DATA`. Where data are not
            at hand the page has no examples, and says so.
        on_run: Called with the name of each run before it is summary at.

    Raises:
        MissingDataError: If a folder is not that of a run.
    """
    folders = [RunFolder.read(path) for path in paths]
    runs = []
    for folder, label in zip(folders, labels(folders), strict=True):
        on_run(label)
        runs.append(summarize(folder, label, data_dir))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(report_page(runs), encoding="utf-8")
    return out


def report_page(runs: Sequence[RunSummary]) -> str:
    """The whole page as text."""
    one = len(runs) == 1
    title = _title(runs)
    body = _single(runs[0]) if one else _several(runs)
    links = _single_links(runs[0]) if one else _several_links(runs)
    nav = tag("nav", tag("ul", *(tag("li", tag("a", said, href=f"#{to}")) for to, said in links)),
              aria_label="Parts of this page")  # fmt: skip
    head = tag(
        "head", tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title}: smtlayer report"),
        Html(f"<style>{STYLE}{_view_styles(runs)}</style>"),
    )  # fmt: skip
    top = tag(
        "header", tag("p", "smtlayer report", class_="eyebrow"), tag("h1", title),
        tag("p", _meta(runs), class_="meta"),
    )  # fmt: skip
    end = tag("footer", f"Written by smtlayer {__version__}. This page needs no network.")
    page = tag("html", head, tag("body", top, nav, tag("main", body), end), lang="en")
    return f"<!doctype html>\n{page}\n"


def _view_styles(runs: Sequence[RunSummary]) -> str:
    """The rules of all views on the page, each once."""
    return "".join(dict.fromkeys(one.view.css for run in runs for one in run.examples))


def _title(runs: Sequence[RunSummary]) -> str:
    rows = list(dict.fromkeys(experiment_title(run.folder.config.experiment) for run in runs))
    if len(runs) == 1:
        return run_title(runs[0].folder.config)
    return f"{len(runs)} runs of {rows[0]}" if len(rows) == 1 else f"{len(runs)} runs"


def _meta(runs: Sequence[RunSummary]) -> str:
    """What all of the runs have in common."""
    records = [run.folder.record for run in runs if run.folder.record is not None]
    data = dict.fromkeys(record.data_title for record in records)
    seeds = sorted({run.folder.config.seed for run in runs})
    devices = dict.fromkeys(record.machine.get("device", "") for record in records)
    days = sorted({record.written[:10] for record in records if record.written})
    said = [
        *data, f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}",
        *(device for device in devices if device), " to ".join(dict.fromkeys(days[:1] + days[-1:])),
    ]  # fmt: skip
    return " · ".join(part for part in said if part)


def _single_links(run: RunSummary) -> list[tuple[str, str]]:
    found = [("scores", "Scores"), ("paper", "Paper"), ("training", "Training")]
    found += [("solver", "Solver")] if run.folder.config.layer else []
    found += [("symbols", "Symbols")] if run.confusions else []
    return [*found, ("examples", "Examples"), ("configuration", "Configuration")]


def _single(run: RunSummary) -> Html:
    layer = run.folder.config.layer is not None
    return join(
        tag("div", tiles(run.folder), id="scores"),
        _part(2, "paper", "Against the paper", against_paper([run])),
        _part(2, "training", "Training", curves([_series(run)])),
        _part(2, "solver", "Solver", solver_statistics(run.folder, 3)) if layer else None,
        _symbols(run, 2, "symbols"),
        _examples(run, 2, "examples"),
        _part(2, "configuration", "Configuration", configuration(run.folder, 3)),
    )


def _several_links(runs: Sequence[RunSummary]) -> list[tuple[str, str]]:
    found = [("scores", "Scores"), ("paper", "Paper"), ("training", "Training"),
             ("differences", "Differences")]  # fmt: skip
    return found + [(anchor(run), run.label) for run in runs]


def _several(runs: Sequence[RunSummary]) -> Html:
    return join(
        _part(2, "scores", "Scores", comparison(runs)),
        _part(2, "paper", "Against the paper", against_paper(runs)),
        _part(2, "training", "Training", curves([_series(run) for run in runs])),
        _part(2, "differences", "In what they differ", differences(runs)),
        *map(_run_section, runs),
    )


def _run_section(run: RunSummary) -> Html:
    layer, place = run.folder.config.layer is not None, anchor(run)
    return tag(
        "section",
        tag("h2", run.label, id=f"{place}-title"),
        tag("p", _meta([run]), class_="meta"),
        tiles(run.folder),
        _part(3, f"{place}-solver", "Solver", solver_statistics(run.folder, 4)) if layer else None,
        _symbols(run, 3, f"{place}-symbols"),
        _examples(run, 3, f"{place}-examples"),
        tag("details", tag("summary", "Configuration"), configuration(run.folder, 3)),
        class_="run", id=place, aria_labelledby=f"{place}-title",
    )  # fmt: skip


def _series(run: RunSummary) -> Series:
    record = run.folder.record
    score = None if record is None else record.scores.get("accuracy")
    labelled = run.folder.config.pretrain.kind != "autoencoder"
    return Series(run.label, run.folder.epochs, score, labelled)


def _part(level: int, place: str, title: str, *inside: Html | None) -> Html:
    head = tag(f"h{level}", title, id=f"{place}-title")
    return tag("section", head, *inside, class_="part", id=place, aria_labelledby=f"{place}-title")


def _symbols(run: RunSummary, level: int, place: str) -> Html | None:
    if not run.confusions:
        return None
    said = (
        f"Of {run.rows:,} {run.split} rows. A line is what is shown, a column what it is taken for."
    )
    parts = [tag("p", said)]
    for told in run.confusions:
        parts.append(tag(f"h{level + 1}", f"{told.kind.capitalize()} ({told.total:,})"))
        parts.append(heat_maps(told))
    return _part(level, place, "Confusion of symbols", *parts)


def _examples(run: RunSummary, level: int, place: str) -> Html:
    if run.note:
        return _part(level, place, "Examples", tag("p", run.note, class_="note"))
    parts: list[Html] = [_counts(run)]
    for outcome, heading in _HEADINGS.items():
        found = [one for one in run.examples if one.outcome == outcome]
        if found:
            parts += [tag(f"h{level + 1}", heading), _cards(found, level + 2)]
    return _part(level, place, "Examples", *parts)


def _counts(run: RunSummary) -> Html:
    counts = run.counts or {}
    words: dict[Outcome, str] = {
        "right": "were right at once",
        "corrected": "were corrected by the solver",
        "failed": "failed",
    }
    said = ", ".join(f"{counts.get(name, 0):,} {word}" for name, word in words.items())
    command = f"smtlayer inspect {run.folder.path} --row N"
    return tag(
        "p", f"Of the first {run.rows:,} {run.split} rows {said}. Any row can be shown with ",
        tag("code", command), ".",
    )  # fmt: skip


def _cards(found: Sequence[ExampleReport], level: int) -> Html:
    big = " big" if found[0].view.wide else ""
    return tag("div", *(card(one, level) for one in found), class_=f"cards{big}")
