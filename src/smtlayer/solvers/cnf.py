"""This file translates a finite theory to clauses, once, by z3's own tactics and our values.

Integers whose bounds can be proved become bit-vectors first (`integers`). Symbols that must differ
get a variable for each value (`values`). What z3's tactics leave behind that is not propositional
(strings, quantifiers, functions...) would be an opaque atom in the clauses, its meaning lost; so it
is refused with its reason.
"""

import copy
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import z3
from numpy.typing import NDArray

from smtlayer.errors import NotFiniteError
from smtlayer.solvers import store
from smtlayer.solvers.clauses import NUMBERS, Cnf, join
from smtlayer.solvers.equivalence import merge
from smtlayer.solvers.integers import bounded_integers
from smtlayer.solvers.values import Values, differing, value_clauses
from smtlayer.theory import Theory
from smtlayer.theory.symbols import unheard_of

# Enumerations become bit-vectors; conjunctions fall apart.
_PLAIN = ("simplify", "dt2bv", "simplify")
# `blast_distinct`: a Distinct that reaches bit-blast whole would be left over as an atom, and so
# would a weighted sum without `pb.solver`.
_BLAST = (
    ("card2bv", {"pb.solver": "circuit"}), ("simplify", {"blast_distinct": True}), "bit-blast",
    "tseitin-cnf",
)  # fmt: skip


_REMEMBERED = 16
_memory: dict[tuple[str, str], Cnf] = {}  # choosing a backend and compiling it translate once


def to_cnf(theory: Theory, timeout_s: float = 10.0, *, values: bool = True) -> Cnf:
    """The theory as clauses, from the store if it was translated before.

    Args:
        theory: Any theory.
        timeout_s: When to give up.
        values: Whether symbols that must differ get a variable for each value, or only their bits.

    Raises:
        NotFiniteError: If part of it does not come down to bits, or not in time; the message says
            which.
    """
    kind = "clauses" if values else "clauses_of_bits"
    key = (kind, theory.digest)
    if key not in _memory:
        kept = store.load(*key)
        if kept is None:
            cnf = _translate(theory, timeout_s, values)
            store.save(*key, **_arrays(cnf))
        else:
            cnf = Cnf(kept["numbers"], tuple(kept["columns"].tolist()), int(kept["n_variables"]))
        while len(_memory) >= _REMEMBERED:
            del _memory[next(iter(_memory))]
        _memory[key] = cnf
    return _memory[key]


def _arrays(cnf: Cnf) -> dict[str, NDArray[Any]]:
    columns = np.array(cnf.columns, dtype=NUMBERS)
    return {"numbers": cnf.numbers, "columns": columns, "n_variables": np.array(cnf.n_variables)}


def _translate(theory: Theory, timeout_s: float, values: bool) -> Cnf:
    deadline = time.monotonic() + timeout_s
    own = copy.deepcopy(theory)
    context = own.inputs[0].ctx
    columns = (*own.inputs, *own.outputs)
    prefix = unheard_of(own.formulas, "column")  # so that ours are found by name safely
    literals = [z3.FreshBool(prefix, ctx=context) for _ in columns]
    formulas = [*own.formulas, *(x == c for x, c in zip(literals, columns, strict=True))]
    plain = list(_apply(_PLAIN, bounded_integers(formulas), context, deadline))
    groups, rest = differing(plain) if values else ([], plain)
    named = Values.of(groups, prefix)
    goal = _apply(_BLAST, [*rest, *named.equations], context, deadline)
    names = [x.decl().name() for x in (*literals, *named.literals)]
    numbers, variable = _export(goal, names, context)
    found = [variable[name] for name in names]
    of_values = named.numbered(found[len(literals) :])
    numbers = np.concatenate([numbers, join(value_clauses(numbers, of_values, deadline))])
    return Cnf(*merge(numbers, found[: len(literals)]))


def _apply(steps: Sequence[Any], formulas: Sequence[Any], context: Any, deadline: float) -> Any:
    """What z3's tactics make of some formulas, as a goal."""
    goal = z3.Goal(ctx=context)
    goal.add(*formulas)
    tactics = [
        z3.Tactic(step, ctx=context)
        if isinstance(step, str)
        else z3.With(z3.Tactic(step[0], ctx=context), **step[1])
        for step in steps
    ]
    left_ms = max(1, int((deadline - time.monotonic()) * 1000))
    try:
        (result,) = z3.TryFor(z3.Then(*tactics, ctx=context), left_ms, ctx=context)(goal)
    except z3.Z3Exception as error:
        raise NotFiniteError(f"z3 cannot bring it down to bits: {error}") from error
    if time.monotonic() > deadline:
        raise NotFiniteError("z3 cannot bring it down to bits in time")
    return result


def _export(
    goal: Any, names: Sequence[str], context: Any
) -> tuple[NDArray[np.int32], dict[str, int]]:
    """The goal's clauses, and the variable of each name that we gave."""
    if z3.Probe("is-propositional", ctx=context)(goal) != 1.0:
        raise NotFiniteError(f"{_leftover(goal)!r} does not come down to bits")
    if goal.inconsistent():
        return join([[]]), {name: i for i, name in enumerate(names, start=1)}
    text = goal.dimacs()
    head, _, body = text.partition("\n")
    end = body.find("c ") if body.startswith("c ") else body.find("\nc ")
    numbers = np.fromstring(body[: end if end >= 0 else None], dtype=NUMBERS, sep=" ")
    wanted = set(names)
    variable = {}
    for line in body[max(end, 0) :].splitlines():
        mark, _, named = line.partition(" ")
        number, _, name = named.partition(" ")
        if mark == "c" and name in wanted:
            variable[name] = int(number)
    top = int(head.split()[2])
    for name in names:  # what no clause mentions is free
        if name not in variable:
            top += 1
            variable[name] = top
    return numbers, variable


def _leftover(goal: Any) -> str:
    """The first atom that is not a plain Boolean."""
    for clause in goal:
        for literal in clause.children() if z3.is_or(clause) else [clause]:
            atom = literal.arg(0) if z3.is_not(literal) else literal
            kind = atom.decl().kind() if z3.is_app(atom) else None
            plain = z3.is_const(atom) and kind == z3.Z3_OP_UNINTERPRETED and z3.is_bool(atom)
            if not plain and kind not in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
                return " ".join(str(atom).split())[:60]
    return "part of it"
