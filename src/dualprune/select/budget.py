"""The number of samples to keep, from a share or a count."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

from dualprune.arguments import whole
from dualprune.errors import InputError

Amount = float | Decimal | str | None
_MANY = 2**63  # samples that nobody has


def budget(samples: int, *, keep: Amount = None, prune: Amount = None) -> int:
    """Number of samples to keep, from a share (``0.3``, ``30%``) or a count (``5000``).

    A share is taken as the exact decimal that was written and rounded half up.

    >>> budget(50_000, keep="0.1"), budget(50_000, prune="0.8"), budget(1797, keep="30%")
    (5000, 10000, 539)
    >>> budget(10, prune="3"), budget(5, keep="0.5")
    (7, 3)
    """
    name, text = _only(keep, prune)
    samples = whole("samples", samples)
    with localcontext(prec=len(text) + 30):  # exact, however many digits were written
        amount = _amount(name, text, samples)
        k = amount if prune is None else samples - amount
        count = int(k.quantize(Decimal(1), ROUND_HALF_UP))
    if not 1 <= count <= samples:
        raise InputError(f"--{name} {text} of {samples} samples would keep {count}; keep 1 or more")
    return count


def share_pruned(*, keep: Amount = None, prune: Amount = None) -> float | None:
    """Give the share to prune, or None for a count; refuse what is no amount of any data.

    >>> share_pruned(keep="30%"), share_pruned(prune="0.7"), share_pruned(keep="500")
    (0.7, 0.7, None)
    """
    name, text = _only(keep, prune)
    amount = _amount(name, text, _MANY if _is_count(text) else 1)
    if _is_count(text):
        return None
    pruned = amount if name == "prune" else 1 - amount
    if pruned == 1:
        raise InputError(f"--{name} {text} would keep nothing; keep more")
    return float(pruned)


def share_of(k: int, samples: int) -> float:
    """Give the share pruned where `k` samples are kept: the shortest decimal that means this `k`.

    144 of 1,438 samples are what a tenth is rounded to, so that 0.9 is pruned and not 0.89986,
    which settings "from 0.9 on" would miss.

    >>> share_of(144, 1438), share_of(143, 1438), share_of(5, 5)
    (0.9, 0.9006, 0.0)
    """
    shares = (round(1 - k / samples, digits) for digits in range(1, 17))
    exact = (share for share in shares if share < 1 and budget(samples, prune=repr(share)) == k)
    return next(exact, 1 - k / samples)


def _only(keep: Amount, prune: Amount) -> tuple[str, str]:
    """Give the one of the two that is said, by its name."""
    if (keep is None) == (prune is None):
        raise InputError("say how much: either keep or prune, such as --keep 0.3 or --prune 0.7")
    return ("keep", str(keep)) if prune is None else ("prune", str(prune))


def _amount(name: str, text: str, samples: int) -> Decimal:
    number = _number(name, text.removesuffix("%"))
    if text.endswith("%"):
        number /= 100
    elif text in ("1", "0"):
        share = "100%" if text == "1" else "0%"
        raise InputError(f"--{name} {text} is ambiguous: say {text}.0 or {share} for a share")
    elif _is_count(text):
        if number > samples:
            raise InputError(f"--{name} {text} is more than the {samples} samples there are")
        return number
    if not 0 <= number <= 1:
        raise InputError(f"--{name} {text} must be a share from 0.0 to 1.0, or a count of samples")
    return number * samples


def _is_count(text: str) -> bool:
    return not text.endswith("%") and "." not in text and "e" not in text.lower()


def _number(name: str, text: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or number < 0:
        raise InputError(
            f"--{name} {text} is not an amount; say a share (0.3 or 30%) or a count (5000)"
        )
    return number
