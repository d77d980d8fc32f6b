"""Training steps for any module with solver layers inside, for use in plain PyTorch loops."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, final

import torch
from torch import Tensor, nn

from smtlayer.errors import ArgumentError
from smtlayer.nn import SMTLayer
from smtlayer.plain import is_finite, is_whole


def solver_layers(module: nn.Module) -> list[SMTLayer]:
    """All solver layers of a module, including the module itself."""
    return [part for part in module.modules() if isinstance(part, SMTLayer)]


def solver_counts(module: nn.Module) -> dict[str, float]:
    """The sum of `layer.stats` over all solver layers of a module, since their last reset.

    Reading the counts synchronises with the GPU, so do not do it at every step.

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
    """Performs training steps and sets `layer.progress` of all solver layers.

    Rules that change during training (`marginal(temperature=anneal(4, 1))`) follow
    `layer.progress`, the fraction of training that is done.

    Args:
        module: The module to train.
        optimizer: Any optimiser.
        total: Number of steps of the whole training.
        clip: Norm to which gradients are clipped; 0 for no clipping.
        schedule: A learning-rate scheduler that steps with the optimiser.

    Examples:
        >>> import z3
        >>> from smtlayer import Theory
        >>> a, b, y = z3.Bools("a b y")
        >>> layer = SMTLayer(Theory(y == z3.And(a, b), inputs=[a, b], outputs=[y]))
        >>> network = nn.Sequential(nn.Linear(2, 2), layer)
        >>> step = Stepper(network, torch.optim.Adam(network.parameters(), 0.1), total=2)
        >>> for _ in range(2):
        ...     outputs = network(torch.ones(4, 2))
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
            raise ArgumentError(
                f"Stepper expects total as a whole number, at least one step. Got {total!r}."
            )
        if not is_finite(clip, 0):
            raise ArgumentError(
                f"Stepper expects clip as a finite number, 0 for no clipping. Got {clip!r}."
            )
        self.optimizer = optimizer
        self.schedule = schedule
        self.total = int(total)
        self.done = 0
        self._clip = float(clip)
        self._parameters = list(module.parameters())
        self._layers = solver_layers(module)
        self._set_progress()

    def __call__(self, loss: Tensor) -> None:
        """Performs one step: backward pass, clipping, optimiser, scheduler, progress."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._clip:
            nn.utils.clip_grad_norm_(self._parameters, self._clip)
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        self.done += 1
        self._set_progress()

    def __iter__(self) -> Iterator[int]:
        """The indices of the remaining steps."""
        return iter(range(self.done, self.total))

    def state_dict(self) -> dict[str, object]:
        """The state that `load_state_dict` needs to continue."""
        schedule = None if self.schedule is None else self.schedule.state_dict()
        return {"done": self.done, "optimizer": self.optimizer.state_dict(), "schedule": schedule}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from a state that `state_dict` returned.

        Raises:
            ArgumentError: If it is not such a state, or lacks the state of the schedule.
        """
        if not isinstance(state, Mapping) or not state.keys() >= {"done", "optimizer", "schedule"}:
            got = list(state) if isinstance(state, Mapping) else state
            raise ArgumentError(
                f"Stepper expects a state from its state_dict(), a dict with done, optimizer, "
                f"schedule. Got {got!r}."
            )
        if self.schedule is not None and state["schedule"] is None:
            raise ArgumentError(
                "Stepper expects the state of a Stepper with a schedule. Got one without. "
                "Make this one without a schedule too."
            )
        self.optimizer.load_state_dict(state["optimizer"])
        if self.schedule is not None:
            self.schedule.load_state_dict(state["schedule"])
        self.done = int(state["done"])
        self._set_progress()

    def _set_progress(self) -> None:
        for layer in self._layers:
            layer.progress = min(1.0, self.done / self.total)
