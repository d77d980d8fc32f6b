"""A trained run that is made in seconds, and somebody who asks a server about it."""

import signal
import sys

import httpx
import pytest
from made_run import addition_run
from served import LIMITS, serving

from helpers import running
from smtlayer_playground.pages import make_pages
from smtlayer_playground.server import make_app
from smtlayer_playground.trained import load_all


@pytest.fixture(scope="session")
def addition_folder(tmp_path_factory):
    return addition_run(tmp_path_factory.mktemp("playground") / "addition")


@pytest.fixture(scope="session")
def pages(addition_folder):
    made = make_pages(load_all([addition_folder]), limits=LIMITS)
    yield made
    made.sandbox.close()


@pytest.fixture(scope="session")
def client(pages):
    with serving(make_app(pages)) as port:
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, timeout=600) as asking:
            yield asking


@pytest.fixture
def ask(client):
    """Asks a question: status and answer."""

    def asked(name, question, **headers):
        response = client.post(f"/api/{name}", json=question, headers=headers)
        return response.status_code, response.json()

    return asked


@pytest.fixture(scope="module")
def browser():
    from browsing import BROWSER, FLAGS, sync_api

    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def url(browser, addition_folder):
    """Where `smtlayer demo` serves; it must end as by Ctrl-C, without a complaint."""
    words = ["-m", "smtlayer", "demo", str(addition_folder), "--port", "0", "--no-open"]
    with running([sys.executable, *words], text=True) as serving:
        lines = iter(serving.stdout.readline, "")
        yield next(line.split()[1] for line in lines if line.startswith("Open "))
        serving.send_signal(signal.SIGINT)
        _, complaints = serving.communicate(timeout=60)
    assert (serving.returncode, complaints) == (0, "")


@pytest.fixture
def visit(browser, url):
    """Opens a page; whatever the browser complains of fails the test."""
    from browsing import PATIENCE

    complaints, contexts, expected = [], [], []

    def visited(name, width=1280, refusals=0, **options):
        expected.append(refusals)
        size = {"width": width, "height": 844}
        context = browser.new_context(viewport=size, reduced_motion="reduce", **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("requestfailed", lambda r: complaints.append(f"{r.url}: {r.failure}"))
        page.goto(f"{url}#{name}")
        return page

    yield visited
    for context in contexts:
        context.close()
    told = [text for text in complaints if "ERR_ABORTED" not in text]  # questions taken back
    refused = [text for text in told if "the server responded with a status of 4" in text]
    assert len(refused) == sum(expected)
    assert len(told) == len(refused), told
