"""Compares printed output with what a page shows."""

import re

NUMBER = re.compile(r"\d+(?:\.\d+)?")


def agree(printed: str, expected: str) -> bool:
    """Whether two texts are equal except for numbers that are close, as after training."""
    words = [NUMBER.sub("#", " ".join(text.split())) for text in (printed, expected)]
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (printed, expected)]
    pairs = zip(*numbers, strict=False)
    return words[0] == words[1] and all(abs(a - b) <= max(3, 0.1 * b) for a, b in pairs)
