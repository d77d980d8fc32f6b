"""The result of `SMTLayer.explain`: plain values that print and turn into JSON.

Values are those of symbols: a bool, an int, a member of an enumeration by its name. A cost is the
total weight of the overruled inputs.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

from smtlayer.solvers.search.constraint_core import ConstraintRef
from smtlayer.theory import SymbolKind

ExplanationStatus = Literal["fits", "repaired", "contradicts", "unknown"]
RunnerUpStatus = Literal["not asked", "found", "impossible", "unknown"]


@dataclass(frozen=True, slots=True)
class Column:
    """One input column as the network set it."""

    name: str
    value: bool | None  # None: not known, free for the solver
    logit: float
    given: bool = False  # a fact


@dataclass(frozen=True, slots=True)
class SymbolRead:
    """The value of one input symbol according to the network."""

    name: str
    kind: SymbolKind
    value: Any  # None: its columns stand for no value, or are not known
    certainty: float  # probability that its known columns are as read; facts are certain
    columns: tuple[Column, ...]

    @property
    def known(self) -> bool:
        """Whether the network sets any column of the symbol."""
        return any(column.value is not None for column in self.columns)

    @property
    def given(self) -> bool:
        """Whether all that is known about the symbol is a fact."""
        return self.known and all(c.given for c in self.columns if c.value is not None)

    @property
    def shown(self) -> str:
        """The value as text; if there is none, the bits (`10?1`) or the values that are true."""
        if self.value is not None:
            return f"{self.value}"
        if not self.known:
            return "not known"
        if self.kind == "bits":
            return "".join("?" if c.value is None else "01"[c.value] for c in self.columns)
        values = [c.name.removeprefix(f"{self.name}=") for c in self.columns if c.value]
        true = " and ".join(values) or "no value"
        free = sum(column.value is None for column in self.columns)
        return f"{true}, {free} not known" if free else true


@dataclass(frozen=True, slots=True)
class Overruled:
    """An input symbol that the solver changed."""

    name: str
    read: Any
    taken: Any
    cost: float
    columns: tuple[str, ...]  # those that the solver changed


@dataclass(frozen=True, slots=True)
class RunnerUp:
    """The best model with other outputs than the answer."""

    answer: dict[str, Any]
    overruled: tuple[Overruled, ...]
    cost: float
    proved: bool = True  # no model with other outputs costs less
    probability: float | None = None  # of these outputs, see `Explanation.probability`


@dataclass(frozen=True, slots=True)
class BlamedSymbol:
    """An input symbol, a fact, or a wanted output that takes part in a contradiction."""

    name: str
    kind: SymbolKind
    value: Any  # as read, or as wanted; None: its columns stand for no value
    columns: tuple[str, ...]  # those that take part


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Inputs, facts, wanted outputs and constraints that contradict each other.

    Only inputs that are not facts are blamed. Without such inputs, the others contradict each other
    whatever is read. Without constraints, inputs
    and wanted outputs contradict each other in any theory. Without wanted outputs, the inputs
    contradict the theory whatever is wanted.
    """

    inputs: tuple[BlamedSymbol, ...]
    constraints: tuple[ConstraintRef, ...]
    minimal: bool  # proved: without any one column or constraint the others can hold
    wanted: tuple[BlamedSymbol, ...] = ()
    given: tuple[BlamedSymbol, ...] = ()  # the facts that take part


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The explanation of one row; see `SMTLayer.explain`."""

    status: ExplanationStatus
    read: tuple[SymbolRead, ...]
    answer: dict[str, Any] | None  # None without a model
    overruled: tuple[Overruled, ...]
    cost: float  # weight of all overruled inputs; inf without a model
    proved: bool  # no model costs less
    conflict: Contradiction | None  # why the reading contradicts the theory; None if it does not
    runner_up: RunnerUp | None
    wanted: dict[str, Any] | None
    blame: Contradiction | None  # why the reading rules out the wanted outputs; None if it does not
    runner_up_status: RunnerUpStatus = "not asked"
    allows: bool | None = None  # whether the reading allows the wanted outputs; None: not known
    # of the answer's outputs given theory and facts; None if the solver does not weigh models
    probability: float | None = None

    @property
    def fits(self) -> bool | None:
        """Whether the reading fits the theory; None if that is not known."""
        if self.status == "fits":
            return True
        if self.status == "contradicts" or self.conflict is not None:
            return False
        return False if self.status == "repaired" and self.proved else None

    def to_dict(self) -> dict[str, Any]:
        """Returns plain data for JSON, with None for numbers that JSON lacks."""
        plain: dict[str, Any] = _plain(self)
        return {"fits": self.fits} | plain

    def __repr__(self) -> str:
        from smtlayer.explain.text import explanation_text

        return explanation_text(self)

    def _repr_html_(self) -> str:
        from smtlayer.explain.html import explanation_html

        return explanation_html(self)


@dataclass(frozen=True, slots=True, repr=False)
class Explanations(Sequence[Explanation]):
    """The explanations of a batch, one per row."""

    rows: tuple[Explanation, ...]

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> "Explanations": ...
    def __getitem__(self, index: int | slice) -> "Explanation | Explanations":
        found = self.rows[index]
        return Explanations(found) if isinstance(found, tuple) else found

    def __len__(self) -> int:
        return len(self.rows)

    def to_list(self) -> list[dict[str, Any]]:
        """Returns plain data for JSON, one dict per row."""
        return [row.to_dict() for row in self.rows]

    def __repr__(self) -> str:
        from smtlayer.explain.text import explanations_text

        return explanations_text(self.rows)

    def _repr_html_(self) -> str:
        from smtlayer.explain.html import explanations_html

        return explanations_html(self.rows)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        plain = {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return plain | {"label": value.label} if isinstance(value, ConstraintRef) else plain
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
