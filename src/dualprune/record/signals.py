"""What is recorded of each sample: one number per signal, from its logits and its label."""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import softplus

__all__ = ["DEFAULT", "ON_REQUEST", "SIGNALS", "Outputs", "kl_step"]

_LARGEST = torch.finfo(torch.float32).max


class Outputs:
    """Float32 logits (batch, classes), int64 labels (batch,), and what signals share of them."""

    def __init__(self, logits: Tensor, labels: Tensor) -> None:
        self.logits = logits
        self.labels = labels

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


SIGNALS: dict[str, Callable[[Outputs], Tensor]] = {
    f.__name__: f for f in (loss, margin, rival, entropy, error_norm)
}
DEFAULT = tuple(SIGNALS)
ON_REQUEST = ("kl_step", "feature_norm")  # they need more than the logits
