"""A grid of jobs: commands that run as processes, several at a time, and can be resumed.

A job is done when its file exists. A job that fails does not stop the others. Ctrl-C stops the
running processes; finished jobs are not run again.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from smtlayer.errors import ConfigError

COMMAND = (sys.executable, "-m", "smtlayer")
_POLL_S = 0.1
_PATIENCE_S = 10.0  # for a process to end after SIGINT, then again after SIGTERM
_TAIL = 15  # last lines of the log of a failed job


class State(StrEnum):
    """How a job ended."""

    DONE = "done"
    SKIPPED = "skipped"  # was done before
    FAILED = "failed"


@dataclass(frozen=True)
class Job:
    """A command, and the JSON file that it writes at its end."""

    name: str
    command: tuple[str, ...]
    done: Path
    log: Path

    @property
    def finished(self) -> bool:
        """Whether the file exists and is complete: a process may be killed while it writes."""
        try:
            json.loads(self.done.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return True


@dataclass(frozen=True)
class Outcome:
    """How a job ended, and why if it failed."""

    job: Job
    state: State
    seconds: float = 0.0
    reason: str = ""
    tail: str = ""  # the last lines of its log

    @property
    def failed(self) -> bool:
        """Whether the job failed."""
        return self.state is State.FAILED


@dataclass(frozen=True)
class Progress:
    """The progress of a grid."""

    total: int
    running: tuple[Job, ...]
    outcomes: tuple[Outcome, ...]
    latest: Outcome | None  # the one that just ended, if one did

    @property
    def failed(self) -> int:
        """Jobs that failed."""
        return sum(outcome.failed for outcome in self.outcomes)


@dataclass(frozen=True)
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    log: IO[bytes]
    start: float


def train_jobs(
    methods: Mapping[str, Sequence[str]],
    seeds: Mapping[tuple[str, str], Sequence[int]],
    runs: Path,
    options: Sequence[str] = (),
) -> list[Job]:
    """One training per experiment, method and seed; seed by seed, so that a table fills evenly.

    Args:
        methods: The methods by experiment.
        seeds: The seeds by experiment and method.
        runs: The folder for the folders of the runs.
        options: More options of `smtlayer train`, such as `("--device", "cuda")`.
    """
    return [
        _job(runs / experiment / f"{method}-seed{seed}", "record.json", experiment,
             ("--method", method, "--seed", str(seed), *options))
        for seed in sorted({seed for some in seeds.values() for seed in some})
        for experiment, chosen in methods.items()
        for method in chosen
        if seed in seeds[experiment, method]
    ]  # fmt: skip


def timing_jobs(
    methods: Mapping[str, Sequence[str]], epochs: int, runs: Path, options: Sequence[str] = ()
) -> list[Job]:
    """One timing per experiment and method with a layer, beside conventional epochs."""
    return [
        _job(runs / experiment / f"{method}-timing", f"{method}-timing.json", experiment,
             ("--method", method, "--timing", str(epochs), *options))
        for experiment, chosen in methods.items()
        for method in chosen
        if not method.startswith("conventional")
    ]  # fmt: skip


def _job(folder: Path, file: str, experiment: str, options: Sequence[str]) -> Job:
    command = (*COMMAND, "train", experiment, *options, "--out", str(folder))
    return Job(f"{experiment}/{folder.name}", command, folder / file, folder / "log.txt")


def run_jobs(
    jobs: Sequence[Job],
    at_once: int = 1,
    on_change: Callable[[Progress], None] = lambda progress: None,
) -> list[Outcome]:
    """Runs the jobs that are not done yet, in order, and returns how each ended.

    Args:
        jobs: The jobs.
        at_once: Processes at a time. They share the cores and the device.
        on_change: Called when a job starts, ends, or is found to be done.

    Raises:
        ConfigError: If `at_once` is below 1, or two jobs would write the same file.
        KeyboardInterrupt: After Ctrl-C, when the processes have ended.
    """
    _check(jobs, at_once)
    done = [job for job in jobs if job.finished]
    waiting = deque(job for job in jobs if job not in done)
    running: list[_Running] = []
    outcomes: list[Outcome] = []

    def report(latest: Outcome | None = None) -> None:
        if latest:
            outcomes.append(latest)
        now = tuple(one.job for one in running)
        on_change(Progress(len(jobs), now, tuple(outcomes), latest))

    try:
        for job in done:
            report(Outcome(job, State.SKIPPED))
        while waiting or running:
            while waiting and len(running) < at_once:
                job = waiting.popleft()
                try:
                    running.append(_start(job, at_once))
                    report()
                except OSError as error:
                    report(Outcome(job, State.FAILED, reason=f"could not be started: {error}"))
            for one in [one for one in running if one.process.poll() is not None]:
                running.remove(one)
                report(_ended(one))
            if running:
                time.sleep(_POLL_S)
    finally:
        _stop(running)
    return outcomes


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """0 if nothing failed, else 1."""
    return int(any(outcome.failed for outcome in outcomes))


def _check(jobs: Sequence[Job], at_once: int) -> None:
    if at_once < 1:
        raise ConfigError(f"A grid runs at least 1 job at a time. Got {at_once}.")
    files: dict[Path, Job] = {}
    for job in jobs:
        if files.setdefault(job.done, job) is not job:
            raise ConfigError(
                f"Each job of a grid needs its own file. {files[job.done].name!r} and "
                f"{job.name!r} both write {job.done}: remove one."
            )


def _start(job: Job, at_once: int) -> _Running:
    job.log.parent.mkdir(parents=True, exist_ok=True)
    threads = str(max(1, _cores() // at_once))
    environment = {"OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1"} | os.environ
    log = job.log.open("ab")
    try:
        log.write(f"$ {shlex.join(job.command)}\n".encode())
        log.flush()
        # In its own session: Ctrl-C reaches this process only, which then stops the others.
        process = subprocess.Popen(
            job.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError:
        log.close()
        raise
    return _Running(job, process, log, time.monotonic())


def _ended(one: _Running) -> Outcome:
    one.log.close()
    seconds = time.monotonic() - one.start
    code = one.process.returncode
    if code == 0 and one.job.finished:
        return Outcome(one.job, State.DONE, seconds)
    if code == 0:
        reason = f"exited with 0 but wrote no {one.job.done}"
    elif code < 0:
        names = {int(known): known.name for known in signal.Signals}
        reason = f"killed by {names.get(-code, f'signal {-code}')}"
    else:
        reason = f"exit code {code}"
    return Outcome(one.job, State.FAILED, seconds, reason, _last_lines(one.job.log))


def _last_lines(path: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-_TAIL:])


def _stop(running: Sequence[_Running]) -> None:
    """Ends processes by SIGINT, then SIGTERM, then SIGKILL; a second Ctrl-C kills them at once."""
    try:
        for firmness in (signal.SIGINT, signal.SIGTERM):
            _signal(running, firmness)
            end = time.monotonic() + _PATIENCE_S
            while time.monotonic() < end and any(one.process.poll() is None for one in running):
                time.sleep(_POLL_S)
    finally:
        _signal(running, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        for one in running:
            one.process.wait()
            one.log.close()


def _signal(running: Iterable[_Running], which: signal.Signals) -> None:
    """Sends a signal to running processes and their children."""
    for process in [one.process for one in running if one.process.poll() is None]:
        if sys.platform == "win32":
            process.terminate()
        else:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, which)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
