"""When a likelihood is captured as a CUDA graph: decided here without a GPU."""

from dataclasses import replace

import pytest
import torch

from helpers import Changed
from smtlayer import Table
from smtlayer.nn import Stats, graph
from smtlayer.nn.likelihood import Evidence
from smtlayer.testing.theories import xor

CIRCUIT = frozenset({"solve", "log_prob", "marginal", "sample"})


class Recorded:
    """Stands for a captured likelihood."""

    made = 0

    def __init__(self, solver, stats, evidence, gradient):
        self.evidence, self.gradient = evidence, gradient
        type(self).made += 1


@pytest.fixture
def graphs(monkeypatch):
    monkeypatch.setattr(Recorded, "made", 0)
    monkeypatch.setattr(graph, "CapturedLikelihood", Recorded)
    return graph.Graphs()


def evidence(rows=4, known=False, given=False, dtype=torch.float32):
    masks = [torch.ones(rows, 2, dtype=torch.bool) if mask else None for mask in (known, given)]
    outputs = torch.zeros(rows, 1, dtype=torch.int8)
    return Evidence(torch.zeros(rows, 2, dtype=dtype), *masks, outputs)


def solver(questions):
    return Changed(Table().compile(xor()), lambda asked, answer: answer, capturable=questions)


def ask(graphs, times, questions=CIRCUIT, gradient=True, **batch):
    found = [
        graphs.find_likelihood(solver(questions), Stats(), evidence(**batch), gradient)
        for _ in range(times)
    ]
    return [each is not None for each in found]


def test_a_kind_of_batch_is_captured_after_three_eager_calls(graphs):
    assert ask(graphs, 6) == [False] * 3 + [True] * 3
    assert Recorded.made == 1


@pytest.mark.parametrize(
    ("questions", "gradient", "captured"),
    [
        (frozenset({"marginal"}), True, True),
        (frozenset({"marginal"}), False, False),
        (frozenset({"log_prob"}), False, True),
        (frozenset({"log_prob"}), True, False),
        (frozenset({"solve", "core", "sample"}), True, False),
        (frozenset(), True, False),
    ],
)
def test_the_solver_says_which_question_can_be_captured(graphs, questions, gradient, captured):
    assert ask(graphs, 5, questions, gradient)[-1] == captured
    assert Recorded.made == int(captured)


def test_each_kind_of_batch_has_its_own_graph(graphs):
    kinds = [
        {}, {"gradient": False}, {"known": True}, {"given": True}, {"known": True, "given": True},
        {"rows": 5}, {"dtype": torch.float64},
    ]  # fmt: skip
    for kind in kinds:
        assert ask(graphs, 4, **kind) == [False] * 3 + [True]
    assert Recorded.made == len(kinds)
    for kind in kinds:
        assert ask(graphs, 1, **kind) == [True]
    assert Recorded.made == len(kinds)


def test_there_are_not_too_many_graphs_and_none_of_empty_batches(graphs):
    for rows in range(1, 12):
        ask(graphs, 5, rows=rows)
    assert Recorded.made == 8
    assert ask(graph.Graphs(), 5, rows=0) == [False] * 5


def test_evidence_reads_masks():
    given = torch.tensor([[True, False]] * 2)
    known = torch.tensor([[False, True], [False, False]])
    batch = replace(evidence(2), logits=torch.tensor([[0.5, 2.0], [-0.1, 3.0]]), given=given)
    assert batch.odds().tolist() == [[torch.inf, 2.0], [-torch.inf, 3.0]]
    assert batch.fixed().tolist() == [[True, False], [True, False]]
    both = replace(batch, known=known)
    assert both.odds().tolist() == [[torch.inf, 2.0], [-torch.inf, 0.0]]
    assert both.fixed().tolist() == [[True, False], [True, True]]
    assert replace(batch, given=None).fixed() is None
    assert replace(batch, given=None, known=known).fixed().tolist() == (~known).tolist()
