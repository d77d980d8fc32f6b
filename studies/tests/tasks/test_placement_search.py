"""Reading from left to right, and finding out where."""

import itertools

import pytest
import torch
import z3

from smtlayer import SMTLayer, Theory
from smtlayer.errors import ConfigError
from smtlayer.loop import Stepper
from smtlayer_studies.tasks.algebra.network import OrderedReader, WholeImageNetwork, in_windows
from smtlayer_studies.tasks.algebra.placement_search import PlacementSearch
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.base import Batch
from smtlayer_studies.tasks.networks import DigitNetwork

DIGITS = (0, 4, 6, 7)  # the windows of an equation that hold digits


def reading(*windows):
    reader = OrderedReader()
    reader.chosen.fill_(reader.choices.tolist().index(list(windows)))
    return reader


def test_windows_are_cut_from_left_to_right():
    images = torch.arange(3 * 28 * 56).reshape(3, 28, 56)
    windows = in_windows(images, 2)
    assert torch.equal(windows[:, 0], images[:, :, :28])
    assert torch.equal(windows[:, 1], images[:, :, 28:])


def test_there_are_seventy_ways_from_left_to_right():
    reader = OrderedReader()
    assert [tuple(way) for way in reader.choices.tolist()] == [*itertools.combinations(range(8), 4)]
    assert len(reader.choices) == 70


@pytest.mark.parametrize("windows", [DIGITS, (1, 2, 3, 5)])
def test_it_is_a_digit_reader_on_its_windows(windows):
    reader = reading(*windows)
    images = torch.rand(3, 28, 224)
    expected = reader.reader(in_windows(images, 8)[:, list(windows)])
    torch.testing.assert_close(reader(images), expected)


def test_the_way_is_kept_with_the_weights():
    reader, other = reading(*DIGITS), OrderedReader()
    other.load_state_dict(reader.state_dict())
    images = torch.rand(2, 28, 224)
    torch.testing.assert_close(other(images), reader(images))
    own = {name.removeprefix("reader.") for name in reader.state_dict()} - {"chosen"}
    assert own == set(DigitNetwork().state_dict())


@pytest.mark.parametrize("slots", [0, 9])
def test_impossible_numbers_of_slots_are_refused(slots):
    with pytest.raises(ConfigError, match=f"slots must be from 1 to the 8 windows. Got {slots}"):
        OrderedReader(slots=slots)


def equal_bits():
    """Windows that are bright or dark; the label says whether the second and fourth are equal."""
    p, q, same = z3.BitVec("p", 1), z3.BitVec("q", 1), z3.Bool("same")
    theory = Theory(same == (p == q), inputs=[p, q], outputs=[same])
    bright = torch.randint(2, (64, 4))
    images = torch.rand(64, 28, 112) * 0.2 + bright.float().repeat_interleave(28, 1)[:, None] * 0.8
    same_as = (bright[:, 1] == bright[:, 3]).float()[:, None]
    symbols = (bright[:, [1, 3]] * 2 - 1).to(torch.int8)
    return theory, Batch(images, same_as, symbols, torch.ones(64, dtype=torch.bool))


def test_the_windows_that_determine_the_labels_are_found():
    theory, batch = equal_bits()
    network = OrderedReader(windows=4, slots=2, bits=1)
    search = PlacementSearch(network, SMTLayer(theory, backward="mix(core, marginal)"))
    step = Stepper(search, torch.optim.Adam(search.parameters(), 1e-2), total=150)
    for _ in step:
        loss, right = search(batch)
        step(loss)
    assert network.choices[network.chosen].tolist() == [1, 3]
    assert right > 0.95
    assert search.accuracy.argmax() == network.chosen
    assert search.accuracy.sort().values[-2] < 0.75  # the next best guesses


def test_each_small_reader_sees_only_the_windows_of_its_placement():
    theory, batch = equal_bits()
    network = OrderedReader(windows=4, slots=2, bits=1)
    search = PlacementSearch(network, SMTLayer(theory))
    before = search._logits(batch.features).reshape(6, 64, 2)
    other = batch.features.clone()
    other[:, :, 28:56] = 0  # window 1
    after = search._logits(other).reshape(6, 64, 2)
    changed = (before != after).flatten(1).any(-1).tolist()
    assert changed == [1 in windows for windows in network.choices.tolist()]


def test_the_search_is_for_the_ordered_network():
    task = VisualAlgebra(configuration=2)
    with pytest.raises(ConfigError, match=r"search is for the network 'ordered'\. Got WholeImage"):
        task.pretraining.placement_search(WholeImageNetwork(), SMTLayer(task.theory))
