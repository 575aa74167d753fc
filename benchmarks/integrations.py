"""Time inside the callback of Lightning, against an epoch of training a small transformer."""

import tempfile
import time
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.timing import interleaved
from dualprune.integrations.lightning import RecordDynamics
from dualprune.record import Indexed

TEXTS, LENGTH, WORDS, CLASSES, BATCH, EPOCHS = 640, 32, 1_000, 10, 32, 3


class Transformer(LightningModule):
    """Four layers over texts of 32 words."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
        self.words, self.head = nn.Embedding(WORDS, 128), nn.Linear(128, CLASSES)
        self.layers = nn.TransformerEncoder(layer, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Give the logits of each text."""
        return self.head(self.layers(self.words(x)).mean(1))

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:  # noqa: ARG002
        """Give the loss of a batch."""
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Give the optimizer."""
        return torch.optim.AdamW(self.parameters(), 1e-3)


class Timed(RecordDynamics):
    """Adds up the seconds inside its hooks; `shares` has one entry per epoch."""

    def __init__(self, path: str) -> None:
        super().__init__(path, strict=True)
        self.inside, self.shares, self.begin = 0.0, [], 0.0

    def on_train_epoch_start(self, *_: Any) -> None:
        """Begin to count."""
        self.inside, self.begin = 0.0, time.perf_counter()

    def on_train_batch_start(self, *arguments: Any) -> None:
        """Count."""
        start = time.perf_counter()
        super().on_train_batch_start(*arguments)
        self.inside += time.perf_counter() - start

    def on_train_batch_end(self, *arguments: Any) -> None:
        """Count."""
        start = time.perf_counter()
        super().on_train_batch_end(*arguments)
        self.inside += time.perf_counter() - start

    def on_train_epoch_end(self, *arguments: Any) -> None:
        """Compare with the rest of the epoch."""
        super().on_train_epoch_end(*arguments)
        rest = time.perf_counter() - self.begin - self.inside
        self.shares.append(self.inside / rest)


def _fit(data: Any, *callbacks: RecordDynamics) -> None:
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    trainer = Trainer(
        accelerator="cpu",
        max_epochs=EPOCHS,
        callbacks=list(callbacks),
        enable_checkpointing=False,
        **quiet,
    )
    trainer.fit(Transformer(), DataLoader(data, BATCH, shuffle=True))


def rows() -> Iterator[tuple[str, str, str]]:
    warnings.simplefilter("ignore")
    data = TensorDataset(torch.randint(WORDS, (TEXTS, LENGTH)), torch.randint(CLASSES, (TEXTS,)))
    with tempfile.TemporaryDirectory() as folder:
        timed = [Timed(f"{folder}/run") for _ in range(4)]
        left = iter(timed)
        fits = {"without": lambda: _fit(data), "with": lambda: _fit(Indexed(data), next(left))}
        best = interleaved(fits, rounds=3)
    share = min(share for one in timed for share in one.shares[1:])
    yield "inside RecordDynamics / epoch", f"{share:.2%}", "at most 1%"
    yield "fit with it / without", f"{best['with'] / best['without']:.3f}", "about 1"
