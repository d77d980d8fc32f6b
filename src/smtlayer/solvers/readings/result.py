"""`Readings`: the maps from what a network sees to values that fit training, in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smtlayer.plain import counted

_CLASSES, _CHANGES, _ROWS, _INPUTS = 5, 6, 3, 8  # shown in a text

Reading = Mapping[str, Mapping[Any, Any]]  # by reader: the value that each kind is read as
Row = Mapping[str, Any]  # the value of each input


@dataclass(frozen=True)
class ReadingClass:
    """Readings that give the same answers on all tested examples."""

    count: int
    accuracy: float  # fraction of the tested examples that they answer correctly
    reading: Reading  # the one that is nearest to the true reading

    @property
    def changes(self) -> str:
        """What `reading` confuses, such as `2 -> 3, 3 -> 2`; empty for the true reading."""
        texts = {}
        for reader, kinds in self.reading.items():
            pairs = [f"{_text(kind)} -> {_text(v)}" for kind, v in kinds.items() if kind != v]
            texts[reader] = ", ".join(_listed(pairs, _CHANGES))
        if len(texts) == 1:
            return next(iter(texts.values()))
        return "; ".join(f"{reader}: {text}" for reader, text in texts.items() if text)


@dataclass(frozen=True)
class Readings:
    """The readings of the symbols that fit all examples that training shows.

    A *kind* is what a network sees, such as the images of the digit 3, and a *reading* maps each
    kind to a value. It fits if the theory has a model with the inputs read so, and every such model
    has the outputs of the label. Training cannot tell readings apart that fit.
    """

    count: int
    """Number of readings that fit."""
    complete: bool
    """Whether these are all; otherwise a limit was reached."""
    fits: tuple[Reading, ...]
    """The readings: by reader, the value that each kind is read as."""
    true_fits: bool
    """Whether the true reading fits: each kind is read as its own value."""
    classes: tuple[ReadingClass, ...]
    """Readings by their answers on the tested examples: first those that are always correct, then
    the largest class."""
    never_shown: Mapping[str, tuple[Any, ...]]
    """Kinds that occur in the test and not in training, by reader. Their examples are left out."""
    shown: int
    """Number of different examples that training shows."""
    tested: int
    """Number of tested examples, without those that are left out."""
    rows_to_show: tuple[Row, ...]
    """Inputs to show in training, best first, until only readings that are correct in the test
    are left."""

    @property
    def next_row(self) -> Row | None:
        """The inputs whose label rules out the most wrong readings; None if there are none."""
        return self.rows_to_show[0] if self.rows_to_show else None

    @property
    def wrong(self) -> int:
        """Number of readings that answer some tested example wrongly."""
        return sum(one.count for one in self.classes if one.accuracy < 1)

    def __str__(self) -> str:
        lines = [f"{self.summary}."]
        if self.wrong:
            lines += [
                f"{one.count:>7,} correct in {100 * one.accuracy:.1f} % of the test: "
                f"{one.changes or 'the true reading'}"
                for one in self.classes[:_CLASSES]
            ]
            if len(self.classes) > _CLASSES:
                lines.append(f"  and {len(self.classes) - _CLASSES:,} other sets of answers")
            lines.append(f"Training accuracy does not reveal which is learned. {self.advice}.")
        if not self.true_fits:
            lines.append("The true reading does not fit: the theory does not determine a label.")
        for reader, kinds in self.never_shown.items():
            values = ", ".join(_listed([_text(kind) for kind in kinds], _CHANGES))
            lines.append(f"Training never shows {reader} = {values}, so the test leaves them out.")
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """How many readings fit, and how many of them are wrong in the test."""
        shown, tested = counted(self.shown, "example"), counted(self.tested, "tested example")
        if self.count == 1 and self.complete and self.true_fits:
            return f"Only the true reading of the symbols fits the {shown} that training shows"
        many = f"{'' if self.complete else 'At least '}{self.count:,}" if self.count else "No"
        verb = "reading of the symbols fits" if self.count < 2 else "readings of the symbols fit"
        text = f"{many} {verb} the {shown} that training shows"
        if self.wrong:
            answer = "answers" if self.wrong == 1 else "answer"
            return f"{text}; {self.wrong:,} of them {answer} some of the {tested} wrongly"
        if not self.count or not self.tested or not self.true_fits:
            return text
        if not self.complete:
            return f"{text}; those found answer the {tested} correctly, others may not"
        return f"{text}; all answer the {tested} correctly, so renamed symbols do no harm"

    @property
    def advice(self) -> str:
        """What to do about wrong readings; empty if there are none."""
        if not self.wrong:
            return ""
        rows = "; ".join(_listed([_row_text(row) for row in self.rows_to_show], _ROWS))
        end = "leaves only correct ones" if self.complete else "rules these out"
        return f"Add a constraint, label some symbols, or show {rows}, which {end}"


def _row_text(row: Row) -> str:
    """Inputs in words, such as `a = 3, heavy, not full`; if they are many, only the true ones."""
    texts = {
        n: n if v is True else f"not {n}" if v is False else f"{n} = {v}" for n, v in row.items()
    }
    return ", ".join(t for n, t in texts.items() if row[n] is not False or len(row) <= _INPUTS)


def _text(value: Any) -> str:
    return ("+".join(value) or "none") if isinstance(value, tuple) else str(value)


def _listed(texts: list[str], most: int) -> list[str]:
    return texts[:most] + ["..."] * (len(texts) > most)
