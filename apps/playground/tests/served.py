"""A server in a thread, and small limits."""

import socket
import threading
import time
from contextlib import contextmanager

from smtlayer_playground.connections import make_server
from smtlayer_playground.limits import Limits

LIMITS = Limits(text=5_000, columns=40, seconds=60, memory_mb=300, answer=50_000)


@contextmanager
def serving(app, **options):
    """Serves an application and gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = make_server(app, **options)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
