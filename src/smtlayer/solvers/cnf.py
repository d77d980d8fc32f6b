"""This file translates a finite theory to clauses, once, by z3's own tactics.

What z3 cannot blast to bits (integers, strings, quantifiers, functions...) would stay behind in the
clauses as an opaque atom with its meaning lost. So every literal of the result must be a plain
Boolean constant; anything else is refused with its reason.
"""

import copy
import time
from dataclasses import dataclass
from typing import Any

import z3

from smtlayer.errors import NotFiniteError
from smtlayer.theory import Theory

# `blast_distinct`: a Distinct that reaches bit-blast whole would be left over as an atom, and so
# would a weighted sum without `pb.solver`.
_PIPELINE = (
    "simplify", "dt2bv", ("card2bv", {"pb.solver": "circuit"}),
    ("simplify", {"blast_distinct": True}), "bit-blast", "tseitin-cnf",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cnf:
    """Clauses over variables 1, 2, ...; columns are the first variables, inputs before outputs."""

    clauses: tuple[tuple[int, ...], ...]
    n_columns: int
    n_variables: int


def to_cnf(theory: Theory, timeout_s: float = 10.0) -> Cnf:
    """The theory as clauses.

    Raises:
        NotFiniteError: If part of it does not come down to bits, or not in time; the message says
            which.
    """
    deadline = time.monotonic() + timeout_s
    own = copy.deepcopy(theory)
    context = own.inputs[0].ctx
    columns = (*own.inputs, *own.outputs)
    literals = [z3.FreshBool("column", ctx=context) for _ in columns]
    goal = z3.Goal(ctx=context)
    goal.add(*own.formulas, *(x == column for x, column in zip(literals, columns, strict=True)))
    variable = {literal.get_id(): i for i, literal in enumerate(literals, start=1)}
    clauses = []
    for clause in _blast(goal, context, timeout_s):
        if time.monotonic() > deadline:
            raise NotFiniteError(f"z3 cannot bring it down to bits in {timeout_s:g} s")
        clauses.append(tuple(_number(x, variable) for x in _members(clause)))
    return Cnf(tuple(clauses), len(columns), len(variable))


def _blast(goal: Any, context: Any, timeout_s: float) -> Any:
    tactics = [
        z3.Tactic(step, ctx=context)
        if isinstance(step, str)
        else z3.With(z3.Tactic(step[0], ctx=context), **step[1])
        for step in _PIPELINE
    ]
    try:
        limit_ms = max(1, int(timeout_s * 1000))
        blast = z3.TryFor(z3.Then(*tactics, ctx=context), limit_ms, ctx=context)
        (result,) = blast(goal)
    except z3.Z3Exception as error:
        raise NotFiniteError(f"z3 cannot bring it down to bits: {error}") from error
    return result


def _members(clause: Any) -> list[Any]:
    if z3.is_false(clause):
        return []
    return list(clause.children()) if z3.is_or(clause) else [clause]


def _number(literal: Any, variable: dict[int, int]) -> int:
    negated = z3.is_not(literal)
    atom = literal.arg(0) if negated else literal
    plain = z3.is_const(atom) and atom.decl().kind() == z3.Z3_OP_UNINTERPRETED and z3.is_bool(atom)
    if not plain:
        text = " ".join(str(atom).split())
        raise NotFiniteError(f"{text[:60]!r} does not come down to bits")
    number = variable.setdefault(atom.get_id(), len(variable) + 1)
    return -number if negated else number
