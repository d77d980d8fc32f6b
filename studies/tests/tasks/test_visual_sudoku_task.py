import pytest
import torch
import torch.nn.functional as F
from torch import nn

from smtlayer import Sat, SMTLayer
from smtlayer.errors import ConfigError
from smtlayer_studies.tasks.base import Model
from smtlayer_studies.tasks.mnist import DigitData, Digits, load_digits
from smtlayer_studies.tasks.networks import DenseHead, DigitNetwork
from smtlayer_studies.tasks.sudoku.boards import Boards, make_boards
from smtlayer_studies.tasks.sudoku.data import SudokuBoards, load_boards
from smtlayer_studies.tasks.sudoku.network import HintReader
from smtlayer_studies.tasks.sudoku.task import VisualSudoku

ALL = 10**6
COPIES = 4


def drawings(first):
    """Four images of each digit: two rows of ink, placed by the digit; a corner tells the image."""
    labels = torch.arange(10).repeat_interleave(COPIES)
    images = torch.zeros(len(labels), 28, 28, dtype=torch.uint8)
    for i, label in enumerate(labels.tolist()):
        images[i, 2 * label + 2 : 2 * label + 4, 4:24] = 255
        images[i, 0, 0] = first + i
    return Digits(images, labels)


@pytest.fixture(scope="module")
def boards():
    made = make_boards(60, seed=5)
    return SudokuBoards(
        Boards(made.puzzles[:50], made.solutions[:50]),
        Boards(made.puzzles[50:], made.solutions[50:]),
        "generated boards",
    )


@pytest.fixture(scope="module")
def digits():
    return DigitData(drawings(1), drawings(101), "sample")


@pytest.fixture(scope="module")
def task(digits, boards):
    return VisualSudoku(digits=digits, boards=boards)


def batch_of(task, split, count=ALL, seed=0):
    rows = task.rows(split, count, seed)
    return rows.batch(torch.arange(len(rows)))


def corners(batch):
    """The numbers of the images, 0 for blank cells."""
    return (batch.features[:, :, 0, 0] * 255).round().long()


