"""Time inside the callbacks for Lightning and Transformers, against training a small transformer.

The same training with and without recording runs in turn; of each the best round counts, by the
clock and by CPU time, which other programs on the machine disturb less. One thread, because several
of them count the time in which they wait for each other.
"""

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from lightning.pytorch import LightningModule
from lightning.pytorch import Trainer as Lightning
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from dualprune.integrations.lightning import RecordDynamics
from dualprune.integrations.transformers import watch, with_ids
from dualprune.integrations.transformers.watching import RecordTrainer
from dualprune.record import Indexed

TEXTS, LENGTH, WORDS, CLASSES, BATCH, EPOCHS, ROUNDS = 640, 32, 1_000, 10, 32, 2, 4
SIZES = {"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 4}
HOOKS = {
    RecordDynamics: ("on_train_batch_start", "on_train_batch_end", "on_train_epoch_end", "_look"),
    RecordTrainer: ("on_train_begin", "on_step_end", "on_epoch_end", "_take", "_look"),
}


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


def with_lightning(words: Tensor, labels: Tensor, path: str | None = None) -> Callable[[], None]:
    data: Any = TensorDataset(words, labels)
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False}
    trainer = Lightning(
        accelerator="cpu",
        max_epochs=EPOCHS,
        callbacks=[RecordDynamics(path, strict=True)] if path else [],
        enable_checkpointing=False,
        **quiet,
    )
    loader = DataLoader(Indexed(data) if path else data, BATCH, shuffle=True)
    return partial(trainer.fit, Transformer(), loader)


def with_transformers(
    words: Tensor, labels: Tensor, path: str | None = None, eval_steps: int | None = None
) -> Callable[[], Any]:
    data = Dataset.from_dict({"input_ids": words.numpy(), "labels": labels.numpy()})
    config = BertConfig(vocab_size=WORDS, intermediate_size=512, num_labels=CLASSES, **SIZES)
    quiet = {"report_to": "none", "disable_tqdm": True, "logging_strategy": "no"}
    args = TrainingArguments(
        tempfile.gettempdir(),
        use_cpu=True,
        save_strategy="no",
        num_train_epochs=EPOCHS,
        per_device_train_batch_size=BATCH,
        dataloader_pin_memory=False,
        **quiet,
    )
    trainer = Trainer(BertForSequenceClassification(config), args, train_dataset=with_ids(data))
    if path:
        watch(trainer, path, eval_steps=eval_steps, strict=True)
    return trainer.train


@contextmanager
def inside(kind: type, names: tuple[str, ...]) -> Iterator[list[float]]:
    """Collect the CPU seconds of each call of these methods."""
    methods, seconds = {name: getattr(kind, name) for name in names}, []

    def timed(method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = time.process_time()
        result = method(*args, **kwargs)
        seconds.append(time.process_time() - start)
        return result

    for name, method in methods.items():
        setattr(kind, name, lambda *a, method=method, **k: timed(method, *a, **k))
    yield seconds
    for name, method in methods.items():
        setattr(kind, name, method)


def measured(train: Callable[[], Any]) -> np.ndarray:
    """Seconds by the clock and of the CPU."""
    start = np.array([time.perf_counter(), time.process_time()])
    train()
    return np.array([time.perf_counter(), time.process_time()]) - start


def rows() -> Iterator[tuple[str, str, str]]:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    words, labels = torch.randint(WORDS, (TEXTS, LENGTH)), torch.randint(CLASSES, (TEXTS,))
    yield from _callbacks(words, labels)
    yield _passes(words, labels)


def _callbacks(words: Tensor, labels: Tensor) -> Iterator[tuple[str, str, str]]:
    for make, kind in ((with_lightning, RecordDynamics), (with_transformers, RecordTrainer)):
        plain, recorded, shares = [], [], []
        with tempfile.TemporaryDirectory() as folder:
            measured(make(words, labels))
            for number in range(ROUNDS):
                plain.append(measured(make(words, labels)))
                with inside(kind, HOOKS[kind]) as seconds:
                    recorded.append(measured(make(words, labels, f"{folder}/{number}")))
                shares.append(sum(seconds) / (recorded[-1][1] - sum(seconds)))
        wall, cpu = np.min(recorded, 0) / np.min(plain, 0)
        yield f"{make.__name__}: CPU time in the recorder", f"{min(shares):.2%}", "at most 1%"
        yield "  with / without, CPU time", f"{cpu:.3f}", "about 1"
        yield "  with / without, clock", f"{wall:.3f}", "about 1"


def _passes(words: Tensor, labels: Tensor) -> tuple[str, str, str]:
    """A pass after each epoch, against the epoch."""
    shares = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(2):
            train = with_transformers(words, labels, f"{folder}/{number}", TEXTS // BATCH)
            with inside(RecordTrainer, ("_evaluate",)) as seconds:
                _, cpu = measured(train)
            shares.append(sum(seconds) / (cpu - sum(seconds)))
    return "a pass of eval_steps / epoch, CPU time", f"{min(shares):.2f}", "below 1"
