"""`Theory`: a formula, and which of its symbols are inputs and outputs."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smtlayer.errors import TheoryError
from smtlayer.forks import uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.plain import counted
from smtlayer.theory import assertions, dimacs, smtlib
from smtlayer.theory.arguments import (
    OneHot,
    check_contexts,
    formulas_of,
    names_of,
    one_hot,
    symbols_of,
)
from smtlayer.theory.conversions import Conversions
from smtlayer.theory.declarations import (
    add_declaration,
    check_repeated,
    declarations_in,
    declarations_of,
)
from smtlayer.theory.symbols import Symbol
from smtlayer.theory.terms import Terms, is_shared, read_terms
from smtlayer.theory.values import sides, term_lock

if TYPE_CHECKING:
    from smtlayer.solvers.check import TheoryReport
    from smtlayer.solvers.readings.rows import Rows


class Theory(Conversions):
    """A formula, the symbols that a network sets and the symbols to read back.

    Theories are immutable. They compare, hash, pickle and copy through their SMT-LIB text: two
    theories with the same text are equal, and a worker process can rebuild one.

    Args:
        constraints: A z3 formula, a sequence of formulas that all hold, or a mapping
            `{name: formula}`; names are used in explanations and errors.
        inputs: Symbols that the network sets: `Bool` (one column), `BitVec(w)` (w columns, most
            significant bit first), or `one_hot(symbol, values)` (one column per value).
        outputs: Symbols to read back, in the same forms. A symbol may be both input and output.
            One that occurs in no constraint is free, see `unconstrained`.

    Raises:
        TheoryError: If a symbol repeats or shares its name with another.
        ArgumentTypeError: If a constraint is not a formula, or an input or output not a symbol.

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
        >>> [(symbol.name, symbol.kind, symbol.columns) for symbol in theory.input_symbols]
        [('a', 'bits', slice(0, 4, None)), ('b', 'bits', slice(4, 8, None))]
    """

    constraints: tuple[Any, ...]
    """The formulas, without those that `one_hot` adds."""
    constraint_names: tuple[str | None, ...]
    """One name per constraint, `None` for one without."""
    input_symbols: tuple[Symbol, ...]
    """The input symbols in column order."""
    output_symbols: tuple[Symbol, ...]
    """The output symbols in column order."""
    inputs: tuple[Any, ...]
    """One Boolean z3 term per input column."""
    outputs: tuple[Any, ...]
    """One Boolean z3 term per output column."""
    input_names: tuple[str, ...]
    """One name per input column."""
    output_names: tuple[str, ...]
    """One name per output column."""
    digest: str
    """Hash of the text of the theory: equal for equal theories."""

    @interruptible
    @uses_z3
    def __init__(self, constraints: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        symbols = symbols_of(inputs, "inputs"), symbols_of(outputs, "outputs")
        formulas = formulas_of(constraints, symbols[0][0].term.ctx)
        check_contexts([*formulas, *(symbol.term for side in symbols for symbol in side)])
        self._build(formulas, *symbols, names=names_of(constraints))
        self._check_text(_check_symbols(self))

    def _build(
        self,
        constraints: Sequence[Any],
        inputs: tuple[Symbol, ...],
        outputs: tuple[Symbol, ...],
        archive: str | None = None,
        names: Sequence[str | None] | None = None,
    ) -> None:
        self.constraints = tuple(constraints)
        self.constraint_names = tuple(names or [None] * len(constraints))
        self.input_symbols, self.output_symbols = inputs, outputs
        self.inputs = tuple(term for symbol in inputs for term in symbol.column_terms)
        self.outputs = tuple(term for symbol in outputs for term in symbol.column_terms)
        self.input_names = tuple(name for symbol in inputs for name in symbol.column_names)
        self.output_names = tuple(name for symbol in outputs for name in symbol.column_names)
        self._archive = archive or self._script()
        widths = [s.width if s.kind == "one-hot" else 0 for s in self.symbols]
        self._shape = (tuple(widths[: len(inputs)]), tuple(widths[len(inputs) :]))
        self.digest = hashlib.sha256(f"{self._archive}\n; {self._shape}".encode()).hexdigest()

    def _script(self) -> str:
        """The constraints, and equations from which `_restore` rebuilds the symbols."""
        formulas = list(self.constraints)
        for s in self.symbols:
            formulas += s.column_terms if s.kind == "one-hot" else (s.term == s.term,)
        return smtlib.pack(formulas, shared=is_shared(self.terms))

    def _check_text(self, symbols: set[str]) -> None:
        """Raises if the text of the theory cannot be read back, as copies and workers will do."""
        message = (
            "Theory: z3 cannot read this formula back from SMT-LIB text, the form in which "
            "theories are copied. {} Rename the symbol, or write that part differently."
        )
        try:
            copied = declarations_in(smtlib.unpack(self._archive))
        except TheoryError as error:
            raise TheoryError(message.format(error)) from error
        lost = symbols - copied.keys()
        if lost:
            raise TheoryError(message.format(f"Its text loses {sorted(lost)[0]!r}."))

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
            outputs: In the same forms.

        Examples:
            >>> theory = Theory.from_smtlib('''
            ...     (declare-const a Bool) (declare-const b Bool) (declare-const y Bool)
            ...     (assert (= y (xor a b)))
            ... ''', inputs=["a", "b"], outputs=["y"])
            >>> theory.n_inputs, theory.n_outputs
            (2, 1)
        """
        constraints, symbols, names = smtlib.theory_of(text_or_path, inputs, outputs)
        theory = cls(constraints, *symbols)
        theory.constraint_names = tuple(names)
        return theory

    @classmethod
    @interruptible
    @uses_z3
    def from_dimacs(
        cls,
        text_or_path: str | Path,
        names: Sequence[str] | Mapping[int, str] | None = None,
        *,
        inputs: Sequence[str | int] | None = None,
        outputs: Sequence[str | int] | None = None,
    ) -> "Theory":
        """Reads clauses in DIMACS format: one constraint per clause, one `Bool` per variable.

        The header `p cnf VARIABLES CLAUSES` may be missing, but not contradict the clauses. Clauses
        may span lines; comments are ignored, and so is all that follows a `%`.

        Args:
            text_or_path: The clauses, or the path of a file that holds them.
            names: A list with one name per variable, or a mapping from numbers to names; variables
                without one are `x1`, `x2`, ...
            inputs: Names or numbers of variables, in the order of their columns; all by default.
            outputs: In the same forms.

        Examples:
            >>> theory = Theory.from_dimacs('''
            ...     p cnf 3 2
            ...     1 -2 0
            ...     -2 -3 0
            ... ''', names=["car", "parked", "moving"])
            >>> theory
            Theory(2 constraints, inputs=[car, parked, moving], outputs=[car, parked, moving])
            >>> theory.constraints[0]
            Or(car, Not(parked))
        """
        return _restore(*dimacs.archive(text_or_path, names, inputs, outputs))

    @classmethod
    @interruptible
    @uses_z3
    def from_z3(cls, solver: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> "Theory":
        """Takes the present assertions of a z3 solver.

        A tracked assertion (`assert_and_track`) keeps its name, see `constraint_names`. z3 lists it
        as `Implies(name, formula)`, and so every implication from a Boolean constant is read that
        occurs nowhere else and is no input or output.

        Args:
            solver: A `z3.Solver`, a `z3.Goal`, or formulas in any form that `Theory` takes. Not a
                `z3.Optimize`, as a theory has no objectives; pass its `assertions()`.
            inputs: Names of constants, or what `Theory` takes, from any z3 context.
            outputs: In the same forms.

        Examples:
            >>> import z3
            >>> a, b, y = z3.Bools("a b y")
            >>> solver = z3.Solver()
            >>> solver.assert_and_track(y == z3.Xor(a, b), "parity")
            >>> theory = Theory.from_z3(solver, inputs=["a", "b"], outputs=["y"])
            >>> theory.constraints, theory.constraint_names
            ((y == Xor(a, b),), ('parity',))
        """
        constraints, symbols, names = assertions.read(solver, inputs, outputs)
        theory = cls(constraints, *symbols)
        theory.constraint_names = tuple(names)
        return theory

    def to_smtlib(self) -> str:
        """The theory as an SMT-LIB 2 script.

        It includes the assertions that `one_hot` adds; comments list the inputs and outputs. Named
        constraints are `:named`. A name that the script also uses for something else is written as
        `constraint NAME`, which `from_smtlib` reads back as `NAME`.
        """
        head = "".join(
            f"; {role}: {', '.join(' '.join(symbol.name.split()) for symbol in symbols)}\n"
            for role, symbols in (("inputs", self.input_symbols), ("outputs", self.output_symbols))
        )
        written = set(self.terms.names.values())
        spare = {s.name: s.term for s in self.symbols if s.name not in written}
        head += "".join(f"{term.decl().sexpr()}\n" for term in spare.values())
        return head + smtlib.with_names(smtlib.write(self.formulas), self.constraint_names)

    @cached_property
    def terms(self) -> Terms:
        """The terms of `formulas`, read from z3 once."""
        with term_lock.get():
            return read_terms(self.formulas)

    @property
    def unconstrained(self) -> tuple[str, ...]:
        """The names of inputs and outputs that occur in no constraint, and may have any value.

        Examples:
            >>> import z3
            >>> a, b, y = z3.Bools("a b y")
            >>> Theory(y == z3.Not(a), inputs=[a, b], outputs=[y]).unconstrained
            ('b',)
        """
        inside = self.terms.inside(self.terms.roots[: len(self.constraints)])
        occurring = {self.terms.names.get(i) for i in inside}
        names = dict.fromkeys(symbol.name for symbol in self.symbols)
        return tuple(name for name in names if name not in occurring)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The input symbols, then the output symbols."""
        return self.input_symbols + self.output_symbols

    @property
    def formulas(self) -> tuple[Any, ...]:
        """The constraints, then the domains of the one-hot symbols."""
        return self.constraints + tuple(s.domain for s in self.symbols if s.domain is not None)

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
        return tuple(symbol.width for symbol in self.input_symbols)

    @property
    def output_widths(self) -> tuple[int, ...]:
        """Number of columns of each output symbol."""
        return tuple(symbol.width for symbol in self.output_symbols)

    def check(
        self,
        *,
        timeout_s: float = 10.0,
        max_models: int = 20_000,
        max_work: float = 5_000_000,
        rows: "Rows | None" = None,
    ) -> "TheoryReport":
        """Analyses the theory before training and recommends a rule: see `TheoryReport`.

        Args:
            timeout_s: Time limit for finding constraints that contradict each other.
            max_models: Counts models up to this number.
            max_work: Solver steps that each other query may take; see `Auto`.
            rows: Examples that training shows, as a list of dicts of values by symbol name or the
                path of a CSV file: counts the readings that fit them, see `smtlayer.lab.readings`.
        """
        # The one import against the direction of the tree: the report needs solvers, but users look
        # for it here.
        from smtlayer.solvers.check import check_theory

        return check_theory(
            self, timeout_s=timeout_s, max_models=max_models, max_work=max_work, rows=rows
        )

    def __repr__(self) -> str:
        inputs = ", ".join(symbol.name for symbol in self.input_symbols)
        outputs = ", ".join(symbol.name for symbol in self.output_symbols)
        count = counted(len(self.constraints), "constraint")
        return f"Theory({count}, inputs=[{inputs}], outputs=[{outputs}])"

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
    """Rebuilds a theory from its text, in a new z3 context."""
    formulas = smtlib.unpack(archive)
    start = len(formulas) - sum(max(size, 1) for part in shape for size in part)
    anchors, known = iter(formulas[start:]), dict[tuple[int, ...], Any]()

    def symbols(sizes: tuple[int, ...], role: str) -> tuple[Symbol, ...]:
        own = [[next(anchors) for _ in range(max(size, 1))] for size in sizes]
        keys = [tuple(anchor.get_id() for anchor in some) for some in own]
        given = [known.get(k) or _anchored(s, n) for k, s, n in zip(keys, own, sizes, strict=True)]
        known.update(zip(keys, found := symbols_of(given, role), strict=True))  # often outputs, too
        return found

    theory = Theory.__new__(Theory)
    inputs, outputs = symbols(shape[0], "inputs"), symbols(shape[1], "outputs")
    theory._build(formulas[:start], inputs, outputs, archive, names)
    return theory


def _anchored(anchors: Sequence[Any], size: int) -> Any:
    """The symbol of some equations at the end of an archive."""
    if not size:
        return anchors[0].arg(0)
    pairs = [sides(anchor) for anchor in anchors]
    return one_hot(pairs[0][0], [value for _, value in pairs])


def _check_symbols(theory: Theory) -> set[str]:
    """The names of all symbols; raises where one name means two things."""
    check_repeated((symbol.name for symbol in theory.input_symbols), "inputs")
    check_repeated((symbol.name for symbol in theory.output_symbols), "outputs")
    known = declarations_of(theory.terms)
    for symbol in theory.symbols:
        add_declaration(known, symbol.name, symbol.term.decl())
    return set(known)
