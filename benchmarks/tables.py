"""Generates the tables and pictures of README.md and docs from records.

python benchmarks/tables.py          # prints the tables
python benchmarks/tables.py --write  # updates the pages and outdated pictures

A picture contains the digest of its records; to draw one again anyway, delete it first.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent / "rivals"))
import learning_table
from learning_plot import draw_learning
from smtlayer_benchmarks.circuits import HEADINGS, Compilation
from smtlayer_benchmarks.lab_rows import (
    LAB_HEADS,
    READING_HEADS,
    grounded_seeds,
    lab_rows,
    reading_rows,
)
from smtlayer_benchmarks.origin import recorded
from smtlayer_benchmarks.rival_rows import RIVAL_HEADS, rival_rows
from smtlayer_benchmarks.scaling import Cost
from smtlayer_benchmarks.scaling_plot import draw_scaling
from smtlayer_studies.reports.one_rule import one_rule_table, portfolio_table
from smtlayer_studies.reports.phases_plot import draw_phases
from smtlayer_studies.reports.picture_stamps import png_stamp, records_digest, stamp_png
from smtlayer_studies.reports.published import PUBLISHED
from smtlayer_studies.reports.render import markdown
from smtlayer_studies.reports.result_tables import (
    likelihood_table,
    paper_tables,
    published_table,
    summary,
    without_published,
)
from smtlayer_studies.reports.results import Result, holds_records, read_results, results_of
from smtlayer_studies.reports.results_plot import draw_table
from smtlayer_studies.reports.untuned import shortcut_table, untuned_table

HERE = Path(__file__).parent
ROOT = HERE.parent
EXPLAIN = ROOT / "docs" / "explain"
PAGES = (
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    EXPLAIN / "solving.md",
    EXPLAIN / "results.md",
    EXPLAIN / "what-makes-it-train.md",
    ROOT / "docs" / "comparison.md",
    ROOT / "docs" / "how-to" / "likelihood-or-blame.md",
)
Records = list[dict[str, Any]]


def read(name: str) -> Records:
    lines = (HERE / "results" / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def ratios() -> str:
    found = [r for r in read("cpu") if "ratio" in r]
    rows = [
        (
            r["name"],
            f"{r['ours']}: {time(r['ours_ms'])}",
            f"{r['baseline']}: {time(r['baseline_ms'])}",
            f"{r['ratio']:.3g} x {'faster' if r['faster'] else 'the time'}",
        )
        for r in found
    ]
    notes = [f"- {r['name']}: {r['note']}." for r in found if r.get("note")]
    heads = ("what", "ours", "baseline", "ratio")
    return "\n".join([table(heads, rows), "", *notes, f"- {recorded(found)}"])


def speed() -> str:
    """The README's choice: one line per claim, on the GPU and on the CPU."""
    rows = []
    for (name, device), what in SPEED.items():
        records = read("h200" if device == "cuda" else "cpu")
        same = [r for r in records if (r.get("name"), r.get("device")) == (name, device)]
        if not same:
            continue
        r = sorted(same, key=lambda r: r["ratio"])[len(same) // 2]
        sign = "x faster" if r["faster"] else "x the time"
        ratio = f"{r['ratio']:.0f}" if r["ratio"] >= 10 else f"{r['ratio']:.2f}"
        rows.append((
            what, time(r["ours_ms"]), f"{r['baseline']}: {time(r['baseline_ms'])}",
            f"**{ratio} {sign}**",
        ))  # fmt: skip
    return table(("", "ours", "baseline", "ratio"), rows)


SPEED = {
    ("layer against z3", "cpu, one core"):
        "layer, forward `smt` + backward `core`, MNIST addition, batch of 128",
    ("training step", "cuda"):
        "whole training step, paper's network, batch of 128, one NVIDIA H200",
    ("training step", "cpu"): "the same on two CPU cores",
    ("exact likelihood, batch 32", "cuda"):
        "training step with the likelihood of sums of 15 digits, batch of 32, one NVIDIA H200",
    ("Sudoku, solve", "cpu, one core"): "9 x 9 Sudoku of 36 hints, solve, per board",
    ("Sudoku, core", "cpu, one core"): "9 x 9 Sudoku, core of a wrong hint, per board",
    ("Sudoku, weighted repair", "cpu, one core"): "9 x 9 Sudoku, cheapest repair, per board",
    ("two workers over one", "cpu, two cores"): "two workers against one, batch of 64 boards, `Z3`",
}  # fmt: skip


def starts() -> str:
    rows = [
        (r["task"], r["backend"], f"{r['cold_s']:.2f}", f"{r['cached_s']:.2f}")
        for r in read("cpu")
        if "cold_s" in r
    ]
    return table(("task", "backend", "cold, s", "from the cache, s"), rows)


def circuits() -> str:
    return table(HEADINGS, [made(Compilation, r).cells for r in read("cpu") if "arcs" in r])


def scaling() -> str:
    costs = [r for r in read("cpu") if "question" in r]
    backends = list(dict.fromkeys(c["backend"] for c in costs))
    questions = list(dict.fromkeys(c["question"] for c in costs))
    found = {(c["family"], c["size"], c["question"], c["backend"]): c for c in costs}
    rows = []
    for family, size in dict.fromkeys((c["family"], c["size"]) for c in costs):
        cells = [found[family, size, q, b] for q in questions for b in backends]
        times = ["-" if c["ms"] is None else f"{c['ms']:.2g}" for c in cells]
        times = [f"{float(t):g}" if t != "-" else t for t in times]
        rows.append((f"{family}, {cells[0]['title']}", str(cells[0]["columns"]), *times))
    heads = [f"{q}: {b}" for q in questions for b in backends]
    return table(("theory", "columns", *heads), rows)


def repairs() -> str:
    rows = [
        (f"{r['reader']} %", r["method"], f"{r['median_ms']:.2f}", f"{r['mean_ms']:.2f}",
         f"{r['worst_ms']:.0f}", str(r["past_limit"]))
        for r in read("repairs")
    ]  # fmt: skip
    heads = ("reader", "method", "median, ms", "mean, ms", "worst, ms", "timeouts (20 s)")
    return f"{table(heads, rows)}\n\n{recorded(read('repairs'))}"


def rivals() -> str:
    """Other libraries, run beside this one."""
    found = read("rivals")
    return f"{table(RIVAL_HEADS, rival_rows(found))}\n\n{recorded(found)}"


def learning(problems: Sequence[str] = learning_table.ENDS, least: int = 1) -> str:
    """Test accuracy of ours and of other libraries, trained on the same problems."""
    rows = learning_table.accuracy_rows(read("learning"), problems, least)
    return table(("test accuracy, %", *learning_table.titles(problems)), rows)


def learning_seconds(device: str, problems: Sequence[str] = learning_table.TIMED) -> str:
    """Seconds of training per 1,000 examples on a device, with their origin."""
    records = read("learning")
    rows = learning_table.seconds_rows(records, problems, device)
    heads = ("seconds per 1,000 examples", *learning_table.titles_with_batches(problems))
    found = [record for record in records if learning_table.made(record, "seconds", device)]
    return f"{table(heads, rows)}\n\n{recorded(found)}"


def learning_earlier() -> str:
    """Test accuracy of rivals with settings that were tried before."""
    problems = (*learning_table.ENDS, learning_table.LONG[-1])
    rows = learning_table.earlier_rows(read("learning_earlier"), problems)
    return table(("test accuracy, %", *learning_table.titles(problems)), rows)


def learning_methods() -> str:
    """What each method is given, and its settings."""
    return table(("method", "is given", "settings"), learning_table.method_rows())


def lab() -> str:
    """Rules by problems, with the default learning rates."""
    found = read("lab")
    return f"{table(LAB_HEADS, lab_rows(found))}\n\n{recorded(found)}"


def readings() -> str:
    """Readings of the liar's sentences that are consistent with the training set, by split."""
    text = (HERE / "results" / "liars_readings.txt").read_text()
    return table(READING_HEADS, reading_rows(text))


def table1(folder: Path = ROOT / "studies" / "results") -> str:
    """The paper's table and ours, from the records of runs."""
    results = results_in(folder) if holds_records(folder) else []
    return markdown(paper_tables(without_published(results))) if results else "No records yet."


def results_summary(folder: Path = ROOT / "studies" / "results", columns: int = 6) -> str:
    """The first columns of the summary of `table1`: one line per experiment."""
    full = summary(without_published(results_in(folder)))
    rows = tuple(row[:columns] for row in full.rows)
    return markdown([replace(full, columns=full.columns[:columns], rows=rows)])


def one_rule(folder: Path = ROOT / "studies" / "results") -> str:
    """The trainings with one rule and the same settings for every problem."""
    return markdown([one_rule_table(results_in(folder))])


def portfolios(folder: Path = ROOT / "studies" / "results") -> str:
    """Portfolios of two trainings."""
    return markdown([portfolio_table(read_results(folder).records)])


def published(folder: Path = ROOT / "studies" / "results") -> str:
    """Experiments that are not in the SMTLayer paper, beside the results of other papers."""
    table = published_table(results_in(folder))
    return markdown([table]) if table.rows else "No records yet."


def untuned(folder: Path = ROOT / "studies" / "results") -> str:
    """Problems for which no setting was tuned; empty without records."""
    table = untuned_table(results_in(folder))
    return markdown([table]) if table.rows else ""


def mnist_half(folder: Path = ROOT / "studies" / "results") -> str:
    """MNIST-Half, with and without what tells its readings apart; empty without records."""
    table = shortcut_table(results_in(folder))
    return markdown([table]) if table.rows else ""


def likelihood(folder: Path = ROOT / "studies" / "results") -> str:
    """A section on trainings by likelihood and by blame rules; empty without records of both."""
    table = likelihood_table(results_in(folder))
    where = "The words of the last column are explained in [Results](../explain/results.md)."
    return f"## Measurements\n\n{where}\n\n{markdown([table])}" if table.rows else ""


def beyond_the_paper(folder: Path = ROOT / "studies" / "results") -> str:
    """The README's sentence on the same experiments: ours, and the best published result."""
    best = [r for r in results_in(folder) if r.experiment in PUBLISHED and r.method == "best"]
    parts = [
        f"{PUBLISHED[r.experiment].title} {r.mean:.1f} % (best published: "
        f"{PUBLISHED[r.experiment].methods[-1].accuracy:.1f} %)"
        for r in best
    ]
    return ", ".join(parts) or "no records yet"


def results_in(folder: Path) -> list[Result]:
    """The results of all records in a folder."""
    kept = read_results(folder)
    return results_of(kept.records, kept.timings)


def draw_costs(path: Path) -> None:
    """The times of the table `scaling`."""
    draw_scaling([made(Cost, r) for r in read("cpu") if "question" in r], path)


def draw_one_rule(path: Path) -> None:
    """Training accuracy in the phases of `anneal_core`."""
    draw_phases(read_results(ROOT / "studies" / "results").records, path)


def draw_results(path: Path) -> None:
    """The table `table1`, one dot per seed."""
    draw_table(without_published(results_in(ROOT / "studies" / "results")), path)


def made(kind: type, record: dict[str, Any]) -> Any:
    """A dataclass from a record, which may have more fields."""
    names = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in record.items() if name in names})


