import gzip
import hashlib
import struct
from dataclasses import replace

import pytest
import torch

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.tasks import mnist
from smtlayer_studies.tasks.data import files
from smtlayer_studies.tasks.data_files import FILES
from smtlayer_studies.tasks.mnist import Digits, load_digits


def write_idx(path, values):
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(gzip.compress(head + values.numpy().tobytes()))


def register(monkeypatch, folder):
    """Takes the files that are there for the right ones."""
    for file in files("mnist"):
        content = (folder / file.path).read_bytes()
        right = replace(file, sha256=hashlib.sha256(content).hexdigest(), size=len(content))
        monkeypatch.setitem(FILES, file.name, right)


@pytest.fixture
def tiny_mnist(tmp_path, monkeypatch):
    folder = tmp_path / "mnist"
    folder.mkdir()
    for prefix, count in (("train", 20), ("t10k", 10)):
        labels = torch.arange(count, dtype=torch.uint8) % 10
        images = labels[:, None, None].expand(-1, 28, 28).contiguous()
        write_idx(folder / f"{prefix}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte.gz", labels)
    register(monkeypatch, tmp_path)
    return tmp_path


@pytest.fixture
def no_data(monkeypatch, tmp_path):
    monkeypatch.delenv("SMTLAYER_DATA", raising=False)
    monkeypatch.delenv("SMTLAYER_DOWNLOAD", raising=False)
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "cache"))


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


def test_missing_mnist_says_where_to_put_it_and_how_to_fetch_it(no_data, tmp_path, monkeypatch):
    for folder, options in ((tmp_path / "cache" / "data", ()), (tmp_path, (tmp_path,))):
        with pytest.raises(MissingDataError) as caught:
            load_digits("mnist", *options)
        assert f"{folder}/mnist/train-images-idx3-ubyte.gz does not exist" in str(caught.value)
        assert "smtlayer data --download mnist" in str(caught.value)
        assert "--data-dir or SMTLAYER_DATA" in str(caught.value)
    with pytest.raises(MissingDataError, match="does not exist"):
        load_digits("auto", tmp_path)
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    with pytest.raises(MissingDataError, match=r"there is no data folder.*SMTLAYER_DATA"):
        load_digits("mnist")


def test_a_file_with_another_checksum_is_refused(tiny_mnist, monkeypatch):
    path = tiny_mnist / "mnist" / "train-images-idx3-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-20])
    monkeypatch.setenv("SMTLAYER_DATA", str(tiny_mnist))
    for source in ("mnist", "auto"):
        with pytest.raises(
            MissingDataError, match=r"train-images-idx3-ubyte.gz is not mnist-train"
        ):
            load_digits(source)


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"])
@pytest.mark.parametrize("kept", [-20, 0])
def test_a_file_that_cannot_be_read_is_named(tiny_mnist, monkeypatch, name, kept):
    path = tiny_mnist / "mnist" / name
    path.write_bytes(path.read_bytes()[:kept])
    register(monkeypatch, tiny_mnist)
    with pytest.raises(MissingDataError, match=f"{name} is not a readable MNIST file"):
        load_digits("mnist", tiny_mnist)


@pytest.fixture
def fetched(monkeypatch, tiny_mnist, no_data):
    """What was fetched: tiny files instead of anything from the network."""
    names = []
    contents = {file.name: (tiny_mnist / file.path).read_bytes() for file in files("mnist")}

    def fetch(name, data_dir=None):
        names.append(name)
        target = mnist.data_folder(data_dir) / FILES[name].path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(contents[name])

    monkeypatch.setattr(mnist, "download_file", fetch)
    return names


def test_nothing_is_fetched_unless_asked(fetched):
    assert load_digits().source == "sample"
    assert load_digits(download=False).source == "sample"
    assert load_digits("sample", download=True).source == "sample"
    with pytest.raises(MissingDataError):
        load_digits("mnist")
    assert fetched == []


@pytest.mark.parametrize("how", ["option", "environment"])
def test_asked_to_it_fetches_mnist_once(fetched, monkeypatch, tmp_path, how):
    if how == "environment":
        monkeypatch.setenv("SMTLAYER_DOWNLOAD", "1")
    for _ in range(2):
        digits = load_digits(download=True if how == "option" else None)
        assert (digits.source, len(digits.train.labels)) == ("mnist", 20)
    assert fetched == [file.name for file in files("mnist")]
    assert (tmp_path / "cache" / "data" / "mnist").is_dir()
    monkeypatch.delenv("SMTLAYER_DOWNLOAD", raising=False)
    assert load_digits().source == "mnist"


def test_only_what_is_missing_is_fetched(fetched, tiny_mnist):
    (tiny_mnist / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    assert load_digits("mnist", tiny_mnist, download=True).source == "mnist"
    assert fetched == ["mnist-test-labels"]


def test_without_a_network_auto_warns_and_takes_the_sample(no_data, monkeypatch):
    def fetch(name, data_dir=None):
        raise MissingDataError("data: no network.")

    monkeypatch.setattr(mnist, "download_file", fetch)
    with pytest.warns(UserWarning, match=r"no network\. The sample of digits is used instead"):
        assert load_digits(download=True).source == "sample"
    with pytest.raises(MissingDataError, match="no network"):
        load_digits("mnist", download=True)


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


@pytest.mark.parametrize("share", [1, 1.5, -0.1, float("nan")])
def test_no_more_than_all_and_no_less_than_no_images_are_set_apart(no_data, share):
    message = rf"images: validation must be from 0 to below 1\. Got {share}\."
    with pytest.raises(ConfigError, match=message):
        load_digits("sample").with_validation(share)


@pytest.mark.parametrize(("share", "apart"), [(0.99999, 4000), (0.001, 0)])
def test_training_and_validation_both_have_images_of_every_digit(no_data, share, apart):
    message = rf"some of every kind .* Got {share}, which sets {apart} of 4000 apart"
    with pytest.raises(ConfigError, match=message):
        load_digits("sample").with_validation(share)
    labels = load_digits("sample").with_validation(0.002).validation.labels
    assert labels.tolist() == list(range(10))


def test_too_few_images_of_a_digit_to_share_are_an_error():
    labels = torch.tensor([0, 0, 0, 0, 1])
    few = Digits(torch.zeros(5, 28, 28, dtype=torch.uint8), labels)
    with pytest.raises(ConfigError, match=r"Got 0.3, which sets 1 of 5 apart"):
        few.training_and_validation(0.3)
