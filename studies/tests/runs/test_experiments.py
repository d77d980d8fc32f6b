import re
from dataclasses import replace

import pytest

from smtlayer.errors import ConfigError
from smtlayer_studies.reports.paper import EXPERIMENTS
from smtlayer_studies.runs import experiment_names, load_experiment, make_task
from smtlayer_studies.runs.run_options import TrainOptions

UNTUNED = ("mnist-half", "rock-paper-scissors", "roster", "invoice")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("train.lr=1e-3", "settings expects a list, as ['train.lr=1e-3']. Got 'train.lr=1e-3'."),
        (3, "settings expects a list, as ['train.lr=1e-3']. Got 3."),
        ([3], "settings are texts, as 'train.lr=1e-3'. Got 3."),
        (["task=3"], "mnist-addition-10: task should be a valid dictionary. Got 3."),
    ],
)
def test_settings_that_are_no_list_of_settings_are_errors(settings, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_experiment("mnist-addition-10").config("best", settings=settings)


def test_no_settings_may_be_none():
    row = load_experiment("liars-puzzle")
    assert row.config("best", settings=None) == row.config("best", settings=[])


@pytest.mark.parametrize("row", EXPERIMENTS)
def test_every_row_has_an_experiment_with_the_three_methods(row):
    experiment = load_experiment(row)
    assert {"conventional", "paper", "best"} <= set(experiment.methods)
    for method in experiment.methods:
        config = experiment.config(method)
        assert (config.experiment, config.method) == (row, method)
        assert (config.layer is None) == method.startswith("conventional")
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


@pytest.mark.parametrize("length", [2, 4, 15])
@pytest.mark.parametrize("rule", ["core", "marginal", "maxsmt"])
def test_blame_rules_of_long_addition_differ_from_the_likelihood_in_nothing_else(length, rule):
    experiment = load_experiment(f"long-addition-{length}")
    best, other = experiment.config("best"), experiment.config(rule)
    assert (best.train.loss, other.train.loss) == ("likelihood", "cross-entropy")
    assert other.layer.backward == rule
    same = replace(other, method="best", layer=best.layer, train=best.train)
    assert same == best
    assert replace(other.train, loss="likelihood") == best.train
    assert replace(other.layer, backward=best.layer.backward) == best.layer


def test_one_rule_is_the_same_in_all_experiments():
    experiments = [load_experiment(name) for name in experiment_names()]
    ours = [e.config("one-rule") for e in experiments if "one-rule" in e.methods]
    assert {*UNTUNED, "long-addition-2"} <= {config.experiment for config in ours}
    for config in ours:
        train = replace(config.train, epochs=1, batch_size=1, rows=1, test_rows=1, shift=0)
        assert train == TrainOptions(epochs=1, batch_size=1, rows=1, test_rows=1, decay=0.3)
        assert config.train.shift == (0 if config.experiment == "liars-puzzle" else 2)
        assert config.layer.backward == "anneal_core"
        assert config.pretrain.kind == "none"


@pytest.mark.parametrize("row", UNTUNED)
def test_other_methods_of_untuned_problems_differ_in_one_thing(row):
    experiment = load_experiment(row)
    ours = experiment.config("one-rule")
    for method in experiment.methods:
        other = experiment.config(method)
        if method.startswith("longer"):
            assert replace(other.train, epochs=15) == ours.train
            continue
        assert replace(other.train, loss=ours.train.loss) == ours.train
        assert other.layer is None or replace(other.layer, backward="anneal_core") == ours.layer
    assert len(experiment.config("portfolio").members.rules) == 2
    assert experiment.config("core").layer.backward == "core"
    assert experiment.config("conventional").layer is None
    assert experiment.seeds == tuple(range(10))


def test_mnist_half_is_helped_by_a_row_facts_or_labels():
    experiment = load_experiment("mnist-half")
    base = {"name": "digit-problem", "problem": "mnist-half"}
    added = {"row": {"extra": [[0, 2]]}, "facts": {"facts": 70}, "labels": {"labels": 70}}
    for name, options in added.items():
        assert experiment.config(f"one-rule-{name}").task == base | options
    assert experiment.config("likelihood").train.loss == "likelihood"
    assert experiment.config("one-rule").train.rows == 7 * 420  # as in rsbench


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
        (lambda: load_experiment("mnist-additon"), "Did you mean 'mnist-addition'"),
        (lambda: load_experiment("zzz"), "Experiments are invoice, liars-puzzle, long-addition-2"),
        (lambda: load_experiment("liars-puzzle").config("wrong"), "has the methods conventional"),
        (lambda: load_experiment("x" * 5000), "There is no experiment 'xxx"),
        (
            lambda: load_experiment(None),
            "given by its name or by the path of a TOML file. Got None",
        ),
        (lambda: make_task({"name": {"a": 1}}), "There is no task {'a': 1}. Tasks are mnist-add"),
        (lambda: make_task("chess"), "made of a table of options, with its name. Got 'chess'"),
        (lambda: make_task({"name": "chess"}), "There is no task 'chess'. Tasks are mnist-add"),
        (lambda: make_task({"name": "liars-puzzle", "as_print": 1}), "Did you mean 'as_printed'"),
    ],
)
def test_names_that_are_not_known_are_errors(call, message):
    with pytest.raises(ConfigError, match=message):
        call()


