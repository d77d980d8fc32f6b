"""What package indexes and citation tools read about the project."""

import datetime
import re
import runpy
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import smtlayer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
REPOSITORY = SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
PLACEHOLDER = "https://example.org/REPLACE-ME"


@pytest.fixture(scope="module")
def build():
    pytest.importorskip("hatchling", reason="needs the extra dev")
    return runpy.run_path(str(ROOT / "hatch_build.py"))


def addresses(text: str) -> list[str]:
    """Where the links and pictures of a rendered text lead."""
    markdown = pytest.importorskip("markdown", reason="needs the extra docs")
    page = markdown.markdown(text, extensions=["fenced_code", "tables"])
    return re.findall(r'\b(?:href|src|srcset)="([^"]*)"', page)


@pytest.mark.parametrize("repository", ["", "https://example.org/us/smtlayer"])
def test_no_link_of_the_description_is_relative(build, repository):
    found = addresses(build["description"](README, repository))
    assert len(found) >= 4
    assert not [a for a in found if not a.startswith("#") and not urlsplit(a).netloc]
    if repository:
        assert f"{repository}/blob/main/docs/explain/results.md" in found


def test_the_description_is_the_readme_but_for_its_links(build):
    described = build["description"](README)
    assert re.findall(r"^#.*", described, re.MULTILINE) == re.findall(r"^#.*", README, re.MULTILINE)
    blocks = re.findall(r"```.*?```", README, re.DOTALL)
    assert len(blocks) >= 4
    assert re.findall(r"```.*?```", described, re.DOTALL) == blocks


PAGE = """\
[results](docs/results.md#top) [docs/](docs) [LICENSE](LICENSE) [here](#top) [z3](https://z3.org/)
![a plot](docs/plot.png)
<picture><source srcset="dark.svg"><img src="light.svg"></picture>
<img src="https://z3.org/z3.png">
```python
rows[0](not a link)
```
"""


def test_links_become_names_of_files_and_pictures_go(build):
    assert (
        build["description"](PAGE)
        == """\
results (`docs/results.md`) `docs/` `LICENSE` [here](#top) [z3](https://z3.org/)


<img src="https://z3.org/z3.png">
```python
rows[0](not a link)
```
"""
    )


def test_links_and_pictures_lead_to_the_repository_if_it_is_known(build):
    assert (
        build["description"](PAGE, "https://e.org/us")
        == """\
[results](https://e.org/us/blob/main/docs/results.md#top) [docs/](https://e.org/us/blob/main/docs) \
[LICENSE](https://e.org/us/blob/main/LICENSE) [here](#top) [z3](https://z3.org/)
![a plot](https://e.org/us/raw/main/docs/plot.png)
<picture><source srcset="https://e.org/us/raw/main/dark.svg">\
<img src="https://e.org/us/raw/main/light.svg"></picture>
<img src="https://z3.org/z3.png">
```python
rows[0](not a link)
```
"""
    )


def test_the_metadata_of_a_distribution_can_be_made(build):
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    made = ProjectMetadata(str(ROOT), PluginManager())
    assert made.version == smtlayer.__version__
    assert made.core.readme == build["description"](README, REPOSITORY)
    assert made.core.readme_content_type == "text/markdown"
    assert made.core.urls == build["urls"](REPOSITORY)


def test_project_addresses_come_from_the_repository(build):
    assert build["urls"]("") == {}
    found = build["urls"]("https://example.org/us/smtlayer")
    assert set(found) == {"Repository", "Changelog", "Issues"}
    assert all(urlsplit(address).netloc for address in found.values())


def test_the_citation_is_complete():
    yaml = pytest.importorskip("yaml", reason="needs the extra docs")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == smtlayer.__version__
    assert cited["license"] == SETTINGS["project"]["license"]
    assert isinstance(cited["date-released"], datetime.date)
    assert {"title", "message", "abstract", "keywords", "authors"} <= set(cited)
    assert cited["repository-code"] == (REPOSITORY or PLACEHOLDER)
    assert urlsplit(cited["url"]).scheme == "https"
    paper = cited["preferred-citation"]
    assert (paper["type"], paper["year"]) == ("conference-paper", 2023)
    names = [author["family-names"] for author in paper["authors"]]
    assert names == ["Wang", "Vijayakumar", "Lu", "Ganesh", "Jha", "Fredrikson"]


def bibtex(text: str) -> dict[str, dict[str, str]]:
    """The entries of a page by kind, with their fields."""
    block = re.search(r"```bibtex\n(.*?)```", text, re.DOTALL)[1]
    return {
        kind: dict(
            re.findall(r"^  (\w+) += \{(.*?)\},$", " ".join(fields.split("\n" + " " * 15)), re.M)
        )
        for kind, fields in re.findall(r"@(\w+)\{\w+,\n(.*?)\n\}", block, re.DOTALL)
    }


@pytest.mark.parametrize("page", ["README.md", "docs/citation.md"])
def test_the_bibtex_entries_agree_with_the_citation_file(page):
    yaml = pytest.importorskip("yaml", reason="needs the extra docs")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    paper = cited["preferred-citation"]
    authors = [f"{one['family-names']}, {one['given-names']}" for one in paper["authors"]]
    software = {
        "title": cited["title"],
        "author": f"{{{cited['authors'][0]['name']}}}",
        "version": cited["version"],
        "year": str(cited["date-released"].year),
    }
    if cited["url"] != PLACEHOLDER:
        software["url"] = cited["url"]
    assert bibtex((ROOT / page).read_text(encoding="utf-8")) == {
        "inproceedings": {
            "title": paper["title"],
            "author": " and ".join(authors),
            "booktitle": paper["collection-title"],
            "volume": str(paper["volume"]),
            "year": str(paper["year"]),
            "note": paper["notes"],
        },
        "software": software,
    }


DISTRIBUTIONS = {
    ".": {"smtlayer", "smtlayer_cli"},
    "studies": {"smtlayer_studies"},
    "benchmarks": {"smtlayer_benchmarks"},
    "apps/playground": {"smtlayer_playground"},
}


@pytest.mark.parametrize("folder", DISTRIBUTIONS)
def test_a_wheel_holds_its_packages_and_nothing_else(folder, tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="needs the extra dev")
    (path,) = wheel.WheelBuilder(str(ROOT / folder)).build(
        directory=str(tmp_path), versions=["standard"]
    )
    names = zipfile.ZipFile(path).namelist()
    found = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    assert found == DISTRIBUTIONS[folder]
    if folder == "studies":
        assert "smtlayer_studies/experiments/mnist-addition-10.toml" in names
    if folder == "apps/playground":
        assert "smtlayer_playground/static/index.html" in names
    if folder == ".":
        parts = {name.split("/")[1] for name in names if name.startswith("smtlayer/")}
        assert not parts & {"tasks", "training", "runs", "reports", "playground", "bench"}


def test_all_distributions_have_the_same_version():
    for folder in set(DISTRIBUTIONS) - {"."}:
        settings = tomllib.loads((ROOT / folder / "pyproject.toml").read_text(encoding="utf-8"))
        assert settings["project"]["version"] == smtlayer.__version__, folder
