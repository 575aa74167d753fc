"""Use what an extra is for, in a fresh environment that has this extra alone; `-I smoke.py ray`.

Imports are inside the functions: each environment lacks what the others have.
"""
# ruff: noqa: PLC0415

import os
import sys
from contextlib import chdir
from pathlib import Path

import numpy as np

import dualprune

SAMPLES, CLASSES, EPOCHS = 400, 4, 12
LABELS = np.arange(SAMPLES) % CLASSES


def recorded(path="run"):
    """Write a run of losses that fall, each sample at its own pace."""
    draw = np.random.default_rng(0)
    pace = draw.gamma(2, 0.2, SAMPLES)
    losses = np.exp(-pace * np.arange(EPOCHS)[:, None]) + 0.1 * draw.random((EPOCHS, SAMPLES))
    return dualprune.Run.from_arrays(path, loss=losses, labels=LABELS, classes=CLASSES)


def core():
    """Losses from anywhere to kept ids, and the part of an array that they are."""
    coreset = dualprune.choose(recorded(), "dual+beta", keep=0.3)
    coreset.save("small")
    kept = dualprune.Coreset.load("small").apply(np.arange(SAMPLES))
    assert kept.tolist() == coreset.ids.tolist()
    assert len(kept) == 0.3 * SAMPLES
    assert "torch" not in sys.modules
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        _says_what_to_install("torch", "Recorder", "Indexed", "prune", "compare")


def _says_what_to_install(extra, *names):
    for name in names:
        said = ""
        try:
            getattr(dualprune, name)
        except dualprune.MissingError as error:
            said = str(error)
        assert f"pip install 'dualprune[{extra}]'" in said, name


def torch():
    """The three lines in a training loop."""
    from torch import nn, optim, tensor
    from torch.utils.data import DataLoader, TensorDataset

    inputs = np.random.default_rng(0).normal(LABELS[:, None], 1, (SAMPLES, 8))
    data = TensorDataset(tensor(inputs).float(), tensor(LABELS))
    model = nn.Linear(8, CLASSES)
    descent = optim.SGD(model.parameters(), lr=0.1)
    with dualprune.Recorder("run", samples=SAMPLES, classes=CLASSES) as recorder:
        for _ in range(EPOCHS):
            for x, y, ids in DataLoader(dualprune.Indexed(data), batch_size=50, shuffle=True):
                logits = model(x)
                descent.zero_grad()
                nn.functional.cross_entropy(logits, y).backward()
                descent.step()
                recorder.update(logits, y, ids)
            recorder.end_epoch()
    _chosen("run")


def _chosen(path):
    assert dualprune.Run(path).samples == SAMPLES
    assert len(dualprune.choose(path, "dual+beta", keep=0.3).ids) == 0.3 * SAMPLES


def sklearn():
    """A step that keeps rows of a table."""
    from sklearn.datasets import load_iris

    from dualprune.integrations.sklearn import CoresetSampler

    rows, labels = load_iris(return_X_y=True)
    small, kept = CoresetSampler(keep=0.5, random_state=0).fit_resample(rows, labels)
    assert (len(small), len(kept)) == (75, 75)


def lightning():
    """A callback beside an unmodified module."""
    import torch
    from lightning.pytorch import LightningModule, Trainer
    from torch.utils.data import DataLoader, TensorDataset

    from dualprune.integrations.lightning import RecordDynamics

    class Module(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(8, CLASSES)

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch):
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = TensorDataset(torch.randn(SAMPLES, 8), torch.tensor(LABELS))
    trainer = Trainer(
        max_epochs=EPOCHS,
        callbacks=[RecordDynamics("run")],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    trainer.fit(Module(), DataLoader(dualprune.Indexed(data), batch_size=50, shuffle=True))
    _chosen("run")


def hf():
    """A `Trainer` of Transformers and a model made of a configuration."""
    from datasets import Dataset
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

    from dualprune.integrations.transformers import watch, with_ids

    sizes = {"vocab_size": 50, "hidden_size": 16, "intermediate_size": 32}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "num_labels": CLASSES}
    model = BertForSequenceClassification(BertConfig(**sizes, **layers))
    tokens = np.random.default_rng(0).integers(50, size=(SAMPLES, 6))
    train = Dataset.from_dict({"input_ids": tokens.tolist(), "label": LABELS.tolist()})
    quiet = {"report_to": "none", "disable_tqdm": True, "save_strategy": "no"}
    settings = TrainingArguments(
        "trained", num_train_epochs=EPOCHS, per_device_train_batch_size=50, use_cpu=True, **quiet
    )
    trainer = Trainer(model, settings, train_dataset=with_ids(train))
    watch(trainer, "run")
    trainer.train()
    _chosen("run")
    assert len(dualprune.choose("run", keep=0.3).apply(train)) == 0.3 * SAMPLES


def ray():
    """The same ids from a cluster as from this process."""
    from dualprune.integrations.ray import ray_map

    run = recorded()
    here = dualprune.choose(run, "dual+beta", keep=0.3)
    there = dualprune.choose(run, "dual+beta", keep=0.3, map=ray_map("local"))
    assert here.ids.tolist() == there.ids.tolist()


def s3():
    """A run on a store; a server that is not there is told of in words, without credentials."""
    here = dualprune.choose(recorded(), "dual+beta", keep=0.3)
    dualprune.push("run", "memory://bucket/run")
    there = dualprune.choose("memory://bucket/run", "dual+beta", keep=0.3)
    assert here.ids.tolist() == there.ids.tolist()
    nobody = {"FSSPEC_S3_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1"}
    os.environ |= nobody | {"AWS_ACCESS_KEY_ID": "one", "AWS_SECRET_ACCESS_KEY": "hidden"}
    try:
        dualprune.Run("s3://bucket/run")
    except dualprune.StoreError as error:
        said = str(error)
    assert "s3://bucket/run" in said
    assert "hidden" not in said


def fast():
    """Large arrays are scored by numba, with the same bits as numpy."""
    from dualprune.score import dual, windows

    large = np.random.default_rng(0).random((20, 60_000))
    compiled = dual(large)
    assert "numba" in sys.modules
    windows.JIT_FROM = large.size + 1
    assert np.array_equal(compiled, dual(large))


def report():
    """The page, offline."""
    from dualprune.report.facts import gather
    from dualprune.report.page import write_report

    run = recorded()
    path = write_report(Path("page.html"), gather(run, dualprune.choose(run, keep=0.3)))
    assert "<html" in path.read_text()


def plot():
    """A figure, as PNG."""
    from dualprune.report.figures import draw_moons

    p = recorded()["target_prob"]
    scores = {"DUAL": dualprune.score.dual(p)}
    draw_moons(Path("moon.png"), p.std(0), p.mean(0), scores)
    assert Path("moon.png").read_bytes().startswith(b"\x89PNG")


def knn():
    """Faiss finds the neighbours that D2 needs, the same as numpy."""
    from dualprune.select import neighbours

    features = np.random.default_rng(0).normal(size=(2000, 256)).astype(np.float32)
    by_faiss = neighbours.nearest(features, 5)
    assert "faiss" in sys.modules
    neighbours._index = lambda _: None
    assert all(map(np.array_equal, by_faiss, neighbours.nearest(features, 5)))


USES = {
    use.__name__: use
    for use in (core, torch, sklearn, lightning, hf, ray, s3, fast, report, plot, knn)
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).mkdir()
        with chdir(name):
            USES[name]()
