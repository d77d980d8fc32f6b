"""The site builds strictly and offline; its links resolve, and its pages load nothing remote.

If the variable `SMTLAYER_SITE` names a site that `make docs` has built, it is not built again.
"""

import doctest
import html
import inspect
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import smtlayer

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOOKS = {path.stem: runpy.run_path(str(path)) for path in (DOCS / "hooks").glob("*.py")}
NOWHERE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
READY = os.environ.get("SMTLAYER_SITE")
REPOSITORY = (os.environ.get("REPO_URL") if READY else "") or "https://example.org/us/smtlayer"


class Page(HTMLParser):
    """The links of a page, the files it loads, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.places |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        loaded = given.get("href") if tag == "link" else given.get("src")
        if loaded and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.add(loaded)


def build(project: Path, folder: Path) -> tuple[int, str]:
    """Builds a site without `--quiet`, which would hide the warnings that `--strict` counts."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=project,
        env={**os.environ, **NOWHERE, "REPO_URL": REPOSITORY, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    if READY:
        return Path(READY)
    folder = tmp_path_factory.mktemp("site")
    code, output = build(ROOT, folder)
    assert code == 0, output
    assert "WARNING" not in output, output
    return folder


@pytest.fixture
def small_project(tmp_path) -> Path:
    """A site of one page with our settings."""
    hooks = "".join(f"\n  - {DOCS / 'hooks' / name}.py" for name in ("generated", "links"))
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md]\nextra_css: []\nhooks:{hooks}\n"
    )
    (tmp_path / "docs").mkdir()
    return tmp_path


