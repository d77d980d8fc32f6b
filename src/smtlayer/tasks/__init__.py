"""Worked problems: a theory, its data and its network."""

from smtlayer.tasks.algebra_symbols import load_symbols as load_symbols
from smtlayer.tasks.base import Batch as Batch
from smtlayer.tasks.base import Model as Model
from smtlayer.tasks.base import Rows as Rows
from smtlayer.tasks.base import Scouting as Scouting
from smtlayer.tasks.base import SplitName as SplitName
from smtlayer.tasks.base import Task as Task
from smtlayer.tasks.base import Teaching as Teaching
from smtlayer.tasks.liars_puzzle import LiarsPuzzle as LiarsPuzzle
from smtlayer.tasks.liars_words import load_words as load_words
from smtlayer.tasks.mnist import load_digits as load_digits
from smtlayer.tasks.mnist_addition import MnistAddition as MnistAddition
from smtlayer.tasks.sudoku_data import load_boards as load_boards
from smtlayer.tasks.visual_algebra import VisualAlgebra as VisualAlgebra
from smtlayer.tasks.visual_sudoku import VisualSudoku as VisualSudoku
