"""The backend `Table`: answers from the list of all models, in batches, on the logits' device.

Few columns: a table with one entry per partial assignment holds the first model that agrees with
it, so `solve` is one look-up and `core` one look-up per deletion.

More columns: a question takes a few tensor operations over rows and models. The cost of a model is
a matrix product, and so is the position of its least confident disagreement; see `deletion`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from torch import Tensor

from smtlayer.errors import TooManyModelsError
from smtlayer.interrupts import interruptible
from smtlayer.solvers.base import QUESTIONS, Core, Possible, Posterior, Solution, Solver, Status
from smtlayer.solvers.one_row import Floats, RowModel, SignArray
from smtlayer.solvers.reading import fact_signs, read, without_facts
from smtlayer.solvers.table.deletion import core_by_deletion, halves_of
from smtlayer.solvers.table.exact import first_minimum, total_weight
from smtlayer.solvers.table.lookup import Lookup, partial_lookup
from smtlayer.solvers.table.models import MAX_WORK, Ending, Models, list_models
from smtlayer.solvers.table.posterior import (
    asked_halves,
    cheapest_models,
    draw_model,
    log_total,
    relative_costs,
    shares,
)
from smtlayer.solvers.table.row import RowTable
from smtlayer.solvers.validation import (
    check_count,
    check_limits,
    check_question,
    check_theory_given,
)
from smtlayer.theory import Theory

_CELLS = 1 << 21  # rows times models in memory at once
_LOOKUP_COLUMNS = 13  # inputs and outputs, up to which every partial assignment has an entry
_CAPTURABLE_INPUTS = 32


@dataclass(frozen=True)
class Table:
    """Lists all models once, then answers by tensor operations, also on a GPU.

    Args:
        max_models: The largest number of models over inputs and outputs.
        max_work: The largest number of steps for making the list: propagations of the SAT solver,
            or resource units of z3 if the theory does not come down to bits. A million takes a
            second or less.

    Examples:
        >>> import z3
        >>> a, b, y = z3.Bools("a b y")
        >>> solver = Table().compile(Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y]))
        >>> solver.solve(torch.tensor([[1, -1], [1, 1]])).outputs
        tensor([[ 1],
                [-1]], dtype=torch.int8)
    """

    max_models: int = 100_000
    max_work: float = MAX_WORK

    def __post_init__(self) -> None:
        check_count("Table", "max_models", self.max_models)
        check_limits(self, "max_work")

    @interruptible
    def compile(self, theory: Theory) -> Solver:
        """A solver over the list of all models.

        Raises:
            TooManyModelsError: If the list cannot be completed within the limits.
        """
        check_theory_given("Table", theory)
        models = list_models(theory, self.max_models, self.max_work)
        if not models.complete:
            raise self._refusal(theory, models)
        return TableSolver(theory, models)

    def _refusal(self, theory: Theory, models: Models) -> TooManyModelsError:
        columns = theory.n_inputs + theory.n_outputs
        other = "Sat()" if models.fits_sat else "Z3()"
        many = f"max_models={self.max_models} models over its {columns} inputs and outputs"
        match models.ending:
            case Ending.MANY:
                what, also = f"this theory has more than {many}.", ", or raise max_models"
            case Ending.ESTIMATED:
                what, also = f"this theory has far more than {many}, by an estimate.", ""
            case Ending.WORK:
                what = (
                    f"this theory needs more than max_work={self.max_work:.0f} steps to list; "
                    f"{len(models)} models were found."
                )
                also = ", or raise max_work"
            case _:
                what, also = f"this theory {models.reason} after {len(models)} models.", ""
        return TooManyModelsError(f"Table: {what}", f"Use {other} instead{also}.")


@final
@dataclass(frozen=True, slots=True)
class _Tensors:
    """The list of models on one device; the last row, of zeros, means "no model"."""

    inputs: Tensor  # (K + 1, n) int8
    outputs: Tensor  # (K + 1, m) int8
    input_signs: Tensor  # (n, K) float32
    output_signs: Tensor  # (m, K) float32
    disagrees: Tensor  # (2n, K) float64: 1 where an input is false; then, where it is true
    true_outputs: Tensor  # (m, K) float64: 1 where an output is true
    disagreements: Tensor  # (2n, K): the same in the narrowest float exact for n bits
    lookup: Lookup | None


@final
class TableSolver:
    """See `Solver`; answers are exact, and ties go to the first model in lexicographic order."""

    name = "Table"
    limit_ms = None
    on_host = False
    cache_hits = 0
    last_error = ""
    deterministic = True

    @property
    def capturable(self) -> frozenset[str]:
        """All but repairs; inside a graph a core takes a step per input, so only with few."""
        few = self.theory.n_inputs <= _CAPTURABLE_INPUTS
        return QUESTIONS - ({"maximize"} if few else {"maximize", "core"})

    def __init__(self, theory: Theory, models: Models) -> None:
        self.theory = theory
        self._models = models
        self._step = max(1, _CELLS // max(1, len(models)))  # rows at once
        self._devices: dict[torch.device, _Tensors] = {}

    def solve(self, inputs: Tensor) -> Solution:
        """A model that agrees with every observed input."""
        check_question(self.name, self.theory, inputs)
        table = self._on(inputs.device)
        if table.lookup is not None:
            index = table.lookup.first.index_select(0, table.lookup.index(inputs))
        else:
            index = torch.cat([
                _first_true(_agrees(inputs[rows], table.input_signs))
                for rows in self._chunks(len(inputs))
            ])  # fmt: skip
        return self._solution(table, index, index.new_zeros((), dtype=torch.float64))

    def maximize(self, inputs: Tensor, weights: Tensor, outputs: Tensor | None = None) -> Solution:
        """A model with the wanted outputs that overrules inputs of the least total weight."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        table = self._on(inputs.device)
        index = torch.empty(len(inputs), dtype=torch.int64, device=inputs.device)
        cost = torch.empty(len(inputs), dtype=torch.float64, device=inputs.device)
        facts = weights == torch.inf
        soft = inputs.masked_fill(facts, 0)
        some = bool(facts.any())
        for rows in self._chunks(len(inputs)):
            halves = halves_of(soft[rows], weights[rows].double())  # (b, 2n)
            if outputs is None:
                allowed = torch.ones(1, len(self._models), dtype=torch.bool, device=inputs.device)
            else:
                allowed = _agrees(outputs[rows], table.output_signs)
            if some:
                allowed = allowed & _agrees((inputs - soft)[rows], table.input_signs)
            index[rows], cost[rows] = first_minimum(halves, table.disagrees, allowed)
        return self._solution(table, index, cost)

    def core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        """The core that deletion from the heaviest input to the lightest ends with."""
        check_question(self.name, self.theory, inputs, weights, outputs)
        if not len(self._models):
            none = torch.zeros_like(inputs, dtype=torch.bool)
            return Core(torch.full_like(inputs[:, 0], Status.UNSAT), none)
        if len(inputs) <= self._step:
            return self._core(inputs, weights, outputs)
        chunks = self._chunks(len(inputs))
        parts = [self._core(inputs[rows], weights[rows], outputs[rows]) for rows in chunks]
        return Core(
            torch.cat([part.status for part in parts]), torch.cat([part.inputs for part in parts])
        )

    def possible(self, inputs: Tensor) -> Possible:
        """The values of each output in the models that agree with every observed input."""
        check_question(self.name, self.theory, inputs)
        table, parts = self._on(inputs.device), []
        for rows in self._chunks(len(inputs)):
            agrees = _agrees(inputs[rows], table.input_signs).double()
            parts.append((agrees.sum(-1, keepdim=True), agrees @ table.true_outputs.T))
        count, true = (torch.cat(part) for part in zip(*parts, strict=True))  # numbers of models
        return Possible((count > 0).squeeze(-1).to(torch.int8), true > 0, true < count)

    def cheapest(self, signs: SignArray, weights: Floats) -> RowModel | None:
        """The same as `maximize` for one row; see `AnswersRow`."""
        return self._row.cheapest(signs, weights)

    def log_prob(self, logits: Tensor, outputs: Tensor) -> Tensor:
        """The log-probability that the theory and the wanted outputs hold: (B,) float64."""
        return torch.cat([
            self._log_prob(logits[rows], *self._weighed(logits[rows], outputs[rows]))
            for rows in self._chunks(len(logits))
        ])  # fmt: skip

    def marginal(self, logits: Tensor, outputs: Tensor) -> Posterior:
        """The mean of the models with the wanted outputs, weighed by their probabilities."""
        return self.topk(logits, outputs, len(self._models))

    def topk(self, logits: Tensor, outputs: Tensor, k: int) -> Posterior:
        """The same for the k most probable of them; ties go to the first."""
        table, parts = self._on(logits.device), []
        for rows in self._chunks(len(logits)):
            costs, allowed = self._weighed(logits[rows], outputs[rows])
            if k < len(self._models):
                allowed = cheapest_models(costs, allowed, k)
            log_prob, share = self._log_prob(logits[rows], costs, allowed), shares(costs, allowed)
            inputs = share @ table.disagrees[logits.shape[-1] :].T
            parts.append((log_prob, inputs, share @ table.true_outputs.T))
        log_prob, inputs, means = (torch.cat(part) for part in zip(*parts, strict=True))
        return Posterior((log_prob > -torch.inf).to(torch.int8), log_prob, inputs, means)

    def sample(self, logits: Tensor, outputs: Tensor) -> Solution:
        """A model with the wanted outputs, drawn by its inputs' probabilities."""
        table = self._on(logits.device)
        index = torch.cat([
            draw_model(*self._weighed(logits[rows], outputs[rows]))
            for rows in self._chunks(len(logits))
        ])  # fmt: skip
        halves = asked_halves(without_facts(logits))
        return self._solution(table, index, total_weight(halves, table.disagrees, index))

    def _weighed(self, logits: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Costs of all models, and which have the wanted outputs and the facts: (b, K) each."""
        table = self._on(logits.device)
        allowed = _agrees(outputs, table.output_signs)
        if logits.is_cuda or logits.isinf().any():
            allowed = allowed & _agrees(fact_signs(logits), table.input_signs)
        return relative_costs(without_facts(logits), table.disagrees, allowed), allowed

    def _log_prob(self, logits: Tensor, costs: Tensor, allowed: Tensor) -> Tensor:
        true = self._on(logits.device).disagrees[logits.shape[-1] :]
        return log_total(costs, allowed, read(self.theory, logits), true)

    def _core(self, inputs: Tensor, weights: Tensor, outputs: Tensor) -> Core:
        table = self._on(inputs.device)
        deletions = weights.argsort(dim=-1, descending=True, stable=True)  # (b, n) columns
        facts = weights == torch.inf
        soft = inputs.masked_fill(facts, 0)  # what may be deleted
        if table.lookup is not None:
            satisfiable, blamed = table.lookup.core(inputs, soft, deletions, outputs)
            return Core(satisfiable.to(torch.int8), blamed)
        wanted = _agrees(outputs, table.output_signs)
        if facts.is_cuda or facts.any():  # asking on a GPU would take longer than the product
            wanted = wanted & _agrees(inputs - soft, table.input_signs)
        satisfiable, blamed = core_by_deletion(soft, deletions, wanted, table.disagreements)
        return Core(satisfiable.to(torch.int8), blamed)

    def _solution(self, table: _Tensors, index: Tensor, cost: Tensor) -> Solution:
        found = index < len(self._models)
        return Solution(
            found.to(torch.int8),
            table.inputs.index_select(0, index),
            table.outputs.index_select(0, index),
            torch.where(found, cost, torch.inf),
        )

    @cached_property
    def _row(self) -> RowTable:
        return RowTable(self._models)

    def _chunks(self, rows: int) -> Iterator[slice]:
        for start in range(0, max(rows, 1), self._step):
            yield slice(start, start + self._step)

    def _on(self, device: torch.device) -> _Tensors:
        if device not in self._devices:
            self._devices[device] = self._tensors(device)
        return self._devices[device]

    def _tensors(self, device: torch.device) -> _Tensors:
        inputs, outputs = self._models.inputs.to(device), self._models.outputs.to(device)
        n = inputs.shape[-1]
        disagrees = torch.cat([(inputs < 0).T, (inputs > 0).T])
        lookup = None
        if n + outputs.shape[-1] <= _LOOKUP_COLUMNS:
            lookup = partial_lookup(self._models, device)
        return _Tensors(
            torch.cat([inputs, inputs.new_zeros(1, n)]),
            torch.cat([outputs, outputs.new_zeros(1, outputs.shape[-1])]),
            inputs.T.float().contiguous(),
            outputs.T.float().contiguous(),
            disagrees.double().contiguous(),
            (outputs > 0).T.double().contiguous(),
            disagrees.to(torch.float32 if n <= 24 else torch.float64).contiguous(),
            lookup,
        )


def _agrees(signs: Tensor, models: Tensor) -> Tensor:
    """Whether models (columns of signs) agree with all signs of each row that are not 0: (b, K)."""
    wanted = signs.float()  # (b, c)
    return wanted @ models == wanted.abs().sum(-1, keepdim=True)


def _first_true(found: Tensor) -> Tensor:
    """The index of the first true entry of each row, or the row's length."""
    if not found.shape[-1]:
        return torch.zeros(len(found), dtype=torch.int64, device=found.device)
    index = found.to(torch.uint8).argmax(-1)
    return torch.where(found.any(-1), index, found.shape[-1])
