"""Plain help with panels, and commands that are imported when they are called.

Typer's rich help draws boxes. They take twice the time (0.20 s of CPU against 0.11 s for
`smtlayer --help`), label every flag `<bool>`, and break choices in the middle of a word in 80
columns. So these classes use Typer's plain help, and only add the panels.
"""

from pkgutil import resolve_name
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from smtlayer_cli.errors import ExitCode
from smtlayer_cli.plugins import EXTRA_OF, Command, Panel, install_command, plugins

_MORE = (
    ("smtlayer COMMAND --help", "All options of a command."),
    ("docs/ in the source", "Start with docs/how-to/command-line.md."),
)


class PanelCommand(TyperCommand):
    """A command whose help lists its options by panel."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes arguments and options."""
        _write_params(self, ctx, formatter)


class ImportedCommand(TyperCommand):
    """The name and the help of a command, which is imported when it is called."""

    def __init__(self, command: Command) -> None:
        super().__init__(command.name, help=command.help, rich_markup_mode=None)
        self._target = command.target

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """The context of the command itself."""
        return self.imported().make_context(info_name, args, *more, **extra)

    def imported(self) -> Any:
        """The command itself."""
        target = resolve_name(self._target)
        if isinstance(target, typer.Typer):
            app = target
        else:
            app = typer.Typer(add_completion=False, rich_markup_mode=None)
            app.command(self.name, cls=PanelCommand)(target)
        command = typer.main.get_command(app)
        command.name = self.name
        return command


class PluginGroup(TyperGroup):
    """The commands of all plugins. Its help also has examples, environment and exit codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        listed = [command for plugin in plugins() for command in plugin.commands]
        self._panels = {panel: [one for one in listed if one.panel is panel] for panel in Panel}
        for command in (one for panel in self._panels.values() for one in panel):
            self.commands[command.name] = ImportedCommand(command)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, or an error with the command that installs it."""
        name = args[0]
        if name in EXTRA_OF and name not in self.commands:
            from smtlayer.errors import MissingPackageError

            raise MissingPackageError(
                f"{name} is not part of this installation. "
                f"Install it with: {install_command(EXTRA_OF[name])}"
            )
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the commands by panel, then the options."""
        width = max(map(len, self.commands), default=0)
        for panel, listed in self._panels.items():
            _write_section(formatter, panel, [(f"{c.name:{width}}", c.help) for c in listed])
        _write_params(self, ctx, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Writes examples, environment variables and exit codes."""
        examples = [example for plugin in plugins() for example in plugin.examples]
        _write_section(formatter, "Examples", examples, left=4)
        variables = sorted(variable for plugin in plugins() for variable in plugin.environment)
        _write_section(formatter, "Environment", variables)
        codes = [(str(int(code)), code.meaning) for code in ExitCode]
        _write_section(formatter, "Exit codes", codes)
        _write_section(formatter, "More", _MORE)


def _write_params(command: Any, ctx: Any, formatter: Any) -> None:
    panels: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is not None and param.param_type_name == "argument":
            panels["Arguments"].append((param.metavar or record[0], record[1]))
        elif record is not None:
            panel = getattr(param, "rich_help_panel", None) or "Options"
            panels.setdefault(panel, []).append(record)
    for title, records in panels.items():
        _write_section(formatter, title, records)


def _write_section(formatter: Any, title: str, lines: Any, left: int = 30) -> None:
    if lines:
        with formatter.section(typer.style(title, bold=True)):
            # Old versions of Typer escape brackets, for rich.
            lines = [(name, text.replace("\\[", "[")) for name, text in lines]
            formatter.write_dl(lines, col_max=left)