@cache
def read(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    found = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(found) >= 30
    return found


def test_every_internal_link_resolves(site):
    checked = 0
    for path in pages(site):
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("mailto:"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.relative_to(site)} links to {link}"
            if parts.fragment and target.suffix == ".html":
                places = read(target).places
                assert unquote(parts.fragment) in places, f"{path.relative_to(site)}: {link}"
            checked += 1
    assert checked > 1000


MISTAKES = {
    "[page](missing.md)": "link 'missing.md'",
    "[heading](#no-such-heading)": "no such anchor on this page",
    "![picture](missing.png)": "link 'missing.png'",
    "[page](/absolute.md)": "absolute link '/absolute.md'",
    "[name][smtlayer.Nonsense]": "'smtlayer.Nonsense'",
}


def test_a_correct_page_builds(small_project):
    (small_project / "docs" / "index.md").write_text("# Page\n\n[heading](#page)\n")
    code, output = build(small_project, small_project / "site")
    assert code == 0, output
    assert "WARNING" not in output


def test_a_broken_link_stops_the_build(small_project):
    page = "# Page\n\n" + "\n\n".join(MISTAKES)
    (small_project / "docs" / "index.md").write_text(page)
    code, output = build(small_project, small_project / "site")
    assert code != 0
    assert f"Aborted with {len(MISTAKES)} warnings in strict mode" in output
    for words in MISTAKES.values():
        assert words in output


def test_a_page_about_an_unknown_name_stops_the_build(small_project):
    (small_project / "docs" / "index.md").write_text("# Page\n\n::: smtlayer.Nonsense\n")
    code, output = build(small_project, small_project / "site")
    assert code != 0
    assert "smtlayer.Nonsense" in output


def test_pages_load_nothing_remote(site):
    for path in pages(site):
        loads = read(path).loads
        assert loads
        assert not [load for load in loads if urlsplit(load).netloc], path.relative_to(site)


def test_the_start_page_shows_code_picture_and_results(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert {"img/start-light.svg#only-light", "img/start-dark.svg#only-dark"} <= read(
        site / "index.html"
    ).loads
    results = (DOCS / "explain" / "results.md").read_text(encoding="utf-8")
    best = re.search(r"^\|  \| ours \| (.*?) \|", results, re.MULTILINE)[1]  # of MNIST+ 10 %
    assert re.search(rf"<td[^>]*>{re.escape(best)}</td>", text)
    assert "layer = SMTLayer(Theory(rules" in re.sub(r"<[^>]*>", "", text)


def test_links_out_of_the_documentation_lead_to_the_repository(site):
    links = read(site / "explain" / "results" / "index.html").links
    assert f"{REPOSITORY}/tree/main/studies/results" in links
    assert f"{REPOSITORY}/blob/main/benchmarks/results/validation.jsonl" in links


def test_every_public_name_is_on_an_api_page(site):
    places = set().union(*(read(path).places for path in (site / "api").rglob("*.html")))
    last = {place.rpartition(".")[2] for place in places if place.startswith("smtlayer.")}
    public = set(smtlayer.__all__)
    assert {"SMTLayer", "Theory"} <= public
    assert not public - last


def test_every_doctest_example_on_the_api_pages_is_shown_as_code(site):
    checked = 0
    for path in (site / "api").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        blocks = "".join(re.findall(r"<pre.*?</pre>", text, re.DOTALL))
        assert text.count("&gt;&gt;&gt;") == blocks.count("&gt;&gt;&gt;"), path.relative_to(site)
        shown = html.unescape(re.sub(r"<[^>]*>", "", blocks))
        for place in sorted(p for p in read(path).places if p.startswith("smtlayer.")):
            for example in doctest.DocTestParser().get_examples(docstring(place)):
                line = example.source.splitlines()[0]
                assert f">>> {line}" in shown, f"{place}: {line}"
                checked += 1
    assert checked >= 70


def docstring(place: str) -> str:
    """The docstring of a name on an API page; empty for attributes with a plain value."""
    try:
        found = pkgutil.resolve_name(place)
    except AttributeError:  # a field without a default
        return ""
    return "" if isinstance(found, int | str | tuple | dict) else inspect.getdoc(found) or ""


def test_every_command_has_its_help_on_the_page(site):
    text = (site / "api" / "command-line" / "index.html").read_text(encoding="utf-8")
    for command in ("train", "lab", "reproduce table1", "doctor", "demo", "report", "inspect"):
        assert f"<code>smtlayer {command}</code>" in text


def test_a_notebook_is_a_page_with_its_outputs(site):
    folder = site / "tutorial"
    text = (folder / "2-addition" / "index.html").read_text(encoding="utf-8")
    assert "4000 training images, 1000 test images" in text
    assert "for our tests" not in text
    assert (folder / "2-addition-1.png").read_bytes().startswith(b"\x89PNG")
    assert "../3-own-theory/" in read(folder / "2-addition" / "index.html").links


def test_every_notebook_can_be_downloaded_from_the_top_of_its_page(site):
    notebooks = sorted((DOCS / "tutorial").glob("*.ipynb"))
    assert len(notebooks) == 4
    for notebook in notebooks:
        page = site / "tutorial" / notebook.stem / "index.html"
        text = page.read_text(encoding="utf-8")
        top = text[text.index("</h1>") : text.index("</h1>") + 200]
        link = f'download href="../{notebook.name}">Download this page as a notebook</a>'
        assert link in top, top
        assert (page.parent / ".." / notebook.name).read_bytes() == notebook.read_bytes()


def test_formulas_are_rendered_with_a_label(site):
    text = (site / "api" / "layer" / "index.html").read_text(encoding="utf-8")
    assert r'aria-label="x = \mathrm{sign}(\ell)"' in text
    assert "arithmatex" not in text


def test_a_formula_that_cannot_be_rendered_is_reported(caplog):
    render = HOOKS["formulas"]["_drawn"]
    assert render(r"x &lt; \sum_i y_i", "page.md").startswith("<svg")
    assert not caplog.records
    assert render(r"\nonsense{x}", "page.md") == r"<code>\nonsense{x}</code>"
    assert "page.md" in caplog.text
