"""`log_prob`, `marginals` and `sample` of a layer: exact, with the true gradient, in any shape."""

import functools
import math

import pytest
import torch
import z3

from helpers import all_equal, random_logits
from smtlayer import Circuit, SMTLayer, Table, Theory
from smtlayer.solvers import Enumerate
from smtlayer.testing.theories import addition, colours, free_outputs, mixed_inputs, xor

INF = math.inf
BACKENDS = (Table(), Circuit())
THEORIES = {
    "xor": xor(), "addition": addition(), "colours": colours(), "mixed": mixed_inputs(),
    "free": free_outputs(),
}  # fmt: skip


@functools.cache
def models_of(theory):
    return tuple(Enumerate().open(theory).models())


def brute_force(theory, logits, outputs, known=None, given=None):
    """The definition in differentiable torch: a sum over all models."""
    total = torch.zeros((), dtype=logits.dtype)
    odds = logits if known is None else torch.where(known, logits, 0.0)
    for x, y in models_of(theory):
        if any(w not in (0, s) for w, s in zip(outputs.tolist(), y, strict=True)):
            continue
        weight = torch.ones((), dtype=logits.dtype)
        for symbol in theory.input_symbols:
            weight = weight * chance(symbol, odds, given, torch.tensor(x))
        total = total + weight
    return total.log()


def chance(symbol, odds, given, model):
    z, signs = odds[symbol.columns], model[symbol.columns]
    fact = torch.zeros_like(signs, dtype=torch.bool) if given is None else given[symbol.columns]
    read = torch.where(z > 0, 1, -1)
    if (fact & (read != signs)).any():
        return torch.zeros(())
    if symbol.kind == "one-hot":
        left = ~(fact & (read < 0)) & ((fact & (read > 0)) | ~(fact & (read > 0)).any())
        return torch.where(left, z.detach() * 0 + z, -INF).softmax(-1)[signs.argmax()]
    return torch.where(fact, 1.0, (z * signs).sigmoid()).prod()


def batch(theory, rows=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = random_logits(rows, theory.n_inputs, seed)
    known = torch.rand(logits.shape, generator=generator) < 0.8
    given = (torch.rand(logits.shape, generator=generator) < 0.2) & known
    wanted = torch.randint(-1, 2, (rows, theory.n_outputs), generator=generator)
    wanted[0] = 0
    return logits, known, given, wanted.to(torch.int8)


@pytest.mark.parametrize("backend", BACKENDS, ids=["table", "circuit"])
@pytest.mark.parametrize("masks", ["none", "known", "given", "both"])
@pytest.mark.parametrize("name", THEORIES)
def test_value_and_gradient_are_those_of_the_definition(name, masks, backend):
    theory = THEORIES[name]
    layer = SMTLayer(theory, backend=backend)
    logits, known, given, wanted = batch(theory, rows=12)
    known = known if masks in ("known", "both") else None
    given = given if masks in ("given", "both") else None
    ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
    found = layer.log_prob(ours, wanted, known, given)
    rows = [
        brute_force(theory, theirs[i], wanted[i], *(None if m is None else m[i] for m in
                    (known, given))) for i in range(12)
    ]  # fmt: skip
    expected = torch.stack(rows)
    torch.testing.assert_close(found, expected)
    possible = expected > -INF
    assert possible.any()
    found[possible].sum().backward()
    expected[possible].sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad.nan_to_num())
    marginals = layer.marginals(logits, wanted, known, given)
    assert torch.equal(marginals.log_prob, found.detach())
    assert not marginals.inputs[~possible].any()
    assert not marginals.outputs[~possible].any()


@pytest.mark.parametrize("backend", BACKENDS, ids=["table", "circuit"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", THEORIES)
def test_gradcheck(name, masked, backend):
    theory = THEORIES[name]
    layer = SMTLayer(theory, backend=backend)
    logits, known, given, wanted = batch(theory, rows=6)
    keep = layer.log_prob(logits, wanted, known, given) > -INF
    logits, known, given, wanted = (part[keep] for part in (logits, known, given, wanted))
    masks = (known, given) if masked else (None, None)

    def value(z):
        return layer.log_prob(z, wanted, *masks)

    assert torch.autograd.gradcheck(value, logits.requires_grad_())


@pytest.mark.parametrize("backend", BACKENDS, ids=["table", "circuit"])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (3,), (2, 3), (2, 0)])
def test_any_batch_shape(shape, backend):
    layer = SMTLayer(mixed_inputs(), backend=backend)
    logits = random_logits(max(1, math.prod(shape)), 8)[: math.prod(shape)].reshape(*shape, 8)
    logits = logits.requires_grad_()
    found = layer.log_prob(logits)
    assert found.shape == shape
    found.sum().backward()
    assert logits.grad.shape == (*shape, 8)
    marginals = layer.marginals(logits.detach())
    assert marginals.inputs.shape == (*shape, 8)
    assert marginals.outputs.shape == (*shape, 2)
    assert marginals.log_prob.shape == shape
    drawn = layer.sample(logits.detach(), count=4)
    assert drawn.status.shape == drawn.cost.shape == drawn.proved.shape == (4, *shape)
    assert drawn.inputs.shape == (4, *shape, 8)
    assert drawn.outputs.shape == (4, *shape, 2)


