"""Examples of a task with what the network read in them and what the solver answered."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

from smtlayer.nn import SMTLayer
from smtlayer.solvers import Solution
from smtlayer.theory import Theory, to_signs
from smtlayer_studies.tasks.base import Batch, with_facts

_MOST_LISTED = 12


@dataclass(frozen=True)
class Bit:
    """One input column of the theory."""

    taken: bool  # as the solver has it, or as it was read if there is no model
    overruled: bool
    certainty: float  # of the network, from 0 to 1


@dataclass(frozen=True)
class Reading:
    """The value of a symbol as the network read it, as the solver took it, and the true one."""

    name: str
    read: Any
    taken: Any  # None without a model
    truth: Any  # None if it is not known
    bits: tuple[Bit, ...]
    probability: float | None = None  # of what was read; None if the bits are independent

    @property
    def overruled(self) -> bool:
        """Whether the solver changed what the network read."""
        return any(bit.overruled for bit in self.bits)

    @property
    def wrong(self) -> bool:
        """Whether the final value is not the true one."""
        return self.truth is not None and self.truth != (
            self.read if self.taken is None else self.taken
        )

    @property
    def certainty(self) -> float:
        """The probability that the network assigns to what it read."""
        if self.probability is not None:
            return self.probability
        return prod((bit.certainty + 1) / 2 for bit in self.bits)

    @property
    def text(self) -> str:
        """The value, with an arrow from what was read to what was taken if they differ."""
        read = "?" if self.read is None else self.read  # bits that encode no value
        return f"{read} → {self.taken}" if self.overruled else str(read)


def listed(readings: Sequence[Reading]) -> list[Reading]:
    """All readings if they are few, else those that were overruled or are wrong."""
    few = len(readings) <= _MOST_LISTED
    return [reading for reading in readings if few or reading.overruled or reading.wrong]


@dataclass(frozen=True, eq=False)
class Examples:
    """A batch of examples with the network's logits and the solver's answers."""

    theory: Theory
    batch: Batch
    logits: Tensor  # (B, n), with the signs of facts in their place
    answer: Solution

    @classmethod
    def of(cls, layer: SMTLayer, logits: Tensor, batch: Batch) -> "Examples":
        """Solves a batch with a layer in its current mode."""
        logits = with_facts(logits, batch.facts)
        return cls(layer.theory, batch, logits, layer.solve(logits, batch.known, batch.given))

    def __len__(self) -> int:
        return len(self.logits)

    @cached_property
    def signs(self) -> Tensor:
        """Signs of the logits, 0 where the network sets no input: (B, n)."""
        return to_signs(self.logits, self.batch.known)

    @cached_property
    def overruled(self) -> Tensor:
        """Inputs whose sign the solver changed: (B, n)."""
        return self.signs * self.answer.inputs < 0

    @cached_property
    def answered(self) -> Tensor:
        """Examples that have a model: (B,)."""
        return (self.answer.outputs != 0).all(-1)

    @cached_property
    def right(self) -> Tensor:
        """Examples whose outputs are all right: (B,)."""
        return self.batch.correct(self.answer.outputs, all_outputs=True)

    def pick(self, index: Tensor) -> "Examples":
        """Some of the examples."""
        found = self.answer
        answer = Solution(
            found.status[index], found.inputs[index], found.outputs[index], found.cost[index],
            found.proved[index],
        )  # fmt: skip
        return Examples(self.theory, self.batch.pick(index), self.logits[index], answer)

    def selected(self, count: int) -> "Examples":
        """Some that the solver corrected, some that are wrong, then others."""
        corrected = self.right & self.overruled.any(-1)
        plain = self.right & ~corrected
        shares = ((corrected, -(-count // 3)), (~self.right, -(-count // 6)), (plain, count))
        first = torch.cat([group.nonzero().flatten()[:most] for group, most in shares])
        others = torch.ones(len(self), dtype=torch.bool)
        others[first] = False
        return self.pick(torch.cat([first, others.nonzero().flatten()])[:count])

    def readings(self, i: int) -> list[Reading]:
        """The symbols of an example, in the order of the theory's inputs."""
        read, taken, truth = (
            self.theory.decode_inputs(signs[i])
            for signs in (self.signs, self.answer.inputs, self.batch.symbols)
        )
        certain = torch.sigmoid(self.logits[i].abs().float()) * 2 - 1
        signs = torch.where(self.answer.inputs[i] != 0, self.answer.inputs[i], self.signs[i])
        bits = [
            Bit(sign > 0, over, sure)
            for sign, over, sure in zip(
                signs.tolist(), self.overruled[i].tolist(), certain.tolist(), strict=True
            )
        ]
        found = []
        for symbol in self.theory.input_symbols:
            name, probability = symbol.name, None
            if symbol.kind == "one-hot" and read[name] is not None:
                probability = self.logits[i, symbol.columns].float().softmax(-1).max().item()
            part = tuple(bits[symbol.columns])
            found.append(Reading(name, read[name], taken[name], truth[name], part, probability))
        return found

    def answers(self, i: int) -> tuple[str, str]:
        """The outputs of an example as the solver has them, after its facts, and the true ones."""
        found, wanted = self.outputs(i)
        signs = self.batch.facts
        given = {} if signs is None else self.theory.decode_inputs(signs[i])
        facts = {name: value for name, value in given.items() if value is not None}
        text = ", ".join(f"{name} = {value}" for name, value in (facts | found).items())
        truth = ", ".join(str(value) for value in wanted.values())
        return (text if self.answered[i] else "no answer"), truth

    def outputs(self, i: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Values of all outputs by name: the solver's, and the true ones."""
        found = self.theory.decode(self.answer.outputs[i])
        return found, self.theory.decode(self.batch.targets[i] * 2 - 1)

    def notes(self, i: int, truth: str) -> list[str]:
        """Remarks on an example for a figure: the true answer if it is wrong, and repairs."""
        wrong = [] if self.right[i] else [f"truth: {truth}"]
        return wrong + (["overruled"] if self.overruled[i].any() else [])
