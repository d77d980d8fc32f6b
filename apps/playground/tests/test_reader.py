"""The digit reader that comes with the playground."""

import pytest
import torch
from torch import nn

from smtlayer_playground.reader import BitReader, NumberReader, shipped
from smtlayer_studies.tasks.mnist import load_digits


def count_of_right_boards(page, seeds):
    right = 0
    for seed in seeds:
        board = page.board({"seed": seed})
        right += page.answer({"images": board["images"]})["solution"] == board["solution"]
    return right


def test_fresh_sudokus_come_out_right(pages):
    assert count_of_right_boards(pages.sudoku, range(10)) == 10


@pytest.mark.slow
def test_95_of_100_fresh_sudokus_come_out_right(pages):
    assert count_of_right_boards(pages.sudoku, range(100)) >= 95


def test_bits_and_numbers_agree_with_the_scores():
    run = shipped()["mnist-addition"]
    digits = load_digits().test
    step = len(digits.labels) // 200
    images, labels = digits.images[::step, None].float() / 255, digits.labels[::step]
    with torch.no_grad():
        scores = run.network.reader(images)[:, 0]
        bits = run.network(images)
        numbers = shipped()["visual-sudoku"].network(images)
    read = ((bits > 0) * torch.tensor([8, 4, 2, 1])).sum(-1)
    assert (read == labels).float().mean() >= 0.98
    assert (scores.argmax(-1) == labels).float().mean() >= 0.98
    assert ((numbers > 0).sum(-1) == 1).all()
    assert torch.equal(numbers.argmax(-1) + 1, scores[:, 1:].argmax(-1) + 1)


class Scores(nn.Module):
    """Scores of a distribution, whatever the image."""

    def __init__(self, chances):
        super().__init__()
        self.scores = torch.tensor(chances).log() + 3  # up to a constant

    def forward(self, images):
        return self.scores.expand(*images.shape[:2], 10)


def test_the_log_odds_of_bits_are_those_of_the_digits():
    chances = [0.05, 0.2, 0.01, 0.04, 0.1, 0.1, 0.1, 0.1, 0.2, 0.1]
    bits = BitReader(Scores(chances))(torch.zeros(2, 3, 28, 28))
    assert bits.shape == (2, 12)
    for place, logit in zip((8, 4, 2, 1), bits[0, :4], strict=True):
        chance = sum(chances[digit] for digit in range(10) if digit & place)
        assert logit.sigmoid().item() == pytest.approx(chance)


def test_changing_a_number_costs_the_difference_of_its_scores():
    chances = [0.3, 0.2, 0.01, 0.04, 0.05, 0.1, 0.05, 0.05, 0.15, 0.05]
    numbers = NumberReader(Scores(chances))(torch.zeros(1, 1, 28, 28))[0]
    assert (numbers > 0).tolist() == [True] + [False] * 8
    for other in range(1, 9):
        cost = (numbers[0] + numbers[other].abs()).item()
        assert cost == pytest.approx(numbers.new_tensor(0.2 / chances[other + 1]).log().item())
