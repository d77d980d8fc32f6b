"""The lab: blame rules tried on a theory without a network or images.

In place of a network, each value of a symbol (the digit 3, for example) has one vector of trainable
logits, to which Gaussian noise is added each time it is read. Only the theory and the blame rule
then decide whether training grounds the symbols. A rule that fails here often fails with images
too, and the lab takes seconds.

The layer and the rules are the real ones. All seeds are trained at once, as rows of one batch.
Scores are measured on all combinations of symbols that the problem tests, whether or not training
shows them. A rule chosen by these scores has seen the tested combinations, but no test images.
"""

import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from smtlayer.errors import ArgumentTypeError, ConfigError
from smtlayer.lab.problems import MAX_MODELS, LabProblem, LabRows, problem_of
from smtlayer.nn import BlameRule, SMTLayer, parse_rule
from smtlayer.plain import is_whole, make_plain
from smtlayer.solvers import Table
from smtlayer.solvers.readings.kinds import FACT
from smtlayer.solvers.table.models import list_models
from smtlayer.theory import Theory

GROUNDED = 0.98  # test accuracy from which a seed counts as grounded
_MOST_ROWS = 2_000  # rows of an evaluation, drawn at random from more
_CHANCE = 0.05  # level of significance


@dataclass(frozen=True)
class LabOptions:
    """Options of training in the lab, which uses SGD with Nesterov momentum 0.9.

    Args:
        steps: Training steps.
        rows: Batch size per seed.
        lr: Learning rate in the first half of training.
        late_lr: Learning rate at the start of the second half, in which it decays to 0 as a cosine.
            Large steps help to leave plateaus.
        noise: Standard deviation of the noise that is added to the logits.
        start: Standard deviation of the logits before training.

    Raises:
        ConfigError: If a value is not a number above 0 (`noise` may be 0).
    """

    steps: int = 1000
    rows: int = 32
    lr: float = 3.0
    late_lr: float = 20.0
    noise: float = 0.5
    start: float = 0.3

    def __post_init__(self) -> None:
        try:
            make_plain(self)
        except ConfigError as error:
            raise ConfigError(f"LabOptions: {error}") from error
        for name in ("steps", "rows", "lr", "late_lr", "start"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"LabOptions: {name} must be above 0. Got {getattr(self, name)}.")
        if not self.noise >= 0:
            raise ConfigError(f"LabOptions: noise must be at least 0. Got {self.noise}.")

    def lr_at(self, progress: float) -> float:
        """The learning rate at a progress from 0 to 1."""
        if progress < 0.5:
            return self.lr
        return self.late_lr * (1 + math.cos(math.pi * (2 * progress - 1))) / 2


@dataclass(frozen=True)
class LabRun:
    """The scores of one rule, one number per seed, measured without noise."""

    rule: str
    train: tuple[float, ...]  # accuracy on the rows that training shows
    test: tuple[float, ...]  # accuracy on the tested rows
    symbols: tuple[float, ...]  # fraction of values whose columns are all read right
    seconds: float  # for all seeds together

    @property
    def grounded(self) -> int:
        """Number of seeds with a test accuracy of at least 98 %."""
        return sum(score >= GROUNDED for score in self.test)

    @property
    def mean(self) -> float:
        """The mean test accuracy."""
        return sum(self.test) / len(self.test)

    @property
    def unnoticed(self) -> int:
        """Number of seeds with a high training accuracy that are not grounded.

        If this is 0, failures show in the training accuracy, and restarts solve them.
        """
        pairs = zip(self.train, self.test, strict=True)
        return sum(train >= GROUNDED > test for train, test in pairs)

    @property
    def renamed(self) -> int:
        """Number of grounded seeds that read some symbols otherwise than the theory names them.

        For example, two values can be exchanged throughout if the outputs do not depend on it.
        """
        pairs = zip(self.test, self.symbols, strict=True)
        return sum(test >= GROUNDED and symbols < 1 for test, symbols in pairs)

    @property
    def plateaus(self) -> tuple[tuple[int, int], ...]:
        """Test accuracies in per cent, each with its number of seeds, best first."""
        return tuple(sorted(Counter(round(100 * t) for t in self.test).items(), reverse=True))


