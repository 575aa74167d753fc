"""A small valid instance of every kind of file that the library writes, and what reads it."""

from dataclasses import replace

import numpy as np
import torch
from tests.photos import striped
from tests.recording import CLASSES, COUNTS, columns_of, seen_ids
from tests.run_by_hand import start
from torch import nn
from torch.optim import SGD

from dualprune import Coreset, Run, choose
from dualprune.coreset import coreset
from dualprune.dynamic import RandomEveryEpoch
from dualprune.experiments import results, work
from dualprune.run.writer import write_part
from dualprune.score.scored import Scored
from dualprune.train import Result, Setup, recipes, train
from dualprune.train.checkpoint import restore

SAMPLES = 33  # one bit of this number makes it 1, and an array of one value fits everywhere
SIGNALS = ("loss", "margin", "rival")


def write_run(root):
    """Two attempts: the second one went back to epoch 3; features after epochs 1 and 3."""
    facts = {"names": [f"name {n}" for n in range(SAMPLES)], "class_names": [*"abcde"]}
    features = np.random.default_rng(0).normal(size=(SAMPLES, 3))
    for first in (1, 3):
        attempt = start(root, SAMPLES, CLASSES, SIGNALS, start_epoch=first, **facts)
        for epoch in range(first, 4):
            rows = columns_of(np.sort(seen_ids(epoch, SAMPLES)), epoch, first)
            rows["loss"] = np.logaddexp(0, -rows["margin"])
            write_part(attempt, epoch, 0, rows, COUNTS, features * first if epoch % 2 else None)


def linear():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 2))


def write_all(home):
    write_run(home / "run")
    run, scores = Run(home / "run"), np.linspace(0, 1, SAMPLES)
    Scored(scores, "dual", {"window": 10}, 3, [run.fingerprint]).save(home / "scores/dual.parquet")
    chosen = choose(run, "random", keep=11)
    chosen.save(home / "coreset")
    usual, coreset.PART = coreset.PART, 16
    chosen.save(home / "parts")
    coreset.PART = usual
    recipe = replace(recipes()["digits"], epochs=2, batch=8)
    setup = Setup.of(striped(20, 2), None, recipe=recipe, model=linear())
    train(setup, home / "trained", dynamic=lambda n, _: RandomEveryEpoch(n, keep=0.5, seed=0))
    for seed in (0, 1, 2):
        values = {"accuracy": 0.5 + seed / 8, "kept": 11, "uses": [1.0, 2.0]}
        line = results.Line("torture", "smoke", "row", 0.5, seed, values, "same", 2, "numpy")
        results.append(home / "results.jsonl", line)


def as_bytes(arrays):
    return [
        (name, a.dtype, a.shape, a.tolist() if a.dtype == object else a.tobytes())
        for name, a in arrays.items()
    ]


def read_run(home):
    run = Run(home / "run")
    arrays = {name: run[name] for name in (*SIGNALS, "labels", "features")} | run.names
    return as_bytes(arrays | {"first": run.features(1)}), run.description, run.fingerprint


def read_scores(home):
    scored = Scored.load(home / "scores/dual.parquet")
    return as_bytes({"score": scored.values}), scored.card


def read_coreset(home, name="coreset"):
    saved = Coreset.load(home / name)
    return as_bytes({"ids": saved.ids, **saved.columns}), saved.card


def read_parts(home):
    return read_coreset(home, "parts")


def read_results(home):
    return {line.key: line for line in results.read(home / "results.jsonl")}


def read_result(home):
    folder = home / "trained"
    return work._values(Result.load(folder), None, None, home) | work._uses(folder)


def read_checkpoint(home):
    model = linear()
    state, arrays = restore(home / "trained/checkpoint", model, SGD(model.parameters(), 0.1), {})
    tensors = {name: value.numpy() for name, value in model.state_dict().items()}
    return state, as_bytes(arrays | tensors)


FILES = {
    "run.json": ("run/run.json", read_run),
    "names.parquet": ("run/names.parquet", read_run),
    "start.json": ("run/attempts/0001/start.json", read_run),
    "second start.json": ("run/attempts/0002/start.json", read_run),
    "part": ("run/attempts/0001/000001/part-*.parquet", read_run),
    "part with gaps": ("run/attempts/0001/000002/part-*.parquet", read_run),
    "part of a second attempt": ("run/attempts/0002/000003/part-*.parquet", read_run),
    "features.parquet": ("run/attempts/0002/000003/features.parquet", read_run),
    "scores": ("scores/dual.parquet", read_scores),
    "card.json": ("coreset/card.json", read_coreset),
    "coreset.parquet": ("coreset/coreset.parquet", read_coreset),
    "card.json of parts": ("parts/card.json", read_parts),
    "part of a coreset": ("parts/coreset.parquet/*16.parquet", read_parts),
    "results.jsonl": ("results.jsonl", read_results),
    "result.json": ("trained/result.json", read_result),
    "uses.parquet": ("trained/uses.parquet", read_result),
    "state.json": ("trained/checkpoint/state.json", read_checkpoint),
    "tensors": ("trained/checkpoint/*.safetensors", read_checkpoint),
}


def find(home, kind):
    """Give the file of a kind, and what reads it."""
    pattern, reader = FILES[kind]
    (path,) = home.glob(pattern)
    return path, reader
