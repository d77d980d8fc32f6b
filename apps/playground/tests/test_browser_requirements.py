"""The requirements page in a real browser: sliders, facts, errors, and the copied program."""

import re

import pytest
from browsing import NEEDS_BROWSER, expect
from test_requirements_page import check_printed, run_programs

pytestmark = NEEDS_BROWSER
PERMISSIONS = ["clipboard-read", "clipboard-write"]


def drag(page, name, share):
    """Drags a slider with the mouse in many steps to a share of its width."""
    box = page.get_by_label(f"Logit of {name}", exact=True).bounding_box()
    at = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 2, at)
    page.mouse.down()
    page.mouse.move(box["x"] + share * box["width"], at, steps=20)
    page.mouse.up()


@pytest.fixture
def page(visit):
    opened = visit("requirements", permissions=PERMISSIONS, rejections=1)
    text = opened.get_by_label("Requirements", exact=True)
    text.fill("not (red and green) =")
    expect(opened.locator("#requirements-answer .error")).to_contain_text("Line 1:")
    text.fill('not (red and green)\nlane in left/right\ngreen implies lane == "left"')
    expect(opened.locator("[data-column='lane=left']")).to_be_visible()
    opened.get_by_role("button", name="All logits to 0").click()
    return opened


def test_sliders_move_probabilities_repair_and_core_and_the_program_is_copied(page, tmp_path):
    answer, green = page.locator("#requirements-answer"), page.locator("[data-column=green]")
    expect(green.locator(".chance b")).to_have_text("20 %")  # of 5 models, 1 has green
    expect(answer).to_contain_text("nothing overruled")
    page.get_by_label("Logit of red").fill("2")
    expect(green.locator(".percent")).to_have_text("50 %")
    expect(green.locator(".chance b")).to_have_text("6 %")
    drag(page, "green", 0.75)
    expect(green.locator(".percent")).to_have_text(re.compile("9[0-9] %"))
    expect(answer).to_contain_text("red true → false 2.0")
    expect(answer).to_contain_text("red and green together break:")
    expect(answer.locator("code")).to_have_text(["not (red and green)"])
    red = page.locator("[data-column=red]")
    expect(red.locator(".marks")).to_have_text("overruledconflict")
    expect(page.get_by_label("Logit of red")).to_have_attribute(
        "aria-valuetext", re.compile(r"\+2\.0, read 88 %, \d+ % given the requirements, overruled")
    )
    red.get_by_label("red is a fact").check()
    expect(answer).to_contain_text("green and red (fact) together break")
    expect(green.locator(".marks")).to_contain_text("overruled")
    green.get_by_label("green is a fact").check()
    expect(answer).to_contain_text("The facts break a requirement")
    green.get_by_label("green is a fact").uncheck()
    expect(answer).to_contain_text("green true → false")
    with page.expect_response("**/api/requirements") as sent:
        page.get_by_label("Logit of lane=right").fill("1")
    shown = sent.value.json()
    expect(page.locator("#requirements-program")).to_have_text(shown["program"])
    page.get_by_role("button", name="Copy the program").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == shown["program"]
    check_printed(run_programs([copied], tmp_path)[0], shown)


def test_a_slider_never_waits_and_the_newest_logits_are_sent_last(visit):
    page = visit("requirements")
    slider = page.get_by_label("Logit of car")
    bar = page.locator("[data-column=car]")
    expect(bar.locator(".chance b")).to_have_text(re.compile("%"))
    before = bar.locator(".chance b").inner_text()
    held = []
    page.route("**/api/requirements", lambda route: held.append(route))
    for logit in ("-1", "0.5", "4.5", "-4"):
        slider.fill(logit)
        expect(bar.locator(".logit")).to_have_text(re.compile(logit.strip("-")))  # at once
    expect(bar.locator(".percent")).to_have_text("2 %")
    expect(bar.locator(".chance b")).to_have_text(before)
    assert [route.request.post_data_json["logits"]["car"] for route in held] == [-1]
    held[0].continue_()
    while len(held) < 2:
        page.wait_for_timeout(20)
    assert [route.request.post_data_json["logits"]["car"] for route in held] == [-1, -4]
    held[1].continue_()
    expect(bar.locator(".chance b")).to_have_text(re.compile(r"^(< )?0\.\d %$"))
    page.unroute_all(behavior="wait")


@pytest.mark.slow
def test_every_example_has_a_conflict_and_the_language_is_shown(visit):
    page = visit("requirements", width=400, color_scheme="dark")
    expect(page.locator("[data-column=bus]")).to_be_visible()
    names = page.locator("#requirements-example option").all_inner_texts()
    for name in [*names[1:], names[0]]:
        with page.expect_response("**/api/requirements"):
            page.get_by_label("Example").locator("visible=true").select_option(name)
        expect(page.locator("#requirements-answer")).to_contain_text(re.compile("break(s)?:"))
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
    page.get_by_text("The language", exact=True).click()
    expect(page.locator(".language")).to_contain_text("exactly(1, red, green)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.get_by_role("button", name="All logits to 0").click()
    expect(page.locator("#requirements-answer")).to_contain_text("nothing overruled")
