"""This file keeps the state of a training on disk, and turns Ctrl-C into a question."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from smtlayer.errors import ConfigError
from smtlayer_studies.runs.config import RunConfig

_NAME = "checkpoint.pt"


@dataclass(frozen=True)
class Checkpoint:
    """The state of a training in a folder. A new one takes the old one's place all at once."""

    folder: Path
    config: RunConfig

    def save(self, state: dict[str, Any]) -> None:
        """Writes a state."""
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{_NAME}.part"
        torch.save(state | {"config": self.config.to_toml()}, part)
        part.replace(self.folder / _NAME)

    def load(self) -> dict[str, Any] | None:
        """The state that was last written, or None if there is none.

        Raises:
            ConfigError: If it belongs to another configuration, or cannot be read.
        """
        path = self.folder / _NAME
        if not path.is_file():
            return None
        try:
            state: dict[str, Any] = torch.load(path, map_location=self.config.device)
        except Exception as error:  # torch raises what it likes on a broken file
            reason = type(error).__name__
            raise ConfigError(
                f"{path} cannot be read ({reason}). Delete it to begin again."
            ) from error
        if state["config"] != self.config.to_toml():
            raise ConfigError(
                f"{path} belongs to a run with other options. Choose another folder with --out, "
                f"or delete it to begin again."
            )
        return state


def random_state(device: str) -> dict[str, torch.Tensor]:
    """The state of torch's generators."""
    state = {"cpu": torch.get_rng_state()}
    if device.startswith("cuda"):
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_random_state(state: dict[str, torch.Tensor]) -> None:
    """Puts torch's generators back."""
    torch.set_rng_state(state["cpu"].cpu())
    if "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"].cpu())


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within, the first Ctrl-C only makes the given function true; a second one interrupts."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return

    def note(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, before)
