"""Exit codes mean something; errors are one line with a remedy; --debug shows the trace."""

import compileall
import errno
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from rich.console import Console

import smtlayer as smtlayer_package
import smtlayer_cli
from helpers import running
from shell import COMMAND, parsed, python, smtlayer, smtlayer_process
from smtlayer.errors import (
    ArgumentError,
    ArgumentTypeError,
    ConfigError,
    MissingDataError,
    MissingPackageError,
    SolverUnknownError,
    TheoryError,
    TooLargeError,
    UnsupportedRuleError,
)
from smtlayer.nn import parse_rule
from smtlayer_cli.app import app
from smtlayer_cli.errors import ExitCode, exit_code_of

SOURCE = Path(smtlayer_package.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "command-line.md"
STOPPED = """
import os, signal, sys, time, types
from smtlayer_cli.__main__ import main
store = sys.modules["smtlayer.solvers.store"] = types.ModuleType("store")  # needs no torch
class HalfMade:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    def __del__(self):
        self.owner
store.default_store = HalfMade
sys.argv = ["smtlayer", "cache"]
main()
"""


INTERRUPTED = """
import os, signal, sys
from smtlayer_cli.__main__ import main
from smtlayer.nn import SMTLayer
forward, calls = SMTLayer.forward, []
def stopped(self, *arguments, **options):
    calls.append(arguments)
    if len(calls) == 5:
        os.kill(os.getpid(), signal.SIGINT)
    return forward(self, *arguments, **options)
SMTLayer.forward = stopped
sys.argv = ["smtlayer", "lab", "mnist-addition-10", "--steps", "100000"]
main()
"""


def raising(error):
    def call():
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("an option"), ExitCode.USAGE),
        (ArgumentError("a value"), ExitCode.USAGE),
        (ArgumentTypeError("a type"), ExitCode.USAGE),
        (UnsupportedRuleError("a rule"), ExitCode.USAGE),
        (TooLargeError("a theory"), ExitCode.FAILED),
        (MissingDataError("no data"), ExitCode.MISSING),
        (MissingPackageError("no package"), ExitCode.MISSING),
        (TheoryError("no theory"), ExitCode.FAILED),
        (SolverUnknownError("gave up"), ExitCode.FAILED),
    ],
)
def test_errors_of_the_library_have_codes_by_their_kind(error, code, capsys):
    assert exit_code_of(raising(error)) == code
    assert capsys.readouterr().err == f"smtlayer: {error}\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device", "/full/disk"), ExitCode.FAILED,
         "The system refused /full/disk: no space left on device. Check the path"),
        (MemoryError(), ExitCode.FAILED,
         "There is too little memory (MemoryError). Smaller batches need less: --set train.batch"),
        (ZeroDivisionError("division by zero"), ExitCode.BUG,
         "ZeroDivisionError: division by zero. This is a bug in smtlayer. Run again with --debug"),
        (typer.BadParameter("7 is odd"), ExitCode.USAGE, "Invalid value: 7 is odd. See: smtlayer"),
    ],
)  # fmt: skip
def test_other_errors_are_one_line_with_a_remedy(error, code, message, capsys, monkeypatch):
    monkeypatch.delenv("SMTLAYER_DEBUG", raising=False)
    assert exit_code_of(raising(error)) == code
    shown = capsys.readouterr().err
    assert shown.startswith(f"smtlayer: {message}")
    assert shown.count("\n") == 1


def test_a_wrong_argument_is_not_a_bug(capsys):
    assert exit_code_of(lambda: parse_rule("nonsense")) == ExitCode.USAGE
    assert "expected anneal_core, core, maxsmt" in capsys.readouterr().err
    assert exit_code_of(lambda: int("nonsense")) == ExitCode.BUG


def test_a_wrong_argument_is_not_a_bug_where_the_sources_are_absent(tmp_path):
    for package in (smtlayer_package, smtlayer_cli):
        folder = Path(package.__file__).parent
        shutil.copytree(folder, tmp_path / folder.name)
    compileall.compile_dir(tmp_path, quiet=1, legacy=True)
    for source in tmp_path.rglob("*.py"):
        source.unlink()
    code = """
from smtlayer.nn import parse_rule
from smtlayer_cli.errors import exit_code_of
import smtlayer
assert smtlayer.__file__.endswith(".pyc")
print(exit_code_of(lambda: parse_rule("nonsense")))
"""
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    assert python(code, PYTHONPATH=path).stdout == "2\n"