def drawn_digits(batch):
    """The digits that the images show, 0 for blank cells."""
    ink = batch.features[:, :, :, 4:24].sum(-1) > 0  # (B, 81, 28)
    return torch.where(ink.any(-1), (ink.long().argmax(-1) - 2) // 2, 0)


@pytest.mark.parametrize("split", ["train", "test"])
def test_hints_are_images_of_their_digits_and_other_cells_are_blank(task, boards, split):
    part = boards.test if split == "test" else boards.train
    puzzles = torch.from_numpy(part.puzzles)[task.chosen(split)]
    batch = batch_of(task, split)
    assert batch.features.shape == (len(puzzles), 81, 28, 28)
    assert torch.equal(drawn_digits(batch), puzzles.long())
    assert not batch.features[puzzles == 0].any()
    assert (corners(batch)[puzzles != 0].unique().tolist()) == [
        (101 if split == "test" else 1) + i for i in range(COPIES, 10 * COPIES)
    ]  # every image of the split, and none of a zero or of the other split


@pytest.mark.parametrize("split", ["train", "test"])
def test_rows_carry_the_solution_and_the_hints(task, boards, split):
    part = boards.test if split == "test" else boards.train
    batch = batch_of(task, split)
    hints = drawn_digits(batch)
    bits = torch.tensor([8, 4, 2, 1])
    solutions = (batch.targets.reshape(-1, 81, 4) * bits).sum(-1).long()
    assert torch.equal(solutions, torch.from_numpy(part.solutions)[task.chosen(split)].long())
    symbols = batch.symbols.reshape(-1, 81, 4)
    assert symbols.dtype == torch.int8
    assert torch.equal(((symbols > 0) * bits).sum(-1), hints)
    assert torch.equal((symbols != 0).all(-1), hints != 0)
    assert torch.equal((symbols != 0).any(-1), hints != 0)
    assert torch.equal(batch.seen, torch.full((len(hints),), split == "train"))


def test_the_loss_never_looks_at_a_hint(task):
    for split in ("train", "test"):
        batch = batch_of(task, split)
        is_hint = (drawn_digits(batch) != 0).repeat_interleave(4, dim=-1)
        assert torch.equal(batch.known, is_hint)
        assert torch.equal(batch.asked, ~is_hint)
        assert not (batch.asked & (batch.symbols != 0)).any()


def test_a_board_keeps_its_images_in_all_epochs_and_with_all_percents(task, digits, boards):
    rows, _ = task.rows("train", ALL, 0), task.rows("test", ALL, 0)
    assert torch.equal(rows.items, task.rows("train", ALL, 0, epoch=3).items)
    assert torch.equal(rows.bank[1:], digits.train.images)
    assert torch.equal(task.rows("train", ALL, 0).bank, rows.bank)
    assert torch.equal(rows.items[:7], task.rows("train", 7, 0).items)
    fewer = VisualSudoku(digits=digits, boards=boards, percent=20).rows("train", ALL, 0)
    assert torch.equal(fewer.items, rows.items[:10])
    other = task.rows("train", ALL, 1)
    assert torch.equal(other.symbols, rows.symbols)
    assert not torch.equal(other.items, rows.items)


@pytest.mark.parametrize(("percent", "count"), [(10, 900), (50, 4_500), (100, 9_000)])
def test_percents_are_nested_shares_of_the_training_boards(digits, percent, count):
    numbers = torch.arange(9_000 * 81).reshape(9_000, 81).numpy()
    many = SudokuBoards(Boards(numbers, numbers), Boards(-numbers[1:], -numbers[1:]), "boards_10k")
    chosen = VisualSudoku(digits=digits, boards=many, percent=percent).chosen("train")
    assert len(chosen.unique()) == len(chosen) == count
    everything = VisualSudoku(digits=digits, boards=many).chosen("train")
    assert torch.equal(chosen, everything[:count])
    assert not torch.equal(everything, torch.arange(9_000))
    assert len(VisualSudoku(digits=digits, boards=many, percent=percent).chosen("test")) == 8_999


def test_validation_shares_no_boards_and_images_with_training(digits, boards):
    task = VisualSudoku(digits=digits, boards=boards, percent=80, validation=0.25)
    train, apart = task.chosen("train"), task.chosen("validation")
    assert (len(train), len(apart)) == (30, 10)
    assert len(torch.cat([train, apart]).unique()) == 40
    batch, other = batch_of(task, "train"), batch_of(task, "validation")
    assert other.seen.all()
    shown, held = (set(corners(b).unique().tolist()) - {0} for b in (batch, other))
    assert shown
    assert held
    assert not shown & held


def test_splits_and_options_that_are_impossible_are_errors(task, digits, boards):
    with pytest.raises(ConfigError, match=r"No boards are set apart.*such as 0\.1"):
        task.rows("validation", 10, 0)
    for percent in (0, 101):
        with pytest.raises(ConfigError, match=f"percent must be from 1 to 100. Got {percent}"):
            VisualSudoku(digits=digits, boards=boards, percent=percent)
    with pytest.raises(ConfigError, match=r"validation must be from 0 to below 1\. Got 1\."):
        VisualSudoku(digits=digits, boards=boards, validation=1)
    with pytest.raises(
        ConfigError, match=r"must leave boards .* Got 0\.6, which sets 1 of 1 apart"
    ):
        VisualSudoku(digits=digits, boards=boards, percent=2, validation=0.6).chosen("train")
    with pytest.raises(ConfigError, match=r"HintReader\. Got a DigitNetwork"):
        task.pretraining.autoencoder(DigitNetwork())


def test_the_record_names_images_and_boards(task):
    assert (task.name, task.data_source) == ("visual-sudoku", "sample, generated boards")
    assert task.data_title == "60 generated Sudoku boards; a sample of 5,000 MNIST images"


def test_the_reader_reads_hints_only_each_in_its_place(task):
    batch = batch_of(task, "train", 2)
    network = task.network()
    seen = []
    network.reader.register_forward_hook(lambda _, images, __: seen.append(images[0].shape[1]))
    logits = network(batch.features)
    assert logits.shape == (2, 324)
    assert seen == [int(batch.known.sum()) // 4]
    assert not logits[~batch.known].any()
    for cell in (
        (0, int(batch.known[0].nonzero()[0]) // 4),
        (1, int(batch.known[1].nonzero()[-1]) // 4),
    ):
        alone = network.reader(batch.features[cell][None, None])[0]
        row, place = cell
        torch.testing.assert_close(logits[row, 4 * place : 4 * place + 4], alone)
    logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in network.parameters())


def test_a_board_without_hints_has_no_logits():
    assert not HintReader()(torch.zeros(2, 81, 28, 28)).any()


def test_the_auto_encoder_trains_the_reader_on_hints_alone(task):
    network = task.network()
    encoder = task.pretraining.autoencoder(network)
    batch = batch_of(task, "train", 2)
    error = encoder(batch.features)
    error.backward()
    assert network.reader.layers[0].weight.grad.any()
    hints = batch.features[(drawn_digits(batch) != 0)]
    torch.testing.assert_close(encoder(hints[:, None]), error)


def test_the_conventional_head_has_one_hidden_layer_of_512(task):
    head = DenseHead(task.theory)
    assert isinstance(head, DenseHead)
    assert [tuple(p.shape) for p in head.parameters()] == [(512, 324), (512,), (324, 512), (324,)]


def test_the_layer_completes_every_board_from_its_hints(task):
    rows = task.rows("test", ALL, 0)
    layer = SMTLayer(task.theory).eval()
    outputs = layer(rows.symbols.float() * 2, rows.known)
    assert torch.equal(outputs, 2 * rows.targets - 1)


def test_the_loss_on_other_cells_pushes_exactly_the_misread_bits_right(task):
    rows = task.rows("train", 4, 0)
    layer = SMTLayer(task.theory, backward="maxsmt")
    torch.manual_seed(1)
    right = rows.symbols.float()
    misread = (torch.rand(right.shape) < 0.1) & rows.known
    logits = (
        right * torch.where(misread, -1, 1) * (0.5 + torch.rand(right.shape))
    ).requires_grad_()
    outputs = layer(logits, rows.known)
    loss = F.binary_cross_entropy_with_logits(outputs, rows.targets, reduction="none")
    loss[rows.asked].mean().backward()
    assert misread.any(-1).all()
    step = -logits.grad
    assert (step[misread] * right[misread] > 0).all()
    assert not step[~rows.known].any()


def test_three_steps_of_training_read_the_hints_better(task):
    batch = batch_of(task, "train", 4)
    model = Model(HintReader(), SMTLayer(task.theory, backward="maxsmt"))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    wanted, errors = (batch.symbols > 0).float(), []
    for _ in range(4):
        logits, outputs = model(batch.features, batch.known)
        with torch.no_grad():
            read = F.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
            errors.append(read[batch.known].mean().item())
        loss = F.binary_cross_entropy_with_logits(outputs, batch.targets, reduction="none")
        optimizer.zero_grad()
        loss[batch.asked].mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < errors[0] - 0.02


def test_the_real_boards_have_real_images_and_are_solved_from_their_hints(mnist_dir):
    if not (mnist_dir / "sudoku" / "boards_10k.npz").is_file():
        pytest.skip("needs Sudoku boards: name the folder that holds sudoku/ with SMTLAYER_DATA")
    images = load_digits("mnist", mnist_dir)
    task = VisualSudoku(digits=images, boards=load_boards(mnist_dir), percent=10)
    assert task.data_source == "mnist, boards_10k"
    train, test = (task.rows(split, ALL, 0) for split in ("train", "test"))
    assert (len(train), len(test)) == (900, 1_000)
    for rows, split in ((train, images.train), (test, images.test)):
        hints = rows.items > 0
        wanted = ((rows.targets.reshape(-1, 81, 4) * torch.tensor([8, 4, 2, 1])).sum(-1)).long()
        assert torch.equal(split.labels[rows.items[hints] - 1], wanted[hints])
        assert torch.equal(rows.bank[1:], split.images)
        assert not rows.bank[0].any()
    layer = SMTLayer(task.theory).eval()
    few = test.batch(torch.arange(20))
    assert torch.equal(layer(few.symbols.float(), few.known), 2 * few.targets - 1)


@pytest.mark.slow
def test_training_ends_with_boards_that_are_solved(task):
    train, test = batch_of(task, "train", 8), batch_of(task, "test")
    model = Model(HintReader(), SMTLayer(task.theory, backward="maxsmt"))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for _ in range(30):
        _, outputs = model(train.features, train.known)
        loss = F.binary_cross_entropy_with_logits(outputs, train.targets, reduction="none")
        optimizer.zero_grad()
        loss[train.asked].mean().backward()
        optimizer.step()
    model.eval()
    _, outputs = model(test.features, test.known)
    assert torch.equal(outputs > 0, test.targets > 0.5)


def test_digits_are_read_as_nine_columns_a_cell(digits, boards):
    task = VisualSudoku(digits=digits, boards=boards, reading="digits")
    batch = batch_of(task, "train")
    hints = drawn_digits(batch)
    assert task.theory.input_widths == (9,) * 81
    symbols = batch.symbols.reshape(-1, 81, 9)
    assert torch.equal((symbols != 0).all(-1), hints != 0)
    assert torch.equal(torch.where(hints != 0, symbols.argmax(-1) + 1, 0), hints)
    assert torch.equal(batch.known, (hints != 0).repeat_interleave(9, dim=-1))
    assert torch.equal(batch.asked, (hints == 0).repeat_interleave(4, dim=-1))
    assert task.network()(batch.features[:2]).shape == (2, 729)


def test_a_misread_digit_is_blamed_in_both_of_its_columns(digits, boards):
    task = VisualSudoku(digits=digits, boards=boards, reading="digits")
    batch = batch_of(task, "train").pick(torch.arange(3))
    logits = batch.symbols.float() * 4
    cell = int((batch.symbols[0] != 0).nonzero()[0]) // 9
    true = int(batch.symbols[0, 9 * cell : 9 * cell + 9].argmax())
    wrong = (true + 1) % 9
    logits[0, 9 * cell + true], logits[0, 9 * cell + wrong] = -1.0, 1.0
    logits.requires_grad_()
    outputs = SMTLayer(task.theory, backend=Sat(), backward="maxsmt")(logits, batch.known)
    loss = F.binary_cross_entropy_with_logits(outputs, batch.targets, batch.asked.float())
    loss.backward()
    assert logits.grad[0, 9 * cell + true] < 0  # to be raised
    assert logits.grad[0, 9 * cell + wrong] > 0
    others = torch.ones_like(logits, dtype=torch.bool)
    others[0, [9 * cell + true, 9 * cell + wrong]] = False
    held = others & batch.known
    assert ((logits.grad < 0) == (logits > 0))[held].all()


def test_another_reading_is_refused(digits, boards):
    with pytest.raises(ConfigError, match="reading must be 'bits' or 'digits'"):
        VisualSudoku(digits=digits, boards=boards, reading="roman")
