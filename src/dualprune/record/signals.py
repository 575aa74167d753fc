"""How signals are computed: each is a function of a batch's `Outputs`, one number per sample."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from keyword import iskeyword
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from dualprune.errors import InputError
from dualprune.run.derived import DERIVED
from dualprune.run.signals import COLUMNS

_LARGEST = torch.finfo(torch.float32).max


class Outputs:
    """What a model made of a batch, as signals read it.

    `logits` are float32 (batch, classes); `labels` and `ids` are int64 (batch,), on the device of
    the logits; `epoch` counts from 1. A signal of your own is a function of it:

    >>> def top_prob(outputs: Outputs) -> Tensor:
    ...     return outputs.probabilities.amax(1)
    >>> top_prob(Outputs(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))).tolist()
    [0.5]
    """

    def __init__(
        self,
        logits: Tensor,
        labels: Tensor,
        ids: Tensor | None = None,
        epoch: int = 1,
        features: Any = None,
    ) -> None:
        self.logits = logits
        self.labels = labels
        self.ids = torch.arange(len(logits), device=logits.device) if ids is None else ids
        self.epoch = epoch
        self._features = features

    @property
    def features(self) -> Tensor:
        """Features (batch, width) that were passed to `update`; an error if there are none."""
        features, rows = self._features, len(self.logits)
        if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != rows:
            shape = tuple(features.shape) if isinstance(features, Tensor) else features
            raise InputError(
                f"a signal needs features of shape ({rows}, width) in update(logits, labels, ids, "
                f"features), got {shape}"
            )
        return features

    @cached_property
    def finite(self) -> Tensor:
        """Which samples have finite logits; those set to False are stored as missing."""
        return self.logits.isfinite().all(1)

    @cached_property
    def is_label(self) -> Tensor:
        classes = torch.arange(self.logits.shape[1], device=self.logits.device)
        return self.labels[:, None] == classes

    @cached_property
    def true(self) -> Tensor:
        """Logit of the label, shape (batch, 1)."""
        return self.logits.gather(1, self.labels[:, None])

    @cached_property
    def others(self) -> Tensor:
        """Logits of the other classes; that of the label is minus infinity."""
        return self.logits.masked_fill(self.is_label, float("-inf"))

    @cached_property
    def probabilities(self) -> Tensor:
        """Softmax, in steps that do not wake other threads for a small batch."""
        powers = (self.logits - self.logits.amax(1, keepdim=True)).exp()
        return powers / powers.sum(1, keepdim=True)


def loss(outputs: Outputs) -> Tensor:
    """-log p(label), exact also where p is almost 1 (`log_softmax` in float32 gives 0 there).

    >>> loss(Outputs(torch.tensor([[20.0, 0.0]]), torch.tensor([0]))).item()
    2.06e-09
    """
    lead = (outputs.others - outputs.true).logsumexp(1)
    return softplus(lead.clamp(max=_LARGEST))


def margin(outputs: Outputs) -> Tensor:
    """Logit of the label minus the best other logit.

    >>> logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0]])
    >>> margin(Outputs(logits, torch.tensor([0, 0]))).tolist()
    [1.0, -3.0]
    """
    lead = outputs.true[:, 0] - outputs.others.amax(1)
    return lead.clamp(-_LARGEST, _LARGEST)


def rival(outputs: Outputs) -> Tensor:
    """Give the other class with the highest logit."""
    return outputs.others.argmax(1)


def entropy(outputs: Outputs) -> Tensor:
    """-sum p log p over the classes.

    >>> entropy(Outputs(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))).item()
    0.832396
    """
    terms: Tensor = torch.special.entr(outputs.probabilities)
    return terms.sum(1)


def error_norm(outputs: Outputs) -> Tensor:
    """Length of p - onehot(label), with 1 - p(label) summed from the others so it is never lost.

    >>> error_norm(Outputs(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0]))).item()
    0.424336
    """
    others = outputs.probabilities.masked_fill(outputs.is_label, 0.0)
    return (others.sum(1).square() + others.square().sum(1)).sqrt()


def kl_step(now: Tensor, previous: Tensor) -> Tensor:
    """Sum over classes of abs(p (log p - log q)), from the epoch before (q) to this one (p).

    >>> kl_step(torch.tensor([[0.6, 0.4]]), torch.tensor([[0.5, 0.5]])).item()
    0.19865
    """
    change = (now + 1e-8).log() - (previous + 1e-8).log()
    return (now * change).abs().sum(1)


class KlStep:
    """`kl_step` of every sample since the last epoch that saw it; NaN the first time.

    Keeps the probabilities of all samples. They change in the last lines of a call, so that a call
    which failed, such as for lack of memory, can be repeated.
    """

    def __init__(self, samples: int, classes: int, writers: int) -> None:
        if writers > 1:
            raise InputError(
                "kl_step compares a sample with its previous epoch, which another of the "
                f"{writers} processes may have seen; record it in one process"
            )
        self._shape = (samples, classes)
        self._state: tuple[Tensor, Tensor] | None = None

    def __call__(self, outputs: Outputs) -> Tensor:
        now, ids = outputs.probabilities, outputs.ids.clamp(0, self._shape[0] - 1)
        if self._state is None:
            unknown = torch.full(self._shape, torch.nan, device=now.device)
            never = torch.zeros(len(unknown), dtype=torch.int32, device=now.device)
            self._state = unknown, never
        previous, stored_in = self._state = _on(now.device, *self._state)
        before = previous[ids]
        new = outputs.finite & (stored_in[ids] < outputs.epoch)
        kept = torch.where(new[:, None], now, before)
        ordered, rows = ids.sort(stable=True)
        first = rows[torch.searchsorted(ordered, ordered)]  # of an id that occurs twice
        step, kept = kl_step(now, before), kept[first]
        previous[ordered] = kept
        stored_in[ids] = outputs.epoch
        return step

    def state_dict(self) -> dict[str, Tensor]:
        """Give the last probabilities of every sample, and the epochs that they are of."""
        if self._state is None:
            return {}
        previous, stored_in = self._state
        return {"previous": previous, "stored_in": stored_in}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take over what `state_dict` gave."""
        shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
        if shapes != {"previous": self._shape, "stored_in": self._shape[:1]}:
            raise InputError(
                f"the state of kl_step must be previous {self._shape} and stored_in "
                f"{self._shape[:1]}, got {shapes}; is it that of another recording?"
            )
        self._state = state["previous"].clone(), state["stored_in"].clone()


