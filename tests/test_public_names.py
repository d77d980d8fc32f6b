"""What `import smtlayer` offers, and which modules it imports."""

import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import smtlayer
from smtlayer import errors

PAGES = Path(__file__).parents[1] / "docs" / "api"


@functools.cache
def imported_by(*lines):
    """The modules that each line imports beyond those before it, in one new process."""
    program = "import json, sys\nknown = [set(sys.modules)]\n"
    program += "".join(f"{line}\nknown.append(set(sys.modules))\n" for line in lines)
    program += "pairs = zip(known, known[1:])\n"
    program += "print(json.dumps([sorted(after - before) for before, after in pairs]))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


IMPORTS = ("import torch, z3, pysat.solvers", "from smtlayer import SMTLayer")


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
    _, found = imported_by(*IMPORTS)
    assert "smtlayer.nn.layer" in found
    others = {name.partition(".")[0] for name in found} - {"smtlayer"}
    assert others <= {"numpy", "pysat", "pycard"}  # parts of what is loaded already
    assert len(found) <= 150


def test_importing_leaves_the_compiler_and_optional_packages_alone():
    found = [name for names in imported_by(*IMPORTS) for name in names]
    assert {"torch", "smtlayer"} <= set(found)
    heavy = ("torch._dynamo", "torch._inductor", "matplotlib", "mlxtend", "typer", "smtlayer_")
    assert not [name for name in found if name.startswith(heavy)]


def test_the_check_of_imports_sees_an_import():
    _, new, known = imported_by("import json", "import fractions", "import json")
    assert "fractions" in new
    assert known == []
