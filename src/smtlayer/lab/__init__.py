"""Blame rules tried on a theory without a network."""

from smtlayer.lab.laboratory import LabOptions as LabOptions
from smtlayer.lab.laboratory import LabResult as LabResult
from smtlayer.lab.laboratory import LabRun as LabRun
from smtlayer.lab.laboratory import run_lab as run_lab
from smtlayer.lab.problems import LabProblem as LabProblem
from smtlayer.lab.problems import LabRows as LabRows
from smtlayer.lab.problems import problem_of as problem_of
from smtlayer.lab.readings import readings as readings
from smtlayer.solvers.readings.kinds import FACT as FACT
from smtlayer.solvers.readings.result import ReadingClass as ReadingClass
from smtlayer.solvers.readings.result import Readings as Readings
