"""The loss of each example, of what a model gives for a batch."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn, stack
from torch.nn.functional import cross_entropy
from transformers.loss.loss_utils import ForCausalLMLoss

from dualprune.errors import InputError


def fields_of(output: Any) -> Mapping[str, Any]:
    """Give what a model returned by name, such as `logits`."""
    return output if isinstance(output, Mapping) else getattr(output, "__dict__", {})


def losses_of(model: nn.Module, output: Any, labels: Tensor | None) -> Tensor:
    """Give one loss per example (batch,): cross-entropy of its class, or the mean of its tokens'.

    A token that is no target is labelled -100; an example without targets has NaN. trl's fused head
    gives the log-probabilities of the target tokens instead of logits.
    """
    fields = fields_of(output)
    if (log_probs := fields.get("log_probs")) is not None:
        return _mean(-log_probs.float(), fields["label_mask"])
    logits = fields.get("logits")
    if logits is None or labels is None:
        raise InputError(
            "the model gave no logits, or the batch has no labels, so there are no losses; the "
            f"model gave {', '.join(fields) or type(output).__name__}"
        )
    if logits.ndim < 3:
        return cross_entropy(logits.float(), labels, reduction="none")
    if _predicts_next(model):
        logits, labels = logits[:, :-1], labels[:, 1:]
    rows = zip(logits, labels, strict=True)  # one by one: in float32 they take twice the memory
    losses = [cross_entropy(row.float(), targets, reduction="none") for row, targets in rows]
    return _mean(stack(losses), labels != -100)


def _mean(losses: Tensor, mask: Tensor) -> Tensor:
    return (losses * mask).sum(1) / mask.sum(1)


def _predicts_next(model: Any) -> bool:
    """Whether the logits at a token are of the one after it."""
    two_parts = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    return getattr(model, "loss_function", None) is ForCausalLMLoss and not two_parts
