"""SATNet in the place of our layer: its clauses are learned, none are given.

The module is not called `satnet`, the name of the package that it imports.

Settings are those of SATNet's authors where they give any (`exps/sudoku.py` and `exps/parity.py` in
the repository locuslab/SATNet; Wang et al., *SATNet*, ICML 2019): binary cross-entropy, Adam at
0.002 for the clauses and 0.00001 for the network, no clipping, at most 40 iterations; 600 clauses
and 300 auxiliary variables for a Sudoku, in batches of 40. They have no example of the size of the
other problems: their parity of two bits has 4 clauses and 4 auxiliary variables. Ours, 64 and 32,
are enough for the sums of two digits if their bits are given (`python satnet_layer.py`).
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from satnet_gradient import complete
from smtlayer import Theory
from smtlayer.theory import Symbol
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.base import Model

MEDIUM, LARGE, SUDOKU = (64, 32), (200, 100), (600, 300)  # clauses and auxiliary variables
CLAUSE_RATE, NETWORK_RATE = 2e-3, 1e-5
_EPS = 1e-6


class SatNetHead(nn.Module):
    """Completes the probabilities of a theory's inputs to those of its outputs.

    It gets the columns of the theory, never the theory. An output that is also an input is the same
    variable. Inputs whose logit is exactly zero are not known. With `corrected`, the network below
    gets the true gradient (`satnet_gradient`), else that of the release.

    Shape:
        - logits: $(B, n)$; output: $(B, m)$ logits. In `eval()` mode only the most probable column
          of a one-hot output is positive.
    """

    def __init__(
        self, theory: Theory, clauses: int, auxiliary: int, *, corrected: bool = False
    ) -> None:
        super().__init__()
        import satnet

        self._inputs, self._outputs = theory.input_symbols, theory.output_symbols
        columns, count = output_variables(theory)
        self.register_buffer("columns", columns)
        self.free = count - theory.n_inputs  # variables that are outputs only
        self.satnet = satnet.SATNet(count, clauses, auxiliary)
        self.corrected = corrected

    def forward(self, logits: Tensor) -> Tensor:
        """Logits of the outputs."""
        free = logits.new_zeros(len(logits), self.free)
        known = torch.cat([logits != 0, free], -1).int()
        values = torch.cat([self._read(logits), free], -1)
        found = (
            complete(self.satnet, values, known) if self.corrected else self.satnet(values, known)
        )
        outputs = torch.logit(found.index_select(1, self.columns).clamp(_EPS, 1 - _EPS))
        return outputs if self.training else _one_value(outputs, self._outputs)

    def _read(self, logits: Tensor) -> Tensor:
        """Probabilities of the inputs: softmax over a one-hot symbol, else sigmoid."""
        parts = [
            part.softmax(-1) if symbol.kind == "one-hot" else part.sigmoid()
            for symbol in self._inputs
            for part in [logits[:, symbol.columns]]
        ]
        return torch.cat(parts, -1)


def output_variables(theory: Theory) -> tuple[Tensor, int]:
    """The variable of each output column, and the number of variables; inputs come first."""
    known: Mapping[tuple[str, str], Symbol] = {
        (symbol.name, symbol.kind): symbol for symbol in theory.input_symbols
    }
    columns, count = [], theory.n_inputs
    for symbol in theory.output_symbols:
        width = symbol.columns.stop - symbol.columns.start
        shared = known.get((symbol.name, symbol.kind))
        first = count if shared is None else shared.columns.start
        count += width if shared is None else 0
        columns += range(first, first + width)
    return torch.tensor(columns), count


def _one_value(outputs: Tensor, symbols: tuple[Symbol, ...]) -> Tensor:
    """The outputs, with only the largest column of a one-hot symbol above zero."""
    parts = []
    for symbol in symbols:
        part = outputs[:, symbol.columns]
        if symbol.kind == "one-hot":
            part = torch.full_like(part, -1).scatter(-1, part.argmax(-1, keepdim=True), 1)
        parts.append(part)
    return torch.cat(parts, -1)


def learns_addition(steps: int = 300) -> float:
    """The share of the 100 sums of two digits that it learns from their true bits."""
    torch.manual_seed(0)
    theory = addition_theory()
    pairs = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    logits = 6.0 * theory.encode(a=pairs[:, 0], b=pairs[:, 1])
    wanted = (theory.encode_outputs(total=pairs.sum(-1)) > 0).float()
    head = SatNetHead(theory, *MEDIUM)
    optimizer = torch.optim.Adam(head.parameters(), CLAUSE_RATE)
    for _ in range(steps):
        some = torch.randint(100, (64,))
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(head(logits[some]), wanted[some]).backward()
        optimizer.step()
    return float(((head(logits) > 0) == (wanted > 0)).all(-1).float().mean())


def satnet_optimizer(model: Model, network_rate: float) -> torch.optim.Optimizer:
    """Adam with its authors' rate for the clauses, and this one for the network."""
    return torch.optim.Adam([
        {"params": model.head.parameters(), "lr": CLAUSE_RATE},
        {"params": model.network.parameters(), "lr": network_rate},
    ])  # fmt: skip


if __name__ == "__main__":
    print(f"SATNet learns {learns_addition():.0%} of the sums of two digits from their true bits.")