def test_an_installation_that_cannot_be_imported_is_one_line(tmp_path):
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so is missing')")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = smtlayer_process("lab", "x.smt2", PYTHONPATH=path)
    assert done.returncode == 3
    assert done.stderr == (
        "smtlayer: smtlayer cannot be imported (OSError: libtorch.so is missing). "
        "See: smtlayer doctor\n"
    )


def test_what_ends_without_an_error_keeps_its_code(capsys):
    assert exit_code_of(lambda: None) == 0
    assert exit_code_of(lambda: 4) == 4
    assert exit_code_of(raising(SystemExit(None))) == 0
    assert exit_code_of(raising(SystemExit(3))) == 3
    assert exit_code_of(raising(SystemExit("a message"))) == 1
    assert capsys.readouterr().err == "a message\n"
    assert exit_code_of(raising(KeyboardInterrupt())) == 130
    assert exit_code_of(raising(typer.Abort())) == 130


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "No such command 'trian'. Did you mean 'train'? See: smtlayer --help"),
        (["--nonsense"], "No such option: --nonsense"),
        (["train", "--epochs", "-3"], "Invalid value for '--epochs'"),
        (["bench", "nonsense"], "Invalid value for 'PART': 'nonsense' is not one of 'layer'"),
        (["lab"], "Missing argument 'THEORY'. See: smtlayer lab --help"),
        (["reproduce"], "Missing command. See: smtlayer reproduce --help"),
        (["train", "--debug"], "No such option: --debug. It comes before the command"),
    ],
)
def test_wrong_usage_is_one_line_and_code_two(words, message):
    done = smtlayer(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"smtlayer: {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "came"),
    [
        (["train", "x", "--epochs", "-3"], "-3"),
        (["lab", "x", "--lr", "abc"], "abc"),
        (["inspect", "x", "--split", "foo"], "foo"),
    ],
)
def test_wrong_values_are_reported_once(words, came, capsys):
    assert exit_code_of(lambda: app(words, standalone_mode=False)) == ExitCode.USAGE
    assert capsys.readouterr().err.count(came) == 1


def test_what_is_missing_is_one_line_and_code_three_and_debug_shows_the_trace(tmp_path):
    done = smtlayer("evaluate", tmp_path / "nowhere")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"smtlayer: There is no folder {tmp_path}/nowhere. A run is")
    assert done.stderr.count("\n") == 1
    traced = smtlayer("--debug", "evaluate", tmp_path / "nowhere")
    assert traced.returncode == 3
    assert traced.stderr.startswith("Traceback")
    assert traced.stderr.endswith(done.stderr)


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_package_that_is_missing_is_named_with_its_extra(package, tmp_path):
    (tmp_path / f"{package}.py").write_text(f"raise ImportError('none', name='{package}')")
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    done = smtlayer_process("--help", PYTHONPATH=path)
    assert done.returncode == 3
    assert done.stderr == (
        f"smtlayer: The command line needs the {package} package. "
        'Install it with: pip install ".[cli]" # in a checkout of smtlayer\n'
    )


def test_plots_without_matplotlib_name_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plot = ("--plot", tmp_path / "plot.png")
    done = smtlayer("lab", "mnist-addition-10", "--seeds", "1", "--steps", "1", *plot)
    assert done.returncode == 3
    assert "smtlayer: " in done.stderr
    assert 'pip install ".[cli]"' in done.stderr


def test_a_theory_that_cannot_be_read_is_code_one(tmp_path):
    (tmp_path / "bad.smt2").write_text("(assert (oops")
    done = smtlayer("lab", tmp_path / "bad.smt2", "--inputs", "a", "--outputs", "b")
    assert done.returncode == 1
    assert re.fullmatch(r"smtlayer: Theory.from_smtlib: .* at line \d.*\n", done.stderr)


