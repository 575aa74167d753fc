"""Lightning: one callback records the training, and the module stays as it is.

    python examples/lightning_callback.py [EPOCHS]

Learn what the scores are computed from. `lightning_callback.png` shows the mean probability of the
label over the epochs: DUAL+beta keeps samples that are learned late, and few of those that are easy
from the start.
"""

import sys

import torch
from lightning.pytorch import LightningModule, Trainer
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

import dualprune
from dualprune import Indexed, Run
from dualprune.integrations.lightning import RecordDynamics
from dualprune.report.figures import figure

epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 30


class Classifier(LightningModule):
    """A module that was written without thinking of a recording."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.net(x)

    def training_step(self, batch: tuple[Tensor, Tensor], _: int) -> Tensor:
        return cross_entropy(self(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


torch.manual_seed(0)
pixels, digits = load_digits(return_X_y=True)
train = Indexed(TensorDataset(torch.tensor(pixels / 16).float(), torch.tensor(digits)))
quiet = dict.fromkeys(("logger", "enable_checkpointing", "enable_progress_bar"), False)
trainer = Trainer(max_epochs=epochs, callbacks=[RecordDynamics("lightning_callback")], **quiet)
trainer.fit(Classifier(), DataLoader(train, batch_size=32, shuffle=True))

p = Run("lightning_callback")["target_prob"]
kept = dualprune.choose("lightning_callback", "dual+beta", keep=0.3).mask
axes = (canvas := figure(6, 4)).subplots()
for name, rows in {"kept": p[:, kept], "pruned": p[:, ~kept]}.items():
    axes.plot(range(1, epochs + 1), rows.mean(1), label=f"{name}: {rows.shape[1]} samples")
axes.set(xlabel="epoch", ylabel="mean probability of the label", ylim=(0, 1))
axes.legend()
canvas.savefig("lightning_callback.png")
