"""This file holds Theory: a formula, and which of its symbols are inputs and outputs."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from smtlayer.errors import TheoryError
from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.theory import smtlib
from smtlayer.theory.encodings import Encoding, OneHot, encoding_of, one_hot
from smtlayer.theory.given import check_contexts, formulas_of, names_of, symbols_of
from smtlayer.theory.symbols import add_symbol, free_symbols, symbols_in
from smtlayer.theory.terms import Terms, is_shared, read_terms
from smtlayer.theory.translate import decode_rows, encode_rows
from smtlayer.theory.values import asking, sides

if TYPE_CHECKING:
    from smtlayer.solvers.check import TheoryReport


class Theory:
    """A formula with the symbols that a network sets and the symbols it wants back.

    Treat a theory as immutable. It compares, hashes, pickles and copies through its text, so that
    two theories built alike are equal and a worker process can rebuild one.

    Args:
        constraints: A z3 formula, or a sequence of them that hold together, or a mapping that
            gives each of them a name, `{name: formula}`, for explanations and errors.
        inputs: Symbols that the network sets: `Bool` (one column), `BitVec(w)` (w columns, most
            significant bit first), or `one_hot(symbol, values)` (one column a value).
        outputs: Symbols to read back, given likewise. A symbol may be input and output.
            An input or output that occurs in no constraint is free, see `unconstrained`.

    Raises:
        TheoryError: If a symbol repeats or shares its name with another.
        TypeError: If a constraint is not a formula, or an input or output not a symbol.

    Examples:
        >>> import z3
        >>> a, b = z3.BitVecs("a b", 4)
        >>> total = z3.BitVec("total", 5)
        >>> theory = Theory(
        ...     total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b), inputs=[a, b], outputs=[total]
        ... )
        >>> theory
        Theory(1 constraint, inputs=[a, b], outputs=[total])
        >>> theory.encode(a=3, b=4)
        tensor([-1, -1,  1,  1, -1,  1, -1, -1], dtype=torch.int8)
        >>> theory.decode([-1, -1, 1, 1, 1])
        {'total': 7}
        >>> Theory({"small": z3.ULE(a, 9), "same": a == b}, [a], [b]).constraint_names
        ('small', 'same')
    """

    @interruptible
    @uses_z3
    def __init__(self, constraints: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        encodings = (
            [encoding_of(request, "input") for request in symbols_of(inputs, "inputs")],
            [encoding_of(request, "output") for request in symbols_of(outputs, "outputs")],
        )
        formulas = formulas_of(constraints, encodings[0][0].symbol.ctx)
        check_contexts([*formulas, *(e.symbol for side in encodings for e in side)])
        self._build(formulas, *encodings, names=names_of(constraints))
        self._check_text(_check_symbols(self))

    def _build(
        self,
        constraints: Sequence[Any],
        inputs: Sequence[Encoding],
        outputs: Sequence[Encoding],
        archive: str | None = None,
        names: Sequence[str | None] | None = None,
    ) -> None:
        self.constraints: tuple[Any, ...] = tuple(constraints)
        self.constraint_names: tuple[str | None, ...] = tuple(names or [None] * len(constraints))
        self._inputs, self._outputs = tuple(inputs), tuple(outputs)
        self.inputs: tuple[Any, ...] = tuple(c for e in self._inputs for c in e.columns)
        self.outputs: tuple[Any, ...] = tuple(c for e in self._outputs for c in e.columns)
        self.input_names: tuple[str, ...] = tuple(label for e in self._inputs for label in e.labels)
        self.output_names: tuple[str, ...] = tuple(
            label for e in self._outputs for label in e.labels
        )
        anchors = [a for e in (*self._inputs, *self._outputs) for a in e.anchors]
        self._archive = archive or smtlib.pack(
            [*self.constraints, *anchors], shared=is_shared(self.terms)
        )
        self._shape = (_kinds(self._inputs), _kinds(self._outputs))
        self.digest: str = hashlib.sha256(f"{self._archive}\n; {self._shape}".encode()).hexdigest()

    def _check_text(self, symbols: AbstractSet[str]) -> None:
        """What cannot be read back must come to light here, not in a copy or a worker."""
        refusal = (
            "Theory: z3 cannot read this formula back from SMT-LIB text, the form in which "
            "theories are copied. {} Rename the symbol, or write that part differently."
        )
        try:
            copied = free_symbols(smtlib.unpack(self._archive))
        except TheoryError as error:
            raise TheoryError(refusal.format(error)) from error
        lost = symbols - copied.keys()
        if lost:
            raise TheoryError(refusal.format(f"Its text loses {sorted(lost)[0]!r}."))

    @classmethod
    @interruptible
    @uses_z3
    def from_smtlib(
        cls,
        text_or_path: str | Path,
        inputs: Sequence[str | OneHot],
        outputs: Sequence[str | OneHot],
    ) -> "Theory":
        """Reads SMT-LIB 2: declarations, definitions and assertions.

        An assertion that is `:named` keeps its name, see `constraint_names`.

        Args:
            text_or_path: A script, or the path of a file that holds one.
            inputs: Names of declared constants, or `one_hot(name, values)`.
            outputs: Likewise.

        Examples:
            >>> theory = Theory.from_smtlib('''
            ...     (declare-const a Bool) (declare-const b Bool) (declare-const y Bool)
            ...     (assert (= y (xor a b)))
            ... ''', inputs=["a", "b"], outputs=["y"])
            >>> theory.n_inputs, theory.n_outputs
            (2, 1)
        """
        inputs, outputs = symbols_of(inputs, "inputs"), symbols_of(outputs, "outputs")
        names = [r.symbol if isinstance(r, OneHot) else r for r in (*inputs, *outputs)]
        for name in names:
            if not isinstance(name, str):
                raise TypeError(
                    f"Theory.from_smtlib takes the names of declared constants. Got {name!r} "
                    f"of type {type(name).__name__}."
                )
        constraints, constants, named = smtlib.read(text_or_path, names)
        if not constraints:
            raise TheoryError(
                "Theory.from_smtlib: the script asserts nothing. Add an (assert ...) command."
            )

        def resolve(request: str | OneHot) -> Any:
            if isinstance(request, OneHot):
                return one_hot(constants[request.symbol], request.values)
            return constants[request]

        theory = cls(constraints, [resolve(r) for r in inputs], [resolve(r) for r in outputs])
        theory.constraint_names = tuple(named)
        return theory

    def to_smtlib(self) -> str:
        """The theory as an SMT-LIB 2 script: z3 reads it, and others where the formula is standard.

        What `one_hot` adds is asserted too; comments name the inputs and outputs. A constraint
        with a name is `:named` so; a name that the script has another use for is written as
        `constraint NAME`, and `from_smtlib` knows it.
        """
        head = "".join(
            f"; {role}: {', '.join(' '.join(e.name.split()) for e in encodings)}\n"
            for role, encodings in (("inputs", self._inputs), ("outputs", self._outputs))
        )
        written = set(self.terms.names.values())
        spare = {e.name: e for e in (*self._inputs, *self._outputs) if e.name not in written}
        head += "".join(f"{e.symbol.decl().sexpr()}\n" for e in spare.values())
        return head + smtlib.with_names(smtlib.write(self.formulas), self.constraint_names)

    @cached_property
    def terms(self) -> Terms:
        """The terms of `formulas`, read from z3 once."""
        with asking():
            return read_terms(self.formulas)

    @property
    def unconstrained(self) -> tuple[str, ...]:
        """The names of inputs and outputs that occur in no constraint, so that all values fit.

        Examples:
            >>> import z3
            >>> a, b, y = z3.Bools("a b y")
            >>> Theory(y == z3.Not(a), inputs=[a, b], outputs=[y]).unconstrained
            ('b',)
        """
        given = self.terms.inside(self.terms.roots[: len(self.constraints)])
        occurring = {self.terms.names.get(i) for i in given}
        names = dict.fromkeys(e.name for e in (*self._inputs, *self._outputs))
        return tuple(name for name in names if name not in occurring)

    @property
    def formulas(self) -> tuple[Any, ...]:
        """The given constraints, then what the one-hot symbols add to them."""
        domains = [e.domain for e in (*self._inputs, *self._outputs)]
        return self.constraints + tuple(d for d in domains if d is not None)

    @property
    def n_inputs(self) -> int:
        """Number of input columns."""
        return len(self.inputs)

    @property
    def n_outputs(self) -> int:
        """Number of output columns."""
        return len(self.outputs)

    @property
    def input_widths(self) -> tuple[int, ...]:
        """Number of columns of each input symbol."""
        return tuple(len(e.columns) for e in self._inputs)

    @property
    def output_widths(self) -> tuple[int, ...]:
        """Number of columns of each output symbol."""
        return tuple(len(e.columns) for e in self._outputs)

    def encode(self, /, **values: Any) -> Tensor:
        """Input signs for the given values by symbol name; inputs not named are 0, free.

        Args:
            values: A value a symbol, or an array of them; arrays broadcast.

        Returns:
            Signs of shape `(..., n_inputs)`, int8.
        """
        return encode_rows(self._inputs, values, "inputs")

    def encode_outputs(self, /, **values: Any) -> Tensor:
        """Output signs for the given values by symbol name; outputs not named are 0, free."""
        return encode_rows(self._outputs, values, "outputs")

    def decode(self, outputs: Tensor) -> dict[str, Any]:
        """Values by symbol name for output signs of shape `(..., n_outputs)`.

        One row gives Python values; more rows give numpy arrays. A row without a model decodes to
        `None`; arrays that hold a `None` have dtype `object`. Of a bool tensor, false counts as -1.
        """
        return decode_rows(self._outputs, outputs, "outputs")

    def decode_inputs(self, inputs: Tensor) -> dict[str, Any]:
        """Values by symbol name for input signs (or logits) of shape `(..., n_inputs)`.

        `None` where a symbol is not wholly known, or a one-hot symbol has no value or several.
        """
        return decode_rows(self._inputs, inputs, "inputs")

    def check(
        self, *, timeout_s: float = 10.0, max_models: int = 20_000, max_work: float = 5_000_000
    ) -> "TheoryReport":
        """Reports what to know before training, and which rule to begin with: see `TheoryReport`.

        Args:
            timeout_s: Time limit for finding the constraints of a contradiction.
            max_models: Models are counted up to this number.
            max_work: Steps of the solver that any other question may take; see `Auto`.
        """
        # The one import against the direction of the tree: the report asks solvers about a theory,
        # and users look for it here.
        from smtlayer.solvers.check import check_theory

        return check_theory(self, timeout_s=timeout_s, max_models=max_models, max_work=max_work)

    def __repr__(self) -> str:
        count = len(self.constraints)
        inputs, outputs = (
            ", ".join(e.name for e in encodings) for encodings in (self._inputs, self._outputs)
        )
        plural = "" if count == 1 else "s"
        return f"Theory({count} constraint{plural}, inputs=[{inputs}], outputs=[{outputs}])"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Theory) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> Any:
        return _restore, (self._archive, self._shape, self.constraint_names)


@interruptible
@uses_z3
def _restore(
    archive: str,
    shape: tuple[tuple[int, ...], tuple[int, ...]],
    names: Sequence[str | None] | None = None,
) -> Theory:
    """A theory from its text, in a z3 context of its own."""
    formulas = smtlib.unpack(archive)
    kinds = [*shape[0], *shape[1]]
    start = len(formulas) - sum(max(kind, 1) for kind in kinds)
    constraints, anchors = formulas[:start], iter(formulas[start:])
    encodings = []
    for kind in kinds:
        group = [next(anchors) for _ in range(max(kind, 1))]
        symbol = sides(group[0])[0]
        request = one_hot(symbol, [sides(term)[1] for term in group]) if kind else symbol
        encodings.append(encoding_of(request, "symbol"))
    theory = Theory.__new__(Theory)
    split = len(shape[0])
    theory._build(constraints, encodings[:split], encodings[split:], archive, names)
    return theory


def _kinds(encodings: Iterable[Encoding]) -> tuple[int, ...]:
    """0 for a symbol with columns of its own, else the number of one-hot values."""
    return tuple(len(e.anchors) if e.domain is not None else 0 for e in encodings)


def _check_symbols(theory: Theory) -> set[str]:
    """The names of all symbols, once no two of them can be mixed up."""
    for role, encodings in (("inputs", theory._inputs), ("outputs", theory._outputs)):
        for name, count in Counter(e.name for e in encodings).items():
            if count > 1:
                raise TheoryError(
                    f"Theory has {name!r} among its {role} more than once. Give each position its "
                    f"own symbol, and equate them with a constraint if they must agree."
                )
    known = symbols_in(theory.terms)
    for encoding in (*theory._inputs, *theory._outputs):
        add_symbol(known, encoding.name, encoding.symbol.decl())
    return set(known)
