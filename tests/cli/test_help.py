"""Help reads like a page, in any terminal, and comes before anybody gets impatient."""

import json
import re
import shlex
from inspect import signature

import pytest
import typer

from shell import python, smtlayer
from smtlayer.lab.laboratory import LabOptions
from smtlayer.nn.rules.parse import RULES
from smtlayer_cli import COMMANDS, app, complete
from smtlayer_cli.errors import MEANINGS
from smtlayer_cli.help import Section, print_page
from smtlayer_cli.lab import lab
from smtlayer_studies.runs import experiment_names, load_experiment
from smtlayer_studies.tasks.data import FILES
from smtlayer_studies.tasks.lab_problems import LAB_TASKS

NAMES = [one.name for one in COMMANDS]
HEAVY = ("torch", "z3", "numpy", "matplotlib")


@pytest.fixture(scope="module")
def page():
    return smtlayer("--help").stdout


def test_the_page_lists_every_command_under_its_heading_with_its_line(page):
    for one in COMMANDS:
        under = page.partition(f"\n{one.panel}\n")[2].partition("\n\n")[0]
        assert re.search(rf"^  {one.name} +{re.escape(one.line)}$", under, re.M), one.name


def test_the_page_tells_examples_environment_exit_codes_and_where_to_read_on(page):
    headings = re.findall(r"^(\w[\w ]*)$", page, re.M)
    assert headings[-5:] == ["Options", "Examples", "Environment", "Exit codes", "More"]
    for name in ("SMTLAYER_DATA", "SMTLAYER_CACHE", "SMTLAYER_DOWNLOAD", "SMTLAYER_DEBUG"):
        assert f"  {name} " in page
    for code, meaning in MEANINGS.items():
        assert re.search(rf"^  {int(code)} +{re.escape(meaning)}$", page, re.M)
    assert page.count("\n  smtlayer ") >= 3
    assert "docs/how-to/command-line.md" in page


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(columns):
    for command in ((), ("train",), ("evaluate",), ("lab",), ("reproduce", "table1")):
        for line in smtlayer(*command, "--help", COLUMNS=str(columns)).stdout.splitlines():
            assert len(line) <= min(columns, 100), line


def test_colours_are_for_those_who_want_them():
    assert "\x1b" not in smtlayer("--help", NO_COLOR=None).stdout  # a pipe
    coloured = smtlayer("--help", NO_COLOR=None, FORCE_COLOR="1").stdout
    assert "\x1b[1;33mStart here" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == smtlayer("--help").stdout


def test_no_command_at_all_shows_the_page(page):
    done = smtlayer()
    assert (done.returncode, done.stdout.strip()) == (0, page.strip())
    assert smtlayer("-h").stdout == page


def test_the_page_needs_neither_torch_nor_a_solver():
    assert loaded_by("--help") == []
    assert loaded_by("--version") == []


@pytest.mark.parametrize("command", NAMES)
def test_the_help_of_a_command_needs_neither_torch_nor_a_solver(command):
    assert loaded_by(command, "--help") == []


def loaded_by(*words):
    code = f"""
import json, sys
sys.argv = ["smtlayer", *{words!r}]
from smtlayer_cli.__main__ import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))
"""
    return json.loads(python(code).stdout.splitlines()[-1])


def contexts():
    """Every command with its words, as the command line has them."""
    root = typer.main.get_command(app)
    for name in NAMES:
        command = root.commands[name]
        inner = getattr(command, "commands", None)
        yield from inner.items() if inner else [(name, command)]


def examples():
    for _, command in contexts():
        yield from (command.help or "").partition("Examples:\n\n")[2].split("\n\n")[0].splitlines()
    for line in re.findall(r"^  (smtlayer .*)$", smtlayer("--help").stdout, re.M):
        if "COMMAND" not in line:
            yield line


def test_every_example_can_be_given():
    found = list(examples())
    assert len(found) >= 20
    for line in found:
        words = shlex.split(line)
        words = words[words.index("smtlayer") + 1 :]  # a variable may stand before it
        command = typer.main.get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("smtlayer", words)


def test_every_option_of_a_command_says_what_it_is():
    for name, command in contexts():
        for param in command.params:
            assert param.help, f"{name}: {param.name}"


def test_what_the_words_of_lab_say_is_what_it_does():
    options, given = LabOptions(), signature(lab).parameters
    for name in ("steps", "lr", "late_lr", "noise"):
        assert given[name].default.default == getattr(options, name)
    assert tuple(LAB_TASKS) == complete.LAB_TASKS


def test_what_is_offered_for_completion_is_what_the_library_knows():
    assert {*complete.row_names("")} - {"mnist-addition", "visual-algebra", "visual-sudoku"} == {
        *experiment_names()
    }
    assert all(load_experiment(name) for name in complete.row_names(""))
    for row in experiment_names():
        context = typer.Context(typer.main.get_command(app))
        context.params = {"experiment": row}
        assert tuple(complete.methods(context, "")) == load_experiment(row).methods
    assert complete.rules("") == list(RULES)
    assert {*complete.datasets("")} == {"all"} | {f.dataset for f in FILES.values() if f.urls}


def test_a_text_flows_but_for_what_is_indented(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    text = (
        "One sentence that is longer than a line.\n\n  kept   as it is\n\nExamples:\n\n    do this"
    )
    print_page("Usage: it", text, [Section("Said", (("--x", "What it means."),), left=8)])
    assert capsys.readouterr().out.splitlines() == [
        "Usage: it", "", "One sentence that is longer", "than a line.", "", "  kept   as it is", "",
        "Said", "  --x   What it means.", "", "Examples", "  do this",
    ]  # fmt: skip
