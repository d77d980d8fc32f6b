"""The command `smtlayer lab`: which blame rule trains a theory, tried without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as RichTable

from smtlayer.errors import ConfigError, UndeclaredSymbolError, did_you_mean
from smtlayer_cli.choices import split
from smtlayer_cli.complete import LAB_TASKS, lab_tasks
from smtlayer_cli.complete import rules as rule_names
from smtlayer_cli.later import Later
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    import z3

    from smtlayer import nn, provenance, pyplot
    from smtlayer import theory as theories
    from smtlayer.lab import laboratory, problems
    from smtlayer.lab import plot as pictures
    from smtlayer.theory import smtlib
    from smtlayer_studies.tasks import lab_problems as task_problems
else:
    nn, z3 = Later("smtlayer.nn"), Later("z3")
    theories, smtlib = Later("smtlayer.theory"), Later("smtlayer.theory.smtlib")
    laboratory, problems = Later("smtlayer.lab.laboratory"), Later("smtlayer.lab.problems")
    pictures, pyplot = Later("smtlayer.lab.plot"), Later("smtlayer.pyplot")
    provenance, task_problems = (
        Later("smtlayer.provenance"),
        Later("smtlayer_studies.tasks.lab_problems"),
    )

RULES = (
    "core",
    "maxsmt",
    "mix(core, marginal)",
    "schedule((0.5, marginal(temperature=anneal(8, 1, until=0.5, shape='geometric'))), "
    "(1, mix(core, marginal)))",
)
_FILE, _TRAINING = "With a file", "Training"
_PLATEAUS = 3  # that are shown of a rule


def lab(
    theory: str = typer.Argument(
        metavar="THEORY", autocompletion=lab_tasks,
        help=f"An SMT-LIB 2 file, or a task: {', '.join(LAB_TASKS)}.",
    ),
    rules: list[str] = typer.Option(
        list(RULES), show_default=False, metavar="RULE", autocompletion=rule_names,
        help="A blame rule to try; may be given more than once. Without it: core, maxsmt, "
        "mix(core, marginal), and that mix after a marginal that cools down.",
    ),
    inputs: str | None = typer.Option(
        None, metavar="NAMES", rich_help_panel=_FILE, help="Inputs of the file, as a,b."
    ),
    outputs: str | None = typer.Option(
        None, metavar="NAMES", rich_help_panel=_FILE, help="Outputs of the file, as total."
    ),
    widths: str | None = typer.Option(
        None, metavar="NUMBERS", rich_help_panel=_FILE,
        help="Input columns of each symbol, as 7,7,7. Without it each input is a symbol.",
    ),
    separate: bool = typer.Option(
        False, "--separate", rich_help_panel=_FILE,
        help="A reader for each symbol, rather than one for all that look alike.",
    ),
    shown: float = typer.Option(
        1.0, metavar="SHARE", rich_help_panel=_FILE,
        help="Share of the rows of a file that training shows; the others are tested.",
    ),
    seeds: int = typer.Option(20, metavar="N", help="Random starts for each rule.", min=1),
    steps: int = typer.Option(
        1000, metavar="N", help="Steps of training.", min=1, rich_help_panel=_TRAINING
    ),
    lr: float = typer.Option(
        3.0, metavar="X", help="Learning rate in the first half.", rich_help_panel=_TRAINING
    ),
    late_lr: float = typer.Option(
        20.0, metavar="X", rich_help_panel=_TRAINING,
        help="Learning rate at the start of the second half.",
    ),
    noise: float = typer.Option(
        0.5, metavar="X", help="How much two looks at a symbol differ.", rich_help_panel=_TRAINING
    ),
    plot: Path | None = typer.Option(None, metavar="FILE", help="Draw every seed to this file."),
    as_json: bool = typer.Option(
        False, "--json", help="One JSON object, with commit, date and machine."
    ),
) -> None:  # fmt: skip
    """Try blame rules on a theory: from how many random starts do symbols get their meaning?

    There is no network and no image: each kind of symbol is a vector of logits with noise. That
    takes seconds and shows where a rule gets stuck, before hours are spent on training. A task is
    scored on all combinations that its test set has, without its images.

    Examples:

        smtlayer lab mnist-addition-10
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total
        smtlayer lab liars-puzzle --rules core --rules "mix(core, marginal)"
    """
    if plot is not None:
        pyplot.check_picture(plot, "--plot")
        pyplot.pyplot()
    parsed = list(dict.fromkeys(_rule(text) for text in rules))
    options = laboratory.LabOptions(steps=steps, lr=lr, late_lr=late_lr, noise=noise)
    if theory in LAB_TASKS and (inputs or outputs or widths or separate or shown != 1):
        raise ConfigError(
            f"smtlayer lab takes --inputs, --outputs, --widths, --separate and --shown with a "
            f"file only. Got them with the task {theory!r}, which has its own."
        )
    console = Console(stderr=True)
    with Waiting(f"listing the models of {theory}", console):
        if theory in LAB_TASKS:
            problem = task_problems.task_problem(theory)
        else:
            problem = _read(theory, inputs, outputs, widths, separate, shown)
    result = _with_bars(console, problem, parsed, seeds, options)
    if as_json:
        typer.echo(json.dumps(_as_dict(result) | provenance.here("cpu")))
    else:
        _show(result, problem)
    if plot is not None:
        console.print(f"plot  {pictures.draw_lab(result, plot)}", highlight=False, soft_wrap=True)


def _rule(text: str) -> nn.BlameRule:
    try:
        return nn.parse_rule(text)
    except ValueError as error:
        raise ConfigError(f"--rules: {error}") from error


def _read(
    name: str,
    inputs: str | None,
    outputs: str | None,
    widths: str | None,
    separate: bool,
    shown: float,
) -> problems.LabProblem:
    path = Path(name)
    if not path.is_file():
        hint = did_you_mean(name, LAB_TASKS)
        raise ConfigError(
            f"smtlayer lab expects an SMT-LIB 2 file, or one of {', '.join(LAB_TASKS)}. "
            f"Got {name!r}, and there is no such file.{hint}"
        )
    if not split(inputs) or not split(outputs):
        raise ConfigError(
            f"smtlayer lab needs to know the inputs and outputs of {name}: "
            f"add --inputs a,b --outputs y with names that it declares."
        )
    sizes = split(widths)
    if not all(size.isdecimal() for size in sizes):
        raise ConfigError(f"--widths expects whole numbers, as 7,7,7. Got {widths!r}.")
    smtlib.read(path, ())  # what is wrong with the file is told first, and as such
    _check_names(path, "--inputs", split(inputs))
    _check_names(path, "--outputs", split(outputs))
    theory = theories.Theory.from_smtlib(path, split(inputs), split(outputs))
    return problems.problem_of(
        theory, name=path.stem, widths=[int(size) for size in sizes] or None, separate=separate,
        shown=shown,
    )  # fmt: skip


def _check_names(path: Path, option: str, names: Sequence[str]) -> None:
    """Refuses names that cannot be inputs or outputs of a file, which itself can be read."""
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{option} expects each name once. Got {name!r} more than once.")
    try:
        _, constants, _ = smtlib.read(path, names)
    except UndeclaredSymbolError as error:
        raise ConfigError(f"{option}: {error.reason}") from error
    for name, constant in constants.items():
        if not isinstance(constant, z3.BoolRef | z3.BitVecRef):
            raise ConfigError(
                f"{option} expects symbols of sort Bool or (_ BitVec n). Got {name!r} of sort "
                f"{constant.sort()}. Declare it so in {path}, or take Theory and one_hot in Python."
            )


def _with_bars(
    console: Console,
    problem: problems.LabProblem,
    rules: list[nn.BlameRule],
    seeds: int,
    options: laboratory.LabOptions,
) -> laboratory.LabResult:
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
        return laboratory.run_lab(
            problem, rules, seeds=seeds, options=options,
            on_step=lambda rule, done: progress.update(bars[rule], completed=done),
        )  # fmt: skip


def _as_dict(result: laboratory.LabResult) -> dict[str, Any]:
    runs = [
        asdict(run)
        | {name: getattr(run, name) for name in ("grounded", "unnoticed", "renamed", "mean")}
        for run in result.runs
    ]
    as_good = [run.rule for run in result.as_good]
    return asdict(result) | {"runs": runs, "best": result.best.rule, "as_good": as_good}


def _show(result: laboratory.LabResult, problem: problems.LabProblem) -> None:
    console = Console()
    console.print(
        f"[bold]{result.problem}[/bold]: {result.models} models, {result.kinds} kinds of symbols, "
        f"{result.shown} rows shown, {result.tested} tested", highlight=False,
    )  # fmt: skip
    if problem.left_out:
        console.print(
            f"{problem.left_out} of {problem.choices} inputs leave the outputs open and are left "
            f"out", highlight=False,
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
    console.print(verdict(result), highlight=False, markup=False, width=min(console.width, 100))


def verdict(result: laboratory.LabResult) -> str:
    """Which rule to take, and how far to trust that."""
    best, seeds = result.best, result.seeds
    if not best.grounded:
        said = "No rule grounds a single seed: change the rule, the rows shown or the theory."
    elif 2 * best.grounded < seeds:
        said = f"No rule is to be relied on: the best, {best.rule}, grounds {best.grounded} of "
        said += f"{seeds} seeds."
    else:
        said = f"Take {best.rule}: it grounds {best.grounded} of {seeds} seeds."
        if result.as_good:
            others = "; ".join(run.rule for run in result.as_good)
            said += f" So few seeds cannot tell it from {others}."
    if best.renamed:
        said += (
            f" In {best.renamed} of these, symbols are read otherwise than meant, and the tested "
            f"rows come out right all the same."
        )
    worst = best if best.grounded else max(result.runs, key=lambda run: run.unnoticed)
    if worst.unnoticed:
        said += (
            f" With {worst.rule}, {worst.unnoticed} of {seeds} seeds are right on what training "
            f"shows and wrong elsewhere, so training accuracy does not tell. Show more rows, or "
            f"say more in the theory."
        )
    elif 0 < best.grounded < seeds:
        said += " The other seeds show in their training accuracy: start those anew."
    return said


def _mean(scores: tuple[float, ...]) -> str:
    return f"{100 * sum(scores) / len(scores):.1f} %"


def _plateaus(run: laboratory.LabRun) -> str:
    most = sorted(run.plateaus, key=lambda plateau: -plateau[1])[:_PLATEAUS]
    lines = [f"{percent} % x {count}" for percent, count in sorted(most, reverse=True)]
    return "\n".join(lines + ["..."] * (len(run.plateaus) > _PLATEAUS))