def test_without_a_gradient_only_log_prob_is_asked(monkeypatch):
    layer = SMTLayer(xor(), backend=Table())
    asked, kind = [], type(layer.solver)
    for name in ("log_prob", "marginal"):
        real = getattr(kind, name)
        monkeypatch.setattr(
            kind, name, lambda *args, name=name, real=real: (asked.append(name), real(*args))[1]
        )
    leaf = torch.zeros(3, 2, requires_grad=True)
    with torch.no_grad():
        layer.log_prob(leaf)
    layer.log_prob(leaf.detach())
    assert asked == ["log_prob"] * 2
    layer.log_prob(leaf).sum().backward()
    assert asked == ["log_prob"] * 2 + ["marginal"]


def test_outputs_by_name_as_signs_and_as_bools_are_the_same():
    layer = SMTLayer(addition(), backend=Table())
    logits = random_logits(4, 4)
    named = layer.log_prob(logits, {"total": [3, 0, 6, 1]})
    signs = layer.theory.encode_outputs(total=[3, 0, 6, 1])
    assert torch.equal(layer.log_prob(logits, signs), named)
    assert torch.equal(layer.log_prob(logits, signs > 0), named)
    every = [layer.log_prob(logits, {"total": value}) for value in range(7)]
    torch.testing.assert_close(torch.stack(every).logsumexp(0), layer.log_prob(logits))
    assert layer.log_prob(logits).abs().max() < 1e-12  # every input has a model
    with pytest.raises(ValueError, match=r"^SMTLayer.log_prob expects outputs of shape \(4, 3\)"):
        layer.log_prob(logits, signs[:, :2])
    with pytest.raises(ValueError, match=r"^SMTLayer.sample expects outputs as signs: 1 for true"):
        layer.sample(logits, signs * 2)
    with pytest.raises(TypeError, match=r"^SMTLayer.marginals expects outputs as a tensor of"):
        layer.marginals(logits, [1, 2])


def impossible_layer():
    a, b, y = z3.Bools("a b y")
    theory = Theory([y == z3.And(a, b), z3.Or(a, b)], inputs=[a, b], outputs=[y])
    return SMTLayer(theory, backend=Table())


LOSSES = {
    "itself": lambda value: value,
    "square": torch.square,
    "exp": torch.exp,
    "log": lambda value: value.exp().log(),
}


@pytest.mark.parametrize("how", LOSSES)
def test_impossible_rows_are_minus_infinity_without_gradient_and_counted(how):
    layer = impossible_layer()
    logits = torch.tensor([[-INF, -INF], [1.0, -2.0], [INF, -5.0]], requires_grad=True)
    given = torch.tensor([[True, True], [False, False], [True, False]])
    found = layer.log_prob(logits, given=given)
    assert found.isneginf().tolist() == [True, False, False]
    LOSSES[how](found).sum().backward()
    assert not logits.grad.isnan().any()
    assert (logits.grad.abs() > 1e-9).tolist() == [[False, False], [True, True], [False, False]]
    assert layer.stats.impossible == 1
    found = layer.marginals(logits.detach(), {"y": True}, given=given)
    assert found.inputs[0].tolist() == [0.0, 0.0]
    assert found.outputs[0].tolist() == [0.0]
    assert layer.stats.impossible == 2
    drawn = layer.sample(logits.detach(), given=given, count=3)
    assert (drawn.status[:, 0] == 0).all()
    assert not drawn.inputs[:, 0].any()
    assert (layer.stats.impossible, layer.stats.rows) == (3, 0)


def test_facts_are_certain_whatever_the_size_of_their_logits():
    layer = SMTLayer(all_equal(3), backend=Table())
    given = torch.tensor([True, False, False])
    for fact in (INF, 0.001, 1e30):
        logits = torch.tensor([fact, -2.0, 1.0])
        found = layer.marginals(logits, given=given)
        assert found.inputs.tolist() == pytest.approx([1.0, 1.0, 1.0])
        expected = torch.sigmoid(torch.tensor([-2.0, 1.0])).prod().log()
        torch.testing.assert_close(found.log_prob, expected)
    false = torch.tensor([0.0, 2.0, 1.0])  # a logit of zero is read as false
    assert layer.marginals(false, given=given).inputs.tolist() == [0.0, 0.0, 0.0]
    assert (layer.sample(false, given=given, count=5).inputs == -1).all()


def test_a_constant_added_to_a_one_hot_symbol_changes_nothing():
    layer = SMTLayer(mixed_inputs(), backend=Table())
    logits, _, _, wanted = batch(layer.theory, rows=8)
    moved = logits.clone()
    moved[:, :3] += 7.0
    moved[:, 6:] -= 3.0
    pulls = []
    for each in (logits, moved):
        leaf = each.requires_grad_()
        value = layer.log_prob(leaf, wanted)
        value[value > -INF].sum().backward()
        pulls.append((value.detach(), leaf.grad))
    torch.testing.assert_close(pulls[0], pulls[1])
    torch.testing.assert_close(pulls[0][1][:, :3].sum(-1), torch.zeros(8).double())
