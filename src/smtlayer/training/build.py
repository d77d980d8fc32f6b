"""This file makes tasks out of plain options: one function a task."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from inspect import signature
from pathlib import Path
from typing import Any

from smtlayer.errors import ConfigError
from smtlayer.tasks import (
    LiarsPuzzle,
    MnistAddition,
    Task,
    VisualAlgebra,
    VisualSudoku,
    load_boards,
    load_digits,
    load_symbols,
    load_words,
)
from smtlayer.tasks.mnist import DigitData, Source


def make_task(options: Mapping[str, Any], data_dir: Path | None = None) -> Task:
    """The task of these options: its `name`, and what its maker below takes.

    Args:
        options: As in the `[task]` section of an experiment.
        data_dir: The data folder; by default the environment's `SMTLAYER_DATA`.

    Raises:
        ConfigError: If there is no such task or option.
    """
    given = dict(options)
    name = given.pop("name", None)
    if name not in TASKS:
        raise ConfigError(f"There is no task {name!r}. Tasks are {', '.join(TASKS)}.")
    maker = TASKS[name]
    known = [option for option in signature(maker).parameters if option != "data_dir"]
    for option in given:
        if option not in known:
            near = get_close_matches(option, known, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(known)}."
            raise ConfigError(f"{name}: unknown key 'task.{option}'.{hint}")
    return maker(data_dir=data_dir, **given)


def _digits(data: Source, validation: float, data_dir: Path | None) -> DigitData:
    return load_digits(data, data_dir).with_validation(validation)


def _mnist_addition(
    data_dir: Path | None, percent: int = 10, data: Source = "auto", validation: float = 0.0
) -> Task:
    return MnistAddition(_digits(data, validation, data_dir), percent)


def _visual_algebra(
    data_dir: Path | None,
    configuration: int = 1,
    network: str = "paper",
    data: Source = "auto",
    validation: float = 0.0,
    apart: int = 0,
) -> Task:
    symbols = load_symbols(data_dir) if configuration == 2 else None
    digits = _digits(data, validation, data_dir)
    return VisualAlgebra(digits, symbols, configuration, network, apart)  # type: ignore[arg-type]


def _liars_puzzle(
    data_dir: Path | None,
    as_printed: bool = False,
    words: str = "random",
    split: int = 1,
    validation: float = 0.0,
) -> Task:
    vectors = load_words(data_dir, words)  # type: ignore[arg-type]
    return LiarsPuzzle(as_printed, vectors, split, validation)


def _visual_sudoku(
    data_dir: Path | None,
    percent: int = 100,
    data: Source = "auto",
    validation: float = 0.0,
    reading: str = "bits",
) -> Task:
    digits, boards = _digits(data, 0.0, data_dir), load_boards(data_dir)
    return VisualSudoku(digits, boards, percent, validation, reading)  # type: ignore[arg-type]


TASKS: Mapping[str, Callable[..., Task]] = {
    "mnist-addition": _mnist_addition,
    "visual-algebra": _visual_algebra,
    "liars-puzzle": _liars_puzzle,
    "visual-sudoku": _visual_sudoku,
}
