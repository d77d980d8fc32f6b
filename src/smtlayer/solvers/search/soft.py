"""The soft literals of a repair: exact weights, with one-hot symbols in a normal form.

Exactly one column v of a one-hot symbol is true in a model. With signed weights s (positive for
columns that are observed to be true), the model overrules columns of weight

    sum of the positive s - s[v],

so a constant added to all s of the symbol changes no comparison of models. Subtracting the
second-largest leaves one column to assume true, one without a weight, and the others false,
however many columns were positive.
"""

import math
from collections.abc import Mapping, Sequence

from smtlayer.solvers.base import Signs
from smtlayer.solvers.search.oracle import exact_integers
from smtlayer.theory import Theory


def one_hot_columns(theory: Theory) -> list[range]:
    """The input columns of each one-hot symbol."""
    symbols = [symbol for symbol in theory.input_symbols if symbol.kind == "one-hot"]
    return [range(symbol.columns.start, symbol.columns.stop) for symbol in symbols]


def soft_literals(
    columns: Mapping[int, int],
    inputs: Signs,
    weights: Sequence[float],
    one_hot: Sequence[range] = (),
) -> dict[int, int]:
    """The weight of each soft literal.

    Args:
        columns: The literal of each undecided input, by column; the others are constant.
        inputs: The sign of each input.
        weights: The weight of each input; facts, of infinite weight, have no soft literal.
        one_hot: Columns of which exactly one is true; shifted if all undecided ones are observed.
    """
    undecided = {i: x for i, x in columns.items() if not (inputs[i] and weights[i] == math.inf)}
    sizes = exact_integers({i: weights[i] for i in undecided if inputs[i]})
    gain = {i: size * inputs[i] for i, size in sizes.items()}
    for group in one_hot:
        open_ = [i for i in group if i in undecided]
        if open_ and all(i in gain for i in open_):
            second = sorted(gain[i] for i in open_)[-2:][0]
            for i in open_:
                gain[i] -= second
    total: dict[int, int] = {}  # by variable: columns that agree share one
    for i, value in gain.items():
        x = undecided[i]
        total[abs(x)] = total.get(abs(x), 0) + (value if x > 0 else -value)
    return {x if value > 0 else -x: abs(value) for x, value in total.items() if value}
