"""Speed as ratios, measured side by side in one run."""

from smtlayer.bench.encodings import values_against_bits as values_against_bits
from smtlayer.bench.speed import layer_against_z3 as layer_against_z3
from smtlayer.bench.speed import step_against_dense as step_against_dense
from smtlayer.bench.sudoku import sudoku_ratios as sudoku_ratios
from smtlayer.bench.timing import Ratio as Ratio
from smtlayer.bench.workers import two_workers_over_one as two_workers_over_one
