import gzip
import struct

import pytest
import torch

from smtlayer.errors import MissingDataError
from smtlayer.tasks.mnist import Digits, load_digits


def write_idx(path, values):
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(gzip.compress(head + values.numpy().tobytes()))


@pytest.fixture
def tiny_mnist(tmp_path):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for prefix, count in (("train", 20), ("t10k", 10)):
        labels = torch.arange(count, dtype=torch.uint8) % 10
        images = labels[:, None, None].expand(-1, 28, 28).contiguous()
        write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", labels)
    return tmp_path


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.delenv("SMTLAYER_DATA", raising=False)


def test_the_sample_has_400_training_and_100_test_images_of_each_digit(no_data):
    digits = load_digits("sample")
    assert digits.source == "sample"
    assert digits.train.images.shape == (4000, 28, 28)
    assert torch.bincount(digits.train.labels).tolist() == [400] * 10
    assert torch.bincount(digits.test.labels).tolist() == [100] * 10


def test_the_sample_has_no_image_in_both_splits(no_data):
    digits = load_digits("sample")
    train = {image.numpy().tobytes() for image in digits.train.images}
    assert not any(image.numpy().tobytes() in train for image in digits.test.images)


def test_auto_falls_back_to_the_sample_without_a_data_folder(no_data):
    assert load_digits("auto").source == "sample"


def test_mnist_is_read_from_the_data_folder_by_option_and_by_environment(tiny_mnist, monkeypatch):
    for digits in (load_digits("auto", tiny_mnist), load_digits("mnist", tiny_mnist)):
        assert digits.source == "mnist"
        assert digits.train.labels.tolist() == sorted(list(range(10)) * 2)
        assert torch.equal(digits.train.images[:, 0, 0].long(), digits.train.labels)
    monkeypatch.setenv("SMTLAYER_DATA", str(tiny_mnist))
    assert load_digits("mnist").test.images.shape == (10, 28, 28)


def test_missing_mnist_says_where_to_put_it(no_data, tmp_path):
    with pytest.raises(MissingDataError, match=r"no data folder is given.*SMTLAYER_DATA"):
        load_digits("mnist")
    with pytest.raises(MissingDataError, match="does not hold it"):
        load_digits("mnist", tmp_path)


def test_a_corrupt_file_is_named(tiny_mnist):
    path = tiny_mnist / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(MissingDataError, match=r"train-images-idx3-ubyte.gz is not a readable"):
        load_digits("mnist", tiny_mnist)


def test_drawing_gives_images_of_the_digits_asked_for():
    labels = torch.tensor([3, 1, 1, 0, 3, 3])
    digits = Digits.ordered(torch.zeros(6, 28, 28), labels)
    wanted = torch.tensor([[3, 1], [0, 3]] * 50)
    drawn = digits.draw(wanted, torch.Generator().manual_seed(0))
    assert torch.equal(digits.labels[drawn], wanted)
    assert len(drawn.unique()) == 6


def test_the_real_mnist_has_its_well_known_sizes(mnist_dir):
    digits = load_digits("mnist", mnist_dir)
    assert len(digits.train.labels) == 60_000
    assert torch.bincount(digits.test.labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
