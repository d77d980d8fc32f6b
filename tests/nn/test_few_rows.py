"""A few rows without gradient take a short path, and come out as in a batch."""

import copy
import pickle

import pytest
import torch
import z3

from helpers import all_equal, random_logits
from smtlayer import Circuit, Sat, SMTLayer, Table, Theory
from smtlayer.errors import DivergedError
from smtlayer.nn import few_rows
from smtlayer.nn.stats import Stats
from smtlayer.testing.theories import addition

BACKENDS = pytest.mark.parametrize("backend", [Table(), Circuit()], ids=["table", "circuit"])


@pytest.fixture
def asked(monkeypatch):
    """What the short path returned, call by call."""
    found, short = [], few_rows.few_outputs

    def spy(*args):
        found.append(short(*args))
        return found[-1]

    monkeypatch.setattr("smtlayer.nn.layer.few_outputs", spy)
    return found


@BACKENDS
@pytest.mark.parametrize("training", [True, False], ids=["smt", "maxsmt"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("masks", ["", "known", "given", "known given"])
def test_single_rows_equal_their_batch(backend, training, dtype, masks, asked):
    layer = SMTLayer(all_equal(4), backend=backend).train(training)
    logits = random_logits(12, layer.theory.n_inputs, seed=3, dtype=dtype)
    logits[:3] = logits[:3].abs()  # these fit the theory
    if dtype == torch.float32:
        logits[5] = torch.tensor([0.0, 1.0, 1.0, 0.0])
    draw = torch.Generator().manual_seed(4)
    options = {name: torch.rand(logits.shape, generator=draw) < 0.5 for name in masks.split()}
    batch = layer(logits, **options)
    assert layer.stats.sat > 0
    assert layer.stats.unsat > 0 or not (training or "given" in masks)
    counted = layer.stats.as_dict()
    layer.stats.reset()
    for i in range(0, 12, 3):
        part = layer(logits[i : i + 3], **{k: mask[i : i + 3] for k, mask in options.items()})
        assert torch.equal(part, batch[i : i + 3])
        assert part.dtype == dtype
    assert [each is not None for each in asked] == [True] * 4
    assert layer.stats.solver_seconds > 0
    for name in ("rows", "sat", "unsat", "unknown", "unproved"):
        assert getattr(layer.stats, name) == counted[name]


def test_any_leading_shape(asked):
    layer = SMTLayer(addition(2), backend=Table()).eval()
    row = random_logits(1, 4, seed=1)
    assert layer(row[0]).shape == (3,)
    assert layer(row[None]).shape == (1, 1, 3)
    assert all(each is not None for each in asked)


@BACKENDS
def test_a_logit_of_zero_is_not_free(backend, asked):
    a, b, c = z3.Bools("a b c")
    theory = Theory([a != b, b == c], inputs=[a, b, c], outputs=[a])
    layer = SMTLayer(theory, backend=backend).eval()
    assert layer(torch.zeros(1, 3, dtype=torch.float32)).tolist() == [[1.0]]
    assert asked[0] is not None


def test_the_ordinary_pass_answers_the_rest(asked):
    few = random_logits(2, 4, seed=2)
    layers = [SMTLayer(addition(2), backend=Sat()), SMTLayer(addition(2), weights="softmax").eval()]
    for layer in layers:
        layer(few)
    layer = SMTLayer(addition(2)).eval()
    layer(few.half())
    layer(few[:0])
    layer(few * torch.tensor([1.0, 0.0, 1.0, 1.0]))  # a weight of zero, in float64
    layer(few * 1e305)
    layer(torch.full((1, 4), torch.inf), given=torch.ones(4, dtype=torch.bool))
    assert asked == [None] * 7
    layer(random_logits(5, 4))
    assert len(asked) == 7  # not asked about more rows
    with pytest.raises(DivergedError, match="Row 1, column 0"):
        layer(torch.tensor([[1.0] * 4, [torch.nan] * 4]))


def test_gradients_take_the_ordinary_pass(asked):
    layer = SMTLayer(addition(2))
    layer(random_logits(1, 4).requires_grad_()).sum().backward()
    assert asked == []


def test_counts_survive_pickling():
    layer = SMTLayer(addition(2)).eval()
    layer(random_logits(2, 4))
    layer(random_logits(9, 4))
    for stats in (pickle.loads(pickle.dumps(layer.stats)), copy.deepcopy(layer.stats)):
        assert stats.as_dict() == layer.stats.as_dict()
        assert stats.rows == 11
    state = layer.stats.__getstate__()
    del state["_plain"]  # as in older files
    older = Stats.__new__(Stats)
    older.__setstate__(state)
    assert older.rows == 9
    with layer.stats.paused():
        layer(random_logits(2, 4))
    assert layer.stats.rows == 11
    layer.stats.reset()
    assert layer.stats.rows == 0
