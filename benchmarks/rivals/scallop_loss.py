"""Scallop's loss with our top-k proofs: binary cross-entropy over the probabilities of answers.

As in `experiments/mnist/sum_2.py` of the repository scallop-lang/scallop: an answer is as probable
as its k most probable proofs together, and the loss compares all answers with the label, so wrong
ones lose probability. A proof is a model of the theory.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer import SMTLayer
from smtlayer.nn.rules.base import with_ranks
from smtlayer.nn.rules.posterior import topk
from smtlayer.solvers.reading import read
from smtlayer_studies.runs.losses import wanted
from smtlayer_studies.tasks.base import Batch, Model

RATE, BATCH_SIZE, PROOFS = 1e-3, 64, 3  # of Scallop's example


def scallop_loss(layer: SMTLayer) -> Callable[[Model, Batch], tuple[Tensor, Tensor]]:
    """The loss of a batch, and the share of examples whose label is the most probable answer."""
    answers = all_answers(layer)

    def compute(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
        found = answer_probabilities(layer, model.network(batch.features), answers, PROOFS)
        label = (wanted(batch)[:, None] == answers).all(-1)  # (B, answers)
        right = label.gather(1, found.argmax(-1, keepdim=True))
        return F.binary_cross_entropy(found, label.to(found)), right.float().mean()

    return compute


def all_answers(layer: SMTLayer) -> Tensor:
    """The outputs that the theory allows: (answers, m) int8."""
    bits = torch.tensor([-1, 1], dtype=torch.int8)
    outputs = torch.cartesian_prod(*[bits] * layer.theory.n_outputs)
    logits = torch.zeros(len(outputs), layer.theory.n_inputs)
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
