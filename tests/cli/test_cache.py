"""`smtlayer cache`: what is on disk, and deleting it."""

import json
import os
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from smtlayer.solvers import store
from smtlayer_cli.app import app

DIGEST = "ab" * 32


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "kept"))
    return tmp_path / "kept"


def cache(*options):
    answer = CliRunner().invoke(app, ["cache", *options])
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def fill():
    store.save("clauses", DIGEST, numbers=np.zeros(30_000, dtype=np.int8))
    store.save("models", DIGEST, signs=np.ones(5, dtype=np.int8))
    store.save("models", "cd" * 32, signs=np.ones(5, dtype=np.int8))


def cells(line):
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_kinds_are_shown_with_number_size_and_age(folder, monkeypatch):
    fill()
    long_ago = time.time() - 3 * 86400 - 60
    for path in (*folder.glob("clauses.*"), *folder.glob(f"models.{DIGEST}.*")):
        os.utime(path, (long_ago, long_ago))
    monkeypatch.setattr(store, "_tag", lambda: "0123456789ab")
    store.save("models", DIGEST, signs=np.ones(5, dtype=np.int8))
    shown = cache()
    assert shown.startswith(f"Compiled theories are kept in {folder}.\n")
    lines = [cells(line) for line in shown.splitlines() if line.startswith("│")]
    assert lines[0][:2] == ["clauses", "1"]
    assert lines[0][2].endswith("KiB")
    assert lines[0][3:] == ["3 days ago", "1"]
    assert [lines[1][i] for i in (0, 1, 3, 4)] == ["models", "3", "just now", "2"]
    assert shown.endswith("Delete them with: smtlayer cache --clear\n")


def test_clearing_says_how_much_it_deleted(folder):
    fill()
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert cache("--clear") == f"Deleted 3 files, {size / 1024:.3g} KiB, from {folder}.\n"
    assert list(folder.iterdir()) == []
    assert cache("--clear") == f"Deleted 0 files, 0 B, from {folder}.\n"


def test_machines_get_one_object(folder):
    fill()
    answer = json.loads(cache("--json"))
    assert (answer["folder"], answer["problem"]) == (str(folder), None)
    assert (answer["deleted"], answer["freed"]) == (0, 0)
    assert [e["kind"] for e in answer["entries"]] == ["clauses", "models", "models"]
    assert answer["entries"][0]["digest"] == DIGEST
    assert answer["entries"][0]["current"] is True
    sizes = sum(e["bytes"] for e in answer["entries"])
    cleared = json.loads(cache("--json", "--clear"))
    assert (cleared["entries"], cleared["deleted"], cleared["freed"]) == ([], 3, sizes)


def test_a_folder_that_is_not_there_is_empty_and_stays_away(folder):
    expected = f"Compiled theories are kept in {folder}.\nThere are none yet.\n"
    assert cache() == expected
    assert not folder.exists()
    folder.mkdir()
    assert cache() == expected


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "kept"
    monkeypatch.setenv("SMTLAYER_CACHE", str(folder))
    assert cache() == (
        f"Compiled theories are kept in {folder}.\nNothing can be written there: not a directory.\n"
        f"There are none yet.\n"
    )
    assert json.loads(cache("--json"))["problem"] == "not a directory"


def test_clearing_what_is_no_folder_says_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "file"))
    assert "Nothing can be written there: not a directory.\n" in cache("--clear")
    assert cache("--clear") == cache()
    assert (tmp_path / "file").exists()


def test_files_that_cannot_be_deleted_come_without_the_advice_to_delete_them(folder, monkeypatch):
    fill()
    monkeypatch.setattr(store.Store, "problem", lambda _: "permission denied")
    shown = cache()
    assert "Nothing can be written there: permission denied.\n" in shown
    assert "models" in shown
    assert "--clear" not in shown


@pytest.mark.parametrize("options", [(), ("--clear",)])
def test_a_disabled_cache_is_reported(options, monkeypatch):
    monkeypatch.setenv("SMTLAYER_CACHE", "off")
    assert cache(*options) == (
        "Compiled theories are not kept on disk: SMTLAYER_CACHE disables that. Unset it, or set it "
        "to a folder.\n"
    )
    answer = json.loads(cache("--json", *options))
    assert (answer["folder"], answer["problem"]) == (None, "switched off")


def test_help_names_the_command():
    assert "cache" in CliRunner().invoke(app, ["--help"]).stdout
