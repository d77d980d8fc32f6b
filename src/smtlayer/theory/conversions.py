"""The methods of `Theory` that convert between values and columns."""

from typing import Any

from torch import Tensor

from smtlayer.theory.distributions import decode_distributions
from smtlayer.theory.signs import decode_rows, encode_rows
from smtlayer.theory.symbols import Symbol


class Conversions:
    """Conversions for a class that has symbols; see `Theory`."""

    input_symbols: tuple[Symbol, ...]
    output_symbols: tuple[Symbol, ...]

    def encode(self, /, **values: Any) -> Tensor:
        """Input signs for values by symbol name; inputs without a value are 0, free.

        Args:
            values: One value per symbol, or arrays of values; arrays broadcast.

        Returns:
            Signs of shape `(..., n_inputs)`, int8.
        """
        return encode_rows(self.input_symbols, values, "inputs")

    def encode_outputs(self, /, **values: Any) -> Tensor:
        """Output signs for values by symbol name; outputs without a value are 0, free."""
        return encode_rows(self.output_symbols, values, "outputs")

    def decode(self, outputs: Tensor) -> dict[str, Any]:
        """Values by symbol name for output signs of shape `(..., n_outputs)`.

        One row gives Python values, several rows numpy arrays. A row without a model decodes to
        `None`; arrays with a `None` have dtype `object`. In a bool tensor, false counts as -1.
        """
        return decode_rows(self.output_symbols, outputs, "outputs")

    def decode_inputs(self, inputs: Tensor) -> dict[str, Any]:
        """Values by symbol name for input signs (or logits) of shape `(..., n_inputs)`.

        `None` where a symbol is not fully known, or a one-hot symbol has no value or several.
        """
        return decode_rows(self.input_symbols, inputs, "inputs")

    def decode_probabilities(self, outputs: Tensor) -> dict[str, dict[Any, Any]]:
        """Distributions over values for probabilities of output columns, `(..., n_outputs)`.

        Each `Bool` has the probabilities of False and True, each one-hot symbol those of its
        values. A bit-vector has one entry per bit, by column name: the bits of a number depend on
        each other, so their probabilities do not determine that of the number. For numbers, use a
        one-hot symbol, or `SMTLayer.log_prob` with the number as output. Probabilities of one row
        are Python floats, those of several rows numpy arrays.

        Examples:
            >>> import z3
            >>> from smtlayer import Theory, one_hot
            >>> a, size = z3.Bool("a"), z3.Int("size")
            >>> theory = Theory(a == (size > 1), inputs=[a], outputs=[a, one_hot(size, [1, 2])])
            >>> theory.decode_probabilities([0.25, 0.75, 0.25])
            {'a': {False: 0.75, True: 0.25}, 'size': {1: 0.75, 2: 0.25}}
        """
        return decode_distributions(self.output_symbols, outputs, "outputs")

    def decode_input_probabilities(self, inputs: Tensor) -> dict[str, dict[Any, Any]]:
        """The same for probabilities of input columns, of shape `(..., n_inputs)`."""
        return decode_distributions(self.input_symbols, inputs, "inputs")
