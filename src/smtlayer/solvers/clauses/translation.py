"""The translation of a finite theory to clauses.

Formulas over Booleans alone are translated directly (`tseitin`), all others by z3's tactics.
Integers with provable bounds become bit-vectors first (`integers`). Terms that must all differ get
one variable per value (`all_different`). Anything that z3's tactics leave over and that is not
propositional (strings, quantifiers, functions...) would be an atom without its meaning, so it
raises an error.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray

from smtlayer.errors import NotFiniteError
from smtlayer.forks import finish, uses_z3
from smtlayer.interrupts import interruptible
from smtlayer.solvers import store
from smtlayer.solvers.clauses.all_different import (
    DirectEncoding,
    all_different_groups,
    direct_clauses,
)
from smtlayer.solvers.clauses.cnf import MAX_CLAUSES, NUMBERS, Budget, Cnf, join
from smtlayer.solvers.clauses.equivalence import merge
from smtlayer.solvers.clauses.integers import bounded_integers
from smtlayer.solvers.clauses.one_hot import Comparisons, as_booleans, find_comparisons
from smtlayer.solvers.clauses.tseitin import logical_clauses
from smtlayer.solvers.lru import Lru
from smtlayer.theory import Theory
from smtlayer.theory.declarations import fresh_prefix
from smtlayer.theory.terms import Terms, logical_with, read_terms
from smtlayer.theory.values import text_of

_CONSTANTS = ("true", "false")
_Steps = tuple[tuple[str, dict[str, Any]], ...]  # z3's tactics and their options
# Enumerations become bit-vectors; conjunctions are split.
_PLAIN: _Steps = (("simplify", {}), ("dt2bv", {}), ("simplify", {}))
# Without `blast_distinct` a Distinct would be left over as an atom, and without `pb.solver` a
# weighted sum.
_BLAST: _Steps = (
    ("card2bv", {"pb.solver": "circuit"}), ("simplify", {"blast_distinct": True}),
    ("bit-blast", {}), ("tseitin-cnf", {}),
)  # fmt: skip
_DIVISIONS = {
    z3.Z3_OP_BUDIV, z3.Z3_OP_BUREM, z3.Z3_OP_BSDIV, z3.Z3_OP_BSREM, z3.Z3_OP_BSMOD,
    z3.Z3_OP_BUDIV_I, z3.Z3_OP_BUREM_I, z3.Z3_OP_BSDIV_I, z3.Z3_OP_BSREM_I, z3.Z3_OP_BSMOD_I,
}  # fmt: skip
# Each translation with the budget it spent: choosing a backend and compiling it translate once.
_memory = Lru[tuple[str, str], tuple[Cnf, int]](16)


@interruptible
def to_cnf(theory: Theory, *, direct: bool = True, max_clauses: int = MAX_CLAUSES) -> Cnf:
    """The theory as clauses, from the disk cache if it was translated before.

    The result depends on the arguments alone: no clock is read, and a cached translation is also
    subject to `max_clauses`.

    Args:
        theory: Any theory.
        direct: Whether terms that must all differ get the direct encoding, or only their bits.
        max_clauses: The largest number of clauses. It also limits the work of finding them.

    Raises:
        NotFiniteError: If part of the theory does not come down to bits; the message names it.
        TooLargeError: If it takes more clauses or more work; the message has the numbers.
    """
    key = ("clauses" if direct else "clauses_of_bits", theory.digest)
    known = _memory.get(key) or _stored(key)
    if known is None or known[1] > max_clauses:  # the translation then raises the error
        budget = Budget(max_clauses)
        cnf = _translate(theory, direct, budget)
        known = cnf, budget.spent
        store.save(*key, **_arrays(*known))
    _memory[key] = known
    return known[0]


def _arrays(cnf: Cnf, spent: int) -> dict[str, NDArray[Any]]:
    columns = np.array(cnf.columns, dtype=NUMBERS)
    sizes = np.array([cnf.n_variables, spent])
    return {"numbers": cnf.numbers, "columns": columns, "sizes": sizes}


def _stored(key: tuple[str, str]) -> tuple[Cnf, int] | None:
    kept = store.load(*key)
    if kept is None:
        return None
    n_variables, spent = kept["sizes"].tolist()
    return Cnf(kept["numbers"], tuple(kept["columns"].tolist()), n_variables), spent


@uses_z3
def _translate(theory: Theory, direct: bool, budget: Budget) -> Cnf:
    """Clauses of the purely Boolean formulas, joined with those that z3 makes of the others."""
    terms, compared = theory.terms, find_comparisons(theory)
    plain = logical_with(terms, compared.names)
    by_z3 = [i for i, root in enumerate(terms.roots) if not plain[root]]
    logical = [root for root in terms.roots if plain[root]]
    numbers, variable, top = logical_clauses(terms, logical, compared.names)
    budget.clauses(int((numbers == 0).sum()))
    columns = list(_column_names(theory, compared))
    used = terms.inside(terms.roots[i] for i in by_z3)
    inside = {terms.names.get(i) for i in used} | {compared.names.get(i) for i in used}
    inside |= {symbol.name for symbol in theory.symbols if symbol.kind == "one-hot"}
    for name in (*columns, *({compared.never} & inside)):
        if name is not None and name not in variable:  # in no clause, so it is free
            variable[name] = top = top + 1
    added, top = compared.clauses(variable, top)
    numbers = np.concatenate([numbers, join(added)])
    others: list[int] = []
    if by_z3 or None in columns:
        shared = {name: x for name, x in variable.items() if name in inside}
        own = _Blasted(theory, by_z3, shared, compared, direct, budget)
        same = join([c for x, y in zip(shared.values(), own.shared, strict=True)
                     for c in ([x, -y - top], [-x, y + top])])  # fmt: skip
        shifted = own.numbers + np.sign(own.numbers) * np.int32(top)
        numbers = np.concatenate([numbers, shifted, same])
        added = direct_clauses(numbers, own.direct(top), budget)
        numbers = np.concatenate([numbers, join(added)])
        others = [x + top for x in own.columns]
    budget.clauses(int((numbers == 0).sum()))
    left = iter(others)
    literals = [next(left) if name is None else variable[name] for name in columns]
    return Cnf(*merge(numbers, literals))


def _column_names(theory: Theory, compared: Comparisons) -> Iterator[str | None]:
    """The Boolean of each column; None where z3 translates the symbol."""
    found = iter(compared.columns)
    for symbol in theory.symbols:
        names = next(found) if symbol.domain is not None else None
        bits = [symbol.name if symbol.kind == "bool" else None] * symbol.width
        yield from names or bits


class _Blasted:
    """The formulas at some places as clauses, by z3's tactics; `symbols` get variables, too."""

    def __init__(
        self, theory: Theory, places: Sequence[int], symbols: Iterable[str],
        compared: Comparisons, direct: bool, budget: Budget,
    ) -> None:  # fmt: skip
        own = copy.deepcopy(theory)
        context, formulas = own.inputs[0].ctx, own.formulas
        prefix = fresh_prefix(formulas, "column")  # no user's symbol has such a name
        columns = [column for symbol in own.symbols for column in symbol.column_terms]
        names = _column_names(theory, compared)
        asked = [column for column, name in zip(columns, names, strict=True) if name is None]
        asked += [z3.Bool(name, context) for name in symbols]
        literals = [z3.FreshBool(prefix, ctx=context) for _ in asked]
        equations = [x == c for x, c in zip(literals, asked, strict=True)]
        chosen = as_booleans(own, [formulas[i] for i in places], compared)
        whole = bounded_integers([*chosen, *equations], budget)
        plain = list(_apply(_PLAIN, whole, context))
        groups, rest = all_different_groups(plain) if direct else ([], plain)
        self._direct = DirectEncoding.of(groups, prefix)
        budget.clauses(estimated_clauses(read_terms(plain)), "about ")
        goal = _apply(_BLAST, [*rest, *self._direct.definitions], context)
        asked_names = [x.decl().name() for x in (*literals, *self._direct.literals)]
        self.numbers, variable = _export(goal, asked_names, context)
        found = [variable[name] for name in asked_names]
        n_columns, self._variables = len(asked) - len(list(symbols)), found[len(asked) :]
        self.columns, self.shared = found[:n_columns], found[n_columns : len(asked)]

    def direct(self, shift: int) -> DirectEncoding:
        """The direct encoding over its variables, all shifted."""
        return self._direct.numbered([x + shift for x in self._variables])


