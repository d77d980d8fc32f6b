"""Project URLs and the description that package indexes show, made when a distribution is built.

An index shows README.md far from the files that it links to. With the address of a repository
(`repository` in pyproject.toml, [tool.hatch.metadata.hooks.custom]) the links lead there; without
one each becomes the name of its file, and pictures are left out.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)\s]+)\)")
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)\s]+)\)")
_HTML_IMAGE = re.compile(r"<picture>.*?</picture>|<img\b[^>]*>", re.DOTALL)
_SOURCE = re.compile(r'\b(src|srcset)="(?!https?:)([^"]+)"')


class ProjectMetadata(MetadataHookInterface):
    """Fills in what pyproject.toml names as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Sets `readme`, and `urls` where there is a repository."""
        repository = self.config["repository"].rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        described = description(text, repository)
        metadata["readme"] = {"content-type": "text/markdown", "text": described}
        metadata["urls"] = urls(repository)


def urls(repository: str) -> dict[str, str]:
    """The project's addresses by name; none without a repository."""
    if not repository:
        return {}
    return {
        "Repository": repository,
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def description(readme: str, repository: str = "") -> str:
    """README.md without links and pictures that are relative to it; code stays as it is."""
    parts = _FENCE.split(readme)
    parts[::2] = [_without_relative(part, repository) for part in parts[::2]]
    return "".join(parts)


def _without_relative(text: str, repository: str) -> str:
    if repository:
        text = _SOURCE.sub(rf'\1="{repository}/raw/main/\2"', text)
        text = _IMAGE.sub(rf"![\1]({repository}/raw/main/\2)", text)
        return _LINK.sub(rf"[\1]({repository}/blob/main/\2)", text)
    text = _HTML_IMAGE.sub(lambda found: "" if _SOURCE.search(found[0]) else found[0], text)
    return _LINK.sub(_named, _IMAGE.sub("", text))


def _named(found: re.Match[str]) -> str:
    words, path = found[1], found[2].partition("#")[0]
    same = words.strip("`/") == path.strip("/")
    return f"`{words.strip('`')}`" if same else f"{words} (`{path}`)"
