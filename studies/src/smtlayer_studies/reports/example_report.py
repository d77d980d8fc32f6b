"""This file looks at single rows of a run: what was read, what came out, and why."""

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
    "right": "is right as it was read",
    "corrected": "was corrected by the solver",
    "failed": "failed",
}
_COUNTED: Mapping[Outcome, str] = {
    "right": "are right as they were read", "corrected": "were corrected", "failed": "failed",
}  # fmt: skip
_FEW = 1  # outputs whose values are told; of more, only "the true answer"


@dataclass(frozen=True, eq=False)
class ExampleReport:
    """A row, and what the network and the solver made of it.

    Attributes:
        view: Of the task.
        split: Where the row is from.
        number: Its place there, from 0.
        examples: The row alone.
        explanation: Against the true answer.
    """

    view: View
    split: SplitName
    number: int
    examples: Examples
    explanation: Explanation

    @property
    def outcome(self) -> Outcome:
        """Whether the answer is right, and if so whether the solver had to overrule something."""
        return outcomes(self.examples)[0]

    @property
    def symbols(self) -> list[Reading]:
        """What was made of the symbols that are shown."""
        return self.view.symbols(self.examples, 0)

    @property
    def answers(self) -> tuple[str, str]:
        """The answer and the truth, in a few words, which are none for a truth that is long."""
        return self.view.answers(self.examples, 0)

    @property
    def statements(self) -> list[Statement]:
        """The explanation as headings and lines, without what a table of the symbols tells."""
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
    """The outcome of every row."""
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
    """What a run makes of some of its rows, and the split that they are from.

    Args:
        run: One with a layer.
        numbers: Of the rows, from 0.
        split: By default what the run was scored on.

    Raises:
        ConfigError: If the run has no layer, or there is no such row.
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
    """Explains such rows against their true answers.

    Args:
        run: Their run.
        split: Where they are from.
        examples: What the run makes of them.
        numbers: Their places in the split.
        runner_up: Whether to look for the next best answers too.
    """
    layer = run.model.layer
    assert layer is not None
    batch = examples.batch
    wanted = (batch.targets * 2 - 1).to(torch.int8)
    if batch.asked is not None:
        wanted = torch.where(batch.asked, wanted, 0)
    told = layer.explain(examples.logits, wanted, batch.known, runner_up=runner_up)
    alone = [examples.pick(torch.tensor([i])) for i in range(len(numbers))]
    return [
        ExampleReport(run.task.view, split, number, _as_explained(row, why), why)
        for number, row, why in zip(numbers, alone, told, strict=True)
    ]


def _as_explained(row: Examples, why: Explanation) -> Examples:
    """The row with the answer of its explanation: a solver short of time may find another."""
    if why.answer is None:
        none = torch.zeros_like(row.answer.inputs), torch.zeros_like(row.answer.outputs)
        return replace(row, answer=replace(row.answer, inputs=none[0], outputs=none[1]))
    turned = {name for overruled in why.overruled for name in overruled.columns}
    names = row.theory.input_names
    signs = torch.tensor([-1 if name in turned else 1 for name in names], dtype=torch.int8)
    outputs = row.theory.encode_outputs(**why.answer)[None].to(row.answer.outputs.dtype)
    return replace(row, answer=replace(row.answer, inputs=row.signs * signs, outputs=outputs))


def find_example(
    run: LoadedRun,
    start: int,
    wanted: Sequence[Outcome],
    split: SplitName | None = None,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> int:
    """The first row from a number on that came out so.

    Args:
        run: One with a layer.
        start: Where to begin.
        wanted: Which outcomes to look for.
        split: By default what the run was scored on.
        on_rows: Called with the number of rows that were searched, and with that of all rows.

    Raises:
        SMTLayerError: If there is none. The message names one before the number, if there is one,
            or else says how all rows came out.
    """
    name, rows = _checked(run, [start], split)
    found = " or ".join(_FOUND[kind] for kind in wanted)
    counts: Counter[Outcome] = Counter()
    for number, outcome in _searched(run, rows, [*range(start, len(rows)), *range(start)]):
        if outcome in wanted and number >= start:
            return number
        if outcome in wanted:
            raise SMTLayerError(
                f"No {name} row from {start} on {found}, but row {number} is one: use "
                f"--row {number}."
            )
        counts[outcome] += 1
        on_rows(counts.total(), len(rows))
    others = ", ".join(f"{count:,} {_COUNTED[outcome]}" for outcome, count in counts.items())
    raise SMTLayerError(
        f"None of the {len(rows):,} {name} rows {found}: {others}. Look at any with --row alone."
    )


def _searched(run: LoadedRun, rows: Rows, numbers: list[int]) -> Iterator[tuple[int, Outcome]]:
    """Rows with their outcomes: a few at first, so that one soon found is soon shown, then more."""
    most = run.task.view.searched
    size, place = max(1, most // 10), 0
    while place < len(numbers):
        some = numbers[place : place + size]
        yield from zip(some, outcomes(_read(run, rows, torch.tensor(some))), strict=True)
        place, size = place + size, min(2 * size, most)


def draw_reports(
    run: LoadedRun, examples: Examples, rows: Sequence[ExampleReport], path: Path
) -> Path:
    """Draws rows into a PNG.

    Args:
        run: Theirs.
        examples: The rows.
        rows: The same, inspected.
        path: What to write.
    """
    numbers = f"row{'s'[: len(rows) > 1]} " + ", ".join(str(one.number) for one in rows)
    title = f"{run_title(run.folder.config)}: {rows[0].split} {numbers}"
    return save(run.task.view.figure(examples, title), path)


def _checked(
    run: LoadedRun, numbers: Sequence[int], split: SplitName | None
) -> tuple[SplitName, Rows]:
    """The rows of a split, if all the numbers are among them and there is a layer."""
    require_layer(run.folder)
    name, rows = run.rows(split)
    for number in numbers:
        if not 0 <= number < len(rows):
            raise ConfigError(
                f"{run.folder.path} has {len(rows):,} {name} rows, from 0 to {len(rows) - 1}. "
                f"Got row {number}."
            )
    return name, rows


def _read(run: LoadedRun, rows: Rows, index: Tensor) -> Examples:
    assert run.model.layer is not None
    return collect_examples(run.model, run.model.layer, rows, index, len(index))
