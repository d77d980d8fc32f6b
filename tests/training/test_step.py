import pytest
import torch
import z3
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits

from smtlayer import SMTLayer, Theory
from smtlayer.training import Stepper, solver_counts, solver_layers


@pytest.fixture
def model():
    a, b, y = z3.Bools("a b y")
    theory = Theory(y == z3.Xor(a, b), inputs=[a, b], outputs=[y])
    return nn.Sequential(nn.Linear(2, 2), SMTLayer(theory))


def loss_of(model):
    return binary_cross_entropy_with_logits(model(torch.randn(8, 2)), torch.ones(8, 1))


def test_steps_tell_all_layers_how_far_training_has_come(model):
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


def test_no_steps_at_all_are_refused(model):
    with pytest.raises(ValueError, match=r"at least one step. Got 0"):
        Stepper(model, torch.optim.SGD(model.parameters(), 0.1), total=0)
