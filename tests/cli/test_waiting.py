"""What commands show while they work: nothing at first, then a line."""

import io

import pytest
from rich.console import Console

from smtlayer_cli.waiting import Waiting


class Timer:
    """A clock that strikes when it is printed to."""

    def __init__(self, seconds, function):
        self.seconds, self.strike = seconds, function
        self.started = self.cancelled = False
        Timer.last = self

    def start(self):
        self.started = True

    def cancel(self):
        self.cancelled = True


def console(**options):
    return Console(file=io.StringIO(), width=80, **options)


def test_work_that_ends_within_two_seconds_shows_nothing():
    place = console()
    with Waiting("scoring", place, timer=Timer):
        assert (Timer.last.started, Timer.last.seconds) == (True, 2.0)
    assert Timer.last.cancelled
    Timer.last.strike()  # too late
    assert place.file.getvalue() == ""


def test_a_log_gets_one_line():
    place = console()
    with Waiting("scoring", place, timer=Timer) as waiting:
        waiting.update("scoring runs/[demo]")
        assert place.file.getvalue() == ""
        Timer.last.strike()
        for done in range(3):
            waiting.count(done, 3)
        waiting.update("explaining")
    assert place.file.getvalue() == "scoring runs/[demo] ...\n"


def test_a_terminal_gets_a_line_with_counts_that_goes_away():
    place = console(force_terminal=True)
    with Waiting("scoring", place, delay=0) as waiting:
        waiting.count(1500, 10_000)
        progress = waiting._progress
        progress.refresh()
        assert "scoring 1,500 of 10,000" in place.file.getvalue()
        waiting.update("explaining")
        progress.refresh()
        assert "explaining" in place.file.getvalue()
    assert progress.finished or not progress.live.is_started


@pytest.mark.parametrize("terminal", [False, True])
def test_it_ends_with_an_error_too(terminal):
    place = console(force_terminal=terminal)
    with pytest.raises(KeyboardInterrupt), Waiting("scoring", place, delay=0) as waiting:
        raise KeyboardInterrupt
    assert waiting._over
    assert not waiting._progress.live.is_started
