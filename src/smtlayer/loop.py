"""This file holds one step of training for any module with solver layers inside.

Nothing here knows of tasks: it is for plain PyTorch loops, and the trainer is one of them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from smtlayer.nn import SMTLayer
from smtlayer.plain import is_finite, is_whole

_STATE = ("done", "optimizer", "schedule")


def solver_layers(module: nn.Module) -> list[SMTLayer]:
    """All solver layers inside a module, itself included."""
    return [part for part in module.modules() if isinstance(part, SMTLayer)]


def solver_counts(module: nn.Module) -> dict[str, float]:
    """What the layers inside a module counted since they were last reset, added up.

    Reading the counts makes a GPU wait, so do it once in a while rather than at every step.

    Examples:
        >>> import z3
        >>> from smtlayer import Theory
        >>> a, y = z3.Bools("a y")
        >>> layer = SMTLayer(Theory(y == z3.Not(a), inputs=[a], outputs=[y]))
        >>> _ = nn.Sequential(nn.Linear(3, 1), layer)(torch.zeros(5, 3))
        >>> solver_counts(layer)["sat"]
        5
    """
    total: Counter[str] = Counter()
    for layer in solver_layers(module):
        total.update(layer.stats.as_dict())
    return dict(total)


@final
class Stepper:
    """Does one step of an optimiser at a time, and tells the layers how far training has come.

    Rules with a schedule (`marginal(temperature=anneal(4, 1))`) follow `layer.progress`, the share
    of the training that is done.

    Args:
        module: What is trained; all solver layers inside are told.
        optimizer: Any.
        total: Steps that the training will have.
        clip: Norm that gradients are clipped to; 0 for no clipping.
        schedule: A learning-rate scheduler that steps with the optimiser.

    Examples:
        >>> import z3
        >>> from smtlayer import Theory
        >>> a, b, y = z3.Bools("a b y")
        >>> layer = SMTLayer(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
        >>> model = nn.Sequential(nn.Linear(2, 2), layer)
        >>> step = Stepper(model, torch.optim.Adam(model.parameters(), 0.1), total=2)
        >>> for _ in range(2):
        ...     outputs = model(torch.ones(4, 2))
        ...     loss = nn.functional.binary_cross_entropy_with_logits(outputs, torch.ones(4, 1))
        ...     step(loss)
        >>> layer.progress
        1.0
    """

    def __init__(
        self,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        total: int,
        clip: float = 0.0,
        schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    ) -> None:
        if not is_whole(total, 1):
            raise ValueError(
                f"Stepper expects total as a whole number, at least one step. Got {total!r}."
            )
        if not is_finite(clip, 0):
            raise ValueError(
                f"Stepper expects clip as a finite number, 0 for no clipping. Got {clip!r}."
            )
        self.optimizer = optimizer
        self.schedule = schedule
        self.total = int(total)
        self.done = 0
        self._clip = float(clip)
        self._parameters = list(module.parameters())
        self._layers = solver_layers(module)
        self._tell()

    def __call__(self, loss: Tensor) -> None:
        """Backward, clipping, a step, and the layers are told."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip:
            nn.utils.clip_grad_norm_(self._parameters, self._clip)
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.done += 1
        self._tell()

    def __iter__(self) -> Iterator[int]:
        """The numbers of the steps that are left."""
        return iter(range(self.done, self.total))

    def state_dict(self) -> dict[str, object]:
        """All that a later `load_state_dict` needs to go on."""
        schedule = None if self.schedule is None else self.schedule.state_dict()
        return {"done": self.done, "optimizer": self.optimizer.state_dict(), "schedule": schedule}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on where `state_dict` was taken.

        Raises:
            ValueError: If it is no such state, or was taken without the schedule that there is now.
        """
        _refuse_other(state)
        if self.schedule is not None and state["schedule"] is None:
            raise ValueError(
                "Stepper expects the state of a Stepper with a schedule. Got one without. "
                "Make this one without a schedule too."
            )
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.done = int(state["done"])
        self._tell()

    def _tell(self) -> None:
        for layer in self._layers:
            layer.progress = min(1.0, self.done / self.total)


def _refuse_other(state: object) -> None:
    """Raises unless this is what `state_dict` returns."""
    if isinstance(state, Mapping) and all(key in state for key in _STATE):
        return
    got = list(state) if isinstance(state, Mapping) else state
    raise ValueError(
        f"Stepper expects a state from its state_dict(), a dict with {', '.join(_STATE)}. "
        f"Got {got!r}."
    )
