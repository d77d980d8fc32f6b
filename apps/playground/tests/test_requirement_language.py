"""The language of requirements: what each construct means, and what each error says."""

import contextlib
import io
import itertools

import pytest
import torch

from smtlayer import SMTLayer, Status
from smtlayer_playground.errors import PlaygroundError, TooBigError
from smtlayer_playground.limits import Limits
from smtlayer_playground.program import program
from smtlayer_playground.requirement_text import read

N = "n, m in 0..3\n"
T = "s, t in O/B/I\n"
CONSTRUCTS = [
    ("a", lambda a: a),
    ("not (a and b)", lambda a, b: not (a and b)),
    ("a or b and c", lambda a, b, c: a or (b and c)),
    ("a implies b", lambda a, b: not a or b),
    ("a or b implies not c", lambda a, b, c: not (a or b) or not c),
    ("a implies b implies c", lambda a, b, c: not (a and b) or c),
    ("(a implies b) and (b implies a)", lambda a, b: a == b),
    ("a == (b and c)", lambda a, b, c: a == (b and c)),
    ("a != b", lambda a, b: a != b),
    ("exactly(1, a, b, c)", lambda a, b, c: a + b + c == 1),
    ("exactly(1, a implies b, c)", lambda a, b, c: (not a or b) + c == 1),
    ("at_most(1, a, b, not c)", lambda a, b, c: a + b + (not c) <= 1),
    ("at_least(2, a, b, c)", lambda a, b, c: a + b + c >= 2),
    ("a  # not b", lambda a: a),
    ("# nothing\n\n  a or b", lambda a, b: a or b),
    ("a or b\na or b", lambda a, b: a or b),
    ("a or\u00a0größe", lambda a, größe: a or größe),
    (N + "n + m <= 3", lambda n, m: n + m <= 3),
    (N + "2 * (n - m) > -1", lambda n, m: 2 * (n - m) > -1),
    (N + "3 - n - (1 - m) != 2", lambda n, m: 3 - n - (1 - m) != 2),
    (N + "-n + m == 0 or a", lambda n, m, a: n == m or a),
    (N + "1 <= n < m", lambda n, m: 1 <= n < m),
    (N + "3 >= n + 2", lambda n, m: n <= 1),
    (N + "all_different(n, m)", lambda n, m: n != m),
    (N + "a == (n >= 2)", lambda n, m, a: a == (n >= 2)),
    ("k in 1/2/4\nk != 2", lambda k: k != 2),
    (T + 's == "B"', lambda s, t: s == "B"),
    (T + "'I' != t", lambda s, t: t != "I"),
    (T + "s == t", lambda s, t: s == t),
    (T + "all_different(s, t)", lambda s, t: s != t),
    (T + 'matches(s, t, "(O|BI*)*")', lambda s, t: s != "I" and not (s == "O" and t == "I")),
    (T + 'matches(t, "#|B")  # a comment', lambda s, t: t == "B"),
    ("a == (n == 2)\nn in 1..3", lambda n, a: a == (n == 2)),
]  # fmt: skip


def arguments_of(predicate):
    return predicate.__code__.co_varnames[: predicate.__code__.co_argcount]


@pytest.mark.parametrize(
    ("text", "predicate"), CONSTRUCTS, ids=[text[:40] for text, _ in CONSTRUCTS]
)
def test_each_construct_means_the_same_as_in_python(text, predicate):
    theory = read(text, Limits()).theory
    names = arguments_of(predicate)
    assert {symbol.name for symbol in theory.input_symbols} == set(names)
    values = {symbol.name: symbol.values for symbol in theory.input_symbols}
    rows = list(itertools.product(*(values[name] for name in names)))
    columns = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    status = SMTLayer(theory, backend="table").solver.solve(theory.encode(**columns)).status
    expected = [Status.SAT if predicate(*row) else Status.UNSAT for row in rows]
    assert status.tolist() == expected