def estimated_clauses(terms: Terms) -> int:
    """A rough number of clauses that bit-blasting makes of terms; it ignores small contributions.

    Examples:
        >>> x, y = z3.BitVecs("x y", 64)
        >>> estimated_clauses(read_terms([x * y == 1]))
        36864
    """
    total = 0
    for i, width in terms.widths.items():
        n_args = terms.starts[i + 1] - terms.starts[i]
        match terms.kinds[i]:
            case z3.Z3_OP_BMUL:
                total += 9 * width * width * (n_args - 1)
            case kind if kind in _DIVISIONS:
                total += 30 * width * width
            case _:
                total += 7 * width * n_args
    for i, kind in enumerate(terms.kinds):
        if kind == z3.Z3_OP_DISTINCT:
            args = terms.args(i)
            total += terms.widths.get(args[0], 1) * len(args) ** 2
    return total


def _apply(steps: _Steps, formulas: Sequence[Any], context: Any) -> Any:
    """The goal that z3's tactics make of formulas."""
    goal = z3.Goal(ctx=context)
    goal.add(*formulas)
    tactics = [z3.With(z3.Tactic(name, ctx=context), **options) for name, options in steps]
    try:
        tactic = z3.Then(*tactics, ctx=context)
        (result,) = finish(context.interrupt, lambda: tactic(goal))
    except z3.Z3Exception as error:
        raise NotFiniteError(f"z3 cannot bring it down to bits: {error}") from error
    return result


