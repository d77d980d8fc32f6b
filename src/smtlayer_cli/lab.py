"""The command `smtlayer lab`: compares blame rules on a theory, without a network."""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from smtlayer_cli.complete import problems
from smtlayer_cli.complete import rules as rule_names
from smtlayer_cli.plugins import lab_problems
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer.lab import LabOptions, LabProblem, LabResult, LabRun, Readings
    from smtlayer.nn import BlameRule

RULES = ("anneal_core", "core", "maxsmt", "mix(core, marginal)")
_NAMES = ", ".join(lab_problems())
_FILE, _TRAINING = "With a file", "Training"
_PLATEAUS = 3  # shown per rule


def lab(
    theory: str = typer.Argument(
        metavar="THEORY", autocompletion=problems,
        help=f"An SMT-LIB 2 file{_NAMES and ', or a problem: '}{_NAMES}.",
    ),
    rules: list[str] = typer.Option(
        list(RULES), show_default=False, metavar="RULE", autocompletion=rule_names,
        help="A blame rule to try; may be given more than once [default: anneal_core, core, "
        "maxsmt, and mix(core, marginal)].",
    ),
    inputs: str | None = typer.Option(
        None, metavar="NAMES", rich_help_panel=_FILE, help="Names of the inputs, as a,b."
    ),
    outputs: str | None = typer.Option(
        None, metavar="NAMES", rich_help_panel=_FILE, help="Names of the outputs, as total."
    ),
    widths: str | None = typer.Option(
        None, metavar="NUMBERS", rich_help_panel=_FILE,
        help="Input columns of each symbol, as 7,7,7 [default: each input is a symbol].",
    ),
    separate: bool = typer.Option(
        False, "--separate", rich_help_panel=_FILE,
        help="One reader per symbol, instead of one for all symbols of the same kind.",
    ),
    shown: float = typer.Option(
        1.0, metavar="SHARE", rich_help_panel=_FILE,
        help="Share of the examples that are used in training; the others are tested.",
    ),
    rows: Path | None = typer.Option(
        None, metavar="FILE", rich_help_panel=_FILE,
        help="A CSV file of the examples that are used in training, with the names of symbols in "
        "its first line; all examples with the same values of symbols are tested.",
    ),
    seeds: int = typer.Option(20, metavar="N", help="Random starts of each rule.", min=1),
    steps: int = typer.Option(
        1000, metavar="N", help="Training steps.", min=1, rich_help_panel=_TRAINING
    ),
    lr: float = typer.Option(
        3.0, metavar="X", help="Learning rate in the first half.", rich_help_panel=_TRAINING
    ),
    late_lr: float = typer.Option(
        20.0, metavar="X", rich_help_panel=_TRAINING,
        help="Learning rate at the start of the second half.",
    ),
    noise: float = typer.Option(
        0.5, metavar="X", help="Noise of the logits of a symbol.", rich_help_panel=_TRAINING
    ),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Draw every seed to this file."),
    as_json: bool = typer.Option(
        False, "--json", help="Print one JSON object, with commit, date and machine."
    ),
) -> None:  # fmt: skip
    """Compare blame rules on a theory: from how many random starts are the symbols learned?

    There is no network and no image: each kind of symbol is a vector of logits with noise. That
    takes seconds and shows where a rule gets stuck, before hours are spent on training. A problem
    that is given by its name is scored on all combinations in its test set, without images.

    The last lines count the readings of the symbols that fit the training examples. If some of them
    are wrong in the test, no rule can help: the lines name an example to add. Inputs and outputs
    are of sort Bool, (_ BitVec n) or Int; integers need bounds.

    Examples:

    \b
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total --shown 0.5 --seeds 50
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total --rows training.csv
        smtlayer lab my_theory.smt2 --inputs a --outputs y --rules core --rules maxsmt
    """
    from smtlayer.errors import ConfigError
    from smtlayer.lab import LabOptions, readings
    from smtlayer_cli.lab_file import read_problem
    from smtlayer_cli.lab_plot import draw_lab
    from smtlayer_cli.provenance import here
    from smtlayer_cli.pyplot import check_picture, pyplot

    if plot is not None:
        check_picture(plot, "--plot")
        pyplot()
    parsed = list(dict.fromkeys(_rule(text) for text in rules))
    options = LabOptions(steps=steps, lr=lr, late_lr=late_lr, noise=noise)
    make = lab_problems().get(theory)
    if make is not None and (inputs or outputs or widths or separate or shown != 1 or rows):
        raise ConfigError(
            f"smtlayer lab takes --inputs, --outputs, --widths, --separate, --shown and --rows "
            f"with a file only. Got them with the problem {theory!r}, which has its own."
        )
    console = Console(stderr=True)
    with Waiting(f"listing the models of {theory}", console):
        if make is not None:
            problem = make(theory)
        else:
            problem = read_problem(
                theory, inputs=inputs, outputs=outputs, widths=widths, separate=separate,
                shown=shown, rows=rows,
            )  # fmt: skip
    result = _run(console, problem, parsed, seeds, options)
    with Waiting("counting the readings of the symbols", console):
        found = readings(problem)
    if as_json:
        typer.echo(json.dumps(_as_dict(result) | {"readings": _readings(found)} | here("cpu")))
    else:
        _show(result, problem, found)
    if plot is not None:
        console.print(f"plot  {draw_lab(result, plot)}", highlight=False, soft_wrap=True)


