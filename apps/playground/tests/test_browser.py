"""The pages in a real browser, on a server that `smtlayer demo` started."""

import re

import pytest
from browsing import NEEDS_BROWSER, ONE, SEVEN, draw, expect

pytestmark = NEEDS_BROWSER


def test_digits_are_drawn_and_added(visit):
    page = visit("addition")
    total = page.locator("#addition-sum")
    expect(total).to_have_text(re.compile(r"\d+ \+ \d+ = \d+"))
    pads = page.locator(".pad")
    for place, line in enumerate((ONE, SEVEN)):
        page.get_by_role("button", name="Clear").nth(place).click()
        expect(page.locator("#addition-answer")).to_contain_text("Draw both digits")
        with page.expect_response("**/api/addition"):
            draw(page, pads.nth(place), line)
        expect(total).to_be_visible()
    expect(page.locator(".bit")).to_have_count(8)
    a, b, result = map(int, re.findall(r"\d+", total.inner_text()))
    assert a + b == result
    assert [tag.inner_text()[:5] for tag in page.locator(".digit .tag").all()] == ["reads"] * 2


def offer_digits_that_fit(page):
    """Images are random, and one that is read as 10 or more is blamed for that alone."""
    for _ in range(20):
        if "consistent" in page.locator("#addition-answer").inner_text():
            return
        for name in ("first digit, a", "second digit, b"):
            with page.expect_response("**/api/addition"):
                page.get_by_label(f"Handwritten {name}").select_option("1")
    pytest.fail("no two images are read as digits")


def test_a_wanted_sum_shows_the_blamed_bits(visit):
    page = visit("addition")
    expect(page.locator("#addition-sum")).to_be_visible()
    offer_digits_that_fit(page)
    blame = page.locator("#addition-blame")
    page.get_by_label("Wanted sum").fill("25")
    expect(blame).to_contain_text("No two digits add up to 25")
    total = int(page.locator("#addition-sum .answer").inner_text())
    page.get_by_label("Wanted sum").fill(str(18 - total if total != 9 else 3))
    expect(blame).to_contain_text("unless one of these bits changes")
    expect(blame).to_contain_text("the sum is a + b")
    expect(page.locator(".bit.blamed").first).to_be_visible()


def test_bits_that_are_flipped_are_overruled(visit):
    page = visit("addition")
    expect(page.locator("#addition-sum")).to_be_visible()
    for place in (8, 4):
        bit = page.get_by_role("button", name=f"Bit {place}:").first
        if bit.locator("b").inner_text() == "0":
            with page.expect_response("**/api/addition"):
                bit.click()
            expect(bit.locator("b")).to_contain_text("1")
    expect(page.locator(".bar.flipped").first).to_be_visible()
    expect(page.locator(".bit.overruled").first).to_be_visible()
    expect(page.locator("#addition-answer")).to_contain_text("at a cost of")
    expect(page.locator("#addition-sum .taken").first).to_be_visible()


