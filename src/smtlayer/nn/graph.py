"""CUDA graphs of the passes of a layer and of its likelihood.

A pass over a table is about sixty tiny kernels. Launching each costs more host time than the whole
step of a small network; a captured graph launches all of them at once. Only code that never reads
a value on the host can be captured: rules that are `capturable`, if the solver can capture the
questions that they ask. A composite blame rule is resolved to a single rule for each batch, so each
single rule has its graph.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import Any, final

import torch
from torch import Tensor

from smtlayer.nn.likelihood import Evidence, weigh
from smtlayer.nn.passes import Plan, backward_pass, forward_pass, is_bad, progress_on
from smtlayer.nn.rules.base import BlameRule, can_be_captured
from smtlayer.nn.stats import Stats
from smtlayer.solvers import Solver
from smtlayer.theory import to_signs

_EAGER_CALLS = 3  # shapes that come up less often, such as a last batch, are not worth a graph
_MOST_GRAPHS = 8

_Key = tuple[int, torch.Size, torch.dtype, torch.device, tuple[bool, bool]]


@final
class CapturedPasses:
    """Both passes for one shape of batch, and the memory that the graphs use."""

    @torch.inference_mode(False)  # its memory must outlive the mode of this call
    @torch.no_grad()
    def __init__(
        self, plan: Plan, logits: Tensor, known: Tensor | None, given: Tensor | None
    ) -> None:
        self._stats = plan.stats
        shape = (len(logits), plan.solver.theory.n_outputs)
        self._logits = logits.detach().clone()
        self._known = None if known is None else known.clone()
        self._given = None if given is None else given.clone()
        self._outputs_in = logits.new_ones(shape)
        self._grad = logits.new_ones(shape)
        self._progress = progress_on(logits.device, plan.progress)
        plans = [replace(plan, backward=rule) for rule in capturable_rules(plan)]
        side = torch.cuda.Stream(logits.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(logits.device))
        with torch.cuda.stream(side), plan.stats.paused():  # lazy set-up must not be captured
            self._forward(plan)
            for each in plans:
                self._backward(each)
        torch.cuda.current_stream(logits.device).wait_stream(side)
        self._forward_graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._forward_graph, capture_error_mode="thread_local"):
            self._outputs, self._bad = self._forward(plan)
        # by identity, as a user's rule may not be hashable
        self._backward_graphs = {id(each.backward): self._capture(each) for each in plans}

    def forward(
        self, logits: Tensor, known: Tensor | None, given: Tensor | None
    ) -> tuple[Tensor, bool]:
        """Returns the outputs, and whether a logit is NaN, or infinite and not a fact."""
        with self._stats.clock():
            self._fill(logits, known, given)
            self._forward_graph.replay()
            outputs = self._outputs.clone()
        return outputs, bool(self._bad)

    def backward(
        self,
        plan: Plan,
        logits: Tensor,
        known: Tensor | None,
        given: Tensor | None,
        outputs: Tensor,
        grad: Tensor,
    ) -> Tensor:
        """Returns the gradient of the logits, by a graph if the plan's blame rule has one."""
        self._fill(logits, known, given)
        self._outputs_in.copy_(outputs)
        self._grad.copy_(grad)
        self._progress.fill_(plan.progress)
        if id(plan.backward) not in self._backward_graphs:
            return self._backward(plan)
        _, graph, pull = self._backward_graphs[id(plan.backward)]
        with self._stats.clock():
            graph.replay()
            return pull.clone()

    def _capture(self, plan: Plan) -> tuple[BlameRule, torch.cuda.CUDAGraph, Tensor]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            pull = self._backward(plan)
        return plan.backward, graph, pull  # holding the rule keeps its identity

    def _fill(self, logits: Tensor, known: Tensor | None, given: Tensor | None) -> None:
        self._logits.copy_(logits)
        for own, mask in ((self._known, known), (self._given, given)):
            if own is not None and mask is not None:
                own.copy_(mask)

    def _forward(self, plan: Plan) -> tuple[Tensor, Tensor]:
        signs = to_signs(self._logits, self._known)
        solution = forward_pass(plan, self._logits, signs, self._given)
        bad = is_bad(self._logits, self._known, self._given).any()
        return solution.outputs.to(self._logits.dtype), bad

    def _backward(self, plan: Plan) -> Tensor:
        signs = to_signs(self._logits, self._known)
        outputs = self._outputs_in.to(torch.int8)
        # none: a question that can be captured is always answered
        unknown = torch.zeros_like(signs[:, 0], dtype=torch.bool)
        return backward_pass(
            plan, self._logits, signs, outputs, unknown, self._grad, self._progress, self._given
        )


