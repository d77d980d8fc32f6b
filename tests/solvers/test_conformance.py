"""Every backend obeys the laws; test_conformance_more.py has more theories."""

import pytest

from smtlayer import Z3, Auto, Enumerate, Sat, Table
from smtlayer.testing import FINITE, SolverConformance, random_finite_theory


class Finite(SolverConformance):
    """For backends that take theories which come down to bits."""

    theories = FINITE

    def random(self, seed):
        return random_finite_theory(seed)


class Random(SolverConformance):
    """For variants whose named theories are in test_conformance_more.py."""

    test_named_theories_obey = None


class TestTable(SolverConformance):
    backend = Table()
    seeds = 5


class TestZ3(SolverConformance):
    backend = Z3()
    seeds = 5


class TestZ3WithoutMemory(Random):
    backend = Z3(remember=0)
    seeds = 2


class TestSat(Finite):
    backend = Sat()
    seeds = 7


class TestSatWithoutMemory(SolverConformance):
    backend = Sat(remember=0)
    theories = FINITE
    seeds = 10


@pytest.mark.usefixtures("shared_pool", "_always_pool")
class TestSatWithWorkers(Finite):
    backend = Sat(workers=2, remember=0)
    seeds = 3


class TestAuto(SolverConformance):
    backend = Auto()
    seeds = 5


class TestAutoOnFiniteTheories(Finite):
    backend = Auto(max_models=5)  # so that most go to Sat
    seeds = 7


class TestEnumerate(Random):  # the named theories have it as their reference
    backend = Enumerate()
    seeds = 4
