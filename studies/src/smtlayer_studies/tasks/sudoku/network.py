"""The network that reads Sudoku boards: a digit reader on the cells with a hint."""

from torch import Tensor, nn

from smtlayer_studies.tasks.networks import DigitNetwork


class HintReader(nn.Module):
    """Reads the hints of a board with one shared digit reader; cells without a hint get zeros.

    A cell has a hint if its image is not blank. Only those are read: about 36 of 81.

    Args:
        columns: Logits per cell: 4 bits of its number, or 9 for the digits 1 to 9.

    Shape:
        - images: $(B, 81, 28, 28)$, all zero where there is no hint.
        - output: $(B, 81 * columns)$ logits.
    """

    def __init__(self, columns: int = 4) -> None:
        super().__init__()
        self.columns = columns
        self.reader = DigitNetwork(columns)

    def forward(self, images: Tensor) -> Tensor:
        """Logits for each cell, side by side."""
        is_hint = images.flatten(2).any(-1)  # (B, 81)
        hints = is_hint.nonzero(as_tuple=True)  # once: a GPU waits here
        read: Tensor = self.reader(images[hints][None]).reshape(-1, self.columns)
        logits = read.new_zeros(*is_hint.shape, self.columns)
        logits[hints] = read
        return logits.flatten(1)
