import json
import os
import signal
import sys
import time

import pytest

from helpers import running
from smtlayer.errors import ConfigError
from smtlayer_studies.runs import grid
from smtlayer_studies.runs.grid import Job, State, exit_code, run_jobs, timing_jobs, train_jobs

WRITE = "import json, os, sys; json.dump({'threads': os.environ['OMP_NUM_THREADS']}, open(%r, 'w'))"


def job(folder, name, code=None):
    done = folder / f"{name}.json"
    code = WRITE % str(done) if code is None else code
    return Job(name, (sys.executable, "-c", code), done, folder / "logs" / f"{name}.txt")


def states(outcomes):
    return {outcome.job.name: outcome.state for outcome in outcomes}


def test_jobs_run_and_leave_their_files_and_logs(tmp_path):
    outcomes = run_jobs([job(tmp_path, "a"), job(tmp_path, "b")], at_once=2)
    assert states(outcomes) == {"a": State.DONE, "b": State.DONE}
    assert exit_code(outcomes) == 0
    assert (tmp_path / "logs" / "a.txt").read_text().startswith(f"$ {sys.executable} -c ")


def test_a_job_that_fails_or_is_killed_does_not_stop_the_others(tmp_path):
    code = "import sys; print('\\n'.join(map(str, range(99)))); sys.exit('the disk is full')"
    fails = job(tmp_path, "fails", code)
    killed = job(tmp_path, "killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    empty = job(tmp_path, "empty", "pass")
    absent = Job("absent", ("/no/such/program",), tmp_path / "absent.json", tmp_path / "x.txt")
    outcomes = run_jobs([fails, killed, empty, absent, job(tmp_path, "good")])
    assert states(outcomes)["good"] is State.DONE
    reasons = {outcome.job.name: outcome.reason for outcome in outcomes if outcome.failed}
    assert reasons.pop("absent").startswith("could not be started: [Errno 2]")
    assert reasons == {
        "fails": "exit code 1",
        "killed": "killed by SIGKILL",
        "empty": f"exited with 0 but wrote no {tmp_path / 'empty.json'}",
    }
    tail = outcomes[0].tail.splitlines()
    assert (tail[0], tail[-1], len(tail)) == ("85", "the disk is full", 15)
    assert exit_code(outcomes) == 1


def test_what_is_done_is_not_run_again_and_what_is_half_written_is(tmp_path):
    done, half = job(tmp_path, "done"), job(tmp_path, "half")
    done.done.write_text("{}")
    half.done.write_text('{"epochs": [')
    outcomes = run_jobs([half, done])
    assert states(outcomes) == {"done": State.SKIPPED, "half": State.DONE}
    assert done.done.read_text() == "{}"
    assert not done.log.exists()
    assert states(run_jobs([half, done])) == {"done": State.SKIPPED, "half": State.SKIPPED}


def test_a_failed_job_is_run_again_next_time(tmp_path):
    assert run_jobs([job(tmp_path, "a", "raise SystemExit(3)")])[0].reason == "exit code 3"
    assert run_jobs([job(tmp_path, "a")])[0].state is State.DONE
    assert (tmp_path / "logs" / "a.txt").read_text().count("$ ") == 2  # logs are kept


def test_as_many_run_at_once_as_asked(tmp_path):
    jobs = [job(tmp_path, name) for name in "abcd"]
    seen = []
    run_jobs(jobs, 2, seen.append)
    assert max(len(progress.running) for progress in seen) == 2
    assert [progress.total for progress in seen] == [4] * 8  # each starts and ends
    assert sorted(p.latest.job.name for p in seen if p.latest) == ["a", "b", "c", "d"]
    assert len(seen[-1].outcomes) == 4
    assert seen[-1].failed == 0


def test_progress_counts_failures_and_names_what_was_done_before(tmp_path):
    done, fails = job(tmp_path, "done"), job(tmp_path, "fails", "raise SystemExit(1)")
    done.done.write_text("{}")
    seen = []
    run_jobs([done, fails], on_change=seen.append)
    assert seen[0].latest.state is State.SKIPPED
    assert [progress.failed for progress in seen] == [0, 0, 1]


@pytest.mark.parametrize(("cores", "at_once", "threads"), [(8, 2, "4"), (2, 4, "1"), (6, 1, "6")])
def test_jobs_share_the_cores(tmp_path, monkeypatch, cores, at_once, threads):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(grid, "_cores", lambda: cores)
    run_jobs([job(tmp_path, "a")], at_once)
    assert json.loads((tmp_path / "a.json").read_text()) == {"threads": threads}


def test_a_number_of_threads_that_was_set_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    run_jobs([job(tmp_path, "a")], 2)
    assert json.loads((tmp_path / "a.json").read_text()) == {"threads": "3"}


SLEEPER = """
import pathlib, signal, subprocess, sys, time
if {deaf}:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
try:
    pathlib.Path({pids!r}).write_text(str(child.pid))
    time.sleep(600)
except KeyboardInterrupt:
    pathlib.Path({pids!r} + ".clean").touch()
"""


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().split()[2] == "Z"
    except FileNotFoundError:
        return True


def wait_for(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("deaf", [False, True])
def test_ctrl_c_stops_the_processes_and_those_they_started(tmp_path, monkeypatch, deaf):
    monkeypatch.setattr(grid, "_PATIENCE_S", 300.0 if not deaf else 0.3)
    pids = tmp_path / "pid"
    sleeper = job(tmp_path, "sleeper", SLEEPER.format(deaf=deaf, pids=str(pids)))
    waiting = job(tmp_path, "waiting")

    def interrupt(progress):
        if progress.running:
            wait_for(lambda: pids.exists() and pids.read_text())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs([sleeper, waiting], 1, interrupt)
    wait_for(lambda: gone(int(pids.read_text())))
    assert not waiting.done.exists()
    assert (tmp_path / "pid.clean").exists() != deaf


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_real_interrupt_ends_a_process_that_runs_a_grid(tmp_path):
    pids = tmp_path / "pid"
    sleeper = SLEEPER.format(deaf=False, pids=str(pids))
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from smtlayer_studies.runs.grid import Job, run_jobs\n"
        f"run_jobs([Job('a', (sys.executable, '-c', {sleeper!r}), Path('a.json'), Path('a.txt'))])"
    )
    with running([sys.executable, "-c", script], cwd=tmp_path) as process:
        wait_for(lambda: pids.exists() and pids.read_text())
        os.kill(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    assert b"KeyboardInterrupt" in errors
    wait_for(lambda: gone(int(pids.read_text())))
    assert (tmp_path / "pid.clean").exists()


def test_two_jobs_with_one_file_and_no_jobs_at_once_are_errors(tmp_path):
    same = job(tmp_path, "a")
    twin = Job("twin", same.command, same.done, same.log)
    with pytest.raises(ConfigError, match=r"'a' and 'twin' both write .*a.json: remove one"):
        run_jobs([same, twin])
    with pytest.raises(ConfigError, match=r"at least 1 job at a time. Got 0"):
        run_jobs([], 0)
    assert run_jobs([]) == []


def test_trainings_are_commands_of_the_command_line_one_seed_after_the_other(tmp_path):
    methods = {"liars-puzzle": ["conventional", "best"], "visual-algebra-1": ["best"]}
    seeds = {
        ("liars-puzzle", "conventional"): [0, 1, 2], ("liars-puzzle", "best"): [0, 1, 2],
        ("visual-algebra-1", "best"): [0, 1],
    }  # fmt: skip
    jobs = train_jobs(methods, seeds, tmp_path, ["--device", "cuda"])
    assert [one.name for one in jobs] == [
        *(f"{name}-seed{seed}" for seed in (0, 1)
          for name in ("liars-puzzle/conventional", "liars-puzzle/best", "visual-algebra-1/best")),
        "liars-puzzle/conventional-seed2", "liars-puzzle/best-seed2",
    ]  # fmt: skip
    folder = tmp_path / "liars-puzzle" / "best-seed1"
    assert jobs[4].command == (
        sys.executable, "-m", "smtlayer", "train", "liars-puzzle", "--method", "best", "--seed",
        "1", "--device", "cuda", "--out", str(folder),
    )  # fmt: skip
    assert (jobs[4].done, jobs[4].log) == (folder / "record.json", folder / "log.txt")


def test_timings_are_of_all_but_conventional_methods(tmp_path):
    methods = ["conventional", "best", "conventional-same-budget"]
    (one,) = timing_jobs({"liars-puzzle": methods}, 3, tmp_path)
    folder = tmp_path / "liars-puzzle" / "best-timing"
    assert one.done == folder / "best-timing.json"
    assert one.command[3:] == (
        "train",
        "liars-puzzle",
        "--method",
        "best",
        "--timing",
        "3",
        "--out",
        str(folder),
    )
