import io
import json
import shutil

import pytest
import torch
from rich.console import Console

from reports.made import PixelReader, fake_digits
from reports.made_runs import addition_runs, small_run
from reports.page_checks import checked
from reports.test_run_pictures import sudoku, whole_image_algebra
from smtlayer import SMTLayer
from smtlayer_studies.reports.page import report_page, write_report
from smtlayer_studies.reports.run_summary import labels, summarize
from smtlayer_studies.reports.terminal import example_text
from smtlayer_studies.runs import load_experiment
from smtlayer_studies.runs.run_folder import LoadedRun, RunFolder
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.liars.task import LiarsPuzzle


def page_of(*paths, tmp_path):
    return checked(write_report(list(paths), tmp_path / "page.html").read_text())


@pytest.fixture
def copied(tmp_path):
    """A run that a test may change."""
    return shutil.copytree(addition_runs()["best"], tmp_path / "run")


def change_record(folder, **changes):
    path = folder / "record.json"
    record = json.loads(path.read_text())
    record |= changes
    path.write_text(json.dumps(record))


def test_a_page_on_a_run_tells_all_of_it(tmp_path):
    folder = RunFolder.read(addition_runs()["best"])
    page = page_of(folder.path, tmp_path=tmp_path)
    for heading in ("Comparison with the paper", "Training", "Solver", "Confusion of symbols",
                    "Examples", "Configuration"):  # fmt: skip
        assert heading in page.text
    for score in folder.record.scores.values():
        assert f"{100 * score:.1f}".removesuffix(".0") in page.text
    assert "MNIST+ 10 %, best" in page.text
    assert "98.1" in page.text  # the paper's layer
    assert "Not comparable with the paper: sample data." in page.text
    assert "batch_size 16" in page.text
    assert folder.record.versions["torch"] in page.text
    assert "Forward pass: inputs that" in page.text
    assert "Backward pass: examples that" in page.text
    assert page.all("svg")
    assert f"smtlayer inspect {folder.path} --row N" in page.text


def test_a_run_that_was_cut_short_is_not_set_against_the_paper(copied, tmp_path):
    change_record(copied, data="mnist")
    page = page_of(copied, tmp_path=tmp_path)
    epochs = RunFolder.read(copied).config.train.epochs
    usual = load_experiment("mnist-addition-10").config("best").train
    assert epochs < usual.epochs
    message = f"Not comparable with the paper: {epochs} of {usual.epochs} epochs, "
    assert message in page.text
    assert (
        f" of {usual.rows:,} training examples, 40 of {usual.test_rows:,} test examples."
        in page.text
    )


def test_its_examples_have_pictures_and_explanations(tmp_path):
    page = page_of(addition_runs()["best"], tmp_path=tmp_path)
    summary = summarize(RunFolder.read(addition_runs()["best"]), "best")
    assert summary.rows == 40
    assert sum(summary.counts.values()) == 40
    images = [image for image in page.all("img") if image["alt"].startswith("The image of")]
    assert len(images) == 2 * len(summary.examples)
    for one in summary.examples:
        assert f"test example {one.number} {one.outcome}" in page.text
        assert one.answers[0] in page.text


def test_counts_of_the_page_agree_with_the_model():
    summary = summarize(RunFolder.read(addition_runs()["best"]), "best")
    loaded = RunFolder.read(addition_runs()["best"]).load()
    batch = loaded.rows()[1].batch(torch.arange(40))
    with torch.no_grad():
        logits, outputs = loaded.model(batch.features)
    right = ((outputs > 0) == (batch.targets > 0.5)).all(-1)
    assert summary.counts.get("failed", 0) == int((~right).sum())
    theory = loaded.task.theory
    read, truth = theory.decode_inputs(logits), theory.decode_inputs(batch.symbols)
    (confusion,) = summary.confusions
    assert confusion.total == 80
    for i, value in enumerate(confusion.truths):
        for j, other in enumerate(confusion.truths):
            found = sum(int(((truth[n] == value) & (read[n] == other)).sum()) for n in "ab")
            assert confusion.read[i][j] == found


def test_a_conventional_run_has_a_page(tmp_path):
    page = page_of(addition_runs()["conventional"], tmp_path=tmp_path)
    assert "A conventional network has no layer" in page.text
    assert "Confusion of symbols" not in page.text
    assert "ours: conventional" in page.text


def test_an_unfinished_run_says_so(copied, tmp_path):
    (copied / "record.json").unlink()
    (copied / "model.pt").unlink()
    page = page_of(copied, tmp_path=tmp_path)
    assert "This run is not finished, so it has no scores." in page.text
    assert "2 of 2 epochs are done" in page.text
    assert "has no model.pt" in page.text
    assert page.all("svg")  # the epochs so far
    (copied / "checkpoint.pt").unlink()
    page = page_of(copied, tmp_path=tmp_path)
    assert "No epoch is done yet." in page.text
    assert not page.all("svg")


def test_a_run_whose_data_are_not_here_has_no_examples(copied, tmp_path, monkeypatch):
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path / "nothing"))
    change_record(copied, data="mnist")
    page = page_of(copied, tmp_path=tmp_path)
    assert "No examples: data: mnist-train-images is needed" in page.text
    assert "sample data" not in page.text
    assert not page.all("img")


