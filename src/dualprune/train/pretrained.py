"""Checkpoints of the library `transformers` as models of texts."""

import os
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dualprune.data import Data, Texts
from dualprune.errors import InputError, MissingError
from dualprune.files import read
from dualprune.train.models import NAMES

LONGEST = 256
"""Tokens of a text that are read; what is longer is cut off."""


def is_checkpoint(model: object) -> bool:
    """Whether this names a checkpoint: a folder, or a name of a hub, which has a slash.

    >>> is_checkpoint("bert-tiny/checkpoint-12"), is_checkpoint("bag")
    (True, False)
    """
    if not isinstance(model, str) or model in ("auto", *NAMES):  # which a folder may have, too
        return False
    return "/" in model or os.path.isdir(model)  # noqa: PTH112 - a name too long for a path is none


def checkpoint_identity(name: str) -> str:
    """SHA-256 of the files of a checkpoint in a folder; its name if it is on a hub."""
    files = sorted(
        file for file in Path(name).glob("*") if file.suffix in (".json", ".safetensors")
    )
    if not files:
        return name
    content = sha256()
    for file in files:
        content.update(f"{file.name} {sha256(read(file)).hexdigest()}".encode())
    return content.hexdigest()


class TokenBatches:
    """Texts as the numbers of their tokens, int64 of shape (batch, longest), padded."""

    def __init__(self, data: Data, checkpoint: str, device: torch.device) -> None:
        if not isinstance(data, Texts):
            raise InputError(
                f"{checkpoint} is a checkpoint for texts, and these are {data.kind}; say which "
                "column holds the text, or choose another model"
            )
        self.device = device
        self.labels = torch.from_numpy(data.labels).to(device)
        self.readable_ids = torch.from_numpy(data.readable_ids)
        self._texts = data.texts
        self._tokenizer = _loaded("AutoTokenizer", checkpoint)
        if self._tokenizer.pad_token_id is None:
            raise InputError(f"the tokenizer of {checkpoint} has no padding token; give it one")
        self.shape = (int(self._tokenizer.pad_token_id),)

    def __len__(self) -> int:
        return len(self.labels)

    def inputs(self, order: Sequence[Tensor], change: Any = None) -> Iterator[Tensor]:  # noqa: ARG002 - only images are augmented
        """Give the tokens for each tensor of ids."""
        for ids in order:
            texts = self._texts.take(ids.numpy()).to_pylist()
            encoded = self._tokenizer(texts, truncation=True, max_length=LONGEST, padding=True)
            yield torch.from_numpy(np.array(encoded["input_ids"])).to(self.device)


class Checkpoint(nn.Module):
    """Logits of a sequence classifier from numbers of tokens."""

    def __init__(self, checkpoint: str, classes: int, padding: int) -> None:
        super().__init__()
        self.model = _loaded("AutoModelForSequenceClassification", checkpoint, num_labels=classes)
        self.model.config.pad_token_id = padding
        self.padding = padding

    def forward(self, tokens: Tensor) -> Tensor:
        mask = (tokens != self.padding).long()
        logits: Tensor = self.model(input_ids=tokens, attention_mask=mask).logits
        return logits


def _loaded(kind: str, checkpoint: str, **more: Any) -> Any:
    try:
        import transformers  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise MissingError(
            f"the checkpoint {checkpoint} needs transformers: pip install 'dualprune[hf]'"
        ) from error
    if kind != "AutoTokenizer":
        more |= {"use_safetensors": True, "ignore_mismatched_sizes": True}
    try:
        return getattr(transformers, kind).from_pretrained(checkpoint, **more)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot load the checkpoint {checkpoint}: {error!s:.300}") from error
