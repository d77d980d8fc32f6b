"""The command `smtlayer lab`: compares blame rules on a theory, without a network."""

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

from smtlayer_cli.complete import problems
from smtlayer_cli.complete import rules as rule_names
from smtlayer_cli.plugins import lab_problems
from smtlayer_cli.waiting import Waiting

if TYPE_CHECKING:
    from smtlayer.lab import LabOptions, LabProblem, LabResult, LabRun
    from smtlayer.nn import BlameRule

RULES = (
    "core",
    "maxsmt",
    "mix(core, marginal)",
    "schedule((0.5, marginal(temperature=anneal(8, 1, until=0.5, shape='geometric'))), "
    "(1, mix(core, marginal)))",
)
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
        help="A blame rule to try; may be given more than once [default: core, maxsmt, mix(core, "
        "marginal), and that mix after a marginal with decreasing temperature].",
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

    Examples:

    \b
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total
        smtlayer lab my_theory.smt2 --inputs a,b --outputs total --shown 0.5 --seeds 50
        smtlayer lab my_theory.smt2 --inputs a --outputs y --rules core --rules maxsmt
    """
    from smtlayer.errors import ConfigError
    from smtlayer.lab import LabOptions
    from smtlayer_cli.lab_plot import draw_lab
    from smtlayer_cli.provenance import here
    from smtlayer_cli.pyplot import check_picture, pyplot

    if plot is not None:
        check_picture(plot, "--plot")
        pyplot()
    parsed = list(dict.fromkeys(_rule(text) for text in rules))
    options = LabOptions(steps=steps, lr=lr, late_lr=late_lr, noise=noise)
    make = lab_problems().get(theory)
    if make is not None and (inputs or outputs or widths or separate or shown != 1):
        raise ConfigError(
            f"smtlayer lab takes --inputs, --outputs, --widths, --separate and --shown with a "
            f"file only. Got them with the problem {theory!r}, which has its own."
        )
    console = Console(stderr=True)
    with Waiting(f"listing the models of {theory}", console):
        if make is not None:
            problem = make(theory)
        else:
            problem = _read(theory, inputs, outputs, widths, separate, shown)
    result = _run(console, problem, parsed, seeds, options)
    if as_json:
        typer.echo(json.dumps(_as_dict(result) | here("cpu")))
    else:
        _show(result, problem)
    if plot is not None:
        console.print(f"plot  {draw_lab(result, plot)}", highlight=False, soft_wrap=True)


def _rule(text: str) -> BlameRule:
    from smtlayer.errors import ArgumentError, ConfigError
    from smtlayer.nn import parse_rule

    try:
        return parse_rule(text)
    except ArgumentError as error:
        raise ConfigError(f"--rules: {error}") from error


def _read(
    name: str,
    inputs: str | None,
    outputs: str | None,
    widths: str | None,
    separate: bool,
    shown: float,
) -> LabProblem:
    from smtlayer.errors import ConfigError, did_you_mean
    from smtlayer.lab import problem_of
    from smtlayer.theory import Theory
    from smtlayer.theory.smtlib import read

    path = Path(name)
    if not path.is_file():
        known = lab_problems()
        names = f", or one of {', '.join(known)}" if known else ""
        raise ConfigError(
            f"smtlayer lab expects an SMT-LIB 2 file{names}. Got {name!r}, and there is no such "
            f"file.{did_you_mean(name, known)}"
        )
    if not _split(inputs) or not _split(outputs):
        raise ConfigError(
            f"smtlayer lab needs the inputs and outputs of {name}: "
            f"add --inputs a,b --outputs y with names that it declares."
        )
    sizes = _split(widths)
    if not all(size.isdecimal() for size in sizes):
        raise ConfigError(f"--widths expects whole numbers, as 7,7,7. Got {widths!r}.")
    read(path, ())  # first reports errors in the file itself
    _check_names(path, "--inputs", _split(inputs))
    _check_names(path, "--outputs", _split(outputs))
    theory = Theory.from_smtlib(path, _split(inputs), _split(outputs))
    return problem_of(
        theory, name=path.stem, widths=[int(size) for size in sizes] or None, separate=separate,
        shown=shown,
    )  # fmt: skip


def _split(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _check_names(path: Path, option: str, names: Sequence[str]) -> None:
    """Raises an error for names that cannot be inputs or outputs of a file."""
    import z3

    from smtlayer.errors import ConfigError, UndeclaredSymbolError
    from smtlayer.theory.smtlib import read

    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{option} expects each name once. Got {name!r} more than once.")
    try:
        _, constants, _ = read(path, names)
    except UndeclaredSymbolError as error:
        raise ConfigError(f"{option}: {error.reason}") from error
    for name, constant in constants.items():
        if not isinstance(constant, z3.BoolRef | z3.BitVecRef):
            raise ConfigError(
                f"{option} expects symbols of sort Bool or (_ BitVec n). Got {name!r} of sort "
                f"{constant.sort()}. Declare one in {path}, or use Theory and one_hot in Python."
            )


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


def _show(result: LabResult, problem: LabProblem) -> None:
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
    console.print(verdict(result), highlight=False, markup=False, width=min(console.width, 100))


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
