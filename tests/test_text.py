"""The code of the README, the examples and some pages runs; generated tables are current."""

import contextlib
import io
import json
import re
import runpy
import shlex
import shutil
import warnings
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from shell import parsed
from smtlayer_cli.app import app
from smtlayer_studies.runs import load_experiment
from smtlayer_studies.runs.portfolio import member_configs

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
WHY = ROOT / "docs" / "explain" / "what-makes-it-train.md"
TRAIN = ROOT / "docs" / "how-to" / "train.md"


def code_blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_readme_examples_run_and_print_their_output(capsys):
    names: dict[str, object] = {}
    blocks = code_blocks(README)
    assert len(blocks) >= 2
    for block in blocks:
        exec(block, names)
    sums = names["sums"]
    assert isinstance(sums, torch.Tensor)
    assert sums.shape == (64, 5)
    assert set(sums.unique().tolist()) <= {-1.0, 0.0, 1.0}
    logits = names["logits"]
    assert isinstance(logits, torch.Tensor)
    assert logits.grad is not None
    assert logits.grad.any()
    shown = re.search(r"```text\n(Row 0.*?)```", README, re.DOTALL)
    assert shown is not None
    assert capsys.readouterr().out.endswith(shown[1])


def test_no_text_installs_smtlayer_from_a_package_index():
    found = [ROOT / "README.md", *(ROOT / "examples").glob("*.py")]
    for folder in ("docs", "src", "studies/src", "apps/playground/src", "benchmarks/src"):
        found += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".md", ".py", ".ipynb")]
    assert len(found) > 200
    installs = re.compile(r"""pip install [\\"']*smtlayer(?!\[\w+\] @)""")
    assert not [path for path in found if installs.search(path.read_text(encoding="utf-8"))]


def test_the_first_example_of_the_readme_fits_a_screen():
    assert len(code_blocks(README)[0].strip().splitlines()) <= 16


# The example for Lightning runs in test_lightning.py too.
@pytest.mark.usefixtures("own_z3_context")
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if "light" in path.stem else [])
        for path in EXAMPLES
    ],
)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    expected = {
        "01_xor": "1 V and 5 V: the lamp is on",
        "02_addition": "100% of all 100 pairs",
        "03_own_theory": "answer  departure 7",
        "04_own_backend": "Parity obeys all 9 laws.",
        "05_plain_loop": "100% of 1000 new games are judged right",
        "06_lightning": "100% of 1000 new games are judged right",
        "07_explain": 'zone = 3 and express = True together break "express goes to zones',
    }
    if path.stem == "06_lightning":
        pytest.importorskip("lightning", reason="needs the extra lightning")
    assert path.read_text().count("\n") <= 80
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # as in a normal run
        runpy.run_path(str(path), run_name="__main__")
    assert expected[path.stem] in capsys.readouterr().out


def test_the_results_are_shown_on_the_pages_that_need_them():
    for page, name in (("README.md", "summary"), ("docs/index.md", "headline")):
        assert f"<!-- {name} -->\n| " in (ROOT / page).read_text()  # its contents are tested below
    assert "<!-- table1 -->\n| " in (ROOT / "docs" / "explain" / "results.md").read_text()


def test_the_tables_of_the_pages_agree_with_the_records():
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    filled = 0
    for path in tables["PAGES"]:
        page = path.read_text()
        assert tables["filled"](page) == page, "run: python benchmarks/tables.py --write"
        filled += sum(f"<!-- {name} -->\n| " in page for name in tables["TABLES"])
        filled += sum(f"<!-- {name} -->" in page for name in tables["INLINE"])
    assert filled == len(tables["TABLES"] | tables["INLINE"])


def test_a_table_has_date_commit_and_processor_of_its_records():
    recorded = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))["recorded"]
    first = {"written": "2026-01-02T03:04:05", "commit": "abc", "machine": {"processor": "fast"}}
    unknown = {"written": "2026-01-01T03:04:05", "commit": None, "machine": None}
    assert recorded([first, first]) == "Recorded 2026-01-02; commit: abc; processor: fast."
    assert recorded([first, unknown]) == (
        "Recorded 2026-01-01 to 2026-01-02; commit: abc, not recorded; "
        "processor: fast, not recorded."
    )
    on_gpu = first | {"machine": {"processor": "fast", "device": "GPU"}}
    assert recorded([on_gpu]).endswith("; processor: GPU with fast.")
    many = [first | {"commit": name} for name in "abcdef"]
    assert "; 6 commits, named in the records; " in recorded(many)


def test_the_pictures_agree_with_the_records():
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    names = {"scaling.png", "phases.png", "results.png", "comparison.png"}
    assert {p.name for p in tables["PICTURES"]} == names
    assert not tables["out_of_date"](), "run: python benchmarks/tables.py --write"


