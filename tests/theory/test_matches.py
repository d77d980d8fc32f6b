"""`matches` accepts exactly the words that `re.fullmatch` accepts."""

import itertools
import random
import re
import string

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import seeds
from smtlayer import Auto, Circuit, Table, Theory, TooLargeError, matches, one_hot
from smtlayer.theory import automaton

ATOMS = ["a", "b", "c", ".", "[ab]", "[^a]", r"\w", "x", "ab", "[b-c]", r"\x61", r"\143", "[]a]"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "{,}", "*?", "+?", "??", "{0,1}?"]
PATTERNS = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, st.one_of(inner, st.just(""))).map(lambda p: f"({p[0]}|{p[1]})"),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=8,
)


def strings(n, values="abc"):
    return [one_hot(z3.String(f"cell{i}"), values) for i in range(n)]


def accepted(cells, formula, words):
    """The words for which the formula is true."""
    found = set()
    for word in words:
        values = [(cell.symbol, z3.StringVal(c)) for cell, c in zip(cells, word, strict=True)]
        if z3.is_true(z3.simplify(z3.substitute(formula, *values))):
            found.add(word)
    return found


def words_of(pattern, n, values="abc"):
    words = map("".join, itertools.product(values, repeat=n))
    return {word for word in words if re.fullmatch(pattern, word)}


def assert_same_words(pattern, n, values="abc"):
    cells, expected = strings(n, values), words_of(pattern, n, values)
    if not expected:
        with pytest.raises(ValueError, match=r"^matches: (no word|words that match) "):
            matches(cells, pattern)
        return
    words = set(map("".join, itertools.product(values, repeat=n)))
    assert accepted(cells, matches(cells, pattern), words) == expected


@settings(max_examples=200, deadline=None)
@given(PATTERNS, st.integers(1, 4))
def test_random_patterns_have_the_words_of_fullmatch(pattern, n):
    assert_same_words(pattern, n)


@pytest.mark.parametrize(
    "pattern",
    [
        "^ab$", r"\Aab\Z", "^ab|ba$", "(?i)A[B-C]", "(?P<first>a)b", "a{1,2}b{0}b?", "(a*)*b?",
        "(?:a?){3}b", "(|a|b){2}", "a{,}b", "{b", "a{1", "[^]a]b", r"[\]a]b", "(a|b)*a(a|b){1}",
        r"\{b", "a{x}|ab", "(?s).b", r"\N{LATIN SMALL LETTER A}b", r"\u0061b", "(?i)(?a)Ab", "b}",
    ],
)  # fmt: skip
def test_the_syntax_of_python(pattern):
    assert_same_words(pattern, 2, "abc{}]")


@pytest.mark.parametrize("pattern", ["a{1,2}b*", "(ab?){2,3}c?", "a{0,3}(b|ab)", "a{,5}b{3}"])
def test_limited_repetitions(pattern):
    assert_same_words(pattern, 5)


@pytest.mark.parametrize("seed", seeds(8, 40))
def test_the_clauses_have_one_model_per_word(seed):
    rng = random.Random(seed)
    pattern = "".join(
        f"({rng.choice(ATOMS)}|{rng.choice(ATOMS)}){rng.choice(REPEATS)}" for _ in range(3)
    )
    n = rng.randint(2, 4)
    count, cells = len(words_of(pattern, n)), strings(n)
    if count:
        theory = Theory(matches(cells, pattern), inputs=cells, outputs=cells)
        assert theory.check().n_models == count


def test_symbols_may_have_different_values():
    letter, digit = one_hot(z3.String("letter"), "AB"), one_hot(z3.Int("digit"), range(4))
    theory = Theory(matches([letter, digit], r"A[0-2]|B\d"), inputs=[letter], outputs=[digit])
    assert theory.check().n_models == 3 + 4


def test_the_members_of_an_enumeration_are_letters_by_their_names():
    sort, members = z3.EnumSort("MatchedLetter", ["x", "y"])
    cells = [one_hot(z3.Const(f"member{i}", sort), members) for i in range(3)]
    assert Theory(matches(cells, "x*y"), inputs=cells, outputs=cells).check().n_models == 1


def test_values_with_given_letters():
    letters = {"B-PER": "P", "I-PER": "p", "B-LOC": "L", "I-LOC": "l"}
    tags = strings(4, ["O", *letters])
    formula = matches(tags, "(O|Pp*|Ll*)*", letters=letters)

    def follows(word):
        before = ("O", *word[:-1])
        return all(a[2:] == b[2:] for a, b in zip(before, word, strict=True) if b[0] == "I")

    words = set(itertools.product(["O", *letters], repeat=4))
    assert accepted(tags, formula, words) == set(filter(follows, words))


def test_two_values_may_share_a_letter():
    tags = strings(2, ["O", "B-PER", "B-LOC"])
    formula = matches(tags, "BO", letters={"B-PER": "B", "B-LOC": "B"})
    words = set(itertools.product(["O", "B-PER", "B-LOC"], repeat=2))
    assert accepted(tags, formula, words) == {("B-PER", "O"), ("B-LOC", "O")}


def test_the_symbols_of_a_theory_can_be_matched():
    cells = strings(2)
    theory = Theory(True, inputs=cells, outputs=cells)
    assert matches(theory.input_symbols, "ab").eq(matches(cells, "ab"))


PLATE = r"[A-Z]{1,3}-[A-Z]{1,2} \d{1,4} *"
DATE = r"(0[1-9]|[12]\d|3[01])\.(0[1-9]|1[0-2])\.(19|20)\d\d"


@pytest.mark.parametrize("backend", [Table, Circuit])
def test_formats_never_need_z3(backend):
    n, values = (3, "ab") if backend is Table else (8, string.ascii_uppercase + "0123456789- ")
    cells = strings(n, values)
    pattern = "a+b*" if backend is Table else PLATE
    theory = Theory(matches(cells, pattern), inputs=cells, outputs=cells)
    choice = Auto(max_work=1000).choose(theory)
    assert isinstance(choice.backend, backend)


def test_a_format_is_small():
    cells = strings(10, "0123456789.")
    theory = Theory(matches(cells, DATE), inputs=cells, outputs=cells)
    assert len(theory.terms.kinds) < 250  # 120 of them are symbols, values and equations


def test_what_the_length_decides_needs_no_states():
    cells = strings(30, "ab")
    formula = matches(cells, "(a|b)*a(a|b){19}")  # as an automaton for any length: 2**20 states
    assert formula.eq(cells[10].symbol == "a")


def test_too_many_states(monkeypatch):
    monkeypatch.setattr(automaton, "_MAX_STATES", 50)
    with pytest.raises(TooLargeError, match="automaton of the pattern has more than 50 states"):
        matches(strings(14, "ab"), "((a|b)*a(a|b){6})*(a|b){0,3}")
