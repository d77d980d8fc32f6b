"""Text that is given as it is, or as the path of a file that holds it."""

from collections.abc import Callable
from pathlib import Path

from smtlayer.errors import ArgumentTypeError, TheoryError
from smtlayer.theory.values import shortened


def load(
    who: str, form: str, given: object, is_text: Callable[[str], bool], *, errors: str = "strict"
) -> str:
    """The text in `form`; what is not such text by `is_text` is a path.

    Args:
        who: The function that raises errors.
        form: The name of the format.
        given: The text or path.
        is_text: Whether a string is text in this format, rather than a path.
        errors: How bytes that are not UTF-8 are treated, as in `open`.
    """
    if not isinstance(given, str | Path):
        raise ArgumentTypeError(f"{who} expects {form} text or a path. Got {type(given).__name__}.")
    if isinstance(given, str) and is_text(text := given.removeprefix("\ufeff")):
        return text  # without a byte order mark
    if not str(given).strip():
        raise TheoryError(f"{who}: the text is empty. Give {form} text or a path.")
    path = Path(given)
    try:
        return path.read_text(encoding="utf-8-sig", errors=errors)
    except IsADirectoryError as error:
        raise TheoryError(f"{who}: {str(path)!r} is a folder, not a file.") from error
    except UnicodeDecodeError as error:
        raise TheoryError(
            f"{who}: the file {str(path)!r} is not UTF-8 text. Save it as UTF-8."
        ) from error
    except (OSError, ValueError) as error:
        shown = shortened(str(given), 200)
        raise TheoryError(
            f"{who}: there is no file {shown!r}, and it is not {form} text either."
        ) from error
