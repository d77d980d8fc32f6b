"""KLay on our own decision diagrams: log-likelihood and its gradient; timed on addition."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from comparison import RUN, Agreement, Case, Rival
from mnist_addition import addition_theory, wanted
from smtlayer import Circuit, SMTLayer, Theory
from smtlayer.solvers.circuit.compilation import to_diagram
from smtlayer.solvers.circuit.diagram import Pack

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
    circuit = to_klay(theory)

    def with_gradient(i: int, likelihood: Likelihood) -> tuple[Tensor, Tensor]:
        leaf = logits[i].clone().requires_grad_()
        found = likelihood(leaf, outputs[i])
        found.sum().backward()
        return found.detach(), leaf.grad

    ours = partial(with_gradient, likelihood=layer.log_prob)
    theirs = {
        f"semiring {name}": partial(with_gradient, likelihood=likelihood)
        for name, likelihood in (
            ("log, float32", log_likelihood(circuit, theory)),
            ("real, float64", real_likelihood(circuit)),
        )
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


def log_likelihood(circuit: Any, theory: Theory) -> Likelihood:
    """KLay's log-likelihood of outputs, none of them free, computed with logarithms.

    Inputs are one-hot symbols of one size, or bits. The weights of false columns of
    one-hot symbols are not used: the circuit has no such literals.
    """
    module = circuit.to_torch_module("log", compile=False)
    one_hot = torch.tensor(one_hot_columns(theory))
    one_hot_inputs = one_hot[: theory.n_inputs].all()

    def read(logits: Tensor) -> Tensor:
        if one_hot_inputs:
            symbols = logits.unflatten(-1, (len(theory.input_symbols), -1))
            return symbols.log_softmax(-1).flatten(1)
        return F.logsigmoid(logits)

    def likelihood(logits: Tensor, outputs: Tensor) -> Tensor:
        true = torch.cat([read(logits), torch.where(outputs > 0, 0.0, NEVER)], -1)
        if one_hot.all():
            return module(true, torch.zeros_like(true)).squeeze(-1)
        false = torch.cat([F.logsigmoid(-logits), torch.where(outputs < 0, 0.0, NEVER)], -1)
        return module(true, false).squeeze(-1)

    return likelihood


def one_hot_columns(theory: Theory) -> list[bool]:
    """Which columns belong to a one-hot symbol, inputs first."""
    symbols = [*theory.input_symbols, *theory.output_symbols]
    widths = [(s.kind == "one-hot", s.columns.stop - s.columns.start) for s in symbols]
    return [one_hot for one_hot, width in widths for _ in range(width)]


def real_likelihood(circuit: Any) -> Likelihood:
    """The same with probabilities, which underflow if they are too small."""
    module = circuit.to_torch_module("real", compile=False)

    def likelihood(logits: Tensor, outputs: Tensor) -> Tensor:
        read = logits.double().reshape(len(logits), -1, 10).softmax(-1)
        weights = torch.cat([read.flatten(1), (outputs > 0).double()], -1)
        return module(weights, torch.ones_like(weights)).squeeze(-1).log()

    return likelihood


def to_klay(theory: Theory) -> "klay.Circuit":  # noqa: F821
    """The diagram of a theory as a KLay circuit: its variables are the columns, numbered from 1.

    An arc is the "and" of its columns: those that it makes true, and those of bits that it makes
    false; if one value of a one-hot symbol is true, the others are not.
    """
    import klay

    diagram, one_hot = to_diagram(theory), one_hot_columns(theory)
    circuit = klay.Circuit()
    nodes = [circuit.true_node()]  # of the level below
    for level in reversed(diagram.levels):
        literals = [literals_of(pack, diagram.columns, one_hot) for pack in level.packs]
        choices = level.value.transpose(1, 2, 0).tolist()  # (N, F, packs)
        arcs = [
            [
                [*(circuit.literal_node(i) for pack in zip(literals, choice, strict=True)
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


def literals_of(pack: Pack, columns: Sequence[int], one_hot: Sequence[bool]) -> list[list[int]]:
    """The columns, numbered from 1, that each value of a pack decides; negative if false."""
    values = [set(value) for value in (pack.signs * np.array(pack.variables)).tolist()]
    named = list(enumerate(zip(columns, one_hot, strict=True), 1))
    return [
        [i if literal in value else -i
         for i, (literal, alone) in named
         if literal in value or (-literal in value and not alone)]
        for value in values
    ]  # fmt: skip


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
