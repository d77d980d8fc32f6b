"""Every backend obeys the laws, on many more theories than test_conformance.py."""

import pytest

from smtlayer import Z3, Auto, Enumerate, Sat, Table
from smtlayer.testing import SolverConformance, random_finite_theory

pytestmark = pytest.mark.slow


class Random(SolverConformance):
    """For backends whose named theories are in the default suite."""

    test_named_theories_obey = None
    seeds = 100


class Finite(Random):
    def random(self, seed):
        return random_finite_theory(seed)


class TestTable(Random):
    backend = Table()


class TestZ3(Random):
    backend = Z3()


class TestZ3WithoutMemory(SolverConformance):
    backend = Z3(remember=0)
    seeds = 100


class TestEnumerate(SolverConformance):
    backend = Enumerate()


class TestSat(Finite):
    backend = Sat()


class TestSatWithoutMemory(Finite):
    backend = Sat(remember=0)


class TestAuto(Random):
    backend = Auto()


class TestAutoOnFiniteTheories(Finite):
    backend = Auto(max_models=5)  # so that most go to Sat
