"""Scores: from recorded arrays to one number per sample; `top` keeps the high ones."""

from dualprune.score.aum import aum, aum_prob
from dualprune.score.confidence import confidence
from dualprune.score.dual import dual
from dualprune.score.dyn_unc import dyn_unc
from dualprune.score.el2n import el2n
from dualprune.score.entropy import entropy
from dualprune.score.forgetting import forgetting
from dualprune.score.grand import grand
from dualprune.score.ssp import ssp
from dualprune.score.tdds import tdds
from dualprune.score.variability import variability
from dualprune.signatures import Function

__all__ = [
    "SCORES",
    "aum",
    "aum_prob",
    "confidence",
    "dual",
    "dyn_unc",
    "el2n",
    "entropy",
    "forgetting",
    "grand",
    "ssp",
    "tdds",
    "variability",
]

SCORES: dict[str, Function] = {
    f.__name__: f
    for f in (
        *(dual, dyn_unc, el2n, grand, forgetting, aum, aum_prob),
        *(entropy, tdds, ssp, confidence, variability),
    )
}
