"""The disk cache of compiled theories.

A cache never fails: an entry that cannot be read is computed again, and one that cannot be written
is not kept. `smtlayer cache` shows its state.
"""

import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
import pysat
import z3
from numpy.typing import NDArray

import smtlayer

_FORMAT = 7  # raise it when the content of a kind of bundle changes
_MOST_BYTES = 512 << 20
_PREFIX, _CHECKSUM = "array_", "sha256"
_NAME = re.compile(r"\w+\.\w+\.[0-9a-f]{12}\.(npz|\w+\.tmp)", re.A)  # kind, digest, tag

Arrays = dict[str, NDArray[Any]]


class Entry(NamedTuple):
    """A bundle on disk."""

    kind: str
    digest: str
    bytes: int
    mtime: float  # time of last use, seconds since 1970
    current: bool  # whether this version of the library can read it


@final
@dataclass(frozen=True)
class Store:
    """Bundles of arrays in a folder, each with a kind and the digest of a theory as its key.

    Bundles belong to the versions of this library and its solvers; those of other versions are left
    alone. Processes may share a folder: a bundle is written atomically.

    Args:
        folder: The folder, created when first needed. None disables the cache.
        most_bytes: The size above which the least recently used bundles are deleted.
    """

    folder: Path | None
    most_bytes: int = _MOST_BYTES

    def load(self, kind: str, digest: str) -> Arrays | None:
        """The arrays, or None if there are none; a damaged bundle is deleted."""
        path = self._path(kind, digest)
        if path is None:
            return None
        try:
            content = path.read_bytes()
        except OSError:
            return None
        arrays = _unpack(content, path.name)
        with suppress(OSError):
            if arrays is None:
                path.unlink()
            else:
                os.utime(path)  # marks it as used
        return arrays

    def save(self, kind: str, digest: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Writes the arrays, if possible."""
        path = self._path(kind, digest)
        if path is None:
            return
        content = _pack(arrays, path.name)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
            self._trim()

    def entries(self) -> list[Entry]:
        """All bundles, by kind, the most recently used first."""
        found = []
        for path, stat in self._files():
            if path.suffix == ".npz":
                kind, digest, tag, _ = path.name.split(".")
                found.append(Entry(kind, digest, stat.st_size, stat.st_mtime, tag == _tag()))
        return sorted(found, key=lambda entry: (entry.kind, -entry.mtime))

    def clear(self) -> int:
        """Deletes all files, also of other versions or interrupted writes; returns how many."""
        return sum(_delete(path) for path, _ in self._files())

    def problem(self) -> str | None:
        """Why the cache cannot be used, or None if it can."""
        if self.folder is None:
            return "switched off"
        try:
            place = next(p for p in (self.folder, *self.folder.absolute().parents) if p.exists())
            with tempfile.TemporaryFile(dir=place) as probe:
                probe.write(bytes(4096))
        except OSError as error:
            return (error.strerror or str(error)).lower()
        return None

    def _path(self, kind: str, digest: str) -> Path | None:
        for word in (kind, digest):
            if not re.fullmatch(r"\w+", word, re.A):
                expected = "kind and digest of letters, digits and _"
                raise ValueError(f"Store expects {expected}. Got {word!r}.")
        return self.folder and self.folder / f"{kind}.{digest}.{_tag()}.npz"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """The files of this library in the folder; all others are left alone."""
        if self.folder is None:
            return
        with suppress(OSError):
            for path in list(self.folder.iterdir()):
                with suppress(OSError):  # another process may delete it at this moment
                    if _NAME.fullmatch(path.name):
                        yield path, path.stat()

    def _trim(self) -> None:
        files = sorted(self._files(), key=lambda file: file[1].st_mtime)
        total = sum(stat.st_size for _, stat in files)
        for path, stat in files:
            if total <= self.most_bytes:
                return
            total -= stat.st_size
            _delete(path)


def default_store() -> Store:
    """The store set by the environment variable `SMTLAYER_CACHE`.

    It names the folder; empty or `off` disables the cache. The default is `smtlayer` in the user's
    cache folder.
    """
    named = os.environ.get("SMTLAYER_CACHE")
    if named is not None and named.strip().lower() in ("", "off"):
        return Store(None)
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    try:
        if named is not None:
            return Store(Path(named).expanduser())
        parent = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return Store(None)
    return Store(parent / "smtlayer")


def load(kind: str, digest: str) -> Arrays | None:
    """The arrays of a bundle in the default store, or None."""
    return default_store().load(kind, digest)


def save(kind: str, digest: str, /, **arrays: NDArray[Any]) -> None:
    """Writes a bundle to the default store, if possible."""
    default_store().save(kind, digest, arrays)


@cache
def _tag() -> str:
    """Version tag of everything that cached data depends on."""
    versions = (_FORMAT, smtlayer.__version__, z3.get_version_string(), pysat.__version__)
    return hashlib.sha256(repr(versions).encode()).hexdigest()[:12]


def _pack(arrays: Mapping[str, NDArray[Any]], name: str) -> bytes:
    found = {key: np.asarray(array) for key, array in arrays.items()}
    for key, array in found.items():
        if array.dtype.hasobject:
            raise ValueError(f"Store expects arrays of plain numbers. {key!r} holds objects.")
    members = {_PREFIX + key: array for key, array in found.items()}
    content = io.BytesIO()
    np.savez(content, **members, **{_CHECKSUM: _checksum(found, name)})  # type: ignore[arg-type]
    return content.getvalue()


def _unpack(content: bytes, name: str) -> Arrays | None:
    """The arrays of a bundle, or None if it is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as bundle:
            members = dict(bundle)
        checksum = members.pop(_CHECKSUM)
        arrays = {key.removeprefix(_PREFIX): array for key, array in members.items()}
        return arrays if np.array_equal(checksum, _checksum(arrays, name)) else None
    except Exception:  # numpy and zipfile raise many kinds for a damaged file
        return None


def _checksum(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.uint8]:
    """Checksum of the arrays and the file name, so that a renamed file is detected."""
    digest = hashlib.sha256(name.encode())
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(repr((key, array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _write(path: Path, content: bytes) -> None:
    """Writes a file atomically."""
    handle, name = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        _delete(Path(name))
        raise


def _delete(path: Path) -> bool:
    """Deletes a file; returns whether it existed and could be deleted."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
