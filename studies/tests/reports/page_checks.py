"""What every page must be: well-formed, whole in itself, and fit for people who do not see it."""

import re
from html.parser import HTMLParser
from itertools import pairwise

_VOID = {"meta", "img", "br", "hr"}
_LOADS = {"src", "srcset", "href", "xlink:href", "poster", "data", "action", "background", "ping"}
_FORBIDDEN = {"script", "link", "iframe", "object", "embed", "base", "form", "video", "audio"}


class Page(HTMLParser):
    """Reads a page, and raises where its elements do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.styles: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        (self.styles if self.open and self.open[-1] == "style" else self.words).append(data)

    @property
    def text(self) -> str:
        """What a reader sees, with single blanks."""
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of a name."""
        return [attributes for name, attributes in self.elements if name == tag]


def checked(text: str) -> Page:
    """The page, after all checks."""
    assert text.startswith("<!doctype html>\n")
    page = Page(text)
    _check_offline(page)
    _check_links(page)
    _check_access(page)
    return page


def _check_offline(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in _FORBIDDEN, f"<{tag}> may load something"
        for name in _LOADS & attributes.keys():
            assert (attributes[name] or "").startswith(("#", "data:image/png;base64,")), attributes
        assert not any(name.startswith("on") for name in attributes), f"<{tag}> runs a script"
    styles = page.styles + [attributes.get("style") or "" for _, attributes in page.elements]
    for style in styles:
        assert not re.search(r"url\(|@import|https?:|//", style)


def _check_links(page: Page) -> None:
    places = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(places) == len(set(places)), "an id stands twice"
    named = [a["aria-labelledby"] for _, a in page.elements if "aria-labelledby" in a]
    links = [(link["href"] or "")[1:] for link in page.all("a")]
    assert links
    assert {*links, *named} <= set(places)


def _check_access(page: Page) -> None:
    assert page.all("html")[0]["lang"] == "en"
    assert all("alt" in image for image in page.all("img"))
    assert all(drawn.get("aria-label") for drawn in page.all("svg"))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
