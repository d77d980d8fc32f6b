"""Hostile requests: each is limited, and the server keeps responding."""

import contextlib
import os
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import hostile
import httpx
import pytest
from hostile import HARD
from served import LIMITS, serving
from starlette.datastructures import Headers

from smtlayer_playground.errors import BusyError, PlaygroundError, TooHardError
from smtlayer_playground.guard import Guard
from smtlayer_playground.limits import Limits
from smtlayer_playground.pages import Pages
from smtlayer_playground.sandbox import Sandbox
from smtlayer_playground.server import make_app
from smtlayer_playground.theory import XOR
from smtlayer_playground.untrusted import make_sandbox

linux = pytest.mark.skipif(sys.platform != "linux", reason="these limits require Linux")


def test_a_text_that_is_too_long_starts_no_process(post, pages):
    status, answer = post("theory", XOR | {"text": "; " + "x" * LIMITS.text})
    assert status == 413
    assert "5,000 characters" in answer["error"]


def test_a_body_that_is_too_long_is_rejected_during_the_transfer(client):
    body = b" " * (256 << 10)
    answer = client.post("/api/theory", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert "131,072 bytes" in answer.json()["error"]


def test_an_endless_body_is_not_read_to_the_end(client):
    sent = []

    def endless():
        while len(sent) < 10_000:
            sent.append(1)
            yield b" " * 65_536

    with contextlib.suppress(httpx.WriteError, httpx.ReadError, httpx.RemoteProtocolError):
        client.post("/api/theory", content=endless(), headers={"content-type": "application/json"})
    assert len(sent) < 10_000
    assert client.get("/api/about").status_code == 200


@pytest.mark.parametrize(
    "text",
    [
        "(" * 4_900,
        "(declare-const a Bool)(assert " + "(not " * 700 + "a" + ")" * 700 + ")",
        "(declare-const a Bool)(assert " + "(let ((a (not a))) " * 180 + "a" + ")" * 181,
        "(declare-const a Bool)(assert (! a :named " + "n" * 4_000 + "))",
    ],
    ids=["open", "not", "let", "name"],
)
def test_deep_and_odd_texts_get_a_response(post, text):
    status, answer = post("theory", {"text": text, "inputs": "a", "outputs": "a"})
    assert status in (200, 400, 422)
    assert answer.get("error") or answer["solve"]["status"] == "sat"
    assert post("theory", XOR)[0] == 200


@linux
def test_a_doubling_formula_is_limited(post, pages, monkeypatch):
    monkeypatch.setattr(pages.sandbox, "limits", replace(LIMITS, seconds=0.5))
    doubled = "".join(
        f"(define-fun d{i + 1} ((x Int)) Int (+ (d{i} x) (d{i} (+ x 1))))" for i in range(60)
    )
    text = f"(define-fun d0 ((x Int)) Int x){doubled}(declare-const a Int)(assert (> (d60 a) 3))"
    status, answer = post("theory", {"text": text, "inputs": "a in 1..3", "outputs": "a in 1..3"})
    assert status in (400, 422) or answer["solve"]["status"] == "sat"  # on a machine of the future
    assert post("liars", {"sentences": ["", "", ""]})[0] == 200


def test_a_vector_of_a_hundred_million_bits_is_limited(post):
    text = "(declare-const a (_ BitVec 100000000))(assert (= a a))"
    status, answer = post("theory", {"text": text, "inputs": "a", "outputs": "a"})
    assert status in (400, 422)
    assert answer["error"]


def test_too_many_columns_are_rejected(post):
    text = "(declare-const a (_ BitVec 41))(assert (bvugt a (_ bv3 41)))"
    status, answer = post("theory", {"text": text, "inputs": "a", "outputs": "a"})
    assert status == 400
    assert "41 columns" in answer["error"]
    names = ",".join(f"a{i}" for i in range(40))
    status, answer = post("theory", XOR | {"inputs": names})
    assert "32 inputs" in answer["error"]


def gone(pids):
    """Whether these processes have exited and were joined."""
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    return True


def test_the_server_responds_while_hard_theories_are_solved(client, post, pages, monkeypatch):
    monkeypatch.setattr(pages.sandbox, "limits", replace(LIMITS, seconds=600))
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(post, "theory", HARD) for _ in range(2)]
        while len(pages.sandbox._running) < 2:
            time.sleep(0.02)
        children = [child.process for child in pages.sandbox._running]
        status, answer = post("theory", XOR)
        assert status == 503
        assert "Try again" in answer["error"]
        assert post("liars", {"sentences": ["", "", ""]})[0] == 200
        assert client.get("/api/about").status_code == 200
        for child in children:
            child.kill()
        for future in futures:
            status, answer = future.result()
            assert (status, "exited early" in answer["error"]) == (422, True)
    assert gone(child.pid for child in children)
    assert post("theory", XOR)[0] == 200


