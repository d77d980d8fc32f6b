"""This file draws the puzzles of the liar's puzzle: which are for training and which for test."""

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import torch
from torch import Tensor

from smtlayer_studies.tasks.liars.sentences import KINDS, N_WORDINGS, Kind, all_tokens

N_TRAIN, N_TEST = 9_400, 28_062  # as the paper has them
ORDERS = tuple(permutations(range(3)))  # who speaks first, second and third


@cache
def configurations() -> tuple[tuple[Kind, Kind, Kind], ...]:
    """What Alice, Bob and Charlie say, where that makes exactly one of them guilty: 24 ways."""
    says = ([kind for kind in KINDS if kind.speaker == agent] for agent in range(3))
    return tuple((a, b, c) for a, b, c in product(*says) if len(culprits((a, b, c))) == 1)


def culprits(said: tuple[Kind, ...]) -> list[int]:
    """Who may be guilty: the guilty lie and the others do not."""
    return [
        guilty
        for guilty in range(3)
        if all(kind.is_true(guilty) == (kind.speaker != guilty) for kind in said)
    ]


@dataclass(frozen=True, eq=False)
class Puzzles:
    """Puzzles by number."""

    configurations: Tensor  # (N,) int64, places in `configurations()`
    wordings: Tensor  # (N, 3) int64, by speaker
    orders: Tensor  # (N,) int64, places in `ORDERS`

    def __len__(self) -> int:
        return len(self.configurations)

    def __getitem__(self, index: slice | Tensor) -> "Puzzles":
        return Puzzles(self.configurations[index], self.wordings[index], self.orders[index])

    def items(self) -> Tensor:
        """Tokens of the sentences as they follow each other: (N, 3, 10)."""
        order = torch.tensor(ORDERS)[self.orders]
        return all_tokens()[self._kinds(), self.wordings.take_along_dim(order, 1)]

    def symbols(self) -> Tensor:
        """What they say, as signs: (N, 21)."""
        signs = torch.tensor([kind.signs for kind in KINDS], dtype=torch.int8)
        return signs[self._kinds()].flatten(1)

    def targets(self) -> Tensor:
        """Who is guilty: (N, 3), 0 or 1."""
        guilty = torch.tensor([culprits(said)[0] for said in configurations()])
        return torch.eye(3)[guilty[self.configurations]]

    def _kinds(self) -> Tensor:
        kinds = torch.tensor([[KINDS.index(kind) for kind in said] for said in configurations()])
        order = torch.tensor(ORDERS)[self.orders]
        return kinds[self.configurations].take_along_dim(order, 1)


def all_puzzles(generator: torch.Generator) -> Puzzles:
    """Each configuration in each wording, once, in a random order of the sentences: 375,000."""
    ways = torch.cartesian_prod(*[torch.arange(N_WORDINGS)] * 3)
    found = torch.arange(len(configurations())).repeat_interleave(len(ways))
    orders = torch.randint(len(ORDERS), found.shape, generator=generator)
    return Puzzles(found, ways.repeat(len(configurations()), 1), orders)


def draw_split(seed: int) -> tuple[Puzzles, Puzzles]:
    """Puzzles for training and for test, each in random order."""
    generator = torch.Generator().manual_seed(seed)
    puzzles = all_puzzles(generator)
    half = torch.randperm(len(puzzles), generator=generator)[: len(puzzles) // 2]
    puzzles = puzzles[half]
    shown = shown_configurations(generator)[puzzles.configurations]
    kept = torch.randint(len(ORDERS), (len(configurations()),), generator=generator)
    in_order = puzzles.orders == kept[puzzles.configurations]
    return puzzles[shown & in_order][:N_TRAIN], puzzles[~shown][:N_TEST]


def shown_configurations(generator: torch.Generator) -> Tensor:
    """Half of the configurations, at random, among which every kind of sentence occurs: (24,) bool.

    One draw in four misses a kind of sentence, and is made again.
    """
    count = len(configurations())
    while True:
        drawn = torch.randperm(count, generator=generator)[: count // 2].tolist()
        if len({kind for i in drawn for kind in configurations()[i]}) == len(KINDS):
            shown = torch.zeros(count, dtype=torch.bool)
            shown[drawn] = True
            return shown
