"""A portfolio: several settings of one training, of which only the most promising is finished."""

import math
import random
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast, final

import torch

from smtlayer.errors import ArgumentError, ArgumentTypeError, SMTLayerError
from smtlayer.plain import counted, is_finite, is_whole

S = TypeVar("S")  # a setting
V = TypeVar("V")  # what a training returns
Train = Callable[[S], Generator[float, None, V]]
OnRound = Callable[[S, int, float], None]


@final
@dataclass(frozen=True)
class Member(Generic[S]):
    """How the training with one setting went."""

    setting: S
    accuracies: tuple[float, ...]  # on training examples, one per round
    outcome: Literal["won", "dropped", "failed", "not started"]


@final
@dataclass(frozen=True, eq=False)
class PortfolioResult(Generic[S, V]):
    """The winner of a portfolio, and how all its trainings went.

    Attributes:
        setting: The setting that won.
        accuracy: Its training accuracy in the last round.
        value: What its training returned, for example the network.
        members: All trainings, in the order of the settings.
        cost: Rounds of all trainings together, divided by those of one.
    """

    setting: S
    accuracy: float
    value: V
    members: tuple[Member[S], ...]
    cost: float

    def __str__(self) -> str:
        """One line per setting."""
        lines = [f"{counted(len(self.members), 'setting')}, {self.cost:.2f} times one training"]
        for one in self.members:
            last = f"{one.accuracies[-1]:.1%}" if one.accuracies else ""
            rounds = counted(len(one.accuracies), "round")
            lines.append(f"{one.outcome:<11} {rounds:>10} {last:>7}  {one.setting}")
        return "\n".join(lines)


