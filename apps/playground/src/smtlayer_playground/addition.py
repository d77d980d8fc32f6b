"""This file answers for two drawn digits: what was read, the sum, and what was overruled."""

from collections.abc import Mapping
from typing import Any, final

import torch

from smtlayer.nn import SMTLayer
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import as_text, whole
from smtlayer_playground.images import digit_image
from smtlayer_playground.trained import Trained

# The constraints of `addition_theory` in words, in its order.
RULES = ("the sum is a + b", "a is a digit: at most 9", "b is a digit: at most 9")


@final
class AdditionPage:
    """Two digits are read by a trained network, and added by the solver.

    Args:
        run: The network.
        bank: Handwritten digits to offer, which the network was not trained on.
    """

    def __init__(self, run: Trained, bank: DigitBank) -> None:
        self.run = run
        self.bank = bank
        self._layer = SMTLayer(run.theory).eval()

    def about(self) -> dict[str, Any]:
        """What the page says of itself."""
        return {"run": self.run.about(), "images": self.bank.title, "rules": RULES}

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answers for `digits`, two pictures.

        If given, `wanted` is the sum that should come out, and `flipped` names columns whose bits
        are to be taken for the opposite of what the network reads.
        """
        given = question.get("digits")
        if not isinstance(given, list) or len(given) != 2:
            raise PlaygroundError("'digits' must be a list of two pictures.")
        images = [digit_image(value) for value in given]
        if not all(image.any() for image in images):
            raise PlaygroundError("Draw both digits.")
        wanted = whole(question, "wanted", 0, 31)
        theory = self._layer.theory
        with torch.no_grad():
            logits = self.run.network(torch.stack(images)[None].float() / 255)
        logits = logits * self._flips(question.get("flipped", []))
        told = self._layer.explain(
            logits, None if wanted is None else theory.encode_outputs(total=wanted)[None],
            runner_up=True,
        )[0]  # fmt: skip
        return {"images": [as_text(image) for image in images], "explanation": told.to_dict()}

    def _flips(self, flipped: Any) -> torch.Tensor:
        """-1 for columns that are flipped, 1 for the others."""
        names = self._layer.theory.input_names
        if not isinstance(flipped, list) or any(name not in names for name in flipped):
            raise PlaygroundError(f"'flipped' must be a list of columns out of {', '.join(names)}.")
        return torch.tensor([-1.0 if name in flipped else 1.0 for name in names])
