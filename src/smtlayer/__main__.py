"""This file is the entry point of the command line: `smtlayer`, or `python -m smtlayer`."""

import sys

from smtlayer.errors import install_command

_EXTRA = ("typer", "rich")
_MISSING = 3  # as in smtlayer.cli.errors, which may not be there to ask


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    try:
        import rich  # noqa: F401

        from smtlayer.cli import run
    except ImportError as error:
        if error.name not in _EXTRA:
            raise
        print(
            f"smtlayer: The command line needs the {error.name} package. "
            f"Install it with: {install_command('tasks')}",
            file=sys.stderr,
        )
        sys.exit(_MISSING)
    sys.exit(run())


if __name__ == "__main__":
    main()
