"""The tree is the path of the data, and stays small."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import smtlayer
import smtlayer_benchmarks
import smtlayer_cli
import smtlayer_playground
import smtlayer_studies
from smtlayer_studies.runs import experiment_names
from smtlayer_studies.tasks.data_files import FILES as DATA_FILES

PACKAGES = (smtlayer, smtlayer_cli, smtlayer_studies, smtlayer_benchmarks, smtlayer_playground)
SOURCE = Path(smtlayer.__file__).parent
# Each package of the library may import those before it, and itself.
PATH = [
    "errors", "plain", "interrupts", "forks", "theory", "solvers", "nn",
    "explain", "loop", "portfolio", "lightning", "lab",
]  # fmt: skip
# What each of the other packages may import besides the library and itself.
BESIDE = {
    "smtlayer_cli": set(),
    "smtlayer_studies": {"smtlayer_cli"},
    "smtlayer_benchmarks": {"smtlayer_cli", "smtlayer_studies"},
    "smtlayer_playground": {"smtlayer_cli", "smtlayer_studies"},
}
# `Theory.check` asks solvers about a theory, inside the method; see the comment there.
# So does `SMTLayer.explain` with the package `explain`.
EXCEPTIONS = {
    ("nn/layer.py", "explain"),
    ("theory/theory.py", "solvers"),
    ("__main__.py", "smtlayer_cli"),
}
FILES = sorted(
    path for package in PACKAGES for path in Path(package.__file__ or "").parent.rglob("*.py")
)
LIBRARY = [path for path in FILES if path.is_relative_to(SOURCE)]


def name_of(path: Path) -> str:
    return path.as_posix().rpartition("/src/")[2]


def imported_packages(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        found |= {name.split(".")[1] for name in names if name.startswith("smtlayer.")}
        found |= {name.split(".")[0] for name in names if name.startswith("smtlayer_")}
    return found


@pytest.mark.parametrize("path", LIBRARY, ids=name_of)
def test_imports_point_left(path):
    relative = path.relative_to(SOURCE)
    package = relative.parts[0].removesuffix(".py")
    allowed = PATH[: PATH.index(package) + 1] if package in PATH else [*PATH, package]
    wrong = {
        name
        for name in imported_packages(path) - set(allowed)
        if (relative.as_posix(), name) not in EXCEPTIONS
    }
    assert not wrong, f"{relative} imports {sorted(wrong)}"


@pytest.mark.parametrize("package", BESIDE)
def test_distributions_depend_on_those_before_them(package):
    own = [path for path in FILES if f"/{package}/" in path.as_posix()]
    assert own
    for path in own:
        others = {name for name in imported_packages(path) if name.startswith("smtlayer_")}
        assert others <= BESIDE[package] | {package}, path


def test_the_check_of_imports_sees_a_wrong_one(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("from smtlayer.nn import SMTLayer\nimport smtlayer_studies.commands.train\n")
    assert imported_packages(wrong) == {"nn", "smtlayer_studies"}


def studied_names() -> set[str]:
    """The words in the names of experiments and data sets, without those of plain English."""
    names = {*experiment_names(), *(file.dataset for file in DATA_FILES.values())}
    words = {word for name in names for word in name.split("-")}
    plain = {"addition", "half", "long", "paper", "puzzle", "visual"}
    return {word for word in words if not word.isdecimal()} - plain


@pytest.mark.parametrize("package", [smtlayer, smtlayer_cli], ids=lambda one: one.__name__)
def test_no_experiment_or_data_set_is_named_in_the_library(package):
    names = studied_names()
    assert {"mnist", "sudoku", "liars", "algebra", "hasy"} <= names
    for path in Path(package.__file__ or "").parent.rglob("*.py"):
        words = set(re.findall(r"[a-z]+", path.read_text().lower()))
        assert not words & names, path


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            length = (node.body[-1].end_lineno or 0) - first.lineno + 1
            assert length <= 40, f"{node.name} has {length} lines"


def test_a_star_import_leaves_the_package_z3_alone():
    names: dict[str, object] = {}
    exec("import z3\nfrom smtlayer.solvers import *\nfrom smtlayer import *", names)
    assert hasattr(names["z3"], "BitVec")
    assert "SMTLayer" in names


REPOSITORY = SOURCE.parents[1]
READERS = sorted(
    path
    for folder in ("src", "studies", "apps", "benchmarks", "examples", "docs", "tests")
    for path in (REPOSITORY / folder).rglob("*.py")
    if SOURCE / "theory" not in path.parents
)


def private_attributes(text: str) -> set[str]:
    """Names that classes define with one leading underscore: methods, fields, `self._x = ...`."""
    found: set[str | None] = set()
    for node in (
        n for c in ast.walk(ast.parse(text)) if isinstance(c, ast.ClassDef) for n in ast.walk(c)
    ):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return {name for name in found if name and name.startswith("_") and not name.endswith("__")}


@cache
def private_in_theory() -> set[str]:
    texts = (path.read_text() for path in (SOURCE / "theory").glob("*.py"))
    return set().union(*map(private_attributes, texts))


def read_from_theories(text: str) -> set[str]:
    """Private attributes of theories and symbols that a file reads from anything but `self`."""
    read = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in private_in_theory()
    ]
    own = private_attributes(text) if read else set()
    return {
        ast.unparse(node)
        for node in read
        if not (node.attr in own and ast.unparse(node.value) == "self")
    }


@pytest.mark.parametrize("path", READERS, ids=lambda p: str(p.relative_to(REPOSITORY)))
def test_nothing_outside_reads_what_is_private_to_a_theory(path):
    assert not read_from_theories(path.read_text())


def test_the_check_of_private_attributes_sees_a_reader():
    assert read_from_theories("size = len(solver.theory._archive)") == {"solver.theory._archive"}
    assert read_from_theories("theory.input_symbols[0]._decode(signs)")
    own = "class Mine:\n    _shape: int\n    def size(self):\n        return self.{}"
    assert not read_from_theories(own.format("_shape"))
    assert read_from_theories(own.format("theory._shape"))


def test_the_library_stays_small():
    assert sum(path.read_text().count("\n") for path in LIBRARY) <= 18_900


# Words that stood for plainer ones.
DIALECT = re.compile(
    r"\b_?(told|hangs on|had by|amiss|going back|going forward|who answers)\b|"
    r"\b(def|class) \w*(told|said|looked)\w*\b|^\"\"\"This file",
    re.IGNORECASE | re.MULTILINE,
)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_code_is_in_plain_english(path):
    assert not DIALECT.findall(path.read_text(encoding="utf-8"))


def test_the_check_of_the_language_sees_the_dialect():
    assert DIALECT.search('"""This file lists names."""')
    assert DIALECT.search("def _told(row): ...")
    assert DIALECT.search("# it hangs on the weights")
