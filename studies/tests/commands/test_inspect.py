import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from reports.made_runs import addition_runs
from shell import parsed
from smtlayer.errors import SMTLayerError
from smtlayer_cli.app import app
from smtlayer_cli.errors import ExitCode, exit_code_of
from smtlayer_studies.reports.example_report import find_example
from smtlayer_studies.runs.run_folder import RunFolder

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "inspect.md"
run = CliRunner().invoke


def inspect(*words):
    answer = run(app, ["inspect", *map(str, words)], env={"COLUMNS": "100"})
    assert answer.exit_code == 0, answer.output
    return answer.stdout


@pytest.fixture
def folder(tmp_path):
    """A run of its own, for pictures land in it."""
    return shutil.copytree(addition_runs()["best"], tmp_path / "run")


def refused(capsys, *words) -> tuple[int, str]:
    """Exit code and error of a command, which is one line."""
    code = exit_code_of(lambda: app(["inspect", *map(str, words)], standalone_mode=False))
    lines = capsys.readouterr().err.splitlines(keepends=True)
    printed = "".join(line for line in lines if not line.endswith(" ...\n"))  # what takes long
    assert printed.count("\n") == 1
    return code, printed


def test_a_row_is_drawn_told_and_explained(folder):
    printed = inspect(folder, "--row", 7)
    assert printed.startswith("MNIST+ 10 %, best, test example 7: ")
    assert "▀" in printed or "▄" in printed
    for word in ("symbol", "read", "certainty", "solver", "truth", "answer  total = "):
        assert word in printed
    picture = folder / "inspect-row-7.png"
    assert f"picture  {picture}" in printed.replace("\n", "")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_truth_stands_beside_what_was_read(folder):
    loaded = RunFolder.read(folder).load()
    _, rows = loaded.rows()
    truth = loaded.task.theory.decode_inputs(rows.symbols[7])
    lines = [line.split() for line in inspect(folder, "--row", 7).splitlines()]
    table = {line[0]: line for line in lines if "%" in line and line[0] in ("a", "b")}
    shown = {name: line[-1] if line[-1].isdecimal() else line[-2] for name, line in table.items()}
    assert shown == {name: str(value) for name, value in truth.items()}


def test_plain_data_agree_with_the_model(folder):
    (row,) = json.loads(inspect(folder, "--row", 3, "--json"))
    assert (row["run"], row["split"], row["row"]) == (str(folder), "test", 3)
    loaded = RunFolder.read(folder).load()
    batch = loaded.rows()[1].batch(torch.tensor([3]))
    theory = loaded.task.theory
    with torch.no_grad():
        logits, outputs = loaded.model(batch.features)
    read = {symbol["name"]: symbol["value"] for symbol in row["explanation"]["read"]}
    assert read == theory.decode_inputs(logits[0])
    assert row["explanation"]["answer"] == theory.decode(outputs[0])
    assert row["truth"]["inputs"] == theory.decode_inputs(batch.symbols[0])
    assert row["truth"]["outputs"] == {"total": sum(row["truth"]["inputs"].values())}
    right = row["explanation"]["answer"] == row["truth"]["outputs"]
    assert (row["outcome"] == "failed") == (not right)
    assert not list(folder.glob("inspect*"))


def test_several_rows_come_in_the_order_they_were_named(folder):
    rows = json.loads(inspect(folder, "--row", 5, "--row", 2, "--row", 5, "--json"))
    assert [row["row"] for row in rows] == [5, 2]
    printed = inspect(folder, "--row", 5, "--row", 2, "--picture", folder / "both.png")
    assert printed.count(f"picture  {folder / 'both.png'}") == 1
    assert not list(folder.glob("inspect*"))


def test_the_next_failed_and_the_next_corrected_row_are_found(folder):
    rows = json.loads(inspect(folder, *(f"--row={i}" for i in range(40)), "--json"))
    outcomes = [row["outcome"] for row in rows]
    for outcome in ("failed", "corrected"):
        if outcome in outcomes[1:]:
            (found,) = json.loads(inspect(folder, "--row", 1, f"--{outcome}", "--json"))
            assert found["row"] == outcomes.index(outcome, 1)
            assert found["outcome"] == outcome
    assert "failed" in outcomes[1:]