def sudoku_ratio() -> str:
    """The time of an epoch of visual Sudoku over a conventional epoch."""
    paths = sorted((ROOT / "studies" / "results").glob("visual-sudoku-*/best-timing.json"))
    found = [json.loads(path.read_text())["ratio"] for path in paths]
    return f"{min(found):.2f} to {max(found):.2f} times"


def algebra_as_printed() -> str:
    """The number of seeds from which `core` learns the bare equation in the lab."""
    return grounded_seeds(read("lab"), "visual-algebra-as-printed")


def time(ms: float) -> str:
    return f"{ms:.0f} ms" if ms >= 10 else f"{ms:.2g} ms"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


TABLES = {
    "speed": speed,
    "ratios": ratios,
    "starts": starts,
    "circuits": circuits,
    "scaling": scaling,
    "repairs": repairs,
    "rivals": rivals,
    "learning-summary": lambda: table(
        learning_table.summary_heads(), learning_table.summary_rows(read("learning"))
    ),
    "learning": learning,
    "learning-shares": partial(learning, learning_table.SHARES, 3),
    "learning-epochs": partial(learning, learning_table.EPOCHS, 2),
    "learning-long": partial(learning, learning_table.LONG),
    "learning-seconds": partial(learning_seconds, "cpu"),
    "learning-seconds-gpu": partial(learning_seconds, "cuda"),
    "learning-methods": learning_methods,
    "learning-earlier": learning_earlier,
    "lab": lab,
    "readings": readings,
}
# within a line
INLINE = {
    "sudoku-ratio": sudoku_ratio,
    "algebra-as-printed": algebra_as_printed,
    "beyond-the-paper": beyond_the_paper,
}
# on several pages, or without a table as long as there are no records
RESULTS = {
    "table1": table1,
    "published": published,
    "untuned": untuned,
    "mnist-half": mnist_half,
    "summary": results_summary,
    "headline": partial(results_summary, columns=5),
    "one-rule": one_rule,
    "portfolios": portfolios,
    "likelihood": likelihood,
}

