"""Losses by the exact likelihood of a theory."""

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from smtlayer.errors import ArgumentError, ArgumentTypeError
from smtlayer.nn.layer import SMTLayer
from smtlayer.nn.likelihood import with_weights
from smtlayer.solvers import Backend
from smtlayer.solvers.names import BackendName
from smtlayer.theory import Theory

Reduction = Literal["mean", "sum", "none"]


class SemanticLoss(nn.Module):
    r"""Computes how improbable it is that the theory holds: $-\log P(\varphi)$.

    The network's logits give each input symbol a distribution; $P(\varphi)$ is the probability
    that values drawn from them satisfy the theory. It needs no labels. Rows in which facts
    contradict the theory have an infinite loss and no gradient.

    Args:
        theory: A theory, or an `SMTLayer` that has one.
        backend: The kind of solver for a theory, or its name: `"table"` and `"circuit"` weigh
            models.
        reduction: `"mean"` or `"sum"` over all rows, or `"none"`.
        zero_infinity: Whether infinite losses count as zero, as in `torch.nn.CTCLoss`.

    Shape:
        - logits: $(*, n)$; `known` and `given` are masks as in `SMTLayer.log_prob`.
        - output: a scalar, or $(*)$ without reduction.

    Raises:
        UnsupportedError: If the backend does not weigh models.

    Examples:
        >>> import z3
        >>> a, b, c = z3.Bools("a b c")
        >>> one = Theory(z3.PbEq([(a, 1), (b, 1), (c, 1)], 1), inputs=[a, b, c], outputs=[a])
        >>> SemanticLoss(one)(torch.zeros(5, 3))  # three of eight cases, each equally probable
        tensor(0.9808)

    Reference:
        Xu et al., *A Semantic Loss Function for Deep Learning with Symbolic Knowledge*, ICML 2018.
    """

    def __init__(
        self,
        theory: Theory | SMTLayer,
        backend: BackendName | Backend = "auto",
        reduction: Reduction = "mean",
        *,
        zero_infinity: bool = False,
    ) -> None:
        super().__init__()
        self.layer = _layer_for("SemanticLoss", theory, backend)
        self.reduction = _checked_reduction("SemanticLoss", reduction)
        self.zero_infinity = zero_infinity

    def forward(
        self, logits: Tensor, known: Tensor | None = None, given: Tensor | None = None
    ) -> Tensor:
        """Returns the loss; see the class."""
        loss = -self.layer.log_prob(logits, None, known, given)
        return _reduced(loss, self.reduction, self.zero_infinity)

    def extra_repr(self) -> str:
        """The options, for `print(loss)`."""
        return f"reduction={self.reduction!r}, zero_infinity={self.zero_infinity}"


class LikelihoodLoss(nn.Module):
    r"""Computes how improbable the labels are: $-\log P(\varphi \wedge y)$ for outputs $y$.

    It trains a network on labels of the outputs alone, by the exact probability of all inputs that
    explain them. With `conditional=True` it is $-\log P(y \mid \varphi)$, which does not also ask
    the network to satisfy the theory. Rows whose labels are impossible have an infinite loss and
    no gradient; `layer.stats.impossible` counts them.

    Args:
        theory: A theory, or an `SMTLayer` that has one.
        backend: The kind of solver for a theory, or its name: `"table"` and `"circuit"` weigh
            models.
        reduction: `"mean"` or `"sum"` over all rows, or `"none"`.
        conditional: Whether to divide by the probability of the theory.
        zero_infinity: Whether infinite losses count as zero, as in `torch.nn.CTCLoss`.

    Shape:
        - logits: $(*, n)$; `known` and `given` are masks as in `SMTLayer.log_prob`.
        - outputs: signs or bools of shape $(*, m)$, or values by symbol name.
        - output: a scalar, or $(*)$ without reduction.

    Raises:
        UnsupportedError: If the backend does not weigh models.

    Examples:
        >>> import z3
        >>> a, b = z3.BitVecs("a b", 1)
        >>> total = z3.BitVec("total", 2)
        >>> rule = total == z3.ZeroExt(1, a) + z3.ZeroExt(1, b)
        >>> loss = LikelihoodLoss(Theory(rule, inputs=[a, b], outputs=[total]))
        >>> loss(torch.zeros(2, 2), {"total": [1, 2]})  # (log 2 + log 4) / 2
        tensor(1.0397)

    Reference:
        Manhaeve et al., *DeepProbLog: Neural Probabilistic Logic Programming*, NeurIPS 2018.
    """

    def __init__(
        self,
        theory: Theory | SMTLayer,
        backend: BackendName | Backend = "auto",
        reduction: Reduction = "mean",
        *,
        conditional: bool = False,
        zero_infinity: bool = False,
    ) -> None:
        super().__init__()
        self.layer = _layer_for("LikelihoodLoss", theory, backend)
        self.reduction = _checked_reduction("LikelihoodLoss", reduction)
        self.conditional, self.zero_infinity = conditional, zero_infinity

    def forward(
        self,
        logits: Tensor,
        outputs: Tensor | Mapping[str, Any],
        known: Tensor | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        """Returns the loss; see the class."""
        log_prob = self.layer.log_prob(logits, outputs, known, given)
        if self.conditional:
            whole = self.layer.log_prob(logits, None, known, given)
            log_prob = torch.where(whole > -torch.inf, log_prob - whole, log_prob)
        return _reduced(-log_prob, self.reduction, self.zero_infinity)

    def extra_repr(self) -> str:
        """The options, for `print(loss)`."""
        return (
            f"reduction={self.reduction!r}, conditional={self.conditional}, "
            f"zero_infinity={self.zero_infinity}"
        )


def _layer_for(who: str, theory: Theory | SMTLayer, backend: BackendName | Backend) -> SMTLayer:
    """The layer of a loss; raises if its solver does not weigh models."""
    if not isinstance(theory, Theory | SMTLayer):
        raise ArgumentTypeError(
            f"{who} expects a Theory or an SMTLayer. Got {type(theory).__name__}."
        )
    layer = theory if isinstance(theory, SMTLayer) else SMTLayer(theory, backend=backend)
    with_weights(layer.solver, who)
    return layer


def _checked_reduction(who: str, reduction: Reduction) -> Reduction:
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"{who}: reduction={reduction!r} is not one of 'mean', 'sum', 'none'.")
    return reduction


def _reduced(loss: Tensor, reduction: Reduction, zero_infinity: bool) -> Tensor:
    if zero_infinity:
        loss = torch.where(loss.isinf(), 0, loss)
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()
