"""The gradient of correct, wrong, contradicted and unknown rows, and its scale."""

import copy

import pytest
import torch
import torch.nn.functional as F
import z3

from helpers import (
    BACKWARD,
    FORWARD,
    GivesUp,
    all_equal,
    input_gradient,
    majority_of_three,
    random_logits,
    small_network,
)
from smtlayer import SMTLayer, SolverUnknownError, Table, Theory
from smtlayer.testing import random_theory
from smtlayer.testing.theories import addition, xor

SCALES = ("gradient", "batch")


def pinned() -> Theory:
    """y follows x, z is always true: a label that says otherwise contradicts the theory."""
    x, y, z = z3.Bools("x y z")
    return Theory([y == x, z], inputs=[x], outputs=[y, z])


@pytest.mark.parametrize("backward", BACKWARD)
def test_a_correct_row_is_pushed_the_way_it_leans(backward):
    logits = torch.tensor([[2.0, -1.0, 0.0]])
    gradient = input_gradient(
        SMTLayer(majority_of_three(), backward=backward), logits, torch.ones(1, 1)
    )
    torch.testing.assert_close(gradient, (torch.sigmoid(logits) - (logits > 0).float()) / 3)


def test_a_core_pulls_the_least_confident_inputs_across_and_leaves_the_others():
    logits = torch.tensor([[2.0, 0.5, 1.0]])
    gradient = input_gradient(SMTLayer(majority_of_three()), logits, torch.ones(1, 1))
    pull = torch.sigmoid(logits) / 3
    torch.testing.assert_close(gradient, torch.where(logits == 2, 0, pull))


def test_a_repair_pulls_the_cheapest_inputs_across_and_holds_the_others():
    logits = torch.tensor([[2.0, 0.5, 1.0]])
    gradient = input_gradient(
        SMTLayer(majority_of_three(), backward="maxsmt"), logits, torch.ones(1, 1)
    )
    target = torch.tensor([[1.0, 0.0, 0.0]])
    torch.testing.assert_close(gradient, (torch.sigmoid(logits) - target) / 3)


@pytest.mark.parametrize("backward", BACKWARD)
def test_an_output_without_gradient_is_free(backward):
    theory = addition()
    layer = SMTLayer(theory, backward=backward)
    logits = theory.encode(a=1, b=0).double()[None] * 2
    unmasked = torch.tensor([[0.5, 0.0, -0.5]])  # wants 0?1; it has 001, so that is correct
    assert layer.theory.decode(layer(logits)) == {"total": 1}
    correct = input_gradient(layer, logits, unmasked)
    torch.testing.assert_close(correct, (torch.sigmoid(logits) - (logits > 0).double()) / 4)
    input_gradient(layer, logits, torch.tensor([[0.5, -0.5, -0.5]]))  # wants 011: asked
    assert (layer.stats.correct, layer.stats.blamed) == (1, 1)


def test_only_wanted_outputs_are_asked_for():
    theory = pinned()  # z is wrong in no model; masked, it contradicts nothing
    layer = SMTLayer(theory)
    masked = input_gradient(layer, torch.tensor([[1.0]]), torch.tensor([[1.0, 0.0]]))
    assert masked.item() == pytest.approx(torch.sigmoid(torch.tensor(1.0)).item())
    assert layer.stats.contradicted == 0


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("backward", BACKWARD)
def test_a_row_without_opinion_gets_no_gradient(backward, scale):
    layer = SMTLayer(xor(), backward=backward, scale=scale)
    logits, slope = random_logits(4, 2), random_logits(4, 1, seed=1)
    slope[2] = 0
    gradient = input_gradient(layer, logits, slope)
    assert not gradient[2].any()
    assert gradient[[0, 1, 3]].any(-1).all()
    assert layer.stats.without_gradient == 1


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("backward", BACKWARD)
def test_a_label_that_no_input_allows_gets_no_gradient_and_is_counted(backward, scale):
    layer = SMTLayer(pinned(), backward=backward, scale=scale)
    slope = torch.tensor([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])  # rows 0 and 2 want z false
    gradient = input_gradient(layer, torch.ones(3, 1), slope)
    assert gradient.flatten().ne(0).tolist() == [False, True, False]
    assert layer.stats.contradicted == 2


