"""A forward pass takes a short path through the library: few functions, few frames."""

import sys
from pathlib import Path

import pytest
import torch
import z3

import smtlayer
from helpers import random_logits
from smtlayer import Sat, SMTLayer, Table, Theory, one_hot
from smtlayer.testing.theories import addition

SOURCE = Path(smtlayer.__file__).parent.as_posix()


def path_of(call):
    """The functions of the library that a call runs, and how deep their frames are nested."""
    functions, depth, deepest = set(), 0, 0

    def count(frame, event, _):
        nonlocal depth, deepest
        code = frame.f_code
        # Python 3.12 has no frames for comprehensions.
        if code.co_name.startswith("<") or not code.co_filename.startswith(SOURCE):
            return
        if event == "call":
            functions.add(code)
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert depth == 0
    return len(functions), deepest


def latin_row():
    """Four different digits, so that some inputs clash; their order is free."""
    cells = [z3.Int(f"cell{i}") for i in range(4)]
    columns = [one_hot(cell, range(4)) for cell in cells]
    return Theory(z3.Distinct(*cells), inputs=columns, outputs=columns)


def forward(layer, seed, share=1.0):
    logits = random_logits(16, layer.theory.n_inputs, seed)
    known = torch.rand(logits.shape, generator=torch.Generator().manual_seed(seed)) < share
    return lambda: layer(logits, known)


@pytest.mark.parametrize("training", [True, False], ids=["smt", "maxsmt"])
@pytest.mark.parametrize("backend", [Sat(), Sat(remember=0)], ids=["memory", "no memory"])
def test_a_sat_solver_is_at_most_thirteen_frames_away(backend, training):
    layer = SMTLayer(addition(4), backend=backend).train(training)
    for seed in range(3):
        forward(layer, seed)()
    for seed in (2, 3):  # asked before, and not
        functions, deepest = path_of(forward(layer, seed))
        assert functions <= 55
        assert deepest <= 13


@pytest.mark.parametrize("theory", [addition(4), latin_row()], ids=["addition", "one-hot"])
def test_searches_for_a_model_are_no_further_away(theory):
    layer = SMTLayer(theory, backend=Sat())
    for seed in range(20):
        functions, deepest = path_of(forward(layer, seed, share=0.2))
        assert functions <= 55
        assert deepest <= 13


@pytest.mark.parametrize("training", [True, False], ids=["smt", "maxsmt"])
def test_a_table_is_at_most_eight_frames_away(training):
    layer = SMTLayer(addition(4), backend=Table()).train(training)
    forward(layer, 0)()
    functions, deepest = path_of(forward(layer, 1))
    assert functions <= 30
    assert deepest <= 8
