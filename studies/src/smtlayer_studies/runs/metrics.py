"""Scores of a model on examples of a task."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from smtlayer.solvers import Status
from smtlayer.theory import Theory
from smtlayer_studies.runs.config import RunConfig
from smtlayer_studies.tasks.base import Batch, Model, Rows, SplitName, Task, with_facts

_AT_ONCE = 500  # rows
TEST_SEED = 1_000_003  # apart from training seeds; each seed has the same test examples


@torch.no_grad()
def evaluate(
    model: Model,
    rows: Rows,
    theory: Theory,
    device: str,
    on_rows: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """Scores a model on examples. Each score is a share, from 0 to 1.

    - `accuracy`: examples whose outputs are all right. An example without a model is wrong. For a
      conventional network only the outputs of its loss count.
    - `unseen_accuracy`: the same over combinations that training does not show.
    - `output_symbols`: single outputs that are right, of those that the task asks for.
    - `representation`: with a layer, input symbols of which the network reads all bits right.
    - `symbols`: with a layer, input symbols whose most likely value is right. It differs from
      `representation` for one-hot symbols, of which several columns or none may be positive.
    - `seen_accuracy`, `seen_symbols`: `accuracy` and `symbols` over combinations that training
      shows; missing if it shows all of them.
    - `overruled`: with a layer, examples whose inputs contradict the theory. The rule `maxsmt`
      overrules at least one input of each; the rule `smt` leaves them without a model.
    - `unanswered`: with a layer, examples on which the solver gave up; missing if there are none.

    `on_rows` is called with the number of examples that are done, first with 0, and with their
    total.
    """
    model.eval()
    place = torch.device(device)
    here = rows.to(place)
    parts: dict[str, list[Tensor]] = defaultdict(list)
    on_rows(0, len(rows))
    for start in range(0, len(rows), _AT_ONCE):
        index = torch.arange(start, min(start + _AT_ONCE, len(rows)), device=place)
        for name, part in _scores(model, here.batch(index), theory).items():
            parts[name].append(part)
        on_rows(min(start + _AT_ONCE, len(rows)), len(rows))
    joined = {name: torch.cat(some) for name, some in parts.items()}
    if not joined.get("unanswered", torch.zeros(1)).any():
        joined.pop("unanswered", None)
    if not len(joined["unseen_accuracy"]):
        joined = {name: part for name, part in joined.items() if not name.startswith("seen_")}
    return {name: part.double().mean().item() for name, part in joined.items() if len(part)}


def scored_rows(
    task: Task, config: RunConfig, split: SplitName | None = None
) -> tuple[SplitName, Rows]:
    """Examples to score: by default test examples, or those that the task holds out."""
    split = split or task.scored_split
    return split, task.rows(split, config.train.test_rows, TEST_SEED)


@torch.no_grad()
def teacher_agreement(distillation: nn.Module, rows: Rows, device: str) -> float:
    """Share of recombined images that a student reads exactly as its teacher does.

    It needs no labels, so settings can be chosen by it on training images.

    Args:
        distillation: From `Pretraining.distillation`, after training.
        rows: Images to recombine.
        device: Where to compute.
    """
    distillation.eval()
    here, shares = rows.to(torch.device(device)), []
    with torch.random.fork_rng():
        torch.manual_seed(0)  # the same recombinations for each run
        for index in torch.split(torch.arange(len(rows), device=device), _AT_ONCE):
            shares.append(float(distillation(here.batch(index))[1]) * len(index))
    return sum(shares) / len(rows)


def _scores(model: Model, batch: Batch, theory: Theory) -> dict[str, Tensor]:
    layer = model.layer
    if layer is None:
        _, outputs = model(batch.features, facts=batch.facts)
        answered = batch.correct(outputs, all_outputs=False)
        scores = {}
    else:
        logits = model.network(batch.features).float()
        solution = layer.solve(with_facts(logits, batch.facts), batch.known, batch.given)
        outputs = solution.outputs
        answered = batch.correct(outputs, all_outputs=True)
        whole, likely = (
            _by_symbol((signs > 0) == (batch.symbols > 0), theory.input_widths)
            for signs in (logits, _most_likely(logits, theory))
        )
        known = _by_symbol(batch.symbols != 0, theory.input_widths)
        unknown = solution.status == Status.UNKNOWN
        seen = known & batch.seen[:, None]
        scores = {
            "representation": whole[known], "symbols": likely[known], "seen_symbols": likely[seen],
            "overruled": (solution.cost > 0) & ~unknown,
            "unanswered": unknown,
        }  # fmt: skip
    right = ((outputs > 0) == (batch.targets > 0.5)) & (outputs != 0)
    asked = torch.ones_like(right) if batch.asked is None else batch.asked
    symbols = _by_symbol(right, theory.output_widths)[_by_symbol(asked, theory.output_widths)]
    return scores | {
        "accuracy": answered, "unseen_accuracy": answered[~batch.seen],
        "seen_accuracy": answered[batch.seen], "output_symbols": symbols,
    }  # fmt: skip


def _most_likely(logits: Tensor, theory: Theory) -> Tensor:
    """The logits, with only the largest one of a one-hot symbol above zero: (B, n)."""
    parts = []
    for symbol in theory.input_symbols:
        part = logits[:, symbol.columns]
        if symbol.kind == "one-hot":
            best = part.argmax(-1, keepdim=True)
            part = torch.full_like(part, -1).scatter(-1, best, 1)
        parts.append(part)
    return torch.cat(parts, dim=-1)


def _by_symbol(columns: Tensor, widths: Sequence[int]) -> Tensor:
    """Whether all columns of a symbol are true, symbol by symbol: (B, symbols)."""
    parts = torch.split(columns, list(widths), dim=-1)
    return torch.stack([part.all(-1) for part in parts], dim=-1)
