"""A portfolio as a run: its members, its record, and that it can be stopped and resumed."""

import json
import tomllib
from dataclasses import replace
from importlib import import_module

import pytest
import torch

from helpers import Stop
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import MemberOptions, RunConfig, RunRecord, Trainer, run
from smtlayer_studies.runs.portfolio import member_configs
from smtlayer_studies.runs.run_folder import RunFolder

RULES = ("core", "mix(core, sample)")
FOUR = {"train": {"epochs": 4, "lr": 0.01}, "members": {"rules": RULES, "seeds": 2, "enough": 2}}


@pytest.fixture(autouse=True)
def _bits(monkeypatch, task):
    module = import_module("smtlayer_studies.runs.run")
    monkeypatch.setattr(module, "make_task", lambda options, data_dir: task)


def without_times(members):
    return [{name: one[name] for name in one if name != "seconds"} for one in members]


def test_members_are_all_rules_with_one_seed_then_with_the_next(config):
    asked = config(seed=3, **FOUR)
    members = member_configs(asked)
    assert [(one.layer.backward, one.seed) for one in members] == [
        ("core", 3), (RULES[1], 3), ("core", 1003), (RULES[1], 1003),
    ]  # fmt: skip
    layer = replace(asked.layer, backward="core")
    assert members[0] == replace(asked, layer=layer, members=MemberOptions())
    own = member_configs(config(seed=2**53, layer={"backward": "maxsmt"}, members={"seeds": 2}))
    assert [(one.layer.backward, one.seed) for one in own] == [
        ("maxsmt", 2**53), ("maxsmt", 2**53 - 1000),
    ]  # fmt: skip
    dense = config(layer=False, train={"epochs": 1}, members={"rules": RULES, "seeds": 2})
    assert [one.seed for one in member_configs(dense)] == [0, 1000]


def test_a_record_says_how_each_member_went_and_keeps_the_best(config, task, tmp_path):
    done = run(config(seed=3, **FOUR), tmp_path / "run")
    record = done.record
    assert sorted(len(one["accuracies"]) for one in record.members) == [1, 1, 2, 4]
    best = max(record.members, key=lambda one: len(one["accuracies"]))
    assert [one["outcome"] for one in record.members].count("dropped") == 3
    assert best["outcome"] == "won"
    layer = {"backward": best["rule"]}
    alone = Trainer(task, config(seed=best["seed"], train=FOUR["train"], layer=layer))
    model = alone.run()
    assert best["accuracies"] == [epoch.accuracy for epoch in alone.epochs]
    assert [e["loss"] for e in record.epochs] == [epoch.loss for epoch in alone.epochs]
    assert all(map(torch.equal, done.model.parameters(), model.parameters()))
    assert record.seconds == sum(one["seconds"] for one in record.members)
    assert record.seconds > sum(epoch["seconds"] for epoch in record.epochs) > 0
    assert record.layer == str(model.layer)
    held = json.loads((tmp_path / "run" / "record.json").read_text())
    assert held["members"] == record.members
    assert held["config"] == config(seed=3, **FOUR).as_dict()
    assert RunRecord.read(tmp_path / "run" / "record.json") == record
    assert sorted(path.name for path in (tmp_path / "run").iterdir() if path.is_dir()) == [
        "member-1", "member-2", "member-3", "member-4",
    ]  # fmt: skip


def test_a_first_member_that_is_good_enough_is_the_only_one(config, tmp_path):
    members = {"rules": RULES, "enough": 0.01}
    record = run(config(members=members), tmp_path).record
    assert [(one["outcome"], len(one["accuracies"])) for one in record.members] == [
        ("won", 2), ("not started", 0),
    ]  # fmt: skip
    assert record.members[1]["seconds"] == 0
    assert not (tmp_path / "member-2").exists()


