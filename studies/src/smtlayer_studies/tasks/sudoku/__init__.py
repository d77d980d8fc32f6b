"""Visual Sudoku: boards whose hints are handwritten digits."""

from smtlayer_studies.tasks.registry import TaskEntry

TASK = TaskEntry(
    "visual-sudoku", task=f"{__name__}.task:VisualSudoku", experiment="visual-sudoku-100"
)