@final
class Portfolio(Generic[S]):
    """Trains with several settings, drops the weak ones early, and finishes the best.

    A setting may be anything: a blame rule, a temperature, a seed, a dict of them. Settings are
    compared by training accuracy alone, so no other data are needed. The training with the first
    setting runs until the first comparison, then that with the second, and so on; after the
    comparison only the best continue. The first training whose accuracy reaches `enough` wins, and
    the others stop where they are. So a portfolio costs no more than one training if the first
    setting works: put the setting that you trust most first.

    By default each comparison drops half of the trainings, as late as `budget` allows: two settings
    are both trained to the end, three are compared after half of the rounds, four after a quarter
    and a half. Rules that cool down show little before they are cool, so give few settings.

    Each training has its own random numbers (torch on CPU and CUDA, numpy, Python): it is the same,
    bit for bit, whatever the other settings are. They start from the position of the setting as the
    seed; `train` may set another.

    Args:
        settings: The settings; `train` gets one of them.
        rounds: Number of rounds of one training. A round is an epoch, or a part of one.
        keep: How many trainings to keep after which round, as in `{3: 2, 6: 1}`; `None` for the
            default.
        enough: Training accuracy that wins at once, from 0 to 1; 2 for none.
        budget: All trainings together have at most this many times the rounds of one.

    Raises:
        ArgumentError: If a value cannot be used, or all trainings exceed the budget.

    Examples:
        >>> def train(rate):
        ...     weight = torch.zeros(1, requires_grad=True)
        ...     optimizer = torch.optim.SGD([weight], rate)
        ...     for _ in range(4):
        ...         optimizer.zero_grad()
        ...         (weight - 1).square().sum().backward()
        ...         optimizer.step()
        ...         yield max(0, 1 - abs(weight.item() - 1))
        ...     return weight
        >>> print(Portfolio([1.0, 0.1, 0.4], rounds=4).run(train))
        3 settings, 2.00 times one training
        dropped       2 rounds    0.0%  1.0
        dropped       2 rounds   36.0%  0.1
        won           4 rounds   99.8%  0.4
    """

    def __init__(
        self,
        settings: Iterable[S],
        *,
        rounds: int,
        keep: Mapping[int, int] | None = None,
        enough: float = 0.99,
        budget: float = 2.0,
    ) -> None:
        self.settings = () if isinstance(settings, str) else tuple(settings)
        if not self.settings or not is_whole(rounds, 1):
            raise ArgumentError(
                f"Portfolio expects a list of settings, and rounds as a whole number, at least one "
                f"of each. Got {settings!r} and {rounds!r}."
            )
        if not is_finite(enough, 0) or enough > 2 or not is_finite(budget, 1):
            raise ArgumentError(
                f"Portfolio expects enough as an accuracy from 0 to 1, as 0.99 (2 for none), and "
                f"budget as a number of at least 1. Got {enough!r} and {budget!r}."
            )
        self.rounds, self.enough, self.budget = int(rounds), float(enough), float(budget)
        if keep is not None and not isinstance(keep, Mapping):
            raise ArgumentTypeError(
                f"Portfolio expects keep as rounds and numbers of trainings, as in {{3: 2, 6: 1}}. "
                f"Got {keep!r}."
            )
        self.keep = self._halving() if keep is None else dict(keep)
        self._check_keep()

    @property
    def cost(self) -> float:
        """Rounds of all trainings together, divided by those of one, if none reaches `enough`."""
        left, ends = [len(self.settings), *self.keep.values()], [0, *self.keep, self.rounds]
        stages = zip(left, ends, ends[1:], strict=False)
        return sum(count * (end - start) for count, start, end in stages) / self.rounds

    def run(
        self, train: Train[S, V], on_round: OnRound[S] = lambda setting, number, accuracy: None
    ) -> PortfolioResult[S, V]:
        """Trains, and returns the winner.

        Args:
            train: A generator function. It makes a network and an optimiser for a setting, and
                yields the training accuracy of each round at its end, from 0 to 1. What it returns
                is the `value` of the result. It is closed if its setting is dropped. An accuracy of
                NaN or an `ArithmeticError` drops the setting, with a warning; a layer raises one
                if its logits are NaN.
            on_round: Called after each round with the setting, the number of its rounds so far and
                the accuracy.

        Raises:
            ArgumentError: If `train` yields something else, or too many rounds.
            SMTLayerError: If no training is left.
        """
        if not callable(train):
            raise ArgumentTypeError(
                f"Portfolio.run expects a generator function, without calling it. Got {train!r}."
            )
        every = [
            _Training(setting, _rounds(train, setting, seed, self.rounds))
            for seed, setting in enumerate(self.settings)
        ]
        alive = every
        try:
            for end, kept in (*self.keep.items(), (self.rounds, 1)):
                winner = next((one for one in alive if self._reaches(one, end, on_round)), None)
                alive = _best(alive, kept) if winner is None else [winner]
                for one in every:
                    if one not in alive:
                        one.close()
            while alive[0].advance(on_round):
                pass
            (best,) = _best(alive, 1)
        finally:
            for one in every:
                one.close()
        members = tuple(one.member(won=one is best) for one in every)
        rounds = sum(len(one.accuracies) for one in every)
        value = cast(V, best.value)
        return PortfolioResult(
            best.setting, best.accuracies[-1], value, members, rounds / self.rounds
        )

    def _reaches(self, one: "_Training[S, V]", end: int, on_round: OnRound[S]) -> bool:
        """Trains until a round, or until the accuracy is enough, and returns whether it is."""
        while len(one.accuracies) < end and one.advance(on_round):
            if one.accuracies[-1] >= self.enough:
                return True
        return False

    def _halving(self) -> dict[int, int]:
        """Comparisons that drop half of the trainings each, all at the same cost."""
        left, keep = len(self.settings), dict[int, int]()
        halvings = left.bit_length() - 1
        for _ in range(halvings):
            dropped = left - left // 2
            left //= 2
            keep[int((self.budget - 1) * self.rounds / halvings / dropped + 1e-9)] = left
        if 0 in keep:
            raise ArgumentError(
                f"Portfolio: {len(self.settings)} settings with rounds={self.rounds} do not fit "
                f"into budget={self.budget:g}: there is no time to compare them. Yield the "
                f"accuracy several times per epoch, give fewer settings, or raise budget."
            )
        return {end: kept for end, kept in keep.items() if end < self.rounds}

    def _check_keep(self) -> None:
        left, ends = [len(self.settings), *self.keep.values()], [0, *self.keep, self.rounds]
        if (
            not all(is_whole(number, 1) for number in (*left, *ends[1:]))
            or left != sorted(set(left), reverse=True)
            or ends != sorted(set(ends))
        ):
            raise ArgumentError(
                f"Portfolio expects keep as fewer and fewer of {len(self.settings)} trainings "
                f"after later and later of {self.rounds} rounds, as in {{3: 2, 6: 1}}. "
                f"Got {self.keep!r}."
            )
        if self.cost > self.budget + 1e-9:
            raise ArgumentError(
                f"Portfolio: with keep={self.keep!r} all trainings have {self.cost:.2f} times the "
                f"rounds of one, above budget={self.budget:g}. Drop more of them or earlier, give "
                f"fewer settings, or raise budget."
            )


