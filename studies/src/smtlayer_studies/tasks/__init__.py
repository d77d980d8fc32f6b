"""Worked problems: a theory, its data and its network."""

from smtlayer_studies.tasks.algebra_symbols import load_symbols as load_symbols
from smtlayer_studies.tasks.base import Batch as Batch
from smtlayer_studies.tasks.base import Model as Model
from smtlayer_studies.tasks.base import Rows as Rows
from smtlayer_studies.tasks.base import Scouting as Scouting
from smtlayer_studies.tasks.base import SplitName as SplitName
from smtlayer_studies.tasks.base import Task as Task
from smtlayer_studies.tasks.base import Teaching as Teaching
from smtlayer_studies.tasks.liars_puzzle import LiarsPuzzle as LiarsPuzzle
from smtlayer_studies.tasks.liars_words import load_words as load_words
from smtlayer_studies.tasks.mnist import load_digits as load_digits
from smtlayer_studies.tasks.mnist_addition import MnistAddition as MnistAddition
from smtlayer_studies.tasks.sudoku_data import load_boards as load_boards
from smtlayer_studies.tasks.visual_algebra import VisualAlgebra as VisualAlgebra
from smtlayer_studies.tasks.visual_sudoku import VisualSudoku as VisualSudoku
