"""A network that sees the whole image learns from one that reads window by window."""

import pytest
import torch

from smtlayer.errors import ConfigError
from smtlayer.loop import Stepper
from smtlayer_studies.tasks.algebra.distillation import Distillation
from smtlayer_studies.tasks.algebra.network import OrderedReader, WholeImageNetwork, in_windows
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.base import Batch
from smtlayer_studies.tasks.networks import DigitNetwork

PLACES = [1, 3]  # of four windows


def teacher():
    reader = OrderedReader(windows=4, slots=2, bits=1)
    reader.chosen.fill_(reader.choices.tolist().index(PLACES))
    return reader


def numbered(rows):
    """Images whose windows are filled with numbers of their own."""
    numbers = torch.arange(rows * 4).reshape(rows, 4).float()
    return numbers.repeat_interleave(28, 1)[:, None].expand(rows, 28, 112)


def batch_of(images):
    rows = len(images)
    return Batch(images, torch.zeros(rows, 1), torch.zeros(rows, 2, dtype=torch.int8),
                 torch.ones(rows, dtype=torch.bool))  # fmt: skip


def test_windows_come_from_all_rows_and_stay_whole():
    torch.manual_seed(0)
    distillation = Distillation(torch.nn.Identity(), teacher())
    made = in_windows(distillation.recombined(numbered(500)), 4)  # (B, 4, 28, 28)
    values = made[..., 0, 0].long()
    assert (made == values[..., None, None]).all()
    places, row = values % 4, values // 4
    assert (places[:, 0] == 0).all()
    assert (places[:, 2] == 2).all()
    for slot in PLACES:  # either place that is read, about as often
        assert set(places[:, slot].tolist()) == set(PLACES)
        assert 0.4 < (places[:, slot] == PLACES[0]).float().mean() < 0.6
    for window in range(4):
        assert len(row[:, window].unique()) > 250
    assert (row[:, 1] == row[:, 3]).float().mean() < 0.05  # what stood together does no longer


def test_the_student_reads_what_the_teacher_reads_and_the_teacher_stays():
    torch.manual_seed(0)
    bright = torch.randint(2, (64, 4)).float().repeat_interleave(28, 1)
    images = torch.rand(64, 28, 112) * 0.2 + bright[:, None] * 0.8
    master = teacher()
    with torch.no_grad():  # logits of either sign, by brightness
        logits = master.reader(in_windows(images, 4)[:, PLACES])
        master.reader.layers[-1].bias -= (logits.min() + logits.max()) / 2
    before = {name: value.clone() for name, value in master.state_dict().items()}
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(28 * 112, 2))
    distillation = Distillation(network, master)
    step = Stepper(distillation, torch.optim.Adam(network.parameters(), 1e-3), total=60)
    shares = []
    for _ in step:
        loss, right = distillation(batch_of(images))
        step(loss)
        shares.append(right.item())
    assert min(shares[-10:]) > 0.85 > 0.5 > shares[0]
    assert all(torch.equal(before[name], value) for name, value in master.state_dict().items())
    assert not any(p.requires_grad for p in master.parameters())


def test_visual_algebra_distils_into_the_network_of_the_whole_image():
    ways = VisualAlgebra(configuration=2).pretraining
    teacher, network = ways.teacher(), WholeImageNetwork()
    assert isinstance(teacher, OrderedReader)
    distillation = ways.distillation(network, teacher)
    assert distillation.network is network
    assert distillation.teacher is teacher
    with pytest.raises(ConfigError, match=r"to the network 'paper'\. Got DigitNetwork"):
        ways.distillation(DigitNetwork(), teacher)
