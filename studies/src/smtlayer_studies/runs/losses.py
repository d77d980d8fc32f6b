"""Losses of a training, each with the training accuracy."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from smtlayer_studies.tasks.base import Batch, Model, with_facts


def task_loss(outputs: Tensor, batch: Batch) -> Tensor:
    """Binary cross-entropy over the outputs that the task asks for."""
    weight = None if batch.asked is None else batch.asked.to(outputs)
    return F.binary_cross_entropy_with_logits(outputs, batch.targets.to(outputs), weight)


def with_labels(loss: Tensor, logits: Tensor, batch: Batch) -> Tensor:
    """A loss plus the binary cross-entropy over the inputs that have a label themselves."""
    if batch.labels is None:
        return loss
    labelled = batch.labels != 0
    errors = F.softplus(-logits * batch.labels) * labelled
    return loss + errors.sum() / labelled.sum().clamp(min=1)


def cross_entropy(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """`task_loss` of the outputs, `with_labels`, and the share of examples that are right."""
    logits, outputs = model(batch.features, batch.known, batch.facts)
    right = batch.correct(outputs.detach(), all_outputs=False).float().mean()
    return with_labels(task_loss(outputs, batch), logits, batch), right


def likelihood(model: Model, batch: Batch) -> tuple[Tensor, Tensor]:
    """The negative log-likelihood of the labels, and the share with a probability over one half.

    The likelihood is the probability that the theory holds with these outputs, of all inputs that
    the network may have read. An example whose outputs no input allows has no loss and no gradient;
    `stats.impossible` counts them. A conventional head has the cross-entropy, which is the
    likelihood of independent outputs.
    """
    if model.layer is None:
        return cross_entropy(model, batch)
    logits = with_facts(model.network(batch.features), batch.facts)
    log_prob = model.layer.log_prob(logits, wanted(batch), batch.known, batch.given)
    right = (log_prob.detach() > -math.log(2)).float().mean()
    loss = -log_prob.where(log_prob.isfinite(), 0).mean()
    return with_labels(loss, logits, batch), right


def wanted(batch: Batch) -> Tensor:
    """The labels as signs, 0 for outputs that the task does not ask for: (B, m) int8."""
    signs = torch.where(batch.targets > 0.5, 1, -1).to(torch.int8)
    return signs if batch.asked is None else signs * batch.asked
