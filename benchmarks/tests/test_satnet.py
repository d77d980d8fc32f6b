"""SATNet in the place of our layer: what it gets, and how its answer comes back."""

import math
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import z3
from torch import nn

import learn
from learners import InTurn
from methods import METHODS
from problems import PROBLEMS, LeNet, Problem
from satnet_gradient import complete, cosines
from satnet_layer import SatNetHead, output_variables
from smtlayer import Theory, one_hot
from smtlayer_studies.tasks.sudoku.boards import Boards, make_boards
from smtlayer_studies.tasks.sudoku.data import SudokuBoards
from smtlayer_studies.tasks.sudoku.task import VisualSudoku

OPTIONS = {"name": "mnist-addition", "percent": 10, "data": "sample"}
TINY = Problem("tiny", "tiny", OPTIONS, lambda: LeNet(4), 2, 16, 64, 50, timed=1)


class Copies(nn.Module):
    """In SATNet's place: gives what is known, and one half for the rest."""

    def __init__(self, n, m, aux):
        super().__init__()
        self.size, self.weight = (n, m, aux), nn.Parameter(torch.zeros(n))

    def forward(self, z, is_input):
        assert z.shape == is_input.shape == (len(z), self.size[0])
        assert is_input.dtype == torch.int32
        return torch.where(is_input > 0, z, 0.5) + self.weight


@pytest.fixture
def _satnet(monkeypatch):
    monkeypatch.setitem(sys.modules, "satnet", SimpleNamespace(SATNet=Copies, __spec__="here"))


@pytest.mark.usefixtures("_satnet")
@pytest.mark.parametrize("name", ["satnet", "satnet-pretrained"])
def test_satnet_is_trained_in_the_place_of_the_layer(name):
    learner = METHODS[name].start(TINY, METHODS[name].examples(TINY, 0), 0, 8)
    assert isinstance(learner, InTurn) == (name == "satnet-pretrained")
    before = learner.model.head.satnet.weight.detach().clone()
    for step, batch in enumerate(learn.batches(METHODS[name], TINY, 0)):
        changed = not torch.equal(before, learner.model.head.satnet.weight)
        assert changed == (step > (3 if name == "satnet-pretrained" else 0))
        learner.step(batch)
    assert "accuracy" in learn.trained(METHODS[name], TINY, seed=0)["scores"]


@pytest.mark.usefixtures("_satnet")
def test_satnet_gets_the_columns_and_its_answer_comes_back():
    a, b = z3.Ints("a b")
    c, y = z3.Bools("c y")
    theory = Theory([a + b == 3, y == c], [one_hot(a, range(3)), c, one_hot(b, range(3))],
                    [y, one_hot(b, range(3))])  # fmt: skip
    columns, count = output_variables(theory)
    assert (columns.tolist(), count) == ([7, 4, 5, 6], 8)
    head = SatNetHead(theory, 4, 2)
    assert head.satnet.size == (8, 4, 2)
    logits = torch.tensor(
        [[1.0, 2.0, 3.0, -1.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 1.0, 4.0, 1.0, 2.0]]
    )
    found = head(logits)
    assert torch.allclose(found[0], torch.zeros(4))  # neither y nor b is known: one half
    assert torch.allclose(found[1, 1:].sigmoid(), torch.tensor([4.0, 1.0, 2.0]).softmax(0))
    assert head.eval()(logits)[1, 1:].tolist() == [1, -1, -1]


