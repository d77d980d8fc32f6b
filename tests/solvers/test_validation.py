"""Questions that no solver can answer are refused in words, by every backend alike."""

import numpy as np
import pytest
import torch

from smtlayer import Z3, Auto, Enumerate, Sat, Table
from smtlayer.testing.theories import addition

THEORY = addition(2)  # four inputs, three outputs
SIGNS = torch.tensor([[1, -1, 1, 1], [-1, -1, 0, 1]], dtype=torch.int8)
WANTED = torch.tensor([[1, -1, 1], [0, 0, 0]], dtype=torch.int8)
ONES = torch.ones(2, 4)
BACKENDS = [Table(), Sat(), Z3(), Enumerate(), Auto(), Sat(remember=0), Z3(remember=0)]


def changed(tensor, value):
    other = tensor.clone().to(torch.float32)
    other[1, 0] = value
    return other


SHAPES = [
    ("solve", (SIGNS[0],), r"expects inputs as a tensor of signs of shape \(rows, 4\). Got \(4,\)"),
    ("solve", (SIGNS[:, :3],), r"expects inputs .*\(rows, 4\). Got \(2, 3\)"),
    ("maximize", (SIGNS, ONES[:1]), r"expects weights as .*shape \(2, 4\). Got \(1, 4\)"),
    ("core", (SIGNS, ONES[:, :3], WANTED), r"expects weights as .*\(2, 4\). Got \(2, 3\)"),
    ("core", (SIGNS, ONES, WANTED[:, :2]), r"expects outputs .*\(rows, 3\). Got \(2, 2\)"),
    ("maximize", (SIGNS, ONES, WANTED[:1]), r"expects as many rows of outputs as of .*2. Got 1"),
]
VALUES = [
    ("solve", (SIGNS * 2,), r"expects inputs as signs: .* Row 0, column 0 is 2\."),
    ("solve", (2 * SIGNS.clamp(min=0),), r"Row 0, column 0 is 2\."),
    ("solve", (2 * SIGNS.clamp(max=0).long(),), r"Row 0, column 1 is -2\."),
    ("solve", (changed(SIGNS, 0.3),), r"Row 1, column 0 is 0\.3.*\. to_signs\(logits\) makes"),
    ("solve", (changed(SIGNS, torch.nan),), r"Row 1, column 0 is nan"),
    ("solve", (SIGNS > 0,), r"expects inputs as signs: .* Row 0, column 0 is True"),
    ("core", (SIGNS, ONES, 3 * WANTED), r"expects outputs as signs: .* Row 0, column 0 is 3"),
    ("maximize", (SIGNS, changed(ONES, -1)), r"expects weights above 0.* Row 1, column 0 is -1"),
    ("maximize", (SIGNS, changed(ONES, 0)), r"expects weights above 0.* Row 1, column 0 is 0"),
    ("core", (SIGNS, changed(ONES, torch.nan), WANTED), r"infinite for a fact.* Row 1, .* is nan"),
    ("maximize", (SIGNS, changed(ONES, -torch.inf)), r"weights above 0.* Row 1, column 0 is -inf"),
]


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
@pytest.mark.parametrize(("name", "question", "message"), [*SHAPES, *VALUES])
def test_questions_that_do_not_fit_are_refused(backend, name, question, message):
    with pytest.raises(ValueError, match=message):
        getattr(backend.compile(THEORY), name)(*question)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_questions_are_tensors_and_theories_are_theories(backend):
    solver = backend.compile(THEORY)
    for wrong in (None, SIGNS.tolist(), SIGNS.numpy()):
        with pytest.raises(TypeError, match=f"expects inputs as .* Got {type(wrong).__name__}"):
            solver.solve(wrong)
    with pytest.raises(TypeError, match=r"expects weights as .* Got list"):
        solver.maximize(SIGNS, ONES.tolist())
    name = type(backend).__name__
    with pytest.raises(TypeError, match=rf"{name}.compile expects a Theory. Got NoneType\."):
        backend.compile(None)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_weights_of_inputs_that_are_free_do_not_matter(backend):
    weights = ONES.clone()
    weights[1, 2] = torch.nan
    found = backend.compile(THEORY).maximize(SIGNS, weights, WANTED)
    assert (
        found.cost.tolist() == backend.compile(THEORY).maximize(SIGNS, ONES, WANTED).cost.tolist()
    )


@pytest.mark.parametrize("wrong", [None, "3", 2.5, True])
def test_counts_are_whole_numbers(wrong):
    for make, name in (
        (Table, "max_models"), (Auto, "max_models"), (Enumerate, "max_columns"), (Z3, "seed"),
        (Z3, "remember"), (Sat, "remember"),
    ):  # fmt: skip
        expected = f"{make.__name__} expects {name} as a whole number .* Got {wrong!r}"
        with pytest.raises(TypeError, match=expected):
            make(**{name: wrong})


def test_seeds_and_counts_of_numpy_are_taken():
    backend = Z3(seed=np.int64(5), remember=np.int32(3))
    assert backend.compile(THEORY).solve(SIGNS).status.tolist() == [1, 1]
    assert Table(max_models=np.int64(100)).compile(THEORY).solve(SIGNS).status.tolist() == [1, 1]
    with pytest.raises(ValueError, match=r"Z3 expects seed as a whole number from 0 to 4294967295"):
        Z3(seed=2**32)


@pytest.mark.parametrize("backend", [Z3(timeout_ms=0.5, remember=0), Enumerate(timeout_ms=1e-9)])
def test_the_least_time_is_a_millisecond(backend, clock, time_for_z3):
    clock.step_s = 0.0
    found = backend.compile(addition(1)).solve(torch.ones(20, 2, dtype=torch.int8))
    assert found.status.tolist() == [1] * 20
    assert set(time_for_z3) == {1}
