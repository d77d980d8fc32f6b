"""This file keeps compiled theories on disk, so that the next process need not compile them.

A store is a convenience and never fails: what cannot be read is made anew, what cannot be written
is not kept. `smtlayer cache` tells.
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

_FORMAT = 3  # to be raised when a bundle of the same name comes to hold something else
_MOST_BYTES = 512 << 20
_PREFIX, _CHECKSUM = "array_", "sha256"
_WORD = re.compile("[A-Za-z0-9_]+")
_NAME = re.compile(r"(?P<kind>\w+)\.(?P<digest>\w+)\.(?P<tag>[0-9a-f]{12})\.(npz|\w+\.tmp)", re.A)

Arrays = dict[str, NDArray[Any]]


class Entry(NamedTuple):
    """A bundle on disk."""

    kind: str
    digest: str
    bytes: int
    mtime: float  # when it was last used, seconds since 1970
    current: bool  # whether this version of the library can use it


@final
@dataclass(frozen=True)
class Store:
    """Bundles of arrays in a folder, each found by a kind and the digest of a theory.

    Bundles are bound to the versions of this library and its solvers; those of others are left
    alone. Processes may share a folder: a bundle appears whole or not at all.

    Args:
        folder: Where they are; made when first needed. None keeps nothing.
        most_bytes: Beyond this, the least recently used go.
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
                os.utime(path)  # used just now
        return arrays

    def save(self, kind: str, digest: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keeps the arrays, if there is a place to keep them."""
        path = self._path(kind, digest)
        if path is None:
            return
        content = _pack(arrays, path.name)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, content)
            self._trim()

    def entries(self) -> list[Entry]:
        """All bundles, by kind and then the most recently used first."""
        found = []
        for path, stat in self._files():
            name = _NAME.fullmatch(path.name)
            if name and path.suffix == ".npz":
                current = name["tag"] == _tag()
                found.append(
                    Entry(name["kind"], name["digest"], stat.st_size, stat.st_mtime, current)
                )
        return sorted(found, key=lambda entry: (entry.kind, -entry.mtime))

    def clear(self) -> int:
        """Deletes all bundles, of other versions too, and what broken-off writes left behind.

        Returns:
            How many files are gone.
        """
        return sum(_delete(path) for path, _ in self._files())

    def problem(self) -> str | None:
        """Why nothing can be kept, or None if it can."""
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
            if not _WORD.fullmatch(word):
                raise ValueError(
                    f"Store expects kind and digest of letters, digits and _. Got {word!r}."
                )
        return self.folder and self.folder / f"{kind}.{digest}.{_tag()}.npz"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        """What this library wrote into the folder; anything else there is not ours to touch."""
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
    """The store that the environment names.

    `SMTLAYER_CACHE` is its folder; empty or `off` for none. Without it, `smtlayer` in the user's
    folder for such things.
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
    """The arrays in the default store, or None if there are none."""
    return default_store().load(kind, digest)


def save(kind: str, digest: str, /, **arrays: NDArray[Any]) -> None:
    """Keeps the arrays in the default store, if there is one."""
    default_store().save(kind, digest, arrays)


@cache
def _tag() -> str:
    """Stands for all versions that what we keep hangs on."""
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
    """The arrays of a bundle, or None if it is not what `_pack` made."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as bundle:
            members = dict(bundle)
        checksum = members.pop(_CHECKSUM)
        arrays = {key.removeprefix(_PREFIX): array for key, array in members.items()}
        return arrays if np.array_equal(checksum, _checksum(arrays, name)) else None
    except Exception:  # whatever numpy and zipfile make of a damaged file
        return None


def _checksum(arrays: Mapping[str, NDArray[Any]], name: str) -> NDArray[np.uint8]:
    """Over the arrays and the name of the file, so that a file by a wrong name is found out."""
    digest = hashlib.sha256(name.encode())
    for key in sorted(arrays):
        array = arrays[key]
        digest.update(repr((key, array.dtype.str, array.shape)).encode())
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _write(path: Path, content: bytes) -> None:
    """Writes a file that others see whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f"{path.stem}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        _delete(Path(name))
        raise


def _delete(path: Path) -> bool:
    """Whether the file was there and is gone."""
    try:
        path.unlink()
    except OSError:
        return False
    return True
