import math
import re

import numpy as np
import pytest
import torch
import z3
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from smtlayer import SMTLayer, Theory
from smtlayer.loop import Stepper, solver_counts, solver_layers


@pytest.fixture
def model():
    a, b, y = z3.Bools("a b y")
    theory = Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y])
    return nn.Sequential(nn.Linear(2, 2), SMTLayer(theory))


def loss_of(model):
    return binary_cross_entropy_with_logits(model(torch.randn(8, 2)), torch.ones(8, 1))


def test_steps_set_the_progress_of_all_layers(model):
    step = Stepper(model, torch.optim.SGD(model.parameters(), 0.1), total=4)
    seen = []
    for _ in step:
        seen.append(model[1].progress)
        step(loss_of(model))
    assert seen == [0.0, 0.25, 0.5, 0.75]
    assert model[1].progress == 1.0


def test_gradients_are_clipped(model):
    before = model[0].weight.detach().clone()
    step = Stepper(model, torch.optim.SGD(model.parameters(), 1.0), total=1, clip=1e-3)
    step(loss_of(model) * 100)
    moved = torch.cat([(model[0].weight - before).flatten(), torch.zeros(1)]).norm()
    assert 0 < moved <= 1.001e-3


def test_a_schedule_steps_along(model):
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.1)
    step = Stepper(model, optimizer, total=2, schedule=schedule)
    step(loss_of(model))
    assert optimizer.param_groups[0]["lr"] == pytest.approx(0.1)


def test_a_state_goes_on_where_it_was_taken(model):
    step = Stepper(model, torch.optim.Adam(model.parameters()), total=4)
    step(loss_of(model))
    later = Stepper(model, torch.optim.Adam(model.parameters()), total=4)
    later.load_state_dict(step.state_dict())
    assert (later.done, model[1].progress) == (1, 0.25)
    assert list(later) == [1, 2, 3]


def test_counts_of_all_layers_are_added_up(model):
    both = nn.ModuleList([model, nn.Sequential(nn.Linear(2, 2), SMTLayer(model[1].theory))])
    for part in both:
        part(torch.randn(5, 2))
    assert len(solver_layers(both)) == 2
    assert solver_counts(both)["rows"] == 10


@pytest.mark.parametrize("total", [0, -3, math.nan, 2.5, None, "3", True])
def test_a_total_that_is_no_number_of_steps_is_refused(model, total):
    message = re.escape(
        f"Stepper expects total as a whole number, at least one step. Got {total!r}."
    )
    with pytest.raises(ValueError, match=message):
        Stepper(model, torch.optim.SGD(model.parameters(), 0.1), total=total)


@pytest.mark.parametrize("clip", [-1, math.nan, math.inf, None, "1"])
def test_a_norm_that_gradients_cannot_be_clipped_to_is_refused(model, clip):
    message = re.escape(
        f"Stepper expects clip as a finite number, 0 for no clipping. Got {clip!r}."
    )
    with pytest.raises(ValueError, match=message):
        Stepper(model, torch.optim.SGD(model.parameters(), 0.1), total=1, clip=clip)


def test_numbers_of_numpy_are_numbers(model):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    step = Stepper(model, optimizer, total=np.int64(2), clip=np.float32(0.5))
    step(loss_of(model))
    assert type(step.total) is int
    assert model[1].progress == 0.5


@pytest.mark.parametrize("state", [{}, {"done": 1}, None])
def test_a_wrong_state_is_an_error_and_nothing_is_loaded(model, state):
    step = Stepper(model, torch.optim.SGD(model.parameters(), 0.1), total=1)
    with pytest.raises(ValueError, match=r"state from its state_dict\(\), a dict with done, opt"):
        step.load_state_dict(state)
    assert step.done == 0


def test_a_state_without_the_schedule_is_an_error(model):
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    state = Stepper(model, optimizer, total=2).state_dict()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    with pytest.raises(ValueError, match=r"a schedule. Got one without"):
        Stepper(model, optimizer, total=2, schedule=schedule).load_state_dict(state)