# The function that draws each picture, its records, and files that name what it shows.
PICTURES: dict[Path, tuple[Callable[[Path], object], list[Path]]] = {
    EXPLAIN / "scaling.png": (draw_costs, [HERE / "results" / "cpu.jsonl"]),
    EXPLAIN / "phases.png": (draw_one_rule, [ROOT / "studies" / "results"]),
    EXPLAIN / "results.png": (draw_results, [ROOT / "studies" / "results"]),
    ROOT / "docs" / "comparison.png": (
        lambda path: draw_learning(read("learning"), path),
        [HERE / "results" / "learning.jsonl", HERE / "rivals" / "methods.py"],
    ),
}


def out_of_date() -> list[Path]:
    """Pictures that are missing or older than their records."""
    return [
        path
        for path, (_, records) in PICTURES.items()
        if not path.exists() or png_stamp(path) != records_digest(records)
    ]


def draw(path: Path) -> Path:
    """Draws a picture and stamps it with the digest of its records."""
    make, records = PICTURES[path]
    make(path)
    return stamp_png(path, records_digest(records))


def filled(page: str) -> str:
    """The page with each table replaced by the records' present one."""
    for name, make in (TABLES | RESULTS).items():
        start, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, mark, after = page.partition(start)
        if mark:
            page = before + start + make() + "\n" + end + after.partition(end)[2]
    for name, make in INLINE.items():
        start, end = f"<!-- {name} -->", "<!-- end -->"
        before, mark, after = page.partition(start)
        if mark:
            page = before + start + make() + end + after.partition(end)[2]
    return page


if __name__ == "__main__":
    if "--write" in sys.argv:
        for page in PAGES:
            page.write_text(filled(page.read_text()))
        for picture in out_of_date():
            print("drew", draw(picture).relative_to(ROOT))
    else:
        for name, make in (TABLES | RESULTS | INLINE).items():
            print(f"{name}\n\n{make()}\n")
