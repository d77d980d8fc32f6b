"""Visual algebra: the theory, the equations that are drawn, and their images."""

import itertools
import random

import pytest
import torch
import z3

from smtlayer.errors import ConfigError, MissingDataError
from smtlayer.solvers import Z3, Status
from smtlayer_studies.tasks.algebra.data import (
    EQUALS,
    LETTER,
    PLUS,
    TIMES,
    AlgebraSymbols,
    load_symbols,
)
from smtlayer_studies.tasks.algebra.network import OrderedReader, WholeImageNetwork
from smtlayer_studies.tasks.algebra.task import VisualAlgebra
from smtlayer_studies.tasks.algebra.theory import algebra_theory
from smtlayer_studies.tasks.mnist import DigitData, Digits, load_digits
from smtlayer_studies.tasks.networks import DenseHead, DigitAutoencoder, DigitNetwork
from tasks.every_model import every_model

PROBLEMS = {
    (a, b, *divmod(a * x + b, 10), x) for a, b, x in itertools.product(range(1, 10), repeat=3)
}
TRAIN, VALIDATION, TEST = 0, 70, 140  # what is added to the pixels of a split


def fake(labels, split):
    """Images whose every pixel is the label times five, more in other splits."""
    labels = torch.tensor(labels).repeat_interleave(4)
    pixels = (labels * 5 + split).to(torch.uint8)
    return Digits(pixels[:, None, None].expand(-1, 28, 28).contiguous(), labels)


def fake_digits(validation=True):
    parts = [fake(range(10), split) for split in (TRAIN, TEST, VALIDATION)]
    return DigitData(parts[0], parts[1], "mnist", parts[2] if validation else None)


def fake_symbols(validation=True):
    kinds = [LETTER, TIMES, PLUS, EQUALS]
    parts = [fake(kinds, split) for split in (TRAIN, TEST, VALIDATION)]
    return AlgebraSymbols(parts[0], parts[1], "letters+operators", parts[2] if validation else None)


def task(configuration=1, **options):
    symbols = fake_symbols() if configuration == 2 else None
    return VisualAlgebra(
        digits=fake_digits(), symbols=symbols, configuration=configuration, **options
    )


def labels_shown(features, split):
    """The labels of images: (B, d, 28, 28) to (B, d)."""
    assert torch.equal(features.amin((-1, -2)), features.amax((-1, -2)))
    pixels = (features[..., 0, 0] * 255).round().long() - {"train": 0, "test": 140}.get(split, 70)
    assert (pixels % 5 == 0).all()
    return pixels // 5


def whole(rows, index=None):
    batch = rows.batch(torch.arange(len(rows)) if index is None else index)
    return batch, batch.features.reshape(len(batch.features), 28, 8, 28).movedim(2, 1)


def test_the_models_are_all_problems_with_their_solutions():
    assert len(PROBLEMS) == 729
    assert every_model(algebra_theory(), z3.BitVecs("a b c1 c2 x", 4)) == PROBLEMS


def test_as_printed_the_theory_is_the_equation_alone():
    bare, full = algebra_theory(as_printed=True), algebra_theory()
    assert bare.constraint_names == full.constraint_names[:1]
    assert bare.constraints[0].eq(full.constraints[0])
    assert (bare.input_names, bare.output_names) == (full.input_names, full.output_names)


def test_every_problem_has_one_solution():
    assert len({problem[:4] for problem in PROBLEMS}) == 729


def test_all_problems_are_solved_and_wrong_right_hand_sides_refused():
    theory = algebra_theory()
    solver = Z3().compile(theory)
    a, b, c1, c2, x = (torch.tensor(column) for column in zip(*sorted(PROBLEMS), strict=True))
    solved = solver.solve(theory.encode(a=a, b=b, c1=c1, c2=c2))
    assert (solved.status == Status.SAT).all()
    assert theory.decode(solved.outputs)["x"].tolist() == x.tolist()

    right = {problem[:4] for problem in PROBLEMS}
    draw = random.Random(0)
    every = [(*p[:2], *c) for p in PROBLEMS for c in itertools.product(range(10), repeat=2)]
    wrong = draw.sample(sorted(set(every) - right), 300)
    a, b, c1, c2 = (torch.tensor(column) for column in zip(*wrong, strict=True))
    refused = solver.solve(theory.encode(a=a, b=b, c1=c1, c2=c2))
    assert (refused.status == Status.UNSAT).all()


