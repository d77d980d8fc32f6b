"""Pages show answers only to the question that is asked, and only if something decides them."""

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
    expect(addition.locator("#addition-blame")).to_contain_text("No two digits make 25")
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


def test_an_answer_that_comes_after_clear_is_not_shown(addition):
    held = []
    addition.route("**/api/addition", lambda route: held.append(route))
    with addition.expect_request("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    card = addition.locator(".digit").nth(0)
    with addition.expect_event("requestfailed"):  # the page takes its question back
        card.get_by_role("button", name="Clear").click()
    expect(addition.locator("#addition-answer")).to_have_text("Draw both digits.")
    expect(card.locator(".tag")).to_have_text("")


@pytest.mark.parametrize("wanted", ["99", "-1", "2.5"])
def test_a_wanted_sum_that_no_bits_hold_is_impossible_and_leaves_the_answer(addition, wanted):
    total = addition.locator("#addition-sum").inner_text()
    with addition.expect_response("**/api/addition"):
        addition.get_by_label("Wanted sum").fill(wanted)
    expect(addition.locator("#addition-blame")).to_contain_text(
        f"No two digits make {wanted}: sums are whole numbers from 0 to 18."
    )
    with addition.expect_response("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    with addition.expect_response("**/api/addition"):
        addition.get_by_role("button", name="Bit 8:").first.click()
    expect(addition.locator("#addition-sum")).to_have_text(total)
    expect(addition.locator("#addition-answer .error")).to_have_count(0)


def test_sentences_that_decide_nothing_name_nobody(visit):
    page = visit("liars")
    verdict, answer = page.locator("#liars-guilty"), page.locator("#liars-answer")
    expect(verdict).to_have_text("Bob is guilty")
    for number in (1, 2, 3):
        page.get_by_label(f"Sentence {number}").fill("")
    expect(verdict).to_have_text("Not decided")
    expect(answer).to_contain_text("Alice, Bob and Charlie could each be guilty")
    page.get_by_label("Sentence 1").fill("Alice says Bob did it.")
    expect(verdict).to_have_text("Alice or Bob is guilty")


def test_a_one_hot_input_starts_with_exactly_one_value_that_fits_the_theory(visit):
    page = visit("theory")
    page.get_by_label("Example").locator("visible=true").select_option("Coins")
    read = page.locator("[data-read=seen]")
    expect(read).to_have_text(re.compile(r"= \d+"))
    chosen = page.locator("[data-column^='seen='] input[value='1']:checked")
    expect(chosen).to_have_count(1)
    expect(page.locator("[data-question=core]")).to_contain_text("fit together")
    page.get_by_role("radiogroup", name="seen=7").get_by_text("true").click()
    expect(read).to_have_text("no value")


def test_a_wrong_board_says_which_hints_were_misread_and_takes_the_visitors_word(visit, url):
    page = visit("sudoku")
    expect(page.locator("#sudoku-board")).to_have_attribute("data-state", "done")
    board = page.request.post(f"{url}api/board", data={"seed": 3}).json()

    def misread(route):
        """Takes the first hint for another number, and swaps the two all over the board."""
        shown, solution = board["shown"], board["solution"]
        place = next(i for i, number in enumerate(shown) if number)
        swap = {shown[place]: shown[place] % 9 + 1, shown[place] % 9 + 1: shown[place]}
        read = [{"value": number, "certainty": 0.9} if number else None for number in shown]
        if not route.request.post_data_json["said"]:
            read[place]["value"] = swap[shown[place]]
            solution = [swap.get(number, number) for number in solution]
        told = {"solution": solution, "read": read, "overruled": [], "conflict": None}
        route.fulfill(json=told | {"proved": True, "cost": 0.0, "ms": 1.0})

    page.route("**/api/board", lambda route: route.fulfill(json=board))
    page.route("**/api/sudoku", misread)
    page.get_by_role("button", name="New board").click()
    answer, status = page.locator("#sudoku-answer"), page.locator("#sudoku-status")
    expect(status).to_have_text("Wrong board: 18 of 81 cells")
    place = next(i for i, number in enumerate(board["shown"]) if number)
    shown = board["shown"][place]
    expect(answer).to_contain_text("misread 1 hint of the board:")
    expect(answer).to_contain_text(
        f"row {place // 9 + 1}, column {place % 9 + 1} shows {shown}, read as {shown % 9 + 1} "
        f"(90 % certain), not overruled"
    )
    expect(page.locator(".cell.misread")).to_have_count(1)
    expect(page.locator(".cell.wrong")).to_have_count(18)
    with page.expect_request("**/api/sudoku") as asked:
        page.get_by_role("button", name="Correct the misread hint").click()
    assert asked.value.post_data_json["said"] == {str(place): shown}
    expect(status).to_contain_text("Solved")
    expect(page.locator(".cell.wrong")).to_have_count(0)
    expect(page.locator(".cell.misread")).to_have_count(0)


def test_a_hint_is_what_the_visitor_says(visit):
    page = visit("sudoku")
    board = page.locator("#sudoku-board")
    expect(board).to_have_attribute("data-state", "done")
    page.locator(".cell:has(canvas)").first.click()
    with page.expect_response("**/api/sudoku") as asked:
        page.get_by_label("It says").select_option("4")
    told = asked.value.json()
    place = next(i for i, read in enumerate(told["read"]) if read)
    assert told["read"][place]["value"] == 4
    expect(page.locator("#sudoku-cell")).to_contain_text("Corrected by you.")
    with page.expect_response("**/api/sudoku") as asked:
        page.get_by_role("button", name="Restore", exact=True).click()
    assert asked.value.request.post_data_json["said"] == {}
