"""This file turns away requests that no page of ours makes, and says what our pages may load."""

import ipaddress
from collections.abc import Iterable
from typing import final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@final
class Guard:
    """Middleware that answers only to our own pages.

    A server on this machine can be reached by any web page that its user visits. Requests under a
    host name that is not ours (DNS rebinding) are refused, and so is whatever another site sends.

    Args:
        app: What is guarded.
        hosts: Names by which we may be called, besides `localhost` and any address in numbers.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses, or passes on and adds the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-cache")
            await send(message)

        reason = self.refusal(scope["method"], Headers(scope=scope))
        app = self._app if reason is None else JSONResponse({"error": reason}, status_code=403)
        await app(scope, receive, send_with_headers)

    def refusal(self, method: str, headers: Headers) -> str | None:
        """Why a request is turned away; None if it is not."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            return "This server does not answer under that host name."
        if method in ("GET", "HEAD"):
            return None
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}".lower():
            return "Only the pages of this server may ask it questions."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Only the pages of this server may ask it questions."
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return "Questions are sent as application/json."
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a Host header is one of our names, or an address, which no one can rebind."""
        name, _, port = host.rpartition(":")
        if not name or not port.isdecimal() or host.endswith("]"):
            name = host
        name = name.lower()
        if name in self._hosts:
            return True
        try:
            ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True
