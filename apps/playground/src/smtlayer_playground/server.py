"""This file puts the pages together to a web application."""

import json
import threading
import time
from asyncio import wait_for
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
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
from smtlayer_playground import theory
from smtlayer_playground.errors import BusyError, PlaygroundError, TooBigError
from smtlayer_playground.guard import Guard
from smtlayer_playground.pages import Pages

Ask = Callable[[Mapping[str, Any]], dict[str, Any]]
Endpoint = Callable[[Request], Awaitable[Response]]
STATIC = Path(__file__).parent / "static"
_SMALL, _LARGE = 128 << 10, 4 << 20  # bytes of a question; 81 drawings are the largest
_BODY_SECONDS = 10.0
_WAITING, _WAIT_SECONDS = 8, 20.0


def make_app(pages: Pages, hosts: Iterable[str] = ()) -> Starlette:
    """The application.

    Args:
        pages: What answers.
        hosts: Host names by which it may be called; see `Guard`.
    """
    desk = _Desk()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        threading.Thread(target=pages.sandbox.prepare, daemon=True).start()
        yield
        pages.sandbox.close()

    async def index(request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def about(request: Request) -> Response:
        return JSONResponse(pages.about())

    questions: dict[str, tuple[Ask, int]] = {
        "addition": (desk.seated(pages.addition.ask), _SMALL),
        "digit": (pages.addition.bank.ask, _SMALL),
        "board": (desk.seated(pages.sudoku.board), _SMALL),
        "sudoku": (desk.seated(pages.sudoku.ask), _LARGE),
        "liars": (desk.seated(pages.liars.ask), _SMALL),
        "theory": (lambda question: theory.ask(pages.sandbox, question), _SMALL),
    }
    return Starlette(
        routes=[
            Route("/", index),
            Route("/api/about", about),
            *(
                Route(f"/api/{name}", _endpoint(ask, most), methods=["POST"])
                for name, (ask, most) in questions.items()
            ),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, hosts=tuple(hosts))],
        exception_handlers={PlaygroundError: _refused, SMTLayerError: _refused, 500: _failed},
        lifespan=lifespan,
    )


@final
class _Desk:
    """One question at a time: layers and z3's terms are not for several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(_WAITING)

    def seated(self, ask: Ask) -> Ask:
        """The same, when its turn has come."""

        def asked(question: Mapping[str, Any]) -> dict[str, Any]:
            if not self._places.acquire(blocking=False):
                raise BusyError("Many questions are waiting already. Try again in a few seconds.")
            try:
                if not self._lock.acquire(timeout=_WAIT_SECONDS):
                    raise BusyError("The question before takes long. Try again in a few seconds.")
                try:
                    return ask(question)
                finally:
                    self._lock.release()
            finally:
                self._places.release()

        return asked


def _endpoint(ask: Ask, most: int) -> Endpoint:
    async def answer(request: Request) -> Response:
        question = await _question(request, most)
        start = time.perf_counter()
        told = await run_in_threadpool(ask, question)
        spent = {"ms": 1000 * (time.perf_counter() - start)}
        return JSONResponse(spent | told, headers={"cache-control": "no-store"})

    return answer


async def _question(request: Request, most: int) -> dict[str, Any]:
    """The body as an object; refused while it comes in if it is too long or too slow."""

    async def body() -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise TooBigError(f"A question may have up to {most:,} bytes.")
            parts.append(part)
        return b"".join(parts)

    try:
        question = json.loads(await wait_for(body(), _BODY_SECONDS))
    except (TimeoutError, ClientDisconnect) as error:
        raise PlaygroundError("The question did not come to its end.") from error
    except (ValueError, RecursionError) as error:
        raise PlaygroundError("The question is not JSON.") from error
    if not isinstance(question, dict):
        raise PlaygroundError("The question must be a JSON object.")
    return question


async def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, PlaygroundError) else 400
    # What is left of a question that is too long need not be read.
    headers = {"connection": "close"} if isinstance(error, TooBigError) else {}
    return JSONResponse({"error": str(error)}, status_code=status, headers=headers)


async def _failed(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "The server failed; its terminal says how."}, status_code=500)
