"""What is recorded of each sample: one number per signal, from its logits and its label.

Every function takes float32 logits of shape (batch, classes) and int64 labels of shape (batch,).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

__all__ = ["DEFAULT", "SIGNALS", "kl_step", "probabilities"]

_LARGEST = torch.finfo(torch.float32).max


def probabilities(logits: Tensor) -> Tensor:
    """Softmax over the classes, in steps that do not wake other threads for a small batch."""
    powers = (logits - logits.amax(1, keepdim=True)).exp()
    return powers / powers.sum(1, keepdim=True)


def _is_label(logits: Tensor, labels: Tensor) -> Tensor:
    return labels[:, None] == torch.arange(logits.shape[1], device=logits.device)


def _others(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.masked_fill(_is_label(logits, labels), float("-inf"))


def _true(logits: Tensor, labels: Tensor) -> Tensor:
    return logits.gather(1, labels[:, None])[:, 0]


def loss(logits: Tensor, labels: Tensor) -> Tensor:
    """-log p(label), exact also where p is almost 1 (`log_softmax` in float32 gives 0 there).

    >>> loss(torch.tensor([[20.0, 0.0]]), torch.tensor([0])).item()
    2.06e-09
    """
    lead = (_others(logits, labels) - _true(logits, labels)[:, None]).logsumexp(1)
    return softplus(lead.clamp(max=_LARGEST))


def margin(logits: Tensor, labels: Tensor) -> Tensor:
    """Logit of the label minus the best other logit.

    >>> margin(torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 3.0]]), torch.tensor([0, 0])).tolist()
    [1.0, -3.0]
    """
    lead = _true(logits, labels) - _others(logits, labels).amax(1)
    return lead.clamp(-_LARGEST, _LARGEST)


def rival(logits: Tensor, labels: Tensor) -> Tensor:
    """Give the other class with the highest logit."""
    return _others(logits, labels).argmax(1)


def entropy(logits: Tensor, labels: Tensor) -> Tensor:  # noqa: ARG001 - all signals are called alike
    """-sum p log p over the classes.

    >>> entropy(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])).item()
    0.832396
    """
    terms: Tensor = torch.special.entr(probabilities(logits))
    return terms.sum(1)


def error_norm(logits: Tensor, labels: Tensor) -> Tensor:
    """Length of p - onehot(label), with 1 - p(label) summed from the others so it is never lost.

    >>> error_norm(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([0])).item()
    0.424336
    """
    others = probabilities(logits).masked_fill(_is_label(logits, labels), 0.0)
    return (others.sum(1).square() + others.square().sum(1)).sqrt()


def kl_step(now: Tensor, previous: Tensor) -> Tensor:
    """Sum over classes of abs(p (log p - log q)), from the epoch before (q) to this one (p).

    >>> kl_step(torch.tensor([[0.6, 0.4]]), torch.tensor([[0.5, 0.5]])).item()
    0.19865
    """
    change = (now + 1e-8).log() - (previous + 1e-8).log()
    return (now * change).abs().sum(1)


SIGNALS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    f.__name__: f for f in (loss, margin, rival, entropy, error_norm)
}
DEFAULT = tuple(SIGNALS)
