"""The installation page agrees with the packaging and with the messages of the code."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_extra_is_on_the_page():
    named = re.findall(r"^\| (`.*?`) \|", section("Extras"), re.MULTILINE)
    extras = {name for cell in named for name in re.findall(r"`(\w+)`", cell)}
    assert extras == set(PROJECT["optional-dependencies"])


def test_every_requirement_is_on_the_page():
    names = {"torch": "PyTorch", "numpy": "NumPy", "oxidd": "OxiDD"}
    found = [re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]]
    assert len(found) == 5
    for name in found:
        assert names.get(name, name) in section("Platforms"), name
    assert PROJECT["requires-python"] == ">=3.11"
    assert "Python 3.11 or newer" in PAGE


def test_the_oldest_versions_in_the_remedies_are_those_required():
    pinned = re.findall(r"`[^`]*?\"?([\w-]+>=[\w.]+)\"?`", section("If it does not work"))
    assert len(pinned) == 3
    assert set(pinned) <= set(PROJECT["dependencies"])


def test_every_message_on_the_page_is_in_the_code():
    folders = [ROOT / "src", ROOT / "studies" / "src"]
    code = " ".join(p.read_text() for folder in folders for p in sorted(folder.rglob("*.py")))
    code = re.sub(r'"\s+f?"|\s+', lambda gap: "" if '"' in gap[0] else " ", code)
    rows = re.findall(r"^\| (.*?) \|", section("If it does not work"), re.MULTILINE)
    ours = [text for row in rows for text in re.findall(r"^`([^`]+\.)`|\*([^*]+)\*", row)]
    assert len(ours) >= 8
    for text in ("".join(pair) for pair in ours):
        parts = re.split(r"…|^\w+ is |\bworkers=2 |rich |: |4\.15\.4", text)
        for part in (part.strip(" ,.") for part in parts):
            assert not part or part in code, f"{part!r} of {text!r} is not in the code"
