"""The counts that a layer keeps."""

import pytest
import torch

from helpers import GivesUp, all_equal, input_gradient
from smtlayer import SMTLayer
from smtlayer.nn import Stats
from smtlayer.testing.theories import xor


def used_layer():
    layer = SMTLayer(all_equal(2), backend=GivesUp((-1, 1), ("solve",)))
    layer.stats.reset()
    logits = torch.tensor([[2.0, 2.0], [2.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    slope = torch.tensor([[-1.0], [1.0], [1.0], [1.0], [0.0]])
    input_gradient(layer, logits, slope)  # settled, asked, asked (unsat), unknown, silent
    return layer


def test_rows_are_counted_by_what_became_of_them():
    stats = used_layer().stats
    assert (stats.sat, stats.unsat, stats.unknown) == (3, 1, 1)
    assert (stats.settled, stats.asked, stats.silent) == (1, 2, 1)
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
        "rows": 5, "sat": 3, "unsat": 1, "unknown": 1, "settled": 1, "asked": 2, "silent": 1,
        "contradicted": 0, "undecided": 0, "cache_hits": 0,
    }  # fmt: skip
    assert all(type(count) is int for count in counts.values())


def test_stats_print_their_counts():
    assert repr(Stats()) == (
        "Stats(rows=0, sat=0, unsat=0, unknown=0, settled=0, asked=0, silent=0, contradicted=0, "
        "undecided=0, cache_hits=0, solver_seconds=0)"
    )


def test_a_count_that_does_not_exist_is_named_with_those_that_do():
    with pytest.raises(AttributeError, match=r"Stats has no count 'saat'\. It has sat, unsat, "):
        _ = Stats().saat
