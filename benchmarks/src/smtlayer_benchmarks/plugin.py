"""The command that the benchmarks add to `smtlayer`."""

from smtlayer_cli.plugins import Command, Panel, Plugin

plugin = Plugin(
    commands=(
        Command(
            "bench", Panel.MEASURE, "Time the layer against z3, and training with and without it.",
            "smtlayer_benchmarks.command:bench",
        ),
    ),
)  # fmt: skip