def _export(
    goal: Any, names: Sequence[str], context: Any
) -> tuple[NDArray[np.int32], dict[str, int]]:
    """The goal's clauses, and the variable of each name."""
    if z3.Probe("is-propositional", ctx=context)(goal) != 1.0:
        raise NotFiniteError(f"{_leftover(goal)!r} does not come down to bits")
    if goal.inconsistent():
        return join([[]]), {name: i for i, name in enumerate(names, start=1)}
    text = goal.dimacs()
    head, _, body = text.partition("\n")
    end = body.find("c ") if body.startswith("c ") else body.find("\nc ")
    numbers = np.fromstring(body[: end if end >= 0 else None], dtype=NUMBERS, sep=" ")
    wanted = {*names, *_CONSTANTS}
    variable = {}
    for line in body[max(end, 0) :].splitlines():
        mark, _, named = line.partition(" ")
        number, _, name = named.partition(" ")
        if mark == "c" and name in wanted:
            variable[name] = int(number)
    if not variable.keys().isdisjoint(_CONSTANTS):
        return _walk(goal, names)
    top = int(head.split()[2])
    for name in names:  # those in no clause are free
        if name not in variable:
            variable[name] = top = top + 1
    return numbers, variable


def _walk(goal: Any, names: Sequence[str]) -> tuple[NDArray[np.int32], dict[str, int]]:
    """Like `_export`, literal by literal: z3 may leave true or false in a clause."""
    variable: dict[str, int] = {}
    clauses = []
    for clause in goal:
        literals = [(1 if x.eq(atom) else -1, atom) for x, atom in _literals(clause)]
        if any(z3.is_true(atom) if s > 0 else z3.is_false(atom) for s, atom in literals):
            continue  # a tautology
        plain = [(s, atom) for s, atom in literals if not (z3.is_true(atom) or z3.is_false(atom))]
        named = [(sign, str(atom.decl().name())) for sign, atom in plain]
        clauses.append([s * variable.setdefault(name, len(variable) + 1) for s, name in named])
    for name in names:
        variable.setdefault(name, len(variable) + 1)
    return join(clauses), variable


def _literals(clause: Any) -> list[tuple[Any, Any]]:
    """The literals of a clause, each with its atom."""
    literals = clause.children() if z3.is_or(clause) else [clause]
    return [(x, x.arg(0) if z3.is_not(x) else x) for x in literals]


def _leftover(goal: Any) -> str:
    """The first atom that is not a plain Boolean."""
    for clause in goal:
        for _, atom in _literals(clause):
            kind = atom.decl().kind() if z3.is_app(atom) else None
            plain = z3.is_const(atom) and kind == z3.Z3_OP_UNINTERPRETED and z3.is_bool(atom)
            if not plain and kind not in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
                return text_of(atom)[:60]
    return "part of it"