def test_a_network_gives_four_digits_and_gets_one():
    theory = algebra_theory()
    assert (theory.n_inputs, theory.n_outputs) == (16, 4)
    assert theory.input_widths == (4, 4, 4, 4)
    assert theory.input_names[::4] == ("a[3]", "b[3]", "c1[3]", "c2[3]")
    assert theory.output_names[0] == "x[3]"


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_rows_carry_x_as_target_and_the_digits_as_hidden_symbols(split):
    problem = task()
    batch = problem.rows(split, 6000, seed=3).batch(torch.arange(6000))
    assert batch.features.shape == (6000, 4, 28, 28)
    a, b, c1, c2 = labels_shown(batch.features, split).T
    x = torch.as_tensor(problem.theory.decode(batch.targets * 2 - 1)["x"])
    assert set(batch.targets.unique().tolist()) == {0, 1}
    assert torch.equal(a * x + b, 10 * c1 + c2)
    read = problem.theory.decode_inputs(batch.symbols)
    for name, shown in {"a": a, "b": b, "c1": c1, "c2": c2}.items():
        assert read[name].tolist() == shown.tolist()
    assert torch.equal(batch.seen, (a == b) & (x % 2 == 1))

    drawn = set(zip(a.tolist(), b.tolist(), x.tolist(), strict=True))
    if split == "test":
        assert len(drawn) > 700
        assert drawn <= set(itertools.product(range(1, 10), repeat=3))
        assert 0.03 < batch.seen.float().mean() < 0.1  # 45 of 729
    else:
        assert drawn == {(n, n, odd) for n in range(1, 10) for odd in range(1, 10, 2)}
        assert batch.seen.all()


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_the_whole_image_is_the_equation_from_left_to_right(split):
    problem = task(2)
    rows = problem.rows(split, 500, seed=3)
    batch, windows = whole(rows)
    assert batch.features.shape == (500, 28, 224)
    shown = labels_shown(windows, split)
    a, times, letter, plus, b, equals, c1, c2 = shown.T
    for column, label in ((times, TIMES), (letter, LETTER), (plus, PLUS), (equals, EQUALS)):
        assert (column == label).all()
    read = problem.theory.decode_inputs(batch.symbols)
    for name, column in {"a": a, "b": b, "c1": c1, "c2": c2}.items():
        assert read[name].tolist() == column.tolist()


def test_both_configurations_pose_the_same_equations():
    one, two = (task(configuration).rows("test", 300, seed=8) for configuration in (1, 2))
    assert torch.equal(one.symbols, two.symbols)
    assert torch.equal(one.targets, two.targets)


@pytest.mark.parametrize("configuration", [1, 2])
def test_rows_depend_on_seed_and_epoch_only(configuration):
    rows = {key: task(configuration).rows("train", 64, *key) for key in [(5, 0), (5, 1), (6, 0)]}
    again = task(configuration).rows("train", 64, 5, 1)
    assert torch.equal(rows[5, 1].items, again.items)
    assert torch.equal(rows[5, 1].targets, again.targets)
    for other in ((5, 0), (6, 0)):
        assert not torch.equal(rows[other].items, again.items)
        assert not torch.equal(rows[other].symbols, again.symbols)


def test_an_epoch_has_60_000_rows_unless_told():
    rows = task().rows("train")
    assert len(rows) == 60_000
    assert rows.items.shape == (60_000, 4)


def test_the_record_names_the_data():
    assert (task().data_source, task().data_title) == ("mnist", "MNIST, all 70,000 images")
    assert task(2).data_source == "mnist+letters+operators"
    assert "EMNIST letters (a to m) and HASY operators" in task(2).data_title
    assert "x" in task().view.title
    assert task().name == "visual-algebra"


def test_symbols_are_set_apart_for_validation_in_the_share_of_the_digits():
    digits = fake_digits(validation=False).with_validation(0.25)
    symbols = fake_symbols(validation=False)
    rows = VisualAlgebra(digits=digits, symbols=symbols, configuration=2).rows(
        "validation", 400, seed=0
    )
    assert len(rows.bank) == 14  # one of the four of each
    train = VisualAlgebra(digits=digits, symbols=symbols, configuration=2).rows(
        "train", 400, seed=0
    )
    assert len(train.bank) == 3 * 14
    assert (
        len(
            VisualAlgebra(digits=fake_digits(False), symbols=symbols, configuration=2)
            .rows("train", 9)
            .bank
        )
        == 4 * 14
    )


def test_validation_needs_images_set_apart():
    for configuration in (1, 2):
        problem = VisualAlgebra(
            digits=fake_digits(False), symbols=fake_symbols(False), configuration=configuration
        )
        with pytest.raises(ConfigError, match="set apart for validation"):
            problem.rows("validation", 10, 0)


def test_networks_are_those_of_the_configuration():
    assert isinstance(task().network(), DigitNetwork)
    assert isinstance(task(2).network(), WholeImageNetwork)
    assert isinstance(task(2, network="ordered").network(), OrderedReader)
    for problem in (task(), task(2), task(2, network="ordered")):
        features = problem.rows("train", 3, 0).batch(torch.arange(3)).features
        logits = problem.network()(features)
        assert logits.shape == (3, 16)
        assert DenseHead(problem.theory)(logits).shape == (3, 4)


