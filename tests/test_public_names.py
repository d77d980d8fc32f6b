"""What `import smtlayer` offers, and which modules it imports."""

import json
import re
import subprocess
import sys
from pathlib import Path

import smtlayer
from smtlayer import errors

PAGES = Path(__file__).parents[1] / "docs" / "api"


def imported_by(code, *before):
    """The modules that a line imports beyond those that the lines before it import."""
    program = f"""
import json, sys
{"; ".join(before)}
known = set(sys.modules)
{code}
print(json.dumps(sorted(set(sys.modules) - known)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_the_exports_are_what_the_api_pages_show():
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(PAGES.glob("*.md")))
    shown = set(re.findall(r"^::: smtlayer\.(\w+)$", text, re.M)) - {"errors"}
    exported = set(smtlayer.__all__)
    assert "::: smtlayer.errors\n" in text
    assert exported - set(vars(errors)) == shown
    assert {"SMTLayer", "Theory", "Auto", "TheoryError"} <= exported
    for name in smtlayer.__all__:
        assert getattr(smtlayer, name).__name__ == name


def test_importing_costs_no_more_modules_than_torch_and_the_solvers():
    before = ("import torch", "import z3", "import pysat.solvers")
    found = imported_by("from smtlayer import SMTLayer", *before)
    assert "smtlayer.nn.layer" in found
    others = {name.partition(".")[0] for name in found} - {"smtlayer"}
    assert others <= {"numpy", "pysat", "pycard"}  # parts of what is loaded already
    assert len(found) <= 150


def test_importing_leaves_the_compiler_and_optional_packages_alone():
    found = imported_by("import smtlayer")
    assert "torch" in found
    heavy = ("torch._dynamo", "torch._inductor", "matplotlib", "mlxtend", "typer", "smtlayer_")
    assert not [name for name in found if name.startswith(heavy)]


def test_the_check_of_imports_sees_an_import():
    assert "fractions" in imported_by("import fractions", "import json")
    assert imported_by("import json", "import json") == []
