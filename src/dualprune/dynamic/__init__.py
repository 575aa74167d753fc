"""Pruning while training: which samples the next epoch trains on, in anybody's loop.

At the start of an epoch ask for its `plan`; during it, `observe` the losses of the samples that
were trained on or looked at. Where several processes train, each observes the losses of all.
"""

from dualprune.dynamic.ies import IES
from dualprune.dynamic.infobatch import InfoBatch
from dualprune.dynamic.plan import Plan
from dualprune.dynamic.random import RandomEveryEpoch

__all__ = ["DYNAMIC", "IES", "InfoBatch", "Plan", "RandomEveryEpoch"]

DYNAMIC: dict[str, type[RandomEveryEpoch] | type[InfoBatch] | type[IES]] = {
    "random-dynamic": RandomEveryEpoch,
    "infobatch": InfoBatch,
    "ies": IES,
}