def test_a_hard_theory_is_stopped(post, pages, monkeypatch):
    monkeypatch.setattr(pages.sandbox, "limits", replace(LIMITS, seconds=0.5))
    status, answer = post("theory", HARD)
    assert (status, "longer than 0.5 s" in answer["error"]) == (422, True)


DECLARED = "(declare-const a Bool)(declare-const b Bool)(declare-const y Bool)"


@pytest.mark.parametrize(
    "text",
    [
        '(set-option :diagnostic-output-channel "{path}")' + DECLARED + "(assert (= y (xor a b)))",
        '(set-option :regular-output-channel "{path}")(echo "")' + DECLARED + "(assert (or a b y))",
        '(include "{path}")' + DECLARED + "(assert (= y (xor a b)))",
        '(declare-const |\\|| Bool)(set-option :regular-output-channel "{path}")(declare-const |x|'
        " Bool)" + DECLARED + "(assert (or a b y))",
        ';\n#| | |#(set-option :regular-output-channel "{path}")(get-info :name) ; |\n' + DECLARED
        + "(assert (or a b y))",
        "{path}",
        " \n{path}",
        "file://{path}",
    ],
    ids=["diagnostic", "regular", "include", "quoted", "comment", "path", "blank", "url"],
)  # fmt: skip
def test_no_text_reads_or_writes_a_file(post, tmp_path, text):
    path = tmp_path / "touched.smt2"
    if text.strip().removeprefix("file://") == "{path}":
        path.write_text(XOR["text"])
    status, answer = post("theory", XOR | {"text": text.replace("{path}", str(path))})
    skipped = text.startswith("(set-option")
    assert status == (200 if skipped else 400), answer
    assert ("|" in text) == ("is not allowed" in answer.get("error", ""))  # before z3 sees it
    assert path.exists() == ("set" not in text and "include" not in text)


@pytest.mark.parametrize(
    "name",
    [
        'a| |a|))(set-option :regular-output-channel "{path}")(assert (= |a',
        "{path}",
        "a in {path}",
        "a\\",
        '"a"',
    ],
)
def test_no_name_reads_or_writes_a_file(post, tmp_path, name):
    path = tmp_path / "touched"
    status, answer = post("theory", XOR | {"inputs": name.replace("{path}", str(path))})
    assert status == 400
    assert not path.exists()
    in_values = " in " in name
    assert in_values or "is not a name" in answer["error"]  # before z3 sees it


@pytest.fixture(scope="module")
def sandbox():
    made = Sandbox(hostile.work, {}, Limits(seconds=60, memory_mb=200, answer=10_000, concurrent=2))
    yield made
    made.close()


@linux
@pytest.mark.parametrize("action", ["read", "write", "program", "connect"])
def test_a_process_cannot_touch_files_programs_or_the_network(sandbox, tmp_path, action):
    path = tmp_path / "file"
    if action == "read":
        path.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        request = {"do": action, "path": str(path), "port": listening.getsockname()[1]}
        with pytest.raises(PlaygroundError, match="Too many open files"):
            sandbox.run(request)
    assert path.exists() == (action == "read")


