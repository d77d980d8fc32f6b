"""`smtlayer train` on a folder that has lost something: the advice of other commands holds."""

import shutil

import pytest
from typer.testing import CliRunner

from smtlayer_cli.app import app

SMALL = ("mnist-addition", "--data", "sample", "--set", "train.rows=64", "--set",
         "train.test_rows=64", "--epochs", "1", "--method", "best")  # fmt: skip


def train(folder):
    answer = CliRunner().invoke(app, ["train", *SMALL, "--out", str(folder)])
    assert answer.exit_code == 0, answer.output
    return " ".join(answer.output.split())


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, train(folder)


def spoil(path, how):
    if how == "gone":
        path.unlink()
    else:
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2 if how == "cut" else 0])


SPOILT = [("model.pt", "gone"), ("config.toml", "cut"), ("record.json", "empty")]
FILES = ("model.pt", "config.toml", "record.json")
ALL = [(file, how) for file in FILES for how in ("gone", "empty", "cut")]


@pytest.mark.parametrize(
    ("file", "how"),
    [pytest.param(*one, marks=[] if one in SPOILT else pytest.mark.slow) for one in ALL],
)
def test_what_is_lost_is_made_again_from_the_checkpoint(trained, tmp_path, file, how):
    folder = shutil.copytree(trained[0], tmp_path / "run")
    before = (folder / "checkpoint.pt").read_bytes()
    spoil(folder / file, how)
    printed = train(folder)
    assert f"best: {folder} is damaged, so it is trained again" in printed
    assert "finished earlier" not in printed
    assert (folder / "checkpoint.pt").read_bytes() == before
    evaluated = CliRunner().invoke(app, ["evaluate", str(folder), "--tolerance", "0"])
    assert evaluated.exit_code == 0, evaluated.output
    assert "finished earlier" in train(folder)


def test_a_model_appears_all_at_once_or_not_at_all(trained, tmp_path, monkeypatch):
    folder = shutil.copytree(trained[0], tmp_path / "run")
    (folder / "model.pt").unlink()

    def killed(state, path):
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr("torch.save", killed)
    CliRunner().invoke(app, ["train", *SMALL, "--out", str(folder)])
    assert list(folder.glob("model.pt.*"))
    assert not (folder / "model.pt").exists()


def test_one_epoch_is_one(trained):
    assert ": 1 epoch, seed 0" in trained[1]
