"""Distillation: a network learns to read a wide image as a reader of single windows reads it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from smtlayer_studies.tasks.algebra.network import OrderedReader, in_windows
from smtlayer_studies.tasks.base import Batch


class Distillation(nn.Module):
    """A network learns the outputs of a trained `OrderedReader` on recombined images.

    Where training shows only some combinations of symbols, such as a = b, a network that sees the
    whole image at once can learn the combinations in place of the symbols. Recombined images break
    them: each window that the teacher reads is drawn from all such windows of the batch, each other
    window from the same position in another image. The teacher's signs are the only labels.

    Args:
        network: The student; from images to the same logits as the teacher's.
        teacher: Stays as it is.

    Shape:
        - output: the loss, and the share of examples that both read identically.
    """

    def __init__(self, network: nn.Module, teacher: OrderedReader) -> None:
        super().__init__()
        self.network = network
        self.teacher = teacher.requires_grad_(False)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The student's cross-entropy with the teacher's signs."""
        images = self.recombined(batch.features)
        wanted = self.teacher(images) > 0  # (B, n)
        logits = self.network(images)
        right = ((logits > 0) == wanted).all(-1).float().mean()
        return F.binary_cross_entropy_with_logits(logits, wanted.to(logits)), right

    def recombined(self, images: Tensor) -> Tensor:
        """Images of the same shape, with windows drawn from all: (B, h, windows * h)."""
        windows = in_windows(images, self.teacher.windows)  # (B, w, h, h)
        rows, count = windows.shape[:2]
        places = self.teacher.choices[self.teacher.chosen]  # (slots,)
        source = torch.arange(count, device=images.device).repeat(rows, 1)  # (B, w): window taken
        picked = torch.randint(len(places), (rows, len(places)), device=images.device)
        source[:, places] = places[picked]
        row = torch.randint(rows, (rows, count), device=images.device)
        return windows[row, source].movedim(1, 2).flatten(2)
