"""Binary decision diagrams of problems, by OxiDD.

Constraints are conjoined from the bottom of the order to the top. A variable that is no column is
quantified away as soon as the last constraint that mentions it is in.

Work is counted in nodes and limited by them, never by a clock, and one thread does it, so that the
same problem and limit give the same result everywhere.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from smtlayer.errors import TooLargeError
from smtlayer.solvers.circuit.problem import BoundedSum, Problem

_CACHE = 1 << 18


class DiagramTooLargeError(TooLargeError):
    """A diagram that takes more nodes than allowed.

    Attributes:
        progress: The share of the constraints that fitted.
    """

    def __init__(self, reason: str, progress: float = 1.0) -> None:
        super().__init__(reason)
        self.progress = progress


class Bdd:
    """The decision diagram of a problem for one order of its variables.

    Args:
        problem: The constraints.
        order: All variables, from the top of the diagram to the bottom.
        max_nodes: The largest number of nodes.
        room: The largest number of nodes at any time during the construction.
    """

    def __init__(self, problem: Problem, order: Sequence[int], max_nodes: int, room: int) -> None:
        from oxidd.bdd import BDDManager  # takes some time, and only compiling needs it
        from oxidd.util import BooleanOperator

        self.level = {x: i for i, x in enumerate(order)}
        self.max_nodes = max_nodes
        self._room, self._capacity = room, room + 2 * len(order) + 2
        self._full = room // 2  # number of nodes from which garbage is collected
        self._and = BooleanOperator.AND
        self.manager = BDDManager(self._capacity, _CACHE, 1)
        levels = self.manager.add_vars(len(order))
        self._true = [self.manager.var(i) for i in levels]
        self._false = [~x for x in self._true]
        self.root = self.manager.true()
        self._conjoin_all(problem)
        self.n_nodes = self.root.node_count()
        if self.n_nodes > max_nodes:
            raise DiagramTooLargeError(self.refusal)

    def literal(self, x: int) -> Any:
        """The function of one literal."""
        return (self._true if x > 0 else self._false)[self.level[abs(x)]]

    @property
    def refusal(self) -> str:
        """The reason to give for a diagram that is too large."""
        return f"its decision diagram takes more than max_nodes={self.max_nodes:,} nodes"

    def _conjoin_all(self, problem: Problem) -> None:
        buckets = defaultdict[int, list[Any]](list)
        last: dict[int, int] = {}
        for constraint in problem.constraints():
            if isinstance(constraint, BoundedSum):
                variables = constraint.variables
            else:
                variables = {abs(x) for x in constraint}
            top = min((self.level[x] for x in variables), default=0)
            buckets[top].append(constraint)
            for x in variables:
                last[x] = min(last.get(x, top), top)
        kept = {abs(x) for x in problem.columns}
        done = defaultdict[int, list[int]](list)
        for x, top in last.items():
            if x not in kept:
                done[top].append(x)
        fitted, total = 0, sum(map(len, buckets.values()))
        for top in sorted(buckets, reverse=True):
            try:
                self._conjoin(buckets[top], done[top])
            except MemoryError as error:
                raise DiagramTooLargeError(self.refusal, fitted / total) from error
            fitted += len(buckets[top])

    def _conjoin(self, constraints: Sequence[Any], quantified: Sequence[int]) -> None:
        part = self.manager.true()
        for constraint in constraints:
            part &= self._function(constraint)
        if quantified:
            cube = self.manager.true()
            for x in sorted(quantified, key=lambda x: -self.level[x]):
                cube &= self.literal(x)
            self.root = self.root.apply_exists(self._and, part, cube)
        else:
            self.root &= part
        if self.manager.num_inner_nodes() > self._full:
            self.manager.gc()  # by us, so that what fits does not depend on the time of another
            used = self.manager.num_inner_nodes()
            self._full = max(self._room // 2, used + (self._capacity - used) // 4)

    def _function(self, constraint: Sequence[int] | BoundedSum) -> Any:
        if isinstance(constraint, BoundedSum):
            return self._clause(constraint.unless) | self._sum(constraint)
        return self._clause(constraint)

    def _clause(self, literals: Sequence[int]) -> Any:
        found = self.manager.false()
        for x in sorted(literals, key=lambda x: -self.level[abs(x)]):
            found |= self.literal(x)
        return found

    def _sum(self, bounded: BoundedSum) -> Any:
        """Its diagram directly: a node per position and partial sum that still matters."""
        terms = sorted(bounded.terms, key=lambda t: min(self.level[abs(x)] for x in t.literals))
        least, most = [0], [0]  # of the terms from a position to the end
        for term in reversed(terms):
            least.append(least[-1] + min(term.weights))
            most.append(most[-1] + max(term.weights))
        reach = [{0}]
        for i, term in enumerate(terms):
            rest = len(terms) - i - 1
            low, high = bounded.low - most[rest], bounded.high - least[rest]
            sums = {total + w for total in reach[-1] for w in set(term.weights)}
            reach.append({total for total in sums if low <= total <= high})
            if sum(map(len, reach)) > self._room:
                raise MemoryError
        below = dict.fromkeys(reach[-1], self.manager.true())
        no = self.manager.false()
        for term, sums in zip(reversed(terms), reversed(reach[:-1]), strict=True):
            here = {}
            for total in sums:
                pairs = zip(term.literals, term.weights, strict=True)
                here[total] = self._branch([(x, below.get(total + w, no)) for x, w in pairs])
            below = here
        return below.get(0, no)

    def _branch(self, choices: Sequence[tuple[int, Any]]) -> Any:
        """The function that is a choice's where its literal is true; exactly one literal is."""
        if len(choices) == 2 and choices[0][0] == -choices[1][0]:
            (x, yes), (_, no) = choices
            return self.literal(x).ite(yes, no)
        found, none = self.manager.false(), self.manager.true()
        for x, then in sorted(choices, key=lambda choice: -self.level[abs(choice[0])]):
            found = self.literal(x).ite(then & none, found)
            none &= self.literal(-x)
        return found
