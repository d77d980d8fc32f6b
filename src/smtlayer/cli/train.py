"""This file holds `smtlayer train TASK`: trains with the layer and without it, and shows both."""

from pathlib import Path
from typing import Literal

import torch
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable
from torch import nn

from smtlayer.nn import SMTLayer
from smtlayer.reports import draw_examples
from smtlayer.tasks import MnistAddition, Model, Task, load_digits
from smtlayer.training import History, RunRecord, TrainOptions, train

train_app = typer.Typer(help="Train a task with the layer, and beside it a conventional network.")
# What a first try on a laptop takes: few rows, small batches.
_SAMPLE = {"rows": 8_000, "batch_size": 16, "epochs": 5}
_FULL = {"rows": 60_000, "batch_size": 128, "epochs": 5}


@train_app.callback()
def _group() -> None:
    """Each task is a command of its own, with its own options."""


@train_app.command("mnist-addition")
def mnist_addition(
    percent: int = typer.Option(10, help="Share of the 100 digit pairs that training shows."),
    data: Literal["auto", "mnist", "sample"] = typer.Option(
        "auto", help="All of MNIST from the data folder, or a sample that comes with a dependency."
    ),
    data_dir: Path | None = typer.Option(None, help="Data folder [default: $SMTLAYER_DATA]."),
    epochs: int | None = typer.Option(None, help="Times to go through the rows.", min=1),
    rows: int | None = typer.Option(None, help="Pairs drawn for each epoch.", min=1),
    batch_size: int | None = typer.Option(None, help="Pairs in a step.", min=1),
    optimizer: Literal["adam", "sgd"] = typer.Option("adam"),
    lr: float = typer.Option(1e-3, help="Highest learning rate."),
    forward: Literal["smt", "maxsmt"] = typer.Option("smt", help="Rule in training."),
    backward: Literal["core", "maxsmt"] = typer.Option("core", help="How blame is found."),
    seed: int = typer.Option(0),
    device: str = typer.Option("cpu", help="For example cuda."),
    out: Path = typer.Option(Path("runs/mnist-addition"), help="Folder for record and picture."),
) -> None:
    """Two handwritten digits in, their sum out; the digits themselves are never labelled."""
    digits = load_digits(data, data_dir)
    task = MnistAddition(digits, percent)
    sizes = _SAMPLE if digits.source == "sample" else _FULL
    given = {"epochs": epochs, "rows": rows, "batch_size": batch_size}
    sizes = sizes | {name: value for name, value in given.items() if value is not None}
    options = TrainOptions(**sizes, optimizer=optimizer, lr=lr, seed=seed, device=device)
    layer = SMTLayer(task.theory, forward=forward, backward=backward)
    _run(task, layer, options, {"percent": percent}, out)


def _run(
    task: Task, layer: SMTLayer, options: TrainOptions, task_options: dict[str, int], out: Path
) -> None:
    console = Console()
    console.print(
        f"[bold]{task.name}[/bold] on {task.data_title}: {options.epochs} epochs of "
        f"{options.rows:,} rows, seed {options.seed}, {options.device}"
    )
    torch.manual_seed(options.seed)  # the head is made here, before training sets the seed
    _, dense = _train("conventional", task, task.head(), options, console)
    solved, smt = _train("with the layer", task, layer, options, console)
    _show(console, task, {"SMTLayer": smt, "conventional": dense})
    record = RunRecord.of(
        task=task.name, data=task.data, task_options=task_options, options=options,
        layer=str(layer), histories={"smtlayer": smt, "conventional": dense},
    )  # fmt: skip
    picture = _picture(task, solved, layer, options, out)
    console.print(f"record   {record.write(out)}\npicture  {picture}", highlight=False)


def _train(
    label: str, task: Task, head: nn.Module, options: TrainOptions, console: Console
) -> tuple[Model, History]:
    columns = (
        TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(label, total=options.epochs * options.steps, loss=float("nan"))

        def on_step(step: int, loss: float) -> None:
            progress.update(bar, completed=step, loss=loss)
            if not console.is_terminal and step % options.steps == 0:  # a log has no bars
                epoch = step // options.steps
                console.print(f"{label}: epoch {epoch} of {options.epochs}, loss {loss:.3f}")

        return train(task, head, options, on_step)


def _show(console: Console, task: Task, histories: dict[str, History]) -> None:
    table = RichTable(title="Test rows that are right", title_justify="left")
    table.add_column("")
    for heading in ("combinations not shown", "all", "symbols read", "time", "in the solver"):
        table.add_column(heading, justify="right")
    for name, history in histories.items():
        scores = history.scores
        seconds = sum(epoch.seconds for epoch in history.epochs)
        solver = sum(epoch.solver.get("solver_seconds", 0) for epoch in history.epochs)
        table.add_row(
            name,
            _percent(scores["unseen_accuracy"]),
            _percent(scores["accuracy"]),
            _percent(scores["representation"]) if "representation" in scores else "-",
            f"{seconds:.0f} s",
            _percent(solver / seconds) if solver else "-",
        )
    console.print(table)
    smt, dense = (histories[name].scores for name in ("SMTLayer", "conventional"))
    console.print(
        f"On combinations that training never showed, the network with the formula is right in "
        f"{_percent(smt['unseen_accuracy'])} of rows, the conventional one in "
        f"{_percent(dense['unseen_accuracy'])}. Nobody told it what the symbols look like: it "
        f"reads {_percent(smt['representation'])} of them right.",
        width=min(console.width, 100),
    )


def _picture(task: Task, model: Model, layer: SMTLayer, options: TrainOptions, out: Path) -> Path:
    """Test rows: some that the solver repaired, some that went wrong, then others."""
    batch = task.draw("test", 1000, torch.Generator().manual_seed(options.seed))
    model.eval()
    with torch.no_grad():
        logits = model.network(batch.features.to(options.device)).float().cpu()
        answer = layer.solve(logits)
    wrong = ((answer.outputs > 0) != (batch.targets > 0.5)).any(-1)
    repaired = (answer.cost > 0) & ~wrong
    groups = ((repaired, 3), (wrong, 2), (~wrong & ~repaired, 12))
    chosen = torch.cat([group.nonzero().flatten()[:most] for group, most in groups])[:12]
    picked = type(batch)(
        batch.features[chosen], batch.targets[chosen], batch.symbols[chosen], batch.seen[chosen]
    )
    path = out / "examples.png"
    return draw_examples(path, layer, logits[chosen], picked, task.picture_title)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
