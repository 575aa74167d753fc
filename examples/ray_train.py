"""Ray Train: the same Recorder in the loop of every worker.

    python examples/ray_train.py [EPOCHS]

Learn that several workers need no extra code: each records the samples that it saw, and together
they write one run. On several machines its folder must be on a file system that they share
(docs/scale.md). `ray_train.png` shows what is kept.
"""

import sys
from pathlib import Path
from typing import Any

import ray
import torch
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dualprune
from dualprune import Indexed, Recorder, Run, score
from dualprune.report.figures import draw_moons


def train(config: dict[str, Any]) -> None:
    """Train in one of the workers."""
    pixels, digits = load_digits(return_X_y=True)
    data = TensorDataset(torch.tensor(pixels / 16).float(), torch.tensor(digits))
    loader = prepare_data_loader(DataLoader(Indexed(data), batch_size=32, shuffle=True))
    model = prepare_model(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recorder(config["run"], samples=len(data), classes=10, start_epoch=1) as recorder:
        for epoch in range(config["epochs"]):
            loader.sampler.set_epoch(epoch)
            for x, y, ids in loader:
                logits = model(x)
                optimizer.zero_grad()
                cross_entropy(logits, y).backward()
                optimizer.step()
                recorder.update(logits, y, ids)
            recorder.end_epoch()


if __name__ == "__main__":
    out = Path("ray_train").resolve()  # workers have a working folder of their own
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    config = {"run": str(out), "epochs": epochs}
    TorchTrainer(train, train_loop_config=config, scaling_config=ScalingConfig(num_workers=2)).fit()
    ray.shutdown()

    coreset, p = dualprune.choose(out, "dual+beta", keep=0.3), Run(out)["target_prob"]
    panels = {"DUAL score": score.dual(p), "30 % kept (red)": coreset.mask}
    draw_moons(Path("ray_train.png"), score.variability(p), score.confidence(p), panels)
