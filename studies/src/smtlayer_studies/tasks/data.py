"""Finds the data files of the tasks in the data folder."""

import hashlib
import os
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Literal

from smtlayer.errors import ConfigError, MissingDataError, did_you_mean
from smtlayer.solvers.store import default_store
from smtlayer_studies.tasks.data_files import FILES, DataFile

State = Literal["ok", "damaged", "missing"]


def data_folder(data_dir: Path | None = None) -> Path | None:
    """The data folder: the one given, else `SMTLAYER_DATA`, else `data` in the cache folder.

    The cache folder is `SMTLAYER_CACHE`, or `smtlayer` in the user's; None if it is disabled.
    """
    named = data_dir or os.environ.get("SMTLAYER_DATA")
    if named:
        return Path(named).expanduser()
    kept = default_store().folder
    return None if kept is None else kept / "data"


def files(name: str) -> tuple[DataFile, ...]:
    """The files of that name or of that data set, or `"all"` of them.

    Raises:
        ConfigError: If there is no such name.

    Examples:
        >>> [file.name for file in files("hasy")]
        ['hasy-operators']
    """
    found = tuple(f for f in FILES.values() if name in (f.name, f.dataset, "all"))
    if not found:
        names = sorted({f.dataset for f in FILES.values()} | set(FILES) | {"all"})
        hint = did_you_mean(name, names, f"Choose one of {', '.join(names)}.")
        raise ConfigError(f"data: no data set or file is called {name!r}.{hint}")
    return found


def state(file: DataFile, data_dir: Path | None = None) -> State:
    """Whether a file is in the data folder and has the right checksum."""
    path = _path(file, data_dir)
    if path is None or not path.is_file():
        return "missing"
    return "ok" if checksum(path) == file.sha256 else "damaged"


def find(name: str, data_dir: Path | None = None, *, check: bool = True) -> Path:
    """The path of a data file.

    Args:
        name: One of `FILES`.
        data_dir: The data folder; see `data_folder` for the default.
        check: Whether to compare the checksum, once per process.

    Raises:
        MissingDataError: If it does not exist, or has the wrong checksum.
    """
    file = FILES[name]
    path = _path(file, data_dir)
    if path is None:
        raise MissingDataError(
            f"data: {name} is needed, and there is no data folder: SMTLAYER_CACHE disables the "
            f"default one. Name one with --data-dir or SMTLAYER_DATA."
        )
    if not path.is_file():
        raise MissingDataError(
            f"data: {name} is needed, and {path} does not exist. {_how_to_get(file, data_dir)} "
            f"Another data folder is named with --data-dir or SMTLAYER_DATA."
        )
    if check and (got := checksum(path)) != file.sha256:
        raise MissingDataError(
            f"data: {path} is not {name}: expected SHA-256 {file.sha256} ({file.size:,} bytes), "
            f"got {got} ({path.stat().st_size:,} bytes). Delete it. {_how_to_get(file, data_dir)}"
        )
    return path


def checksum(path: Path) -> str:
    """The SHA-256 of a file, computed once per process unless the file changes."""
    about = path.stat()
    return _checksum(path.absolute(), about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=64)
def _checksum(path: Path, mtime_ns: int, size: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _path(file: DataFile, data_dir: Path | None) -> Path | None:
    folder = data_folder(data_dir)
    return None if folder is None else file.in_folder(folder)


def download_command(dataset: str, data_dir: Path | None) -> str:
    """The command that downloads a data set.

    Examples:
        >>> download_command("mnist", Path("my data"))
        "smtlayer data --download mnist --data-dir 'my data'"
    """
    there = "" if data_dir is None else f" --data-dir {shlex.quote(str(data_dir))}"
    return f"smtlayer data --download {dataset}{there}"


def _how_to_get(file: DataFile, data_dir: Path | None) -> str:
    if file.urls:
        return f"Fetch it with: {download_command(file.dataset, data_dir)}."
    return (
        f"It cannot be downloaded, as no public place has exactly this file ({file.origin}): "
        f"put it there by hand. "
        f"Without it: {file.without}."
    )