@pytest.mark.parametrize("steps", [10, 25, 45, 75])
def test_a_stopped_portfolio_goes_on_to_the_same_record(config, tmp_path, steps):
    asked = config(seed=3, **FOUR)
    expected = run(asked).record
    with pytest.raises(KeyboardInterrupt):
        run(asked, tmp_path, on_step=Stop(steps))
    torch.manual_seed(99)  # a new process would have another state
    found = run(asked, tmp_path).record
    assert without_times(found.members) == without_times(expected.members)
    assert found.scores == expected.scores
    assert [e["loss"] for e in found.epochs] == [e["loss"] for e in expected.epochs]


def test_steps_tell_their_member_and_each_step_is_done_once(config, tmp_path):
    asked, events = config(seed=3, **FOUR), []
    with pytest.raises(KeyboardInterrupt):
        run(asked, tmp_path, on_step=Stop(33))
    run(asked, tmp_path, on_step=events.append)
    assert len(events) == 80 - 33
    assert {event.title for event in events} <= {f"train, member {i} of 4" for i in range(1, 5)}
    assert events[0].title == "train, member 4 of 4"
    assert [event.done for event in events[:7]] == [4, 5, 6, 7, 8, 9, 10]


def test_a_folder_is_not_shared_with_a_run_of_other_options(config, tmp_path):
    asked = config(members={"seeds": 2})
    run(asked, tmp_path)
    for other in (config(), config(members={"seeds": 2, "enough": 0.9})):
        with pytest.raises(ConfigError, match="belongs to a run with other options"):
            run(other, tmp_path)
    events = []
    assert run(asked, tmp_path, on_step=events.append).record.members
    assert events == []


def test_the_options_of_a_portfolio_come_through_toml_and_json(config, tmp_path):
    asked = config(members={"rules": RULES, "seeds": 2, "budget": 4})
    assert tomllib.loads(asked.to_toml())["members"] == {
        "rules": list(RULES), "seeds": 2, "enough": 0.95, "budget": 4.0,
    }  # fmt: skip
    RunFolder(tmp_path, asked).write_config()
    assert RunFolder.read(tmp_path).config == asked
    assert json.loads(json.dumps(asked.as_dict())) == asked.as_dict()
    assert hash(asked.members) == hash(MemberOptions(RULES, 2, budget=4.0))


def test_a_run_of_an_earlier_version_has_no_members(config, tmp_path):
    run(config(), tmp_path)
    for name, cut in (("config.toml", "\n[members]"), ("record.json", ' "members": [],\n')):
        text = (tmp_path / name).read_text()
        assert cut in text
        short = text[: text.index(cut)] + "\n" if name == "config.toml" else text.replace(cut, "")
        (tmp_path / name).write_text(short)
    folder = RunFolder.read(tmp_path)
    assert (folder.record.members, folder.options["members"]["rules"]) == ([], [])
    assert folder.record.seconds == sum(epoch["seconds"] for epoch in folder.epochs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"members": {"rules": ["cor"]}}, "bits: each of members.rules should be a blame rule. R"),
        ({"members": {"rules": "core"}}, "bits: members.rules should be a valid tuple. Got 'core'"),
        ({"members": {"seeds": 0}}, "bits: members.seeds should be greater than 0. Got 0."),
        ({"members": {"budget": 0.5}}, "bits: members.budget should be greater than or equal to 1"),
        ({"members": {"seed": 2}}, "bits: unknown key 'members.seed'. Did you mean 'members.see"),
        (
            {"members": {"seeds": 2}, "restarts": {"most": 2}},
            "bits: members has neither restarts nor pre-training. Set restarts.most to 1 and pret",
        ),
        ({"members": {"seeds": 2}, "pretrain": {"kind": "dense"}}, "bits: members has neither re"),
        (
            {"members": {"seeds": 4}},
            "bits: 4 members cannot be compared within members.budget = 2 and train.epochs = 2. "
            "Give more epochs, a larger budget, or fewer members.",
        ),
    ],
)
def test_members_that_cannot_be_trained_are_refused(config, options, message):
    with pytest.raises(ConfigError) as error:
        config(**options)
    assert str(error.value).startswith(message)


def test_one_member_may_have_any_number_of_epochs(config):
    assert config(train={"epochs": 1}, members={"rules": ["core"]}).members.several
    assert not RunConfig("r", "m", {"name": "bits"}).members.several
