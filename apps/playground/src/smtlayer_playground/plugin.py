"""The command that the playground adds to `smtlayer`."""

from smtlayer_cli.plugins import Command, Panel, Plugin

plugin = Plugin(
    commands=(
        Command(
            "demo", Panel.START, "Serve a web page: draw digits, disturb Sudokus, paste theories.",
            "smtlayer_playground.command:demo",
        ),
    ),
)  # fmt: skip
