"""The methods of `SMTLayer` about probabilities."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from smtlayer.nn.graph import Graphs
from smtlayer.nn.likelihood import (
    Evidence,
    LikelihoodFunction,
    Marginals,
    posterior_of,
    samples_of,
    with_weights,
)
from smtlayer.nn.stats import Stats
from smtlayer.nn.untraced import untraced
from smtlayer.nn.validate import check_logits, flat_mask, wanted_signs
from smtlayer.solvers import Solution, Solver
from smtlayer.solvers.validation import check_count
from smtlayer.theory import Theory

Outputs = Tensor | Mapping[str, Any] | None


class Probabilities:
    """Exact probabilities for a class that has a theory and a solver; see `SMTLayer`."""

    theory: Theory
    stats: Stats
    _graphs: Graphs | None

    @property
    def solver(self) -> Solver:
        """The compiled theory."""
        raise NotImplementedError

    @untraced
    def log_prob(
        self,
        logits: Tensor,
        outputs: Outputs = None,
        known: Tensor | None = None,
        given: Tensor | None = None,
    ) -> Tensor:
        r"""Returns the log-probability that the theory holds, with the wanted outputs if any.

        Each input symbol has a distribution of its own: a `Bool` or a bit is true with probability
        $\sigma(z)$, a one-hot symbol has a value with its share of the softmax over its columns.
        The result is $\log P(\varphi \wedge y)$, the log of the total probability of all models
        with these outputs. Without outputs, its negative is the *semantic loss*; the difference of
        both is $\log P(y \mid \varphi)$. If inputs leave outputs open, each pair of inputs and
        outputs counts with the whole probability of the inputs, so $P$ may exceed 1.

        The gradient is the true derivative: the posterior minus the prior probability of each
        column. It is zero for inputs that are not known, for facts, and in impossible rows, whose
        result is -inf; `stats.impossible` counts those.

        Args:
            logits: As in `forward`.
            outputs: Signs of shape `(*, m)`, 0 for no opinion (or a bool tensor), or values by
                symbol name, as in `encode_outputs`.
            known: As in `forward`; where False, nothing was read: all values alike.
            given: Bool, broadcast like `known`: True marks a fact, which has probability one for
                the sign of its logit. The logit may be infinite.

        Shape:
            - output: `(*)`, in the logits' dtype; under autocast at least float32.

        Raises:
            UnsupportedError: If the backend does not weigh models; `Table` and `Circuit` do.

        Examples:
            >>> import z3
            >>> from smtlayer import SMTLayer
            >>> a, b, y = z3.Bools("a b y")
            >>> layer = SMTLayer(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
            >>> logits = torch.zeros(2, requires_grad=True)  # both are true with probability 1/2
            >>> log_prob = layer.log_prob(logits, outputs={"y": False})
            >>> log_prob.exp()
            tensor(0.7500, grad_fn=<ExpBackward0>)
            >>> log_prob.backward()
            >>> logits.grad  # 1/3 - 1/2
            tensor([-0.1667, -0.1667])
        """
        evidence = self._evidence("log_prob", logits, outputs, known, given)
        gradient = evidence.logits.requires_grad and torch.is_grad_enabled()
        captured = None
        if self._graphs is not None and logits.is_cuda:
            captured = self._graphs.find_likelihood(self.solver, self.stats, evidence, gradient)
        value: Tensor = LikelihoodFunction.apply(  # type: ignore[no-untyped-call]
            evidence.logits, evidence, self.solver, self.stats, captured, gradient
        )
        return value.reshape(logits.shape[:-1])

    @untraced
    @torch.no_grad()
    def marginals(
        self,
        logits: Tensor,
        outputs: Outputs = None,
        known: Tensor | None = None,
        given: Tensor | None = None,
    ) -> Marginals:
        """Returns the probability of each column given the theory, and the outputs if any.

        Arguments are those of `log_prob`. `inputs` is `(*, n)`, `outputs` is `(*, m)` and
        `log_prob` is `(*)`, at least float32; probabilities are zero where nothing is possible.
        `theory.decode_probabilities` gives them by value.

        Examples:
            >>> import z3
            >>> from smtlayer import SMTLayer
            >>> a, b, y = z3.Bools("a b y")
            >>> layer = SMTLayer(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
            >>> layer.marginals(torch.zeros(2)).outputs
            tensor([0.2500])
            >>> layer.marginals(torch.zeros(2), outputs={"y": False}).inputs
            tensor([0.3333, 0.3333])
        """
        evidence = self._evidence("marginals", logits, outputs, known, given)
        found, real = posterior_of(self.solver, self.stats, evidence), evidence.real
        parts = (found.inputs, found.outputs, found.log_prob)
        return Marginals(*(p.to(real).reshape(logits.shape[:-1] + p.shape[1:]) for p in parts))

    @untraced
    @torch.no_grad()
    def sample(
        self,
        logits: Tensor,
        outputs: Outputs = None,
        count: int = 1,
        known: Tensor | None = None,
        given: Tensor | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> Solution:
        """Returns models drawn by their probabilities, `count` for each row.

        Arguments are those of `log_prob`; all tensors of the result have a leading dimension of
        `count`. Draws use the default generator of the device where the solver works, or
        `generator`.

        Examples:
            >>> import z3
            >>> from smtlayer import SMTLayer
            >>> a, b, y = z3.Bools("a b y")
            >>> layer = SMTLayer(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
            >>> layer.sample(torch.zeros(2), outputs={"y": True}, count=3).inputs
            tensor([[1, 1],
                    [1, 1],
                    [1, 1]], dtype=torch.int8)
        """
        check_count("SMTLayer.sample", "count", count)
        evidence = self._evidence("sample", logits, outputs, known, given)
        found = samples_of(self.solver, self.stats, evidence, count, generator)
        shape = (count, *logits.shape[:-1])
        parts = (found.status, found.inputs, found.outputs, found.cost, found.proved)
        return Solution(*(part.reshape(shape + part.shape[1:]) for part in parts))

    def _evidence(
        self,
        method: str,
        logits: Tensor,
        outputs: Outputs,
        known: Tensor | None,
        given: Tensor | None,
    ) -> Evidence:
        """Validates the arguments of a method about probabilities."""
        who = f"SMTLayer.{method}"
        with_weights(self.solver, who)
        check_logits(logits, self.theory)
        flat = logits.reshape(-1, self.theory.n_inputs)
        if torch.is_autocast_enabled(logits.device.type):
            flat = flat.to(torch.promote_types(flat.dtype, torch.float32))
        return Evidence(
            flat,
            flat_mask("known", known, logits),
            flat_mask("given", given, logits),
            wanted_signs(who, "outputs", self.theory, outputs, logits),
        )
