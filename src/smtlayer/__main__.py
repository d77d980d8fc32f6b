"""Entry point of `python -m smtlayer`."""

from smtlayer_cli.__main__ import main

if __name__ == "__main__":
    main()
