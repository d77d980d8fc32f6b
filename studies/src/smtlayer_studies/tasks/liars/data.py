"""The puzzles of the liar's puzzle, and their split into training and test."""

from dataclasses import dataclass
from functools import cache
from itertools import permutations, product

import torch
from torch import Tensor

from smtlayer_studies.tasks.liars.sentences import KINDS, N_WORDINGS, Kind, all_tokens

N_TRAIN, N_TEST = 9_400, 28_062  # as in the paper
ORDERS = tuple(permutations(range(3)))  # who speaks first, second and third


@cache
def configurations() -> tuple[tuple[Kind, Kind, Kind], ...]:
    """Statements of Alice, Bob and Charlie that make exactly one of them guilty: 24."""
    says = ([kind for kind in KINDS if kind.speaker == agent] for agent in range(3))
    return tuple((a, b, c) for a, b, c in product(*says) if len(culprits((a, b, c))) == 1)


def culprits(statements: tuple[Kind, ...]) -> list[int]:
    """Agents who may be guilty: the guilty one lies and the others do not."""
    return [
        guilty
        for guilty in range(3)
        if all(kind.is_true(guilty) == (kind.speaker != guilty) for kind in statements)
    ]


@dataclass(frozen=True, eq=False)
class Puzzles:
    """Puzzles by index."""

    configurations: Tensor  # (N,) int64, positions in `configurations()`
    wordings: Tensor  # (N, 3) int64, by speaker
    orders: Tensor  # (N,) int64, positions in `ORDERS`

    def __len__(self) -> int:
        return len(self.configurations)

    def __getitem__(self, index: slice | Tensor) -> "Puzzles":
        return Puzzles(self.configurations[index], self.wordings[index], self.orders[index])

    def items(self) -> Tensor:
        """Tokens of the sentences in order: (N, 3, 10)."""
        order = torch.tensor(ORDERS)[self.orders]
        return all_tokens()[self._kinds(), self.wordings.take_along_dim(order, 1)]

    def symbols(self) -> Tensor:
        """The statements as signs: (N, 21)."""
        signs = torch.tensor([kind.signs for kind in KINDS], dtype=torch.int8)
        return signs[self._kinds()].flatten(1)

    def targets(self) -> Tensor:
        """The guilty agent: (N, 3), 0 or 1."""
        guilty = torch.tensor([culprits(statements)[0] for statements in configurations()])
        return torch.eye(3)[guilty[self.configurations]]

    def _kinds(self) -> Tensor:
        kinds = torch.tensor([[KINDS.index(kind) for kind in some] for some in configurations()])
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

    One draw in four misses a kind of sentence, and is repeated.
    """
    count = len(configurations())
    while True:
        drawn = torch.randperm(count, generator=generator)[: count // 2].tolist()
        if len({kind for i in drawn for kind in configurations()[i]}) == len(KINDS):
            shown = torch.zeros(count, dtype=torch.bool)
            shown[drawn] = True
            return shown
