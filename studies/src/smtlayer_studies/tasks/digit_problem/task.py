"""The task of small problems over images of digits: its data, network and view."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ConfigError
from smtlayer.lab import FACT, LabProblem
from smtlayer.theory import Theory
from smtlayer_studies.tasks.base import (
    Combinations,
    Pretraining,
    Rows,
    SplitName,
    check_validation,
)
from smtlayer_studies.tasks.digit_problem.network import ValueReader
from smtlayer_studies.tasks.digit_problem.problems import PROBLEMS, lab_problem, values_of
from smtlayer_studies.tasks.digit_task import DigitTask
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.mnist import DigitData, Source
from smtlayer_studies.tasks.view import View

ProblemName = Literal["mnist-half", "rock-paper-scissors", "roster", "invoice"]


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class DigitProblem(DigitTask):
    """A small problem over images of digits; the only label is what the theory's outputs say.

    - `"mnist-half"`, of rsbench: the sum of two digits from 0 to 4. Training shows 0 + 0, 0 + 1,
      2 + 3 and 2 + 4, in both orders; three readings of the digits are consistent with these sums.
      Tests draw from all 25 pairs.
    - `"rock-paper-scissors"`: the digits 0, 1 and 2 stand for rock, paper and scissors, and the
      label is who wins.
    - `"roster"`: four digits from 1 to 5 are the durations of jobs, a deadline is given as a fact,
      and the label is whether the jobs meet it.
    - `"invoice"`: price, quantity and coupon are digits from 1 to 5; the label is the total, from
      which the coupon is taken off if it is at least 10.

    Training examples are drawn once for a seed and are the same in all epochs. The combinations of
    values that training shows are equally frequent, and so are those of tests.

    Args:
        problem: Which problem.
        extra: Combinations that training shows in addition, such as `[[1, 2]]`.
        facts: Number of training examples in which the value of the first image is given as a fact.
        labels: Number of training examples in which the first image has a label for the network.
        data: Which images to use; see `load_digits`.
        validation: Share of the training images that is set apart for validation.
        data_dir: The data folder.
        digits: Images to use instead of those that `data` names.
    """

    name: ClassVar[str] = "digit-problem"
    view: ClassVar[View] = ImagesView("Digits the network read, and the solver's answer")
    pretraining: ClassVar[Pretraining] = Pretraining()

    problem: ProblemName = "mnist-half"
    extra: Combinations = ()
    facts: int = 0
    labels: int = 0
    data: Source = "auto"
    validation: float = 0.0
    data_dir: Path | None = field(default=None, repr=False)
    digits: DigitData | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.problem not in PROBLEMS:
            raise ConfigError(
                f"digit-problem: problem must be one of {', '.join(PROBLEMS)}. "
                f"Got {self.problem!r}."
            )
        if min(self.facts, self.labels) < 0:
            raise ConfigError(
                f"digit-problem: facts and labels are numbers of training examples. "
                f"Got {self.facts} and {self.labels}."
            )
        check_validation("images", self.validation)

    @property
    def theory(self) -> Theory:
        """The theory of the problem."""
        return self.combinations.theory

    @cached_property
    def combinations(self) -> LabProblem:
        """The combinations of values that training shows and tests, without images."""
        return lab_problem(self.problem, self.extra)

    def rows(self, split: SplitName, count: int, seed: int, epoch: int = 0) -> Rows:
        """Images of combinations in a random order: of all in test, else of those shown."""
        generator = torch.Generator().manual_seed(seed)
        source = self._digits.split(split)
        table = self.combinations.tested if split == "test" else self.combinations.shown
        order = torch.randperm(len(table), generator=generator)
        chosen = table[order[torch.arange(count) % len(table)]]
        inputs, first = chosen.inputs, slice(self.theory.input_widths[0])
        facts, labels = inputs.where(self._given, 0), torch.zeros_like(inputs)
        if split == "train":
            facts[: self.facts, first] = inputs[: self.facts, first]
            labels[: self.labels, first] = inputs[: self.labels, first]
        return Rows(
            source.draw(values_of(self.theory, inputs)[:, self._has_image], generator),
            (chosen.outputs > 0).float(),
            inputs.where(~self._given, 0),
            torch.tensor([tuple(row) in self._shown for row in inputs.tolist()]),
            facts=facts if facts.any() else None,
            labels=labels if labels.any() else None,
            bank=source.images,
        )

    def network(self) -> nn.Module:
        """The paper's digit reader with one output per value, shared by all images."""
        return ValueReader(self.theory.input_widths[0], facts=int(self._given.sum()))

    @cached_property
    def _has_image(self) -> Tensor:
        return torch.tensor([reader != FACT for reader in self.combinations.readers])

    @cached_property
    def _given(self) -> Tensor:
        given = self.combinations.given
        return torch.zeros(self.theory.n_inputs, dtype=torch.bool) if given is None else given

    @cached_property
    def _shown(self) -> set[tuple[int, ...]]:
        return {tuple(row) for row in self.combinations.shown.inputs.tolist()}


def combinations_of(task: DigitProblem) -> LabProblem | None:
    """What a task shows and tests; None if facts or labels of single images tell more."""
    return None if task.facts or task.labels else task.combinations