@final
class CapturedLikelihood:
    """`weigh` for one shape of batch, and the memory that its graph uses."""

    @torch.inference_mode(False)  # its memory must outlive the mode of this call
    @torch.no_grad()
    def __init__(self, solver: Solver, stats: Stats, evidence: Evidence, gradient: bool) -> None:
        self._stats = stats
        parts = (evidence.logits, evidence.known, evidence.given, evidence.outputs)
        self._parts = tuple(None if part is None else part.detach().clone() for part in parts)
        own = Evidence(*self._parts)  # type: ignore[arg-type]
        side = torch.cuda.Stream(evidence.logits.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(evidence.logits.device))
        with torch.cuda.stream(side), stats.paused():  # lazy set-up must not be captured
            weigh(solver, stats, own, gradient)
        torch.cuda.current_stream(evidence.logits.device).wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
            self._bad = is_bad(own.logits, own.known, own.given).any()
            self._value, self._slope = weigh(solver, stats, own, gradient)

    def weigh(self, evidence: Evidence) -> tuple[Tensor, Tensor | None, bool]:
        """Returns log-probabilities and derivatives, and whether a logit cannot be used."""
        parts = (evidence.logits, evidence.known, evidence.given, evidence.outputs)
        with self._stats.clock():
            for own, part in zip(self._parts, parts, strict=True):
                if own is not None and part is not None:
                    own.copy_(part)
            self._graph.replay()
            slope = None if self._slope is None else self._slope.clone()
            return self._value.clone(), slope, bool(self._bad)


def key_of(plan: Plan, logits: Tensor, known: Tensor | None, given: Tensor | None = None) -> _Key:
    """The forward rule, which depends on the layer's mode, and the kind of batch."""
    masks = (known is not None, given is not None)
    return id(plan.forward), logits.shape, logits.dtype, logits.device, masks


def can_capture(plan: Plan) -> bool:
    """Whether a graph may hold the forward pass."""
    return can_be_captured(plan.forward, plan.solver)


def capturable_rules(plan: Plan) -> list[BlameRule]:
    """The single blame rules of a plan whose backward pass a graph may hold."""
    rules = [rule for rule in plan.backward.leaves if can_be_captured(rule, plan.solver)]
    return list({id(rule): rule for rule in rules}.values())


_Captured = CapturedPasses | CapturedLikelihood


@final
class Graphs:
    """The captured passes of a layer, made when a kind of batch has occurred a few times."""

    def __init__(self) -> None:
        self._calls: Counter[Hashable] = Counter()
        self._captured: dict[Hashable, Any] = {}
        self._given_up = False

    def find(
        self, plan: Plan, logits: Tensor, known: Tensor | None, given: Tensor | None
    ) -> CapturedPasses | None:
        """Returns the captured passes for such a batch on a GPU, or None if there are none."""
        if not can_capture(plan):
            return None
        key = key_of(plan, logits, known, given)
        make = partial(CapturedPasses, plan, logits, known, given)
        found: CapturedPasses | None = self._find(key, logits, make)
        return found

    def find_likelihood(
        self, solver: Solver, stats: Stats, evidence: Evidence, gradient: bool
    ) -> CapturedLikelihood | None:
        """Returns the captured likelihood for such a batch on a GPU, or None if there is none."""
        question = "marginal" if gradient else "log_prob"
        if question not in solver.capturable:
            return None
        logits, masks = evidence.logits, (evidence.known is None, evidence.given is None)
        key = question, logits.shape, logits.dtype, logits.device, masks
        make = partial(CapturedLikelihood, solver, stats, evidence, gradient)
        found: CapturedLikelihood | None = self._find(key, logits, make)
        return found

    def _find(self, key: Hashable, logits: Tensor, make: Callable[[], _Captured]) -> Any:
        if not len(logits) or self._given_up:
            return None
        if key not in self._captured:
            self._calls[key] += 1
            full = len(self._captured) >= _MOST_GRAPHS
            if full or self._calls[key] <= _EAGER_CALLS:
                return None
            self._capture(key, logits, make)
        return self._captured.get(key)

    def _capture(self, key: Hashable, logits: Tensor, make: Callable[[], _Captured]) -> None:
        try:
            self._captured[key] = make()
        except RuntimeError as error:
            self._given_up = True
            _end_failed_capture(logits.device)
            warnings.warn(
                f"SMTLayer goes on without CUDA graphs, which is slower: {error}. "
                f"Pass cuda_graphs=False to turn them off.",
                stacklevel=2,
            )


def _end_failed_capture(device: torch.device) -> None:
    """Makes random numbers work again on a device after a capture that failed.

    PyTorch leaves the generator of the device in capture mode, in which every random number outside
    a graph is an error. A capture that succeeds ends that mode.
    """
    with torch.cuda.device(device), torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.zeros(1, device=device)
