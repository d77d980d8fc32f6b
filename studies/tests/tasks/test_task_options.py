import pytest

from smtlayer_studies.tasks.options import make_task, option_types


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        ("mnist-addition", {"validation": 0.1}),
        ("visual-algebra", {"validation": 0.1}),
        ("visual-algebra", {"apart": 9}),
        ("liars-puzzle", {"validation": 0.1}),
        ("visual-sudoku", {"validation": 0.1}),
    ],
)
def test_examples_that_are_set_apart_are_scored(name, apart):
    assert make_task({"name": name}).scored_split == "test"
    assert make_task({"name": name, **apart}).scored_split == "validation"


def test_options_are_arguments_that_a_file_can_hold():
    assert list(option_types("visual-sudoku")) == ["percent", "data", "validation", "reading"]
    assert list(option_types("liars-puzzle")) == ["as_printed", "words", "split", "validation"]
