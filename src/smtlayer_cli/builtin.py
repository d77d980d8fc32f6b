"""The plugin of the library itself: the commands that need no other distribution."""

from smtlayer_cli.plugins import Command, Panel, Plugin

plugin = Plugin(
    commands=(
        Command(
            "doctor", Panel.START, "Show what works here, what is missing, and how to fix it.",
            "smtlayer_cli.doctor:doctor",
        ),
        Command(
            "lab", Panel.MEASURE, "Find out which blame rule trains a theory, without a network.",
            "smtlayer_cli.lab:lab",
        ),
        Command(
            "cache", Panel.KEEP, "Show the compiled theories kept on disk, or delete them.",
            "smtlayer_cli.cache:cache",
        ),
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
