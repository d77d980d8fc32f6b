"""Rejects requests from other sites, and adds security headers to responses."""

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
    """Middleware that accepts requests from the server's own pages only.

    Any web page that the user visits can reach a server on this machine. Requests with another host
    name (DNS rebinding) and requests from other sites are rejected.

    Args:
        app: The application to protect.
        hosts: Accepted host names, in addition to `localhost` and all numeric addresses.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Rejects a request, or forwards it and adds headers to the response."""
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

        reason = self.rejection(scope["method"], Headers(scope=scope))
        app = self._app if reason is None else JSONResponse({"error": reason}, status_code=403)
        await app(scope, receive, send_with_headers)

    def rejection(self, method: str, headers: Headers) -> str | None:
        """The reason to reject a request, or None."""
        host = headers.get("host", "")
        if not self._accepts(host):
            return "This server does not respond to that host name."
        if method in ("GET", "HEAD"):
            return None
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}".lower():
            return "Only the pages of this server can send requests to it."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Only the pages of this server can send requests to it."
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return "Requests must be sent as application/json."
        return None

    def _accepts(self, host: str) -> bool:
        """Whether a Host header is an accepted name, or an address, which cannot be rebound."""
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
