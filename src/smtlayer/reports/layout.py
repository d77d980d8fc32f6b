"""This file lays results out as tables of text, ours beside the paper's, without a look."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from smtlayer.reports.paper import DEVICE, QUOTED_FROM, ROWS, PaperRow, row_title
from smtlayer.reports.table import METHODS, Result

DASH = "\N{EN DASH}"
QUOTED = "\N{DAGGER}"
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Cell:
    """What stands in a table; the best of a row stands out."""

    text: str
    best: bool = False


@dataclass(frozen=True)
class Column:
    """A column under a heading that it may share with others."""

    group: str
    name: str
    spare: bool = False  # may be left out where there is little room

    @property
    def title(self) -> str:
        """In one line."""
        return f"{self.group}: {self.name}" if self.group else self.name


@dataclass(frozen=True)
class TextTable:
    """A table without a look."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Line:
    """A line of a table: a row of the paper and our results on it, by method."""

    title: str
    paper: PaperRow | None
    ours: dict[str, Result]
    extra: bool = False  # a method that the paper has no like of


_PAPER, _SAME, _BEST = f"paper {QUOTED}", "ours, same", "ours, best"
_OTHERS = tuple(Column("", f"{name} {QUOTED}", spare=True) for name in ("SATNet", "Scallop"))
_COMPARED = (
    Column("conventional", _PAPER), Column("conventional", "ours"),
    Column("SMTLayer", _PAPER), Column("SMTLayer", _SAME), Column("SMTLayer", _BEST),
)  # fmt: skip
_RATIOS = tuple(Column("ratio", name) for name in (_PAPER, _SAME, _BEST))


def tables(results: Sequence[Result]) -> tuple[TextTable, TextTable]:
    """The table of accuracies and the table of times."""
    lines = list(_lines(results))
    usual = Counter(len(result.seeds) for result in results).most_common(1)
    count = usual[0][0] if usual else 0
    accuracy = TextTable(
        "accuracy",
        "Test accuracy, per cent",
        (Column("", "row"), *_COMPARED, *_OTHERS, Column("", "symbols read")),
        tuple(_accuracy_row(line, count) for line in lines),
        _accuracy_notes(results, count),
    )
    times = TextTable(
        "times",
        "Seconds per epoch",
        (Column("", "row"), *_COMPARED, *_RATIOS, *_OTHERS, Column("", "epochs")),
        tuple(_time_row(line) for line in lines),
        _time_notes(results),
    )
    return accuracy, times


def _lines(results: Sequence[Result]) -> Iterable[_Line]:
    for row in dict.fromkeys(result.row for result in results):
        ours = {result.method: result for result in results if result.row == row}
        if main := {method: ours[method] for method in METHODS if method in ours}:
            yield _Line(row_title(row), ROWS.get(row), main)
        for method, result in ours.items():
            if method not in METHODS:
                yield _Line(f"{row_title(row)}, {method}", None, {"best": result}, extra=True)


def _accuracy_row(line: _Line, count: int) -> tuple[Cell, ...]:
    numbers = _compared(line, PaperRow.accuracy, lambda result: result.mean)
    cells = [_one_decimal(number) for number in numbers]
    best = None if line.extra else max((float(cell) for cell in cells if cell), default=None)
    shown = [
        cell if ours is None else _spread(ours, count)
        for cell, ours in zip(cells, _ours(line), strict=True)
    ]
    read = _main(line).representation
    return (
        Cell(line.title),
        *(
            Cell(text or DASH, bool(cell) and float(cell) == best)
            for text, cell in zip(shown, cells, strict=True)
        ),
        Cell(_one_decimal(read) or DASH),
    )


