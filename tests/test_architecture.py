"""The tree is the path of the data, and stays small."""

import ast
from pathlib import Path

import pytest

import smtlayer

SOURCE = Path(smtlayer.__file__).parent
# Each package may import those before it, and itself.
PATH = [
    "errors", "plain", "interrupts", "forks", "theory", "solvers", "nn", "tasks", "training",
    "bench", "reports", "playground", "cli",
]  # fmt: skip
# `Theory.check` asks solvers about a theory, inside the method; see the comment there.
EXCEPTIONS = {("theory/theory.py", "solvers")}
FILES = sorted(SOURCE.rglob("*.py"))


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {name.split(".")[1] for name in names if name.startswith("smtlayer.")}
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_left(path):
    relative = path.relative_to(SOURCE)
    package = relative.parts[0].removesuffix(".py")
    if package not in PATH:
        pytest.skip("not part of the path")
    allowed = PATH[: PATH.index(package) + 1]
    wrong = {
        name
        for name in imported_packages(path) - set(allowed)
        if (relative.as_posix(), name) not in EXCEPTIONS
    }
    assert not wrong, f"{relative} imports {sorted(wrong)}"


def test_the_check_of_imports_sees_a_wrong_one(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from smtlayer.nn import SMTLayer\nimport smtlayer.cli.train\n")
    assert imported_packages(wrong) == {"nn", "cli"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            length = (node.body[-1].end_lineno or 0) - first.lineno + 1
            assert length <= 40, f"{node.name} has {length} lines"


def test_nothing_happens_at_import():
    import subprocess
    import sys

    heavy = ("matplotlib", "typer", "mlxtend")
    code = f"import sys, smtlayer; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_a_star_import_leaves_the_package_z3_alone():
    names: dict[str, object] = {}
    exec("import z3\nfrom smtlayer.solvers import *\nfrom smtlayer import *", names)
    assert hasattr(names["z3"], "BitVec")
    assert "SMTLayer" in names