def _rule(text: str) -> BlameRule:
    from smtlayer.errors import ArgumentError, ConfigError
    from smtlayer.nn import parse_rule

    try:
        return parse_rule(text)
    except ArgumentError as error:
        raise ConfigError(f"--rules: {error}") from error


def _run(
    console: Console, problem: LabProblem, rules: list[BlameRule], seeds: int, options: LabOptions
) -> LabResult:
    """Runs the laboratory with one progress bar per rule."""
    from smtlayer.lab import run_lab

    columns = (
        TextColumn("{task.description:<30.30}"), BarColumn(bar_width=24), MofNCompleteColumn(),
        TimeRemainingColumn(),
    )  # fmt: skip
    logged = Waiting(f"trying {len(rules)} rules", console)  # a log has no bars
    with (
        nullcontext() if console.is_terminal else logged,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        bars = {str(rule): progress.add_task(str(rule), total=options.steps) for rule in rules}
        return run_lab(
            problem, rules, seeds=seeds, options=options,
            on_step=lambda rule, done: progress.update(bars[rule], completed=done),
        )  # fmt: skip


def _as_dict(result: LabResult) -> dict[str, Any]:
    runs = [
        asdict(run)
        | {name: getattr(run, name) for name in ("grounded", "unnoticed", "renamed", "mean")}
        for run in result.runs
    ]
    as_good = [run.rule for run in result.as_good]
    return asdict(result) | {"runs": runs, "best": result.best.rule, "as_good": as_good}


def _readings(found: Readings) -> dict[str, Any]:
    kept = ("count", "complete", "true_fits", "wrong", "rows_to_show", "never_shown")
    classes = [
        {"count": one.count, "accuracy": one.accuracy, "changes": one.changes}
        for one in found.classes
    ]
    return {name: getattr(found, name) for name in kept} | {"classes": classes}


def _show(result: LabResult, problem: LabProblem, found: Readings) -> None:
    console = Console()
    console.print(
        f"[bold]{result.problem}[/bold]: {result.models} models, {result.kinds} kinds of symbols, "
        f"{result.shown} examples in training, {result.tested} in the test", highlight=False,
    )  # fmt: skip
    if problem.left_out:
        console.print(
            f"{problem.left_out} of {problem.choices} inputs do not determine the outputs and are "
            f"left out", highlight=False,
        )  # fmt: skip
    names = [chr(ord("A") + i) if i < 26 else str(i) for i in range(len(result.runs))]
    for name, run in zip(names, result.runs, strict=True):
        console.print(f"{name}  {run.rule}", highlight=False, markup=False)
    table = RichTable()
    for heading in ("rule", "grounded", "train", "test", "symbols", "test, seeds", "time"):
        table.add_column(heading, justify="left" if heading == "rule" else "right")
    for name, run in zip(names, result.runs, strict=True):
        table.add_row(
            name, f"{run.grounded} of {result.seeds}", _mean(run.train), _mean(run.test),
            _mean(run.symbols), _plateaus(run), f"{run.seconds:.1f} s",
        )  # fmt: skip
    console.print(table)
    width = min(console.width, 100)
    console.print(verdict(result), highlight=False, markup=False, width=width)
    console.print(f"{found}", highlight=False, markup=False, width=width)


def verdict(result: LabResult) -> str:
    """Which rule to use, and how reliable that advice is."""
    best, seeds = result.best, result.seeds
    if not best.grounded:
        text = "No rule grounds a single seed: change the rule, the examples or the theory."
    elif 2 * best.grounded < seeds:
        text = f"No rule is reliable: the best, {best.rule}, grounds {best.grounded} of "
        text += f"{seeds} seeds."
    else:
        text = f"Use {best.rule}: it grounds {best.grounded} of {seeds} seeds."
        if result.as_good:
            others = "; ".join(run.rule for run in result.as_good)
            text += f" With so few seeds it cannot be distinguished from {others}."
    if best.renamed:
        text += (
            f" In {best.renamed} of these, symbols have another meaning than intended, and the "
            f"test examples are correct all the same."
        )
    worst = best if best.grounded else max(result.runs, key=lambda run: run.unnoticed)
    if worst.unnoticed:
        text += (
            f" With {worst.rule}, {worst.unnoticed} of {seeds} seeds are correct in training and "
            f"wrong in the test, so training accuracy does not reveal them. Use more training "
            f"examples, or add constraints to the theory."
        )
    elif 0 < best.grounded < seeds:
        text += " Training accuracy reveals the other seeds: restart those."
    return text


def _mean(scores: tuple[float, ...]) -> str:
    return f"{100 * sum(scores) / len(scores):.1f} %"


def _plateaus(run: LabRun) -> str:
    most = sorted(run.plateaus, key=lambda plateau: -plateau[1])[:_PLATEAUS]
    lines = [f"{percent} % x {count}" for percent, count in sorted(most, reverse=True)]
    return "\n".join(lines + ["..."] * (len(run.plateaus) > _PLATEAUS))
