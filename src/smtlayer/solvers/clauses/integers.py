"""Bounded integers as bit-vectors.

The proved bounds of the symbols imply bounds of every integer term. Each becomes a signed
bit-vector that is wide enough for all its values.
"""

import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import z3

from smtlayer.errors import NotFiniteError
from smtlayer.solvers.clauses.bounds import (
    MEANING,
    ContradictionError,
    Interval,
    Node,
    divides,
    is_fixed,
    not_finite,
    prove_bounds,
    read_nodes,
    term_intervals,
)
from smtlayer.solvers.clauses.cnf import Budget
from smtlayer.theory.declarations import fresh_prefix
from smtlayer.theory.values import text_of

_MAX_BITS = 64
_COMPARISONS = {
    z3.Z3_OP_LE: operator.le, z3.Z3_OP_LT: operator.lt, z3.Z3_OP_GE: operator.ge,
    z3.Z3_OP_GT: operator.gt, z3.Z3_OP_EQ: operator.eq,
}  # fmt: skip
_FOLDED = {z3.Z3_OP_ADD: operator.add, z3.Z3_OP_SUB: operator.sub, z3.Z3_OP_MUL: operator.mul}


def bounded_integers(formulas: Sequence[Any], budget: Budget | None = None) -> list[Any]:
    """Formulas over bit-vectors with the same models over all symbols that are not integers.

    Formulas without integers are returned unchanged.

    Raises:
        NotFiniteError: If an integer has no provable bounds, or a term cannot be encoded in bits.
        TooLargeError: If the budget is exceeded.
    """
    nodes, roots = read_nodes(formulas)
    if not any(node.numeric for node in nodes):
        return list(formulas)
    try:
        box = prove_bounds(nodes, roots, budget)
    except ContradictionError:
        return [z3.BoolVal(False, formulas[0].ctx)]
    for i, interval in box.items():
        if not all(map(math.isfinite, interval)):
            name = str(nodes[i].term.decl().name())
            raise NotFiniteError(f"the integer {name!r} has no bounds that could be proved")
    return _translate(nodes, roots, box)


def _translate(nodes: list[Node], roots: list[int], box: dict[int, Interval]) -> list[Any]:
    """The formulas over bit-vectors, and the bounds of their new symbols."""
    ranges = term_intervals(nodes, box)
    width = {i: _width(nodes[i].term, interval) for i, interval in box.items()}
    _share_width(nodes, width)
    mark = fresh_prefix([nodes[root].term for root in roots], "!bits")
    limits: list[Any] = []
    done: list[Any] = []
    for i, node in enumerate(nodes):
        args, inside = [done[j] for j in node.args], [ranges[j] for j in node.args]
        if not node.numeric:
            done.append(node.term)
        elif node.is_symbol:
            sort = z3.BitVecSort(width[i], node.term.ctx)
            symbol = z3.FreshConst(sort, f"{node.term.decl().name()}{mark}")
            limits += [symbol >= int(box[i][0]), symbol <= int(box[i][1])]
            done.append(symbol)
        elif node.is_int:
            done.append(_number(node, args, ranges[i], inside))
        else:
            done.append(_other(node, args, inside))
    return [*(done[root] for root in roots), *limits]


def _share_width(nodes: list[Node], width: dict[int, int]) -> None:
    """Gives symbols that must be distinct the same width, so that they compare without casts."""
    group = {i for node in nodes if node.kind == z3.Z3_OP_DISTINCT for i in node.args if i in width}
    widest = max((width[i] for i in group), default=0)
    width.update(dict.fromkeys(group, widest))


def _width(term: Any, interval: Interval) -> int:
    ends = [int(end) for end in interval if math.isfinite(end)]
    width = 1 + max((end if end >= 0 else ~end).bit_length() for end in ends) if ends else 0
    if len(ends) < 2 or width > _MAX_BITS:
        raise NotFiniteError(f"{text_of(term)[:60]!r} needs more than {_MAX_BITS} bits")
    return width


def _number(node: Node, args: list[Any], interval: Interval, inside: list[Interval]) -> Any:
    """An integer term as a signed bit-vector, wide enough for its interval."""
    if node.kind in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD):
        if not divides(inside[1]):
            raise not_finite(node.term)
        quotient, remainder = _divide(node, args[0], inside[0], int(inside[1][0]))
        width = _width(node.term, interval)
        return _resize(quotient if node.kind == z3.Z3_OP_IDIV else remainder, width)
    width = _width(node.term, interval)
    if is_fixed(interval):
        return z3.BitVecVal(int(interval[0]), width, node.term.ctx)
    # The low bits of sums and products do not depend on higher bits, so arguments may be cut.
    sized = [_resize(arg, width) if z3.is_bv(arg) else arg for arg in args]
    if node.kind in _FOLDED:
        return reduce(_FOLDED[node.kind], sized)
    match node.kind:
        case z3.Z3_OP_UMINUS:
            return -sized[0]
        case z3.Z3_OP_ABS:
            return z3.If(sized[0] < 0, -sized[0], sized[0])
        case z3.Z3_OP_BV2INT:
            return z3.ZeroExt(1, args[0])
        case z3.Z3_OP_SBV2INT:
            return args[0]
    return z3.If(*sized)


def _divide(node: Node, dividend: Any, interval: Interval, divisor: int) -> tuple[Any, Any]:
    """Quotient and remainder as SMT-LIB defines them: the remainder is never negative."""
    size = abs(divisor)
    shift = -min(int(interval[0]) // size, 0)  # multiples of the divisor that make it positive
    top = int(interval[1]) + shift * size
    width = 1 + max(_width(node.term, (0, top)), _width(node.term, (0, size)), dividend.size())
    positive = _resize(dividend, width) + shift * size
    quotient = z3.UDiv(positive, size) - shift
    return quotient if divisor > 0 else -quotient, z3.URem(positive, size)


def _other(node: Node, args: list[Any], inside: list[Interval]) -> Any:
    """A term that is not an integer but contains one."""
    if node.kind == z3.Z3_OP_INT2BV:
        return _resize(args[0], node.term.size())
    if not z3.is_int(node.term.arg(0)):
        return node.term.decl()(*args)
    width = max(arg.size() for arg in args)
    sized = [_resize(arg, width) for arg in args]
    if node.kind == z3.Z3_OP_DISTINCT:
        return z3.Distinct(*sized)
    answer = _decided(node.kind, *inside)
    if answer is not None:
        return z3.BoolVal(answer, node.term.ctx)
    return _COMPARISONS[node.kind](*sized)


def _decided(kind: int, left: Interval, right: Interval) -> bool | None:
    """The result of a comparison if it is the same for all values of the two intervals."""
    low, high = left[0] - right[1], left[1] - right[0]
    claims = [((low, high) if sign > 0 else (-high, -low), s) for sign, s in MEANING[kind][0]]
    if any(high < slack for (_, high), slack in claims):
        return False
    return True if all(low >= slack for (low, _), slack in claims) else None


def _resize(number: Any, width: int) -> Any:
    size = number.size()
    if z3.is_bv_value(number):
        return z3.BitVecVal(number.as_signed_long(), width, number.ctx)
    if size == width:
        return number
    return z3.SignExt(width - size, number) if size < width else z3.Extract(width - 1, 0, number)