def run(text):
    """The variables of a program that was executed."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "program", "exec"), names)
    return names


@pytest.mark.parametrize(
    "text",
    [
        *(text for text, _ in CONSTRUCTS),
        "output y\noutput z in 0..3\na implies z == 2\ny == a",
        "layer or theory_ or theory or print or torch",
        'x in A/B\nx == "A"\n"B" != x',
        "c 1 car\nc 3 if\np cnf 3 2\n1 -2 0\n2 3 0",
        "1 -2 0 2 3 0",
    ],
    ids=lambda text: text[:40],
)
def test_the_program_builds_the_same_theory(text):
    found = read(text, Limits())
    n = found.theory.n_inputs
    for weighed, logits, given in (
        (True, torch.arange(1, n + 1).float(), torch.zeros(n, dtype=torch.bool)),
        (False, torch.zeros(n), torch.arange(n) == 0),
    ):
        names = run(program(found, logits, given, weighed=weighed))
        assert names["theory"] == found.theory
        assert names["theory"].constraint_names == found.theory.constraint_names
        assert names["logits"].equal(logits)
        assert ("marginals" in names) == weighed


def test_names_and_clauses_of_dimacs():
    found = read("c 1 car\nc 2 parked\nc options: 3\np cnf 3 2\n1 -2\n0 2 3 0\n", Limits())
    assert found.theory.input_names == ("car", "parked", "x3")
    assert found.labels == ["car or not parked", "parked or x3"]
    assert read("c or d", Limits()).labels == ["c or d"]  # not a comment


def test_a_pattern_is_a_constraint_without_its_text_as_name():
    found = read('t in A/B\nmatches(t, "A|B")\nt == "A"', Limits())
    assert found.theory.constraint_names == ("line 2", 't == "A"')
    assert found.labels == ['matches(t, "A|B")', 't == "A"']


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "There is no requirement yet. Type one per line"),
        ("# only a comment", "There is no requirement yet"),
        ("a\nb and", r"Line 2: 'b and' cannot be read. Write requirements as in: not \(red"),
        ("a implies", "'a implies' cannot be read"),
        ("implies(a, b)", "cannot be read. Write requirements as in"),
        ("a => b", "Write 'implies' for '=>'"),
        ("a -> b", "Write 'implies' for '->'"),
        ("a && b", "Write 'and' for '&&'"),
        ("a || b", r"Write 'or' for '\|\|'"),
        ("a = b", "Write '==' for '='"),
        ("!a", "Write 'not' for '!'"),
        ("if a: b", "Write 'A implies B' for 'if A: B'"),
        ("a & b", "Line 1: 'a & b' is not part of the language. Write 'and'"),
        ("~a", "'~a' is not part of the language. Write 'not'"),
        ("a, b", r"'\(a, b\)' is not part of the language. Write one per line"),
        ("a if b else c", "Write 'A implies B'"),
        ("a[0]", "'a\\[0\\]' is not part of the language. Use and, or, not, implies"),
        ("a in ('x', 'y')", "Values are declared on a line of their own, as in: hours in 0..5"),
        ("a is b", "Write =="),
        ("True", "'True' is not a constant of the language. Write whole numbers up to 1,000,000"),
        ("n in 0..3\nn <= 9999999", "'9999999' is not a constant"),
        ("hours <= 3", "'hours' is used as a number, but it is not declared. Add a line such"),
        ("hours in 0..3\nhuors <= 3", "not declared. Did you mean 'hours'?"),
        ("tag == 'B'", "'tag' is used as a value, but it is not declared. .* tag in A/B/C"),
        ("tag in O/B\ntag == 'C'", "'C' is not a value of 'tag'. Its values: O, B."),
        ("tag in north/south\ntag == 'nort'", "Did you mean 'north'?"),
        ("tag in O/B\ntag", "Line 2: 'tag' is a value. Expected true or false. Compare it"),
        ("n in 0..5\nn", "'n' is a number. Expected true or false. Compare it, as in: hours <= 8"),
        ("n in 0..5\nn + (a or b) <= 3", "Expected a number. Count conditions by a function"),
        ("t in O/B\nt + 1 <= 3", "'t' is a value. Expected a number. Only numbers can be added"),
        ("t in O/B\nt == (a or b)", "Expected a value. Write values in quotes"),
        ("n in 0..3\nn == '2'", "compares a number with a value in quotes"),
        ("n, m in 0..3\nn * m <= 3", r"'n \* m' multiplies two symbols. Multiply by a number"),
        ("a < b", "compares by < what has no order. Write == or !="),
        ("1 < 2", "'1 < 2' has no name in it. Compare a symbol"),
        ("exact(1, a)", "There is no function 'exact'. Did you mean 'exactly'?"),
        ("f(a)", "There is no function 'f'. Functions: exactly, at_most"),
        ("exactly", "'exactly' is a word of the language, not a name. Write it as in: exactly"),
        ("exactly(1)", r"'exactly\(1\)' cannot be read. Write it as in: exactly\(1, red"),
        ("exactly(3, a, b)", "exactly begins with a whole number from 0 to 2, .* Got '3'"),
        ("at_most(a, b)", "at_most begins with a whole number from 0 to 1"),
        ("all_different(a, b)", "all_different takes declared symbols, either all numbers or"),
        ("n in 0..3\nall_different(n, 2)", "all_different takes declared symbols"),
        ("matches(a, 'x')", "matches takes symbols with declared values. Got 'a'"),
        ("t in O/B\nmatches(t, 3)", "matches ends with a pattern in quotes. Got '3'"),
        ("t in O/BB\nmatches(t, 'O')", "Got the value 'BB' of 't'. Declare values of one char"),
        ("t in O/B\nmatches(t, '(O')", "Line 2: matches expects a regular expression"),
        ("t in O/B\nmatches(t, 'OO')", "Line 2: matches: words that match 'OO' have 2 letters"),
        ("n in 0..900\nn <= 3", "'0..900' must contain 2 to 64 numbers"),
        ("n in 5\nn <= 3", "'5' must be two or more different values"),
        ("t in A/A\nt == 'A'", "'A/A' must be two or more different values"),
        ("t in A B/C\nt == 'A'", "'A B/C' are not values. Declare them as in: hours in 0..5, or"),
        ("a b in 0..3\na <= b", "'a b' is not a name. Declare symbols as in: tag1, tag2 in O/B/I"),
        ("matches in 0..3\na", "'matches' is not a name"),
        ("n in 0..3\nn in 0..4\nn <= 3", "Line 2: 'n' is declared more than once. Delete one"),
        ("output a\na", "All symbols are outputs. Declare fewer of them as output"),
    ],
)  # fmt: skip
def test_each_error_says_where_and_what_to_do(text, words):
    with pytest.raises(PlaygroundError, match=words):
        read(text, Limits()).theory  # noqa: B018


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n, m in 0..9\nn <= m", "The symbols have 20 columns. This page allows at most 12"),
        ("p cnf 13 1\n1 13 0", "The clauses have 13 variables. This page allows at most 12"),
    ],
)
def test_the_number_of_columns_is_limited(text, words):
    with pytest.raises(TooBigError, match=words):
        read(text, Limits(columns=12))
