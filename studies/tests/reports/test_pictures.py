import pytest
import torch

from reports.made import examples_of, marks_of, one_hot_signs, png_size, texts_of
from smtlayer_studies.tasks import marks
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.images import ImagesView
from smtlayer_studies.tasks.liars.sentences import Kind, tokens, wording
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.liars.view import LiarsView
from smtlayer_studies.tasks.sudoku.theory import encode_boards, known_cells, sudoku_theory
from smtlayer_studies.tasks.sudoku.view import SudokuView

SOLVED = [1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1]  # a board of 4 by 4


def colours_of(figure):
    """Colours by line of text."""
    texts = [text for axis in figure.axes for text in axis.texts]
    return {line: text.get_color() for text in texts for line in text.get_text().splitlines()}


def algebra(features, a):
    """3 x + 2 = 17, read with other values of a."""
    theory = algebra_theory()
    count = len(a)
    read = theory.encode(a=a, b=2, c1=1, c2=7)
    truth = theory.encode(a=[3] * count, b=2, c1=1, c2=7)
    wanted = theory.encode_outputs(x=[5] * count)
    return examples_of(theory, features, read, truth, wanted)


@pytest.mark.parametrize("shape", [(4, 28, 28), (28, 224)])
def test_images_have_a_mark_for_every_bit_overruled(shape, tmp_path):
    examples = algebra(torch.rand(3, *shape), a=[3, 11, 2])
    figure = ImagesView("").figure(examples, "Equations")
    assert marks_of(figure) == examples.overruled.sum() > 1
    texts = texts_of(figure)
    assert texts.count("x = 5") == examples.right.sum() >= 1
    assert texts.count("truth: 5") == 3 - examples.right.sum()
    assert "Equations" in texts
    assert "a = 3" in texts
    assert f"a = 11 → {examples.readings(1)[0].taken}" in texts
    width, height = png_size(marks.save(figure, tmp_path / "new" / "images.png"))
    assert 600 < width < 1800
    assert 200 < height < 1200


def test_answers_are_green_if_right_and_red_if_wrong():
    examples = algebra(torch.rand(2, 4, 28, 28), a=[3, 5])  # 5 x + 2 = 17 has a solution too
    figure = ImagesView("").figure(examples, "")
    colours = colours_of(figure)
    assert colours["x = 5"] == marks.RIGHT
    wrong, _ = examples.answers(1)
    assert colours[wrong] == colours["truth: 5"] == marks.WRONG


def board(read):
    """A board of which the first two rows are hints."""
    theory = sudoku_theory(2)
    solved = torch.tensor([SOLVED])
    hints = torch.where(torch.arange(16) < 8, solved, 0)
    known = known_cells(hints)
    shown = torch.where(hints > 0, torch.tensor([read + [0] * 8]), 0)
    features = (hints > 0).float()[:, :, None, None].expand(-1, -1, 28, 28)
    return examples_of(
        theory, features, encode_boards(theory, shown), encode_boards(theory, hints),
        encode_boards(theory, solved), known,
    )  # fmt: skip


def filled(figure):
    return figure.findobj(lambda artist: artist.get_gid() == "answer")


def test_a_right_board_is_filled_in_blue(tmp_path):
    examples = board(SOLVED[:8])
    # Eight hints leave more than one solution: take the solver's for the truth.
    examples.batch.targets[:] = (examples.answer.outputs > 0).float()
    figure = SudokuView().figure(examples, "Boards")
    assert marks_of(figure) == 0
    assert len(filled(figure)) == 8
    assert {text.get_color() for text in filled(figure)} == {marks.TRUE}
    assert "8 hints, 0 overruled: all cells right" in texts_of(figure)
    width, height = png_size(marks.save(figure, tmp_path / "boards.png"))
    assert width > 300
    assert height > 300


def test_an_overruled_hint_has_a_frame_and_both_numbers():
    examples = board([1, 2, 3, 7, *SOLVED[4:8]])  # 7 is no number of this board
    figure = SudokuView().figure(examples, "")
    assert marks_of(figure) == 1
    (reading,) = [reading for reading in examples.readings(0) if reading.overruled]
    assert (reading.read, reading.taken) == (7, 4)
    assert "7→4" in texts_of(figure)


def test_wrong_cells_are_red_and_misread_hints_have_a_red_frame():
    swapped = [2, 1, 3, 4, 3, 4, 1, 2]  # the first two: a possible board, and another one
    examples = board([*swapped[:4], 4, 3, 1, 2])
    figure = SudokuView().figure(examples, "")
    assert marks_of(figure) == 0
    assert len(figure.findobj(lambda artist: artist.get_gid() == "misread")) == 4
    assert "read 2" in texts_of(figure)
    wrong = [text for text in filled(figure) if text.get_color() == marks.WRONG]
    count = sum(
        found != wanted
        for found, wanted in zip(
            examples.theory.decode(examples.answer.outputs[0]).values(), SOLVED, strict=True
        )
    )
    assert len(wrong) + 4 == count > 4
    assert len(figure.findobj(lambda artist: artist.get_gid() == "truth")) == len(wrong)
    assert f"8 hints, 0 overruled: {count} of 16 cells wrong" in texts_of(figure)


SENTENCES = (Kind(0, 1, False), Kind(1, 2, True), Kind(2, 0, True))  # Charlie lies


def puzzle(readings):
    theory = liars_theory()
    features = torch.tensor([[tokens(wording(kind, 0)) for kind in SENTENCES]])
    read, truth = (
        torch.tensor([[sign for signs in kinds for sign in signs]], dtype=torch.int8)
        for kinds in (readings, [kind.signs for kind in SENTENCES])
    )
    return examples_of(theory, features, read, truth, torch.tensor([one_hot_signs(2, 3)]))


def test_sentences_show_their_words_and_what_was_read(tmp_path):
    examples = puzzle([kind.signs for kind in SENTENCES])
    assert examples.right.all()
    figure = LiarsView().figure(examples, "Puzzles")
    texts = texts_of(figure)
    assert "Alice says Bob did not do it." in texts
    assert "→ Charlie" in texts
    assert texts.count("accuses") == 2
    assert texts.count("defends") == 1
    assert marks_of(figure) == 0
    width, height = png_size(marks.save(figure, tmp_path / "sentences.png"))
    assert width > 800
    assert height > 200


def test_parts_of_a_sentence_that_were_overruled_are_marked():
    signs = [kind.signs for kind in SENTENCES]
    signs[0][0] = -1  # no one speaks first
    signs[1][3] = 1  # Bob speaks of two
    examples = puzzle(signs)
    figure = LiarsView().figure(examples, "")
    texts = texts_of(figure)
    assert "none → Alice" in texts
    assert "A+C → Charlie" in texts
    assert marks_of(figure) == 2
    assert "overruled" in texts


def test_the_wrong_one_is_named_in_red_with_the_truth():
    signs = [kind.signs for kind in SENTENCES]
    signs[1][6], signs[2][6] = -1, 1
    signs[0][6] = 1
    examples = puzzle(signs)
    figure = LiarsView().figure(examples, "")
    assert not examples.right.any()
    assert colours_of(figure)["truth: Charlie"] == marks.WRONG
