"""A table with one entry per partial assignment, for theories of few columns."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor

from smtlayer.solvers.table.models import Models


@final
@dataclass(frozen=True, slots=True)
class Lookup:
    """An entry per partial assignment; its index is a number in base 3 with digits sign + 1."""

    first: Tensor  # (3 ** (n + m),) int64: the first model that agrees with it, or K
    possible: Tensor  # (3 ** (n + m),) bool: whether there is one
    place: Tensor  # (n + m,) float32: the place value of each column
    free: float  # the index of the assignment in which every column is free

    def index(self, inputs: Tensor, outputs: Tensor | None = None) -> Tensor:
        """The index of each row's assignment; outputs are free if None."""
        n = inputs.shape[-1]
        index = inputs.float() @ self.place[:n] + self.free
        if outputs is not None:
            index += outputs.float() @ self.place[n:]
        return index.long()

    def core(
        self, inputs: Tensor, soft: Tensor, deletions: Tensor, outputs: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Whether each row is satisfiable, and its core, by one look-up per deletion.

        Columns are deleted in the order of `deletions`; inputs that are 0 in `soft` stay in place.
        """
        index = self.index(inputs, outputs)
        satisfiable = self.possible.index_select(0, index)
        # Freeing a column subtracts its sign from the index.
        steps = (soft * self.place[: inputs.shape[-1]]).long().gather(-1, deletions)
        needed = []
        for step in steps.unbind(-1):
            without = index - step
            needed.append(self.possible.index_select(0, without))
            index = torch.where(needed[-1], index, without)
        kept = torch.stack(needed, dim=-1) & ~satisfiable[:, None]
        return satisfiable, torch.zeros_like(kept).scatter_(-1, deletions, kept)


def partial_lookup(models: Models, device: torch.device) -> Lookup:
    """Fills in complete assignments; a free column then takes the first model of either value."""
    signs = torch.cat([models.inputs, models.outputs], dim=-1)
    count, columns = signs.shape
    place = 3 ** torch.arange(columns - 1, -1, -1, device="cpu")
    first = torch.full((3,) * columns, count, dtype=torch.int32, device="cpu")
    index = ((signs.long() + 1) * place).sum(-1)
    first.view(-1)[index] = torch.arange(count, dtype=torch.int32, device="cpu")
    for axis in range(columns):
        false, free, true = first.unbind(axis)
        free.copy_(torch.minimum(false, true))
    flat = first.view(-1).to(device)
    return Lookup(flat.long(), flat < count, place.to(device, torch.float32), float(place.sum()))
