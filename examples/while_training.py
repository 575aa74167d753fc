"""Pruning while training: InfoBatch skips easy samples, epoch by epoch.

    python examples/while_training.py [EPOCHS]

Learn the two lines that it takes, and how to count what it saves. It needs no recording first, so
it pays from the first training on. `while_training.png` plots the accuracy on a test set against
the number of samples used, for InfoBatch and for the same loop with all samples.
"""

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from dualprune import Indexed
from dualprune.dynamic import InfoBatch
from dualprune.integrations.torch import PrunedSampler
from dualprune.report.figures import figure

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
pixels, digits = load_digits(return_X_y=True)
x, test_x, y, test_y = train_test_split(pixels / 16, digits, random_state=0)
train = TensorDataset(torch.tensor(x).float(), torch.tensor(y))
test_x, test_y = torch.tensor(test_x).float(), torch.tensor(test_y)


def curve(prune: float) -> tuple[list[int], list[float]]:
    """Train; give the samples used until the end of each epoch, and the accuracy there."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    method = InfoBatch(len(train), epochs=epochs, prune=prune, seed=0)
    sampler = PrunedSampler(train, method)  # instead of shuffle=True
    loader = DataLoader(Indexed(train), batch_size=32, sampler=sampler)
    used, accuracies = [0], []
    for _ in range(epochs):
        used.append(used[-1])
        for x, y, ids in loader:
            loss = sampler.weigh(cross_entropy(model(x), y, reduction="none"), ids)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            used[-1] += len(ids)
        accuracies.append((model(test_x).argmax(1) == test_y).float().mean().item())
    return used[1:], accuracies


axes = (canvas := figure(6, 4)).subplots()
for name, prune in {"all samples": 0.0, "InfoBatch": 0.5}.items():
    used, accuracies = curve(prune)
    axes.plot(used, accuracies, label=name)
    print(f"{name}: {used[-1]:,} samples used, accuracy {accuracies[-1]:.1%}")
axes.set(xlabel="samples used", ylabel="accuracy")
axes.legend()
canvas.savefig("while_training.png")
