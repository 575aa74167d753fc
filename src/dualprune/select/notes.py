"""Facts that a selector reports beside the ids."""

from dataclasses import dataclass, field

from dualprune.signatures import Array


@dataclass
class Notes:
    """Facts about a choice, for the card and the table of all samples.

    >>> import numpy as np
    >>> from dualprune.select import beta
    >>> notes = Notes()
    >>> scores, confidence = np.array([0.3, 0.0, 0.1]), np.array([0.2, 0.5, 0.9])
    >>> beta(scores, confidence, k=3, seed=0, anchor=1, notes=notes).tolist()
    [0, 1, 2]
    >>> notes
    Notes(kept='sampled', reasons={'filled': array([1])}, values={'mu': 0.2})
    """

    kept: str = "chosen"
    """Why samples without a reason of their own were kept: "top", "sampled" or "chosen"."""
    reasons: dict[str, Array] = field(default_factory=dict)
    """Sorted ids by their own reason: "unscored", "cut_off" or "filled"; none has two."""
    values: dict[str, float] = field(default_factory=dict)
    """Numbers computed on the way, such as the mu that was used."""
