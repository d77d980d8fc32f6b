"""Stamps on pictures: a digest of the records that a picture was drawn from."""

import hashlib
import struct
import zlib
from collections.abc import Iterable
from pathlib import Path

from smtlayer.errors import ArgumentError

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_KEYWORD = b"Records\0"
_DIGITS = 16
_HEAD_END = len(_SIGNATURE) + 25  # IHDR always comes first and is 25 bytes long


def records_digest(paths: Iterable[str | Path]) -> str:
    """A digest of records: it changes when a record is added, changed, renamed or removed.

    Args:
        paths: Files, and folders that stand for all `*.json` files in them. Where they lie and in
            which order they are named makes no difference.

    Examples:
        >>> import tempfile
        >>> record = Path(tempfile.mkdtemp(), "cpu.jsonl")
        >>> record.write_text('{"ms": 0.9}')
        11
        >>> records_digest([record])
        '0cf11cf60c3b29ec'
    """
    found = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = path.rglob("*.json")
            found += [(one.relative_to(path.parent).as_posix(), one) for one in inside]
        else:
            found.append((path.name, path))
    digest = hashlib.sha256()
    for name, path in sorted(found):
        content = path.read_bytes().replace(b"\r\n", b"\n")  # a checkout may have either
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]


def stamp_png(path: str | Path, digest: str) -> Path:
    """Writes a digest into a PNG file, as its text `Records`; an earlier one is replaced.

    Args:
        path: The picture.
        digest: What `records_digest` says of the records that it shows.
    """
    path = Path(path)
    data = path.read_bytes()
    if not data.startswith(_SIGNATURE):
        raise ArgumentError(f"stamp_png expects a PNG file. Got {path}, which is not one.")
    rest = data[_HEAD_END:]
    if png_stamp(path) is not None:
        rest = rest[12 + struct.unpack(">I", rest[:4])[0] :]
    path.write_bytes(data[:_HEAD_END] + _chunk(b"tEXt", _KEYWORD + digest.encode("ascii")) + rest)
    return path


def png_stamp(path: str | Path) -> str | None:
    """The digest that `stamp_png` wrote into a picture, or None if it has none."""
    data = Path(path).read_bytes()[_HEAD_END:]
    length, kind = struct.unpack(">I4s", data[:8]) if len(data) >= 8 else (0, b"")
    body = data[8 : 8 + length]
    if kind != b"tEXt" or not body.startswith(_KEYWORD):
        return None
    return body.removeprefix(_KEYWORD).decode("ascii")


def _chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk of a PNG file: its length, kind, content and checksum."""
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check
