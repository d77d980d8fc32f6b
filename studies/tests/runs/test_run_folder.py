import shutil

import pytest
import torch

from reports.made_runs import addition_runs
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_studies.runs import evaluate
from smtlayer_studies.runs.run_folder import RunFolder, find_runs, read_runs


@pytest.fixture
def runs():
    return addition_runs()


@pytest.fixture
def copied(runs, tmp_path):
    """A run that a test may spoil."""
    return shutil.copytree(runs["best"], tmp_path / "run")


def test_a_run_that_is_read_back_scores_as_it_did(runs):
    for method, has_layer in (("best", True), ("conventional", False)):
        loaded = RunFolder.read(runs[method]).load()
        assert (loaded.model.layer is not None) == has_layer
        split, rows = loaded.rows()
        assert (split, len(rows)) == ("test", 40)
        record = loaded.folder.record
        assert evaluate(loaded.model, rows, loaded.task.theory, "cpu") == record.scores


def test_rows_of_other_splits_can_be_had(runs):
    loaded = RunFolder.read(runs["best"]).load()
    split, rows = loaded.rows("train")
    assert (split, len(rows)) == ("train", 64)
    assert rows.seen.all()
    again = loaded.task.rows("train", 64, 0, 0)
    assert torch.equal(rows.items, again.items)


def test_runs_below_a_folder_are_found_the_conventional_one_first(runs):
    above = runs["best"].parent
    assert find_runs(above) == [runs["conventional"], runs["best"]]
    with pytest.raises(MissingDataError, match=r"holds some: .*best\. Name one of them"):
        RunFolder.read(above)


def test_folders_that_are_no_runs_are_reported_apart(tmp_path):
    with pytest.raises(MissingDataError, match=r"There is no folder .*gone"):
        find_runs(tmp_path / "gone")
    with pytest.raises(MissingDataError, match=r"holds no run: no config\.toml"):
        RunFolder.read(tmp_path)


def test_an_unfinished_run_tells_its_epochs_and_has_no_model(copied):
    (copied / "record.json").unlink()
    (copied / "model.pt").unlink()
    folder = RunFolder.read(copied)
    assert folder.record is None
    assert [epoch["phase"] for epoch in folder.epochs] == ["train", "train"]
    with pytest.raises(MissingDataError, match=r"has no model\.pt: the training is not finished"):
        folder.load()


def test_a_checkpoint_that_cannot_be_read_tells_nothing(copied):
    (copied / "record.json").unlink()
    (copied / "checkpoint.pt").write_bytes(b"broken")
    assert RunFolder.read(copied).epochs == []


@pytest.mark.parametrize(("file", "text", "error"), [
    ("config.toml", "experiment = [",
     r"is not a TOML file: .*\. The same train command writes it again\.$"),
    ("config.toml", "experiment = 'mine'",
     r"is not that of a run: no 'method' in it\. The same train command writes it again\.$"),
    ("config.toml", "experiment = 'mine'\nmethod = 'best'\nseed = 0\nnonsense = 1",
     r"config\.toml cannot be used\. mine: unknown key 'nonsense'.* writes it again\.$"),
    ("record.json", "{}",
     r"no 'experiment' in it\. Delete it: the same train command makes it again\.$"),
    ("record.json", '{"experiment": "mni', r"record of a run: it is cut off or damaged\. Del"),
    ("record.json", "[]", r"is not the record of a run: it holds no JSON object\. Delete it"),
])  # fmt: skip
def test_damaged_files_are_named_and_what_to_do_is_reported(copied, file, text, error):
    (copied / file).write_text(text)
    with pytest.raises(ConfigError, match=error):
        RunFolder.read(copied)


@pytest.mark.parametrize("spoilt", [b"broken", None])
def test_a_damaged_model_is_named(copied, spoilt):
    if spoilt is None:
        torch.save({"weight": torch.zeros(2)}, copied / "model.pt")
    else:
        (copied / "model.pt").write_bytes(spoilt)
    with pytest.raises(
        ConfigError, match=r"model\.pt cannot be read as the model .* Delete it: the"
    ):
        RunFolder.read(copied).load()


def test_a_model_that_is_cut_off_is_seen_without_loading_it(copied):
    model = copied / "model.pt"
    assert RunFolder.read(copied).check_model() == model
    model.write_bytes(model.read_bytes()[:1000])
    with pytest.raises(ConfigError, match="it is cut off or damaged"):
        RunFolder.read(copied).check_model()


def test_a_damaged_run_below_a_folder_is_left_out_unless_it_is_named_or_alone(runs, tmp_path):
    folder = shutil.copytree(runs["best"].parent, tmp_path / "runs")
    (folder / "best" / "record.json").write_text("{}")
    skipped = []
    found = read_runs([folder], lambda path, error: skipped.append((path, str(error))))
    assert [run.path for run in found] == [folder / "conventional"]
    ((path, message),) = skipped
    assert path == folder / "best"
    assert "no 'experiment' in it" in message
    with pytest.raises(ConfigError, match="no 'experiment' in it"):
        read_runs([folder, folder / "best"], lambda path, error: None)
    (folder / "conventional" / "config.toml").write_text("")
    with pytest.raises(ConfigError, match="conventional"):
        read_runs([folder], lambda path, error: None)


def test_data_that_are_not_at_hand_are_named(copied, tmp_path):
    record = copied / "record.json"
    record.write_text(record.read_text().replace('"data": "sample"', '"data": "mnist"', 1))
    with pytest.raises(MissingDataError, match="mnist"):
        RunFolder.read(copied).load(tmp_path / "empty")


def test_a_run_written_with_earlier_names_is_read(copied):
    for name, (now, before) in {
        "config.toml": ("experiment = ", "row = "), "record.json": ('"experiment": ', '"row": '),
    }.items():  # fmt: skip
        text = (copied / name).read_text()
        assert now in text
        (copied / name).write_text(text.replace(now, before))
    folder = RunFolder.read(copied)
    assert folder.config.experiment == folder.options["experiment"] == "mnist-addition-10"
    assert folder.record.experiment == folder.record.config["experiment"] == "mnist-addition-10"


def test_a_run_from_a_gpu_is_read_where_there_is_none(copied):
    config = copied / "config.toml"
    config.write_text(config.read_text().replace('"cpu"', '"cuda:7"'))
    folder = RunFolder.read(copied)
    assert (folder.config.device, folder.options["device"]) == ("cpu", "cuda:7")
