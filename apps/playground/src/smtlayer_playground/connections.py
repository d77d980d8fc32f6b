"""The web server, with a time limit for the head of a request."""

import asyncio
from collections.abc import Callable
from typing import Any, final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD_SECONDS = 10.0


def make_server(app: ASGIApp, *, head_seconds: float = _HEAD_SECONDS) -> uvicorn.Server:
    """Makes the server of an application.

    Args:
        app: The application.
        head_seconds: Time limit for the head of a request, counted from the connection, or from the
            first byte of a later request on the same connection.
    """

    def connect(**options: Any) -> asyncio.Protocol:
        return HeadLimit(H11Protocol(**options), head_seconds)

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none",
        timeout_graceful_shutdown=20, http=connect,  # type: ignore[arg-type]
    )  # fmt: skip
    return uvicorn.Server(config)


@final
class HeadLimit(asyncio.Protocol):
    """Wraps uvicorn's protocol, and closes connections whose request heads are incomplete in time.

    uvicorn limits the pause between two requests, but not the time of an incomplete head. The time
    of a body is limited where the body is read.
    """

    def __init__(self, inner: H11Protocol, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self._close: Callable[[], None] = lambda: None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the time limit of the first head."""
        self._close = transport.close
        self._inner.connection_made(transport)  # type: ignore[arg-type]
        self._start()

    def data_received(self, data: bytes) -> None:
        """Stops the time limit if the head is complete, and starts it for a later head."""
        self._inner.data_received(data)
        cycle = (
            self._inner.cycle
        )  # of the latest request with a complete head; None before the first
        if cycle is not None and not cycle.response_complete:
            self._stop()
        elif self._timer is None:
            self._start()

    def eof_received(self) -> None:
        """Forwards the event."""
        self._inner.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forwards the event."""
        self._stop()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """Forwards the event."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Forwards the event."""
        self._inner.resume_writing()

    def _start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
