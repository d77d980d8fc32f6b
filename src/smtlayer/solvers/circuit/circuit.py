"""The backend `Circuit`: answers from a decision diagram, in batches, on the logits' device.

A diagram holds all models in a size that depends on the structure of the theory, not on their
number. Every question is a few tensor operations per level.

A core is found as in `Table`: rank inputs from the least confident to the most. Deletion starts
with the most confident one. The first that must stay has the largest rank that is the *least*
disagreement of some model. It is in the core; models that disagree with it are removed; repeat.
The largest of all least ranks is one recursion over the levels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from smtlayer.errors import NotFiniteError, TooLargeError
from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import QUESTIONS, Core, Possible, Posterior, Solution, Solver
from smtlayer.solvers.circuit.compilation import MAX_NODES, to_diagram
from smtlayer.solvers.circuit.diagram import Diagram
from smtlayer.solvers.circuit.evaluation import (
    cheapest_arc,
    drawn_arc,
    first_ways,
    follow,
    least,
    log_total,
    mass,
    shares,
    widest,
)
from smtlayer.solvers.circuit.repair import cheapest
from smtlayer.solvers.circuit.row import RowCircuit
from smtlayer.solvers.circuit.tensors import Tensors
from smtlayer.solvers.one_row import Floats, RowModel, SignArray
from smtlayer.solvers.reading import read, without_facts
from smtlayer.solvers.validation import check_count, check_question, check_theory_given
from smtlayer.theory import Theory

_CELLS = 1 << 24  # rows times arcs in memory at once
_LAUNCHES = 256  # arcs that take as long on a GPU as the launches of one more level


@dataclass(frozen=True)
class Circuit:
    """Compiles a theory to a decision diagram once, then answers by tensor operations.

    For theories with a small diagram, whatever the number of their models: sequences, sums, paths,
    cardinalities, requirements. Several orders of the variables are tried.

    Args:
        max_nodes: The largest number of nodes of the diagram. While it is built it may have ten
            times as many.

    Examples:
        >>> import z3
        >>> x = z3.Bools(" ".join(f"x{i}" for i in range(40)))
        >>> theory = Theory(z3.PbEq([(each, 1) for each in x], 20), inputs=x, outputs=x)
        >>> solver = Circuit().compile(theory)
        >>> solver.diagram.n_models
        137846528820
        >>> solver.log_prob(torch.zeros(1, 40), torch.zeros(1, 40, dtype=torch.int8)).exp()
        tensor([0.1254], dtype=torch.float64)
    """

    max_nodes: int = MAX_NODES

    def __post_init__(self) -> None:
        check_count("Circuit", "max_nodes", self.max_nodes)

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """A solver over the theory's diagram.

        Raises:
            NotFiniteError: If the theory does not come down to bits.
            TooLargeError: If its diagram takes more than `max_nodes`.
        """
        check_theory_given("Circuit", theory)
        try:
            diagram = to_diagram(theory, self.max_nodes)
        except NotFiniteError as error:
            raise NotFiniteError(
                f"Circuit takes theories that come down to bits, and this one does not: {error}.",
                "Use Z3() or Auto() instead.",
            ) from error
        except TooLargeError as error:
            raise TooLargeError(
                f"Circuit: this theory is too large, {error}.",
                "Use Sat() instead, or raise max_nodes.",
            ) from error
        return CircuitSolver(theory, diagram)


@final
class CircuitSolver:
    """See `Solver`; answers are exact."""

    name = "Circuit"
    limit_ms = None
    on_host = False
    cache_hits = 0
    last_error = ""
    deterministic = True
    capturable = QUESTIONS - {"maximize", "core"}

    def __init__(self, theory: Theory, diagram: Diagram) -> None:
        self.theory = theory
        self.diagram = diagram
        self._devices: dict[torch.device, Tensors] = {}

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        check_question(self.name, self.theory, inputs)
        parts = [self._solve(inputs[rows]) for rows in self._chunks(inputs)]
        return self._solution(parts, inputs.device)

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        tensors, size = self._on(inputs.device), weights.double()
        parts = [
            cheapest(tensors, inputs[rows], size[rows], None if outputs is None else outputs[rows])
            for rows in self._chunks(inputs)
        ]
        return self._solution(parts, inputs.device)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """The core that deletion from the heaviest input to the lightest ends with."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        parts = [
            self._core(inputs[rows], weights[rows], outputs[rows]) for rows in self._chunks(inputs)
        ]
        status, blamed = (torch.cat(part) for part in zip(*parts, strict=True))
        return Core(status, blamed)

    def possible(self, inputs: Tensor) -> Possible:
        """The values of each output in the models that agree with every observed input."""
        check_question(self.name, self.theory, inputs)
        tensors, n, parts = self._on(inputs.device), self.theory.n_inputs, []
        for rows in self._chunks(inputs):
            cost, arcs = self._costs(inputs[rows])
            seen = mass(tensors, [(each < torch.inf).float() for each in arcs], most=1.0)
            shown = (tensors.column_mass(seen, sign)[:, n:] > 0 for sign in (1, -1))
            parts.append((_is_sat(cost < torch.inf), *shown))
        return Possible(*(torch.cat(part) for part in zip(*parts, strict=True)))

    def cheapest(self, signs: SignArray, weights: Floats) -> RowModel | None:
        """The same as `maximize` for one row; see `AnswersRow`."""
        return self._row.cheapest(signs, weights)

    def log_prob(self, logits: Tensor, outputs: Tensor) -> Tensor:
        """The log-probability that the theory and the wanted outputs hold: (B,) float64."""
        tensors = self._on(logits.device)
        return torch.cat([
            log_total(tensors, self._log_weights(logits[rows], outputs[rows]))
            for rows in self._chunks(logits)
        ])  # fmt: skip

    def marginal(self, logits: Tensor, outputs: Tensor) -> Posterior:
        """The mean of the models with the wanted outputs, weighed by their probabilities."""
        tensors, parts = self._on(logits.device), []
        for rows in self._chunks(logits):
            total, found = shares(tensors, self._log_weights(logits[rows], outputs[rows]))
            parts.append((total, tensors.column_mass(mass(tensors, found), 1)))
        log_prob, mean = (torch.cat(part) for part in zip(*parts, strict=True))
        n = self.theory.n_inputs
        return Posterior(_is_sat(log_prob > -torch.inf), log_prob, mean[:, :n], mean[:, n:])

    def topk(self, logits: Tensor, outputs: Tensor, k: int) -> Posterior:
        """The same for the k most probable of them."""
        tensors, n, parts = self._on(logits.device), self.theory.n_inputs, []
        k = max(1, min(k, self.diagram.n_models))
        for rows in self._chunks(logits, k):
            weights = self._log_weights(logits[rows], outputs[rows])
            found, ways = first_ways(tensors, weights, k)  # (k, b), (packs, k * b)
            true = (tensors.columns(ways) > 0).view(*found.shape, -1)  # (k, b, n + m)
            share = found.softmax(0).nan_to_num(0)  # zeros without a model
            parts.append((found.logsumexp(0), (share[..., None] * true).sum(0)))
        log_prob, mean = (torch.cat(part) for part in zip(*parts, strict=True))
        return Posterior(_is_sat(log_prob > -torch.inf), log_prob, mean[:, :n], mean[:, n:])

    def sample(self, logits: Tensor, outputs: Tensor) -> Solution:
        """A model with the wanted outputs, drawn by its inputs' probabilities."""
        tensors, parts = self._on(logits.device), []
        for rows in self._chunks(logits):
            total, found = shares(tensors, self._log_weights(logits[rows], outputs[rows]))
            parts.append((follow(tensors, found, drawn_arc), -total.clamp(max=0)))
        drawn, odds = self._solution(parts, logits.device), without_facts(logits)
        cost = torch.where(drawn.inputs * odds < 0, odds.abs(), 0).sum(-1)
        return replace(drawn, cost=torch.where(drawn.cost < torch.inf, cost, torch.inf))

    def _solve(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        cost, arcs = self._costs(inputs)
        return follow(self._on(inputs.device), arcs, cheapest_arc), cost.double()

    def _costs(self, inputs: Tensor) -> tuple[Tensor, list[Tensor]]:
        """See `least`: 0 where a model agrees with every observed input, else infinite."""
        tensors, signs = self._on(inputs.device), inputs.T
        against = [torch.where(signs < 0, torch.inf, 0), torch.where(signs > 0, torch.inf, 0)]
        return least(tensors, tensors.weights(against, torch.inf))

    def _core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        tensors = self._on(inputs.device)
        fact = (inputs != 0) & weights.isinf()
        order = torch.where(fact, 0, weights).argsort(dim=-1, descending=True, stable=True).flip(-1)
        rank = torch.empty_like(order).scatter_(
            -1, order, torch.arange(order.shape[-1], device=order.device).expand_as(order)
        )
        # What a model may not do: contradict a fact, a wanted output, or an input of the core.
        forbidden = torch.where(fact, -torch.inf, rank.double())
        wanted = [torch.where(outputs < 0, -torch.inf, torch.inf),
                  torch.where(outputs > 0, -torch.inf, torch.inf)]  # fmt: skip
        blamed, status = torch.zeros_like(fact), None
        while True:
            against = [torch.where(inputs < 0, forbidden, torch.inf),
                       torch.where(inputs > 0, forbidden, torch.inf)]  # fmt: skip
            columns = [part.T.double() for part in (*against, *wanted)]
            needed = widest(tensors, tensors.weights(columns, -torch.inf, least=True))  # (B,)
            status = _is_sat(needed == torch.inf) if status is None else status
            more = needed.isfinite()
            if not more.any():
                return status, blamed
            place = torch.where(more, needed, 0).long()[:, None]
            column = order.gather(-1, place)
            blamed.scatter_(-1, column, blamed.gather(-1, column) | more[:, None])
            forbidden = torch.where(blamed, -torch.inf, forbidden)

    def _log_weights(self, logits: Tensor, outputs: Tensor) -> Tensor:
        """The log-probability of each value, ruled out where it has other outputs than wanted."""
        reading = read(self.theory, logits)
        wanted = [torch.where(outputs < 0, -torch.inf, 0), torch.where(outputs > 0, -torch.inf, 0)]
        columns = [part.T.double() for part in (reading.true, reading.false, *wanted)]
        return self._on(logits.device).log_weights(columns)

    def _solution(self, parts: Sequence[tuple[Tensor, Tensor]], device: torch.device) -> Solution:
        """The models with these values and costs; none where the cost is infinite."""
        values = torch.cat([values for values, _ in parts], dim=1)
        cost = torch.cat([cost for _, cost in parts])
        status = _is_sat(cost < torch.inf)
        columns = self._on(device).columns(values) * status[:, None]
        n = self.theory.n_inputs
        return Solution(status, columns[:, :n], columns[:, n:], cost)

    @cached_property
    def _row(self) -> RowCircuit:
        return RowCircuit(self.diagram, self.theory.n_inputs)

    def _chunks(self, batch: Tensor, each: int = 1) -> Iterator[slice]:
        step = max(1, _CELLS // (self._on(batch.device).n_padded * max(each, 1)))
        for start in range(0, max(len(batch), 1), step):
            yield slice(start, start + step)

    def _on(self, device: torch.device) -> Tensors:
        if device not in self._devices:
            diagram = self.diagram.fused(_LAUNCHES) if device.type == "cuda" else self.diagram
            self._devices[device] = Tensors(diagram, self.theory, device)
        return self._devices[device]


def _is_sat(found: Tensor) -> Tensor:
    return found.to(torch.int8)  # Status.SAT is 1, Status.UNSAT is 0
