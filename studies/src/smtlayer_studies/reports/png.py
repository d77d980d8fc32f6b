"""Small images as PNG text that a page can hold."""

import base64
import struct
import zlib

import torch
from torch import Tensor

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY_AND_ALPHA = 4


def png_uri(image: Tensor) -> str:
    """Black ink on nothing, as a `data:` address: a page that is dark can turn it round.

    Args:
        image: $(h, w)$, 0 for paper and 1 for ink.

    Examples:
        >>> png_uri(torch.zeros(2, 2))[:30]
        'data:image/png;base64,iVBORw0K'
    """
    height, width = image.shape
    alpha = (image.clamp(0, 1) * 255).round().to(torch.uint8)
    pixels = torch.stack([torch.zeros_like(alpha), alpha], dim=-1).reshape(height, -1)
    lines = b"".join(b"\0" + bytes(line) for line in pixels.tolist())  # each begins with a filter
    head = struct.pack(">IIBBBBB", width, height, 8, _GREY_AND_ALPHA, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    data = SIGNATURE + b"".join(chunk(kind, body) for kind, body in chunks)
    return f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"


def chunk(kind: bytes, body: bytes) -> bytes:
    """One chunk of a PNG file: its length, kind, content and checksum."""
    check = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + check
