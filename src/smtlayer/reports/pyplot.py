"""This file finds matplotlib, or says how to get it."""

from typing import Any

from smtlayer.errors import MissingPackageError


def pyplot() -> Any:
    """matplotlib's pyplot, drawing to files only."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError(
            "Pictures need the matplotlib package. Install it with: pip install smtlayer[tasks]"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
