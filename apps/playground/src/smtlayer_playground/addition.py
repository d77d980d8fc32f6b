"""The addition page: two drawn digits, their sum, and the bits that are overruled or blamed."""

from collections.abc import Mapping
from typing import Any, final

import torch

from smtlayer.nn import SMTLayer
from smtlayer_playground.digits import DigitBank
from smtlayer_playground.errors import PlaygroundError
from smtlayer_playground.fields import encode_image, whole_number
from smtlayer_playground.images import digit_image
from smtlayer_playground.trained import Trained

# The constraints of `addition_theory` in words, in its order.
RULES = ("the sum is a + b", "a is a digit: at most 9", "b is a digit: at most 9")


@final
class AdditionPage:
    """A trained network reads two digits, and the solver adds them.

    Args:
        run: The trained network.
        bank: Handwritten digits to choose from.
    """

    def __init__(self, run: Trained, bank: DigitBank) -> None:
        self.run = run
        self.bank = bank
        self._layer = SMTLayer(run.theory).eval()

    def about(self) -> dict[str, Any]:
        """Facts that the page shows."""
        return {"run": self.run.about(), "images": self.bank.title, "rules": RULES}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Explains `digits`, two images.

        Optional fields: `wanted`, the sum that is wanted, and `flipped`, the names of columns whose
        logits are negated.
        """
        digits = request.get("digits")
        if not isinstance(digits, list) or len(digits) != 2:
            raise PlaygroundError("'digits' must be a list of two images.")
        images = [digit_image(value) for value in digits]
        if not all(image.any() for image in images):
            raise PlaygroundError("Draw both digits.")
        total = whole_number(request, "wanted", 0, 31)
        with torch.no_grad():
            logits = self.run.network(torch.stack(images)[None].float() / 255)
        logits = logits * self._flips(request.get("flipped", []))
        wanted = None if total is None else self.run.theory.encode_outputs(total=total)[None]
        explanation = self._layer.explain(logits, wanted, runner_up=True)[0]
        return {
            "images": [encode_image(image) for image in images],
            "explanation": explanation.to_dict(),
        }

    def _flips(self, flipped: Any) -> torch.Tensor:
        """-1 for the columns in `flipped`, 1 for the others."""
        names = self.run.theory.input_names
        if not isinstance(flipped, list) or any(name not in names for name in flipped):
            raise PlaygroundError(f"'flipped' must be a list of columns among {', '.join(names)}.")
        return torch.tensor([-1.0 if name in flipped else 1.0 for name in names])
