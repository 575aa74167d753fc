"""Arguments and flags that several commands share."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dualprune.data import NAMED
from dualprune.method import FLOOR


def count_or_share(text: str) -> int | float:
    """Take a whole number for a count, and a decimal for a share.

    >>> count_or_share("1"), count_or_share("1.0")
    (1, 1.0)
    """
    return int(text) if text.isdigit() else float(text)


def number_or_auto(text: str) -> int | str:
    """Take a number, or a word, of which only `auto` is accepted later.

    >>> number_or_auto("12"), number_or_auto("auto")
    (12, 'auto')
    """
    return int(text) if text.removeprefix("-").isdecimal() else text


Data = Annotated[
    str,
    typer.Argument(
        help="A folder with one sub-folder per class; a file of rows (.csv, .tsv, .jsonl, "
        ".parquet, with --label and, for texts, --text); an .npz with x and y; or a named set: "
        f"{', '.join(NAMED)}."
    ),
]
Download = Annotated[
    bool, typer.Option("--download", help="Download a named set that is not on this machine yet.")
]
Epochs = Annotated[
    int | None, typer.Option(help="How many of the first epochs to use; default: all.")
]
Floor = Annotated[
    float | None,
    typer.Option(
        help="Minimum per class: a count (5), or a share (0.5) of what the class would keep if "
        "all classes kept the same share.",
        parser=count_or_share,
        metavar="<count|share>",
        show_default=str(FLOOR),
    ),
]
Ignore = Annotated[
    list[str] | None, typer.Option(help="A column of a table to leave out; can be repeated.")
]
Keep = Annotated[
    str | None, typer.Option(help="How much to keep: 0.3, 30% or a number of samples.")
]
Label = Annotated[str | None, typer.Option(help="In a file of rows, the column of the label.")]
Labels = Annotated[
    Path | None,
    typer.Option(help="CSV of corrected labels, such as `dualprune audit --review` writes."),
]
Materialize = Annotated[
    Literal["link", "copy"] | None,
    typer.Option(
        help="Also write the kept samples: images as a folder of links or copies, rows as a copy."
    ),
]
Model = Annotated[
    str, typer.Option(help="Model to train, such as resnet18 (a wrong name lists all), or auto.")
]
EpochsToRecord = Annotated[
    Any,
    typer.Option(
        help="How many epochs to record; auto stops when the kept samples would hardly change.",
        parser=number_or_auto,
        metavar="<number|auto>",
        show_default="the recipe's number",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder to write; run the same command again to resume.")]
Prune = Annotated[str | None, typer.Option(help="How much to prune, instead of --keep.")]
Processes = Annotated[
    int | None, typer.Option(min=1, help="How many trainings run at a time; default: one per core.")
]
RecipeName = Annotated[
    str,
    typer.Option("--recipe", help="Training recipe; auto chooses it by the data and the machine."),
]
OfRun = Annotated[str, typer.Argument(help="Folder or URL of a run or of the output of `prune`.")]
Runs = Annotated[
    list[str],
    typer.Argument(
        help="Folder or URL of a run or of the output of `prune`; several are averaged."
    ),
]
Size = Annotated[
    int | None,
    typer.Option(
        min=1, help="Side in pixels of the images that the model sees; default: the recipe's."
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        help="In a file of rows, the column of the texts; without it, the file is a table."
    ),
]
Seed = Annotated[int, typer.Option(help="The same seed on the same machine gives the same result.")]
