"""Checks every statement of an explanation by z3 alone, and by the list of all models."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch
import z3
from torch import Tensor

from smtlayer import Theory
from smtlayer.explain import Contradiction, Explanation, Overruled, SymbolRead
from smtlayer.nn.weights import confidence
from smtlayer.solvers.search.constraint_core import ConstraintRef
from smtlayer.theory import Symbol


class Witness:
    """z3's view of one theory: what is consistent, and which models there are."""

    def __init__(self, theory: Theory) -> None:
        self.theory = theory
        self.columns = dict(zip(theory.input_names, theory.inputs, strict=True))
        self.goals = dict(zip(theory.output_names, theory.outputs, strict=True))

    @cached_property
    def models(self) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The signs of inputs and outputs of every model: for small theories only."""
        solver, found = z3.Solver(), []
        solver.add(*self.theory.formulas)
        columns = [*self.theory.inputs, *self.theory.outputs]
        while solver.check() == z3.sat:
            model = solver.model()
            true = [z3.is_true(model.eval(c, model_completion=True)) for c in columns]
            solver.add(z3.Or([z3.Not(c) if t else c for c, t in zip(columns, true, strict=True)]))
            signs = [1 if t else -1 for t in true]
            n = self.theory.n_inputs
            found.append((tuple(signs[:n]), tuple(signs[n:])))
        return found

    def consistent(self, formulas: Sequence[Any]) -> bool:
        solver = z3.Solver()
        solver.add(*formulas)
        answer = solver.check()
        assert answer != z3.unknown
        return bool(answer == z3.sat)

    def formula(self, broken: ConstraintRef) -> Any:
        """The formula that a statement is about."""
        if broken.index is not None:
            assert broken.name == self.theory.constraint_names[broken.index]
            assert broken.text == " ".join(str(self.theory.constraints[broken.index]).split())
            return self.theory.constraints[broken.index]
        domains = {
            f"{name_of(symbol)} is one of": symbol.domain
            for symbol in self.theory.symbols
            if symbol.domain is not None
        }
        return next(d for start, d in domains.items() if broken.text.startswith(start))

    def facts(self, blame: Contradiction, signs: Tensor, wanted: Tensor) -> list[Any]:
        """The blamed input columns, as read, and the wanted output columns, as wanted."""
        sides = (
            (blame.inputs, self.theory.input_names, self.columns, signs),
            (blame.wanted, self.theory.output_names, self.goals, wanted),
        )
        found = []
        for parts, names, terms, values in sides:
            for label in (label for part in parts for label in part.columns):
                sign = int(values[names.index(label)])
                assert sign, f"{label} is blamed but free"
                found.append(terms[label] if sign > 0 else z3.Not(terms[label]))
        return found


def name_of(symbol: Symbol) -> str:
    return str(symbol.term.decl().name())


def decoded(symbols: Sequence[Symbol], signs: Sequence[int]) -> dict[str, Any]:
    """Values by symbol name, by hand: bits, one-hot values, Booleans; None for no value."""
    values, rest = {}, list(signs)
    for symbol in symbols:
        part, rest = rest[: symbol.width], rest[symbol.width :]
        true = [i for i, sign in enumerate(part) if sign > 0]
        value: Any = None
        if symbol.domain is not None:
            known = 0 not in part and len(true) == 1
            value = symbol.values[true[0]] if known else None
        elif 0 not in part:
            whole = z3.is_bv(symbol.term)
            value = int("".join("01"[s > 0] for s in part), 2) if whole else part[0] > 0
        values[name_of(symbol)] = value
    return values


def check_explanation(
    witness: Witness,
    row: Explanation,
    logits: Tensor,
    known: Tensor | None = None,
    wanted: Tensor | None = None,
    *,
    weights: str = "logit",
    repairs: bool = True,
) -> None:
    """Asserts that everything a proved explanation of a small theory states is so."""
    theory = witness.theory
    mask = torch.ones(len(logits), dtype=torch.bool) if known is None else known
    signs = torch.where(mask, torch.where(logits > 0, 1, -1), 0)
    goal = torch.zeros(theory.n_outputs, dtype=torch.int64) if wanted is None else wanted.long()
    weight = confidence(logits[None], signs[None], weights)[0].tolist()  # type: ignore[arg-type]
    costs = {m: _cost(m[0], signs, weight) for m in witness.models}
    check_read(theory, row, logits, signs)
    fits = min(costs.values()) == 0
    assert row.fits == fits
    assert row.proved
    assert row.status == ("fits" if fits else "repaired" if repairs else "contradicts")
    if row.status != "contradicts":
        assert math.isclose(row.cost, min(costs.values()), rel_tol=1e-9)
        answers = _models_of_answer(witness, row.overruled, signs, weight, row.cost, row.answer)
        assert answers, "no model gives this answer at this cost"
        check_runner_up(witness, row, signs, weight, costs)
    else:
        assert row.answer is None
        assert (row.overruled, row.cost) == ((), math.inf)
    assert (row.conflict is None) == fits
    if row.conflict is not None:
        check_blame(witness, row.conflict, row, signs, torch.zeros_like(goal))
    check_wanted(witness, row, signs, goal, costs)


def check_read(theory: Theory, row: Explanation, logits: Tensor, signs: Tensor) -> None:
    values = decoded(theory.input_symbols, signs.tolist())
    assert {s.name: s.value for s in row.read} == values
    columns = [column for symbol in row.read for column in symbol.columns]
    assert [c.name for c in columns] == list(theory.input_names)
    assert [c.value for c in columns] == [None if s == 0 else s > 0 for s in signs.tolist()]
    assert [c.logit for c in columns] == logits.tolist()
    for symbol in row.read:
        assert math.isclose(symbol.certainty, certainty(symbol), rel_tol=1e-6, abs_tol=1e-12)


def certainty(symbol: SymbolRead) -> float:
    """The probability of what was read, by its definition."""
    if symbol.kind != "one-hot":
        known = [c for c in symbol.columns if c.value is not None]
        return math.prod(1 / (1 + math.exp(-abs(c.logit))) for c in known)
    odds = [math.exp(0 if c.value is None else c.logit) for c in symbol.columns]
    read = [c.value for c in symbol.columns]
    fits = [all(r in (None, i == j) for j, r in enumerate(read)) for i in range(len(read))]
    return sum(z for z, fit in zip(odds, fits, strict=True) if fit) / sum(odds)


def check_runner_up(
    witness: Witness,
    row: Explanation,
    signs: Tensor,
    weight: Sequence[float],
    costs: dict[Any, float],
) -> None:
    if row.runner_up_status == "not asked":
        assert row.runner_up is None
        return
    outputs = witness.theory.output_symbols
    others = [c for (_, y), c in costs.items() if decoded(outputs, y) != row.answer]
    assert row.runner_up_status == ("found" if others else "impossible")
    if row.runner_up is not None:
        rival = row.runner_up
        assert rival.proved
        assert rival.answer != row.answer
        assert math.isclose(rival.cost, min(others), rel_tol=1e-9)
        assert _models_of_answer(witness, rival.overruled, signs, weight, rival.cost, rival.answer)


def check_wanted(
    witness: Witness, row: Explanation, signs: Tensor, goal: Tensor, costs: dict[Any, float]
) -> None:
    if not goal.any():
        assert (row.wanted, row.blame, row.allows) == (None, None, None)
        return
    agrees = [
        cost
        for (_, y), cost in costs.items()
        if all(g in (0, s) for g, s in zip(goal.tolist(), y, strict=True))
    ]
    assert row.allows == (0 in agrees)
    assert (row.blame is None) == row.allows
    if row.blame is not None:
        check_blame(witness, row.blame, row, signs, goal)
        assert bool(row.blame.inputs) == bool(agrees), "no inputs: whatever they are"


def check_blame(
    witness: Witness, blame: Contradiction, row: Explanation, signs: Tensor, goal: Tensor
) -> None:
    """The set is inconsistent, and without any one member it is not."""
    assert blame.minimal
    check_enough(witness, blame, signs, goal)
    members = [*witness.facts(blame, signs, goal), *map(witness.formula, blame.constraints)]
    for i in range(len(members)):
        assert witness.consistent(members[:i] + members[i + 1 :]), f"{members[i]} is not needed"
    read = {symbol.name: symbol.value for symbol in row.read}
    assert all(part.value == read[part.name] for part in blame.inputs)
    assert all(part.value == decoded(witness.theory.output_symbols, goal.tolist())[part.name]
               for part in blame.wanted)  # fmt: skip


def check_enough(witness: Witness, blame: Contradiction, signs: Tensor, goal: Tensor) -> None:
    members = [*witness.facts(blame, signs, goal), *map(witness.formula, blame.constraints)]
    assert not witness.consistent(members), "the blamed set is consistent"


def _cost(inputs: Sequence[int], signs: Tensor, weight: Sequence[float]) -> float:
    pairs = zip(inputs, signs.tolist(), weight, strict=True)
    return math.fsum(w for x, sign, w in pairs if sign and x != sign)


def _models_of_answer(
    witness: Witness,
    overruled: Sequence[Overruled],
    signs: Tensor,
    weight: Sequence[float],
    cost: float,
    answer: dict[str, Any] | None,
) -> list[Any]:
    """The models that an answer and what was overruled for it describe; costs must add up."""
    theory = witness.theory
    turned = {label for part in overruled for label in part.columns}
    expected = [
        0 if sign == 0 else -sign if label in turned else sign
        for label, sign in zip(theory.input_names, signs.tolist(), strict=True)
    ]
    assert math.isclose(math.fsum(part.cost for part in overruled), cost, rel_tol=1e-9)
    read = decoded(theory.input_symbols, signs.tolist())
    by_label = dict(zip(theory.input_names, weight, strict=True))
    for part in overruled:
        assert part.read == read[part.name]
        assert math.isclose(part.cost, math.fsum(by_label[x] for x in part.columns), rel_tol=1e-9)
    return [
        (x, y)
        for x, y in witness.models
        if all(e in (0, s) for e, s in zip(expected, x, strict=True))
        and decoded(theory.output_symbols, y) == answer
        and all(decoded(theory.input_symbols, x)[part.name] == part.taken for part in overruled)
    ]
