"""The help of the command line: complete, plain, and without importing torch."""

import json
import re
import shlex
from inspect import signature

import pytest
import typer

from shell import parsed, python, smtlayer
from smtlayer.lab.laboratory import LabOptions
from smtlayer.nn.rules.parse import RULES
from smtlayer_cli import complete
from smtlayer_cli.app import app
from smtlayer_cli.errors import ExitCode
from smtlayer_cli.lab import lab
from smtlayer_cli.plugins import EXTRA_OF, Panel, plugins
from smtlayer_studies.commands import complete as studies
from smtlayer_studies.runs import experiment_names, load_experiment
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.registry import find_lab_problems

COMMANDS = [command for plugin in plugins() for command in plugin.commands]
NAMES = [command.name for command in COMMANDS]
HEAVY = ("torch", "z3", "numpy", "matplotlib", "smtlayer")


@pytest.fixture(scope="module")
def page():
    return smtlayer("--help").stdout


def test_all_eleven_commands_are_found():
    assert set(NAMES) == {"doctor", "lab", "cache", *EXTRA_OF}
    assert len(NAMES) == 11


def test_the_page_lists_every_command_under_its_heading_with_its_line(page):
    for one in COMMANDS:
        under = page.partition(f"\n{one.panel}:\n")[2].partition("\n\n")[0]
        assert re.search(rf"^  {one.name} +{re.escape(one.help)}$", under, re.M), one.name


def test_the_page_has_examples_environment_exit_codes_and_where_to_read_on(page):
    headings = re.findall(r"^(\w[\w ]*):$", page, re.M)
    rest = ["Options", "Examples", "Environment", "Exit codes", "More"]
    assert headings == [*Panel, *rest]
    for name in ("SMTLAYER_DATA", "SMTLAYER_CACHE", "SMTLAYER_DOWNLOAD", "SMTLAYER_DEBUG"):
        assert f"  {name} " in page
    for code in ExitCode:
        assert re.search(rf"^  {int(code)} +{re.escape(code.meaning)}$", page, re.M)
    assert page.count("\n  smtlayer ") >= 3
    assert "docs/how-to/command-line.md" in page


@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(columns):
    for command in ((), ("train",), ("evaluate",), ("lab",), ("reproduce", "table1")):
        lines = smtlayer(*command, "--help", COLUMNS=str(columns)).stdout.splitlines()
        for line in lines:
            assert len(line) <= min(columns, 100) or line.startswith("      smtlayer "), line


def test_options_are_listed_by_panel():
    page = smtlayer("train", "--help").stdout
    assert re.findall(r"^(\w[\w ]*):$", page, re.M) == [
        "Arguments", "Options", "The layer", "Data and files"
    ]  # fmt: skip
    layer = page.partition("\nThe layer:\n")[2].partition("\n\n")[0]
    assert "--backward RULE" in layer
    assert "--data-dir" not in layer


def test_no_command_at_all_shows_the_page(page):
    done = smtlayer()
    assert (done.returncode, done.stdout.strip()) == (0, page.strip())
    assert smtlayer("-h").stdout == page


def test_the_page_needs_neither_torch_nor_a_solver():
    assert loaded_by("--help") == []
    assert loaded_by("--version") == []


def test_the_page_needs_few_modules():
    code = """
import contextlib, io, sys
sys.argv = ["smtlayer", "--help"]
from smtlayer_cli.__main__ import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main()
print(len(sys.modules), {"rich.console", "pydantic", "tomllib"} & set(sys.modules))
"""
    count, others = python(code).stdout.split(maxsplit=1)
    assert int(count) < 300
    assert others == "set()\n"


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
        command = root.commands[name].imported()
        inner = getattr(command, "commands", None)
        yield from inner.items() if inner else [(name, command)]


def examples():
    for _, command in contexts():
        yield from (command.help or "").partition("Examples:\n\n\b\n")[2].splitlines()
    for plugin in plugins():
        yield from (line for line, _ in plugin.examples)


def test_every_example_can_be_given():
    found = list(examples())
    assert len(found) >= 20
    for line in found:
        words = shlex.split(line)
        parsed(*words[words.index("smtlayer") + 1 :])  # a variable may stand before it


def test_every_command_shows_examples():
    for name, command in contexts():
        assert "Examples:\n\n\b\n    smtlayer " in command.help, name


def test_every_option_of_a_command_has_a_help_text():
    for name, command in contexts():
        for param in command.params:
            assert param.help, f"{name}: {param.name}"


def test_the_defaults_of_lab_are_those_of_the_library():
    options, given = LabOptions(), signature(lab).parameters
    for name in ("steps", "lr", "late_lr", "noise"):
        assert given[name].default.default == getattr(options, name)


def test_completion_offers_what_the_library_knows():
    assert complete.rules("") == list(RULES)
    assert complete.problems("") == list(find_lab_problems())
    assert ", ".join(find_lab_problems()) in signature(lab).parameters["theory"].default.help


def test_completion_offers_what_the_studies_know():
    short = {"digit-problem", "long-addition", "mnist-addition", "visual-algebra", "visual-sudoku"}
    assert {*studies.experiments("")} - short == {*experiment_names()}
    assert all(load_experiment(name) for name in studies.experiments(""))
    for name in experiment_names():
        context = typer.Context(typer.main.get_command(app))
        context.params = {"experiment": name}
        assert tuple(studies.methods(context, "")) == load_experiment(name).methods
    assert {*studies.datasets("")} == {"all"} | {f.dataset for f in FILES.values() if f.urls}
