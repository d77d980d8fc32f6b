"""The site is built strictly and offline; its links resolve, and nothing is fetched to show it."""

import os
import re
import runpy
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import smtlayer.api

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOOKS = {path.stem: runpy.run_path(str(path)) for path in (DOCS / "hooks").glob("*.py")}
NOWHERE = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
REPOSITORY = "https://example.org/us/smtlayer"


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that one can link to."""

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


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, **NOWHERE, "REPO_URL": REPOSITORY, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


@cache
def read(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    found = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(found) >= 30
    return found


def test_every_link_inside_the_site_leads_somewhere(site):
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


def test_nothing_is_fetched_from_elsewhere_to_show_a_page(site):
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
    best = re.search(r"^\| MNIST\+ 10 % \|.*?\*\*(.*?)\*\*", results, re.MULTILINE)[1]
    assert f"<strong>{best}</strong>" in text
    assert "layer = SMTLayer(theory)" in re.sub(r"<[^>]*>", "", text)


def test_links_out_of_the_documentation_lead_to_the_repository(site):
    links = read(site / "explain" / "results" / "index.html").links
    assert f"{REPOSITORY}/tree/main/results" in links
    assert f"{REPOSITORY}/blob/main/benchmarks/results/validation.jsonl" in links


def test_everything_public_has_its_place_in_the_api_pages(site):
    places = set().union(*(read(path).places for path in (site / "api").rglob("*.html")))
    last = {place.rpartition(".")[2] for place in places if place.startswith("smtlayer.")}
    public = {name for name in vars(smtlayer.api) if not name.startswith("_")}
    assert {"SMTLayer", "Theory"} <= public
    assert not public - last


def test_every_command_has_its_help_on_the_page(site):
    text = (site / "api" / "command-line" / "index.html").read_text(encoding="utf-8")
    for command in ("train", "lab", "reproduce table1", "doctor", "demo", "report", "inspect"):
        assert f"<code>smtlayer {command}</code>" in text


def test_a_notebook_is_a_page_with_its_outputs_and_can_be_taken_along(site):
    folder = site / "tutorial"
    text = (folder / "2-addition" / "index.html").read_text(encoding="utf-8")
    assert "4000 images to train on, 1000 to test on" in text
    assert "for our tests" not in text
    assert (folder / "2-addition-1.png").read_bytes().startswith(b"\x89PNG")
    assert "../2-addition.ipynb" in read(folder / "2-addition" / "index.html").links
    assert "../3-own-theory/" in read(folder / "2-addition" / "index.html").links


def test_formulas_are_drawn_and_tell_what_they_are(site):
    text = (site / "api" / "layer" / "index.html").read_text(encoding="utf-8")
    assert r'aria-label="x = \mathrm{sign}(\ell)"' in text
    assert "arithmatex" not in text


def test_a_formula_that_cannot_be_drawn_is_told(caplog):
    drawn = HOOKS["formulas"]["_drawn"]
    assert drawn(r"x &lt; \sum_i y_i", "page.md").startswith("<svg")
    assert not caplog.records
    assert drawn(r"\nonsense{x}", "page.md") == r"<code>\nonsense{x}</code>"
    assert "page.md" in caplog.text


def test_columns_of_the_results_are_taken_by_name():
    page = "<!-- table1 -->\n| row | a | b |\n| --- | ---: | ---: |\n| x | 1 | **2** |\n\n- note\n"
    columns = HOOKS["generated"]["columns"]
    assert columns(page, ["b"]) == "| row | b |\n| --- | ---: |\n| x | **2** |"
    with pytest.raises(Exception, match="no columns c"):
        columns(page, ["c"])
