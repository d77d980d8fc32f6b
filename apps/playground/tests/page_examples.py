"""The built-in examples of the requirements page."""

import json
import re

from smtlayer_playground.server import STATIC

_EXAMPLE = re.compile(
    r'  "(?P<name>.*?)": \{\n    logits: (?P<logits>.*),\n    given: (?P<given>.*),\n'
    r"    text: `(?P<text>[^`]*)`"
)


def requirement_examples():
    """The request of each example, by name."""
    source = (STATIC / "examples.js").read_text(encoding="utf-8")
    block = source.partition("export const REQUIREMENTS = ")[2].partition("\n};")[0]
    return {
        found["name"]: {
            "text": found["text"],
            "logits": json.loads(found["logits"]),
            "given": json.loads(found["given"]),
        }
        for found in _EXAMPLE.finditer(block)
    }