@linux
def test_a_process_that_forks_can_run_no_program(sandbox, tmp_path):
    path = tmp_path / "file"
    assert sandbox.run({"do": "fork_and_run", "path": str(path)})["did"] != 0
    assert not path.exists()


@linux
@pytest.mark.parametrize("action", ["block", "hoard"])
def test_memory_is_limited(sandbox, action):
    with pytest.raises(PlaygroundError, match="200 MB"):
        sandbox.run({"do": action})


@pytest.mark.parametrize("action", ["forever", "asleep"])
def test_time_is_limited_and_the_process_is_gone(sandbox, action, monkeypatch):
    monkeypatch.setattr(sandbox, "limits", replace(sandbox.limits, seconds=0.7))
    seen = set()

    def watch():
        while not done.wait(0.05):
            seen.update(child.process.pid for child in list(sandbox._running))

    done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        with pytest.raises(TooHardError, match=r"longer than 0\.7 s"):
            sandbox.run({"do": action})
    finally:
        done.set()
        watcher.join()
    assert seen
    assert gone(seen)


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("long_answer", "longer than 10,000 bytes"),
        ("exit", "exited early"),
        ("crash", "exited early"),
        ("deep", "too deeply"),
    ],
)
def test_a_failure_in_a_process_is_reported(sandbox, action, words):
    with pytest.raises(PlaygroundError, match=words):
        sandbox.run({"do": action})
    assert sandbox.run({"do": "cache"})["did"] == "off"


def test_a_process_writes_nothing_on_the_terminal(sandbox, capfd):
    sandbox.run({"do": "print"})
    assert capfd.readouterr() == ("", "")


def test_the_number_of_requests_is_limited_and_none_run_after_close():
    own = Sandbox(hostile.work, {}, Limits(seconds=600, concurrent=1))
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(own.run, {"do": "asleep"})
        while not own._running:
            time.sleep(0.02)
        with pytest.raises(BusyError, match="Try again"):
            own.run({"do": "cache"})
        own.close()
        with pytest.raises(PlaygroundError):
            future.result(timeout=300)
    with pytest.raises(BusyError, match="shutting down"):
        own.run({"do": "cache"})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:1234"}, 200),
        ({"host": "[::1]:1234"}, 200),
        ({"host": "192.168.1.7"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "localhost.evil.example:8000"}, 403),
        ({"host": "127.0.0.1.evil.example"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "localhost:80", "origin": "http://localhost:80"}, 200),
        ({"host": "localhost:80", "origin": "http://localhost:81"}, 403),
        ({"host": "localhost:80", "origin": "https://localhost:80"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"content-type": "text/plain"}, 403),
    ],
)
def test_only_the_servers_own_pages_can_send_requests(post, headers, status):
    got, answer = post("digit", {"digit": 3}, **headers)
    assert got == status, answer
    assert ("error" in answer) == (status == 403)


def test_pages_are_not_served_under_another_host_name(client):
    rejected = client.get("/", headers={"host": "evil.example"})
    assert rejected.status_code == 403
    assert "script-src 'self'" in rejected.headers["content-security-policy"]
    assert client.get("/", headers={"host": "localhost"}).status_code == 200


def test_a_host_that_was_given_is_accepted():
    guard = Guard(lambda *_: None, ["Box.local"])
    headers = {"content-type": "application/json", "host": "box.local:8000"}
    assert guard.rejection("POST", Headers(headers)) is None
    assert guard.rejection("POST", Headers(headers | {"host": "other.local"})) is not None


def test_an_incomplete_request_is_rejected_in_time(pages, monkeypatch):
    monkeypatch.setattr("smtlayer_playground.server._BODY_SECONDS", 0.3)
    own = Pages(pages.addition, pages.sudoku, pages.liars, make_sandbox(LIMITS))
    with (
        serving(make_app(own)) as port,
        socket.create_connection(("127.0.0.1", port), timeout=300) as client,
    ):
        client.sendall(
            b"POST /api/liars HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        assert b" 400 " in client.recv(1000).partition(b"\r\n")[0]
