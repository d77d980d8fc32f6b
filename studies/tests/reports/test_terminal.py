"""Rows in a terminal: pictures keep their lines, however narrow it is."""

import pytest
import torch
from rich.console import Console

from reports.made import examples_of
from smtlayer import SMTLayer
from smtlayer_studies.reports.example_report import ExampleReport
from smtlayer_studies.reports.terminal import example_text
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.images import ImagesView

SYMBOLS = 8


def equation():
    """A row of Visual algebra #2: one image, all ink but for a margin around each symbol."""
    theory = algebra_theory()
    image = torch.zeros(28, 28)
    image[4:24, 4:24] = 1
    signs = theory.encode(a=3, b=2, c1=0, c2=8)[None]
    wanted = theory.encode_outputs(x=2)[None]
    examples = examples_of(theory, image.repeat(1, SYMBOLS)[None], signs, signs, wanted)
    (why,) = SMTLayer(theory).eval().explain(examples.logits, wanted)
    return ExampleReport(ImagesView(""), "test", 0, examples, why)


def printed(one, width):
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(example_text(one, "made", width), width=width, highlight=False)
    return captured.get().splitlines()


@pytest.mark.parametrize(("width", "in_line"), [(20, 1), (60, 3), (80, 4), (100, 5)])
def test_a_wide_image_is_cut_between_symbols_and_no_line_wraps(width, in_line):
    lines = printed(equation(), width)
    assert max(map(len, lines)) <= width
    drawn = [line.strip() for line in lines if "█" in line]
    whole = (" " * 7).join(["█" * 10] * in_line)
    rest = (" " * 7).join(["█" * 10] * (SYMBOLS % in_line or in_line))
    assert drawn == [whole] * (5 * (-(-SYMBOLS // in_line) - 1)) + [rest] * 5
