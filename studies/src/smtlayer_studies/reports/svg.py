"""Matplotlib figures as SVG inside a web page."""

import io
import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from smtlayer_cli.pyplot import pyplot

_LEFT_OUT = re.compile(r"<(metadata|style).*?</\1>| font-family: [^;]*;", re.DOTALL)
_ID = re.compile(r'( id="|href="#|url\(#)')


def inline_svg(figure: Any, name: str, text: str, variables: Mapping[str, str]) -> Markup:
    """The `<svg>` element of a figure, which is closed. The same figure gives the same element.

    Args:
        figure: A matplotlib figure.
        name: Prefix of all ids, so that several figures can be on one page.
        text: What the figure shows, for readers who do not see it.
        variables: Custom properties of the page, such as `"--ink"`, in place of colours, such as
            `"#1e293b"`.
    """
    file = io.StringIO()
    with pyplot().rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    pyplot().close(figure)
    drawn = _LEFT_OUT.sub("", file.getvalue().partition("<svg")[2])
    drawn = _ID.sub(rf"\g<1>{name}-", drawn)
    for colour, variable in variables.items():
        drawn = drawn.replace(colour, f"var({variable})")
    return Markup('<svg role="img" aria-label="{}"').format(text) + Markup(drawn)
