"""Arguments and flags that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Data", "Download", "Model", "Out", "RecipeName", "Seed"]

Data = Annotated[
    str,
    typer.Argument(
        help="A folder with one sub-folder per class, an .npz with x and y, or a named set: "
        "digits, fashion-mnist, cifar10, cifar100, tiny-imagenet, imagenet."
    ),
]
Download = Annotated[bool, typer.Option("--download", help="Fetch a named set that is not there.")]
Model = Annotated[
    str,
    typer.Option(help="cnn, cnn-small, resnet8, resnet18, resnet34, resnet50, vgg16; or auto."),
]
Out = Annotated[Path, typer.Option(help="Folder to write; run again with it to go on.")]
RecipeName = Annotated[
    str, typer.Option("--recipe", help="How to train; auto chooses by the data and the machine.")
]
Seed = Annotated[int, typer.Option(help="The same seed on the same machine gives the same result.")]
