"""Probabilities of answers, as probabilistic libraries compute them, and answers by them.

An answer is as probable as the models of the theory that have these outputs, or as the k most
probable ones of them. These libraries give the most probable answer; our layer gives the outputs of
the most probable model.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer import SMTLayer
from smtlayer.nn import topk
from smtlayer.nn.rules.base import with_ranks
from smtlayer.solvers.reading import read
from smtlayer_studies.runs.losses import wanted
from smtlayer_studies.tasks.base import Batch, Model

ALL = 10**6  # more models than an answer has


def all_answers(layer: SMTLayer) -> Tensor:
    """The outputs that the theory allows: (A, m) int8."""
    signs = torch.tensor([-1, 1], dtype=torch.int8)
    n, m = layer.theory.n_inputs, layer.theory.n_outputs
    outputs = torch.cartesian_prod(*[signs] * m).view(-1, m)
    logits = torch.zeros(len(outputs), n)
    return outputs[layer.log_prob(logits, outputs) > -torch.inf]


def answer_probabilities(layer: SMTLayer, logits: Tensor, answers: Tensor, k: int) -> Tensor:
    """The total probability of the k most probable models of each answer, with its gradient.

    Shape:
        - logits: $(B, n)$; answers: $(A, m)$; result: $(B, A)$ float64.
    """
    solver, fixed = with_ranks(layer.solver, topk), logits.detach().double()
    best = solver.topk(
        fixed.repeat_interleave(len(answers), 0), answers.repeat(len(logits), 1), k
    )  # of (B * A) rows
    shape = len(logits), len(answers)
    log_prob, mean = best.log_prob.view(shape), best.inputs.view(*shape, -1)  # (B, A, n)
    slope = mean - read(layer.theory, fixed).mean[:, None]  # of log_prob
    return log_prob.exp() * (1 + (slope * (logits - fixed)[:, None]).sum(-1))


class MostProbableAnswer(nn.Module):
    """In the place of a layer, gives the answer whose k best models are most probable together.

    Shape:
        - logits: $(B, n)$; output: $(B, m)$ signs.
    """

    def __init__(self, layer: SMTLayer, k: int) -> None:
        super().__init__()
        self.layer, self.k = layer, k
        self.register_buffer("answers", all_answers(layer))

    def forward(self, logits: Tensor) -> Tensor:
        """The most probable answer."""
        found = answer_probabilities(self.layer, logits, self.answers, self.k)
        return self.answers[found.argmax(-1)].to(logits)


def scallop_loss(layer: SMTLayer, k: int) -> Callable[[Model, Batch], tuple[Tensor, Tensor]]:
    """The loss of Scallop's examples, and the share of examples whose answer is right.

    Binary cross-entropy over the probabilities of all answers, as in `experiments/mnist/sum_2.py`
    of the repository scallop-lang/scallop: wrong answers lose probability.
    """
    possible = all_answers(layer)

    def compute(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        answers = possible.to(batch.features.device)
        probabilities = answer_probabilities(layer, model.network(batch.features), answers, k)
        found = probabilities.clamp(max=1)  # rounding may exceed it
        label = (wanted(batch)[:, None] == answers).all(-1)  # (B, A)
        right = label.gather(1, found.argmax(-1, keepdim=True))
        return F.binary_cross_entropy(found, label.to(found)), right.float().mean()

    return compute