@pytest.mark.parametrize("backward", BACKWARD)
def test_where_the_outputs_could_be_as_wanted_no_input_is_blamed(backward):
    a, y = z3.Bools("a y")
    layer = SMTLayer(Theory(z3.Or(a, y, z3.Not(y)), inputs=[a], outputs=[y]), backward=backward)
    leaf = torch.tensor([[1.0]], requires_grad=True)
    outputs = layer(leaf)
    outputs.backward(outputs.detach().clone())  # the other y, which this input allows
    expected = 0.0 if backward == "core" else torch.sigmoid(torch.tensor(1.0)).item() - 1
    assert leaf.grad.item() == pytest.approx(expected)
    assert (layer.stats.blamed, layer.stats.contradicted) == (1, 0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize("backward", BACKWARD)
def test_a_row_given_up_in_the_forward_pass_is_zero_in_both_and_counted(backward, forward, scale):
    backend = GivesUp((1, -1), ("solve", "maximize") if forward == "maxsmt" else ("solve",))
    layer = SMTLayer(xor(), backend=backend, forward=forward, backward=backward, scale=scale)
    leaf = torch.tensor([[1.0, -1.0], [1.0, 1.0], [1.0, -2.0]], requires_grad=True)
    outputs = layer(leaf)
    assert outputs.flatten().tolist() == [0.0, -1.0, 0.0]
    outputs.backward(torch.ones(3, 1))
    assert leaf.grad.ne(0).any(-1).tolist() == [False, True, False]
    assert (layer.stats.unknown, layer.stats.sat, layer.stats.unsat) == (2, 1, 0)
    assert (layer.stats.blamed, layer.stats.correct, layer.stats.undecided) == (0, 1, 0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("backward", BACKWARD)
def test_a_row_given_up_in_the_backward_pass_gets_no_gradient_and_is_counted(backward, scale):
    backend = GivesUp((1, 1), ("core", "maximize"))
    layer = SMTLayer(xor(), backend=backend, backward=backward, scale=scale)
    leaf = torch.tensor([[1.0, 1.0], [-1.0, -1.0]], requires_grad=True)
    outputs = layer(leaf)
    assert outputs.tolist() == [[-1.0], [-1.0]]
    outputs.backward(-torch.ones(2, 1))
    assert leaf.grad.ne(0).any(-1).tolist() == [False, True]
    assert (layer.stats.undecided, layer.stats.contradicted, layer.stats.blamed) == (1, 0, 2)


@pytest.mark.parametrize("question", ["solve", "core"])
def test_an_unknown_row_is_an_error_if_the_user_wants_one(question):
    layer = SMTLayer(xor(), backend=GivesUp((1, 1), (question,)), on_unknown="raise")
    logits = -torch.ones(64, 2)
    logits[[17, 20, 40]] = 1.0
    message = (
        r"GivesUp gave up on 3 of 64 rows \(first: row 17\) after 25 ms\. "
        r'Raise timeout_ms, or pass on_unknown="zero"\.'
    )
    with pytest.raises(SolverUnknownError, match=f"^{message}$"):
        input_gradient(layer, logits, -torch.ones(64, 1))
    input_gradient(layer, -torch.ones(64, 2), -torch.ones(64, 1))  # nothing unknown, no error


@pytest.mark.parametrize("forward", FORWARD)
@pytest.mark.parametrize("backward", BACKWARD)
def test_twice_the_loss_is_twice_the_gradient(backward, forward):
    layer = SMTLayer(addition(), forward=forward, backward=backward)
    logits, slope = random_logits(8, 4), random_logits(8, 3, seed=1)
    once = input_gradient(layer, logits, slope)
    assert once.any()
    assert torch.equal(input_gradient(layer, logits, 2 * slope), 2 * once)
    paper = SMTLayer(addition(), forward=forward, backward=backward, scale="batch")
    assert torch.equal(
        input_gradient(paper, logits, 2 * slope), input_gradient(paper, logits, slope)
    )


def test_a_row_of_weight_zero_counts_for_nothing_and_others_by_their_weight():
    layer = SMTLayer(addition())
    logits = random_logits(3, 4)
    label = (random_logits(3, 3, seed=1) > 0).double()

    def gradient(weight):
        leaf = logits.clone().requires_grad_()
        F.binary_cross_entropy_with_logits(layer(leaf), label, weight=weight[:, None]).backward()
        return leaf.grad

    plain = gradient(torch.ones(3))
    weighted = gradient(torch.tensor([0.0, 1.0, 3.0]))
    assert not weighted[0].any()
    torch.testing.assert_close(weighted[1:], plain[1:] * torch.tensor([[1.0], [3.0]]).double())


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_accumulated_micro_batches_are_the_whole_batch(reduction):
    layer = SMTLayer(addition(), backward="maxsmt")
    logits = random_logits(7, 4)
    label = (random_logits(7, 3, seed=1) > 0).double()
    whole, parts = logits.clone().requires_grad_(), logits.clone().requires_grad_()
    F.binary_cross_entropy_with_logits(layer(whole), label, reduction=reduction).backward()
    for rows in torch.arange(7).split(3):
        loss = F.binary_cross_entropy_with_logits(layer(parts[rows]), label[rows],
                                                  reduction=reduction)  # fmt: skip
        (loss if reduction == "sum" else loss * len(rows) / 7).backward()
    torch.testing.assert_close(parts.grad, whole.grad, rtol=1e-12, atol=1e-15)


def trained(scaler, steps=3, weight=1.0):
    network = small_network(SMTLayer(addition()), 4)
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        features = torch.randn(16, 3, generator=generator)
        label = (torch.rand(16, 3, generator=generator) > 0.5).float()
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(network(features), label)
        scaler.scale(loss * weight).backward()
        scaler.step(optimizer)
        scaler.update()
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def test_a_gradient_scaler_changes_nothing():
    plain = trained(torch.amp.GradScaler("cpu", enabled=False))
    scaled = trained(torch.amp.GradScaler("cpu", init_scale=2.0**14))
    start = trained(torch.amp.GradScaler("cpu", enabled=False), steps=0)
    torch.testing.assert_close(scaled, plain)
    assert (plain - start).abs().max() > 1e-3


def test_an_overflow_is_not_hidden_from_a_gradient_scaler():
    start = trained(torch.amp.GradScaler("cpu", enabled=False), steps=0)
    overflown = trained(torch.amp.GradScaler("cpu", init_scale=2.0**100), 1, weight=1e30)
    assert torch.equal(overflown, start)


@pytest.mark.parametrize("backward", BACKWARD)
def test_a_loss_that_is_no_number_gives_a_gradient_that_is_none(backward):
    slope = torch.tensor([[1.0], [float("nan")]])
    gradient = input_gradient(SMTLayer(xor(), backward=backward), random_logits(2, 2), slope)
    assert gradient.isnan().any(-1).tolist() == [False, True]


def test_one_step_down_on_a_row_with_one_fault_gives_the_wanted_output():
    theory = addition()
    layer = SMTLayer(theory)
    logits = theory.encode(a=1, b=2).double() * 3
    logits[1] = -0.2  # reads a as 0
    label = (theory.encode_outputs(total=3) > 0).double()
    leaf = logits.clone().requires_grad_()
    optimizer = torch.optim.SGD([leaf], lr=8.0)
    loss = F.binary_cross_entropy_with_logits(layer(leaf), label)
    loss.backward()
    optimizer.step()
    assert theory.decode(layer.solve(logits).outputs) == {"total": 2}
    assert theory.decode(layer.solve(leaf).outputs) == {"total": 3}
    assert torch.equal(leaf.detach() > 0, theory.encode(a=1, b=2) > 0)


@pytest.mark.parametrize("seed", range(6))
def test_exactly_the_blamed_inputs_are_pulled_across_zero(seed):
    theory = random_theory(seed)
    layer = SMTLayer(theory, backend=Table())
    logits, slope = random_logits(16, theory.n_inputs), random_logits(16, theory.n_outputs, 1)
    gradient = input_gradient(layer, logits, slope)
    asked = (layer(logits) != -slope.sign()).any(-1)
    wanted = -slope.sign().to(torch.int8)
    core = layer.solver.core(logits.sign().to(torch.int8), logits.abs(), wanted)
    assert torch.equal((gradient * logits > 0)[asked], core.inputs[asked])
    assert not gradient[asked][~core.inputs[asked]].any()
    assert (gradient * logits < 0)[~asked].all()


@pytest.mark.parametrize("backward", BACKWARD)
def test_permuted_columns_get_permuted_gradients(backward):
    a, b, c, y = z3.Bools("a b c y")
    rule = y == z3.If(a, z3.Xor(b, c), b)
    order = [2, 0, 1]
    plain = SMTLayer(Theory(rule, [a, b, c], [y]), backward=backward)
    permuted = SMTLayer(Theory(rule, [c, a, b], [y]), backward=backward)
    logits, slope = random_logits(16, 3), random_logits(16, 1, seed=1)
    expected = input_gradient(plain, logits, slope)[:, order]
    assert torch.equal(input_gradient(permuted, logits[:, order], slope), expected)


def test_differentiating_twice_is_refused():
    layer = SMTLayer(xor())
    leaf = torch.ones(1, 2, requires_grad=True)
    loss = F.binary_cross_entropy_with_logits(layer(leaf), torch.ones(1, 1))
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_nothing_given_is_changed_in_place():
    layer = SMTLayer(all_equal(3), backward="maxsmt").eval()
    logits, slope = random_logits(5, 3), random_logits(5, 1, seed=1)
    known = torch.ones(5, 3, dtype=torch.bool)
    before = copy.deepcopy((logits, slope, known))
    input_gradient(layer, logits, slope, known)
    assert all(map(torch.equal, (logits, slope, known), before))
