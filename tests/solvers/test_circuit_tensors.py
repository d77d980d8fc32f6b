"""Parts of the evaluation of diagrams: sums by target."""

import numpy as np
import pytest
import torch

from smtlayer.solvers.circuit.tensors import Gather


@pytest.mark.parametrize(
    "targets", [[0, 1, 2], [2, 0, 2, 2], [0] * 50 + [1, 2], [3] * 200 + [0] * 3 + [9], [5]]
)
def test_rows_are_added_by_target(targets):
    targets = np.array(targets)
    count = int(targets.max()) + 2  # the last one has none
    rows = torch.rand(len(targets) + 1, 4, dtype=torch.float64)
    rows[-1] = 0
    expected = torch.zeros(count, 4, dtype=torch.float64)
    expected.index_add_(0, torch.from_numpy(targets), rows[:-1])
    gather = Gather(targets, count, torch.device("cpu"))
    torch.testing.assert_close(gather.sum(rows), expected)
    assert len(gather._table) <= 6 * len(targets) + 2 * count  # a bounded amount of padding
