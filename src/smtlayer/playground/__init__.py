"""A local web page to play with: draw digits, disturb Sudokus, catch liars, paste theories."""
