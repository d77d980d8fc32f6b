"""Bundles of arrays on disk: whole, of the right version, or not there."""

import multiprocessing
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from smtlayer.solvers import store
from smtlayer.solvers.store import Store, default_store

DIGEST = "0f" * 32
ARRAYS = {
    "signs": np.array([[1, -1, 0], [0, 1, 1]], dtype=np.int8),
    "clauses": np.arange(1000, dtype=np.int32)[::3],
    "count": np.array(7),
    "none": np.zeros((0, 4), dtype=np.float64),
    "file": np.array(["has more than 5 models"]),
}


@pytest.fixture
def kept(tmp_path):
    """A store, and the path of the one bundle in it."""
    one = Store(tmp_path / "deep" / "down")
    one.save("models", DIGEST, ARRAYS)
    (path,) = one.folder.iterdir()
    return one, path


def assert_same(found, expected):
    assert found is not None
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert np.array_equal(found[name], array)


def test_what_is_saved_is_loaded(kept):
    one, path = kept
    assert_same(one.load("models", DIGEST), ARRAYS)
    assert path.exists()
    assert one.load("models", DIGEST)["signs"].flags.writeable


def test_what_was_not_saved_is_none(kept):
    one, _ = kept
    assert one.load("clauses", DIGEST) is None
    assert one.load("models", "aa" * 32) is None
    assert Store(one.folder / "elsewhere").load("models", DIGEST) is None


def test_saving_again_replaces(kept):
    one, path = kept
    one.save("models", DIGEST, {"x": np.ones(2)})
    assert_same(one.load("models", DIGEST), {"x": np.ones(2)})
    assert list(one.folder.iterdir()) == [path]


@pytest.mark.parametrize(
    "who", ["smtlayer.__version__", "z3.get_version_string", "pysat.__version__", "store._FORMAT"]
)
def test_another_version_does_not_read_it(kept, who, monkeypatch):
    one, path = kept
    other = (lambda: "0.0.1") if who.startswith("z3") else "0.0.1"
    monkeypatch.setattr(f"smtlayer.solvers.store.{who}".replace("store.store", "store"), other)
    store._tag.cache_clear()
    try:
        assert one.load("models", DIGEST) is None
        assert path.exists()
        assert [entry.current for entry in one.entries()] == [False]
        one.save("models", DIGEST, {"x": np.ones(1)})
        assert_same(one.load("models", DIGEST), {"x": np.ones(1)})
    finally:
        monkeypatch.undo()
        store._tag.cache_clear()
    assert_same(one.load("models", DIGEST), ARRAYS)
    assert sorted(entry.current for entry in one.entries()) == [False, True]


def zipped_with_wrong_keys(path):
    np.savez(path, something=np.ones(3))


def with_an_array_swapped(path):
    with np.load(path) as bundle:
        members = dict(bundle)
    members["array_signs"] = -members["array_signs"]
    np.savez(path, **members)


def without_an_array(path):
    with np.load(path) as bundle:
        members = dict(bundle)
    del members["array_none"]
    np.savez(path, **members)


def of_another_theory(path):
    other = Store(path.parent / "other")
    other.save("models", "aa" * 32, ARRAYS)
    (stranger,) = other.folder.iterdir()
    stranger.replace(path)


