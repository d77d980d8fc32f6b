"""Completion as shells ask for it, by their own protocols, and in a real bash."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shell import python, smtlayer


def bash(*words):
    """What bash would offer for the last word."""
    line = " ".join(shlex.quote(word) if word else "''" for word in ("smtlayer", *words))
    done = smtlayer(_SMTLAYER_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words)))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.fixture
def runs(tmp_path, monkeypatch):
    for name in ("mine/best", "mine/conventional", "other"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "record.json").write_text("{}")
    (tmp_path / "runs" / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["tr"], ["train"]),
        (["--de"], ["--debug"]),
        (["train", "visual-a"], ["visual-algebra", "visual-algebra-1", "visual-algebra-2"]),
        (["train", "--back"], ["--backend", "--backward"]),
        (["train", "--backend", "s"], ["sat"]),
        (["train", "--backward", "ma"], ["maxsmt", "marginal"]),
        (["train", "liars-puzzle", "--method", "as"], ["as-printed"]),
        (["reproduce", "t"], ["table1"]),
        (["reproduce", "table1", "--rows", "liars-puzzle,visual-sudoku-5"],
         ["liars-puzzle,visual-sudoku-50"]),
        (["reproduce", "table1", "--methods", "p"], ["paper"]),
        (["lab", "liars-puzzle-"], ["liars-puzzle-as-printed"]),
        (["data", "--download", "mn"], ["mnist"]),
        (["bench", "s"], ["step", "sudoku", "startup", "scaling"]),
    ],
)  # fmt: skip
def test_words_are_completed(words, offered):
    assert bash(*words) == offered


def test_folders_of_runs_are_completed(runs):
    assert bash("evaluate", "") == ["runs/mine/best", "runs/mine/conventional", "runs/other"]
    assert bash("evaluate", "runs/mine/b") == ["runs/mine/best"]
    here = str(Path.cwd() / "runs" / "o")
    assert bash("evaluate", here) == [f"{here}ther"]


def test_a_word_that_nothing_fits_is_left_to_the_shell(runs):
    assert bash("evaluate", "empty") == []
    assert bash("train", "my_experiment.to") == []


def test_zsh_and_fish_get_the_meaning_too():
    asked = {"_TYPER_COMPLETE_ARGS": "smtlayer doc"}
    shown = smtlayer(_SMTLAYER_COMPLETE="complete_zsh", **asked).stdout
    assert '"doctor":"Show what works here, what is missing' in shown
    fish = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    shown = smtlayer(_SMTLAYER_COMPLETE="complete_fish", **asked, **fish).stdout
    assert shown.startswith("doctor\tShow what works here, what is missing")


def test_completion_needs_neither_torch_nor_a_solver():
    code = """
import json, os, sys
os.environ |= {"_SMTLAYER_COMPLETE": "complete_bash", "COMP_WORDS": "smtlayer evaluate --back",
               "COMP_CWORD": "2"}
sys.argv = ["smtlayer"]
from smtlayer_cli.__main__ import main
try:
    main()
except SystemExit as end:
    assert end.code == 0
print(json.dumps([name for name in ("torch", "z3", "numpy") if name in sys.modules]))
"""
    offered, loaded = python(code).stdout.splitlines()
    assert offered == "--backend"
    assert json.loads(loaded) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_a_real_bash_completes_once_it_is_installed(tmp_path):
    program = tmp_path / "smtlayer"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m smtlayer_cli "$@"\n')
    program.chmod(0o755)
    script = """
smtlayer --install-completion
source ~/.bashrc
COMP_WORDS=(smtlayer train liars)
COMP_CWORD=2
$(complete -p smtlayer | sed 's/.*-F \\([^ ]*\\).*/\\1/') smtlayer
echo "offered: ${COMPREPLY[@]}"
"""
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, check=False, timeout=600,
        env=os.environ | {"HOME": str(tmp_path), "PATH": path},
    )  # fmt: skip
    assert "completion installed" in done.stdout, done.stderr
    assert done.stdout.endswith("offered: liars-puzzle\n")
