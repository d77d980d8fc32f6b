"""Clauses in DIMACS format become theories; errors name the line."""

import copy
import gzip
import itertools
import random
import re

import pytest
import torch
import z3

from smtlayer import Enumerate, Sat, SMTLayer, Status, Theory, TheoryError, UnsatisfiableTheoryError
from smtlayer.theory import dimacs

DIMACS = "c a comment\np cnf 3 2\n1 -2 0\n2 3 0\n"
SAME = {
    "as it is": DIMACS,
    "no header": "1 -2 0\n2 3 0",
    "one line": "1 -2 0 2 3 0",
    "clauses over lines": "p cnf 3 2\n1\n-2 0 2\n\n3\n0",
    "comments anywhere": "c\np cnf 3 2\nc 1 2 0\n1 c here, too\ncomment\n-2 0\n2 3 0 c end",
    "tabs and CRLF": "p\tcnf  3\t2\r\n1\t-2 0\r\n 2 3 0\r\n",
    "the end mark of SATLIB": "p cnf 3 2\n1 -2 0\n2 3 0\n%\n0\n\n",
    "a byte order mark": "\ufeffp cnf 3 2\n1 -2 0\n2 3 0",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_every_way_to_write_the_clauses_is_read(text, tmp_path):
    found = dimacs.read(text)
    assert found.clauses == [[1, -2], [2, 3]]
    assert found.n_variables == 3
    path = tmp_path / "rules.cnf"
    path.write_bytes(text.encode() + b"\nc caf\xe9")  # not UTF-8, as in many old files
    assert dimacs.read(path) == dimacs.read(str(path)) == found


def models(theory):
    """The inputs that the reference backend finds consistent, by trying all."""
    rows = torch.tensor(list(itertools.product((-1, 1), repeat=theory.n_inputs)), dtype=torch.int8)
    found = Enumerate().compile(theory).solve(rows)
    return {tuple(row) for row in rows[found.status == Status.SAT].tolist()}


@pytest.mark.parametrize("seed", range(5))
def test_the_theory_holds_where_all_clauses_do(seed):
    draw = random.Random(seed)
    clauses = [
        [draw.choice((-1, 1)) * x for x in draw.sample(range(1, 6), draw.randint(1, 3))]
        for _ in range(4)
    ]
    text = "\n".join(" ".join(map(str, [*clause, 0])) for clause in clauses)
    theory = Theory.from_dimacs("p cnf 5 4\n" + text)
    expected = {
        row
        for row in itertools.product((-1, 1), repeat=5)
        if all(any(row[abs(x) - 1] * x > 0 for x in clause) for clause in clauses)
    }
    assert models(theory) == expected


def test_every_variable_is_an_input_and_an_output_unless_chosen():
    theory = Theory.from_dimacs("p cnf 4 2\n1 -2 0\n2 3 0\n")
    assert theory.input_names == theory.output_names == ("x1", "x2", "x3", "x4")
    assert theory.unconstrained == ("x4",)
    assert str(theory.constraints) == "(Or(x1, Not(x2)), Or(x2, x3))"
    chosen = Theory.from_dimacs(DIMACS, inputs=[3, "x1"], outputs=range(2, 3))
    assert chosen.input_names == ("x3", "x1")
    assert chosen.output_names == ("x2",)
    found = Sat().compile(chosen).solve(torch.tensor([[-1, -1]], dtype=torch.int8))
    assert found.status.tolist() == [Status.UNSAT]  # x3 or x2, and x2 needs x1


def test_variables_have_names():
    theory = Theory.from_dimacs(DIMACS, ["car", "a bus", "let"], inputs=["let", 1])
    assert theory.input_names == ("let", "car")
    assert theory.output_names == ("car", "a bus", "let")
    assert Theory.from_dimacs(DIMACS, {2: "bus"}).input_names == ("x1", "bus", "x3")
    again = copy.deepcopy(theory)
    assert again == theory
    assert again.output_names == theory.output_names
    assert Theory.from_smtlib(theory.to_smtlib(), ["let"], ["car"]).n_inputs == 1
    assert theory != Theory.from_dimacs(DIMACS)


def test_an_empty_clause_contradicts_itself():
    theory = Theory.from_dimacs("p cnf 2 2\n1 2 0\n0\n")
    assert str(theory.constraints) == "(Or(x1, x2), False)"
    with pytest.raises(UnsatisfiableTheoryError, match="Constraint 1 already contradicts itself"):
        SMTLayer(theory)


def test_repeated_literals_tautologies_and_no_clauses_are_fine():
    assert len(models(Theory.from_dimacs("1 1 0 2 -2 0"))) == 2
    assert len(models(Theory.from_dimacs("p cnf 2 0"))) == 4


WRONG = {
    "p cnf 2 1\n1 x2 0": "line 2 has 'x2'. Expected numbers, with a 0 after each clause.",
    "p cnf 2 1\n1 2.5 0": "line 2 has '2.5'. Expected numbers",
    "p cnf 2 1\n1 2\n": "the clause that begins in line 2 has no 0 at its end. Add it, or",
    "p cnf 2 1\n1 0\n\n2 3 0": "line 4 has the variable 3, and the header in line 1 announces 2 "
    "variables. If the clauses are right, correct the header, or delete it",
    "c\np cnf 2 3\n1 0\n2 0": "the header in line 2 announces 3 clauses. Got 2. Add what is",
    "p cnf 2 1\n1 0\n2 0": "the header in line 1 announces 1 clauses. Got 2.",
    "p cnf 2\n1 0": "line 1 has 'p cnf 2'. Expected 'p cnf VARIABLES CLAUSES'.",
    "p wcnf 2 1 9\n9 1 0": "line 1 has 'p wcnf 2 1 9'. Expected 'p cnf VARIABLES CLAUSES'.",
    "p cnf 2 -1\n1 0": "line 1 has 'p cnf 2 -1'. Expected",
    "p cnf 1 1\n1 0\np cnf 1 1": "line 3 has 'p cnf 1 1'. Expected the header once, before all",
    "\n(declare-const a Bool)": "line 2 has '(declare-const'. Expected numbers, with a 0 after "
    "each clause. This looks like SMT-LIB: use Theory.from_smtlib.",
    "1 99999999999999999999 0": "line 1 has '99999999999999999999'. Expected at most 10,000,000 va",
    "p cnf 99999999999999 1\n1 0": "line 1 has '99999999999999'. Expected at most 10,000,000 va",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_name_the_line(text):
    with pytest.raises(TheoryError, match=re.escape(f"Theory.from_dimacs: {WRONG[text]}")):
        Theory.from_dimacs(text)


OPTIONS = [
    ({"names": ["a"]}, "names must list one name for each of the 3 variables, or be a mapping"),
    ({"names": "abc"}, "names must list one name for each of the 3 variables"),
    ({"names": ["a", "b", 3]}, "the name of variable 3 must be a string. Got 3."),
    ({"names": ["a", "b", "a"]}, "the variables 1 and 3 are both named 'a'. Give each its own"),
    ({"names": {4: "d"}}, "names takes numbers of variables, from 1 to 3. Got 4."),
    ({"names": {1: "and"}}, "the name 'and' has a meaning in SMT-LIB. Choose another name."),
    ({"names": {1: "a|b"}}, "the name 'a|b' cannot be written in SMT-LIB 2."),
    ({"inputs": [0]}, "inputs takes numbers of variables, from 1 to 3. Got 0."),
    ({"outputs": [1.0]}, "outputs takes numbers of variables, from 1 to 3. Got 1.0."),
    ({"outputs": ["x4"]}, "no variable is named 'x4'. Names: x1, x2, x3."),
    ({"names": ["car", "bus", "van"], "inputs": ["cat"]}, "'cat'. Did you mean 'car'?"),
    ({"inputs": [1, "x1"]}, "Theory has 'x1' among its inputs more than once."),
    ({"inputs": []}, "Theory needs at least one symbol among its inputs."),
    ({"inputs": "x1"}, "Theory: inputs must be a sequence, such as ['x1']."),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_wrong_names_and_symbols_are_refused(options, message):
    with pytest.raises((TheoryError, TypeError), match=re.escape(message)):
        Theory.from_dimacs(DIMACS, **options)


def test_what_is_no_text_is_a_path(tmp_path):
    with pytest.raises(TheoryError, match=r"there is no file 'rules.cnf', and it is not DIMACS"):
        Theory.from_dimacs("rules.cnf")
    with pytest.raises(TypeError, match=r"expects DIMACS text or a path. Got list"):
        Theory.from_dimacs([[1, 2]])
    with pytest.raises(TheoryError, match="the text is empty"):
        Theory.from_dimacs("")
    with pytest.raises(TheoryError, match="needs at least one symbol"):
        Theory.from_dimacs("c nothing\n")
    packed = tmp_path / "rules.cnf.gz"
    packed.write_bytes(gzip.compress(DIMACS.encode()))
    with pytest.raises(TheoryError, match=r"expects text. Got binary data. Unpack the file first."):
        Theory.from_dimacs(packed)


@pytest.mark.parametrize("given", ["text", "path", "bare"])
def test_dimacs_is_recognised_where_smt_lib_is_expected(given, tmp_path):
    path = tmp_path / "rules.cnf"
    path.write_text(DIMACS)
    script = {"text": DIMACS, "path": path, "bare": "p cnf 1 1\n1 0"}[given]
    message = r"^Theory.from_smtlib expects SMT-LIB 2\. Got DIMACS .* Use Theory\.from_dimacs\("
    with pytest.raises(TheoryError, match=message):
        Theory.from_smtlib(script, ["a"], ["y"])


def test_many_clauses_are_parsed_by_z3_once(monkeypatch):
    parsed = []
    parse = z3.parse_smt2_string
    monkeypatch.setattr(
        z3, "parse_smt2_string", lambda text, **k: parsed.append(text) or parse(text, **k)
    )
    monkeypatch.setattr(z3, "Or", None)  # building terms one by one takes many times as long
    theory = Theory.from_dimacs(
        "".join(f"{i} {i + 1} -{i + 2} 0\n" for i in range(1, 2000)), inputs=[1]
    )
    assert len(theory.constraints) == 1999
    assert len(parsed) == 1
