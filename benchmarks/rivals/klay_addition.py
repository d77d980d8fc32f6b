"""KLay on our own decision diagrams of addition: log-likelihood and its gradient."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from comparison import RUN, Agreement, Case, Rival
from mnist_addition import addition_theory, wanted
from smtlayer import Circuit, SMTLayer
from smtlayer.solvers.circuit.compilation import to_diagram
from smtlayer.solvers.circuit.diagram import Diagram, Pack

Likelihood = Callable[[Tensor, Tensor], Tensor]  # logits and outputs -> (B,)
NEVER = -1e4  # for log 0: KLay's gradients are NaN with -inf


def cases() -> Iterator[Case]:
    for digits in (1, 2, 4, 15):
        for rows in (32, 128):
            yield make_case(digits, rows)


def make_case(digits: int, rows: int, repeats: int = 20) -> Case:
    theory = addition_theory(digits)
    layer = SMTLayer(theory, backend=Circuit())
    diagram = to_diagram(theory)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(RUN * (repeats + 1), rows, theory.n_inputs, generator=generator)
    sums = torch.randint(10**digits, (2, len(logits), rows), generator=generator).sum(0)
    outputs = wanted(theory, sums)  # (batches, B, m)
    circuit = to_klay(diagram)

    def with_gradient(i: int, likelihood: Likelihood) -> tuple[Tensor, Tensor]:
        leaf = logits[i].clone().requires_grad_()
        found = likelihood(leaf, outputs[i])
        found.sum().backward()
        return found.detach(), leaf.grad

    ours = partial(with_gradient, likelihood=layer.log_prob)
    theirs = {
        f"semiring {name}": partial(with_gradient, likelihood=make(circuit))
        for name, make in (("log, float32", log_likelihood), ("real, float64", real_likelihood))
    }

    def agreement() -> Agreement:
        values, gradients = ours(0)
        scale = max(1.0, float(values.abs().max()))
        apart = [(side(0)[0] - values).abs().max().item() / scale for side in theirs.values()]
        others = [(side(0)[1] - gradients).abs().max().item() for side in theirs.values()]
        text = (
            f"log-likelihoods differ by at most {max(apart):.1e} of the largest, "
            f"gradients by at most {max(others):.1e}"
        )
        return Agreement(max(*apart, *others) <= 1e-5, text)

    size = f"{digits} digit{'s' * (digits > 1)}, batch {rows}, {diagram.n_arcs:,} arcs"
    return Case(size, ours, theirs, agreement, repeats=repeats, run=RUN)


def log_likelihood(circuit: Any) -> Likelihood:
    """KLay's log-likelihood of outputs, computed with logarithms."""
    module = circuit.to_torch_module("log", compile=False)

    def likelihood(logits: Tensor, outputs: Tensor) -> Tensor:
        read = logits.reshape(len(logits), -1, 10).log_softmax(-1)  # every input is a digit
        weights = torch.cat([read.flatten(1), torch.where(outputs > 0, 0.0, NEVER)], -1)
        return module(weights, torch.zeros_like(weights)).squeeze(-1)

    return likelihood


def real_likelihood(circuit: Any) -> Likelihood:
    """The same with probabilities, which underflow if they are too small."""
    module = circuit.to_torch_module("real", compile=False)

    def likelihood(logits: Tensor, outputs: Tensor) -> Tensor:
        read = logits.double().reshape(len(logits), -1, 10).softmax(-1)
        weights = torch.cat([read.flatten(1), (outputs > 0).double()], -1)
        return module(weights, torch.ones_like(weights)).squeeze(-1).log()

    return likelihood


def to_klay(diagram: Diagram) -> "klay.Circuit":  # noqa: F821
    """The diagram as a KLay circuit: its variables are the columns, numbered from 1.

    All columns belong to one-hot symbols, so an arc is the "and" of the columns that it makes true.
    """
    import klay

    circuit = klay.Circuit()
    nodes = [circuit.true_node()]  # of the level below
    for level in reversed(diagram.levels):
        true = [true_columns(pack, diagram.columns) for pack in level.packs]
        choices = level.value.transpose(1, 2, 0).tolist()  # (N, F, packs)
        arcs = [
            [
                [*(circuit.literal_node(i) for pack in zip(true, choice, strict=True)
                   for i in pack[0][pack[1]]), nodes[child]]
                for child, choice in zip(*pair, strict=True)
                if choice[0] >= 0
            ]
            for pair in zip(level.child.tolist(), choices, strict=True)
        ]  # fmt: skip
        nodes = [circuit.or_node([circuit.and_node(arc) for arc in some]) for some in arcs]
    circuit.set_root(nodes[0])
    circuit.remove_unused_nodes()
    return circuit


def true_columns(pack: Pack, columns: Sequence[int]) -> list[list[int]]:
    """The columns, numbered from 1, that each value of a pack makes true."""
    literals = (pack.signs * np.array(pack.variables)).tolist()
    return [[i for i, x in enumerate(columns, 1) if x in value] for value in map(set, literals)]


RIVAL = Rival(
    name="klay",
    title="KLay",
    distribution="klaycircuits",
    module="klay",
    problem="log-likelihood of sums of one-hot digits, with its gradient",
    differs="Both evaluate our decision diagram, in one thread. KLay takes any d-DNNF or SDD, and "
    "has JAX, but no compiler from formulas. Its faster semiring counts; probabilities underflow "
    "where logarithms do not. Ours computes in float64. `torch.compile`, KLay's default for "
    "GPUs, is off",
    bar=1,
    faster=True,
    cases=cases,
)
