"""This file writes HTML that is escaped by construction."""

from html import escape
from typing import final

_EMPTY = ("img", "meta", "br", "hr", "link", "path", "rect", "line", "circle", "polyline")


@final
class Html(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def tag(name: str, /, *inside: "str | Html | None", **attributes: object) -> Html:
    """An element. Plain text inside and all attributes are escaped; None is left out.

    Args:
        name: Such as `"p"`.
        inside: Text, or `Html` that stays as it is.
        attributes: By name; an underscore at the end goes (`class_`), others become dashes
            (`aria_label`). True stands for an attribute without a value; None and False for none.

    Examples:
        >>> tag("p", "a < b", tag("br"), class_="note", hidden=False)
        '<p class="note">a &lt; b<br></p>'
    """
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY:
        return Html(
            f"<{name}{told}>" if name in ("img", "meta", "br", "hr") else f"<{name}{told}/>"
        )
    return Html(f"<{name}{told}>{join(*inside)}</{name}>")


def join(*parts: "str | Html | None", between: str = "") -> Html:
    """Parts one after another, escaped where they are plain text."""
    return Html(between.join(text(part) for part in parts if part is not None))


def text(part: "str | Html") -> Html:
    """A part as it stands in a page."""
    return part if isinstance(part, Html) else Html(escape(part))


def _attribute(key: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
