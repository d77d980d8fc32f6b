"""Clients that connect and then stall, against a real server."""

import asyncio
import socket

import pytest
from served import serving
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

PATIENCE = 60  # seconds, for busy machines
LIMIT = 0.3


@pytest.fixture(scope="module")
def port():
    async def quick(request):
        return PlainTextResponse("done")

    async def slow(request):
        await asyncio.sleep(3 * LIMIT)
        return PlainTextResponse("done")

    with serving(
        Starlette(routes=[Route("/", quick), Route("/slow", slow)]), head_seconds=LIMIT
    ) as own:
        yield own


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def answer(asking):
    """The first bytes that come up to the end of the answer's body."""
    found = b""
    while not found.endswith(b"done"):
        part = asking.recv(1000)
        assert part, f"closed after {found!r}"
        found += part
    return found


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Half: "]
)
def test_a_head_that_stalls_is_cut_off(port, sent):
    with connected(port) as asking:
        asking.sendall(sent)
        assert asking.recv(1000) == b""


def test_a_second_head_that_stalls_is_cut_off_too(port):
    with connected(port) as asking:
        asking.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer(asking)
        asking.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert asking.recv(1000) == b""


def test_a_request_that_takes_longer_than_the_limit_is_answered(port):
    with connected(port) as asking:
        for _ in range(2):
            asking.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b" 200 " in answer(asking).partition(b"\r\n")[0]
