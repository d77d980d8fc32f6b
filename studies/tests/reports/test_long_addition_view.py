import pytest
import torch

from reports.made import examples_of, png_size, texts_of
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.long_addition.theory import long_addition_theory
from smtlayer_studies.tasks.long_addition.view import LongAdditionView


def sums(length, read, truth):
    """Two numbers of several digits each, as they were read and as they are."""
    theory = long_addition_theory(length, reading="digits")

    def encoded(pairs):
        digits = [[int(d) for number in pair for d in f"{number:0{length}d}"] for pair in pairs]
        names = (symbol.name for symbol in theory.input_symbols)
        return theory.encode(**dict(zip(names, torch.tensor(digits).T, strict=True)))

    totals = [[int(d) for d in f"{sum(pair):0{length + 1}d}"] for pair in truth]
    wanted = {f"s{i}": column for i, column in enumerate(zip(*totals, strict=True))}
    images = torch.rand(len(read), 2 * length, 28, 28)
    outputs = theory.encode_outputs(**wanted)
    return examples_of(theory, images, encoded(read), encoded(truth), outputs)


@pytest.fixture(scope="module")
def examples():
    return sums(2, [(19, 3), (0, 0)], [(19, 8), (0, 0)])


def test_the_answer_is_a_number(examples):
    view = LongAdditionView(2)
    assert [view.answers(examples, i) for i in range(2)] == [("sum = 22", "27"), ("sum = 0", "0")]


def test_a_figure_shows_both_numbers_the_digits_read_and_the_sum(examples, tmp_path):
    figure = LongAdditionView(2).figure(examples, "Sums")
    texts = texts_of(figure)
    assert {"Sums", "sum = 22", "truth: 27", "sum = 0", "1", "9", "3"} <= set(texts)
    colours = {text.get_text(): text.get_color() for axis in figure.axes for text in axis.texts}
    assert colours["sum = 22"] == colours["3"] == marks.WRONG
    assert (colours["sum = 0"], colours["9"]) == (marks.RIGHT, marks.INK)
    assert sum(len(axis.images) for axis in figure.axes) == 8
    width, height = png_size(marks.save(figure, tmp_path / "sums.png"))
    assert 600 < width < 1800
    assert 300 < height < 1200


def test_long_numbers_fit_on_a_page(tmp_path):
    view = LongAdditionView(15)
    pair = (987654321987654, 123456789123456)
    examples = sums(15, [pair] * view.per_figure, [pair] * view.per_figure)
    assert view.wide
    assert not LongAdditionView(2).wide
    assert view.answers(examples, 0)[0] == f"sum = {sum(pair)}"
    width, height = png_size(marks.save(view.figure(examples, "Sums"), tmp_path / "sums.png"))
    assert width < 1800
    assert height < 1800


def test_html_and_text_show_every_digit(examples):
    view = LongAdditionView(2)
    page = view.html(examples, 0)
    assert page.count("<img") == 4
    assert 'b1 = <span class="wrong">3</span>' in page
    assert "truth 8" in page
    assert "b1 = 3" in str(view.terminal(examples, 0, 100))
    assert [symbol.text for symbol in view.symbols(examples, 0)] == ["1", "9", "0", "3"]
    assert view.values(examples.theory, examples.signs) == {"digits": [1, 0, 9, 0, 0, 0, 3, 0]}


def test_the_certainty_of_a_one_hot_digit_is_its_softmax(examples):
    digits = examples.logits[0].unflatten(-1, (4, 10)).softmax(-1).amax(-1)
    found = [symbol.certainty for symbol in LongAdditionView(2).symbols(examples, 0)]
    assert found == pytest.approx(digits.tolist())
