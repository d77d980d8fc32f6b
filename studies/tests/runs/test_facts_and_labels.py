"""Inputs that are facts, and inputs with a label themselves, in training and evaluation."""

import math

import pytest
import torch
import z3
from torch import nn

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer_studies.reports.run_pictures import collect_examples
from smtlayer_studies.runs.losses import cross_entropy, likelihood
from smtlayer_studies.runs.metrics import evaluate
from smtlayer_studies.tasks.base import Model, Rows
from smtlayer_studies.tasks.examples import Examples

a, b, both = z3.Bools("a b both")
THEORY = Theory(both == z3.And(a, b), inputs=[a, b], outputs=[both])
FACTS = torch.tensor([[1, 0], [0, 0]], dtype=torch.int8)  # a is true in the first example


class Logits(nn.Module):
    """A network that gives the same logits for every example."""

    def __init__(self, *logits: float) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor(logits).repeat(2, 1))

    def forward(self, features):
        return self.logits


def model(*logits, backward="core"):
    return Model(Logits(*logits), SMTLayer(THEORY, backward=backward))


def rows(targets, **options):
    symbols = torch.tensor([[0, 1], [1, 1]], dtype=torch.int8)
    return Rows(torch.zeros(2, 1), torch.tensor(targets), symbols, torch.ones(2).bool(), **options)


def batch(targets=((1.0,), (1.0,)), **options):
    return rows(targets, **options).batch(torch.arange(2))


@pytest.mark.parametrize("loss", [cross_entropy, likelihood])
@pytest.mark.parametrize("backward", ["core", "marginal", "maxsmt"])
def test_a_fact_reaches_the_layer_and_gets_no_gradient(loss, backward):
    network = model(-1.0, -1.0, backward=backward)
    value, _ = loss(network, batch(facts=FACTS))
    value.backward()
    gradient = network.network.logits.grad
    assert gradient[0, 0] == 0
    assert gradient[0, 1] < 0
    assert (gradient[1] <= 0).all()
    assert gradient[1].any()


def test_a_fact_is_never_blamed_although_it_is_the_cheapest_input():
    network = model(9.0, 3.0, backward="maxsmt")  # the solver sees the fact as a logit of 1
    value, _ = cross_entropy(network, batch(((0.0,), (0.0,)), facts=FACTS))
    value.backward()
    assert network.network.logits.grad[0].sign().tolist() == [0, 1]


def test_a_fact_has_probability_one_in_the_likelihood():
    value, _ = likelihood(model(-1.0, 2.0), batch(facts=FACTS))
    a, b = (torch.tensor([-1.0, 2.0]).sigmoid()).tolist()
    assert value.item() == pytest.approx(-(math.log(b) + math.log(a * b)) / 2)


def test_a_fact_counts_whatever_the_network_read():
    network = model(-1.0, 1.0)
    _, outputs = network(torch.zeros(2, 1), facts=FACTS)
    assert outputs.tolist() == [[1.0], [-1.0]]
    _, right = likelihood(network, batch(facts=FACTS))
    assert right == 0.5


def test_a_conventional_head_sees_the_facts_as_well():
    head = nn.Linear(2, 1)
    head.weight.data = torch.tensor([[1.0, 0.0]])  # repeats a
    head.bias.data.zero_()
    network = Model(Logits(-1.0, 1.0), head)
    _, outputs = network(torch.zeros(2, 1), facts=FACTS)
    assert outputs.tolist() == [[1.0], [-1.0]]
    told, plain = (evaluate(network, rows(((1.0,), (1.0,)), facts=facts), THEORY, "cpu")
                   for facts in (FACTS, None))  # fmt: skip
    assert (told["accuracy"], plain["accuracy"]) == (0.5, 0)


def test_facts_hold_in_evaluation_and_are_not_scored_as_read():
    network = model(-1.0, 1.0)
    scores = evaluate(network, rows(((1.0,), (0.0,)), facts=FACTS), THEORY, "cpu")
    assert scores["accuracy"] == 1
    assert scores["representation"] == pytest.approx(2 / 3)  # of b, a and b
    bare = evaluate(network, rows(((1.0,), (0.0,))), THEORY, "cpu")
    assert bare["accuracy"] == 0.5


def test_examples_are_solved_with_their_facts_and_show_them():
    network = model(-1.0, 1.0).eval()
    shown = rows(((1.0,), (0.0,)), facts=FACTS)
    for examples in (
        Examples.of(network.layer, network.network.logits.detach(), batch(facts=FACTS)),
        collect_examples(network, network.layer, shown, torch.arange(2), 1),
    ):
        assert examples.answer.outputs.tolist() == [[1], [-1]]
        assert not examples.overruled.any()
        assert examples.answers(0)[0] == "a = True, both = True"


def test_facts_and_labels_move_and_are_picked_with_their_examples():
    told = batch(facts=FACTS, labels=-FACTS).to(torch.device("cpu")).pick(torch.tensor([1, 0]))
    assert told.facts.tolist() == [[0, 0], [1, 0]]
    assert told.labels.tolist() == [[0, 0], [-1, 0]]
    assert told.given.tolist() == [[False, False], [True, False]]
    assert batch().given is None


@pytest.mark.parametrize("loss", [cross_entropy, likelihood])
def test_a_label_of_an_input_adds_its_cross_entropy_alone(loss):
    labels = torch.tensor([[0, 0], [0, -1]], dtype=torch.int8)
    network = model(0.5, 2.0)
    bare, told, none = (loss(network, batch(labels=some))[0] for some in (None, labels, 0 * labels))
    assert none == bare
    assert (told - bare).item() == pytest.approx(math.log(1 + math.exp(2.0)))
    gradients = [torch.autograd.grad(part, network.network.logits)[0] for part in (told, bare)]
    expected = torch.tensor([[0, 0], [0, math.exp(2.0) / (1 + math.exp(2.0))]])
    torch.testing.assert_close(gradients[0] - gradients[1], expected)


def test_scores_tell_combinations_that_training_shows_from_others():
    seen = torch.tensor([True, False])
    symbols = torch.tensor([[1, 1], [1, -1]], dtype=torch.int8)
    data = Rows(torch.zeros(2, 1), torch.tensor([[1.0], [1.0]]), symbols, seen)
    scores = evaluate(model(1.0, 1.0), data, THEORY, "cpu")
    assert (scores["seen_accuracy"], scores["unseen_accuracy"]) == (1, 1)
    assert (scores["seen_symbols"], scores["symbols"]) == (1, 0.75)
    same = Rows(data.items, data.targets, symbols, torch.ones(2).bool())
    assert not any("seen" in name for name in evaluate(model(1.0, 1.0), same, THEORY, "cpu"))


def test_the_most_likely_value_of_a_one_hot_symbol_counts_although_no_column_is_positive():
    n, large = z3.Int("n"), z3.Bool("large")
    theory = Theory(large == (n > 1), inputs=[one_hot(n, range(3)), a], outputs=[large])
    symbols = theory.encode(n=[2, 0], a=[True, True])
    seen, targets = torch.tensor([True, False]), torch.tensor([[1.0], [0.0]])
    network = Model(Logits(-3.0, -2.0, -1.0, 1.0), SMTLayer(theory))
    scores = evaluate(network, Rows(torch.zeros(2, 1), targets, symbols, seen), theory, "cpu")
    assert scores["representation"] == 0.5  # of a alone
    assert (scores["symbols"], scores["seen_symbols"]) == (0.75, 1)
