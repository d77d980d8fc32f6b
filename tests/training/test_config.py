import re
import tomllib

import pytest
import z3

from smtlayer import Z3, Auto, Enumerate, Sat, Table, Theory
from smtlayer.errors import ConfigError
from smtlayer.training import LayerOptions, RunConfig, load_experiment, make_task, row_names
from smtlayer.training.config import merged, parse_settings


def of(**data):
    return RunConfig.of(
        {"task": {"name": "bits"}} | data, row="mine", method="m", seed=0, device="cpu"
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
        ({"train": {"lr": "fast"}}, "mine: train.lr expects a number. Got 'fast'."),
        ({"train": {"epochs": 2.5}}, "mine: train.epochs expects a whole number. Got 2.5."),
        ({"train": {"epochs": True}}, "mine: train.epochs expects a whole number. Got True."),
        ({"train": {"epochs": 0}}, "mine: train.epochs must be above 0. Got 0."),
        ({"train": {"clip": -1}}, "mine: train.clip must not be below 0. Got -1"),
        ({"train": 3}, "mine: train expects a table of options. Got 3."),
        ({"layer": {"backend": "cvc"}}, "mine: layer.backend is one of auto, table, sat, z3"),
        ({"pretrain": {"kind": "gan"}}, "mine: pretrain.kind is one of none, dense, autoencoder"),
        ({"task": {}}, "mine: the task needs a name"),
    ],
)
def test_what_cannot_be_meant_is_told_with_its_path(data, message):
    with pytest.raises(ConfigError) as error:
        of(**data)
    assert str(error.value).startswith(message)


def test_a_device_that_is_not_there_is_told():
    with pytest.raises(ConfigError, match="device 'foo' cannot be used"):
        RunConfig.of({"task": {"name": "x"}}, row="r", method="m", seed=0, device="foo")


def test_a_configuration_as_toml_reads_back_as_the_same():
    config = of(
        layer={"backward": "mix(core, marginal)"}, train={"lr": 1e-4}, pretrain={"kind": "dense"}
    )
    data = tomllib.loads(config.to_toml())
    rest = {key: data[key] for key in ("task", "train", "layer", "pretrain", "restarts")}
    assert of(**rest) == config
    assert (data["row"], data["seed"]) == ("mine", 0)


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
def test_a_setting_without_key_or_value_is_told(setting):
    with pytest.raises(ConfigError, match="--set expects key=value"):
        parse_settings([setting])


@pytest.mark.parametrize("row", row_names())
def test_every_row_has_an_experiment_with_the_three_methods(row):
    experiment = load_experiment(row)
    assert {"conventional", "paper", "best"} <= set(experiment.methods)
    for method in experiment.methods:
        config = experiment.config(method)
        assert (config.row, config.method) == (row, method)
        assert (config.layer is None) == (method == "conventional")
    paper = experiment.config("paper").layer
    assert (paper.forward, paper.backward, paper.inference) == ("smt", "core", "maxsmt")
    assert (paper.weights, paper.scale) == ("softmax", "batch")


# Table 2 of the paper: epochs of pre-training and of training, for its layer and conventionally.
PAPERS = {
    "mnist-addition-10": (3, 5, 5), "visual-algebra-1": (3, 5, 5), "visual-algebra-2": (3, 5, 5),
    "liars-puzzle": (15, 5, 15), "visual-sudoku-10": (30, 15, 100),
    "visual-sudoku-50": (30, 5, 100), "visual-sudoku-100": (30, 5, 100),
}  # fmt: skip


@pytest.mark.parametrize("row", PAPERS)
def test_the_papers_settings_have_the_papers_epochs(row):
    experiment = load_experiment(row)
    paper, dense = experiment.config("paper"), experiment.config("conventional")
    assert (paper.pretrain.epochs, paper.train.epochs, dense.train.epochs) == PAPERS[row]


def test_settings_come_last_and_a_conventional_network_stays_one():
    experiment = load_experiment("mnist-addition-10")
    best = experiment.config("best", settings=["train.epochs=1", "layer.backward=sample"])
    assert (best.train.epochs, best.layer.backward) == (1, "sample")
    dense = experiment.config("conventional", settings=["layer.backward=sample"])
    assert dense.layer is None


def test_a_sample_has_sizes_of_its_own():
    experiment = load_experiment("mnist-addition")
    assert experiment.config("best", sample=True).train.rows == 8000
    assert experiment.config("best").train.rows == 60_000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: load_experiment("mnist-adition-10"), "Did you mean 'mnist-addition-10'"),
        (lambda: load_experiment("zzz"), "Rows are mnist-addition-10"),
        (lambda: load_experiment("liars-puzzle").config("wrong"), "has the methods conventional"),
        (lambda: make_task({"name": "chess"}), "There is no task 'chess'. Tasks are mnist-add"),
        (lambda: make_task({"name": "liars-puzzle", "as_print": 1}), "Did you mean 'as_printed'"),
    ],
)
def test_names_that_are_not_known_are_told(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


def test_a_file_of_ones_own_is_an_experiment(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("[task]\nname = 'liars-puzzle'\n[mine.train]\nepochs = 2\n")
    experiment = load_experiment(path)
    assert (experiment.name, experiment.methods) == ("own", ("mine",))
    assert experiment.config("mine").train.epochs == 2


@pytest.mark.parametrize(
    ("text", "message"), [("a = ", "is not a TOML file"), ("title = 'x'", "has no method")]
)
def test_a_file_that_is_none_is_told(tmp_path, text, message):
    path = tmp_path / "own.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


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
    told = ("forward='maxsmt'", "inference='smt'", "backward='sample'", "weights='softmax'")
    assert all(text in str(layer) for text in (*told, "scale='batch'"))


@pytest.mark.parametrize(
    ("options", "said"),
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
def test_values_that_a_task_cannot_use_are_refused(options, said):
    with pytest.raises(ConfigError, match=re.escape(said)):
        make_task(options)
