"""`SMTLayer.possible`: which values of the outputs the facts allow."""

import dataclasses

import pytest
import torch
import z3

from helpers import DTYPES, GivesUp
from smtlayer import (
    Z3,
    Circuit,
    Enumerate,
    Sat,
    SMTLayer,
    SolverUnknownError,
    Status,
    Table,
    Theory,
    one_hot,
)

BACKENDS = (Table(), Circuit(), Sat(), Z3(), Enumerate(), GivesUp((9, 9, 9)))
MOVES = ["left", "ahead", "right"]


def corridor():
    """Walls that a robot senses, and a move that does not hit any."""
    walls, move = z3.Bools("left ahead right"), z3.String("move")
    rules = [z3.Implies(wall, move != name) for wall, name in zip(walls, MOVES, strict=True)]
    return Theory(rules, inputs=walls, outputs=[one_hot(move, MOVES)])


STATES = torch.tensor([[3.0, -3, -3], [3, -3, 3], [3, 3, 3], [-3, -3, -3]])
FREE = STATES < 0
EVERYTHING = torch.ones(3, dtype=torch.bool)


def same(a, b):
    pairs = zip(dataclasses.astuple(a), dataclasses.astuple(b), strict=True)
    return all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize("backend", BACKENDS, ids=str)
def test_what_is_possible_is_what_the_facts_leave(backend):
    layer = SMTLayer(corridor(), backend=backend)
    found = layer.possible(STATES, given=EVERYTHING)
    assert found.status.tolist() == [1, 1, Status.UNSAT, 1]
    assert torch.equal(found.true, FREE & (found.status == 1)[:, None])
    only_ahead = torch.tensor([False, True, False])
    assert torch.equal(found.false[1], ~only_ahead)  # the only move left cannot be omitted
    assert found.false[[0, 3]].all()
    assert not found.false[2].any()
    nothing = layer.possible(STATES)
    assert (nothing.true & nothing.false).all()
    assert (nothing.status == 1).all()
    assert layer.stats.as_dict() == SMTLayer(corridor()).stats.as_dict()


@pytest.mark.parametrize("backend", [Table(), Sat()], ids=str)
def test_each_row_has_its_own_facts_and_predictions_do_not_count(backend):
    layer = SMTLayer(corridor(), backend=backend)
    given = torch.tensor([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]]) == 1
    found = layer.possible(STATES, given=given)
    assert torch.equal(found.true, ~(given & ~FREE))
    assert same(found, layer.possible(torch.where(given, STATES, -STATES), given=given))
    assert same(found, layer.possible(STATES, ~given, given))
    assert same(found, layer.possible(torch.where(given, STATES * torch.inf, 0), given=given))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", [Table(), Circuit(), Sat()], ids=str)
def test_any_shape_and_dtype_also_under_autocast_and_with_gradients(backend, dtype):
    layer = SMTLayer(corridor(), backend=backend)
    logits = (STATES.to(dtype) * torch.inf).requires_grad_()
    expected = layer.possible(STATES, given=EVERYTHING)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = layer.possible(logits.reshape(2, 1, 2, 3), given=EVERYTHING)
    assert (found.status.shape, found.true.shape) == ((2, 1, 2), (2, 1, 2, 3))
    assert (found.status.dtype, found.true.dtype) == (torch.int8, torch.bool)
    assert torch.equal(found.true.flatten(0, 2), expected.true)
    assert torch.equal(found.false.flatten(0, 2), expected.false)
    assert layer.possible(logits[0], given=EVERYTHING).status.shape == ()


def test_bad_logits_and_masks_are_refused():
    layer = SMTLayer(corridor())
    bad = STATES.clone()
    bad[1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"Row 1, column 2 \(right\) is nan"):
        layer.possible(bad)
    layer.possible(bad, known=~bad.isnan())
    with pytest.raises(ValueError, match=r"Row 0, column 0 .* only a fact \(given\) may be inf"):
        layer.possible(STATES * torch.inf)
    with pytest.raises(ValueError, match=r"given of the logits' shape \(4, 3\)"):
        layer.possible(STATES, given=torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(TypeError, match="known as a bool tensor"):
        layer.possible(STATES, known=torch.ones(3))
    with pytest.raises(ValueError, match=r"logits of shape \(batch, 3\)"):
        layer.possible(torch.zeros(4, 2))


def test_a_row_that_is_given_up_is_unknown_or_an_error():
    given_up = GivesUp((1, -1, 1))
    found = SMTLayer(corridor(), backend=given_up).possible(STATES, given=EVERYTHING)
    assert found.status.tolist() == [1, Status.UNKNOWN, Status.UNSAT, 1]
    assert not (found.true | found.false)[1].any()
    layer = SMTLayer(corridor(), backend=given_up, on_unknown="raise")
    with pytest.raises(SolverUnknownError, match=r"gave up on 1 of 4 rows \(first: row 1\)"):
        layer.possible(STATES, given=EVERYTHING)


def test_new_tensors_are_where_the_logits_are():
    for backend in (Table(), Circuit(), Sat()):
        layer = SMTLayer(corridor(), backend=backend)
        expected = layer.possible(STATES, given=EVERYTHING)
        with torch.device("meta"):
            assert same(layer.possible(STATES, given=EVERYTHING), expected)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("backend", BACKENDS[:-1], ids=str)
def test_the_same_on_a_gpu(backend):
    layer = SMTLayer(corridor(), backend=backend)
    found = layer.possible(STATES.cuda(), given=EVERYTHING)
    assert all(part.is_cuda for part in dataclasses.astuple(found))
    assert torch.equal(found.true.cpu(), layer.possible(STATES, given=EVERYTHING).true)
