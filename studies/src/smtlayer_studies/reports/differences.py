"""Differences between a run and the paper's method that it is compared with."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from smtlayer_studies.reports.paper import EXPERIMENTS, PaperExperiment
from smtlayer_studies.reports.published import PUBLISHED, UNTUNED

Record = Mapping[str, Any]
LIKELIHOOD = "exact likelihood"  # in place of a blame rule
NOTES = (
    "What differs from the paper: *digits ≤ 9*, *numbers in range*, *one speaker per sentence*: "
    "facts that the problem states and the paper's formula does not. *Other boards*, *letters a to "
    "m*, *random word vectors*: in place of the paper's data. *Shifts*: training images are moved "
    "at random. "
    "*a + b epochs*: pre-training and training. *Cores by confidence*: minimal cores that keep the "
    "least confident inputs; *mix*, *marginal*, *maxsmt*: other rules; *anneal_core*: "
    "the one rule for every problem; *exact likelihood*: that of "
    "the label, in place of a rule. *Log-odds*: weights of repairs at test time, softmax in the "
    "paper. *Starts*: a training with a low training accuracy is started again. *Portfolio*: "
    "trainings with several rules or seeds, of which the best by training accuracy is finished.",
)


def differences(record: Record) -> tuple[str, ...]:
    """The differences between a run and the paper's method, in the words that `NOTES` explains.

    A run without a layer is compared with the paper's conventional network, any other with the
    paper's SMTLayer. Of an experiment in `PUBLISHED` or `UNTUNED` these are its settings.
    There are none for a record without options, or of any other experiment.
    """
    config = record["config"]
    if config and record["experiment"] in (*PUBLISHED, *UNTUNED):
        return tuple(_settings(config))
    if not config or record["experiment"] not in EXPERIMENTS:
        return ()
    layer, paper = config["layer"], EXPERIMENTS[record["experiment"]]
    found = [*_knowledge(config, paper), *_training(config, paper)]
    return tuple(found if layer is None else [*found, *_rule(config)])


def _knowledge(config: Mapping[str, Any], paper: PaperExperiment) -> Iterator[str]:
    """Data, and additional constraints and training data."""
    task = config["task"]
    if paper.data:
        yield paper.data
    if config["layer"] is not None and paper.facts and not task.get("as_printed"):
        yield paper.facts
    if task.get("reading") == "digits":
        yield "one-hot digits"
    if task.get("network") == "ordered":
        yield "own network"
    if config["pretrain"]["kind"] == "distillation":
        yield "distilled from own network"
    yield from _moves(config["train"])


def _training(config: Mapping[str, Any], paper: PaperExperiment) -> Iterator[str]:
    pretrain, train = config["pretrain"], config["train"]
    quoted = paper.methods["conventional" if config["layer"] is None else "smtlayer"]
    # The teacher takes one epoch of placement search, then as many as the network it teaches.
    before = {"none": 0, "distillation": 1 + 2 * pretrain["epochs"]}
    epochs = (before.get(pretrain["kind"], pretrain["epochs"]), train["epochs"])
    optimizer, rate = re.fullmatch(r"(\w+)\(([^,]+).*\)", quoted.optimizer).groups()  # type: ignore[union-attr]
    same = (train["optimizer"], train["lr"]) == (optimizer.lower(), float(rate))
    if not same:
        yield _optimizer(train)
    if epochs != quoted.epochs:
        yield (f"{epochs[0]} + " if epochs[0] else "") + f"{epochs[1]} epochs"
    if config["layer"] is not None and train["batch_size"] != paper.batch_size:
        yield f"batches of {train['batch_size']}"
    if (most := config["restarts"]["most"]) > 1:
        yield f"up to {most} starts"
    yield from _portfolio(config)


def _settings(config: Mapping[str, Any]) -> Iterator[str]:
    train = config["train"]
    if config["layer"] is not None:
        yield _rule_of(config)
    yield from _moves(train)
    yield _optimizer(train)
    yield f"{train['epochs']} epochs"
    yield from _portfolio(config)
    yield f"batches of {train['batch_size']}"


def _portfolio(config: Mapping[str, Any]) -> Iterator[str]:
    members = config.get("members", {"rules": [], "seeds": 1})  # not in earlier records
    count = max(1, len(members["rules"])) * members["seeds"]
    if count > 1:
        yield f"portfolio of {count}"


def _moves(train: Mapping[str, Any]) -> Iterator[str]:
    """How images are moved at random in training."""
    if shift := train.get("shift"):
        yield f"shifts ≤ {shift} px"
    if turn := train.get("turn"):
        yield f"turns ≤ {turn:g}°"


def _optimizer(train: Mapping[str, Any]) -> str:
    return f"{'Adam' if train['optimizer'] == 'adam' else 'SGD'}({train['lr']:g})"


def _rule(config: Mapping[str, Any]) -> Iterator[str]:
    yield _rule_of(config)
    if config["layer"]["weights"] != "softmax":
        yield "log-odds"


def _rule_of(config: Mapping[str, Any]) -> str:
    """What gives the gradient: a blame rule, several of a portfolio, or the likelihood."""
    if config["train"].get("loss") == "likelihood":
        return LIKELIHOOD
    if rules := config.get("members", {}).get("rules"):
        return " or ".join(rules)
    rule = str(config["layer"]["backward"])
    if rule == "core":
        return "cores by confidence"
    if "anneal(" not in rule:
        return rule
    return "annealed marginal" + (", then core" if rule.endswith("(1, core))") else "")
