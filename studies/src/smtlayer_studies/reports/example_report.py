"""Reports on single examples of a run: what was read, what was answered, and why."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from smtlayer.errors import ConfigError, SMTLayerError
from smtlayer.explain import Explanation
from smtlayer.explain.text import Statement, statements
from smtlayer_studies.reports.paper import run_title
from smtlayer_studies.reports.run_pictures import collect_examples
from smtlayer_studies.runs.run_folder import LoadedRun, RunFolder
from smtlayer_studies.tasks.base import Rows, SplitName
from smtlayer_studies.tasks.examples import Examples, Reading
from smtlayer_studies.tasks.marks import save
from smtlayer_studies.tasks.view import View

Outcome = Literal["right", "corrected", "failed"]
_FOUND: Mapping[Outcome, str] = {
    "right": "was right",
    "corrected": "was corrected by the solver",
    "failed": "failed",
}
_COUNTED: Mapping[Outcome, str] = {
    "right": "were right", "corrected": "were corrected", "failed": "failed",
}  # fmt: skip
_FEW = 1  # wanted outputs that are listed; more are called "the true answer"


@dataclass(frozen=True, eq=False)
class ExampleReport:
    """An example with the answer of the solver and its explanation.

    Attributes:
        view: The view of the task.
        split: The split of the example.
        number: Its position in the split, from 0.
        examples: The example alone.
        explanation: Explains the answer against the true one.
    """

    view: View
    split: SplitName
    number: int
    examples: Examples
    explanation: Explanation

    @property
    def outcome(self) -> Outcome:
        """Whether the answer is right, and whether only because the solver overruled an input."""
        return outcomes(self.examples)[0]

    @property
    def symbols(self) -> list[Reading]:
        """The symbols, with the values that were read, used by the solver, and true."""
        return self.view.symbols(self.examples, 0)

    @property
    def answers(self) -> tuple[str, str]:
        """The answer and the true one as short text; the latter is empty if it is long."""
        return self.view.answers(self.examples, 0)

    @property
    def statements(self) -> list[Statement]:
        """The explanation as headings and lines, without what a table of the symbols shows."""
        goal = "the true answer" if len(self.explanation.wanted or ()) > _FEW else ""
        parts = statements(self.explanation, goal)
        return [part for part in parts if part[0] not in ("read", "answer")]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        theory, batch = self.examples.theory, self.examples.batch
        truth = {
            "inputs": theory.decode_inputs(batch.symbols[0]),
            "outputs": theory.decode(batch.targets[0] * 2 - 1),
        }
        return {
            "split": self.split, "row": self.number, "outcome": self.outcome, "truth": truth,
            "explanation": self.explanation.to_dict(),
        }  # fmt: skip


def outcomes(examples: Examples) -> list[Outcome]:
    """The outcome of each example."""
    overruled = examples.overruled.any(-1)
    return [
        "failed" if not right else "corrected" if changed else "right"
        for right, changed in zip(examples.right.tolist(), overruled.tolist(), strict=True)
    ]


def require_layer(folder: RunFolder) -> None:
    """Raises if a run has no layer to explain.

    Raises:
        ConfigError: If it is a conventional network.
    """
    if folder.config.layer is None:
        raise ConfigError(
            f"{folder.path} is a conventional network: it has no layer to explain. "
            "Name a run with one."
        )


def read_examples(
    run: LoadedRun, numbers: Sequence[int], split: SplitName | None = None
) -> tuple[SplitName, Examples]:
    """Applies a run to some examples, and returns the name of their split with the result.

    Args:
        run: A run with a layer.
        numbers: Positions of the examples, from 0.
        split: By default what the run was scored on.

    Raises:
        ConfigError: If the run has no layer, or there is no such example.
    """
    name, rows = _checked(run, numbers, split)
    return name, _read(run, rows, torch.tensor(numbers))


def explain_examples(
    run: LoadedRun,
    split: SplitName,
    examples: Examples,
    numbers: Sequence[int],
    runner_up: bool = False,
) -> list[ExampleReport]:
    """Explains examples against their true answers.

    Args:
        run: The run that answered them.
        split: Their split.
        examples: The examples, from `read_examples`.
        numbers: Their positions in the split.
        runner_up: Whether to find the next best answers, too.
    """
    layer = run.model.layer
    assert layer is not None
    batch = examples.batch
    wanted = (batch.targets * 2 - 1).to(torch.int8)
    if batch.asked is not None:
        wanted = torch.where(batch.asked, wanted, 0)
    masks = (batch.known, batch.given)
    explanations = layer.explain(examples.logits, wanted, *masks, runner_up=runner_up)
    alone = [examples.pick(torch.tensor([i])) for i in range(len(numbers))]
    return [
        ExampleReport(run.task.view, split, number, _as_explained(example, why), why)
        for number, example, why in zip(numbers, alone, explanations, strict=True)
    ]


def _as_explained(one: Examples, why: Explanation) -> Examples:
    """The example with the answer of its explanation, which may differ if time is short."""
    if why.answer is None:
        none = torch.zeros_like(one.answer.inputs), torch.zeros_like(one.answer.outputs)
        return replace(one, answer=replace(one.answer, inputs=none[0], outputs=none[1]))
    turned = {name for overruled in why.overruled for name in overruled.columns}
    names = one.theory.input_names
    signs = torch.tensor([-1 if name in turned else 1 for name in names], dtype=torch.int8)
    outputs = one.theory.encode_outputs(**why.answer)[None].to(one.answer.outputs.dtype)
    return replace(one, answer=replace(one.answer, inputs=one.signs * signs, outputs=outputs))


def find_example(
    run: LoadedRun,
    start: int,
    wanted: Sequence[Outcome],
    split: SplitName | None = None,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """The first example from a position on that has one of the outcomes.

    Args:
        run: A run with a layer.
        start: The position.
        wanted: The outcomes.
        split: By default what the run was scored on.
        on_rows: Called with the number of examples searched so far, and with that of all.

    Raises:
        SMTLayerError: If there is none. The message names an earlier one, if there is one, or
            counts the outcomes of all examples.
    """
    name, rows = _checked(run, [start], split)
    found = " or ".join(_FOUND[kind] for kind in wanted)
    counts: Counter[Outcome] = Counter()
    for number, outcome in _searched(run, rows, [*range(start, len(rows)), *range(start)]):
        if outcome in wanted and number >= start:
            return number
        if outcome in wanted:
            raise SMTLayerError(
                f"No {name} example from {start} on {found}. An earlier one is example {number}: "
                f"use --row {number}."
            )
        counts[outcome] += 1
        on_rows(counts.total(), len(rows))
    others = ", ".join(f"{count:,} {_COUNTED[outcome]}" for outcome, count in counts.items())
    raise SMTLayerError(
        f"None of the {len(rows):,} {name} examples {found}: {others}. Show any of them with --row "
        "alone."
    )


def _searched(run: LoadedRun, rows: Rows, numbers: list[int]) -> Iterator[tuple[int, Outcome]]:
    """Examples with their outcomes, in growing batches: the first result should come soon."""
    most = run.task.view.searched
    size, place = max(1, most // 10), 0
    while place < len(numbers):
        some = numbers[place : place + size]
        yield from zip(some, outcomes(_read(run, rows, torch.tensor(some))), strict=True)
        place, size = place + size, min(2 * size, most)


def draw_reports(
    run: LoadedRun, examples: Examples, reports: Sequence[ExampleReport], path: Path
) -> Path:
    """Draws examples to a file.

    Args:
        run: Their run.
        examples: The examples.
        reports: The reports on them.
        path: The picture to write.
    """
    numbers = ", ".join(str(one.number) for one in reports)
    kind = f"{reports[0].split} example{'s'[: len(reports) > 1]}"
    title = f"{run_title(run.folder.config)}: {kind} {numbers}"
    return save(run.task.view.figure(examples, title), path)


def _checked(
    run: LoadedRun, numbers: Sequence[int], split: SplitName | None
) -> tuple[SplitName, Rows]:
    """The rows of a split, if it has all the positions and there is a layer."""
    require_layer(run.folder)
    name, rows = run.rows(split)
    for number in numbers:
        if not 0 <= number < len(rows):
            raise ConfigError(
                f"{run.folder.path} has {len(rows):,} {name} examples, from 0 to {len(rows) - 1}. "
                f"Got {number}."
            )
    return name, rows


def _read(run: LoadedRun, rows: Rows, index: Tensor) -> Examples:
    assert run.model.layer is not None
    return collect_examples(run.model, run.model.layer, rows, index, len(index))
