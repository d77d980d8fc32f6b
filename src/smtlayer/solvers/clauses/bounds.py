"""Bounds of integers, proved by interval propagation from the asserted formulas.

Formulas are read into a list of nodes, arguments before the terms that use them, so no function
recurses into a term. An interval is a pair of ends, each an integer or infinite. Every step is
sound: an interval may be wider than necessary, never narrower.
"""

import heapq
import math
from collections import ChainMap, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Any

import z3

from smtlayer.errors import NotFiniteError
from smtlayer.solvers.clauses.cnf import Budget
from smtlayer.theory.values import text_of, whole_number

_FAR = 2**80  # ends beyond count as infinite, so that sums of ends do not overflow a float
_ROUNDS = 8  # later ones must bound a new symbol: `x < y, y < x` narrows for very long
_DEPTH = 2  # of nested disjunctions
_MAX_POWER = 64

Interval = tuple[float, float]
_ANY: Interval = (-math.inf, math.inf)

_ARITHMETIC = {
    z3.Z3_OP_ANUM, z3.Z3_OP_ADD, z3.Z3_OP_SUB, z3.Z3_OP_UMINUS, z3.Z3_OP_MUL, z3.Z3_OP_ITE,
    z3.Z3_OP_IDIV, z3.Z3_OP_MOD, z3.Z3_OP_ABS, z3.Z3_OP_BV2INT, z3.Z3_OP_SBV2INT,
}  # fmt: skip
# What a comparison of left and right means if it is true, and if it is false: for each
# (sign, slack), sign * (left - right) >= slack.
MEANING = {
    z3.Z3_OP_LE: ([(-1, 0)], [(1, 1)]),
    z3.Z3_OP_LT: ([(-1, 1)], [(1, 0)]),
    z3.Z3_OP_GE: ([(1, 0)], [(-1, 1)]),
    z3.Z3_OP_GT: ([(1, 1)], [(-1, 0)]),
    z3.Z3_OP_EQ: ([(1, 0), (-1, 0)], []),
}


@dataclass(frozen=True, slots=True)
class Node:
    """A term of the formulas."""

    term: Any
    kind: int
    args: tuple[int, ...]  # positions of earlier nodes
    is_int: bool
    numeric: bool  # whether it contains an integer term

    @property
    def is_symbol(self) -> bool:
        """Whether the term is an integer symbol."""
        return self.is_int and self.kind == z3.Z3_OP_UNINTERPRETED


def read_nodes(formulas: Sequence[Any]) -> tuple[list[Node], list[int]]:
    """The nodes, and the positions of the formulas among them."""
    nodes: list[Node] = []
    position: dict[int, int] = {}
    stack = list(reversed(formulas))
    while stack:
        term = stack[-1]
        children = [] if z3.is_quantifier(term) else term.children()
        missing = [child for child in children if child.get_id() not in position]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if term.get_id() not in position:
            position[term.get_id()] = len(nodes)
            nodes.append(_node(term, [position[child.get_id()] for child in children], nodes))
    return nodes, [position[formula.get_id()] for formula in formulas]


def _node(term: Any, args: list[int], nodes: list[Node]) -> Node:
    is_int = term.sort_kind() == z3.Z3_INT_SORT
    if z3.is_quantifier(term):
        if _mentions_integers(term):
            raise not_finite(term)
        return Node(term, z3.Z3_OP_UNINTERPRETED, (), is_int, False)
    kind = term.decl().kind()
    symbol = is_int and kind == z3.Z3_OP_UNINTERPRETED and not args
    of_ints = any(nodes[i].is_int for i in args)
    if kind == z3.Z3_OP_POWER and is_int and z3.is_int_value(term.arg(1)):
        exponent = whole_number(term.arg(1))
        if 1 <= exponent <= _MAX_POWER:
            kind, args = z3.Z3_OP_MUL, args[:1] * exponent
    takes_ints = kind in _ARITHMETIC or kind in MEANING
    takes_ints |= kind in (z3.Z3_OP_DISTINCT, z3.Z3_OP_INT2BV)
    if (is_int and not symbol and kind not in _ARITHMETIC) or (of_ints and not takes_ints):
        raise not_finite(term)
    numeric = is_int or any(nodes[i].numeric for i in args)
    return Node(term, kind, tuple(args), is_int, numeric)


