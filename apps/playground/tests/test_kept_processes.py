"""Processes of the sandbox that are kept for more requests about the same text."""

import os
import sys
import time
from dataclasses import replace

import hostile
import pytest

from smtlayer_playground import sandbox as sandbox_module
from smtlayer_playground.errors import PlaygroundError, TooHardError
from smtlayer_playground.limits import Limits
from smtlayer_playground.sandbox import Sandbox

linux = pytest.mark.skipif(sys.platform != "linux", reason="these limits require Linux")


@pytest.fixture
def sandbox():
    made = Sandbox(hostile.work, {}, Limits(seconds=600, memory_mb=200, concurrent=2, idle=600))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine may take seconds for any request."""
    monkeypatch.setattr(sandbox_module, "_KEPT_SECONDS", 600.0)


def pid(sandbox, text):
    return sandbox.run({"do": "pid"}, keep=text)["did"]


def is_alive(number):
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_answers_requests_about_one_text_only(sandbox):
    first = pid(sandbox, "a")
    assert pid(sandbox, "a") == first
    other = pid(sandbox, "b")
    assert other != first
    assert pid(sandbox, "a") == first
    assert sandbox.run({"do": "pid"})["did"] not in (first, other)


def test_the_number_of_kept_processes_is_limited(sandbox):
    first, second, third = (pid(sandbox, text) for text in "abc")
    assert [is_alive(one) for one in (first, second, third)] == [False, True, True]


def test_a_kept_process_ends_when_idle(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox, "limits", replace(sandbox.limits, idle=0.05))
    number = pid(sandbox, "a")
    while is_alive(number):
        time.sleep(0.02)
    assert not sandbox._kept
    assert pid(sandbox, "a") != number


def test_a_process_is_not_kept_beyond_its_time(sandbox, monkeypatch):
    monkeypatch.setattr(sandbox_module, "_KEPT_SECONDS", 0.0)
    number = pid(sandbox, "a")
    assert not is_alive(number)
    assert pid(sandbox, "a") != number


def test_close_ends_kept_processes(sandbox):
    number = pid(sandbox, "a")
    child = sandbox._kept["a"].process
    sandbox.close()
    child.join()
    assert not is_alive(number)


@linux
def test_a_kept_process_stays_restricted(sandbox, tmp_path):
    path = tmp_path / "file"
    path.write_text("secret")
    number = pid(sandbox, "a")
    with pytest.raises(PlaygroundError, match="Too many open files"):
        sandbox.run({"do": "read", "path": str(path)}, keep="a")
    assert not is_alive(number)  # a process that failed is not kept
    pid(sandbox, "a")
    with pytest.raises(PlaygroundError, match="200 MB"):
        sandbox.run({"do": "block"}, keep="a")


def test_the_time_of_a_later_request_is_limited(sandbox, monkeypatch):
    number = pid(sandbox, "a")
    monkeypatch.setattr(sandbox, "limits", replace(sandbox.limits, seconds=0.5))
    with pytest.raises(TooHardError, match=r"longer than 0\.5 s"):
        sandbox.run({"do": "asleep"}, keep="a")
    assert not is_alive(number)


def test_a_kept_process_that_exited_is_replaced(sandbox):
    number = pid(sandbox, "a")
    os.kill(number, 9)
    sandbox._kept["a"].process.join()
    again = pid(sandbox, "a")
    assert again != number
    with pytest.raises(PlaygroundError, match="exited early"):
        sandbox.run({"do": "exit"}, keep="a")
    assert not is_alive(again)
    assert pid(sandbox, "a") != again
