"""Accuracy, features and signals of a model in evaluation mode, without augmentation."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from dualprune.errors import InputError
from dualprune.record import Recorder
from dualprune.record.processes import processes
from dualprune.signatures import Array
from dualprune.train.batches import Batches

_BATCH = 512


def accuracy(model: nn.Module, data: Batches) -> float:
    """Share of samples whose label has the highest logit."""
    correct = torch.zeros((), device=data.device)
    for ids, logits in _outputs(model, model, data, torch.arange(len(data))):
        correct += (logits.argmax(1) == data.labels[ids]).sum()
    return correct.item() / len(data)


def record_clean(model: nn.Module, data: Batches, recording: Recorder) -> None:
    """Record every sample in an evaluation pass; several processes share the samples."""
    rank, world = processes()
    for ids, logits in _outputs(model, model, data, data.readable_ids[rank::world]):
        recording.update(logits, data.labels[ids], ids, last_features(model))


def last_features(model: nn.Module) -> Tensor | None:
    """Features of the last batch, if the model is one of ours."""
    plain = getattr(model, "module", model)  # inside DistributedDataParallel
    features: Tensor | None = getattr(plain, "last_features", None)
    return features


def features_of(model: nn.Module, data: Batches) -> Array:
    """Penultimate features of every sample, float32 of shape (samples, width); 0 if unreadable."""
    penultimate = getattr(model, "features", None)
    if not callable(penultimate):
        raise InputError(
            f"{type(model).__name__} has no method `features` that gives the input of its last "
            "layer; add one, or choose a method that needs no features"
        )
    parts = _outputs(model, penultimate, data, data.readable_ids)
    rows = torch.cat([features.float().cpu() for _, features in parts])
    features = rows.new_zeros(len(data), rows.shape[1])
    features[data.readable_ids] = rows
    return features.numpy()


@torch.no_grad()
def _outputs(
    model: nn.Module, fn: Callable[[Tensor], Tensor], data: Batches, ids: Tensor
) -> Iterator[tuple[Tensor, Tensor]]:
    model.eval()
    batches = [ids[i : i + _BATCH] for i in range(0, len(ids), _BATCH)]
    for part, batch in zip(batches, data.inputs(batches), strict=True):
        yield part.to(data.device), fn(batch)
