"""Renders formulas as inline SVG, so that pages need no script and work offline."""

import html
import logging
import re
from collections.abc import Iterable, Iterator

from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextToPath

_LOG = logging.getLogger("mkdocs.hooks.formulas")
_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
_FONT = FontProperties(size=100, math_fontfamily="stixsans")
_EM = 100 / 1.08  # the font is slightly larger than the text around it
_LETTERS = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}


def on_page_content(content: str, page, config, files) -> str:
    """Replaces the elements of the extension arithmatex."""

    def inline(found: re.Match[str]) -> str:
        return _drawn(found[1], page.file.src_uri)

    def block(found: re.Match[str]) -> str:
        return f'<div class="formula">{_drawn(found[1], page.file.src_uri)}</div>'

    return _BLOCK.sub(block, _INLINE.sub(inline, content))


def _drawn(escaped: str, where: str) -> str:
    text = " ".join(html.unescape(escaped).split())
    try:
        return svg(text)
    except ValueError as error:
        _LOG.warning("%s: the formula %r cannot be rendered. %s", where, text, error)
        return f"<code>{html.escape(text)}</code>"


def svg(formula: str) -> str:
    """A formula as inline SVG, on the baseline and in the colour of the text."""
    source, pen = f"${formula}$", TextToPath()
    width, height, below = pen.get_text_width_height_descent(source, _FONT, True)
    points, codes = pen.get_text_path(_FONT, source, ismath=True)
    path = " ".join(_strokes(points, codes))
    above, name = height - below, html.escape(formula, quote=True)
    return (
        f'<svg class="math" role="img" aria-label="{name}" fill="currentColor" '
        f'viewBox="0 {-above:.0f} {width:.0f} {height:.0f}" style="width:{width / _EM:.2f}em;'
        f'height:{height / _EM:.2f}em;vertical-align:{-below / _EM:.2f}em">'
        f'<path d="{path}"/></svg>'
    )


def _strokes(points: Iterable, codes: Iterable) -> Iterator[str]:
    """SVG path commands of an outline, with y downwards."""
    for vertices, code in Path(points, codes).iter_segments(curves=True, simplify=False):
        if code == Path.CLOSEPOLY:
            yield "Z"
        else:
            pairs = zip(vertices[::2], -vertices[1::2], strict=True)
            yield _LETTERS[code] + " ".join(f"{x:.0f} {y:.0f}" for x, y in pairs)
