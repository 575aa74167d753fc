"""Arguments and flags that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from dualprune.data import NAMED

Data = Annotated[
    str,
    typer.Argument(
        help="A folder with one sub-folder per class, an .npz with x and y, or a named set: "
        f"{', '.join(NAMED)}."
    ),
]
Download = Annotated[bool, typer.Option("--download", help="Fetch a named set that is not there.")]
Epochs = Annotated[int | None, typer.Option(help="Use the first epochs only; default: all.")]
Model = Annotated[
    str, typer.Option(help="What to train, such as resnet18 (a wrong name lists all); or auto.")
]
Out = Annotated[Path, typer.Option(help="Folder to write; run the same command again to resume.")]
Processes = Annotated[
    int | None, typer.Option(min=1, help="How many trainings at a time; default all cores.")
]
RecipeName = Annotated[
    str, typer.Option("--recipe", help="How to train; auto chooses by the data and the machine.")
]
Runs = Annotated[list[Path], typer.Argument(help="Folder of a run; of several, the mean is taken.")]
Seed = Annotated[int, typer.Option(help="The same seed on the same machine gives the same result.")]
