"""Options that several commands have."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from smtlayer_cli.complete import devices
from smtlayer_studies.commands.complete import runs

LAYER, FILES = "The layer", "Data and files"  # panels

DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", rich_help_panel=FILES, help="Data folder [default: $SMTLAYER_DATA]."
    ),
]
Device = Annotated[
    str, typer.Option(metavar="NAME", autocompletion=devices, help="Device, for example cuda.")
]
Backend = Annotated[
    Literal["auto", "table", "circuit", "sat", "z3", "enumerate"] | None,
    typer.Option(rich_help_panel=LAYER, help="The solver of the layer."),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=0, rich_help_panel=LAYER, help="Worker processes that share each batch."
    ),
]
RunFolders = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN", autocompletion=runs, help="Folders of runs, or folders that contain some."
    ),
]
