import json
import math
import pickle
import re
import tomllib
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch
import z3

from smtlayer import Z3, Auto, Enumerate, Sat, Table, Theory
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import LayerOptions, RunConfig, TrainOptions, make_task
from smtlayer_studies.runs.config import MOST_SEED, merged, parse_settings


def of(**data):
    return RunConfig.of(
        {"task": {"name": "bits"}} | data, experiment="mine", method="m", seed=0, device="cpu"
    )


def test_what_is_not_said_has_its_default():
    config = of(train={"epochs": 9})
    assert (config.train.epochs, config.train.batch_size) == (9, 128)
    assert config.layer.backward == "core"
    assert config.pretrain.kind == "none"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"train": {"epoch": 3}}, "mine: unknown key 'train.epoch'. Did you mean 'train.epochs'?"),
        ({"trian": {}}, "mine: unknown key 'trian'. Did you mean 'train'?"),
        ({"train": {"lr": "fast"}}, "mine: train.lr should be a valid number. Got 'fast'."),
        ({"train": {"epochs": 2.5}}, "mine: train.epochs should be a valid integer. Got 2.5."),
        ({"train": {"epochs": True}}, "mine: train.epochs should be a valid integer. Got True."),
        ({"train": {"epochs": 0}}, "mine: train.epochs should be greater than 0. Got 0."),
        ({"train": {"clip": -1}}, "mine: train.clip should be greater than or equal to 0. Got -1"),
        ({"train": 3}, "mine: train should be a dictionary or an instance of TrainOptions. Got 3."),
        (
            {"layer": {"backend": "cvc"}},
            "mine: layer.backend should be 'auto', 'table', 'circuit', 'sat', 'z3' or",
        ),
        (
            {"pretrain": {"kind": "gan"}},
            "mine: pretrain.kind should be 'none', 'dense', 'autoencoder'",
        ),
        (
            {"train": {"warmup": 2}},
            "mine: train.warmup should be less than or equal to 1. Got 2",
        ),
        (
            {"pretrain": {"decay": 5}},
            "mine: pretrain.decay should be less than or equal to 1. Got 5",
        ),
        ({"train": {"lr": math.inf}}, "mine: train.lr should be a finite number. Got inf."),
        ({"train": {"clip": math.nan}}, "mine: train.clip should be a finite number. Got nan."),
        ({"train": {"lr": 10**400}}, "mine: train.lr should be a valid number. Got 1000"),
        (
            {"restarts": {"enough": math.nan}},
            "mine: restarts.enough should be a finite number. Got nan.",
        ),
        (
            {"layer": {"forward": "nope"}},
            "mine: layer.forward should be 'smt' or 'maxsmt'. Got 'nope'.",
        ),
        (
            {"layer": {"inference": "sat"}},
            "mine: layer.inference should be 'smt' or 'maxsmt'. Got 'sat'",
        ),
        (
            {"layer": {"weights": "nope"}},
            "mine: layer.weights should be 'logit' or 'softmax'. Got 'no",
        ),
        (
            {"layer": {"scale": "nope"}},
            "mine: layer.scale should be 'gradient' or 'batch'. Got 'nope'.",
        ),
        (
            {"layer": {"backward": "cor"}},
            "mine: layer.backward should be a blame rule. Rule 'cor': ",
        ),
        ({"layer": {"backward": 3}}, "mine: layer.backward should be a valid string. Got 3."),
        ({"task": {}}, "mine: task needs a name, as in task.name ="),
        ({"task": 3}, "mine: task should be a valid dictionary. Got 3."),
        ({"layer": True}, "mine: layer should be a dictionary or an instance of LayerOptions. Got"),
        ({"pretrain": None}, "mine: pretrain should be a dictionary or an instance of Pretrain"),
        (
            {"train": {"epochs": 0, "lr": "x"}, "task": {}},
            "mine: task needs a name, as in task.name = 'my-task'. train.epochs should be "
            "greater than 0. Got 0. train.lr should be a valid number. Got 'x'.",
        ),
    ],
)
def test_what_cannot_be_meant_is_reported_with_its_path(data, message):
    with pytest.raises(ConfigError) as error:
        of(**data)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("device", ["foo", "meta"])
def test_a_device_that_is_not_there_is_an_error(device):
    with pytest.raises(ConfigError, match=f"device '{device}' cannot be used: .* Use 'cpu', or"):
        RunConfig.of({"task": {"name": "x"}}, experiment="r", method="m", seed=0, device=device)


@pytest.mark.parametrize("device", [None, 0])
def test_a_device_that_is_no_name_is_an_error(device):
    with pytest.raises(ConfigError, match=f"r: device should be a valid string. Got {device}"):
        RunConfig.of({"task": {"name": "x"}}, experiment="r", method="m", seed=0, device=device)


