"""Networks that the tasks share."""

import itertools

import pytest
import torch

from smtlayer.errors import ConfigError
from smtlayer.tasks.networks import DigitNetwork, OrderedReader, WholeImageNetwork

DIGITS = (0, 4, 6, 7)  # the windows of an equation that hold digits


def shapes(network):
    return [tuple(p.shape) for p in network.parameters() if p.ndim > 1]


def test_the_network_for_the_whole_image_is_the_papers():
    network = WholeImageNetwork()
    assert shapes(network) == [
        (64, 1, 3, 3), (64, 64, 3, 3), (128, 64, 3, 3), (256, 128, 3, 3), (256, 26_112), (16, 256),
    ]  # fmt: skip
    assert [layer.stride for layer in network.layers[:8:2]] == [(2, 2), (2, 2), (1, 1), (1, 1)]
    assert network(torch.zeros(2, 28, 224)).shape == (2, 16)
    dense = network.layers[-1].weight
    torch.testing.assert_close(dense @ dense.T, torch.eye(16), atol=1e-5, rtol=0)
    biases = [p for p in network.parameters() if p.ndim == 1]
    assert [len(bias) for bias in biases] == [64, 64, 128, 256, 256, 16]
    assert not any(bias.any() for bias in biases)


def windows_of(images):
    return torch.stack([images[:, :, 28 * i : 28 * (i + 1)] for i in range(8)], dim=1)


def sure(windows, **options):
    """A reader that reads from these windows."""
    reader = OrderedReader(**options)
    way = reader.choices.tolist().index(list(windows))
    with torch.no_grad():
        reader.choice_logits[way] = 100
    return reader


def test_there_are_seventy_ways_from_left_to_right_alike_at_first():
    reader = OrderedReader()
    assert [tuple(way) for way in reader.choices.tolist()] == [*itertools.combinations(range(8), 4)]
    assert len(reader.choices) == 70
    placement = reader.placement().detach()
    assert placement.shape == (4, 8)
    torch.testing.assert_close(placement.sum(-1), torch.ones(4))
    assert placement[0, 0] == pytest.approx(35 / 70)
    assert (placement[0, 5:] == 0).all()


@pytest.mark.parametrize("mix", ["logits", "probabilities"])
@pytest.mark.parametrize("windows", [DIGITS, (1, 2, 3, 5)])
def test_sure_of_its_windows_it_is_a_digit_reader_on_them(mix, windows):
    reader = sure(windows, mix=mix)
    images = torch.rand(3, 28, 224)
    expected = reader.reader(windows_of(images)[:, list(windows)])
    torch.testing.assert_close(reader(images), expected, atol=1e-4, rtol=1e-4)


def test_moving_symbols_and_windows_together_changes_nothing():
    reader = sure(DIGITS)
    images = torch.rand(2, 28, 224)
    order = torch.tensor([1, 0, 2, 3, 5, 4, 6, 7])  # 0 goes to window 1, 4 to window 5
    moved = torch.cat([images[:, :, 28 * i : 28 * (i + 1)] for i in order], dim=-1)
    other = sure((1, 5, 6, 7))
    other.reader.load_state_dict(reader.reader.state_dict())
    torch.testing.assert_close(other(moved), reader(images))
    assert not torch.allclose(reader(moved), reader(images))


def test_logits_are_what_is_expected_over_the_ways():
    reader = OrderedReader()
    with torch.no_grad():
        reader.choice_logits.normal_()
        reader.reader.layers[-1].weight.mul_(100)  # far from where sigmoids are straight
    images = torch.rand(2, 28, 224)
    read = reader.reader(windows_of(images)).reshape(2, 8, 4)
    ways = zip(reader.choice_logits.softmax(0), reader.choices, strict=True)
    expected = sum(likely * read[:, way].flatten(1) for likely, way in ways)
    torch.testing.assert_close(reader(images), expected)
    mixed = OrderedReader(mix="probabilities")
    mixed.load_state_dict(reader.state_dict())
    ways = zip(reader.choice_logits.softmax(0), reader.choices, strict=True)
    expected = sum(likely * read.sigmoid()[:, way].flatten(1) for likely, way in ways)
    torch.testing.assert_close(mixed(images).sigmoid(), expected)
    assert not torch.allclose(mixed(images), reader(images), atol=0.1)


@pytest.mark.parametrize("mix", ["logits", "probabilities"])
def test_both_the_reader_and_the_ways_learn(mix):
    reader = OrderedReader(mix=mix)
    reader(torch.rand(2, 28, 224)).sum().backward()
    for parameter in reader.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()
    assert reader.choice_logits.grad.any()


def test_certain_probabilities_keep_logits_finite():
    reader = sure(DIGITS, mix="probabilities")
    with torch.no_grad():
        reader.reader.layers[-1].bias.fill_(1e4)
    logits = reader(torch.rand(1, 28, 224))
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in reader.parameters())


def test_it_has_the_parameters_of_one_digit_reader_and_the_ways():
    reader = OrderedReader()
    assert shapes(reader) == shapes(DigitNetwork())
    assert set(dict(reader.named_parameters())) - {"choice_logits"} == {
        f"reader.{name}" for name, _ in DigitNetwork().named_parameters()
    }
    assert reader.choice_logits.shape == (70,)
    assert "choices" not in reader.state_dict()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slots": 9}, "slots must be from 1 to the 8 windows. Got 9"),
        ({"slots": 0}, "slots must be from 1 to the 8 windows. Got 0"),
        ({"mix": "votes"}, "mix must be 'logits' or 'probabilities'. Got 'votes'"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        OrderedReader(**options)
