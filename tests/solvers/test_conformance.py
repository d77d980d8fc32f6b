"""Every backend obeys the laws; test_conformance_more.py has more random theories."""

import pytest

from smtlayer import Z3, Auto, Enumerate, Sat, Table
from smtlayer.testing import FINITE, SolverConformance, random_finite_theory


class Finite(SolverConformance):
    """For backends that take theories which come down to bits."""

    theories = FINITE

    def random(self, seed):
        return random_finite_theory(seed)


class TestTable(SolverConformance):
    backend = Table()
    seeds = 10


class TestZ3(SolverConformance):
    backend = Z3()
    seeds = 10


class TestZ3WithoutMemory(SolverConformance):
    backend = Z3(remember=0)
    seeds = 5


class TestSat(Finite):
    backend = Sat()
    seeds = 14


class TestSatWithoutMemory(SolverConformance):
    backend = Sat(remember=0)
    theories = FINITE
    seeds = 10


@pytest.mark.usefixtures("shared_pool", "_always_pool")
class TestSatWithWorkers(Finite):
    backend = Sat(workers=2, remember=0)
    seeds = 7


class TestAuto(SolverConformance):
    backend = Auto()
    seeds = 10


class TestAutoOnFiniteTheories(Finite):
    backend = Auto(max_models=5)  # so that most go to Sat
    seeds = 7


class TestEnumerate(SolverConformance):
    backend = Enumerate()
    seeds = 4
