"""`smtlayer train` with a portfolio: a line per member, and the time of all of them."""

import io

from rich.console import Console

from made_records import record
from smtlayer_studies.commands.reproduce_steps import _SMOKE
from smtlayer_studies.commands.train_steps import _show
from smtlayer_studies.runs import RunRecord, load_experiment

RULES = 'members.rules=["core", "mix(core, marginal)"]'


def member(outcome, *accuracies, seed=0, rule="core"):
    return {"rule": rule, "seed": seed, "outcome": outcome, "accuracies": list(accuracies),
            "seconds": 10.0 * len(accuracies)}  # fmt: skip


def test_each_member_has_a_line_and_the_time_is_that_of_all():
    members = [member("dropped", 0.25), member("won", 0.5, 0.75, 1.0, seed=1000),
               member("not started", rule="mix(core, marginal)")]  # fmt: skip
    epochs = [{"phase": "train", "seconds": 10.0, "solver": {"solver_seconds": 5.0}}] * 3
    made = record("mnist-addition-10", "best", config={}) | {"members": members, "epochs": epochs}
    console = Console(file=io.StringIO(), width=100)
    _show(console, {"best": RunRecord(**made)})
    shown = console.file.getvalue()
    assert " 40 s " in shown
    assert " 50.0 % " in shown  # of the winner's time
    assert (
        "best: 1.33 times the epochs of one training\n"
        "  dropped       1 epoch, training accuracy  25.0 %: core, seed 0\n"
        "  won          3 epochs, training accuracy 100.0 %: core, seed 1000\n"
        "  not started  0 epochs, training accuracy       -: mix(core, marginal), seed 0\n"
    ) in shown


def test_a_smoke_test_has_one_epoch_of_any_portfolio():
    settings = (*_SMOKE, RULES, "members.seeds=4")
    config = load_experiment("mnist-addition-10").config("best", settings=settings)
    assert (config.train.epochs, config.members.seeds) == (1, 4)