def _mentions_integers(quantifier: Any) -> bool:
    seen: set[int] = set()
    stack = [quantifier]
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        sorts = [term.sort()]
        if z3.is_quantifier(term):
            sorts += [term.var_sort(i) for i in range(term.num_vars())]
        if any(sort.kind() == z3.Z3_INT_SORT for sort in sorts):
            return True
        stack.extend(term.children())
    return False


def not_finite(term: Any) -> NotFiniteError:
    """The error for a term over integers that cannot be encoded in bits."""
    return NotFiniteError(f"{text_of(term)[:60]!r} does not come down to bits")


class ContradictionError(Exception):
    """The asserted formulas leave some integer without a value."""


def prove_bounds(
    nodes: list[Node], roots: list[int], budget: Budget | None = None
) -> dict[int, Interval]:
    """The interval of each integer symbol, by position; infinite ends where no bound is proved.

    Raises:
        ContradictionError: If the formulas leave some integer without a value.
        TooLargeError: If it takes more steps than the budget allows.
    """
    return _Bounds(nodes, roots, budget or Budget()).prove()


class _Bounds:
    """Narrows the intervals of all symbols, round by round."""

    def __init__(self, nodes: list[Node], roots: list[int], budget: Budget) -> None:
        self._nodes, self._budget = nodes, budget
        self._facts = [(root, True) for root in roots]
        self._box: ChainMap[int, Interval] = ChainMap(
            {i: _ANY for i, node in enumerate(nodes) if node.is_symbol}
        )
        self._ranges: list[Interval] = []  # of all terms, at the beginning of the round
        self._forms: dict[int, tuple[list[tuple[int, int]], int]] = {}

    def prove(self) -> dict[int, Interval]:
        for round_ in count(1):
            before = dict(self._box)
            self._count(len(self._nodes))
            self._ranges = term_intervals(self._nodes, before)
            self._assume(self._facts, self._box, _DEPTH)
            self._facts.reverse()  # a chain of definitions may be in either order
            slow = round_ >= _ROUNDS and _open_ends(before) == _open_ends(self._box)
            if slow or before == self._box:
                break
        return dict(self._box)

    def _count(self, steps: int) -> None:
        self._budget.steps(steps, "proving the bounds of its integers")

    def _assume(
        self, facts: Iterable[tuple[int, bool]], box: ChainMap[int, Interval], depth: int
    ) -> None:
        """Narrows the box by the given truth values of nodes."""
        stack, seen = list(facts), set()
        while stack:
            fact = stack.pop()
            if fact in seen:
                continue
            seen.add(fact)
            self._count(1)
            node, holds = self._nodes[fact[0]], fact[1]
            if node.kind in (z3.Z3_OP_TRUE, z3.Z3_OP_FALSE):
                if holds != (node.kind == z3.Z3_OP_TRUE):
                    raise ContradictionError
            elif not node.numeric:
                continue
            elif node.kind in MEANING and self._nodes[node.args[0]].is_int:
                self._compare(fact[0], holds, box)
            else:
                cases = _cases(node, holds)
                if len(cases) == 1:
                    stack.extend(cases[0])
                elif cases and depth:
                    self._assume_either(cases, box, depth - 1)

    def _assume_either(
        self, cases: list[list[tuple[int, bool]]], box: ChainMap[int, Interval], depth: int
    ) -> None:
        """Narrows the box to the hull of the boxes of all cases, of which at least one holds."""
        learned = []
        for facts in cases:
            branch = box.new_child()
            try:
                self._assume(facts, branch, depth)
            except ContradictionError:
                continue
            if not branch.maps[0]:
                return
            learned.append(branch.maps[0])
        if not learned:
            raise ContradictionError
        for i in set(learned[0]).intersection(*learned[1:]):
            self._narrow(i, _hull(branch[i] for branch in learned), box)

    def _compare(self, i: int, holds: bool, box: ChainMap[int, Interval]) -> None:
        if i not in self._forms:
            self._forms[i] = self._linear_form(*self._nodes[i].args)
        terms, constant = self._forms[i]
        self._count(len(terms))
        for sign, slack in MEANING[self._nodes[i].kind][0 if holds else 1]:
            self._at_least([(sign * c, j) for c, j in terms], sign * constant - slack, box)

    def _linear_form(self, left: int, right: int) -> tuple[list[tuple[int, int]], int]:
        """`left - right` as a sum of coefficients times nodes, and a constant."""
        share: defaultdict[int, int] = defaultdict(int)
        share[left] += 1
        share[right] -= 1
        terms, constant = [], 0
        # From the last node to the first: all terms that use a node come before it.
        heap = [-left, -right]
        while heap:
            i = -heapq.heappop(heap)
            times = share.pop(i, 0)
            if not times:
                continue
            if is_fixed(self._ranges[i]):
                constant += times * int(self._ranges[i][0])
                continue
            parts = _parts(self._nodes[i], self._ranges)
            if not parts:
                terms.append((times, i))
            for factor, j in parts:
                share[j] += times * factor
                heapq.heappush(heap, -j)
        return terms, constant

    def _at_least(
        self, terms: list[tuple[int, int]], constant: int, box: ChainMap[int, Interval]
    ) -> None:
        """Narrows the box by `sum of terms + constant >= 0`."""
        tops = []
        for times, i in terms:
            interval = box[i] if self._nodes[i].is_symbol else self._ranges[i]
            tops.append(_times(_interval(times, times), interval)[1])
        total = constant + sum(int(top) for top in tops if math.isfinite(top))
        n_open = sum(math.isinf(top) for top in tops)
        if not n_open and total < 0:
            raise ContradictionError
        for (times, i), top in zip(terms, tops, strict=True):
            if n_open - math.isinf(top):
                continue
            others = total - (int(top) if math.isfinite(top) else 0)
            if times > 0:
                self._narrow(i, (-(others // times), math.inf), box)
            else:
                self._narrow(i, (-math.inf, others // -times), box)

    def _narrow(self, i: int, interval: Interval, box: ChainMap[int, Interval]) -> None:
        node = self._nodes[i]
        known = box[i] if node.is_symbol else self._ranges[i]
        low, high = _interval(max(known[0], interval[0]), min(known[1], interval[1]))
        if low > high:
            raise ContradictionError
        if node.is_symbol and (low, high) != known:
            box[i] = (low, high)
        if node.kind == z3.Z3_OP_MUL:
            for k, j in enumerate(node.args):
                others = [self._ranges[o] for o in (*node.args[:k], *node.args[k + 1 :])]
                if self._nodes[j].is_symbol:
                    self._narrow(j, _quotient((low, high), reduce(_times, others)), box)


def _cases(node: Node, holds: bool) -> list[list[tuple[int, bool]]]:
    """The cases in which a formula is true or false, as truth values of nodes; [] if unknown."""
    args = node.args
    match node.kind:
        case z3.Z3_OP_NOT:
            return [[(args[0], not holds)]]
        case z3.Z3_OP_AND | z3.Z3_OP_OR:
            facts = [(i, holds) for i in args]
            return [facts] if holds == (node.kind == z3.Z3_OP_AND) else [[fact] for fact in facts]
        case z3.Z3_OP_IMPLIES:
            facts = [(args[0], not holds), (args[1], holds)]
            return [[fact] for fact in facts] if holds else [facts]
        case z3.Z3_OP_ITE:
            return [[(args[0], True), (args[1], holds)], [(args[0], False), (args[2], holds)]]
    return []


def _parts(node: Node, ranges: list[Interval]) -> list[tuple[int, int]]:
    """A linear term as coefficients times nodes; empty for any other term."""
    match node.kind:
        case z3.Z3_OP_ADD:
            return [(1, i) for i in node.args]
        case z3.Z3_OP_SUB:
            return [(1 if k == 0 else -1, i) for k, i in enumerate(node.args)]
        case z3.Z3_OP_UMINUS:
            return [(-1, node.args[0])]
        case z3.Z3_OP_MUL:
            free = [i for i in node.args if not is_fixed(ranges[i])]
            fixed = [int(ranges[i][0]) for i in node.args if is_fixed(ranges[i])]
            return [(math.prod(fixed), free[0])] if len(free) == 1 else []
    return []


def term_intervals(nodes: list[Node], box: Mapping[int, Interval]) -> list[Interval]:
    """The interval of every integer term, computed from those of the symbols."""
    ranges: list[Interval] = []
    for i, node in enumerate(nodes):
        known = box.get(i) if node.is_int else _ANY
        ranges.append(known or _interval(*_range(node, [ranges[j] for j in node.args])))
    return ranges


def _range(node: Node, args: list[Interval]) -> Interval:
    match node.kind:
        case z3.Z3_OP_ANUM:
            return (whole_number(node.term), whole_number(node.term))
        case z3.Z3_OP_ADD:
            return (sum(low for low, _ in args), sum(high for _, high in args))
        case z3.Z3_OP_SUB:
            (low, high), others = args[0], args[1:]
            return (low - sum(o[1] for o in others), high - sum(o[0] for o in others))
        case z3.Z3_OP_UMINUS:
            return (-args[0][1], -args[0][0])
        case z3.Z3_OP_MUL:
            return reduce(_times, args)
        case z3.Z3_OP_ITE:
            return _hull(args[1:])
        case z3.Z3_OP_ABS:
            (low, high), sizes = args[0], [abs(end) for end in args[0]]
            return (0 if low <= 0 <= high else min(sizes), max(sizes))
        case z3.Z3_OP_IDIV if divides(args[1]):
            low, high = (_floor(end, abs(args[1][0])) for end in args[0])
            return (low, high) if args[1][0] > 0 else (-high, -low)
        case z3.Z3_OP_MOD if divides(args[1]):
            last = abs(args[1][0]) - 1
            return args[0] if args[0][0] >= 0 and args[0][1] <= last else (0, last)
        case z3.Z3_OP_BV2INT:
            return (0, 2 ** node.term.arg(0).size() - 1)
        case z3.Z3_OP_SBV2INT:
            half = 2 ** (node.term.arg(0).size() - 1)
            return (-half, half - 1)
    return _ANY


def _interval(low: float, high: float) -> Interval:
    """The interval, with ends beyond `_FAR` made infinite."""
    low = -math.inf if low < -_FAR else min(low, _FAR)
    high = math.inf if high > _FAR else max(high, -_FAR)
    return (low, high)


def _hull(intervals: Iterable[Interval]) -> Interval:
    lows, highs = zip(*intervals, strict=True)
    return (min(lows), max(highs))


def _times(one: Interval, other: Interval) -> Interval:
    # zero times infinity is zero: every value is finite
    corners = [a * b if a and b else 0 for a in one for b in other]
    return _interval(min(corners), max(corners))


def _quotient(product: Interval, factor: Interval) -> Interval:
    """The interval of the other factor; any number if the known factor may be zero."""
    if factor[0] <= 0 <= factor[1]:
        return _ANY
    if factor[1] < 0:
        return _quotient((-product[1], -product[0]), (-factor[1], -factor[0]))
    low = -_floor(max(-product[0], 0), factor[0])
    return (low, _floor(max(product[1], 0), factor[0]))


def _floor(end: float, divisor: float) -> float:
    return end if math.isinf(end) else end // divisor


def is_fixed(interval: Interval) -> bool:
    """Whether the interval is a single number."""
    return interval[0] == interval[1]


def divides(interval: Interval) -> bool:
    """Whether the interval is a single number other than zero."""
    return is_fixed(interval) and interval[0] != 0


def _open_ends(box: Mapping[int, Interval]) -> int:
    return sum(math.isinf(end) for interval in box.values() for end in interval)
