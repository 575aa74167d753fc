"""The loop over images in memory, against a DataLoader; and what pruning saves in total."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

from benchmarks.timing import interleaved
from dualprune.data import Images, load
from dualprune.record import Recorder
from dualprune.train import Setup, loop, recipes
from dualprune.train.epoch import Plan, train_epoch

IMAGES = 20_000
KEEPS = (0.7, 0.5, 0.3, 0.2, 0.1)


class _PerImage(Dataset):
    """Random crop after padding, random mirroring, normalisation: one image at a time."""

    def __init__(self, images: Images) -> None:
        self.pixels, self.labels = images.pixels, images.labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        image = ImageOps.expand(Image.fromarray(self.pixels[index]), 4)
        left, top = torch.randint(0, 9, (2,)).tolist()
        image = image.crop((left, top, left + 32, top + 32))
        if torch.rand(1) < 0.5:
            image = ImageOps.mirror(image)
        tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1).float()
        return (tensor - 120) / 64, int(self.labels[index])


def _with_loader(setup: Setup) -> Callable[[], None]:
    model = setup.fresh_model(0).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    loader = DataLoader(_PerImage(setup.data), batch_size=128, shuffle=True, num_workers=2)

    def epoch() -> None:
        for images, labels in loader:
            loss = cross_entropy(model(images.to(memory_format=torch.channels_last)), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return epoch


def _epoch(setup: Setup, kept: float, recorder: Recorder | None = None) -> Callable[[], None]:
    """Train one epoch on a share of the images, with the batch size of the paper for it."""
    model = setup.fresh_model(0).to(memory_format=torch.channels_last)
    optimizer = loop._optimizer(model, setup.recipe)
    samples, recipe = len(setup.data), setup.recipe
    ids, batch = np.arange(round(kept * samples)), recipe.batch_for(1 - kept)
    plan = Plan(recipe, ids, batch, recipe.epochs, recipe.epochs, seed=0)

    def epoch() -> None:
        train_epoch(model, setup.batches, plan, optimizer, 1, recorder)
        if recorder is not None:
            recorder.end_epoch()

    return epoch


def rows() -> Iterator[tuple[str, str, str]]:
    images = load("cifar10", download=True)[0].take(np.arange(IMAGES))
    recipe = recipes()["cifar10"]
    setup = Setup.of(images, None, recipe=recipe, model="cnn-small")
    both = {"loader": _with_loader(setup), "memory": _epoch(setup, 1.0)}
    best = interleaved(both, 3)
    yield (
        "DataLoader, 2 workers / in memory",
        f"{best['loader'] / best['memory']:.2f}x",
        "at least 1.3x",
    )
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder, "run"), samples=IMAGES, classes=10)
        trainings = {str(keep): _epoch(setup, keep) for keep in (1.0, *KEEPS)}
        best = interleaved({"recording": _epoch(setup, 1.0, recorder), **trainings}, 3)
    full = recipe.epochs * best["1.0"]
    for keep in KEEPS:
        total = recipe.record * best["recording"] + recipe.epochs * best[str(keep)]
        what = f"record + train on {keep:.0%} / full training"
        yield what, f"{total / full:.0%}", f"reported ({recipe.record} + {recipe.epochs} epochs)"
