"""`Theory.check(rows=...)`: the readings that fit the rows, in the report."""

import pytest
import z3

from smtlayer import Theory
from smtlayer.errors import ArgumentError
from smtlayer.testing.theories import addition


def test_the_report_counts_the_readings_that_fit_the_rows():
    report = addition(2).check(rows=[{"a": 0, "b": 1}, {"a": 1, "b": 2}])
    assert report.readings is not None
    assert (report.readings.count, report.readings.wrong) == (2, 1)
    lines = str(report).splitlines()
    first = lines.index(
        "  readings          2 readings of the symbols fit the 2 examples that training shows; 1 "
        "of them answers some of the 9 tested examples wrongly."
    )
    assert (
        lines[first + 1]
        == "                          1 correct in 100.0 % of the test: the true reading"
    )
    assert lines[-1].lstrip().startswith("Training never shows a, b = 3")


def test_without_rows_there_are_no_readings_in_the_report():
    report = addition(2).check()
    assert report.readings is None
    assert "readings" not in str(report)


def test_rows_come_from_a_file_as_well(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,total\n3,3,6\n0,0,0\n1,1,2\n2,2,4\n")
    assert addition(2).check(rows=path).readings.count == 1
    path.write_text("a,b,total\n3,3,5\n")
    with pytest.raises(ArgumentError, match=r"contradicts the theory, by which total = 6"):
        addition(2).check(rows=path)


def test_a_theory_without_a_model_has_no_readings():
    a, y = z3.Bools("a y")
    report = Theory([y == a, False], [a], [y]).check(rows=[{"a": True}])
    assert (report.satisfiable, report.readings) == (False, None)
