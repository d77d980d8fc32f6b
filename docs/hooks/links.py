"""Redirects links to files outside docs/ to the repository, if `repo_url` is set."""

import re
from pathlib import Path

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#|mailto:)([^)\s#]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    """Rewrites the links; without `repo_url` only their text remains."""
    docs = Path(config.docs_dir).resolve()
    here = (docs / page.file.src_uri).parent

    def outside(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = (here / target).resolve()
        if path.is_relative_to(docs) or not path.exists():
            return found[0]  # a page, or a mistake that mkdocs reports
        if not config.repo_url:
            return text
        kind = "tree" if path.is_dir() else "blob"
        name = path.relative_to(docs.parent).as_posix()
        return f"[{text}]({config.repo_url.rstrip('/')}/{kind}/main/{name}{anchor})"

    return _LINK.sub(outside, markdown)
