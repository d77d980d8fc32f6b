"""This file is the entry point of the command line: `smtlayer`, or `python -m smtlayer`."""

import sys


def main() -> None:
    """Runs the command line; errors of the library are one line."""
    try:
        from smtlayer.cli import run
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(
            f"The command line needs the {error.name} package. "
            f"Install it with: pip install smtlayer[tasks]"
        )
    run()


if __name__ == "__main__":
    main()
