"""HTML and PNG text for the web pages that show examples."""

import base64
import io
from functools import cache
from typing import TYPE_CHECKING

import torch
from jinja2 import Environment, StrictUndefined
from torch import Tensor

from smtlayer.explain.text import percent

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def template(source: str) -> "Template":
    """A Jinja template that escapes all values, with the filters `png` and `percent`.

    Examples:
        >>> template("<p>{{ text }}, {{ 0.75|percent }}</p>").render(text="a < b")
        '<p>a &lt; b, 75.0 %</p>'
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"png": png_uri, "percent": percent}
    return environment.from_string(source)


def png_uri(image: Tensor) -> str:
    """A `data:` URI of an image as black ink on a transparent ground.

    Args:
        image: $(h, w)$, 0 for paper and 1 for ink.

    Examples:
        >>> png_uri(torch.zeros(2, 2))[:30]
        'data:image/png;base64,iVBORw0K'
    """
    from PIL import Image  # with matplotlib

    alpha = (image.clamp(0, 1) * 255).round().to(torch.uint8)
    pixels = torch.stack([torch.zeros_like(alpha), alpha], dim=-1)
    file = io.BytesIO()
    Image.fromarray(pixels.cpu().numpy()).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
