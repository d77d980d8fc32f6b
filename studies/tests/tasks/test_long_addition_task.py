import itertools

import pytest
import torch

from smtlayer.errors import ConfigError
from smtlayer_studies.tasks.long_addition.data import digits_of_sum, rows_of_images
from smtlayer_studies.tasks.long_addition.network import DigitReader
from smtlayer_studies.tasks.long_addition.task import LongAddition
from smtlayer_studies.tasks.mnist import DigitData, Digits
from tasks.carry_recursion import log_likelihood


def fake_digits(each=12) -> DigitData:
    """Images whose first pixel is their digit times ten; test images have another second pixel."""
    labels = torch.arange(10).repeat_interleave(each)
    images = torch.zeros(len(labels), 28, 28, dtype=torch.uint8)
    images[:, 0, 0] = labels * 10
    other = images.clone()
    other[:, 0, 1] = 1
    return DigitData(Digits(images, labels), Digits(other, labels), "sample")


def every_row(rows):
    return rows.batch(torch.arange(len(rows)))


def numbers(digits):
    return [int("".join(map(str, row))) for row in digits.tolist()]


@pytest.mark.parametrize("length", [1, 2, 15])
def test_sums_are_pythons(length):
    a, b = torch.randint(10, (2, 50, length))
    a[0] = b[0] = 9
    total = digits_of_sum(a, b)
    assert total.shape == (50, length + 1)
    assert numbers(total) == [x + y for x, y in zip(numbers(a), numbers(b), strict=True)]


def test_every_image_is_in_one_row_and_the_rest_in_none():
    rows = rows_of_images(103, 10, seed=4)
    assert rows.shape == (10, 10)
    assert len(set(rows.flatten().tolist())) == 100
    assert torch.equal(rows, rows_of_images(103, 10, seed=4))
    assert not torch.equal(rows, rows_of_images(103, 10, seed=5))


@pytest.mark.parametrize("length", [1, 2, 4])
def test_examples_carry_the_sum_as_target_and_the_digits_as_hidden_symbols(length):
    task = LongAddition(length=length, digits=fake_digits())
    batch = every_row(task.rows("train", 60_000, 1))
    assert batch.features.shape == (120 // (2 * length), 2 * length, 28, 28)
    digits = (batch.features[:, :, 0, 0] * 25.5).round().long()
    first, second = digits.split(length, dim=-1)
    found = task.theory.decode(batch.targets * 2 - 1)
    total = torch.stack([torch.tensor(found[f"s{i}"]) for i in range(length + 1)], dim=-1)
    expected = [x + y for x, y in zip(numbers(first), numbers(second), strict=True)]
    assert numbers(total) == expected
    read = task.theory.decode_inputs(batch.symbols)
    names = [f"{name}{i}" for name in "ab" for i in range(length)]
    assert [read[name].tolist() for name in names] == digits.T.tolist()
    assert batch.seen.all()


def test_examples_are_the_same_in_all_epochs_and_test_examples_have_test_images():
    task = LongAddition(length=2, digits=fake_digits())
    one, later = (task.rows("train", 60_000, 3, epoch=epoch) for epoch in (0, 7))
    assert torch.equal(one.items, later.items)
    assert not torch.equal(one.items, task.rows("train", 60_000, 4).items)
    assert len(task.rows("train", 5, 3)) == 5
    test = every_row(task.rows("test", 10_000, 3))
    assert len(test.features) == 30
    assert (test.features[..., 0, 1] > 0).all()


def test_validation_images_are_not_in_training():
    task = LongAddition(length=1, digits=fake_digits(20), validation=0.1)
    assert task.scored_split == "validation"
    train, apart = (task.rows(split, 60_000, 0) for split in ("train", "validation"))
    assert (len(train), len(apart)) == (90, 10)
    with pytest.raises(ConfigError, match=r"No images are set apart .* task.validation"):
        LongAddition(digits=fake_digits()).rows("validation", 10, 0)


def test_an_impossible_length_is_refused():
    with pytest.raises(ConfigError, match=r"^long-addition: length must be at least 1\. Got 0\.$"):
        LongAddition(length=0)


def test_the_network_reads_exactly_one_digit_from_each_image():
    network = DigitReader()
    images = torch.rand(3, 4, 28, 28)
    logits = network(images)
    assert logits.shape == (3, 40)
    digits = logits.unflatten(-1, (4, 10))
    assert (digits > 0).sum(-1).eq(1).all()
    plain = network.reader(images).unflatten(-1, (4, 10))
    torch.testing.assert_close(digits.softmax(-1), plain.softmax(-1))
    assert torch.equal(digits.argmax(-1), plain.argmax(-1))


def test_the_recursion_over_carries_is_the_sum_over_all_pairs_of_numbers():
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(1, 4, 10, generator=generator)
    probability = logits.softmax(-1)[0]
    likely = {}
    for digits in itertools.product(range(10), repeat=4):
        total = 10 * (digits[0] + digits[2]) + digits[1] + digits[3]
        weight = torch.stack([probability[i, digit] for i, digit in enumerate(digits)]).prod()
        likely[total] = likely.get(total, 0) + weight
    for total, expected in likely.items():
        digits = torch.tensor([[int(digit) for digit in f"{total:03d}"]])
        found = log_likelihood(logits, digits).exp()[0]
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-9)
