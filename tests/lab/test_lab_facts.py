"""Symbols that are given as facts in the lab."""

from dataclasses import replace

import pytest
import z3

from smtlayer import SMTLayer, Theory, one_hot
from smtlayer.lab import FACT, LabOptions, problem_of, readings, run_lab

n, limit = z3.Ints("n limit")
within = z3.Bool("within")
THEORY = Theory(
    within == (n <= limit),
    inputs=[one_hot(n, range(3)), one_hot(limit, range(2))],
    outputs=[within],
)


def with_fact():
    return replace(problem_of(THEORY), readers=(0, FACT))


def test_the_columns_of_facts_are_given():
    assert with_fact().given.tolist() == [False] * 3 + [True] * 2
    assert problem_of(THEORY).given is None


def test_facts_are_no_kinds_to_be_learnt_and_make_the_rest_learnable():
    options = LabOptions(steps=150)
    result = run_lab(with_fact(), ["marginal"], seeds=6, options=options)
    assert result.kinds == 3
    assert result.best.grounded == 6
    assert result.best.symbols == (1.0,) * 6
    read = run_lab(problem_of(THEORY), ["marginal"], seeds=6, options=options)
    assert read.kinds == 5
    assert read.best.symbols != (1.0,) * 6


def test_facts_are_read_in_one_way_only():
    a, b, c = z3.Ints("a b c")
    same = z3.Bool("same")
    symbols = [one_hot(a, range(2)), one_hot(b, range(2)), one_hot(c, range(3))]
    theory = Theory(same == z3.And(a == b, c > 0), inputs=symbols, outputs=[same])
    problem = problem_of(theory, separate=True)
    assert readings(problem).count == 8  # a and b are exchanged together; 1 and 2 are the same
    found = readings(replace(problem, readers=(0, FACT, FACT)))
    assert (found.count, found.fits) == (1, ({"a": {0: 0, 1: 1}},))
    assert readings(replace(problem, readers=(0, 1, FACT))).count == 2
    fewer = replace(problem, shown=problem.shown[problem.shown.inputs[:, -1] < 0])
    assert readings(fewer).never_shown == {"c": (2,)}
    assert readings(replace(fewer, readers=(0, 1, FACT))).never_shown == {}
    assert readings(replace(problem, readers=(0, FACT, 1))).count == 4


@pytest.mark.parametrize("noise", [0.0, 50.0])
def test_noise_leaves_facts_alone(noise, monkeypatch):
    seen = []

    def spy(self, logits, known=None, given=None):
        seen.append(logits[..., given])
        return forward(self, logits, known, given)

    forward = SMTLayer.forward
    monkeypatch.setattr(SMTLayer, "forward", spy)
    run_lab(with_fact(), ["core"], seeds=2, options=LabOptions(steps=3, noise=noise))
    assert {abs(value) for part in seen for value in part.flatten().tolist()} == {1.0}