@pytest.fixture
def all_right(folder, monkeypatch):
    """A run that answers all its rows right at once."""
    printed = lambda examples: ["right"] * len(examples)  # noqa: E731
    monkeypatch.setattr("smtlayer_studies.reports.example_report.outcomes", printed)
    return folder


def test_no_such_row_is_reported(capsys, all_right):
    code, printed = refused(capsys, all_right, "--failed", "--row", 39)
    assert code == ExitCode.FAILED
    assert printed == (
        "smtlayer: None of the 40 test examples failed: 40 were right. Show any of them with --row "
        "alone.\n"
    )
    _, printed = refused(capsys, all_right, "--failed", "--corrected", "--row", 39)
    assert "None of the 40 test examples failed or was corrected by the solver: " in printed


def test_a_search_counts_the_rows_it_has_seen(all_right):
    run, counted = RunFolder.read(all_right).load(), []
    with pytest.raises(SMTLayerError, match="None of the 40 test examples failed"):
        find_example(run, 7, ["failed"], on_rows=lambda *count: counted.append(count))
    assert counted == [(i, 40) for i in range(1, 41)]


def test_an_earlier_row_is_named_if_there_is_none_from_the_number_on(capsys, folder, monkeypatch):
    run = RunFolder.read(folder).load()
    failed = run.rows()[1].batch(torch.tensor([11, 23])).features

    def printed(examples):
        wrong = [any(map(one.equal, failed)) for one in examples.batch.features]
        return ["failed" if each else "right" for each in wrong]

    monkeypatch.setattr("smtlayer_studies.reports.example_report.outcomes", printed)
    assert find_example(run, 0, ["failed"]) == 11
    _, message = refused(capsys, folder, "--failed", "--row", 39)
    assert message == (
        "smtlayer: No test example from 39 on failed. An earlier one is example 11: use --row 11.\n"
    )


def test_training_rows_can_be_looked_at(folder):
    (row,) = json.loads(inspect(folder, "--split", "train", "--row", 63, "--json"))
    assert row["split"] == "train"
    numbers = row["truth"]["inputs"]
    assert numbers["a"] == numbers["b"]  # all that training shows
    inspect(folder, "--split", "train")
    assert (folder / "inspect-train-row-0.png").exists()


def test_the_runner_up_is_reported_on_demand(folder):
    (row,) = json.loads(inspect(folder, "--json"))
    assert row["explanation"]["runner_up"] is None
    (row,) = json.loads(inspect(folder, "--runner-up", "--json"))
    rival = row["explanation"]["runner_up"]
    assert rival["answer"] != row["explanation"]["answer"]
    assert rival["cost"] >= row["explanation"]["cost"]
    assert "runner-up" in inspect(folder, "--runner-up")


def test_a_conventional_run_has_no_layer_to_explain(capsys):
    code, printed = refused(capsys, addition_runs()["conventional"])
    assert code == ExitCode.USAGE
    assert "is a conventional network: it has no layer to explain" in printed


@pytest.mark.parametrize("number", [40, -1])
def test_a_row_that_is_not_there_is_refused(capsys, folder, number):
    code, printed = refused(capsys, folder, f"--row={number}")
    assert code == ExitCode.USAGE
    assert f"has 40 test examples, from 0 to 39. Got {number}." in printed


def test_a_folder_without_a_run_or_a_model_is_refused(capsys, folder, tmp_path):
    code, printed = refused(capsys, tmp_path / "gone")
    assert code == ExitCode.MISSING
    assert "There is no folder" in printed
    (folder / "model.pt").unlink()
    code, printed = refused(capsys, folder)
    assert code == ExitCode.MISSING
    assert "has no model.pt" in printed
    code, printed = refused(capsys, addition_runs()["best"].parent)
    assert code == ExitCode.MISSING
    assert "Name one of them" in printed


def test_the_commands_of_the_how_to_can_be_given():
    lines = re.findall(r"^smtlayer ((?:inspect|report) .*)$", HOW_TO.read_text(), re.MULTILINE)
    assert len(lines) >= 8
    for line in lines:
        parsed(*shlex.split(line))
