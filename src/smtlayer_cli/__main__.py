"""Entry point of the command `smtlayer`."""

import sys

from smtlayer_cli.plugins import install_command

_EXTRA = ("typer", "rich")
_MISSING = 3  # ExitCode.MISSING, whose module imports typer


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    try:
        import rich  # noqa: F401

        from smtlayer_cli.app import run
    except ImportError as error:
        if error.name not in _EXTRA:
            raise
        print(
            f"smtlayer: The command line needs the {error.name} package. "
            f"Install it with: {install_command('cli')}",
            file=sys.stderr,
        )
        sys.exit(_MISSING)
    sys.exit(run())


if __name__ == "__main__":
    main()
