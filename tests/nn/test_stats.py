"""The counts that a layer keeps."""

import copy
import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch

from helpers import Changed, GivesUp, all_equal, input_gradient
from smtlayer import SMTLayer, Solution, Status, Table, Theory
from smtlayer.nn import Stats
from smtlayer.solvers import Enumerate, Solver
from smtlayer.solvers.host.memory import Memory
from smtlayer.solvers.host.rows import InProcess
from smtlayer.solvers.host.solver import HostSolver
from smtlayer.testing.theories import xor


def used_layer():
    layer = SMTLayer(all_equal(2), backend=GivesUp((-1, 1), ("solve",)))
    layer.stats.reset()
    logits = torch.tensor([[2.0, 2.0], [2.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    slope = torch.tensor([[-1.0], [1.0], [1.0], [1.0], [0.0]])
    input_gradient(layer, logits, slope)  # correct, wrong, wrong (unsat), unknown, no gradient
    return layer


def test_rows_are_counted_by_what_became_of_them():
    stats = used_layer().stats
    assert (stats.sat, stats.unsat, stats.unknown) == (3, 1, 1)
    assert (stats.correct, stats.blamed, stats.without_gradient) == (1, 2, 1)
    assert (stats.contradicted, stats.undecided) == (0, 0)
    assert stats.rows == 5
    assert stats.solver_seconds > 0


def test_counts_add_up_over_batches_and_shapes_until_reset():
    layer = SMTLayer(xor())
    layer(torch.ones(3, 2))
    layer.solve(torch.ones(2, 2, 2))
    layer(torch.ones(2))
    assert (layer.stats.sat, layer.stats.rows) == (8, 8)
    layer.stats.reset()
    assert (layer.stats.rows, layer.stats.solver_seconds) == (0, 0.0)
    layer(torch.ones(1, 2))
    assert layer.stats.rows == 1


def test_making_a_layer_counts_nothing():
    assert SMTLayer(xor()).stats.rows == 0


def test_all_counts_as_plain_numbers():
    counts = used_layer().stats.as_dict()
    seconds = counts.pop("solver_seconds")
    assert seconds > 0
    assert counts == {
        "rows": 5, "sat": 3, "unsat": 1, "unknown": 1, "unproved": 0, "correct": 1, "blamed": 2,
        "without_gradient": 1, "contradicted": 0, "undecided": 0, "impossible": 0,
        "cache_hits": 0,
    }  # fmt: skip
    assert all(type(count) is int for count in counts.values())


def test_stats_print_their_counts():
    assert repr(Stats()) == (
        "Stats(rows=0, sat=0, unsat=0, unknown=0, unproved=0, correct=0, blamed=0, "
        "without_gradient=0, contradicted=0, undecided=0, impossible=0, cache_hits=0, "
        "solver_seconds=0)"
    )


def test_a_count_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(AttributeError, match=r"Stats has no count 'saat'\. It has sat, unsat, "):
        _ = Stats().saat


@dataclass(frozen=True)
class Remembers:
    """A solver with a memory."""

    def compile(self, theory: Theory) -> Solver:
        stage = Memory(InProcess(theory, Enumerate().open), 100)
        return HostSolver(theory, stage, name="Remembers", limit_ms=None, deterministic=True)


ROWS = torch.tensor([[2.0, 2.0], [2.0, 2.0], [2.0, -1.0], [-1.0, -1.0]])


def test_rows_answered_from_memory_are_counted_forward_and_back():
    layer = SMTLayer(all_equal(2), backend=Remembers())
    assert layer.stats.cache_hits == 0
    layer(ROWS)
    assert layer.stats.cache_hits == 1  # the second row repeats the first
    layer(ROWS)
    assert layer.stats.cache_hits == 1 + 4
    input_gradient(layer, ROWS, torch.ones(4, 1))  # the last row is correct, so three are blamed
    assert layer.stats.cache_hits == 1 + 4 + 4 + 1
    input_gradient(layer, ROWS, torch.ones(4, 1))
    assert layer.stats.cache_hits == 1 + 4 + 4 + 1 + 4 + 3
    assert layer.stats.as_dict()["cache_hits"] == 17
    assert "cache_hits=17" in repr(layer.stats)


def test_hits_before_the_layer_asked_or_beside_it_are_not_counted():
    layer = SMTLayer(all_equal(2), backend=Remembers())
    layer.solver.solve(torch.ones(5, 2, dtype=torch.int8))
    assert layer.solver.cache_hits == 4
    layer(ROWS[2:])
    assert layer.stats.cache_hits == 0


def test_hits_survive_a_journey_and_a_reset_ends_them():
    layer = SMTLayer(all_equal(2), backend=Remembers())
    layer(ROWS)
    for twin in (pickle.loads(pickle.dumps(layer)), copy.deepcopy(layer)):
        assert twin.stats.as_dict() == layer.stats.as_dict()
        twin(ROWS)  # with its own memory, empty at first
        assert (twin.stats.cache_hits, layer.stats.cache_hits) == (2, 1)
    layer.stats.reset()
    assert layer.stats.cache_hits == 0
    layer(ROWS)
    assert layer.stats.cache_hits == 4


def test_nothing_is_counted_while_counting_is_paused():
    stats, solver = Stats(), SimpleNamespace(cache_hits=4)
    with stats.paused(), stats.clock(solver):
        solver.cache_hits += 3
        stats.add({"sat": torch.ones(2, dtype=torch.bool)})
    assert (stats.cache_hits, stats.sat) == (0, 0)
    with stats.clock(solver):
        solver.cache_hits += 3
    assert stats.cache_hits == 3


@dataclass(frozen=True)
class InAHurry:
    """Takes a repair without proof, gives up on (-1, 1), and is sure of the rest."""

    def compile(self, theory: Theory) -> Changed:
        return Changed(Table().compile(theory), self._change)

    def _change(self, asked, answer):
        if asked.name != "maximize":
            return answer
        lost = (asked.inputs == torch.tensor([-1, 1])).all(-1)
        status = torch.where(lost, Status.UNKNOWN, answer.status).to(torch.int8)
        proved = ~lost & (answer.cost == 0)
        return Solution(status, answer.inputs, answer.outputs, answer.cost, proved)


def test_repairs_without_proof_are_counted_in_the_forward_pass():
    layer = SMTLayer(all_equal(2), backend=InAHurry(), forward="maxsmt", backward="maxsmt")
    logits = torch.tensor([[2.0, -1.0], [-1.0, 2.0], [1.0, 1.0], [3.0, -2.0]])
    input_gradient(layer, logits, torch.ones(4, 1))
    stats = layer.stats
    assert (stats.sat, stats.unknown, stats.unproved) == (3, 1, 2)
    assert (stats.rows, stats.as_dict()["unproved"]) == (4, 2)


def test_that_there_is_no_model_needs_no_proof():
    layer = SMTLayer(all_equal(2))
    layer(ROWS)
    assert (layer.stats.unsat, layer.stats.unproved) == (1, 0)
