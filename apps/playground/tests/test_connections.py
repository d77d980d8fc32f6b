"""Clients that connect and then stall, against a real server."""

import asyncio
import socket

import pytest
from served import serving
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

TIMEOUT = 60  # seconds; long, for busy machines
LIMIT = 0.3


@pytest.fixture(scope="module")
def port():
    async def quick(request):
        return PlainTextResponse("done")

    async def slow(request):
        await asyncio.sleep(3 * LIMIT)
        return PlainTextResponse("done")

    app = Starlette(routes=[Route("/", quick), Route("/slow", slow)])
    with serving(app, head_seconds=LIMIT) as number:
        yield number


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)


def response(client):
    """The bytes of a response, up to the end of its body."""
    found = b""
    while not found.endswith(b"done"):
        part = client.recv(1000)
        assert part, f"closed after {found!r}"
        found += part
    return found


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "]
)
def test_a_head_that_stalls_is_disconnected(port, sent):
    with connected(port) as client:
        client.sendall(sent)
        assert client.recv(1000) == b""


def test_a_second_head_that_stalls_is_disconnected_too(port):
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        response(client)
        client.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert client.recv(1000) == b""


def test_a_request_that_takes_longer_than_the_limit_is_answered(port):
    with connected(port) as client:
        for _ in range(2):
            client.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in response(client).partition(b"\r\n")[0]
