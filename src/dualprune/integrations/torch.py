"""PyTorch: dynamic pruning in any training loop, as the sampler of its DataLoader."""

from collections.abc import Iterator, Mapping, Sized
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed
from torch.utils.data import Sampler

from dualprune.arguments import check_seed, checked
from dualprune.dynamic import Plan
from dualprune.errors import InputError
from dualprune.record import Indexed
from dualprune.record.processes import processes
from dualprune.train.epoch import Dynamic
from dualprune.train.order import stream


class PrunedSampler(Sampler[int]):
    """Give the samples that a dynamic pruning method trains on, in a new order in every epoch.

    `weigh` makes the loss of a batch from the losses of its samples, and shows them to the method.
    Each pass over the sampler is the next epoch; loops that resume say which one with `set_epoch`,
    as they do for torch's `DistributedSampler`. With several processes each one takes its part of
    the same plan, and observes the losses of all; a few samples repeat, so that all have equally
    many.

    The samples that IES only evaluates come last in an epoch, with weight 0. Skip the step of a
    batch of them where ``not sampler.weights[ids].any()``.

    For Lightning there is `integrations.lightning.PruneDynamically`.

    Parameters
    ----------
    dataset
        What the DataLoader loads, wrapped by `Indexed` or not.
    method
        `RandomEveryEpoch`, `InfoBatch` or `IES` for so many samples, or what has their methods.
    seed
        Of the order.

    Examples
    --------
    >>> from torch.utils.data import DataLoader
    >>> from dualprune import Indexed
    >>> from dualprune.dynamic import InfoBatch
    >>> data = [(0.1, 0), (0.2, 0), (0.3, 1), (2.0, 1)]
    >>> sampler = PrunedSampler(data, InfoBatch(4, epochs=10, seed=0))
    >>> loader = DataLoader(Indexed(data), batch_size=4, sampler=sampler)
    >>> for epoch in range(2):
    ...     for x, y, ids in loader:
    ...         losses = x  # such as cross_entropy(model(x), y, reduction="none")
    ...         loss = sampler.weigh(losses, ids)
    ...     print(len(ids), sorted(sampler.weights[ids].tolist()))
    4 [1.0, 1.0, 1.0, 1.0]
    2 [1.0, 3.0]
    """

    @checked
    def __init__(self, dataset: Sized, method: Dynamic, *, seed: int = 0) -> None:
        check_seed(seed)
        self._method, self._seed = method, seed
        self._epoch, self._plan = 1, None
        self._observed: list[tuple[Tensor, Tensor]] = []
        self.weights = torch.zeros(len(dataset))
        """Weights of all samples in this epoch, 0 for those that are not trained on."""

    _plan: Plan | None  # of this epoch, once it has begun

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch comes next, counted from 0 as by torch's own samplers."""
        if epoch + 1 != self._epoch:
            self._epoch, self._plan = epoch + 1, None

    def __iter__(self) -> Iterator[int]:
        if self._plan is not None:
            self._epoch += 1
        self._observe()
        self._plan = self._method.plan(self._epoch)
        self.weights = self._by_sample(self._plan.train, self._plan.weights)
        looked_at = self._by_sample(self._plan.look, np.ones(len(self._plan.look)))
        order = torch.randperm(len(self.weights), generator=stream(self._seed, self._epoch, 0))
        for part in (order[self.weights[order] > 0], order[looked_at[order] > 0]):
            yield from own_part(part).tolist()

    def __len__(self) -> int:
        self._observe()
        plan = self._plan or self._method.plan(self._epoch)
        return _equal_part(len(plan.train)) + _equal_part(len(plan.look))

    def weigh(self, losses: Tensor, ids: Tensor) -> Tensor:
        """Give the mean of the weighted losses of one batch; the method observes them unweighted.

        Both have shape (batch,); the mean is over the samples that are trained on.
        """
        if losses.ndim != 1 or losses.shape != ids.shape:
            raise InputError(
                f"losses have shape {tuple(losses.shape)}, ids {tuple(ids.shape)}; each id needs "
                "its own loss, such as that of a criterion with reduction='none'"
            )
        ids = ids.to(losses.device)
        self._observed.append((_of_all(ids), _of_all(losses.detach().float())))
        self.weights = self.weights.to(losses.device)
        weights = self.weights[ids]
        return (losses * weights).sum() / weights.count_nonzero().clamp(min=1)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint has to store: the epochs that have begun, the state of the method."""
        self._observe()
        arrays = {name: torch.from_numpy(array) for name, array in self._method.state().items()}
        return {"epochs": self._epoch - (self._plan is None), "method": arrays}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resume after the epochs of a `state_dict`."""
        self._method.restore({name: array.numpy() for name, array in state["method"].items()})
        self._epoch, self._plan, self._observed = state["epochs"] + 1, None, []

    def _observe(self) -> None:
        """Let the method observe the losses since the last time; of a sample the first one."""
        if self._observed:
            columns = zip(*self._observed, strict=True)
            ids, losses = (torch.cat(column).cpu().numpy() for column in columns)
            first = np.unique(ids, return_index=True)[1]
            self._method.observe(ids[first], losses[first])
            self._observed = []

    def _by_sample(self, ids: Any, values: Any) -> Tensor:
        if len(ids) and ids[-1] >= len(self.weights):
            raise InputError(
                f"the method chose sample {ids[-1]} of a dataset of {len(self.weights)}; make it "
                "for that many samples"
            )
        by_sample = torch.zeros(len(self.weights))
        by_sample[torch.from_numpy(ids)] = torch.from_numpy(values).float()
        return by_sample


def _equal_part(samples: int) -> int:
    return -(-samples // processes()[1])


def indexed(data: Any, example: str) -> Indexed:
    """Give the `Indexed` data inside a loader or a Subset."""
    inner = data
    while inner is not None and not isinstance(inner, Indexed):
        inner = getattr(inner, "dataset", None)
    if inner is None:
        raise InputError(
            f"the training data, a {type(data).__name__}, carries no ids; wrap it by Indexed: "
            f"{example}"
        )
    return inner


def own_part(ids: Tensor) -> Tensor:
    """The part of this process; the first ids repeat until all have equally many."""
    rank, world = processes()
    positions = torch.arange(_equal_part(len(ids))) * world + rank
    return ids[positions % max(1, len(ids))]


def _of_all(values: Tensor) -> Tensor:
    """Join what all processes have, each equally much."""
    world = processes()[1]
    if world == 1:
        return values
    parts = [torch.empty_like(values) for _ in range(world)]
    distributed.all_gather(parts, values)
    return torch.cat(parts)
