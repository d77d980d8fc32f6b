"""This file lists commands by name, and loads the module of one when that one is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperCommand

from smtlayer_cli.help import CommandPage, GroupPage, Section, in_line, param_sections, print_page


class Listed(NamedTuple):
    """A line of the list: its module has a function NAME or an app NAME_app."""

    name: str
    panel: str
    line: str
    module: str


class ListedGroup(GroupPage):
    """A group of commands that are loaded one by one: torch is for those that need it."""

    listed: ClassVar[Sequence[Listed]] = ()
    sections: ClassVar[Sequence[Section]] = ()  # of the page, after commands and options

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.commands = _Commands(self.listed, self.commands)  # type: ignore[assignment]
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Names, in the order of the list."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; only its name and line where nothing else is looked at."""
        lines = {one.name: one.line for one in self.listed}
        if self._listing and cmd_name in lines:
            return TyperCommand(cmd_name, help=lines[cmd_name])
        return super().get_command(ctx, cmd_name)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Commands and options that begin so."""
        self._listing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Prints the page: commands by panel, options, and whatever else it has."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for one in self.listed:
            panels.setdefault(one.panel, []).append((one.name, one.line))
        sections = [*in_line(list(panels.items())), *param_sections(self, ctx), *self.sections]
        print_page(self.get_usage(ctx), self.help or "", sections)


class _Commands(Mapping[str, Any]):
    """Commands by name, each built when it is asked for."""

    def __init__(self, listed: Sequence[Listed], built: Mapping[str, Any]) -> None:
        self._modules = {one.name: one.module for one in listed}
        self._names = dict.fromkeys([*self._modules, *built])
        self._built = dict(built)

    def __getitem__(self, name: str) -> Any:
        if name not in self._built and name in self._modules:
            self._built[name] = _build(name, self._modules[name])
        return self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _build(name: str, path: str) -> Any:
    module = vars(import_module(path))
    app = module.get(f"{name}_app")
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name, cls=CommandPage)(module[name])
    command = typer.main.get_command(app)
    command.name = name
    return command
