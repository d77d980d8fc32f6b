"""Pages show the answer to the current input only, and say if it is undecided or wrong."""

import re

import pytest
from browsing import NEEDS_BROWSER, ONE, draw, expect

pytestmark = NEEDS_BROWSER


@pytest.fixture
def addition(visit):
    page = visit("addition")
    expect(page.locator("#addition-sum")).to_be_visible()
    return page


def test_a_cleared_digit_has_no_reading_until_the_new_drawing_is_read(addition):
    card, other = addition.locator(".digit").nth(0), addition.locator(".digit").nth(1)
    expect(card.locator(".tag")).to_contain_text("reads")
    addition.get_by_label("Wanted sum").fill("25")
    expect(addition.locator("#addition-blame")).to_contain_text("No two digits add up to 25")
    card.get_by_role("button", name="Clear").click()
    expect(card.locator(".tag")).to_have_text("")
    expect(card.locator(".bit")).to_have_count(0)
    expect(other.locator(".tag")).to_contain_text("reads")
    expect(addition.locator("#addition-blame")).not_to_contain_text("25")
    held = []
    addition.route("**/api/addition", lambda route: held.append(route))
    with addition.expect_request("**/api/addition"):
        draw(addition, card.locator(".pad"), ONE)
    expect(card.locator(".tag")).to_have_text("")
    held[0].continue_()
    expect(card.locator(".tag")).to_contain_text("reads")
    expect(card.locator(".bit")).to_have_count(4)


def test_an_answer_that_arrives_after_clear_is_not_shown(addition):
    held = []
    addition.route("**/api/addition", lambda route: held.append(route))
    with addition.expect_request("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    card = addition.locator(".digit").nth(0)
    with addition.expect_event("requestfailed"):  # the page cancels its request
        card.get_by_role("button", name="Clear").click()
    expect(addition.locator("#addition-answer")).to_have_text("Draw both digits.")
    expect(card.locator(".tag")).to_have_text("")


@pytest.mark.parametrize(
    "wanted", ["2.5", *(pytest.param(wanted, marks=pytest.mark.slow) for wanted in ("99", "-1"))]
)
def test_a_wanted_sum_that_does_not_fit_the_bits_is_impossible_and_keeps_the_answer(
    addition, wanted
):
    total = addition.locator("#addition-sum").inner_text()
    with addition.expect_response("**/api/addition"):
        addition.get_by_label("Wanted sum").fill(wanted)
    expect(addition.locator("#addition-blame")).to_contain_text(
        f"No two digits add up to {wanted}: sums are whole numbers from 0 to 18."
    )
    with addition.expect_response("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    with addition.expect_response("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    expect(addition.locator("#addition-sum")).to_have_text(total)
    expect(addition.locator("#addition-answer .error")).to_have_count(0)


def test_sentences_that_decide_nothing_are_undecided(visit):
    page = visit("liars")
    verdict, answer = page.locator("#liars-guilty"), page.locator("#liars-answer")
    expect(verdict).to_have_text("Bob is guilty")
    for number in (1, 2, 3):
        page.get_by_label(f"Sentence {number}").fill("")
    expect(verdict).to_have_text("Undecided")
    expect(answer).to_contain_text("Alice, Bob and Charlie could each be guilty")
    page.get_by_label("Sentence 1").fill("Alice says Bob did it.")
    expect(verdict).to_have_text("Alice or Bob is guilty")


def test_a_one_hot_input_starts_with_one_value_that_is_consistent_with_the_theory(visit):
    page = visit("theory")
    page.get_by_label("Example").locator("visible=true").select_option("Coins")
    read = page.locator("[data-read=seen]")
    expect(read).to_have_text(re.compile(r"= \d+"))
    chosen = page.locator("[data-column^='seen='] input[value='1']:checked")
    expect(chosen).to_have_count(1)
    expect(page.locator("[data-query=core]")).to_contain_text("are consistent")
    page.get_by_role("radiogroup", name="seen=7").get_by_text("true").click()
    expect(read).to_have_text("no value")


def test_a_wrong_board_lists_misread_hints_and_accepts_corrections(visit, url):
    page = visit("sudoku")
    expect(page.locator("#sudoku-board")).to_have_attribute("data-state", "done")
    board = page.request.post(f"{url}api/board", data={"seed": 3}).json()

    def misread(route):
        """Reads the first hint as another number, and exchanges the two numbers on the board."""
        shown, solution = board["shown"], board["solution"]
        place = next(i for i, number in enumerate(shown) if number)
        swap = {shown[place]: shown[place] % 9 + 1, shown[place] % 9 + 1: shown[place]}
        read = [{"value": number, "certainty": 0.9} if number else None for number in shown]
        if not route.request.post_data_json["corrections"]:
            read[place]["value"] = swap[shown[place]]
            solution = [swap.get(number, number) for number in solution]
        answer = {"solution": solution, "read": read, "overruled": [], "conflict": None}
        route.fulfill(json=answer | {"proved": True, "cost": 0.0, "ms": 1.0})

    page.route("**/api/board", lambda route: route.fulfill(json=board))
    page.route("**/api/sudoku", misread)
    page.get_by_role("button", name="New board").click()
    answer, status = page.locator("#sudoku-answer"), page.locator("#sudoku-status")
    expect(status).to_have_text("Wrong board: 18 of 81 cells")
    place = next(i for i, number in enumerate(board["shown"]) if number)
    shown = board["shown"][place]
    expect(answer).to_contain_text("misread 1 hint:")
    expect(answer).to_contain_text(
        f"row {place // 9 + 1}, column {place % 9 + 1} shows {shown}, read as {shown % 9 + 1} "
        f"(90 % certain), not overruled"
    )
    expect(page.locator(".cell.misread")).to_have_count(1)
    expect(page.locator(".cell.wrong")).to_have_count(18)
    with page.expect_request("**/api/sudoku") as sent:
        page.get_by_role("button", name="Correct the misread hint").click()
    assert sent.value.post_data_json["corrections"] == {str(place): shown}
    expect(status).to_contain_text("Solved")
    expect(page.locator(".cell.wrong")).to_have_count(0)
    expect(page.locator(".cell.misread")).to_have_count(0)


def test_a_hint_is_corrected(visit):
    page = visit("sudoku")
    board = page.locator("#sudoku-board")
    expect(board).to_have_attribute("data-state", "done")
    page.locator(".cell:has(canvas)").first.click()
    with page.expect_response("**/api/sudoku") as sent:
        page.get_by_label("Value").select_option("4")
    answer = sent.value.json()
    place = next(i for i, read in enumerate(answer["read"]) if read)
    assert answer["read"][place]["value"] == 4
    expect(page.locator("#sudoku-cell")).to_contain_text("Corrected by you.")
    with page.expect_response("**/api/sudoku") as sent:
        page.get_by_role("button", name="Restore", exact=True).click()
    assert sent.value.request.post_data_json["corrections"] == {}