class Trap:
    """Makes a folder when it is unpickled."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def with_a_pickle(path):
    trap = np.array([Trap(path.parent / "sprung")], dtype=object)
    np.savez(path, array_x=trap, sha256=np.zeros(32, np.uint8))


def plain_npy(path):
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def zipped_text(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("sha256", "text")


DAMAGES = {
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "cut to its head": lambda path: path.write_bytes(path.read_bytes()[:100]),
    "no zip": lambda path: path.write_text("not a zip at all, but long enough to be read"),
    "wrong keys": zipped_with_wrong_keys,
    "array swapped": with_an_array_swapped,
    "array missing": without_an_array,
    "another theory's": of_another_theory,
    "pickle": with_a_pickle,
    "npy": plain_npy,
    "text in a zip": zipped_text,
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_bundle_is_deleted_and_can_be_made_anew(kept, how):
    one, path = kept
    DAMAGES[how](path)
    assert one.load("models", DIGEST) is None
    assert not path.exists()
    assert not (path.parent / "sprung").exists()
    one.save("models", DIGEST, ARRAYS)
    assert_same(one.load("models", DIGEST), ARRAYS)


def test_a_flipped_byte_never_brings_a_wrong_array(kept):
    one, path = kept
    good = path.read_bytes()
    refused = 0
    for position in range(0, len(good), 7):
        bad = bytearray(good)
        bad[position] ^= 0x41
        path.write_bytes(bad)
        found = one.load("models", DIGEST)
        refused += found is None
        if found is not None:  # an unused byte, such as one of a date
            assert_same(found, ARRAYS)
    assert refused > len(good) / 7 / 2


@pytest.mark.parametrize("word", ["../up", "a.b", "", "a b", "a/b"])
def test_names_that_could_lead_elsewhere_are_refused(tmp_path, word):
    message = r"^Store expects kind and digest of letters, digits and _\. Got '"
    with pytest.raises(ValueError, match=message):
        Store(tmp_path).save(word, DIGEST, ARRAYS)
    with pytest.raises(ValueError, match=message):
        Store(tmp_path).load("models", word)


def test_objects_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^Store expects arrays of plain numbers\. 'x' holds obj"):
        Store(tmp_path).save("models", DIGEST, {"x": np.array([None])})


def test_a_folder_that_cannot_be_is_borne_in_silence(tmp_path):
    (tmp_path / "file").write_text("")
    nowhere = Store(tmp_path / "file" / "below")
    nowhere.save("models", DIGEST, ARRAYS)
    assert nowhere.load("models", DIGEST) is None
    assert (nowhere.entries(), nowhere.clear()) == ([], 0)
    assert nowhere.problem() == "not a directory"


def test_a_full_disk_is_borne_in_silence_and_leaves_nothing_behind(kept, monkeypatch):
    one, path = kept

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    one.save("models", DIGEST, {"x": np.ones(1)})
    assert list(one.folder.iterdir()) == [path]
    assert_same(one.load("models", DIGEST), ARRAYS)


@pytest.mark.parametrize("value", ["", "off", "OFF", " "])
def test_the_store_can_be_switched_off(value, monkeypatch):
    monkeypatch.setenv("SMTLAYER_CACHE", value)
    assert default_store() == Store(None)
    store.save("models", DIGEST, **ARRAYS)
    assert store.load("models", DIGEST) is None
    off = default_store()
    assert (off.entries(), off.clear(), off.problem()) == ([], 0, "switched off")


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SMTLAYER_CACHE", str(tmp_path / "mine"))
    assert default_store() == Store(tmp_path / "mine")
    assert not (tmp_path / "mine").exists()
    store.save("models", DIGEST, **ARRAYS)
    assert_same(store.load("models", DIGEST), ARRAYS)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SMTLAYER_CACHE", "~/mine")
    assert default_store() == Store(tmp_path / "mine")


@pytest.mark.skipif(os.name == "nt", reason="POSIX folders")
def test_without_a_name_it_is_where_such_things_are(tmp_path, monkeypatch):
    monkeypatch.delenv("SMTLAYER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_store().folder == tmp_path / "smtlayer"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for nothing in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", nothing)
        assert default_store().folder == tmp_path / "home" / ".cache" / "smtlayer"


def test_entries_tell_kind_size_and_last_use(kept):
    one, path = kept
    os.utime(path, (1000, 1000))
    one.save("clauses", "aa", {"x": np.ones(1)})
    clauses, models = one.entries()
    assert (clauses.kind, clauses.digest, clauses.current) == ("clauses", "aa", True)
    assert models == ("models", DIGEST, path.stat().st_size, 1000.0, True)
    one.load("models", DIGEST)
    assert one.entries()[1].mtime > 1000


def test_clear_deletes_what_is_ours_and_nothing_else(kept):
    one, path = kept
    one.save("clauses", DIGEST, ARRAYS)
    left_behind = path.with_name(f"{path.stem}.x7_k2a.tmp")
    left_behind.write_bytes(b"half")
    mine = [one.folder / name for name in ("mine.npz", "notes.txt", "a.b.c.npz", "x.tmp")]
    for other in mine:
        other.write_text("mine")
    assert len(one.entries()) == 2
    assert one.clear() == 3
    assert sorted(one.folder.iterdir()) == sorted(mine)
    assert one.clear() == 0


def test_beyond_its_bound_the_least_recently_used_go(tmp_path):
    arrays = {"x": np.zeros(10_000, dtype=np.int8)}
    one = Store(tmp_path, most_bytes=35_000)
    for age, digest in enumerate(("a", "b", "c")):
        one.save("models", digest, arrays)
        (path,) = tmp_path.glob(f"models.{digest}.*")
        os.utime(path, (1000 + age, 1000 + age))
    one.load("models", "a")
    one.save("models", "d", arrays)
    assert sorted(entry.digest for entry in one.entries()) == ["a", "c", "d"]
    assert sum(entry.bytes for entry in one.entries()) <= 35_000
    Store(tmp_path, most_bytes=10).save("models", "e", arrays)
    assert one.entries() == []


def save_and_load(folder, me, barrier, loaded):
    one = Store(folder)
    barrier.wait()
    for step in range(200):
        one.save("models", "ab", {"x": np.full(2000 + 500 * me, me), "who": np.array(me)})
        if step % 50 == 49 and me == 0:
            one.clear()
        found = one.load("models", "ab")
        if found is not None:
            who = int(found["who"])
            assert (found["x"] == who).all()
            assert len(found["x"]) == 2000 + 500 * who
            loaded[me] += 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork, or imports take too long")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_processes_may_save_load_and_clear_at_once(tmp_path):
    context = multiprocessing.get_context("fork")
    barrier, loaded = context.Barrier(4), context.Array("i", 4)
    processes = [
        context.Process(target=save_and_load, args=(tmp_path, i, barrier, loaded)) for i in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=300)
    assert [process.exitcode for process in processes] == [0] * 4
    assert min(loaded) > 100
    assert [path.suffix for path in tmp_path.iterdir()] in ([".npz"], [])
