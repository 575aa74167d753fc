"""Time inside `update` and `end_epoch`, against an epoch of training a small CNN."""

import tempfile
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from dualprune.record import Recorder

IMAGES, BATCH, CLASSES = 12_800, 128, 10


def _cnn() -> nn.Module:
    layers: list[nn.Module] = []
    for narrow, wide in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(narrow, wide, 3, padding=1, bias=False), nn.BatchNorm2d(wide)]
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, CLASSES)]
    return nn.Sequential(*layers, *head).to(memory_format=torch.channels_last)


def _epoch(model: nn.Module, step: Callable[[Tensor, Tensor, Tensor], None]) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(BATCH, 3, 32, 32).contiguous(memory_format=torch.channels_last)
    for ids in torch.randperm(IMAGES).split(BATCH):
        labels = ids % CLASSES
        logits = model(images)
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits, labels).backward()
        optimizer.step()
        step(logits, labels, ids)


def rows() -> Iterator[tuple[str, str, str]]:
    model, shares = _cnn(), []
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(folder + "/run", samples=IMAGES, classes=CLASSES)
        for _ in range(4):
            inside = 0.0

            def step(logits: Tensor, labels: Tensor, ids: Tensor) -> None:
                nonlocal inside
                start = time.perf_counter()
                recorder.update(logits, labels, ids)
                inside += time.perf_counter() - start

            begin = time.perf_counter()
            _epoch(model, step)
            end = time.perf_counter()
            recorder.end_epoch()
            inside += time.perf_counter() - end
            shares.append(inside / (end - begin - inside + (time.perf_counter() - end)))
    yield "recording / epoch of the CNN", f"{min(shares[1:]):.2%}", "at most 1%"
