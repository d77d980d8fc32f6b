"""Every Python block in the documentation runs and prints the output on the page."""

import runpy
from pathlib import Path

import pytest

from outputs import agree

ROOT = Path(__file__).parents[2]
REFRESH = runpy.run_path(str(ROOT / "docs" / "refresh.py"))
PAGES, ELSEWHERE = REFRESH["pages"](), REFRESH["ELSEWHERE"]


@pytest.mark.usefixtures("own_z3_context")
@pytest.mark.parametrize("name", PAGES)
def test_the_code_of_a_page_prints_its_output(name):
    text = PAGES[name].read_text(encoding="utf-8")
    expected = [part for *_, part in REFRESH["BLOCK"].findall(text)]
    printed = REFRESH["printed_by"](text, PAGES[name].stem)
    for actual, shown in zip(printed, expected, strict=True):
        assert agree(actual, shown), f"run: python docs/refresh.py {name}\n{actual}"


def test_most_pages_are_executed():
    assert len(PAGES) >= 10


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_code_of_the_other_pages_has_its_own_test(name):
    assert "```python\n" in (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert Path(name).name in (ROOT / ELSEWHERE[name]).read_text(encoding="utf-8")


def test_a_difference_in_the_output_is_detected():
    assert agree("10 rows, 97 % right\n", "10 rows, 98 % right\n")
    assert not agree("10 rows, 57 % right\n", "10 rows, 98 % right\n")
    assert not agree("10 rows, 98 % wrong\n", "10 rows, 98 % right\n")
    assert not agree("10 rows\n", "")


def test_refresh_updates_the_output_of_a_page():
    page = "```python\na = 1\n```\n\n```python\nprint(a)\n```\n\n```text\n2\n```\n"
    assert REFRESH["refreshed"](page, "page") == page.replace("text\n2\n", "text\n1\n")
