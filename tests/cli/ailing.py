"""Checks for `smtlayer doctor` that go wrong. Processes import this, so it imports little."""

import os
import signal
import time

from smtlayer_cli.checks import Finding


def fine(name="fine"):
    return [Finding(name, "ok", "as it should be")]


def fails():
    raise RuntimeError("something\nis amiss")


def crashes():
    os.kill(os.getpid(), signal.SIGSEGV)


def hangs():
    time.sleep(600)
