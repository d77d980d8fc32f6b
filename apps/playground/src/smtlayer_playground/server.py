"""The web application: its routes, and the errors that it reports."""

import json
import threading
import time
from asyncio import wait_for
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from smtlayer.errors import SMTLayerError
from smtlayer_playground import requirements, theory
from smtlayer_playground.errors import BusyError, PlaygroundError, TooBigError
from smtlayer_playground.guard import Guard
from smtlayer_playground.pages import Pages

Handler = Callable[[Mapping[str, Any]], dict[str, Any]]
Endpoint = Callable[[Request], Awaitable[Response]]
STATIC = Path(__file__).parent / "static"
_SMALL, _LARGE = 128 << 10, 4 << 20  # bytes of a request; a board of 81 drawings is the largest
_BODY_SECONDS = 10.0
_MAX_WAITING, _WAIT_SECONDS = 8, 20.0


def make_app(pages: Pages, hosts: Iterable[str] = ()) -> Starlette:
    """Makes the application.

    Args:
        pages: The pages that answer requests.
        hosts: Accepted host names; see `Guard`.
    """
    queue = _Queue()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=pages.sandbox.prepare, daemon=True).start()
        yield
        pages.sandbox.close()

    async def index(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def about(request: Request) -> Response:
        return JSONResponse(pages.about())

    handlers: dict[str, tuple[Handler, int]] = {
        "addition": (queue.one_at_a_time(pages.addition.answer), _SMALL),
        "digit": (pages.addition.bank.answer, _SMALL),
        "board": (queue.one_at_a_time(pages.sudoku.board), _SMALL),
        "sudoku": (queue.one_at_a_time(pages.sudoku.answer), _LARGE),
        "liars": (queue.one_at_a_time(pages.liars.answer), _SMALL),
        "requirements": (partial(requirements.answer, pages.sandbox), _SMALL),
        "theory": (partial(theory.answer, pages.sandbox), _SMALL),
    }
    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/about", about),
            *(
                Route(f"/api/{name}", _endpoint(handler, max_bytes), methods=["POST"])
                for name, (handler, max_bytes) in handlers.items()
            ),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=tuple(hosts))],
        exception_handlers={PlaygroundError: _rejected, SMTLayerError: _rejected, 500: _failed},
        lifespan=lifespan,
    )


@final
class _Queue:
    """Handles one request at a time, because layers and z3's terms are not thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(_MAX_WAITING)

    def one_at_a_time(self, handler: Handler) -> Handler:
        """A handler that waits for its turn."""

        def wait(request: Mapping[str, Any]) -> dict[str, Any]:
            if not self._slots.acquire(blocking=False):
                raise BusyError("Too many requests are waiting. Try again in a few seconds.")
            try:
                if not self._lock.acquire(timeout=_WAIT_SECONDS):
                    raise BusyError("The server is busy. Try again in a few seconds.")
                try:
                    return handler(request)
                finally:
                    self._lock.release()
            finally:
                self._slots.release()

        return wait


def _endpoint(handler: Handler, max_bytes: int) -> Endpoint:
    async def respond(request: Request) -> Response:
        content = await _content(request, max_bytes)
        start = time.perf_counter()
        answer = await run_in_threadpool(handler, content)
        time_spent = {"ms": 1000 * (time.perf_counter() - start)}
        return JSONResponse(time_spent | answer, headers={"cache-control": "no-store"})

    return respond


async def _content(request: Request, max_bytes: int) -> dict[str, Any]:
    """The JSON object in a request; rejected during the transfer if it is too large or too slow."""

    async def body() -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > max_bytes:
                raise TooBigError(f"A request can have at most {max_bytes:,} bytes.")
            parts.append(part)
        return b"".join(parts)

    try:
        content = json.loads(await wait_for(body(), _BODY_SECONDS))
    except (TimeoutError, ClientDisconnect) as error:
        raise PlaygroundError("The request is incomplete.") from error
    except (ValueError, RecursionError) as error:
        raise PlaygroundError("The request is not JSON.") from error
    if not isinstance(content, dict):
        raise PlaygroundError("The request must be a JSON object.")
    return content


async def _rejected(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, PlaygroundError) else 400
    # The rest of a request that is too large is not read.
    headers = {"connection": "close"} if isinstance(error, TooBigError) else {}
    return JSONResponse({"error": str(error)}, status_code=status, headers=headers)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse(
        {"error": "The server failed. See its terminal for details."}, status_code=500
    )
