"""The plugin of the library itself: the commands that need no other distribution."""

from smtlayer_cli.plugins import Command, Panel, Plugin

_COMMANDS = (
    ("doctor", Panel.START, "Show what works here, what is missing, and how to fix it."),
    ("lab", Panel.MEASURE, "Find out which blame rule trains a theory, without a network."),
    ("cache", Panel.KEEP, "Show the compiled theories kept on disk, or delete them."),
)

plugin = Plugin(
    commands=tuple(
        Command(name, panel, line, f"smtlayer_cli.{name}:{name}")
        for name, panel, line in _COMMANDS
    ),
    examples=(
        (
            "smtlayer lab my_theory.smt2 --inputs a,b --outputs total",
            "See in seconds whether a network can learn from a formula, and with which rule.",
        ),
    ),
    environment=(
        ("SMTLAYER_CACHE", "Folder of compiled theories; 'off' disables it."),
        ("SMTLAYER_DEBUG", "1 is the same as --debug."),
        ("NO_COLOR", "1 disables colours."),
    ),
)  # fmt: skip
