"""Visual Sudoku: boards whose hints are handwritten digits."""
