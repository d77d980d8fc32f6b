"""`smtlayer doctor` on this machine, and on ones that are not well."""

import io
import json
import os
import signal
import time
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from ailing import crashes, fails, fine, hangs
from typer.testing import CliRunner

from helpers import running
from shell import COMMAND, smtlayer_process
from smtlayer_cli import checks, selftest
from smtlayer_cli.app import app
from smtlayer_cli.checks import PURPOSES, Finding
from smtlayer_cli.plugins import Check, install_command
from smtlayer_studies.plugin import check_data

doctor = import_module("smtlayer_cli.doctor")
PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_packages_are_those_of_the_project():
    def parts(requirements):
        return {one.partition(">=")[0]: one.partition(">=")[2] for one in requirements}

    extras = PROJECT["optional-dependencies"]
    assert checks.required() == parts(PROJECT["dependencies"])
    assert set(extras) == {*PURPOSES, "docs", "dev"}
    for name in PURPOSES:
        assert checks.required(name) == parts(extras[name])


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What it says in a place without data."""
    empty = tmp_path_factory.mktemp("data")
    done = smtlayer_process("doctor", "--json", SMTLAYER_DATA=str(empty), OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_works_here(printed):
    assert printed["works"]
    found = {finding["name"]: finding for finding in printed["findings"]}
    for name in ("Python", "smtlayer", "torch", "z3-solver", "python-sat", "numpy", "SAT solvers"):
        assert found[name]["state"] == "ok", found[name]
    assert found["torch"]["facts"]["version"] == import_module("torch").__version__
    assert "glucose4" in found["SAT solvers"]["facts"]["solvers"]
    assert found["CPU"]["facts"]["threads"] == 1
    assert found["memory"]["facts"]["total"] > 1 << 30
    assert found["theories"]["facts"]["folder"] == os.environ["SMTLAYER_CACHE"]
    assert found["studies"]["state"] == "ok"


def test_every_backend_and_the_workers_are_put_to_the_test(printed):
    tests = [finding for finding in printed["findings"] if finding["group"] == "Self-test"]
    names = [finding["name"] for finding in tests if "cuda" not in finding["name"]]
    assert names == ["Table", "Circuit", "Sat", "Z3", "Enumerate", "workers"]
    for finding in tests:
        assert finding["state"] == "ok", finding
        assert finding["facts"]["forward"]
        assert finding["facts"]["backward"]


def test_each_gap_has_a_remedy(printed):
    gaps = [finding for finding in printed["findings"] if finding["state"] == "gap"]
    assert {finding["name"] for finding in gaps} >= {"mnist", "hasy", "sudoku"}
    assert all(finding["remedy"] for finding in gaps)
    mnist = next(finding for finding in gaps if finding["name"] == "mnist")
    assert mnist["text"].startswith("missing, for mnist-addition, visual-algebra, visual-sudoku.")
    assert "Without it: a sample of 5,000 digits" in mnist["text"]
    assert mnist["remedy"] == "smtlayer data --download mnist"


def test_a_crash_and_an_error_are_findings_and_the_others_go_on():
    asked = [Check("G", "one", fine), Check("G", "fails", fails), Check("G", "crashes", crashes),
             Check("G", "last", partial(fine, "last"))]  # fmt: skip
    found = {check.name: finding for check, finding in doctor.run_checks(asked, limit_s=600)}
    assert list(found) == ["one", "fails", "crashes", "last"]
    assert [finding.state for finding in found.values()] == ["ok", *["broken"] * 2, "ok"]
    assert found["fails"].text == "RuntimeError: something is amiss"
    assert found["crashes"].text == "the process crashed (SIGSEGV)"
    assert all(found[name].remedy for name in ("fails", "crashes"))


def test_a_hang_is_a_finding():
    ((check, finding),) = doctor.run_checks([Check("G", "hangs", hangs)], limit_s=1)
    assert (check.name, finding.state) == ("hangs", "broken")
    assert finding.text == "no answer within 1 s"
    assert finding.remedy


def shown(monkeypatch, *findings, options=()):
    """What is printed, and the exit code, where these are found."""
    pairs = [(Check("Group", finding.name, fine), finding) for finding in findings]
    monkeypatch.setattr(doctor, "run_checks", lambda checks: iter(pairs))
    monkeypatch.setenv("COLUMNS", "60")
    return CliRunner().invoke(app, ["doctor", *options])


OK = Finding("torch", "ok", "2.13.0")
OFF = Finding("ray", "off", "not installed, for Ray clusters", install_command("ray"))
GAP = Finding("mnist", "gap", "missing " * 10, "smtlayer data --download mnist")
BROKEN = Finding("Table", "broken", "a xor b is wrong forward", "Report it.")


def test_lines_have_a_mark_and_a_remedy_and_fit_the_terminal(monkeypatch):
    answer = shown(monkeypatch, OK, OFF, GAP, BROKEN)
    assert answer.exit_code == 4
    assert answer.stdout.splitlines()[1:] == [
        "Group",
        " ✓  torch        2.13.0",
        " ·  ray          not installed, for Ray clusters",
        '                 > pip install ".[ray]" # in a checkout of',
        "                   smtlayer",
        " !  mnist        missing missing missing missing missing",
        "                 missing missing missing missing missing",
        "                 > smtlayer data --download mnist",
        " ✗  Table        a xor b is wrong forward",
        "                 > Report it.",
        "",
        "1 of 4 checks failed; the remedies are above.",
    ]


def test_a_terminal_without_unicode_gets_plain_marks():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = doctor.Console(file=file, width=80)
    doctor._print(console, OK)
    doctor._print(console, BROKEN)
    file.seek(0)
    assert [line[:9] for line in file.read().splitlines()[:2]] == ["ok  torch", " X  Table"]
    assert smtlayer_process("doctor", "--help", PYTHONIOENCODING="ascii").returncode == 0


@pytest.mark.parametrize(
    ("findings", "options", "code", "verdict"),
    [
        ([OK, OFF], ["--strict"], 0, "smtlayer works."),
        ([OK, GAP], [], 0, "smtlayer works, with 1 gap; the remedies are above."),
        ([OK, GAP, GAP], ["--strict"], 4, "smtlayer works, with 2 gaps; the remedies are above."),
        ([OK, BROKEN], [], 4, "1 of 2 checks failed"),
    ],
)
def test_the_exit_code_tells_what_is_broken_and_if_asked_the_gaps(
    monkeypatch, findings, options, code, verdict
):
    answer = shown(monkeypatch, *findings, options=options)
    assert answer.exit_code == code
    assert answer.stdout.splitlines()[-1].startswith(verdict)
    answer = shown(monkeypatch, *findings, options=[*options, "--json"])
    assert answer.exit_code == code
    printed = json.loads(answer.stdout)
    assert printed["works"] == (BROKEN not in findings)
    assert [one["state"] for one in printed["findings"]] == [finding.state for finding in findings]


def only(findings):
    found = list(findings)
    assert len(found) == 1
    return found[0]


def test_a_package_that_is_missing_old_or_damaged_is_reported(monkeypatch, tmp_path):
    missing = only(checks.package("no-such-package", "1.0"))
    assert (missing.state, missing.text) == ("broken", "not installed")
    assert missing.remedy == 'pip install "no-such-package>=1.0"'
    old = only(checks.package("numpy", "999.1"))
    assert old.state == "gap"
    assert "older than 999.1" in old.text
    monkeypatch.setitem(checks._MODULES, "numpy", "no_such_module")
    damaged = only(checks.package("numpy", "1.26"))
    assert damaged.state == "broken"
    assert "ModuleNotFoundError" in damaged.text


def test_versions_are_compared_by_their_numbers():
    assert checks._numbers("2.13.0+cpu") > checks._numbers("2.11")
    assert checks._numbers("1.9.dev2") > checks._numbers("1.8.dev13")


def test_an_extra_that_is_not_there_is_named_with_what_it_is_for(monkeypatch):
    monkeypatch.setattr(checks, "installed", lambda package: None)
    found = {finding.name: finding for finding in checks.extras()}
    assert set(found) == set(PURPOSES)
    assert found["dask"].state == "off"
    assert "solving on a Dask cluster: distributed" in found["dask"].text
    assert found["dask"].remedy == install_command("dask")


def test_threads_that_outnumber_the_cores_are_a_gap(monkeypatch):
    monkeypatch.setattr("torch.get_num_threads", lambda: 64)
    monkeypatch.setattr(checks, "_cores", lambda: 2)
    crowded = only(checks.cpu())
    assert (crowded.state, crowded.facts["cores"]) == ("gap", 2)
    assert "export OMP_NUM_THREADS=2" in crowded.remedy


def test_little_memory_is_a_gap(monkeypatch):
    monkeypatch.setattr(checks, "_memory", lambda: (8 << 30, 1 << 30))
    low = only(checks.memory())
    assert (low.state, low.text) == ("gap", "8.0 GiB, 1.0 GiB free")
    assert "smaller batches" in low.remedy


@pytest.mark.parametrize(
    ("driver", "built_for", "state", "message"),
    [
        (None, None, "off", "no NVIDIA GPU here: everything runs on the CPU"),
        ("/bin/nvidia-smi", None, "gap", "there is an NVIDIA driver, but torch 2.13.0+cpu was"),
        ("/bin/nvidia-smi", "12.8", "gap", "torch was built for CUDA 12.8, but finds no GPU"),
    ],
)
def test_a_gpu_that_cannot_be_used_is_a_gap(monkeypatch, driver, built_for, state, message):
    monkeypatch.setattr("shutil.which", lambda name: driver)
    monkeypatch.setattr(checks.Path, "exists", lambda path: False)
    found = checks._no_cuda("2.13.0+cpu", built_for)
    assert found.state == state
    assert found.text.startswith(message)
    assert bool(found.remedy) == (state == "gap")


def test_damaged_data_are_reported_from_missing_ones(monkeypatch, tmp_path):
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.6B.100d.subset.txt").write_text("damaged")
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "t10k-labels-idx1-ubyte.gz").write_text("damaged")
    monkeypatch.setenv("SMTLAYER_DATA", str(tmp_path))
    found = {finding.name: finding for finding in check_data()}
    assert found["folder"].text == str(tmp_path)
    assert found["glove"].text.startswith("damaged, for liars-puzzle. Without it: random word")
    assert found["glove"].remedy.startswith("Put glove/glove.6B.100d.subset.txt there by hand")
    assert "mnist-train-labels missing, mnist-test-images missing" in found["mnist"].text
    assert "mnist-test-labels damaged" in found["mnist"].text


def test_a_cache_that_is_off_or_cannot_be_written_is_reported(monkeypatch, tmp_path):
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert only(checks.cache()).state == "off"
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "file" / "cache"))
    refused = only(checks.cache())
    assert refused.state == "gap"
    assert "nothing can be written: not a directory" in refused.text
    assert "export SMTLAYER_CACHE" in refused.remedy


def test_wrong_answers_are_found_out(monkeypatch):
    from helpers import GivesUp

    bad = selftest.run_layer("GivesUp", GivesUp((1, -1)), "cpu")
    assert (bad.state, bad.text) == ("broken", "a xor b is wrong forward and backward")
    assert "report" in bad.remedy


def test_ctrl_c_ends_it_and_leaves_no_process():
    with running([*COMMAND, "doctor"], text=True, start_new_session=True) as process:
        first = [process.stdout.readline() for _ in range(3)]
        assert "Python" in first[2]
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
    deadline = time.monotonic() + 300
    while group_lives(process.pid) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not group_lives(process.pid)


def group_lives(number):
    try:
        os.killpg(number, 0)
    except ProcessLookupError:
        return False
    return True