def test_a_bug_is_one_line_and_code_seventy_and_debug_shows_the_trace(monkeypatch):
    def broken():
        raise KeyError("what\nnobody foresaw")

    monkeypatch.setattr("smtlayer.solvers.store.default_store", broken)
    done = smtlayer("cache", SMTLAYER_DEBUG=None)
    assert done.returncode == 70
    assert done.stderr == (
        r"smtlayer: KeyError: 'what\nnobody foresaw'. This is a bug in smtlayer. Run again with "
        "--debug and report what it shows.\n"
    )
    for done in (
        smtlayer("--debug", "cache", SMTLAYER_DEBUG=None),
        smtlayer("cache", SMTLAYER_DEBUG="1"),
    ):
        assert done.returncode == 70
        assert done.stderr.startswith("Traceback (most recent call last):\n")
        assert "in broken\n" in done.stderr
        assert done.stderr.splitlines()[-1].endswith("The trace is above: report what it shows.")


@pytest.mark.parametrize(
    "words", [["--help"], pytest.param(["cache"], marks=pytest.mark.slow), ["--version"]]
)
def test_a_reader_that_goes_away_is_no_error(words):
    command = [*COMMAND, *words]
    with running(command) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(600) == 141


@pytest.mark.parametrize(
    "line",
    [
        "--help >&-",
        "--help 2>&- | grep -q train",
        "--version >&- 2>&-",
        pytest.param("cache >&- 2>&-", marks=pytest.mark.slow),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="streams are closed in the words of a POSIX shell")
def test_streams_that_are_closed_are_no_error(line):
    whole = f"{shlex.join(COMMAND)} {line}"
    done = subprocess.run(whole, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("columns", "width"),
    [("0", 80), ("-3", 80), ("wide", 80), ("²", 80), ("1", 20), ("19", 20), ("20", 20), ("97", 97)],
)
def test_tables_have_a_width_whatever_columns_says(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((80, 24)))
    assert exit_code_of(lambda: Console().width) == width


def test_a_terminal_that_is_too_narrow_counts_as_wider(monkeypatch):
    monkeypatch.setenv("COLUMNS", "")
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((3, 24)))
    assert exit_code_of(lambda: Console().width) == 20


def test_narrow_output_is_no_bug():
    done = smtlayer("cache", COLUMNS="1")
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_without_a_trace():
    done = python(INTERRUPTED)
    # Where it hits code that torch runs from C, Python ends itself by that signal: a shell shows
    # 130 for both.
    assert done.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in done.stderr


def test_ctrl_c_in_the_middle_of_making_something_shows_no_trace_of_it():
    done = python(STOPPED)
    assert done.returncode == 130
    assert done.stderr.strip() == ""
    assert "no attribute 'owner'" in python(STOPPED, SMTLAYER_DEBUG="1").stderr


def test_the_page_lists_every_code():
    listed = dict(re.findall(r"^\| (\d+) \| ([^|]*) \|", PAGE.read_text(), re.M))
    assert listed == {str(int(code)): code.meaning for code in ExitCode}


def test_the_commands_of_the_page_can_be_given():
    blocks = "".join(re.findall(r"```console\n(.*?)```", PAGE.read_text(), re.DOTALL))
    lines = [shlex.split(line, comments=True)[1:] for line in blocks.splitlines()]
    assert len(lines) >= 8
    for words in lines:
        words = [word for word in words if word != "--debug"]
        if words[0] != "--install-completion":
            parsed(*words)


def test_the_page_tells_every_variable_that_is_read():
    folders = [PAGE.parents[2] / part for part in ("src", "studies", "apps", "benchmarks")]
    source = "".join(path.read_text() for folder in folders for path in folder.rglob("src/**/*.py"))
    source += "".join(path.read_text() for path in folders[0].rglob("*.py"))
    read = set(re.findall(r"environ(?:\.get\(|\[)\"(SMTLAYER_\w+)\"", source))
    assert len(read) >= 5
    printed = set(re.findall(r"^\| `(SMTLAYER_\w+)` \|", PAGE.read_text(), re.M))
    assert printed == read


def test_every_link_of_the_page_leads_somewhere():
    for link in re.findall(r"\]\(([^)#]+)", PAGE.read_text()):
        assert (PAGE.parent / link).exists(), link