@dataclass(frozen=True)
class LabResult:
    """The scores of all rules on one problem."""

    problem: str
    models: int
    kinds: int  # values of symbols that occur
    shown: int  # rows in training
    tested: int
    seeds: int
    options: LabOptions
    runs: tuple[LabRun, ...]
    left_out: int = 0  # inputs that do not determine the outputs, and are not used

    @property
    def best(self) -> LabRun:
        """The rule that grounds the most seeds; of several, the one with the best mean."""
        return max(self.runs, key=lambda run: (run.grounded, run.mean))

    @property
    def as_good(self) -> tuple[LabRun, ...]:
        """Rules that are not significantly worse than the best (Fisher's exact test, 5 %)."""
        best = self.best
        return tuple(
            run for run in self.runs
            if run is not best and _by_chance(best.grounded, run.grounded, self.seeds) >= _CHANCE
        )  # fmt: skip


def run_lab(
    theory: Theory | LabProblem,
    rules: str | Sequence[str | BlameRule],
    *,
    seeds: int = 20,
    options: LabOptions = LabOptions(),  # noqa: B008 (frozen)
    on_step: Callable[[str, int], None] | None = None,
) -> LabResult:
    """Tries blame rules on a theory and counts from how many random starts they ground it.

    A rule such as `mix` makes one random choice per batch, which all seeds share.

    Args:
        theory: A theory or a problem. For a theory, training shows all models whose inputs
            determine the outputs (`left_out` of the result counts the others); `problem_of` has
            more options.
        rules: Blame rules, as objects or as text; a single text is one rule.
        seeds: Number of random starts, the same for all rules.
        options: Options of training.
        on_step: Called with the rule and the number of steps done.

    Raises:
        ArgumentError: If a rule cannot be parsed.
        ArgumentTypeError: If the theory, a rule or the options have another type.
        ConfigError: If there are no rules or no seeds.

    Examples:
        >>> import z3
        >>> a, b, y = z3.Bools("a b y")
        >>> theory = Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y])
        >>> result = run_lab(theory, ["core"], seeds=3, options=LabOptions(steps=50))
        >>> result.best.rule, result.best.grounded
        ('core', 3)
    """
    parsed = _parsed(rules)
    if not is_whole(seeds, 1) or not parsed:
        raise ConfigError(
            f"run_lab expects at least one rule and one seed. Got {len(parsed)} and {seeds!r}."
        )
    seeds = int(seeds)  # a numpy integer cannot be written as JSON
    if not isinstance(theory, Theory | LabProblem):
        raise ArgumentTypeError(
            f"run_lab expects a Theory, or a LabProblem such as problem_of returns. Got {theory!r}."
        )
    if not isinstance(options, LabOptions):
        raise ArgumentTypeError(f"run_lab expects options as LabOptions(...). Got {options!r}.")
    problem = problem_of(theory) if isinstance(theory, Theory) else theory
    models = list_models(problem.theory, MAX_MODELS)
    kinds = _Readers(problem, 1, options.start).kinds
    with one_thread():
        runs = tuple(_run(problem, rule, seeds, options, on_step) for rule in parsed)
    return LabResult(problem.name, len(models), kinds, len(problem.shown), len(problem.tested),
                     seeds, options, runs, problem.left_out)  # fmt: skip


def _parsed(rules: str | Sequence[str | BlameRule]) -> list[BlameRule]:
    if not isinstance(rules, Iterable):
        raise ArgumentTypeError(f"run_lab expects a list of rules, as ['core']. Got {rules!r}.")
    given = [rules] if isinstance(rules, str) else list(rules)
    for rule in given:
        if not isinstance(rule, BlameRule | str):
            raise ArgumentTypeError(
                f"run_lab expects rules such as core, or their text. Got {rule!r}."
            )
    return [parse_rule(rule) if isinstance(rule, str) else rule for rule in given]