class _Training(Generic[S, V]):
    """The training with one setting, which is advanced round by round."""

    def __init__(self, setting: S, rounds: Generator[float, None, V]) -> None:
        self.setting, self._rounds = setting, rounds
        self.accuracies: list[float] = []
        self.failure: Exception | None = None
        self.value: V | None = None
        self._state: tuple[Any, ...] | None = None

    def advance(self, on_round: OnRound[S]) -> bool:
        """Trains one round, and returns False if there is none left."""
        number = len(self.accuracies) + 1
        try:
            with self._own_state():
                self.accuracies.append(next(self._rounds))
        except StopIteration as end:
            self.value = end.value if self.value is None else self.value
            return False
        except ArithmeticError as error:
            self.failure = error
            warnings.warn(
                f"Portfolio drops the setting {self.setting!r} in round {number}: {error}",
                stacklevel=5,
            )
            return False
        except Exception as error:
            error.add_note(f"Portfolio: in round {number} of the setting {self.setting!r}.")
            raise
        on_round(self.setting, number, self.accuracies[-1])
        return True

    def close(self) -> None:
        """Ends the training, which frees what it holds."""
        with self._own_state():
            self._rounds.close()

    def member(self, *, won: bool) -> Member[S]:
        """Its history."""
        done = tuple(self.accuracies)
        if self.failure is not None:
            return Member(self.setting, done, "failed")
        return Member(self.setting, done, "won" if won else "dropped" if done else "not started")

    @contextmanager
    def _own_state(self) -> Iterator[None]:
        """Swaps the state of the process for that of this training."""
        outside = _process_state()
        if self._state is not None:
            _set_process_state(self._state)
        try:
            yield
        finally:
            self._state = _process_state()
            _set_process_state(outside)


def _best(trainings: "list[_Training[S, V]]", count: int) -> "list[_Training[S, V]]":
    """Those with the highest accuracies; of equal ones the first."""
    left = [one for one in trainings if one.failure is None]
    if not left:
        last = trainings[-1]
        raise SMTLayerError(
            f"Portfolio: no training is left. The last one, with the setting {last.setting!r}, "
            f"failed: {last.failure}. Lower the learning rate, or clip gradients."
        ) from last.failure
    best = sorted(left, key=lambda one: -one.accuracies[-1])[:count]
    return [one for one in left if one in best]


def _rounds(train: Train[S, V], setting: S, seed: int, most: int) -> Generator[float, None, V]:
    """The accuracies of a training from a seed, checked."""
    torch.manual_seed(seed)
    random.seed(seed)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(seed)
    rounds = train(setting)
    if not isinstance(rounds, Generator):
        raise ArgumentTypeError(
            f"Portfolio.run expects a generator function, which yields the training accuracy of "
            f"each round. Got one that returns {rounds!r}."
        )
    with closing(rounds):
        accuracy = next(rounds, None)
        for _ in range(most):
            yield _checked(accuracy)
            try:
                accuracy = next(rounds)
            except StopIteration as end:
                return cast(V, end.value)
    raise ArgumentError(
        f"Portfolio.run expects a training of rounds={most}. Got one that goes on. Let it return "
        f"then, or raise rounds."
    )


def _checked(accuracy: object) -> float:
    try:
        value = float(accuracy)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = -1.0
    if math.isnan(value):
        raise ArithmeticError("the training accuracy is NaN")
    if not 0 <= value <= 1:
        raise ArgumentError(
            f"Portfolio.run expects the training accuracy of each round, a number from 0 to 1. "
            f"Got {accuracy!r}."
        )
    return value


def _process_state() -> tuple[Any, ...]:
    """What trainings do not share: the random generators, and whether gradients are computed."""
    numpy = sys.modules.get("numpy")
    return (
        torch.is_grad_enabled(),
        torch.get_rng_state(),
        torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None,  # type: ignore[no-untyped-call]
        random.getstate(),
        None if numpy is None else numpy.random.get_state(),
    )


def _set_process_state(state: tuple[Any, ...]) -> None:
    grad, cpu, cuda, python, numpy = state
    torch.set_grad_enabled(grad)
    torch.set_rng_state(cpu)
    if cuda is not None:
        torch.cuda.set_rng_state_all(cuda)
    random.setstate(python)
    if numpy is not None:
        sys.modules["numpy"].random.set_state(numpy)
