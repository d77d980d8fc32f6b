"""The protocol of a task's view, which shows examples in figures, on web pages and in terminals."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.tasks.examples import Examples, Reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

Values = Mapping[str, Sequence[Any]]


class View(Protocol):
    """Shows examples of a task with what the network read and what the solver answered.

    Methods that show one example take the examples and its position `i` among them.
    """

    @property
    def title(self) -> str:
        """Heading of a figure of test examples."""

    @property
    def per_figure(self) -> int:
        """How many examples a figure shows by default."""

    @property
    def per_report(self) -> int:
        """How many corrected and how many failed examples a report shows at most."""

    @property
    def searched(self) -> int:
        """How many examples of a split are solved to select those to show."""

    @property
    def wide(self) -> bool:
        """Whether an example needs a wide column in a report."""

    @property
    def css(self) -> str:
        """Style sheet rules for `html`, which a page includes once.

        They may use the custom properties of the page, such as `var(--line)`.
        """

    def figure(self, examples: Examples, title: str) -> "Figure":
        """A matplotlib figure of all examples."""

    def html(self, examples: Examples, i: int) -> str:
        """An example as HTML, with all text escaped."""

    def terminal(self, examples: Examples, i: int, width: int) -> "RenderableType | None":
        """An example for a rich console of this width, or None if there is nothing to draw."""

    def symbols(self, examples: Examples, i: int) -> list[Reading]:
        """The symbols of an example in the groups that people read."""

    def answers(self, examples: Examples, i: int) -> tuple[str, str]:
        """The solver's answer and the true one as short text; the latter empty if it is long."""

    def values(self, theory: Theory, signs: Tensor) -> Values:
        """Values of the symbols by kind, for confusion matrices.

        Their number and order depend only on the shape of `signs`, (B, n).
        """