def test_digits_are_chosen_by_the_keyboard_alone(visit):
    page = visit("addition")
    expect(page.locator("#addition-sum")).to_be_visible()
    pad = page.locator(".pad").first
    pad.focus()
    page.keyboard.press("Delete")
    expect(page.locator("#addition-answer")).to_contain_text("Draw both digits")
    with page.expect_response("**/api/addition"):
        page.keyboard.press("7")
    expect(page.locator("#addition-sum")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Clear"


def test_a_board_is_disturbed_and_repaired(visit):
    page = visit("sudoku")
    board, answer = page.locator("#sudoku-board"), page.locator("#sudoku-answer")
    expect(board).to_have_attribute("data-state", "done")
    expect(answer).to_contain_text(re.compile("Solved|Wrong board"))
    assert page.locator(".cell canvas").count() + page.locator(".cell .filled").count() == 81
    for _ in range(2):
        with page.expect_response("**/api/sudoku"):
            page.get_by_role("button", name="Disturb a hint").click()
        expect(board).to_have_attribute("data-state", "done")
    expect(page.locator(".cell.changed")).to_have_count(2)
    expect(page.locator(".cell.overruled").first).to_be_visible()
    expect(page.locator(".cell.core").first).to_be_visible()
    expect(answer).to_contain_text("hints, at a cost of")
    expect(answer).to_contain_text(re.compile(r"(row|column|box) \d contains each|a number from 1"))
    with page.expect_response("**/api/sudoku"):
        page.get_by_role("button", name="Restore all").click()
    expect(page.locator(".cell.changed")).to_have_count(0)


def test_a_hint_is_replaced_drawn_and_made_noisy(visit):
    page = visit("sudoku")
    expect(page.locator("#sudoku-board")).to_have_attribute("data-state", "done")
    hint = page.locator(".cell:has(canvas)").first
    hint.click()
    expect(page.locator("#sudoku-cell")).to_contain_text("Hint in row")
    changes = (
        lambda: page.get_by_role("button", name="Replace by a handwritten 4").click(),
        lambda: page.get_by_role("button", name="Add noise").click(),
        lambda: draw(page, page.locator("#sudoku-cell .pad"), SEVEN),
        lambda: (hint.focus(), page.keyboard.press("2")),
    )
    for change in changes:
        before = hint.locator("canvas").evaluate("canvas => canvas.toDataURL()")
        with page.expect_response("**/api/sudoku"):
            change()
        expect(page.locator("#sudoku-board")).to_have_attribute("data-state", "done")
        assert hint.locator("canvas").evaluate("canvas => canvas.toDataURL()") != before
    page.keyboard.press("ArrowRight")
    assert "column" in page.evaluate("document.activeElement.getAttribute('aria-label')")


def test_puzzles_are_typed_and_judged(visit):
    page = visit("liars")
    verdict, example = page.locator("#liars-guilty"), page.locator("select[id$=-example]:visible")
    expect(verdict).to_have_text("Bob is guilty")
    expect(page.locator("#liars-source")).to_contain_text(
        "searched for keywords, without a network"
    )
    for name, guilty, words in (
        ("One of them is not sure", "Charlie is guilty", "cost of 1.0"),
        ("In your own words", "Alice is guilty", "No one else can be guilty"),
    ):
        example.select_option(name)
        expect(verdict).to_have_text(guilty)
        expect(page.locator("#liars-answer")).to_contain_text(words)
    typed = ("Alice says Charlie did it.", "Bob: Charlie is guilty!", "Charlie says Bob did it.")
    for number, sentence in enumerate(typed, 1):
        page.get_by_label(f"Sentence {number}").fill(sentence)
    expect(verdict).to_have_text("Charlie is guilty")
    page.get_by_role("button", name="Bob").click()
    expect(page.locator("#liars-blame")).to_contain_text(
        re.compile(r"sentence 1 rules out that Bob|sentence 2 rules out that Bob")
    )
    page.get_by_label("Sentence 2").fill("Alice is innocent, says Alice")
    expect(page.locator("#liars-answer")).to_contain_text("as read contradict each other")


def test_a_theory_is_pasted_and_its_inputs_flipped(visit):
    page = visit("theory")
    expect(page.locator("[data-query=core]")).to_contain_text("are consistent")
    page.get_by_label("SMT-LIB 2").fill(
        "(declare-const rain Bool) (declare-const dry Bool) (declare-const roof Bool)"
        "(assert (! (=> (and rain (not roof)) (not dry)) :named wet))"
    )
    page.get_by_label("Inputs", exact=True).fill("rain, roof")
    page.get_by_label("Outputs", exact=True).fill("dry")
    rain = page.get_by_role("radiogroup", name="rain")
    expect(rain).to_be_visible()
    page.get_by_role("radiogroup", name="wanted dry").get_by_text("true").click()
    expect(page.locator("[data-query=core]")).to_contain_text("allow the wanted outputs")
    page.get_by_role("radiogroup", name="roof").get_by_text("false").click()
    core = page.locator("[data-query=core]")
    expect(core).to_contain_text("rain and roof")
    expect(core).to_contain_text("wet")
    expect(page.locator("[data-query=solve]")).to_contain_text("sat")
    page.get_by_label("Confidence of rain").press("ArrowLeft")
    expect(page.locator("[data-query='maximize, wanted']")).to_contain_text(
        "rain, at a cost of 1.9"
    )
    rain.get_by_text("free").click()
    expect(core).to_contain_text("allow the wanted outputs")
    expect(page.get_by_label("Confidence of rain")).to_be_disabled()


def test_an_invalid_or_hostile_theory_gives_an_error_on_the_page(visit):
    page = visit("theory", rejections=5)
    expect(page.locator("[data-query=core]")).to_be_visible()
    error = page.locator("#theory-answer .error")
    for text, words in (
        ("(assert (=", "line 1"),
        ("/etc/passwd", "begins with"),
        ("; " + "x" * 20_001, "20,000 characters"),
        ('(include "x")', "'include'"),
        ("(declare-const a (_ BitVec 999999999))(assert (= a a))", "memory"),
    ):
        with page.expect_response("**/api/theory"):
            page.get_by_label("SMT-LIB 2").fill(text)
        expect(error).to_contain_text(words)
        page.get_by_label("SMT-LIB 2").evaluate("field => field.scrollTo(0, 0)")
    page.locator("select[id$=-example]:visible").select_option("Adder")
    expect(page.locator("[data-query=core]")).to_contain_text("a-is-a-digit")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_a_phone_shows_all_pages_without_scrolling_sideways(visit, scheme):
    page = visit("addition", width=390, color_scheme=scheme, has_touch=True, is_mobile=True)
    shown = {
        "addition": "#addition-sum", "sudoku": "#sudoku-status", "liars": "#liars-guilty",
        "requirements": "#requirements-columns [data-column=bus]", "theory": "[data-query=core]",
    }  # fmt: skip
    for name, sign in shown.items():
        page.get_by_role("link", name=name.capitalize(), exact=True).tap()
        expect(page.locator(sign)).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390, name
        current = page.locator("nav [aria-current=page]")
        expect(current).to_have_text(name.capitalize())
    light, dark = "rgb(246, 247, 251)", "rgb(18, 20, 28)"
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == (light if scheme == "light" else dark)


def test_a_finger_draws(visit):
    page = visit("addition", width=390, has_touch=True, is_mobile=True)
    expect(page.locator("#addition-sum")).to_be_visible()
    pad = page.locator(".pad").first
    before = pad.evaluate("canvas => canvas.toDataURL()")
    box = pad.bounding_box()
    with page.expect_response("**/api/addition"):
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert pad.evaluate("canvas => canvas.toDataURL()") != before
    assert pad.evaluate("canvas => getComputedStyle(canvas).touchAction") == "none"