def test_only_single_digits_are_reconstructed():
    problem = task()
    assert isinstance(problem.pretraining.autoencoder(problem.network()), DigitAutoencoder)
    assert task(2).pretraining.autoencoder is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"configuration": 3}, "configuration must be 1 or 2. Got 3"),
        ({"network": "best"}, "network must be 'paper' or 'ordered'. Got 'best'"),
        ({"network": "ordered"}, "only configuration 2 shows"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        VisualAlgebra(digits=fake_digits(), **options)


def test_missing_symbols_are_named(tmp_path):
    with pytest.raises(MissingDataError, match=r"emnist-letters is needed.*configuration 2 is not"):
        load_symbols(tmp_path)


@pytest.fixture(scope="module")
def symbols():
    try:
        return load_symbols()
    except MissingDataError as error:
        pytest.skip(f"needs EMNIST letters and HASY operators in SMTLAYER_DATA: {error}")


def test_the_real_symbols_have_their_numbers(symbols):
    # 1,509 \times and 122 distinct \cdot, 90 +, 180 \doteq
    counts = [torch.bincount(part.labels).tolist() for part in (symbols.train, symbols.test)]
    assert [one + other for one, other in zip(*counts, strict=True)] == [0] * 10 + [
        10_000, 1631, 90, 180,
    ]  # fmt: skip
    assert all(abs(one - other) <= 2 for one, other in zip(*counts, strict=True))
    assert symbols.source == "emnist-letters(a-m)+hasy"
    assert symbols.train.images.shape[1:] == (28, 28)
    assert symbols.train.images.dtype == torch.uint8


def test_no_real_test_image_is_in_training(symbols):
    apart = symbols.with_validation(0.1)
    parts = [
        [image.numpy().tobytes() for image in part.images]
        for part in (apart.train, apart.validation, apart.test)
    ]
    assert all(len(set(part)) == len(part) for part in parts)
    assert len({image for part in parts for image in part}) == sum(map(len, parts))


def test_real_symbols_are_ink_on_paper_like_digits(symbols):
    for label in (LETTER, TIMES, PLUS, EQUALS):
        images = symbols.train.images[symbols.train.labels == label].float()
        ink = images.mean() / 255
        assert 0.02 < ink < 0.35
        assert images.amax((1, 2)).min() > 100
    plus = symbols.train.images[symbols.train.labels == PLUS].float().mean(0)
    assert plus[11:17, 11:17].mean() > 3 * plus[:6, :6].mean()  # a cross, upright


def test_a_real_equation_shows_its_numbers(symbols):
    digits = load_digits("mnist")
    problem = VisualAlgebra(digits=digits, symbols=symbols, configuration=2)
    assert problem.data_source == "mnist+emnist-letters(a-m)+hasy"
    rows = problem.rows("test", 50, 0)
    batch, windows = whole(rows)
    train = {image.numpy().tobytes() for image in digits.train.images}
    train |= {image.numpy().tobytes() for image in symbols.train.images}
    seen = (windows * 255).round().to(torch.uint8).flatten(0, 1)
    assert not any(image.numpy().tobytes() in train for image in seen)
    images, labels = digits.test.images, digits.test.labels.tolist()
    known = {image.numpy().tobytes(): n for image, n in zip(images, labels, strict=True)}
    read = [known.get(image.numpy().tobytes()) for image in seen]
    a = problem.theory.decode_inputs(batch.symbols)["a"].tolist()
    assert read[::8] == a
    assert read[1::8] == read[2::8] == read[3::8] == read[5::8] == [None] * 50


def test_pairs_set_apart_are_all_of_validation_and_none_of_training():
    algebra = VisualAlgebra(digits=fake_digits(validation=False), apart=9)
    kinds = {}
    for split in ("train", "validation"):
        rows = algebra.rows(split, 3000, 0)
        read = algebra.theory.decode_inputs(rows.symbols)
        x = algebra.theory.decode(rows.targets * 2 - 1)["x"]
        assert read["a"].tolist() == read["b"].tolist()
        kinds[split] = set(zip(read["a"].tolist(), x.tolist(), strict=True))
    assert (len(kinds["train"]), len(kinds["validation"])) == (36, 9)
    assert not kinds["train"] & kinds["validation"]
    assert all(x % 2 for _, x in kinds["train"] | kinds["validation"])


@pytest.mark.parametrize("apart", [-1, 45])
def test_an_impossible_number_of_pairs_apart_is_refused(apart):
    with pytest.raises(ConfigError, match=f"apart must be from 0 to 44 .* Got {apart}"):
        VisualAlgebra(digits=fake_digits(), apart=apart)