class _Readers:
    """Trainable logits for each value of the symbols and each seed, in place of a network."""

    def __init__(self, problem: LabProblem, seeds: int, start: float) -> None:
        self._widths, self._trained = list(problem.widths), max(problem.readers) + 1
        self.given = problem.given
        # Each fact has its own reader after the trained ones, which reads it right.
        after = itertools.count(self._trained)
        self._readers = [next(after) if reader == FACT else reader for reader in problem.readers]
        every = torch.cat([problem.shown.inputs, problem.tested.inputs])
        parts = torch.split(every, self._widths, dim=-1)
        self.signs = []  # (kinds, width) per reader
        for reader in range(next(after)):
            own = [p for p, r in zip(parts, self._readers, strict=True) if r == reader]
            self.signs.append(torch.unique(torch.cat(own), dim=0))
        self.logits = []  # (S, kinds, width) per trained reader
        for reader, signs in enumerate(self.signs[: self._trained]):
            sources = [torch.Generator().manual_seed(1009 * seed + reader) for seed in range(seeds)]
            drawn = torch.stack([torch.randn(signs.shape, generator=source) for source in sources])
            self.logits.append(drawn.mul_(start).requires_grad_())

    @property
    def kinds(self) -> int:
        """Number of values of all symbols that are read."""
        return sum(map(len, self.signs[: self._trained]))

    def kinds_in(self, inputs: Tensor) -> Tensor:
        """The index of each symbol's value: (C, n) to (C, symbols)."""
        found = []
        parts = torch.split(inputs, self._widths, dim=-1)
        for part, reader in zip(parts, self._readers, strict=True):
            same = (part[:, None] == self.signs[reader]).all(-1)  # (C, kinds)
            found.append(same.int().argmax(-1))
        return torch.stack(found, dim=-1)

    def read(self, kinds: Tensor) -> Tensor:
        """The logits of each seed: (S, B, symbols) to (S, B, n)."""
        seeds = torch.arange(len(kinds))[:, None]
        facts = [s.float().expand(len(kinds), -1, -1) for s in self.signs[self._trained :]]
        logits = [*self.logits, *facts]
        read = [logits[r][seeds, kinds[..., i]] for i, r in enumerate(self._readers)]
        return torch.cat(read, dim=-1)

    def right(self) -> Tensor:
        """The fraction of values that are read right: (S,)."""
        pairs = zip(self.logits, self.signs, strict=False)
        return torch.cat([((x > 0) == (s > 0)).all(-1) for x, s in pairs], dim=-1).double().mean(-1)


def _run(
    problem: LabProblem,
    rule: BlameRule,
    seeds: int,
    options: LabOptions,
    on_step: Callable[[str, int], None] | None,
) -> LabRun:
    begin = time.perf_counter()
    layer = SMTLayer(problem.theory, backend=Table(max_models=MAX_MODELS), backward=rule)
    readers = _Readers(problem, seeds, options.start)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for step in _train(problem, layer, readers, seeds, options):
            if on_step is not None:
                on_step(str(rule), step)
        scores = [_accuracy(rows, layer, readers) for rows in (problem.shown, problem.tested)]
    train, test, symbols = (tuple(part.tolist()) for part in (*scores, readers.right()))
    return LabRun(str(rule), train, test, symbols, time.perf_counter() - begin)


def _train(
    problem: LabProblem, layer: SMTLayer, readers: _Readers, seeds: int, options: LabOptions
) -> Iterator[int]:
    kinds, wanted = readers.kinds_in(problem.shown.inputs), problem.shown.outputs.float()
    optimizer = torch.optim.SGD(readers.logits, lr=options.lr, momentum=0.9, nesterov=True)
    n, m = problem.theory.n_inputs, problem.theory.n_outputs
    noise = options.noise if readers.given is None else options.noise * ~readers.given
    for step in range(options.steps):
        layer.progress = step / options.steps
        optimizer.param_groups[0]["lr"] = options.lr_at(layer.progress)
        rows = torch.randint(len(problem.shown), (seeds, options.rows))
        logits = readers.read(kinds[rows])
        logits = logits + noise * torch.randn_like(logits)
        outputs = layer(logits, given=readers.given)
        optimizer.zero_grad()
        # The layer scales the gradient of a row by n: this makes it a mean over the rows of a seed.
        outputs.backward(-wanted[rows] * (n / m / options.rows))
        optimizer.step()
        yield step + 1


@torch.no_grad()
def _accuracy(rows: LabRows, layer: SMTLayer, readers: _Readers) -> Tensor:
    """The accuracy of each seed: (S,)."""
    if len(rows) > _MOST_ROWS:
        rows = rows[torch.randperm(len(rows))[:_MOST_ROWS]]
    seeds = len(readers.logits[0])
    logits = readers.read(readers.kinds_in(rows.inputs).expand(seeds, -1, -1))
    layer.eval()
    right: Tensor = (layer(logits, given=readers.given) == rows.outputs).all(-1)
    layer.train()
    return right.double().mean(-1)


@contextmanager
def one_thread() -> Iterator[None]:
    """Runs torch on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _by_chance(more: int, fewer: int, seeds: int) -> float:
    """Probability of a difference at least this large by chance, one-sided."""
    both = more + fewer
    ways = [math.comb(seeds, k) * math.comb(seeds, both - k) for k in range(both + 1)]
    return sum(ways[more:]) / sum(ways)
