"""Import of matplotlib, and validation of the names of picture files."""

from pathlib import Path
from typing import Any

from smtlayer.errors import ConfigError, MissingPackageError
from smtlayer_cli.plugins import install_command

_FORMATS = ("png", "pdf", "svg", "jpg", "jpeg", "webp", "tif", "tiff", "eps", "ps")


def pyplot() -> Any:
    """`matplotlib.pyplot`, with the backend that draws to files."""
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
    """Raises if a picture cannot be written to a path; call it before the work to be drawn.

    Args:
        path: The file to write. Missing folders will be made.
        option: The option that holds the path, for error messages.

    Raises:
        ConfigError: If the path is a folder, is not in a folder, or has an unknown format.
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
        raise ConfigError(f"{option} expects a file in a folder. Got {path}; {place} is a file.")
