"""What `matches` does not accept, and how it says so."""

import re

import pytest
import z3

from smtlayer import Theory, matches, one_hot
from smtlayer.errors import ArgumentError, ArgumentTypeError

CELLS = [one_hot(z3.String(f"cell{i}"), "ab") for i in range(3)]


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        (r"(a)\1b", r"'\\\\1b' at position 3"),
        ("(?P<x>a)(?P=x)b", r"'\(\?P' at position 8"),
        ("(?=a)bab", r"'\(\?=' at position 0"),
        ("a(?<!b)ab", r"'\(\?<' at position 1"),
        ("a*+b", r"'\*\+b' at position 1"),
        ("(?>a)bb", r"'\(\?>' at position 0"),
        ("(?i:a)bb", r"'\(\?i' at position 0"),
        ("(?x) a b b", r"'\(\?x' at position 0"),
        ("a(^b|b)b", r"'\^b\|' at position 2"),
        ("ab^a", r"'\^a' at position 2"),
        ("a$|b$b", r"'\$b' at position 4"),
        ("(a$)bb", r"'\$\)b' at position 2"),
        (r"\bab", r"'\\\\ba' at position 0"),
        (r"a\Zb", r"'\\\\Zb' at position 1"),
    ],
)
def test_patterns_that_are_not_regular(pattern, part):
    with pytest.raises(ArgumentError, match=f"uses {part}, which is not supported. Use letters"):
        matches(CELLS, pattern)


@pytest.mark.parametrize("pattern", ["(a", "*a", "[a", "a{2}{3}", r"\400"])
def test_patterns_that_python_cannot_compile(pattern):
    with pytest.raises(ArgumentError, match=r"Python's re can compile. Got .* at position"):
        matches(CELLS, pattern)


def test_a_pattern_that_is_not_text():
    with pytest.raises(ArgumentTypeError, match=r"expression as a string. Got b'a' of type bytes"):
        matches(CELLS, b"a")


@pytest.mark.parametrize(
    ("pattern", "lengths"),
    [
        ("abab", "4"),
        ("a|(bb){2,3}", "1, 4, 6"),
        ("(abab)+", r"4, 8, 12, 16, 20, 24, 28, 32, \.\.\."),
        ("", "0"),
        ("a{1000}", "far more"),
    ],
)
def test_no_word_has_this_length(pattern, lengths):
    message = f"words that match {re.escape(repr(pattern))} have {lengths} letters. Got 3 symbols"
    with pytest.raises(ArgumentError, match=message):
        matches(CELLS, pattern)


@pytest.mark.parametrize("pattern", ["xab", "a[^ab]b", r"\d{3}"])
def test_no_word_has_these_values(pattern):
    with pytest.raises(ArgumentError, match="no word over the values of these 3 symbols matches"):
        matches(CELLS, pattern)


@pytest.mark.parametrize("symbols", [[], CELLS[0], [*CELLS, z3.String("plain")], "abc", None])
def test_symbols_without_values(symbols):
    with pytest.raises(ArgumentTypeError, match=r"expects a list of one_hot\(symbol, values\)"):
        matches(symbols, "a*")


def test_a_bit_vector_of_a_theory_has_no_letters():
    theory = Theory(True, inputs=[z3.BitVec("bits", 3)], outputs=CELLS)
    with pytest.raises(ArgumentTypeError, match="Got BitsSymbol"):
        matches(theory.input_symbols, "a")


def test_values_that_are_not_one_character():
    tags = [one_hot(z3.String("tag"), ["O", "B-PER"])]
    message = "one character. Got 'B-PER' for the value 'B-PER' of 'tag'. Pass letters={'B-PER': "
    with pytest.raises(ArgumentError, match=message):
        matches(tags, "O")
    with pytest.raises(ArgumentError, match="Got 'BP' for the value 'B-PER' of 'tag'"):
        matches(tags, "O", letters={"B-PER": "BP"})
