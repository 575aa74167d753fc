"""The number of samples to keep, from a share or a count."""

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

from dualprune.arguments import whole
from dualprune.errors import InputError


def budget(samples: int, *, keep: str | None = None, prune: str | None = None) -> int:
    """Number of samples to keep, from a share (``0.3``, ``30%``) or a count (``5000``).

    A share is taken as the exact decimal that was written and rounded half up.

    >>> budget(50_000, keep="0.1"), budget(50_000, prune="0.8"), budget(1797, keep="30%")
    (5000, 10000, 539)
    >>> budget(10, prune="3"), budget(5, keep="0.5")
    (7, 3)
    """
    if (keep is None) == (prune is None):
        raise InputError("say how much: either keep or prune, such as --keep 0.3 or --prune 0.7")
    samples = whole("samples", samples)
    name, text = ("keep", str(keep)) if prune is None else ("prune", str(prune))
    with localcontext(prec=len(text) + 30):  # exact, however many digits were written
        amount = _amount(name, text, samples)
        k = amount if prune is None else samples - amount
        count = int(k.quantize(Decimal(1), ROUND_HALF_UP))
    if not 1 <= count <= samples:
        raise InputError(f"--{name} {text} of {samples} samples would keep {count}; keep 1 or more")
    return count


def _amount(name: str, text: str, samples: int) -> Decimal:
    number = _number(name, text.removesuffix("%"))
    if text.endswith("%"):
        number /= 100
    elif text in ("1", "0"):
        share = "100%" if text == "1" else "0%"
        raise InputError(f"--{name} {text} is ambiguous: say {text}.0 or {share} for a share")
    elif "." not in text and "e" not in text.lower():
        if number > samples:
            raise InputError(f"--{name} {text} is more than the {samples} samples there are")
        return number
    if not 0 <= number <= 1:
        raise InputError(f"--{name} {text} must be a share from 0.0 to 1.0, or a count of samples")
    return number * samples


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
