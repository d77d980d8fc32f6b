"""The command `smtlayer demo`: a local web page to try trained networks and theories."""

import errno
import os
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from smtlayer_cli.plugins import install_command
from smtlayer_cli.waiting import Waiting
from smtlayer_studies.commands.options import DataDir

if TYPE_CHECKING:
    from smtlayer_playground.pages import Pages

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)  # other errors are about the host


def demo(
    runs: list[Path] = typer.Argument(
        None, metavar="RUN", help="Folders of runs, as `smtlayer train --out` writes them.",
        show_default=False,
    ),
    host: str = typer.Option("127.0.0.1", help="Address; 127.0.0.1 is for this machine only."),
    port: int = typer.Option(8000, help="Port; 0 for any free one.", min=0, max=65535),
    open_: bool = typer.Option(True, "--open/--no-open", help="Open the page in a browser."),
    data_dir: DataDir = None,
) -> None:  # fmt: skip
    """Serve a web page: draw digits, disturb Sudokus, catch liars, type requirements or theories.

    Each run is shown on the page of its task. Without a run of MNIST addition or of visual Sudoku,
    the digit reader that comes with the playground is used.

    Examples:

    \b
        smtlayer demo
        smtlayer demo runs/mnist-addition-10/best runs/visual-sudoku-10/best
        smtlayer demo --host 0.0.0.0 --port 0 --no-open
    """
    _require_packages()
    console = Console()
    with _listen(host, port) as listening:
        _serve(console, listening, host, [Path(path) for path in runs or []], open_, data_dir)


def _serve(
    console: Console,
    listening: socket.socket,
    host: str,
    folders: list[Path],
    open_: bool,
    data_dir: Path | None,
) -> None:
    from smtlayer_playground.pages import make_pages
    from smtlayer_playground.trained import load_all

    trained = load_all(folders)
    with Waiting("making the pages", console):
        pages = make_pages(trained, data_dir)
    for run in trained.values():
        console.print(f"{run.task}: the network in {run.folder}", highlight=False)
    url = _url(host, listening)
    console.print(f"[bold]Open {url}[/bold] (stop with Ctrl-C)", highlight=False, soft_wrap=True)
    if host not in _LOOPBACK:
        console.print("Everyone who can reach this address can use the page.", highlight=False)
    if open_ and _has_browser():
        webbrowser.open(url)
    _run(pages, listening, host)
    console.print("Stopped.")


def _run(pages: "Pages", listening: socket.socket, host: str) -> None:
    """Serves until Ctrl-C."""
    from smtlayer_playground.connections import make_server
    from smtlayer_playground.server import make_app

    server = make_server(make_app(pages, hosts=[host]))
    shut_down = server.handle_exit

    def handle_exit(number: int, frame: FrameType | None) -> None:
        # The server waits for running requests: stop those that can take long.
        threading.Thread(target=pages.sandbox.close).start()
        shut_down(number, frame)

    server.handle_exit = handle_exit  # type: ignore[assignment, method-assign]
    with suppress(KeyboardInterrupt):  # raised after the server has stopped
        server.run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    from smtlayer.errors import ConfigError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0].rstrip(".").lower()
        if port and error.errno in _PORT_ERRORS:
            remedy = "Choose another with --port, or any free one with --port 0."
        else:
            remedy = (
                "Choose an address of this machine with --host: 127.0.0.1 for itself only, or "
                "0.0.0.0 for everyone who can reach it."
            )
        raise ConfigError(
            f"demo cannot listen on port {port} of {host}: {reason}. {remedy}"
        ) from error


def _url(host: str, listening: socket.socket) -> str:
    port = listening.getsockname()[1]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}/"


def _has_browser() -> bool:
    """Whether a window can open; a text browser would block the terminal."""
    if not sys.stdout.isatty():
        return False
    shown = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform != "linux" or any(os.environ.get(name) for name in shown)


def _require_packages() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        from smtlayer.errors import MissingPackageError

        raise MissingPackageError(
            f"demo needs the {error.name} package. Install it with: {install_command('demo')}"
        ) from error
