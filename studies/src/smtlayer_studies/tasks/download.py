"""Downloads data files over https, and keeps those with the right checksum."""

import hashlib
import http.client
import os
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from smtlayer.errors import MissingDataError
from smtlayer_studies.tasks.data import data_folder, state
from smtlayer_studies.tasks.data_files import FILES, DataFile

Progress = Callable[[int, int], None]  # bytes so far, and in all
_CHUNK = 1 << 16
_AGENT = {"User-Agent": "smtlayer"}  # some hosts refuse that of urllib


class _NotFetched(Exception):  # noqa: N818 - never leaves this file
    """The reason why a URL did not give the file."""


def wants_download() -> bool:
    """Whether `SMTLAYER_DOWNLOAD` allows that missing files are downloaded automatically."""
    return os.environ.get("SMTLAYER_DOWNLOAD", "").strip().lower() in ("1", "true", "yes", "on")


def download(
    name: str,
    data_dir: Path | None = None,
    *,
    progress: Progress | None = None,
    schemes: tuple[str, ...] = ("https",),
    timeout_s: float = 30.0,
) -> Path:
    """Downloads a data file into the data folder, unless it is there already; returns its path.

    The file gets its name only after its checksum has been verified. An existing file with a wrong
    checksum is replaced.

    Args:
        name: One of `FILES`.
        data_dir: The data folder, created if necessary; see `data_folder` for the default.
        progress: Called with the number of bytes received, and the total.
        schemes: Allowed schemes of URLs, including those of redirects.
        timeout_s: How long to wait for the server.

    Raises:
        MissingDataError: If none of its URLs gave the file, or it cannot be stored.
    """
    file = FILES[name]
    target = _target(file, data_dir)
    if state(file, data_dir) == "ok":
        return target
    failures = []
    for url in file.urls:
        try:
            _keep(file, _chunks(url, file.size, schemes, timeout_s), target, progress)
        except _NotFetched as error:
            failures.append(f"{url} ({error})")
        except OSError as error:
            raise MissingDataError(
                f"data: {name} cannot be stored in {target.parent}: {error}. Name another data "
                f"folder with --data-dir or SMTLAYER_DATA."
            ) from error
        else:
            return target
    raise MissingDataError(_no_luck(file, target, failures))


def _target(file: DataFile, data_dir: Path | None) -> Path:
    folder = data_folder(data_dir)
    if folder is None:
        raise MissingDataError(
            f"data: there is no folder to store {file.name} in: SMTLAYER_CACHE disables the "
            f"default one. Name one with --data-dir or SMTLAYER_DATA."
        )
    if not file.urls:
        raise MissingDataError(
            f"data: {file.name} cannot be downloaded, as no public place has exactly this file "
            f"({file.origin}). Put it at {file.in_folder(folder)} by hand. Without it: "
            f"{file.without}."
        )
    return file.in_folder(folder)


def _no_luck(file: DataFile, target: Path, failures: list[str]) -> str:
    return (
        f"data: {file.name} could not be downloaded from {' nor from '.join(failures)}. Try again "
        f"later, or download it by hand: save {file.urls[0]} as {target}; its SHA-256 is "
        f"{file.sha256}."
    )


def _keep(file: DataFile, chunks: Iterator[bytes], target: Path, progress: Progress | None) -> None:
    """Writes a file completely and with the right checksum, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{uuid.uuid4().hex[:12]}.part")
    digest, done = hashlib.sha256(), 0
    try:
        with part.open("xb") as out:
            for chunk in chunks:
                out.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, file.size)
        if done < file.size:
            raise _NotFetched(f"it ended after {done:,} of {file.size:,} bytes")
        if digest.hexdigest() != file.sha256:
            raise _NotFetched(f"expected SHA-256 {file.sha256}, got {digest.hexdigest()}")
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _chunks(url: str, size: int, schemes: tuple[str, ...], timeout_s: float) -> Iterator[bytes]:
    """The content of a URL, up to the size of the file."""
    try:
        _check_scheme(url, schemes)
        request = urllib.request.Request(url, headers=_AGENT)
        opener = urllib.request.build_opener(_Redirects(schemes))
        with opener.open(request, timeout=timeout_s) as response:
            left = size
            while chunk := response.read(_CHUNK):
                left -= len(chunk)
                if left < 0:
                    raise _NotFetched(f"it is longer than {size:,} bytes")
                yield chunk
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _NotFetched(str(error) or type(error).__name__) from error


def _check_scheme(url: str, schemes: tuple[str, ...]) -> None:
    if urlsplit(url).scheme not in schemes:
        raise _NotFetched(f"only {' and '.join(schemes)} may be used, and {url} is not")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but only to allowed schemes."""

    def __init__(self, schemes: tuple[str, ...]) -> None:
        self._schemes = schemes

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """A request to the new URL."""
        _check_scheme(newurl, self._schemes)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
