"""Training with Lightning: rock, paper, scissors from results, as in example 5.

Needs `pip install ".[lightning]"` in a checkout of smtlayer.
"""

import logging
import warnings

import torch
import z3
from lightning.pytorch import LightningModule, Trainer, seed_everything
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader, TensorDataset

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.lightning import SolverCallback

sort, hands = z3.EnumSort("Hand", ["rock", "paper", "scissors"])
first, second = z3.Consts("first second", sort)
wins, draw = z3.Bools("wins draw")
rock, paper, scissors = hands
beats = [(rock, scissors), (paper, rock), (scissors, paper)]
theory = Theory(
    [wins == z3.Or([z3.And(first == a, second == b) for a, b in beats]), draw == (first == second)],
    inputs=[one_hot(first, hands), one_hot(second, hands)],
    outputs=[wins, draw],
)


class Referee(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 3), nn.Flatten())
        self.layer = SMTLayer(theory, backward="anneal_core")

    def forward(self, pictures: Tensor) -> Tensor:
        return self.layer(self.network(pictures))  # (B, 2, 16) to (B, 2)

    def training_step(self, batch: list[Tensor], number: int) -> Tensor:
        pictures, results = batch
        return binary_cross_entropy_with_logits(self(pictures), results)

    def validation_step(self, batch: list[Tensor], number: int) -> None:
        pictures, results = batch
        self.log("right", ((self(pictures) > 0) == (results > 0)).all(-1).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=5e-3)


def games(count: int) -> TensorDataset:
    shown = torch.randint(3, (count, 2))
    pictures = looks[shown] + 0.4 * torch.randn(count, 2, 16)
    ahead = (shown[:, 0] - shown[:, 1]) % 3  # 0: the same hand, 1: the first one wins
    return TensorDataset(pictures, torch.stack([ahead == 1, ahead == 0], -1).float())


logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)  # no tips
warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated")  # in Lightning itself
warnings.filterwarnings("ignore", ".*does not have many workers")  # the data need none
seed_everything(0, verbose=False)
looks = torch.randn(3, 16)  # mean of each hand, unknown to the network
trainer = Trainer(
    max_epochs=8,
    callbacks=[SolverCallback()],
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Referee(), DataLoader(games(3200), 64, shuffle=True), DataLoader(games(1000), 1000))

metrics = trainer.callback_metrics  # of the last epoch
for name in ("progress", "rows", "correct", "blamed", "time_share", "val_rows"):
    print(f"solver/{name}: {metrics[f'solver/{name}']:g}")
print(f"{metrics['right']:.0%} of 1000 new games are judged right")
