"""Checkpoints to resume a training from: safetensors and JSON, never pickle."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.optim import Optimizer

from dualprune.errors import InputError
from dualprune.files import (
    entries,
    exists,
    make_folders,
    read,
    read_json,
    reading,
    write,
    write_json,
    writing,
)
from dualprune.signatures import Array

_LONG = 100  # characters
_OPTIMIZER = {
    "momentum_buffer": "momentum",
    "exp_avg": "mean",
    "exp_avg_sq": "square",
    "step": "step",
}  # what SGD and AdamW remember of a parameter, and under which prefix it is stored


def store(
    folder: Path,
    model: nn.Module,
    optimizer: Optimizer,
    state: dict[str, Any],
    arrays: dict[str, Array],
) -> None:
    """Write all tensors and arrays under a new name, then the JSON that points to them."""
    make_folders(folder)
    name, content = f"{state['epoch']:06d}.safetensors", save(_tensors(model, optimizer, arrays))
    write(folder / name, content)
    write_json(
        folder / "state.json", {**state, "tensors": name, "sha256": sha256(content).hexdigest()}
    )
    remove_tensors(folder, but=name)


def remove_tensors(folder: Path, but: str = "") -> None:
    """Remove the tensors of a folder's checkpoints, but for those of this name."""
    for entry in entries(folder):
        if entry.name.endswith(".safetensors") and entry.name != but:
            with writing(folder):
                (folder / entry.name).unlink()


def restore(
    folder: Path, model: nn.Module, optimizer: Optimizer, settings: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Load a checkpoint with these settings; gives its state and arrays, empty if there is none."""
    if not exists(folder / "state.json"):
        return {}, {}
    state = read_json(folder / "state.json")
    with reading(folder / "state.json"):
        known, path, sha = dict(state["settings"]), folder / state["tensors"], str(state["sha256"])
    for name, value in settings.items():
        if (stored := known.get(name)) != value:
            difference = f"its {name} is {stored!r}, not {value!r}"
            if len(difference) >= _LONG:
                difference = f"its {name} is another"
            raise InputError(
                f"{folder} belongs to another training: {difference}; choose another folder"
            )
    tensors = load(read(path, sha256=sha))
    _fill(model, optimizer, tensors)
    return state, {name: value.numpy() for name, value in _under("array.", tensors).items()}


def _fill(model: nn.Module, optimizer: Optimizer, tensors: dict[str, Tensor]) -> None:
    model.load_state_dict(_under("model.", tensors))
    for name, parameter in model.named_parameters():
        for entry, prefix in _OPTIMIZER.items():
            if (value := tensors.get(f"{prefix}.{name}")) is not None:
                optimizer.state[parameter][entry] = _like(parameter, value)


def _like(parameter: nn.Parameter, value: Tensor) -> Tensor:
    """Put a value where its parameter is, and in the same order in memory.

    Fused optimisers go through both as they lie there; they also want their step on the device.
    """
    if value.shape != parameter.shape:
        return value.to(parameter.device)
    return torch.empty_like(parameter, requires_grad=False).copy_(value)


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {n.removeprefix(prefix): v for n, v in tensors.items() if n.startswith(prefix)}


def _tensors(model: nn.Module, optimizer: Optimizer, arrays: dict[str, Array]) -> dict[str, Tensor]:
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"array.{name}": torch.from_numpy(value) for name, value in arrays.items()}
    for name, parameter in model.named_parameters():
        for entry, prefix in _OPTIMIZER.items():
            if (value := optimizer.state[parameter].get(entry)) is not None:
                tensors[f"{prefix}.{name}"] = value
    return {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