def _time_row(line: _Line) -> tuple[Cell, ...]:
    seconds = [
        Cell(_seconds(number))
        for number in _compared(line, PaperRow.seconds, lambda result: result.epoch_seconds)
    ]
    methods = [line.ours.get(method) for method in ("paper", "best")]
    ratios = [line.paper.ratio if line.paper else None]
    ratios += [result.epoch_ratio if result else None for result in methods]
    texts = [_ratio(ratio) for ratio in ratios]
    best = min((ratio for ratio in ratios if ratio is not None), default=None)
    marked = [Cell(text, text == _ratio(best) and not line.extra) for text in texts]
    if best is None or sum(ratio is not None for ratio in ratios) < 2:
        marked = [Cell(text) for text in texts]  # nothing to compare
    before, after = _main(line).epochs
    epochs = f"{before} + {after}" if before else f"{after}"
    return (Cell(line.title), *seconds[:5], *marked, *seconds[5:], Cell(epochs))


def _compared(
    line: _Line,
    paper: Callable[[PaperRow, str], float | None],
    ours: Callable[[Result], float],
) -> list[float | None]:
    """Numbers in the order of the columns: compared ones, then those that are quoted only."""
    quoted = ("conventional", None, "smtlayer", None, None, "satnet", "scallop")
    return [
        ours(result) if result else paper(line.paper, method) if line.paper and method else None
        for method, result in zip(quoted, _ours(line), strict=True)
    ]


def _ours(line: _Line) -> list[Result | None]:
    """Our results in the same order; None where a column is the paper's."""
    methods = (None, "conventional", None, "paper", "best", None, None)
    return [line.ours.get(method) if method else None for method in methods]


def _main(line: _Line) -> Result:
    """The result that a line is about: the best method that was run."""
    return next(line.ours[method] for method in reversed(METHODS) if method in line.ours)


def _one_decimal(number: float | None) -> str:
    return "" if number is None else f"{number:.1f}"


def _spread(result: Result, count: int) -> str:
    text = f"{result.mean:.1f}" + ("" if result.sd is None else f" ± {result.sd:.1f}")
    return text if len(result.seeds) == count else f"{text} ({len(result.seeds)})"


def _seconds(number: float | None) -> str:
    if number is None:
        return DASH
    return f"{number:.0f}" if number >= 100 else f"{number:.1f}" if number >= 1 else f"{number:.2f}"


def _ratio(number: float | None) -> str:
    if number is None:
        return DASH
    return f"{number:.1f} {TIMES}" if number >= 10 else f"{number:.2f} {TIMES}"


def _accuracy_notes(results: Sequence[Result], count: int) -> tuple[str, ...]:
    seeds = "one seed" if count == 1 else f"{count} seeds"
    varied = any(len(result.seeds) != count for result in results)
    return (
        "Same: with the paper's settings. Best: with our best ones.",
        f"Ours: mean ± sample standard deviation of {seeds}"
        + (", or of as many as stand in brackets." if varied else "."),
        f"{QUOTED} {QUOTED_FROM} SATNet and Scallop were not run here.",
        "Symbols read: how often the network's bits are those of the symbol shown, which no label "
        "tells it; of the rightmost of ours.",
        f"{DASH} Not run, or, in the paper, not compatible with the approach. The best of a row is "
        "bold.",
        f"Data: {_data(results)}.",
    )


def _data(results: Sequence[Result]) -> str:
    groups: dict[str, list[str]] = {}
    for result in results:
        titles = groups.setdefault(result.data, [])
        if row_title(result.row) not in titles:
            titles.append(row_title(result.row))
    return "; ".join(f"{data} ({', '.join(titles)})" for data, titles in groups.items())


def _time_notes(results: Sequence[Result]) -> tuple[str, ...]:
    devices = ", ".join(dict.fromkeys(result.device for result in results))
    return (
        f"Ours: {devices}; the paper's {QUOTED}: {DEVICE}. Only the ratios can be compared.",
        "Ratio: an epoch with the layer over one without, same network, rows and batches, "
        "timed in turn in one process; of the conventional epochs, those with the batches of the "
        "rightmost of ours are shown. Seconds of methods that were not timed so are those of the "
        "runs, which may have shared the device.",
        "Epochs: pre-training + training, of the rightmost of ours.",
    )