@pytest.mark.usefixtures("_satnet")
def test_satnet_has_the_hints_and_answers_of_a_sudoku_in_the_same_variables(monkeypatch):
    made = make_boards(4)
    train, test = (Boards(made.puzzles[i], made.solutions[i]) for i in (slice(3), slice(3, 4)))
    boards = SudokuBoards(train, test, "generated boards")
    task = VisualSudoku(boards=boards, data="sample", reading="digits")
    monkeypatch.setattr(Problem, "task", lambda problem, seed: task)
    problem, method = PROBLEMS["visual-sudoku-10"], METHODS["satnet-sudoku"]
    examples = method.examples(problem, 0)
    assert METHODS["ours"].examples(problem, 0) is task
    columns, count = output_variables(examples.theory)
    assert (columns.tolist(), count) == (list(range(729)), 729)
    rows, order = examples.rows("train", 3, 0), task.chosen("train")
    hints = torch.from_numpy(train.puzzles)[order] > 0
    assert torch.equal(rows.items, task.rows("train", 3, 0).items)
    cells = rows.targets.view(3, 81, 9)
    assert torch.equal(cells.sum(-1), torch.ones(3, 81))
    assert torch.equal(cells.argmax(-1) + 1, torch.from_numpy(train.solutions)[order].long())
    assert torch.equal(rows.asked.view(3, 81, 9), ~hints[..., None].expand(-1, -1, 9))
    learner = method.start(problem, examples, 0, 1)
    assert learner.model.head.satnet.size == (729, 600, 300)
    batch = rows.batch(torch.arange(3))
    missing = 9 * (~hints).sum() / (3 * 729)  # their outputs are one half, and hints do not count
    assert learner.step(batch).loss == pytest.approx(missing.item() * math.log(2), rel=1e-5)


@pytest.mark.usefixtures("_satnet")
def test_pre_training_is_not_timed(monkeypatch):
    calls, forward = [], Copies.forward
    monkeypatch.setattr(Copies, "forward", lambda *given: calls.append(1) or forward(*given))
    problem = replace(TINY, epochs=3)
    (found,) = learn.timed(problem, [METHODS["satnet-pretrained"]])
    assert len(calls) == 1 + learn.REPEATS
    assert found["per_1000"] > 0


class Mixing:
    """SATNet's function, for clauses that have the same effect on all outputs."""

    @staticmethod
    def forward(ctx, clauses, z, is_input, *options):
        ctx.S, ctx.z, ctx.is_input = clauses, z, is_input
        sign = z.new_tensor([1.0, -1.0]).repeat(z.shape[1])[: z.shape[1]]
        vectors = torch.stack([-(torch.pi * z).cos(), sign * (torch.pi * z).sin()], -1)
        ctx.V = torch.where(is_input[..., None] > 0, vectors, 0.1)
        ctx.W = ctx.V.mT @ clauses
        return (ctx.W**2).sum((1, 2))[:, None] * torch.arange(z.shape[1])

    @staticmethod
    def backward(ctx, gradient):
        share = (gradient * torch.arange(gradient.shape[1])).sum(-1)
        ctx.Phi = 2 * ctx.W * share[:, None, None]
        return None, torch.full_like(gradient, torch.nan), None, None, None, None


def test_the_corrected_gradient_is_the_derivative_of_the_vectors(monkeypatch):
    monkeypatch.setitem(sys.modules, "satnet.models", SimpleNamespace(MixingFunc=Mixing))
    torch.manual_seed(0)
    layer = SimpleNamespace(S=torch.randn(8, 4).double(), aux=2, max_iter=1, eps=1e-3, prox_lam=0.0)
    known = torch.tensor([[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]], dtype=torch.int32)
    values = torch.rand(2, 5, dtype=torch.float64, requires_grad=True)
    assert complete(layer, values, known).shape == values.shape
    assert torch.autograd.gradcheck(lambda given: complete(layer, given, known), values)


def test_the_gradient_of_the_release_is_corrected():
    pytest.importorskip("satnet", reason="SATNet is built only where it is compared")
    found = cosines()
    assert found["corrected"] > 0.999
    assert found["release"] < 0.5  # once a release has it right, ours is not needed


@pytest.mark.usefixtures("_satnet")
@pytest.mark.parametrize(("name", "corrected"), [("satnet", False), ("satnet-corrected", True)])
def test_only_the_corrected_method_has_the_true_gradient(name, corrected, monkeypatch):
    monkeypatch.setattr("satnet_layer.complete", lambda layer, *given: 0 * layer(*given) + 0.25)
    method = METHODS[name]
    learner = method.start(TINY, method.examples(TINY, 0), 0, 1)
    (batch, *_) = learn.batches(method, TINY, 0)
    answers = learner.model.head(learner.model.network(batch.features)).sigmoid()
    assert torch.allclose(answers, torch.tensor(0.25 if corrected else 0.5).to(answers))
