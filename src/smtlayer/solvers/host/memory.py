"""The stage that remembers answers, so that a question asked again costs nothing."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import final

import numpy as np
from numpy.typing import NDArray

from smtlayer.solvers.base import Status
from smtlayer.solvers.host.questions import Answers, Questions, Stage
from smtlayer.solvers.lru import Lru

_LARGEST = 2.0**1000  # differences of larger weights could overflow


@final
class Memory:
    """Answers rows that were asked before, and asks the next stage about the others.

    An answer is found by all that it depends on:

    | question | key |
    |---|---|
    | `solve` | inputs |
    | `core` | inputs, wanted outputs, the order of the observed inputs by weight, the facts |
    | `maximize` | wanted outputs, signed weights, up to a constant of a one-hot symbol |
    | `maximize` that overrules no input | inputs, wanted outputs; shared with `solve` |

    Rows of one batch with the same key are asked once. UNKNOWN is not remembered, nor a repair that
    is not proved cheapest: next time there may be more time. A solver that is `deterministic` must
    give the same model to all questions with the last key, as one does that takes the first of
    several equally good models. The `size` answers that were used last are kept. `one_hot` lists
    columns of which exactly one is true.
    """

    def __init__(self, following: Stage, size: int, one_hot: Sequence[range] = ()) -> None:
        self._following = following
        widths = {len(columns) for columns in one_hot}
        self._symbols = [np.array([list(x) for x in one_hot if len(x) == w]) for w in widths]
        self._records = Lru[bytes, bytes](size)

    def __len__(self) -> int:
        return len(self._records)

    def answer(self, questions: Questions) -> Answers:
        """The remembered answers, completed by those of the next stage."""
        keys = plain = _keys(questions)
        records = list(map(self._records.get, keys))
        if questions.kind == "maximize":
            # A row without a model may have a repair all the same, so only models count.
            records = [r if r and r[0] == Status.SAT else None for r in records]
            if None in records:
                keys = _repair_keys(questions, self._symbols)
                records = [r or self._records.get(k) for r, k in zip(records, keys, strict=True)]
        first: dict[bytes, int] = {}  # the first row with each key that is not remembered
        for i, key in enumerate(keys):
            if records[i] is None:
                first.setdefault(key, i)
        hits = len(keys) - len(first)
        if not first:
            return _joined(records, questions, hits=hits)
        asked = questions.pick(list(first.values())) if hits else questions
        found = self._following.answer(asked)
        fresh = _split(found)
        agrees = (found.inputs * asked.inputs >= 0).all(-1) & (found.status == Status.SAT)
        rows = zip(first.values(), fresh, agrees.tolist(), found.proved.tolist(), strict=True)
        for i, record, agreed, proved in rows:
            if proved:
                self._records[plain[i] if agreed else keys[i]] = record
        if not hits:
            return found
        by_key = dict(zip(first, fresh, strict=True))
        whole = [by_key[k] if r is None else r for r, k in zip(records, keys, strict=True)]
        return _joined(whole, questions, found.seconds, found.error, found.hits + hits)


def _keys(questions: Questions) -> list[bytes]:
    """One digest per row: inputs, wanted outputs and, for `core`, facts and the order of weights.

    It takes 16 bytes, where the row may take kilobytes.
    """
    kind, parts = b"model", [questions.inputs, questions.outputs]
    if questions.kind == "core":
        # Free inputs come last, whatever their weights.
        weights = np.where(questions.inputs != 0, questions.weights, -np.inf)
        order = np.argsort(-weights, axis=-1, kind="stable").astype(np.uint32)
        signs = questions.inputs << (weights == np.inf)  # a fact counts double
        kind, parts = b"core", [signs, questions.outputs, order.view(np.int8)]
    rows = np.concatenate(parts, axis=1)
    return [blake2b(row, digest_size=16, person=kind).digest() for row in rows]


def _repair_keys(questions: Questions, symbols: Sequence[NDArray[np.intp]]) -> list[bytes]:
    """One digest per row of the wanted outputs and the signed weights of its inputs.

    A constant added to the signed weights of a one-hot symbol changes no repair, see `soft.py`, so
    their differences to the second-largest are taken. Two floats hold a difference exactly.
    """
    signed = np.where(questions.inputs != 0, questions.weights, 0.0) * questions.inputs
    errors = np.zeros_like(signed) if symbols else signed[:, :0]
    for columns in symbols:
        given = signed[:, columns]  # (B, symbols, values)
        whole = ((given != 0) & (np.abs(given) < _LARGEST)).all(-1, keepdims=True)
        values = np.where(whole, given, 0.0)
        second = np.partition(values, -2)[..., -2:-1]
        difference = values - second
        rounded = values - difference  # Knuth's error-free difference
        signed[:, columns] = np.where(whole, difference, given)
        errors[:, columns] = (values - (difference + rounded)) + (rounded - second)
    rows = np.concatenate([signed.view(np.int8), errors.view(np.int8), questions.outputs], axis=1)
    return [blake2b(row, digest_size=16, person=b"repair").digest() for row in rows]


def _split(answers: Answers) -> list[bytes]:
    """One record per row: status, whether it is proved, and the signs."""
    heads = (answers.status[:, None], answers.proved[:, None].view(np.int8))
    rows = np.concatenate([*heads, answers.inputs, answers.outputs], axis=1)
    data, width = rows.tobytes(), rows.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def _joined(
    records: Sequence[bytes | None],
    questions: Questions,
    seconds: float = 0.0,
    error: str = "",
    hits: int = 0,
) -> Answers:
    """The inverse of `_split`."""
    rows = np.frombuffer(b"".join(filter(None, records)), dtype=np.int8).reshape(len(records), -1)
    end = 2 + questions.inputs.shape[1]
    inputs, outputs = rows[:, 2:end].copy(), rows[:, end:].copy()
    return Answers(rows[:, 0].copy(), inputs, outputs, rows[:, 1] > 0, seconds, error, hits)
