import pytest
import torch

from smtlayer import SMTLayer
from smtlayer.errors import ConfigError
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.mnist import DigitData, Digits
from smtlayer_studies.tasks.networks import DenseHead, DigitNetwork


def fake_digits() -> DigitData:
    """Images whose every pixel is the digit times ten."""
    labels = torch.arange(10).repeat_interleave(3)
    images = (labels * 10).to(torch.uint8)[:, None, None].expand(-1, 28, 28)
    digits = Digits(images, labels)
    return DigitData(digits, digits, "sample")


def every_row(rows):
    return rows.batch(torch.arange(len(rows)))


def test_the_theory_adds_all_hundred_pairs_of_digits():
    theory = addition_theory()
    layer = SMTLayer(theory)
    pairs = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    logits = theory.encode(a=pairs[:, 0], b=pairs[:, 1]).float()
    assert theory.decode(layer(logits))["total"].tolist() == pairs.sum(-1).tolist()


def test_numbers_above_nine_are_no_digits():
    theory = addition_theory()
    logits = theory.encode(a=range(10, 16), b=3).float()
    assert not SMTLayer(theory)(logits).any()


@pytest.mark.parametrize("percent", [10, 25, 50, 75, 100])
def test_training_shows_exactly_its_share_of_the_pairs(percent):
    task = MnistAddition(digits=fake_digits(), percent=percent)
    shown = {tuple(pair) for pair in task.shown.tolist()}
    assert len(shown) == percent
    assert {(d, d) for d in range(10)} <= shown
    batch = every_row(task.rows("train", 4000, 0))
    pixels = (batch.features[:, :, 0, 0] * 25.5).round().long()
    assert {tuple(pair) for pair in pixels.tolist()} == shown
    assert batch.seen.all()


def test_more_percent_show_the_same_pairs_and_others():
    few, many = (MnistAddition(digits=fake_digits(), percent=p).shown.tolist() for p in (25, 50))
    assert many[:25] == few


def test_rows_carry_the_sum_as_target_and_the_digits_as_hidden_symbols():
    task = MnistAddition(digits=fake_digits(), percent=10)
    batch = every_row(task.rows("test", 500, 1))
    digits = (batch.features[:, :, 0, 0] * 25.5).round().long()
    assert task.theory.decode(batch.targets * 2 - 1)["total"].tolist() == digits.sum(-1).tolist()
    read = task.theory.decode_inputs(batch.symbols)
    assert (read["a"].tolist(), read["b"].tolist()) == tuple(digits.T.tolist())
    assert torch.equal(batch.seen, digits[:, 0] == digits[:, 1])
    assert len(digits.unique(dim=0)) > 95


def test_rows_are_the_same_for_the_same_seed_and_epoch():
    task = MnistAddition(digits=fake_digits(), percent=10)
    one, two = (task.rows("train", 64, seed=5).items for _ in range(2))
    assert torch.equal(one, two)
    assert not torch.equal(one, task.rows("train", 64, seed=6).items)
    assert not torch.equal(one, task.rows("train", 64, seed=5, epoch=1).items)


def test_splits_share_no_images():
    labels = torch.arange(10).repeat_interleave(10)
    train, test = (Digits(torch.full((100, 28, 28), 1 + i, dtype=torch.uint8), labels)
                   for i in range(2))  # fmt: skip
    train.images[torch.arange(100) % 10 == 9] = 77  # the last tenth of each digit's
    task = MnistAddition(digits=DigitData(train, test, "sample").with_validation(0.1))
    found = {
        split: every_row(task.rows(split, 300, 0)) for split in ("train", "validation", "test")
    }
    values = {
        split: (batch.features * 255).round().unique().tolist() for split, batch in found.items()
    }
    assert values == {"train": [1.0], "validation": [77.0], "test": [2.0]}
    assert found["validation"].seen.all()  # what training shows, in other images


def test_without_images_set_apart_there_are_no_validation_rows():
    with pytest.raises(ConfigError, match=r"No images are set apart .* task.validation"):
        MnistAddition(digits=fake_digits(), percent=10).rows("validation", 10, 0)


@pytest.mark.parametrize("percent", [0, 9, 101])
def test_an_impossible_share_is_refused(percent):
    with pytest.raises(ConfigError, match=f"percent must be from 10 to 100. Got {percent}"):
        MnistAddition(digits=fake_digits(), percent=percent)


def test_the_digit_network_is_the_papers():
    network = DigitNetwork()
    sizes = [tuple(p.shape) for p in network.parameters() if p.ndim > 1]
    assert sizes == [
        (64, 1, 3, 3), (64, 64, 3, 3), (128, 64, 3, 3), (128, 128, 3, 3), (256, 6272), (4, 256),
    ]  # fmt: skip
    assert network(torch.zeros(3, 2, 28, 28)).shape == (3, 8)
    dense = next(p for p in network.parameters() if tuple(p.shape) == (4, 256))
    torch.testing.assert_close(dense @ dense.T, torch.eye(4), atol=1e-5, rtol=0)
    assert not any(p.any() for p in network.parameters() if p.ndim == 1)


def test_both_digits_go_through_the_same_network():
    network = DigitNetwork()
    images = torch.rand(1, 2, 28, 28)
    one, two = network(images).split(4, dim=-1)
    swapped = network(images.flip(1))
    torch.testing.assert_close(swapped, torch.cat([two, one], dim=-1))


def test_the_conventional_head_has_one_hidden_layer_of_512():
    assert [tuple(p.shape) for p in DenseHead(addition_theory()).parameters()] == [
        (512, 8),
        (512,),
        (5, 512),
        (5,),
    ]
