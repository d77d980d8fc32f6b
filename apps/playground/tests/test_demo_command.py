"""`smtlayer demo`: the runs that it accepts, its error messages, and how it stops."""

import os
import signal
import socket
import sys
import time

import httpx
import pytest
import torch
from hostile import HARD
from made_run import addition_run, sudoku_run, write_run

from helpers import running
from shell import smtlayer
from smtlayer.errors import ConfigError, MissingDataError
from smtlayer_playground import command, pages
from smtlayer_playground.reader import shipped
from smtlayer_playground.theory import XOR
from smtlayer_playground.trained import load, load_all
from smtlayer_studies.tasks.addition.theory import addition_theory
from smtlayer_studies.tasks.liars.theory import liars_theory
from smtlayer_studies.tasks.networks import DigitNetwork


def test_a_port_that_is_taken_is_one_line_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = smtlayer("demo", "--port", taken.getsockname()[1])
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "address already in use" in done.stderr
    assert "--port 0" in done.stderr


@pytest.mark.parametrize("port", [0, 8123])
@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])  # reserved: no machine has them
def test_a_host_that_is_not_here_is_not_blamed_on_the_port(host, port):
    with pytest.raises(ConfigError, match=f"port {port} of {host}: ") as caught:
        command._listen(host, port)
    assert "--host: 127.0.0.1" in str(caught.value)
    assert "--port" not in str(caught.value)
    assert "attempting" not in str(caught.value)


def test_help_has_examples():
    assert "Examples:\n\n      smtlayer demo\n" in smtlayer("demo", "--help").stdout


def test_packages_that_are_missing_are_one_line_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("starlette", *(name for name in sys.modules if name.startswith("starlette."))):
        monkeypatch.setitem(sys.modules, name, None)
    done = smtlayer("demo")
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1
    assert 'pip install ".[demo]"' in done.stderr


@pytest.fixture
def folder(tmp_path):
    return write_run(
        tmp_path / "run", {"name": "mnist-addition"}, DigitNetwork(), addition_theory()
    )


def error_of(*folders):
    """The error message for invalid folders: one line."""
    with pytest.raises((ConfigError, MissingDataError)) as caught:
        load_all(folders)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_without_a_run_is_rejected(tmp_path):
    assert "smtlayer train" in error_of(tmp_path / "nowhere")
    assert "holds no run" in error_of(tmp_path)


def test_a_run_without_a_model_is_rejected(folder):
    (folder / "model.pt").unlink()
    assert "has no model.pt" in error_of(folder)


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04"])
def test_a_model_that_is_damaged_is_rejected(folder, content):
    (folder / "model.pt").write_bytes(content)
    assert "Train the run again" in error_of(folder)


def test_the_model_of_another_network_is_rejected(folder):
    torch.save({"network.weight": torch.zeros(3)}, folder / "model.pt")
    assert "Train the run again" in error_of(folder)


def test_a_conventional_run_is_rejected(tmp_path):
    task = {"name": "mnist-addition"}
    made = write_run(tmp_path / "run", task, DigitNetwork(), addition_theory(), layer=False)
    assert "without a layer" in error_of(made)


def test_a_run_of_a_task_without_a_page_is_rejected(tmp_path):
    made = write_run(tmp_path / "run", {"name": "visual-algebra"}, DigitNetwork(), liars_theory())
    assert "which has no page" in error_of(made)


def test_two_runs_of_a_task_are_rejected(folder):
    assert "Give one of them" in error_of(folder, folder)


def test_a_folder_of_methods_gives_the_one_with_a_layer(folder):
    conventional = folder.parent / "conventional"
    write_run(conventional, {"name": "mnist-addition"}, DigitNetwork(), addition_theory(),
              layer=False)  # fmt: skip
    assert load(folder.parent).folder == folder
    folder.rename(folder.parent / "best")
    assert load(folder.parent).folder == folder.parent / "best"


def test_runs_of_several_tasks_fill_their_pages(tmp_path):
    found = load_all([addition_run(tmp_path / "a"), sudoku_run(tmp_path / "s")])
    assert set(found) == {"mnist-addition", "visual-sudoku"}
    assert found["visual-sudoku"].options["reading"] == "digits"


def test_pages_without_a_run_use_the_reader_that_comes_along(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "SudokuPage", lambda run, bank: run)
    made = pages.make_pages(load_all([addition_run(tmp_path / "a")]))
    assert made.addition.about()["run"]["folder"] == str(tmp_path / "a")
    assert made.sudoku is shipped()["visual-sudoku"]


@pytest.mark.slow  # Ctrl-C on an idle server: see the fixture `url`
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for other processes")
def test_ctrl_c_stops_a_busy_server(tmp_path):
    words = ["-m", "smtlayer", "demo", "--port", "0", "--no-open"]
    line, options = [sys.executable, *words], {"text": True, "start_new_session": True}
    with running(line, cwd=tmp_path, **options) as server:
        lines = iter(server.stdout.readline, "")
        url = next(line.split()[1] for line in lines if line.startswith("Open "))
        with httpx.Client(base_url=url, timeout=60) as client:
            assert client.post("/api/theory", json=XOR).status_code == 200
            with pytest.raises(httpx.ReadTimeout):
                client.post("/api/theory", json=HARD, timeout=1)
            os.killpg(server.pid, signal.SIGINT)  # to the whole group, as a terminal does
            out, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert errors == ""
    assert out.strip().endswith("Stopped.")
    assert has_exited(server.pid)


def has_exited(group):
    """Whether a group of processes is empty within ten seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False