def test_a_file_of_ones_own_is_an_experiment(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("[task]\nname = 'liars-puzzle'\n[mine.train]\nepochs = 2\n")
    experiment = load_experiment(path)
    assert (experiment.name, experiment.methods) == ("own", ("mine",))
    assert experiment.config("mine").train.epochs == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "is not a TOML file"),
        ("# caf\u00e9", "is not a TOML file: byte 5 is not UTF-8. Save it as UTF-8."),
        ("title = 'x'", "has no method"),
        ("best = 3", "own.toml: best expects sections such as [best.train]. Got 3."),
        (
            "[[best]]\na = 1",
            "own.toml: best expects sections such as [best.train]. Got [{'a': 1}].",
        ),
        ("sample = 3\n[best]", "own.toml: sample expects sections such as [sample.train]. Got 3."),
        ("task = 3\n[best]", "own: task should be a valid dictionary. Got 3."),
        ("train = 3\n[best]", " train should be a dictionary or an instance of TrainOptions."),
    ],
)
def test_a_file_that_is_none_is_an_error(tmp_path, text, message):
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_experiment(path).config("best")


@pytest.mark.parametrize("row", [row for row in experiment_names() if row not in UNTUNED])
def test_the_conventional_network_gets_the_budget_of_the_best_method(row):
    experiment = load_experiment(row)
    best, dense = (experiment.config(m) for m in ("best", "conventional-same-budget"))
    assert dense.layer is None
    assert dense.pretrain.kind == "none"
    assert (dense.train.shift, dense.train.batch_size) == (best.train.shift, best.train.batch_size)
    assert dense.task == best.task
    if best.pretrain.kind == "none":
        assert dense.train == best.train
    if "no-shift" in experiment.methods:
        bare = experiment.config("no-shift")
        assert best.train.shift > 0
        still = replace(best.train, shift=0, turn=0.0)
        assert bare == replace(best, method="no-shift", train=still)
    else:
        assert best.train.shift == 0


SPLITS = {"default-split": [1] * 10} | {f"one-rule-split-{k}": [k] * 10 for k in (1, 6, 9)}


def test_each_seed_of_the_liars_puzzle_has_a_split_of_its_own():
    experiment = load_experiment("liars-puzzle")
    assert experiment.seeds == tuple(range(10))
    for method in experiment.methods:
        splits = [experiment.config(method, seed=seed).task["split"] for seed in experiment.seeds]
        assert splits == SPLITS.get(method, list(range(10)))
    assert experiment.config("best", seed=3, settings=["task.split=7"]).task["split"] == 7


def test_a_method_may_have_its_own_number_of_seeds(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[task]\nname = "mnist-addition"\n[a]\nseeds = 2\n[b]\nlike = "a"\n[c]\n')
    experiment = load_experiment(path)
    assert [experiment.seeds_of(m) for m in "abc"] == [(0, 1), (0, 1), (0, 1, 2, 3, 4)]
    assert experiment.config("b", seed=7).seed == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a]\n[b]\nlike = 'c'", "b.like expects one of a. Got 'c'."),
        ("[a]\n[b]\nlike = 'a'\n[c]\nlike = 'b'", "c.like expects one of a. Got 'b'."),
        ("seeds = 0\n[a]", "seeds is the number of runs of each method. Got 0."),
        ("[a]\nseeds = 0", "seeds is the number of runs of each method. Got 0."),
        ("seeds = [1]\n[a]", "seeds is the number of runs of each method. Got [1]."),
    ],
)
def test_a_model_or_number_of_seeds_that_cannot_be_is_refused(tmp_path, text, message):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(ConfigError, match=re.escape(message)):
        load_experiment(tmp_path / "mine.toml")