@pytest.mark.parametrize(
    ("seed", "message"),
    [
        ("a", "r: seed should be a valid integer. Got 'a'."),
        (1.5, "r: seed should be a valid integer. Got 1.5."),
        (None, "r: seed should be a valid integer. Got None."),
        (True, "r: seed should be a valid integer. Got True."),
        (2**70, "r: seed should be less than or equal to 9007199254740992. Got 118059162071741130"),
    ],
)
def test_a_seed_that_no_run_can_use_is_an_error(seed, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        RunConfig.of({"task": {"name": "x"}}, experiment="r", method="m", seed=seed, device="cpu")


@pytest.mark.parametrize("seed", [MOST_SEED, -MOST_SEED])
def test_the_largest_seeds_draw_rows(seed):
    config = RunConfig("r", "m", {"name": "mnist-addition", "data": "sample"}, seed=seed)
    for epoch in (-100, 100):
        assert len(make_task(config.task).rows("train", 3, config.seed, epoch)) == 3


def test_numbers_and_devices_of_libraries_become_plain():
    train = TrainOptions(epochs=np.int32(3), lr=np.float32(0.5), clip=1)
    config = RunConfig("r", "m", {"name": "x"}, train=train, seed=np.int64(3),
                       device=torch.device("cpu"))  # fmt: skip
    assert (config.seed, config.device) == (3, "cpu")
    assert json.loads(json.dumps(config.as_dict())) == config.as_dict()
    assert config == RunConfig("r", "m", {"name": "x"}, train=TrainOptions(epochs=3, lr=0.5,
                               clip=1.0), seed=3)  # fmt: skip


def test_options_take_plain_data_and_check_it():
    config = RunConfig("r", "m", {"name": "x"}, train={"lr": 1}, layer=None)
    assert config == RunConfig("r", "m", {"name": "x"}, train=TrainOptions(lr=1.0), layer=None)
    with pytest.raises(ValueError, match=r"train\.epochs\s+Input should be greater than 0"):
        RunConfig("r", "m", {"name": "x"}, train={"epochs": 0})
    with pytest.raises(ValueError, match=r"epoch\s+Unexpected keyword argument"):
        TrainOptions(epoch=3)


@pytest.mark.parametrize("options", [TrainOptions(epochs=7), LayerOptions(backend="sat")])
def test_options_are_values(options):
    assert pickle.loads(pickle.dumps(options)) == options
    assert hash(options) == hash(replace(options))
    with pytest.raises(FrozenInstanceError):
        options.rows = 3


def test_a_configuration_as_toml_reads_back_as_the_same():
    config = of(
        layer={"backward": "mix(core, marginal)"}, train={"lr": 1e-4}, pretrain={"kind": "dense"}
    )
    data = tomllib.loads(config.to_toml())
    rest = {key: data[key] for key in ("task", "train", "layer", "pretrain", "restarts")}
    assert of(**rest) == config
    assert (data["experiment"], data["seed"]) == ("mine", 0)


def test_later_tables_win_key_by_key():
    assert merged({"a": {"x": 1, "y": 2}}, {"a": {"y": 3}, "b": 4}) == {
        "a": {"x": 1, "y": 3},
        "b": 4,
    }


def test_settings_are_toml_or_text():
    got = parse_settings(["train.lr=2", "task.as_printed=true", "layer.backward=core", "a.b.c='x'"])
    assert got == {"train": {"lr": 2}, "task": {"as_printed": True}, "layer": {"backward": "core"},
                   "a": {"b": {"c": "x"}}}  # fmt: skip


@pytest.mark.parametrize("setting", ["train.lr", "=3", "train.=3"])
def test_a_setting_without_key_or_value_is_an_error(setting):
    with pytest.raises(ConfigError, match="--set expects key=value"):
        parse_settings([setting])


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("auto", Auto(timeout_ms=77, workers=2)), ("sat", Sat(timeout_ms=77, workers=2)),
        ("z3", Z3(timeout_ms=77, workers=2)), ("table", Table()), ("enumerate", Enumerate()),
    ],
)  # fmt: skip
def test_the_options_of_a_layer_reach_it(name, backend):
    a, y = z3.Bools("a y")
    theory = Theory(y == a, inputs=[a], outputs=[y])
    options = LayerOptions(
        backend=name, timeout_ms=77, workers=2, forward="maxsmt", inference="smt",
        backward="sample", weights="softmax", scale="batch",
    )  # fmt: skip
    layer = options.make(theory)
    assert layer.backend == backend
    parts = ("forward='maxsmt'", "inference='smt'", "backward='sample'", "weights='softmax'")
    assert all(text in str(layer) for text in (*parts, "scale='batch'"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "mnist-addition", "data": "foo"}, "task.data must be one of 'auto', "),
        (
            {"name": "mnist-addition", "percent": "x"},
            "task.percent must be a whole number. Got 'x'",
        ),
        ({"name": "mnist-addition", "percent": True}, "task.percent must be a whole number. Got T"),
        ({"name": "mnist-addition", "validation": "0.1"}, "task.validation must be a number."),
        ({"name": "liars-puzzle", "as_printed": 1}, "task.as_printed must be true or false. Got 1"),
        (
            {"name": "visual-sudoku", "reading": "foo"},
            "task.reading must be one of 'bits', 'digits'",
        ),
    ],
)
def test_values_that_a_task_cannot_use_are_refused(options, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_task(options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "visual-sudoku", "percent": 0}, "percent must be from 1 to 100. Got 0."),
        ({"name": "visual-sudoku", "validation": 1}, "validation must be from 0 to below 1. Got 1"),
        ({"name": "mnist-addition", "validation": 1}, "images: validation must be from 0 to below"),
    ],
)
def test_what_can_be_refused_at_once_is_refused_before_data_are_loaded(
    monkeypatch, options, message
):
    def late(*args):
        pytest.fail("data were loaded")

    for name in ("digit_task.load_digits", "sudoku.task.load_digits", "sudoku.task.load_boards"):
        monkeypatch.setattr(f"smtlayer_studies.tasks.{name}", late)
    with pytest.raises(ConfigError, match=re.escape(message)):
        make_task(options)
