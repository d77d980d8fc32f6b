"""The page in a real browser that has no network."""

import itertools
import shutil
from pathlib import Path

import pytest

from reports.made_runs import addition_runs
from smtlayer_studies.reports.page import write_report

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs the package playwright, of the extra dev"
)
_ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip

PATIENCE = 300_000  # milliseconds, for busy machines


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        path = shutil.which("chromium") or shutil.which("google-chrome")
        path = path or driver.chromium.executable_path
        if not Path(path).exists():
            pytest.skip("needs a Chromium: install one, or run `playwright install chromium`")
        started = driver.chromium.launch(
            executable_path=path, args=list(_ARGUMENTS), timeout=PATIENCE
        )
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    runs = addition_runs()
    return {
        "one": write_report([runs["best"]], folder / "one.html"),
        "two": write_report([runs["conventional"], runs["best"]], folder / "two.html"),
    }


SHOWN = [("one", 1280, "light"), ("two", 390, "dark")]
ALL = list(itertools.product(("one", "two"), (1280, 390), ("light", "dark")))


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [pytest.param(*one, marks=[] if one in SHOWN else pytest.mark.slow) for one in ALL],
)
def test_the_page_opens_offline_without_complaints_and_fits(browser, pages, name, width, scheme):
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
    )
    context.set_default_timeout(PATIENCE)
    page, complaints, asked = context.new_page(), [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(pages[name].as_uri())
    page.locator("details").evaluate_all("parts => parts.forEach(part => { part.open = true; })")
    wide, shown = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    images = page.locator("img").evaluate_all("all => all.map(image => image.naturalWidth)")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    context.close()
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [pages[name].as_uri()]
    assert wide <= shown
    assert images
    assert set(images) == {28}
    dark = sum(int(part) for part in ground.strip("rgb()").split(",")) < 200
    assert dark == (scheme == "dark")


def test_links_lead_to_what_they_name(browser, pages):
    # A click while the page still glides to the last place may leave it between the two.
    page = browser.new_page(
        viewport={"width": 1280, "height": 800}, offline=True, reduced_motion="reduce"
    )
    page.set_default_timeout(PATIENCE)
    page.goto(pages["two"].as_uri())
    links = page.locator("nav a")
    assert links.count() == 6
    for i in range(links.count()):
        links.nth(i).click()
        page.wait_for_function(  # or it raises
            "() => { const place = document.querySelector(location.hash);"
            " const top = place.getBoundingClientRect().top; return -5 < top && top < 800; }"
        )
    page.close()
