"""A fifth task, written to a folder as a user would write it: which of two images is brighter?

It has theory, data, network, view and an experiment in that one folder. No other file knows it.
"""

from pathlib import Path

INIT = '''
"""Comparison of the brightness of two images."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry("comparison", task=f"{__name__}.task:Comparison", experiment="comparison-small")
'''

THEORY = '''
"""The theory of comparison."""

import z3

from smtlayer import Theory


def comparison_theory():
    """Two levels from 0 to 3, and whether the first is greater."""
    left, right = z3.BitVecs("left right", 2)
    greater = z3.Bool("greater")
    return Theory(
        {"greater is left > right": greater == z3.UGT(left, right)},
        inputs=[left, right],
        outputs=[greater],
    )
'''

DATA = '''
"""Images of one brightness each."""

import torch

from smtlayer_studies.tasks.base import Rows

BANK = torch.arange(4)[:, None, None].expand(4, 8, 8).mul(85).to(torch.uint8)


def draw(theory, split, count, seed):
    """Training shows only pairs that differ by at most one level."""
    levels = torch.randint(4, (8 * count, 2), generator=torch.Generator().manual_seed(seed))
    near = (levels[:, 0] - levels[:, 1]).abs() <= 1
    levels = (levels if split == "test" else levels[near])[:count]
    left, right = levels.T
    return Rows(
        levels,
        (theory.encode_outputs(greater=left > right) > 0).float(),
        theory.encode(left=left, right=right),
        (left - right).abs() <= 1,
        bank=BANK,
    )
'''

NETWORK = '''
"""The network of comparison."""

from torch import nn


class LevelReader(nn.Module):
    """Reads two bits from each image."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, images):
        """Logits for each image, side by side."""
        return self.dense(images.flatten(2)).flatten(1)
'''

VIEW = '''
"""The view of comparison."""

from dataclasses import dataclass

from smtlayer_studies.tasks import marks


@dataclass(frozen=True)
class LevelsView:
    """Shows levels as numbers."""

    title: str = "Comparison of brightness"
    per_figure: int = 5
    per_report: int = 3
    searched: int = 30
    wide: bool = False
    css: str = ".levels { color: teal; }"

    def figure(self, examples, title):
        """One line per example."""
        figure, axes = marks.sheet(len(examples), (6, 1), 0.5, title, {"level": marks.INK})
        for i, axis in enumerate(axes):
            axis.text(0, 0.5, self._line(examples, i))
        return figure

    def html(self, examples, i):
        """A paragraph."""
        return f'<p class="levels">{self._line(examples, i)}</p>'

    def terminal(self, examples, i, width):
        """The same line."""
        return self._line(examples, i)

    def symbols(self, examples, i):
        """Both levels."""
        return examples.readings(i)

    def answers(self, examples, i):
        """Which is brighter."""
        words = {True: "left is brighter", False: "left is not brighter", None: "no answer"}
        found, wanted = (words[side["greater"]] for side in examples.outputs(i))
        return found, wanted

    def values(self, theory, signs):
        """All levels."""
        columns = theory.decode_inputs(signs).values()
        return {"levels": [level for column in columns for level in column.tolist()]}

    def _line(self, examples, i):
        return " against ".join(f"level {reading.text}" for reading in examples.readings(i))
'''

TASK = '''
"""The task comparison."""

from dataclasses import dataclass

from smtlayer_studies.tasks.base import Pretraining

from .data import draw
from .network import LevelReader
from .theory import comparison_theory
from .view import LevelsView


@dataclass(frozen=True)
class Comparison:
    """Which of two images is brighter?"""

    noise: float = 0.0

    name = "comparison"
    view = LevelsView()
    pretraining = Pretraining()
    data_source = "drawn"
    data_title = "images of one brightness"
    scored_split = "test"

    @property
    def theory(self):
        """Two levels, and whether the first is greater."""
        return comparison_theory()

    def rows(self, split, count, seed, epoch=0):
        """Pairs of images."""
        return draw(self.theory, split, count, seed * 1009 + epoch)

    def network(self):
        """A reader of levels."""
        return LevelReader()
'''

EXPERIMENT = """
title = "Comparison, small"
seeds = 2

[task]
name = "comparison"

[train]
epochs = 2
rows = 96
batch_size = 16
test_rows = 40
lr = 0.01

[conventional]
layer = false

[best.layer]
backward = "maxsmt"
"""

FILES = {
    "__init__.py": INIT, "theory.py": THEORY, "data.py": DATA, "network.py": NETWORK,
    "view.py": VIEW, "task.py": TASK, "comparison-small.toml": EXPERIMENT,
}  # fmt: skip


def write_folder(folder: Path) -> Path:
    """Writes the task into a new folder."""
    folder.mkdir(parents=True)
    for name, text in FILES.items():
        (folder / name).write_text(text.lstrip(), encoding="utf-8")
    return folder


def write_distribution(site: Path) -> Path:
    """Writes the task as an installed distribution of another author has it."""
    write_folder(site / "brightness")
    about = site / "brightness-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brightness\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[smtlayer.tasks]\ncomparison = brightness:TASK\n", encoding="utf-8"
    )
    return site
