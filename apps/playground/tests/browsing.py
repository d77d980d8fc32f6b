"""A real browser, and drawing with its mouse."""

import shutil

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="needs the playwright package")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
NEEDS_BROWSER = pytest.mark.skipif(
    BROWSER is None, reason=f"needs a browser: none of {', '.join(BROWSERS)} is installed"
)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
TIMEOUT_MS = 300_000  # long, for busy machines
expect = sync_api.expect
expect.set_options(timeout=TIMEOUT_MS)


def draw(page, canvas, points):
    """Draws a line with the mouse; points are fractions of the size of the canvas."""
    box = canvas.bounding_box()
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()


ONE = [(0.5, 0.2), (0.5, 0.8)]
SEVEN = [(0.3, 0.25), (0.7, 0.25), (0.45, 0.8)]
