"""The report page: one HTML file on trained runs, which opens without a network connection."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from smtlayer import __version__
from smtlayer.explain.text import verdict
from smtlayer_studies.reports import page_tables, paper
from smtlayer_studies.reports.confusion import right_share
from smtlayer_studies.reports.curves import Series, charts
from smtlayer_studies.reports.run_summary import RunSummary, labels, summarize
from smtlayer_studies.runs.run_folder import RunFolder


def write_report(
    paths: Sequence[Path],
    out: Path,
    *,
    data_dir: Path | None = None,
    on_run: Callable[[str], None] = lambda label: None,
) -> Path:
    """Writes a page on one run, or a page that compares several.

    Args:
        paths: Folders of runs.
        out: The HTML file.
        data_dir: The data folder; by default the environment's `SMTLAYER_DATA`. Without the data
            of a run the page has no examples of it, and says so.
        on_run: Called with the name of each run before its examples are computed.

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
    """The text of the page."""
    styles = dict.fromkeys(one.view.css for run in runs for one in run.examples)
    series = [_series(run) for run in runs]
    return _template().render(
        runs=runs, title=_title(runs), series=series, charts=charts(series),
        view_styles=Markup("".join(styles)), version=__version__,
    ).lstrip()  # fmt: skip


@cache
def _template() -> Template:
    """The template, which escapes all values except `Markup`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=StrictUndefined, extensions=["jinja2.ext.do"],
    )  # fmt: skip
    environment.filters |= {"percent": page_tables.percent, "option": page_tables.option_text}
    environment.globals |= {
        "tables": page_tables, "paper": paper, "right_share": right_share, "verdict": verdict,
        "summary_line": _summary_line, "Markup": Markup,
    }  # fmt: skip
    return environment.get_template("page.html.j2")


def _title(runs: Sequence[RunSummary]) -> str:
    if len(runs) == 1:
        return paper.run_title(runs[0].folder.config)
    names = {paper.experiment_title(run.folder.config.experiment) for run in runs}
    return f"{len(runs)} runs of {names.pop()}" if len(names) == 1 else f"{len(runs)} runs"


def _summary_line(runs: Sequence[RunSummary]) -> str:
    """Data, seeds, devices and dates of the runs."""
    records = [run.folder.record for run in runs if run.folder.record is not None]
    seeds = sorted({run.folder.config.seed for run in runs})
    days = sorted({record.written[:10] for record in records if record.written})
    parts = [
        *dict.fromkeys(record.data_title for record in records),
        f"seed{'s'[: len(seeds) > 1]} {', '.join(map(str, seeds))}",
        *dict.fromkeys(record.machine.get("device", "") for record in records),
        " to ".join(dict.fromkeys(days[:1] + days[-1:])),
    ]
    return " · ".join(part for part in parts if part)


def _series(run: RunSummary) -> Series:
    record, labelled = run.folder.record, run.folder.config.pretrain.kind != "autoencoder"
    score = None if record is None else record.scores.get("accuracy")
    return Series(run.label, run.folder.epochs, score, run.split, labelled)
