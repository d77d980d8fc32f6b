"""Fixtures: a server and a browser."""

import signal
import sys

import httpx
import pytest
from served import LIMITS, serving

from helpers import running
from smtlayer_playground.pages import make_pages
from smtlayer_playground.server import make_app


@pytest.fixture(scope="session")
def pages():
    made = make_pages({}, limits=LIMITS)
    yield made
    made.sandbox.close()


@pytest.fixture(scope="session")
def client(pages):
    with serving(make_app(pages)) as port:
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=600) as client:
            yield client


@pytest.fixture
def post(client):
    """Sends a request; returns the status and the JSON of the response."""

    def send(name, request, **headers):
        response = client.post(f"/api/{name}", json=request, headers=headers)
        return response.status_code, response.json()

    return send


@pytest.fixture(scope="module")
def browser():
    from browsing import BROWSER, FLAGS, sync_api

    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def url(browser):
    """The address of `smtlayer demo`, which must stop on Ctrl-C without an error message."""
    words = ["-m", "smtlayer", "demo", "--port", "0", "--no-open"]
    quiet = ("-W", "ignore:Sat.")  # a busy machine takes seconds for a board, and warns of it
    with running([sys.executable, *quiet, *words], text=True) as server:
        lines = iter(server.stdout.readline, "")
        yield next(line.split()[1] for line in lines if line.startswith("Open "))
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
    assert (server.returncode, errors) == (0, "")


@pytest.fixture
def visit(browser, url):
    """Opens a page; any message in the browser's console fails the test."""
    from browsing import TIMEOUT_MS

    messages, contexts, expected = [], [], []

    def open_page(name, width=1280, rejections=0, **options):
        expected.append(rejections)
        size = {"width": width, "height": 844}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.on("console", lambda m: messages.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("requestfailed", lambda r: messages.append(f"{r.url}: {r.failure}"))
        page.goto(f"{url}#{name}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    errors = [text for text in messages if "ERR_ABORTED" not in text]  # cancelled requests
    rejected = [text for text in errors if "the server responded with a status of 4" in text]
    assert len(rejected) == sum(expected)
    assert len(errors) == len(rejected), errors
