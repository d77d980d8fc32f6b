"""DIMACS text is distinguished from SMT-LIB 2 and from paths."""

import pytest
import torch
import z3

from smtlayer import Sat, Status, Theory, TheoryError

DIMACS = "c a comment\np cnf 3 2\n1 -2 0\n2 3 0\n"


@pytest.mark.parametrize("given", ["text", "path", "bare"])
def test_dimacs_is_recognised(given, tmp_path):
    path = tmp_path / "rules.cnf"
    path.write_text(DIMACS)
    script = {"text": DIMACS, "path": path, "bare": "p cnf 1 1\n1 0"}[given]
    message = r"^Theory.from_smtlib expects SMT-LIB 2\. Got DIMACS .* z3\.Bool\(7\), and build The"
    with pytest.raises(TheoryError, match=message):
        Theory.from_smtlib(script, ["a"], ["y"])


def test_the_way_around_works(tmp_path):
    path = tmp_path / "rules.cnf"
    path.write_text(DIMACS)
    solver = z3.Solver()
    solver.from_file(str(path))
    theory = Theory(solver.assertions(), inputs=[z3.Bool(1), z3.Bool(2)], outputs=[z3.Bool(3)])
    found = Sat().compile(theory).solve(torch.tensor([[1, -1], [-1, 1]], dtype=torch.int8))
    assert found.status.tolist() == [Status.SAT, Status.UNSAT]
    assert found.outputs[0].tolist() == [1]
