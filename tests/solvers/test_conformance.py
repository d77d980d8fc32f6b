"""Every backend obeys the laws."""

from smtlayer import Z3, Auto, Enumerate, Table
from smtlayer.testing import SolverConformance


class TestTable(SolverConformance):
    backend = Table()


class TestZ3(SolverConformance):
    backend = Z3()


class TestAuto(SolverConformance):
    backend = Auto()


class TestEnumerate(SolverConformance):
    backend = Enumerate()
    seeds = 8
