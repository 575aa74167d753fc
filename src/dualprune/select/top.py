r"""Top: the highest scores.

.. math:: S = \{ i : s_i \ge s_{(k)} \}

where :math:`s_{(k)}` is the kth highest score; samples that have exactly that score are drawn at
random up to k.
"""

from dualprune.arguments import checked
from dualprune.select.blocked import Choice, choose_balanced, facts_of, scored_of
from dualprune.select.candidates import Balance, Notes, Unscored, check_budget, choose
from dualprune.select.keys import TIES, ties
from dualprune.select.waves import Block, Order, Waves
from dualprune.signatures import Array


@checked
def top(
    scores: Array,
    labels: Array | None = None,
    *,
    k: int,
    seed: int,
    balance: Balance = "none",
    floor: int | float = 0,
    unscored: Unscored = "error",
    notes: Notes | None = None,
) -> Array:
    """Keep the highest scores; ties are broken at random.

    Parameters
    ----------
    scores, labels
        Shape (samples,); labels are needed only to balance classes.
    balance
        Let every class keep the same share (proportional) or the same number (uniform).
    floor
        Keep at least this many of every class, or this share (0.5) of what it would have if all
        kept the same share; not together with balance.
    unscored
        What to do with samples whose score is NaN.
    notes
        Receives facts about the choice, for the card and the table of all samples.

    Examples
    --------
    >>> top(np.array([0.1, 0.9, 0.5]), k=2, seed=0).tolist()
    [1, 2]

    Notes
    -----
    Time O(samples log samples) at most; memory a few numbers per sample.

    Public code leaves ties to an unstable sort; here seed and id decide. DUAL, TDDS, CCS and
    Dyn-Unc round the number kept down, DeepCore to the nearest; here a share is rounded half up to
    k. DeepCore can keep the same share of each class: `balance="proportional"`. Scores whose low
    side is kept elsewhere are negated here, so high is always kept.
    """
    check_budget(k, scores, labels)
    notes = notes or Notes()
    notes.kept = "top"
    return choose(
        -scores,
        k,
        ties(seed, len(scores)),
        labels=labels,
        balance=balance,
        floor=floor,
        unscored=unscored,
        notes=notes,
    )


@checked
def top_of_blocks(
    waves: Waves,
    *,
    k: int,
    seed: int,
    balance: Balance = "none",
    floor: int | float = 0,
    unscored: Unscored = "error",
) -> Choice:
    """Keep what `top` keeps, of samples in blocks."""
    scored = scored_of(waves, facts_of(waves, ["scores"], k).lacking, k, unscored)
    order = Order(_keys, seed, TIES)
    kept = choose_balanced(waves, order, scored.rest, scored.have, balance=balance, floor=floor)
    return Choice(scored.with_kept(kept), "top", scored.reasons)


def _keys(block: Block) -> Array:
    return -block["scores"]
