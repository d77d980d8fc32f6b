"""What the tasks share whose data are images of handwritten digits alone."""

from abc import ABC
from functools import cached_property
from pathlib import Path

from smtlayer_studies.tasks.base import SplitName
from smtlayer_studies.tasks.mnist import DigitData, Source, load_digits


class DigitTask(ABC):
    """Says which images a task uses; its subclasses are dataclasses that have these options.

    Attributes:
        data: Which images to use; see `load_digits`.
        validation: Share of the training images that is set apart for validation.
        data_dir: The data folder.
        digits: Images to use instead of those that `data` names.
    """

    data: Source
    validation: float
    data_dir: Path | None
    digits: DigitData | None

    @property
    def data_source(self) -> str:
        """`"mnist"` or `"sample"`."""
        return self._digits.source

    @property
    def data_title(self) -> str:
        """The data in words."""
        return self._digits.title

    @property
    def scored_split(self) -> SplitName:
        """Which split is scored."""
        return "validation" if self.validation else "test"

    @cached_property
    def _digits(self) -> DigitData:
        found = self.digits or load_digits(self.data, self.data_dir)
        return found.with_validation(self.validation)
