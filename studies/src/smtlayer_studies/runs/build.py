"""This file makes tasks out of plain options: one function a task."""

from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, get_args

from smtlayer.errors import ConfigError, did_you_mean
from smtlayer_studies.tasks.addition.task import MnistAddition
from smtlayer_studies.tasks.algebra.data import load_symbols
from smtlayer_studies.tasks.algebra.task import Configuration, NetworkName, VisualAlgebra
from smtlayer_studies.tasks.base import Task, check_validation
from smtlayer_studies.tasks.liars.task import LiarsPuzzle
from smtlayer_studies.tasks.liars.words import WordSource, load_words
from smtlayer_studies.tasks.mnist import DigitData, Source, load_digits
from smtlayer_studies.tasks.sudoku.data import load_boards
from smtlayer_studies.tasks.sudoku.task import VisualSudoku, check_options
from smtlayer_studies.tasks.sudoku.theory import Reading


def make_task(options: Mapping[str, Any], data_dir: Path | None = None) -> Task:
    """The task of these options: its `name`, and what its maker below takes.

    Args:
        options: As in the `[task]` section of an experiment.
        data_dir: The data folder; by default the environment's `SMTLAYER_DATA`.

    Raises:
        ConfigError: If there is no such task or option.
    """
    if not isinstance(options, Mapping):
        raise ConfigError(
            f"A task is made of a table of options, as {{'name': 'liars-puzzle'}}. Got {options!r}."
        )
    given = dict(options)
    name = given.pop("name", None)
    if not isinstance(name, str) or name not in TASKS:
        raise ConfigError(f"There is no task {name!r}. Tasks are {', '.join(TASKS)}.")
    maker = TASKS[name]
    known = [option for option in signature(maker).parameters if option != "data_dir"]
    for option in given:
        if option not in known:
            hint = did_you_mean(option, known, f"Known are {', '.join(known)}.")
            raise ConfigError(f"{name}: unknown key 'task.{option}'.{hint}")
        _check(f"{name}: task.{option}", given[option], signature(maker).parameters[option])
    return maker(data_dir=data_dir, **given)


def _check(who: str, value: Any, parameter: Parameter) -> None:
    """Raises unless a value is of the kind that a maker's parameter asks for."""
    kind = parameter.annotation
    choices = get_args(kind)
    if choices and value not in choices:
        named = ", ".join(map(repr, choices))
        raise ConfigError(f"{who} must be one of {named}. Got {value!r}.")
    fits = isinstance(value, int) if kind is float else False
    if not choices and not fits and type(value) is not kind:
        raise ConfigError(f"{who} must be {_KINDS[kind]}. Got {value!r}.")


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def _digits(data: Source, validation: float, data_dir: Path | None) -> DigitData:
    check_validation("images", validation)  # before they are loaded
    return load_digits(data, data_dir).with_validation(validation)


def _mnist_addition(
    data_dir: Path | None, percent: int = 10, data: Source = "auto", validation: float = 0.0
) -> Task:
    return MnistAddition(_digits(data, validation, data_dir), percent)


def _visual_algebra(
    data_dir: Path | None,
    configuration: Configuration = 1,
    network: NetworkName = "paper",
    data: Source = "auto",
    validation: float = 0.0,
    apart: int = 0,
) -> Task:
    symbols = load_symbols(data_dir) if configuration == 2 else None
    digits = _digits(data, validation, data_dir)
    return VisualAlgebra(digits, symbols, configuration, network, apart)


def _liars_puzzle(
    data_dir: Path | None,
    as_printed: bool = False,
    words: WordSource = "random",
    split: int = 1,
    validation: float = 0.0,
) -> Task:
    vectors = load_words(data_dir, words)
    return LiarsPuzzle(as_printed, vectors, split, validation)


def _visual_sudoku(
    data_dir: Path | None,
    percent: int = 100,
    data: Source = "auto",
    validation: float = 0.0,
    reading: Reading = "bits",
) -> Task:
    check_options(percent, validation, reading)  # before boards are made, for a minute
    digits, boards = _digits(data, 0.0, data_dir), load_boards(data_dir)
    return VisualSudoku(digits, boards, percent, validation, reading)


TASKS: Mapping[str, Callable[..., Task]] = {
    "mnist-addition": _mnist_addition,
    "visual-algebra": _visual_algebra,
    "liars-puzzle": _liars_puzzle,
    "visual-sudoku": _visual_sudoku,
}