def _on(device: torch.device, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return one.to(device), other.to(device)


def feature_norm(outputs: Outputs) -> Tensor:
    """Length of each sample's features; where it is not finite, the sample is missing.

    >>> logits, labels = torch.zeros(1, 2), torch.tensor([0])
    >>> feature_norm(Outputs(logits, labels, features=torch.tensor([[3.0, 4.0]]))).item()
    5.0
    """
    norms = outputs.features.float().square().sum(1).sqrt()
    outputs.finite &= norms.isfinite().to(outputs.logits.device)
    return norms


Signal = Callable[[Outputs], Tensor]

DEFERRED: dict[str, Signal | type[KlStep]] = {
    **{fn.__name__: fn for fn in (loss, margin, rival, entropy, error_norm)},
    "kl_step": KlStep,
}
"""Signals of logits and labels, computed for several batches together, in this order.

A class keeps state, so each Recorder makes its own; it comes after all that may fail.
"""
IMMEDIATE: dict[str, Signal] = {"feature_norm": feature_norm}
"""Signals that read features, which are too large to keep until there are several batches."""

_TAKEN = (*COLUMNS, *DERIVED, "labels", "features", "logits", "finite")


def name_of(signal: str | Signal) -> str:
    """Name of a signal: itself, or that of the function."""
    return signal if isinstance(signal, str) else getattr(signal, "__name__", repr(signal))


def make_signals(
    signals: Sequence[str | Signal], samples: int, classes: int, writers: int
) -> tuple[dict[str, Signal], dict[str, Signal]]:
    """Functions of the deferred signals and of the immediate ones, by name.

    A signal of the user's own is immediate, since it may read features.
    """
    made: dict[str, Signal] = {}
    for signal in signals:
        if (name := name_of(signal)) in made:
            raise InputError(f"the signal {name!r} is listed twice; list each signal once")
        if isinstance(signal, str):
            known = _find(name)
            made[name] = known(samples, classes, writers) if isinstance(known, type) else known
        else:
            _check_own(signal)
            made[name] = signal
    deferred = {name: made.pop(name) for name in DEFERRED if name in made}
    return deferred, made


def _find(name: str) -> Signal | type[KlStep]:
    known = {**DEFERRED, **IMMEDIATE}
    if name not in known:
        raise InputError(
            f"there is no signal {name!r}; known are {', '.join(known)}; or pass a function of "
            "your own that makes a tensor (batch,) of Outputs"
        )
    return known[name]


def _check_own(signal: Signal) -> None:
    name = name_of(signal)
    if not name.isidentifier() or iskeyword(name):
        raise InputError(
            f"a signal is a known name or a function with a name of its own, got {name}; write it "
            "as `def my_signal(outputs): ...`"
        )
    if name in _TAKEN:
        raise InputError(f"the name {name!r} is taken; call your signal something else")
