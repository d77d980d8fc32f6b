"""The rule `anneal_core`: an annealed posterior, then cores as well, then cores alone."""

from dataclasses import dataclass, field, fields
from typing import final

from smtlayer.errors import ArgumentError
from smtlayer.nn.rules.anneal import anneal, short
from smtlayer.nn.rules.base import BlameRule
from smtlayer.nn.rules.composite import CompositeRule, mix, schedule
from smtlayer.nn.rules.core import core
from smtlayer.nn.rules.posterior import PosteriorOrSample
from smtlayer.plain import is_finite, is_whole, number


@final
@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class AnnealCore(CompositeRule):
    """Anneals a posterior, mixes it with cores, and finishes with cores; see `anneal_core`."""

    rules: tuple[BlameRule, ...] = field(init=False, compare=False)  # the schedule of its phases
    heat: float = 8.0
    cool: float = 0.3
    shake: float = 0.5
    steps: int | None = None

    def __post_init__(self) -> None:
        for name in ("heat", "cool", "shake"):
            value = getattr(self, name)
            if not is_finite(value) or not value > 0:
                raise ArgumentError(f"anneal_core expects {name} above 0. Got {value!r}.")
            object.__setattr__(self, name, number(value))
        if not self.cool < self.shake < 1:
            raise ArgumentError(
                f"anneal_core expects cool < shake < 1, the shares of training at which its first "
                f"two phases end. Got cool={short(self.cool)} and shake={short(self.shake)}."
            )
        if self.steps is not None and not is_whole(self.steps, 1):
            raise ArgumentError(
                f"anneal_core expects steps as a whole number, the backward passes of the whole "
                f"training. Got {self.steps!r}."
            )
        object.__setattr__(self, "steps", None if self.steps is None else int(self.steps))
        falling = anneal(self.heat, 1, until=self.cool, shape="geometric")
        posterior = PosteriorOrSample(temperature=falling)  # 1 once it has cooled
        phases = schedule((self.cool, posterior), (self.shake, mix(core, posterior)), (1, core))
        object.__setattr__(self, "rules", (phases,))

    def __call__(
        self, *, heat: float = 8.0, cool: float = 0.3, shake: float = 0.5, steps: int | None = None
    ) -> "AnnealCore":
        """Returns the rule with these parameters."""
        return AnnealCore(heat=heat, cool=cool, shake=shake, steps=steps)

    def choose(self, progress: float) -> BlameRule:
        """Returns its schedule."""
        return self.rules[0]

    def __repr__(self) -> str:
        values = [(f.name, getattr(self, f.name), f.default) for f in fields(self) if f.init]
        listed = ", ".join(f"{name}={short(float(v))}" for name, v, usual in values if v != usual)
        return f"anneal_core({listed})" if listed else "anneal_core"


anneal_core = AnnealCore()
"""Anneals, shakes, and lets cores finish: the rule to begin with, `backward="anneal_core"`.

| until progress | rule | what it does |
|---|---|---|
| `cool` | `marginal`, its temperature falling from `heat` to 1 | finds a reading that fits |
| `shake` | `mix(core, marginal)` | leaves the plateaus on which a posterior alone stays |
| 1 | `core` | changes only what still prevents a label |

On a backend that does not weigh models, `sample` takes the place of `marginal`. The phases follow
`layer.progress`, which `Stepper`, the Lightning callback and `smtlayer train` set; in another loop
set it yourself, or give the number of backward passes of the whole training:
`anneal_core(steps=10_000)`.

- `heat`, 8: the temperature at the start. More spreads blame over more models.
- `cool`, 0.3: the share of training after which the temperature is 1. Hard problems need more time
  here.
- `shake`, 0.5: the share of training after which only cores are used.
- `steps`, none: the number of backward passes of the whole training, for a loop that does not set
  `layer.progress`. A loop that sets it takes precedence. The count is not part of the `state_dict`:
  after loading a checkpoint, set `layer.progress`.

Examples:
    >>> anneal_core(cool=0.5, shake=0.7)
    anneal_core(cool=0.5, shake=0.7)
    >>> [anneal_core.resolve(progress) for progress in (0.0, 1.0)]
    [posterior(temperature=anneal(8, 1, until=0.3, shape='geometric')), core]
"""
