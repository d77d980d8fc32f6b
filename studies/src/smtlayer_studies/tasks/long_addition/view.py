"""The view of long addition: both numbers one below the other, as one adds them on paper."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from torch import Tensor

from smtlayer.theory import Theory
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.examples import Examples, Reading
from smtlayer_studies.tasks.images import ImagesView

if TYPE_CHECKING:
    from rich.text import Text

_LEGEND = {
    "as read": marks.INK,
    "overruled by the solver": marks.CHANGED,
    "right": marks.RIGHT,
    "wrong": marks.WRONG,
}
_STEP, _LINE, _UNIT = 1.08, 1.5, 0.62  # of an image with its digit below; the last in inches
_IMAGES = ImagesView("")


@final
@dataclass(frozen=True)
class LongAdditionView:
    """Shows the images of two numbers with the digits read, and the sum.

    Args:
        length: Digits per number.

    Shape:
        - features: $(B, 2 length, 28, 28)$.
    """

    length: int
    title: str = "Long addition: digits the network read, and the solver's sum"
    per_report: int = 6
    searched: int = 1000
    css: str = _IMAGES.css

    @property
    def per_figure(self) -> int:
        """Fewer if numbers are long."""
        return max(3, 24 // self.length) if self.length > 2 else 12

    @property
    def wide(self) -> bool:
        """Whether an example needs a wide column in a report."""
        return self.length > 2

    def figure(self, examples: Examples, title: str) -> Any:
        """The images of both numbers, each with the digit read below it, and the sum."""
        texts = [self.answers(examples, i)[0] for i in range(len(examples))]
        width = max(self.length * _STEP + 0.4, marks.answer_width(texts, _UNIT))
        size = (width, 2 * _LINE + 1.1)
        figure, axes = marks.sheet(len(examples), size, _UNIT, title, _LEGEND)
        for i, axis in enumerate(axes):
            readings = examples.readings(i)
            for place, image in enumerate(examples.batch.features[i]):
                line, column = divmod(place, self.length)
                _digit(axis, image, readings[place], 0.2 + column * _STEP, line * _LINE)
            found, truth = self.answers(examples, i)
            notes, right = examples.notes(i, truth), bool(examples.right[i])
            marks.answer(axis, 0.2, 2 * _LINE + 0.4, found, notes, right)
        return figure

    def html(self, examples: Examples, i: int) -> str:
        """Images with the digits that were read below each."""
        return _IMAGES.html(examples, i)

    def terminal(self, examples: Examples, i: int, width: int) -> "Text | None":
        """Images as block characters."""
        return _IMAGES.terminal(examples, i, width)

    def symbols(self, examples: Examples, i: int) -> list[Reading]:
        """One per digit."""
        return _IMAGES.symbols(examples, i)

    def answers(self, examples: Examples, i: int) -> tuple[str, str]:
        """The sum as a number."""
        found, wanted = (
            "".join(map(str, side.values())).lstrip("0") or "0" for side in examples.outputs(i)
        )
        return (f"sum = {found}" if examples.answered[i] else "no answer"), wanted

    def values(self, theory: Theory, signs: Tensor) -> dict[str, list[Any]]:
        """All digits of both numbers."""
        return _IMAGES.values(theory, signs)


def _digit(axis: Any, image: Tensor, symbol: Reading, left: float, top: float) -> None:
    """An image and the digit read below it."""
    marks.picture(axis, image, left, top + 0.1, 1, 1)
    axis.text(
        left + 0.5, top + 1.3, symbol.text, fontsize=9, ha="center", va="center",
        color=marks.text_colour(symbol), gid=marks.MARK if symbol.overruled else None,
    )  # fmt: skip
