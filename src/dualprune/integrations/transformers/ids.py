"""Ids on their way through a Trainer: a column, the batches of its loaders, the model's inputs."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import torch
from datasets import Dataset  # type: ignore[import-untyped]
from torch.utils.data import DataLoader

from dualprune.errors import InputError
from dualprune.integrations.torch import indexed
from dualprune.signatures import Array

ID, LABELS = "sample_id", "sample_labels"
"""Inputs of a batch beside the model's own, which have to be taken out before it sees them."""


def with_ids(dataset: Dataset) -> Dataset:
    """Give the dataset with a column `sample_id`: the position of each sample in it.

    >>> with_ids(Dataset.from_dict({"text": ["a", "b"]}))[1]
    {'text': 'b', 'sample_id': 1}
    """
    if not isinstance(dataset, Dataset):
        raise InputError(
            f"with_ids needs one datasets.Dataset, got {type(dataset).__name__}; of several splits "
            "give the one to train on, and wrap a torch dataset of dicts by Indexed instead"
        )
    if ID in dataset.column_names:
        raise InputError(
            f"the dataset already has a column {ID}; ids are added once, before samples are "
            "shuffled or taken out"
        )
    return dataset.add_column(ID, np.arange(len(dataset)))


def ids_of(trainer: Any) -> Array:
    """Give the ids of a trainer's training data, in its order, or say why there are none."""
    data = trainer.train_dataset
    _refuse_mixed_samples(trainer)
    if not isinstance(data, Dataset):
        return np.arange(len(indexed(data, "Trainer(train_dataset=Indexed(train), ...)")))
    if ID not in data.column_names:
        raise InputError(
            f"the training data of the trainer has no column {ID}, but {data.column_names}; add it "
            "before the trainer is built, which may shuffle: "
            f"{type(trainer).__name__}(train_dataset=with_ids(train), ...)"
        )
    ids: Array = np.asarray(data.with_format("numpy")[ID][:])
    if ids.dtype.kind != "i" or ids.min() < 0:
        raise InputError(
            f"the column {ID} must hold positions from 0, such as those of with_ids(train); it "
            f"holds {ids.dtype} like {ids[0]!r}: rename it"
        )
    different = len(np.unique(ids))
    if different < len(ids):
        raise InputError(
            f"the column {ID} holds {len(ids)} ids, {different} of them different; add ids after "
            "datasets are joined: with_ids(concatenate_datasets(...))"
        )
    return ids


def _refuse_mixed_samples(trainer: Any) -> None:
    """Refuse what makes one row of several samples, and several models in one process."""
    if getattr(trainer.args, "packing", False) or getattr(trainer, "padding_free", False):
        raise InputError(
            "packed or padding-free batches join several samples in one row, so none has a loss of "
            "its own; use SFTConfig(packing=False, padding_free=False)"
        )
    if trainer.args.n_gpu > 1:
        raise InputError(
            f"this process trains on {trainer.args.n_gpu} GPUs with nn.DataParallel, where ids and "
            "outputs do not meet; start one process per GPU: torchrun --nproc_per_node=..."
        )


class Collator:
    """A collator whose batches carry the ids, and the labels where a trainer takes them out."""

    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self._collate = collate

    def __call__(self, samples: list[Any]) -> Any:
        if not isinstance(samples[0], Mapping) or ID not in samples[0]:
            return self._collate(samples)
        ids = torch.tensor([int(sample[ID]) for sample in samples])
        batch = self._collate([{k: v for k, v in s.items() if k != ID} for s in samples])
        batch[ID] = ids
        if "labels" in batch:
            batch[LABELS] = batch["labels"]
        return batch


def loader_with_ids(trainer: Any, make_loader: Callable[..., Any], *data: Any) -> Any:
    """Make a loader of the trainer whose batches carry the ids; its other loaders stay."""
    trainer._set_signature_columns_if_needed()
    columns, collator = trainer._signature_columns, trainer.data_collator
    trainer._signature_columns, trainer.data_collator = [*columns, ID], Collator(collator)
    try:
        return make_loader(*data)
    finally:
        trainer._signature_columns, trainer.data_collator = columns, collator


def plain_loader(
    trainer: Any, batch_size: int, sampler: Iterable[int], generator: torch.Generator | None = None
) -> DataLoader[Any]:
    """Load training data with ids by a sampler that knows of all processes.

    The trainer's own loaders would share its samples among the processes once more.
    """
    loader = loader_with_ids(trainer, trainer.get_test_dataloader, trainer.train_dataset)
    return DataLoader(
        loader.dataset,
        batch_size,
        sampler=sampler,
        collate_fn=loader.collate_fn,
        num_workers=trainer.args.dataloader_num_workers,
        generator=generator,
    )
