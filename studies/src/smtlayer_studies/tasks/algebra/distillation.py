"""This file teaches a network to read a wide image as a reader of single windows reads it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer_studies.tasks.algebra.network import OrderedReader, in_windows
from smtlayer_studies.tasks.base import Batch


class Pupil(nn.Module):
    """A network learns what a trained `OrderedReader` reads, on images put together anew.

    Where training shows only some combinations of symbols, as a = b, a network that sees the whole
    image at once can learn the combinations in place of the symbols. Windows of other rows break
    them: every place that the teacher reads gets a symbol from any such place of any row, every
    other window that of another row. What the teacher says of each is the only label.

    Args:
        network: Learns; from images to the same logits as the teacher's.
        teacher: Is asked, and stays as it is.

    Shape:
        - output: the loss, and the share of rows read wholly as the teacher reads them.
    """

    def __init__(self, network: nn.Module, teacher: OrderedReader) -> None:
        super().__init__()
        self.network = network
        self.teacher = teacher.requires_grad_(False)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The pupil's cross-entropy with the teacher's signs."""
        images = self.recombined(batch.features)
        wanted = self.teacher(images) > 0  # (B, n)
        logits = self.network(images)
        right = ((logits > 0) == wanted).all(-1).float().mean()
        return F.binary_cross_entropy_with_logits(logits, wanted.to(logits)), right

    def recombined(self, images: Tensor) -> Tensor:
        """Images of the same shape, their windows drawn from all rows: (B, h, windows * h)."""
        windows = in_windows(images, self.teacher.windows)  # (B, w, h, h)
        rows, count = windows.shape[:2]
        places = self.teacher.choices[self.teacher.chosen]  # (slots,)
        source = torch.arange(count, device=images.device).repeat(rows, 1)  # (B, w): window taken
        picked = torch.randint(len(places), (rows, len(places)), device=images.device)
        source[:, places] = places[picked]
        row = torch.randint(rows, (rows, count), device=images.device)
        return windows[row, source].movedim(1, 2).flatten(2)
