"""Dynamic pruning: which samples each epoch trains on, in any training loop.

At the start of an epoch call `plan`; during it, call `observe` with the losses of the samples that
are trained on or only evaluated. With several processes, each must observe the losses of all.
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
