"""What each process of `test_ddp.py` runs: two steps of training on its share of a batch.

    RANK=0 WORLD_SIZE=2 python ddp_script.py FOLDER

and the same with RANK=1 at once leaves the gradients and parameters of each process in FOLDER.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from smtlayer import Z3, SMTLayer
from smtlayer.testing.theories import addition

# Options of a layer; none are the defaults.
CASES: dict[str, dict[str, Any]] = {
    "auto": {}, "z3": {"backend": Z3()}, "batch": {"scale": "batch"},
}  # fmt: skip
STEPS, ROWS = 2, 16


def make_network(case: str) -> nn.Sequential:
    torch.manual_seed(0)
    layer = SMTLayer(addition(2), **CASES[case])
    return nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 4), layer).double()


def make_batch(step: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(step)
    features = torch.randn(ROWS, 5, generator=generator, dtype=torch.float64) * 2
    return features, torch.randint(0, 2, (ROWS, 3), generator=generator).double()


def train(network: nn.Module, share: slice) -> dict[str, list[Tensor]]:
    """Gradients of every step, and the parameters that come of them."""
    optimizer = torch.optim.SGD(network.parameters(), lr=0.5)
    gradients = []
    for step in range(STEPS):
        features, targets = make_batch(step)
        optimizer.zero_grad()
        outputs = network(features[share])
        F.binary_cross_entropy_with_logits(outputs, targets[share]).backward()
        gradients += [p.grad.clone() for p in network.parameters()]
        optimizer.step()
    return {"gradients": gradients, "parameters": [p.detach() for p in network.parameters()]}


def main(folder: Path) -> None:
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    meeting = (folder / "meeting").as_uri()  # a file needs no free port
    dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=size)
    rank, size = dist.get_rank(), dist.get_world_size()
    share = slice(rank * ROWS // size, (rank + 1) * ROWS // size)
    found = {case: train(DistributedDataParallel(make_network(case)), share) for case in CASES}
    torch.save({"size": size, "process": os.getpid(), **found}, folder / f"rank{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
