"""What a model makes of images without augmentation, in evaluation mode."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from dualprune.errors import InputError
from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.signatures import Array
from dualprune.train.batches import Batches

__all__ = ["accuracy", "features_of", "last_features", "see_clean"]

_BATCH = 512


def accuracy(model: nn.Module, data: Batches) -> float:
    """Share of images whose label has the highest logit."""
    right = torch.zeros((), device=data.device)
    for ids, logits in _outputs(model, model, data, torch.arange(len(data))):
        right += (logits.argmax(1) == data.labels[ids]).sum()
    return right.item() / len(data)


def see_clean(model: nn.Module, data: Batches, recording: Recorder) -> None:
    """Record every sample; of several processes, each takes its share."""
    rank, world = processes()
    for ids, logits in _outputs(model, model, data, torch.arange(rank, len(data), world)):
        recording.update(logits, data.labels[ids], ids, last_features(model))


def last_features(model: nn.Module) -> Tensor | None:
    """Features of the batch that went through one of our models last."""
    plain = getattr(model, "module", model)  # inside DistributedDataParallel
    seen: Tensor | None = getattr(plain, "seen", None)
    return seen


def features_of(model: nn.Module, data: Batches) -> Array:
    """Penultimate features of every image, float32 of shape (samples, width)."""
    penultimate = getattr(model, "features", None)
    if not callable(penultimate):
        raise InputError(
            f"{type(model).__name__} has no method `features` that gives the input of its last "
            "layer; add one, or choose a method that needs no features"
        )
    parts = _outputs(model, penultimate, data, torch.arange(len(data)))
    return torch.cat([features.float().cpu() for _, features in parts]).numpy()


@torch.no_grad()
def _outputs(
    model: nn.Module, fn: Callable[[Tensor], Tensor], data: Batches, ids: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    model.eval()
    order = [ids[i : i + _BATCH] for i in range(0, len(ids), _BATCH)]
    for part, raw in zip(order, data.raw(order), strict=True):
        yield part.to(data.device), fn(data.normalised(raw))
