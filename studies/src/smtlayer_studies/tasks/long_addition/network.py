"""The network of long addition: the paper's digit reader with one logit per digit."""

from torch import Tensor, nn

from smtlayer_studies.tasks.networks import DigitNetwork


class DigitReader(nn.Module):
    """Reads each image as one of ten digits.

    Only differences between the ten logits matter for their softmax. They are shifted so that
    zero is halfway between the two largest: one logit is positive, that of the digit read.

    Shape:
        - images: $(B, d, 28, 28)$, d digits per example.
        - output: $(B, d * 10)$ logits.
    """

    def __init__(self) -> None:
        super().__init__()
        self.reader = DigitNetwork(10)

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each digit, side by side."""
        logits: Tensor = self.reader(images).unflatten(-1, (-1, 10))
        best_two = logits.detach().topk(2).values  # a shift has no gradient
        return (logits - best_two.mean(-1, keepdim=True)).flatten(1)
