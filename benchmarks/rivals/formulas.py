"""What an example of digits says, in the forms that DeepProbLog and LTNtorch take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

# Those of DeepProbLog's example, deepproblog/examples/MNIST/models/addition.pl in its package.
DIGITS = "nn(digits, [X], Y, [0,1,2,3,4,5,6,7,8,9]) :: digit(X, Y).\n"
ADDITION = """
number([], Result, Result).
number([H|T], Acc, Result) :- digit(H, Nr), Acc2 is Nr + 10 * Acc, number(T, Acc2, Result).
number(X, Y) :- number(X, 0, Y).
addition(X, Y, Z) :- number(X, X2), number(Y, Y2), Z is X2 + Y2.
"""
ALGEBRA = """
equation([A, B, C, D], X) :-
    digit(A, A2), A2 > 0, digit(B, B2), B2 > 0,
    Tens is (A2 * X + B2) // 10, Tens < 10, Ones is (A2 * X + B2) mod 10,
    digit(C, Tens), digit(D, Ones).
"""


@dataclass(frozen=True, eq=False)
class DigitFormula:
    """A formula over the digits of an example's images, and its answer."""

    answer: Callable[[Tensor], Tensor]  # of digits: (B, d) to (B,)
    holds: Callable[..., Tensor]  # for digits, one argument each, and an answer
    program: str  # in ProbLog, after `DIGITS`
    predicate: str  # of its lists of images, and the answer
    lists: int  # of images


def addition(length: int) -> DigitFormula:
    """The sum of two numbers."""

    def answer(digits: Tensor) -> Tensor:
        first, second = digits.split(length, -1)
        return number(first.unbind(-1)) + number(second.unbind(-1))

    def holds(*values: Tensor) -> Tensor:
        *digits, total = values
        return number(digits[:length]) + number(digits[length:]) == total

    return DigitFormula(answer, holds, ADDITION, "addition", 2)


def algebra() -> DigitFormula:
    """a * x + b = 10 * c1 + c2, whose answer is x; a, b and x are not 0."""

    def answer(digits: Tensor) -> Tensor:
        a, b, c1, c2 = digits.unbind(-1)
        return (10 * c1 + c2 - b) // a

    def holds(a: Tensor, b: Tensor, c1: Tensor, c2: Tensor, x: Tensor) -> Tensor:
        return (a * x + b == 10 * c1 + c2) & (a > 0) & (b > 0)

    return DigitFormula(answer, holds, ALGEBRA, "equation", 1)


def number(digits: Sequence[Tensor]) -> Tensor:
    """The number with these digits, most significant first."""
    total = digits[0]
    for digit in digits[1:]:
        total = 10 * total + digit
    return total