def test_what_a_run_says_is_escaped(copied, tmp_path):
    bad = "<script>alert(1)</script>&\"'{{ 6 * 7 }}</style>"
    config = copied / "config.toml"
    text = config.read_text().replace('method = "best"', f"method = {json.dumps(bad)}")
    config.write_text(text.replace('"mnist-addition-10"', json.dumps(bad)))
    change_record(
        copied, experiment=bad, method=bad, data_title=bad, layer=bad, versions={bad: bad}
    )
    page = page_of(copied, addition_runs()["best"], tmp_path=tmp_path)
    assert page.text.count(bad) > 5


def test_several_runs_stand_side_by_side(tmp_path):
    runs = [
        addition_runs()["conventional"], addition_runs()["best"],
        small_run(tmp_path / "other", seed=1),
    ]  # fmt: skip
    page = page_of(*runs, tmp_path=tmp_path)
    scores = [RunFolder.read(run).record.scores["accuracy"] for run in runs[1:]]
    mean, sd = 50 * sum(scores), 100 * abs(scores[0] - scores[1]) / 2**0.5
    assert f"best: mean ± sd of 2 {mean:.1f} ± {sd:.1f} %" in page.text
    assert "3 runs of MNIST+ 10 %" in page.text
    assert "ours: SMTLayer, best, 2 seeds" in page.text
    assert "seed 0 1 0" not in page.text
    lines = page.text.split("Differences in configuration")[1].split("conventional, seed 0")[1]
    assert "layer none SMTLayer SMTLayer" in lines
    assert "seed 0 0 1" in lines
    for label in ("conventional, seed 0", "best, seed 0", "best, seed 1"):
        assert any(f"{label}: " in drawn["aria-label"] for drawn in page.all("svg"))


def test_runs_with_other_options_have_no_mean(copied, tmp_path):
    config = copied / "config.toml"
    config.write_text(config.read_text().replace("seed = 0", "seed = 1").replace("0.001", "0.002"))
    page = page_of(addition_runs()["best"], copied, tmp_path=tmp_path)
    assert "mean ± sd" not in page.text
    assert "train.lr 0.001 0.002" in page.text
    assert "ours: SMTLayer, best, seed 1" in page.text


def test_runs_of_other_rows_and_an_unfinished_one_stand_side_by_side(copied, tmp_path):
    (copied / "record.json").unlink()
    mine = small_run(tmp_path / "mine", experiment="my-row")
    page = page_of(copied, mine, tmp_path=tmp_path)
    assert "not finished" in page.text
    assert "The paper has no experiment my-row." in page.text
    assert "2 runs" in page.text


def noisy(reader, strength):
    class Noisy(torch.nn.Module):
        def forward(self, features):
            draw = torch.Generator().manual_seed(1)
            logits = reader(features)
            return logits + strength * torch.randn(logits.shape, generator=draw) * (logits != 0)

    return Noisy()


MADE = {
    "addition": (lambda: MnistAddition(digits=fake_digits()), PixelReader, 2.0),
    "algebra 1": (lambda: VisualAlgebra(digits=fake_digits()), PixelReader, 2.0),
    "algebra 2": (whole_image_algebra, lambda: PixelReader([0, 4, 6, 7]), 2.0),
    "liars": (LiarsPuzzle, lambda: LiarsPuzzle().network(), 0.0),
    "sudoku": (sudoku, PixelReader, 1.6),
}


@pytest.mark.parametrize(("make", "network", "noise"), MADE.values(), ids=MADE)
def test_every_task_has_a_page(make, network, noise, tmp_path, monkeypatch):
    task = make()
    model = Model(noisy(network(), noise) if noise else network(), SMTLayer(task.theory)).eval()
    folder = RunFolder.read(addition_runs()["best"])
    monkeypatch.setattr(RunFolder, "load", lambda self, data_dir=None: LoadedRun(self, task, model))
    summary = summarize(folder, "made")
    assert summary.examples
    page = checked(report_page([summary]))
    for one in summary.examples:
        assert f"test example {one.number} {one.outcome}" in page.text
    assert any(one.outcome != "right" for one in summary.examples)
    for one in summary.examples:  # and a view for terminals
        console = Console(file=io.StringIO(), width=90)
        console.print(example_text(one, "made", 90))
        shown = console.file.getvalue()
        assert shown.startswith(f"made, test example {one.number}: {one.outcome}\n")
        assert one.answers[0] in shown
        assert max(map(len, shown.splitlines())) <= 90
        if task.name == "visual-sudoku":
            lines = [line for line in shown.splitlines() if line.count(" | ") in (2, 4)]
            assert len(lines) == 9
            assert ("truth" in lines[0]) == (one.outcome == "failed")


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([("a", "best", 0)], ["best"]),
        ([("a", "best", 0), ("a", "paper", 0)], ["best", "paper"]),
        ([("a", "best", 0), ("a", "best", 1)], ["best, seed 0", "best, seed 1"]),
        ([("a", "best", 0), ("mnist-addition-10", "best", 0)], ["a, best", "MNIST+ 10 %, best"]),
        ([("a", "b", 0), ("a", "b", 0)], ["1: b, seed 0 (best)", "2: b, seed 0 (best)"]),
    ],
)
def test_labels_tell_runs_apart(named, expected):
    from dataclasses import replace

    folder = RunFolder.read(addition_runs()["best"])
    folders = [
        replace(folder, config=replace(folder.config, experiment=row, method=method, seed=seed))
        for row, method, seed in named
    ]
    assert labels(folders) == expected
