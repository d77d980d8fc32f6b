"""The progress of training, as a loop sets it or as backward passes count it."""

import math
import warnings
from dataclasses import dataclass
from typing import ClassVar, final

from smtlayer.errors import ArgumentError, ArgumentTypeError, ProgressWarning
from smtlayer.nn.rules.base import BlameRule


@final
@dataclass(slots=True)
class Progress:
    """The share of training that is done, for rules that change during training."""

    rule: BlameRule
    value: float = 0.0
    by_loop: bool = False  # whether a training loop set it
    passes: int = 0  # backward passes

    patience: ClassVar[int] = 200  # backward passes without progress before it warns

    def set(self, value: float) -> None:
        """Sets the share, as a training loop does."""
        wrong = f"SMTLayer expects progress from 0 to 1. Got {value!r}."
        try:
            number = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise ArgumentTypeError(wrong) from error
        if not 0 <= number <= 1:
            raise ArgumentError(wrong)
        self.value, self.by_loop = number, True

    def count(self) -> None:
        """Counts one backward pass; warns once if a rule waits for progress in vain."""
        self.passes += 1
        if self.by_loop:
            return
        if self.rule.steps is not None:
            self.value = min(1.0, self.passes / self.rule.steps)
        elif self.passes == self.patience and self.rule.changes:
            warnings.warn(
                f"SMTLayer: the rule {self.rule!r} changes during training, but layer.progress was "
                f"not set in {self.passes} backward passes, so the rule is still as at the start. "
                f"Add this line to the training loop: layer.progress = step / total_steps. Stepper "
                f"does it for you. The rule anneal_core(steps=N) counts N backward passes itself.",
                ProgressWarning,
                stacklevel=2,
            )
