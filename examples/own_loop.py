"""Your own loop: three added lines record a training, and a picture shows what is kept.

    python examples/own_loop.py [EPOCHS]

Learn where to add the lines. The map in `own_loop.png` has a dot per sample: how sure the model was
of its label, against how much that varied. Easy samples are at the top left, those that the model
never learned at the bottom left. Another share or method needs no new training.
"""

import sys
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dualprune
from dualprune import Indexed, Recorder, Run, score
from dualprune.report.figures import draw_moons

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
torch.manual_seed(0)
pixels, digits = load_digits(return_X_y=True)
train = TensorDataset(torch.tensor(pixels / 16).float(), torch.tensor(digits))
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

loader = DataLoader(Indexed(train), batch_size=32, shuffle=True)  # 1: batches end with the ids
# 2: start_epoch=1 begins again if there is a run from before
with Recorder("own_loop", samples=len(train), classes=10, start_epoch=1) as recorder:
    for _ in range(epochs):
        for x, y, ids in loader:
            logits = model(x)
            optimizer.zero_grad()
            cross_entropy(logits, y).backward()
            optimizer.step()
            recorder.update(logits, y, ids)  # 3
        recorder.end_epoch()

coreset = dualprune.choose("own_loop", "dual+beta", keep=0.3)
small = coreset.apply(train)  # a torch dataset again
print(f"{len(small)} of {len(train)} samples kept")

p = Run("own_loop")["target_prob"]
panels = {"DUAL score": score.dual(p), "30 % kept (red)": coreset.mask}
draw_moons(Path("own_loop.png"), score.variability(p), score.confidence(p), panels)
