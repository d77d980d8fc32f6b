"""Commands are found through entry points; an installation may lack some of them."""

import json
import re
import tomllib
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from shell import python, smtlayer
from smtlayer_cli import plugins
from smtlayer_cli.plugins import EXTRA_OF, GROUP, Check, Command, Panel, Plugin
from smtlayer_studies.tasks import registry

ROOT = Path(__file__).parents[2]
PROJECTS = {
    "smtlayer": ROOT,
    "studies": ROOT / "studies",
    "playground": ROOT / "apps" / "playground",
    "benchmarks": ROOT / "benchmarks",
}
ALONE = """
import sys
import importlib.metadata as metadata
everything = metadata.entry_points
metadata.entry_points = lambda **q: [e for e in everything(**q) if e.name == "smtlayer"]
from smtlayer_cli.__main__ import main
sys.argv = ["smtlayer", *{words!r}]
main()
"""


def alone(*words):
    """What an installation without the studies prints."""
    return python(ALONE.format(words=words), NO_COLOR="1", COLUMNS="80")


@pytest.fixture
def entries(monkeypatch):
    """Replaces the entry points, not those that the registry of tasks has imported by name."""
    assert registry.entry_points is metadata.entry_points

    def use(**targets):
        found = [EntryPoint(name, target, GROUP) for name, target in targets.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: found)
        plugins.plugins.cache_clear()

    yield use
    plugins.plugins.cache_clear()


@pytest.mark.parametrize("name", PROJECTS)
def test_each_distribution_names_its_plugin(name):
    project = tomllib.loads((PROJECTS[name] / "pyproject.toml").read_text())["project"]
    ((entry, target),) = project["entry-points"][GROUP].items()
    assert entry == name
    assert isinstance(EntryPoint(entry, target, GROUP).load(), Plugin)


def test_plugins_import_neither_torch_nor_the_library():
    code = """
import json, sys
from smtlayer_cli.plugins import plugins
found = plugins()
print(json.dumps([len(found), [n for n in ("torch", "smtlayer", "typer") if n in sys.modules]]))
"""
    assert json.loads(python(code).stdout) == [4, []]


def test_without_the_studies_the_page_lists_what_is_there():
    page = alone("--help").stdout
    assert re.findall(r"^  (doctor|lab|cache|train|demo|bench) ", page, re.M) == [
        "doctor", "lab", "cache"
    ]  # fmt: skip
    assert "SMTLAYER_DATA" not in page


@pytest.mark.parametrize("name", EXTRA_OF)
def test_a_command_that_is_not_installed_is_one_line_with_its_remedy(entries, name):
    entries(smtlayer="smtlayer_cli.builtin:plugin")
    done = smtlayer(name, "--help")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"smtlayer: {name} is not part of this installation. Install it")
    assert f'pip install ".[{EXTRA_OF[name]}]" ./studies ./benchmarks' in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_the_studies_lab_takes_files_only():
    assert "An SMT-LIB 2 file.  [required]" in alone("lab", "--help").stdout
    done = alone("lab", "nothing.smt2")
    assert done.returncode == 2
    assert "expects an SMT-LIB 2 file. Got 'nothing.smt2', and there is no such" in done.stderr


def test_a_broken_plugin_is_reported_and_the_others_work(entries, capsys):
    entries(broken="no_such_module:plugin", smtlayer="smtlayer_cli.builtin:plugin")
    assert len(plugins.plugins()) == 1
    assert capsys.readouterr().err == (
        "smtlayer: The plugin no_such_module:plugin is broken: No module named 'no_such_module'.\n"
    )


def greet():
    """Greet."""
    print("hello")


def problem(name):
    raise AssertionError(name)


mine = Plugin(
    commands=(Command("greet", Panel.LOOK, "Greet the user.", f"{__name__}:greet"),),
    examples=(("smtlayer greet", "See a greeting."),),
    environment=(("GREETING", "The greeting."),),
    checks=(Check("Mine", "mine", greet),),
    lab_problems={"mine": problem},
)


def test_a_plugin_of_another_distribution_is_taken(entries):
    from smtlayer_cli.complete import problems
    from smtlayer_cli.doctor import all_checks

    entries(mine=f"{__name__}:mine", smtlayer="smtlayer_cli.builtin:plugin")
    page = smtlayer("--help").stdout
    assert "Look at results:\n  greet   Greet the user.\n" in page
    assert "  smtlayer greet\n        See a greeting.\n" in page
    assert "  GREETING        The greeting.\n" in page
    assert smtlayer("greet").stdout == "hello\n"
    assert problems("m") == ["mine"]
    assert "mine" in [check.name for check in all_checks()]
