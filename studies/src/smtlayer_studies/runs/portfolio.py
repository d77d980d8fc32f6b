"""A portfolio: trainings with several rules and seeds, of which only the best is finished."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from smtlayer.portfolio import Portfolio
from smtlayer_studies.runs.config import RunConfig, other_seeds
from smtlayer_studies.runs.progress import Event, OnStep
from smtlayer_studies.runs.run_folder import RunFolder
from smtlayer_studies.runs.run_options import MemberOptions
from smtlayer_studies.runs.trainer import Trainer
from smtlayer_studies.tasks.base import Task


def member_configs(config: RunConfig) -> list[RunConfig]:
    """The configuration of each member: all rules with the first seed, then with the next."""
    layers = [config.layer]
    if config.layer is not None and config.members.rules:
        layers = [replace(config.layer, backward=rule) for rule in config.members.rules]
    return [
        replace(config, seed=seed, layer=layer, members=MemberOptions())
        for seed in other_seeds(config.seed, config.members.seeds)
        for layer in layers
    ]


def train_members(
    task: Task, config: RunConfig, folder: RunFolder | None, on_step: OnStep
) -> tuple[Trainer, list[dict[str, Any]]]:
    """Trains the members of a portfolio.

    Args:
        task: Provides examples and the network.
        config: The options; `config.members` has those of the portfolio.
        folder: Gets a folder with a checkpoint for each member, from which a portfolio that was
            stopped is resumed; None for nowhere.
        on_step: Called after each step.

    Returns:
        The trainer of the winner, with its model, and how each training went.
    """
    if folder is not None:
        folder.save_checkpoint({"epochs": []})  # so that the folder is not taken for another run
    configs = member_configs(config)
    trainers: dict[str, Trainer] = {}
    for number, own in enumerate(configs, 1):
        name = f"member {number} of {len(configs)}"
        place = None if folder is None else folder.path / f"member-{number}"
        trainers[name] = Trainer(task, own, place, _naming(name, on_step))

    def train(name: str) -> Generator[float, None, None]:
        for epoch in trainers[name].each_epoch():
            yield epoch.accuracy

    options = config.members
    portfolio = Portfolio(
        trainers, rounds=config.train.epochs, enough=options.enough, budget=options.budget
    )
    result = portfolio.run(train)
    members = [
        {
            "rule": "" if own.layer is None else own.layer.backward, "seed": own.seed,
            "outcome": one.outcome, "accuracies": list(one.accuracies),
            "seconds": sum(epoch.seconds for epoch in trainers[one.setting].epochs),
        }
        for own, one in zip(configs, result.members, strict=True)
    ]  # fmt: skip
    return trainers[result.setting], members


def _naming(name: str, on_step: OnStep) -> OnStep:
    """Adds the name of a member to its events."""

    def show(event: Event) -> None:
        on_step(replace(event, part=name))

    return show
