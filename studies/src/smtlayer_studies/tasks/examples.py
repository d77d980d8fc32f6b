"""This file says what pictures of examples show: rows, what was read, and what was overruled."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from smtlayer.nn import SMTLayer
from smtlayer.solvers import Solution
from smtlayer.theory import Theory, to_signs
from smtlayer_studies.tasks.base import Batch


@dataclass(frozen=True)
class Bit:
    """One input of the theory."""

    taken: bool  # as the solver has it, or as it was read if there is no model
    overruled: bool
    certainty: float  # of the network, from 0 to 1


@dataclass(frozen=True)
class Reading:
    """What the network made of a symbol, and what the solver made of that."""

    name: str
    read: Any
    taken: Any  # None without a model
    truth: Any  # None if it is not known
    bits: tuple[Bit, ...]

    @property
    def overruled(self) -> bool:
        """Whether the solver took it for something else than the network did."""
        return any(bit.overruled for bit in self.bits)

    @property
    def wrong(self) -> bool:
        """Whether it is not what the symbol is, after all."""
        return self.truth is not None and self.truth != (
            self.read if self.taken is None else self.taken
        )

    @property
    def text(self) -> str:
        """The value; with an arrow from what was read to what was taken if they differ."""
        read = "?" if self.read is None else self.read  # bits that make no value
        return f"{read} → {self.taken}" if self.overruled else str(read)


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with what a network read in them and what the solver answered."""

    theory: Theory
    batch: Batch
    logits: Tensor  # (B, n)
    answer: Solution

    @classmethod
    def of(cls, layer: SMTLayer, logits: Tensor, batch: Batch) -> "Examples":
        """Asks a layer, by its present rule."""
        return cls(layer.theory, batch, logits, layer.solve(logits, batch.known))

    def __len__(self) -> int:
        return len(self.logits)

    @cached_property
    def signs(self) -> Tensor:
        """What the network read, 0 where it was not asked: (B, n)."""
        return to_signs(self.logits, self.batch.known)

    @cached_property
    def overruled(self) -> Tensor:
        """Inputs that the solver took for the opposite: (B, n)."""
        return self.signs * self.answer.inputs < 0

    @cached_property
    def answered(self) -> Tensor:
        """Rows that have a model: (B,)."""
        return (self.answer.outputs != 0).all(-1)

    @cached_property
    def right(self) -> Tensor:
        """Rows whose outputs are all right: (B,)."""
        return self.batch.correct(self.answer.outputs, all_outputs=True)

    def pick(self, index: Tensor) -> "Examples":
        """Some of the rows."""
        found = self.answer
        answer = Solution(
            found.status[index], found.inputs[index], found.outputs[index], found.cost[index],
            found.proved[index],
        )  # fmt: skip
        return Examples(self.theory, self.batch.pick(index), self.logits[index], answer)

    def telling(self, count: int) -> "Examples":
        """Rows worth a look: some that the solver corrected, some that went wrong, then others."""
        corrected = self.right & self.overruled.any(-1)
        plain = self.right & ~corrected
        shares = ((corrected, -(-count // 3)), (~self.right, -(-count // 6)), (plain, count))
        first = torch.cat([group.nonzero().flatten()[:most] for group, most in shares])
        others = torch.ones(len(self), dtype=torch.bool)
        others[first] = False
        return self.pick(torch.cat([first, others.nonzero().flatten()])[:count])

    def readings(self, row: int) -> list[Reading]:
        """What was made of the symbols of a row, in the order of the theory's inputs."""
        read, taken, truth = (
            self.theory.decode_inputs(signs[row])
            for signs in (self.signs, self.answer.inputs, self.batch.symbols)
        )
        certain = torch.sigmoid(self.logits[row].abs().float()) * 2 - 1
        signs = torch.where(self.answer.inputs[row] != 0, self.answer.inputs[row], self.signs[row])
        bits = [
            Bit(sign > 0, over, sure)
            for sign, over, sure in zip(
                signs.tolist(), self.overruled[row].tolist(), certain.tolist(), strict=True
            )
        ]
        found, start = [], 0
        for name, width in zip(read, self.theory.input_widths, strict=True):
            part = tuple(bits[start : start + width])
            found.append(Reading(name, read[name], taken[name], truth[name], part))
            start += width
        return found

    def answers(self, row: int) -> tuple[str, str]:
        """The outputs of a row as the solver has them, and as they should be."""
        found = self.theory.decode(self.answer.outputs[row])
        wanted = self.theory.decode(self.batch.targets[row] * 2 - 1)
        text = ", ".join(f"{name} = {value}" for name, value in found.items())
        truth = ", ".join(str(value) for value in wanted.values())
        return (text if self.answered[row] else "no answer"), truth

    def notes(self, row: int) -> list[str]:
        """What to say of a row beside its answer."""
        wrong = [] if self.right[row] else [f"truth: {self.answers(row)[1]}"]
        return wrong + (["overruled"] if self.overruled[row].any() else [])
