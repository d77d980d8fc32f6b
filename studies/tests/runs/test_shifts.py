import torch

from smtlayer_studies.runs import Trainer
from smtlayer_studies.runs.shifts import shifted_each, shifted_together, turned
from smtlayer_studies.tasks.base import Rows


def bright(*shape):
    """Images with one bright pixel in the middle."""
    images = torch.zeros(*shape, 5, 7)
    images[..., 2, 3] = 1.0
    return images


def places(images):
    return images.flatten(-2).argmax(-1).flatten().tolist()


def test_images_move_together_or_each_in_its_own_way():
    torch.manual_seed(0)
    images = bright(40, 6)
    assert len(set(places(shifted_together(images, 1)))) == 1
    expected = {(2 + down) * 7 + 3 + right for down in (-1, 0, 1) for right in (-1, 0, 1)}
    assert set(places(shifted_each(images, 1))) == expected


def test_a_shift_moves_an_image_as_a_whole():
    torch.manual_seed(0)
    images = torch.rand(30, 2, 5, 7)
    moves = [(down, right) for down in range(-2, 3) for right in range(-2, 3)]
    for image, shifted in zip(images.flatten(0, 1), shifted_each(images, 2).flatten(0, 1),
                              strict=True):  # fmt: skip
        assert any(torch.equal(shifted, image.roll(move, dims=(0, 1))) for move in moves)


def test_wide_images_move_as_one():
    torch.manual_seed(0)
    assert shifted_each(bright(9), 2).shape == (9, 5, 7)


def test_a_training_moves_each_image_if_asked(task, config):
    seen = []

    class Looking(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.read = torch.nn.Linear(1, 2)

        def forward(self, features):
            seen.append(set(places(features)))
            return self.read(features.flatten(1)[:, :1] * 0)

    def rows(split, count, seed, epoch=0):
        made = type(task).rows(task, split, count, seed, epoch)
        return Rows(bright(count), made.targets, made.symbols, made.seen)

    task.network, task.rows = Looking, rows
    Trainer(task, config(train={"shift": 1, "shift_each": True})).run()
    assert all(len(batch) > 2 for batch in seen)


def test_images_turn_about_their_centre_each_in_its_own_way():
    torch.manual_seed(0)
    images = torch.zeros(40, 2, 28, 28)
    images[..., 13:15, 4:24] = 1  # a horizontal bar
    moved = turned(images, 30)
    assert moved.shape == images.shape
    assert (moved[..., 13:15, 13:15] > 0.8).all()  # the centre stays
    assert len({round(float(each), 4) for each in moved.flatten(0, 1)[:, :12].sum((1, 2))}) > 60
    assert torch.allclose(moved.sum((-2, -1)), images.sum((-2, -1)), rtol=0.06)
    torch.testing.assert_close(turned(images, 0.0), images)


def test_a_quarter_turn_is_that_of_rot90(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda count, **options: torch.ones(count))
    images = torch.randn(3, 1, 28, 28)
    torch.testing.assert_close(turned(images, 90), images.rot90(1, (-2, -1)), atol=1e-4, rtol=0)
