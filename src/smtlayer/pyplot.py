"""This file finds matplotlib, or says how to get it, and tells which files it can write."""

from pathlib import Path
from typing import Any

from smtlayer.errors import ConfigError, MissingPackageError, install_command

_FORMATS = ("png", "pdf", "svg", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")


def pyplot() -> Any:
    """matplotlib's pyplot, drawing to files only."""
    try:
        import matplotlib
    except ImportError as error:
        raise MissingPackageError(
            f"Pictures need the matplotlib package. Install it with: {install_command('cli')}"
        ) from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def check_picture(path: Path, option: str) -> None:
    """Refuses a path that no picture can have; to be called before the work that it shows.

    Args:
        path: The picture to write; folders that are missing will be made.
        option: What named it.

    Raises:
        ConfigError: If it is a folder, in something that is none, or of no known format.
    """
    if path.is_dir():
        raise ConfigError(
            f"{option} expects a file, as {path / 'picture.png'}. Got {str(path)!r}, a folder."
        )
    if path.suffix.lower().removeprefix(".") not in _FORMATS:
        raise ConfigError(
            f"{option} expects a file whose name ends in .png, .pdf, .svg, .jpg or .webp. "
            f"Got {str(path)!r}."
        )
    place = next(parent for parent in path.absolute().parents if parent.exists())
    if not place.is_dir():
        raise ConfigError(f"{option} expects a file in a folder. Got {path}, and {place} is none.")
