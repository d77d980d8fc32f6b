"""A trained run that is made in seconds, and somebody who asks a server about it."""

import httpx
import pytest
from made_run import addition_run
from served import LIMITS, serving

from smtlayer.playground.pages import make_pages
from smtlayer.playground.server import make_app
from smtlayer.playground.trained import load_all


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