def test_a_picture_older_than_its_records_is_detected_and_drawn_again(tmp_path):
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    record, picture = tmp_path / "cpu.jsonl", tmp_path / "scaling.png"
    shutil.copy(ROOT / "benchmarks" / "results" / "cpu.jsonl", record)
    make, _ = tables["PICTURES"][tables["EXPLAIN"] / "scaling.png"]
    tables["PICTURES"].clear()
    tables["PICTURES"][picture] = make, [record]
    assert tables["out_of_date"]() == [picture]
    tables["draw"](picture)
    assert tables["out_of_date"]() == []
    record.write_text(record.read_text().replace('"ms": 0.', '"ms": 1.', 1))
    assert tables["out_of_date"]() == [picture]


def test_the_benchmarks_met_their_bars():
    found = [
        json.loads(line)
        for path in ("cpu.jsonl", "h200.jsonl")
        for line in (ROOT / "benchmarks" / "results" / path).read_text().splitlines()
    ]
    assert len([line for line in found if "met" in line]) >= 10
    assert all(line["met"] for line in found if "met" in line)


def run_page(path: Path) -> dict[str, object]:
    """Runs a page's code in one namespace; a `text` block after it is its expected output."""
    names: dict[str, object] = {"__name__": path.stem}
    blocks = re.findall(
        r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", path.read_text(), re.DOTALL
    )
    for code, expected in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert not expected or printed.getvalue() == expected
        names["printed"] = printed.getvalue()
    assert blocks
    return names


def test_what_makes_it_train_runs_and_prints_its_output():
    assert "supervised" in run_page(WHY)


def test_the_plain_loop_of_the_how_to_learns():
    names = run_page(TRAIN)
    assert names["right"].float().mean() > 0.98  # type: ignore[attr-defined]
    assert names["read"].float().mean() > 0.98  # type: ignore[attr-defined]
    assert names["layer"].progress == 0.995  # type: ignore[attr-defined]
    shown = re.search(r"```text\n(3 settings.*?)```", TRAIN.read_text(), re.DOTALL)[1]
    accuracy = re.compile(r" *\d+\.\d%")  # depends a little on the machine
    assert accuracy.sub("", names["printed"]) == accuracy.sub("", shown)  # type: ignore[arg-type]


def test_the_theory_of_the_how_to_works_in_the_lab(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, text = re.search(r"```smt2\n; (\S+)\n(.*?)```", TRAIN.read_text(), re.DOTALL).groups()
    Path(name).write_text(text)
    commands = [words for words in page_commands(TRAIN) if words[:2] == ["lab", name]]
    assert len(commands) == 3
    for words in commands:
        done = CliRunner().invoke(app, [*words, "--seeds", "2", "--steps", "20"])
        assert done.exit_code == 0, done.output
        assert "rule" in done.stdout


def test_the_experiment_of_the_how_to_loads(tmp_path):
    text = re.search(r"```toml\n(.*?)```", TRAIN.read_text(), re.DOTALL)[1]
    (tmp_path / "mine.toml").write_text(text)
    experiment = load_experiment(tmp_path / "mine.toml")
    assert experiment.methods == ("core", "mixed", "portfolio")
    assert experiment.config("mixed").layer.backward == "mix(core, marginal)"
    assert [experiment.config(name).restarts.most for name in experiment.methods] == [1, 3, 1]
    first, second = member_configs(experiment.config("portfolio", seed=4))
    assert (first.layer.backward, first.seed, second.seed) == ("anneal_core", 4, 4)
    assert second.layer.backward == "anneal_core(cool=0.7, shake=0.85)"


def page_commands(path: Path) -> list[list[str]]:
    """The arguments of `smtlayer` in the console blocks of a page."""
    lines = "".join(re.findall(r"```console\n(.*?)```", path.read_text(), re.DOTALL)).splitlines()
    split = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in split if words[0] == "smtlayer"]


def test_the_commands_of_the_how_to_are_valid():
    commands = page_commands(TRAIN)
    assert len(commands) >= 10
    for words in commands:
        parsed(*words)


def test_failures_on_addition_and_algebra_are_visible_in_training_accuracy():
    tables = runpy.run_path(str(ROOT / "benchmarks" / "tables.py"))
    runs = [
        run
        for record in tables["read"]("lab")
        if not record["problem"].startswith("liars")
        for run in record["runs"]
    ]
    assert len(runs) >= 21
    assert not any(run["unnoticed"] for run in runs)


@pytest.mark.parametrize("path", [WHY, TRAIN], ids=lambda p: p.stem)
def test_every_relative_link_of_a_page_exists(path):
    links = set(re.findall(r"\]\((?!https?:)([^)#]*)(?:#[^)]*)?\)", path.read_text()))
    assert links
    for link in links:
        assert not link or (path.parent / link).exists(), link
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    for anchor in re.findall(r"\]\(#([^)]*)\)", path.read_text()):
        assert anchor in anchors, anchor


def test_every_relative_link_of_the_readme_exists():
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_every_module_that_a_page_mentions_exists():
    roots = [ROOT, ROOT / "src" / "smtlayer", ROOT / "studies" / "src"]
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    found = {name for page in pages for name in re.findall(r"`([\w/]+/\w+\.py)`", page.read_text())}
    assert len(found) >= 20
    assert not [name for name in found if not any((root / name).exists() for root in roots)]
