"""The errors this package raises on purpose.

Each one says what was given, what is possible and what to do, and is also the builtin that a caller
would catch. Any other exception that escapes is a bug.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

_BRINGS = {
    "torch": ("torch", "safetensors", "sklearn"),
    "sklearn": ("sklearn",),
    "lightning": ("lightning", "torch"),
    "hf": ("transformers", "datasets", "accelerate", "torch"),
    "ray": ("ray",),
}  # modules that an extra installs


class DualpruneError(Exception):
    """Base of all errors raised on purpose by this package."""


class InputError(DualpruneError, ValueError):
    """A value that cannot be used, by itself or together with what is already there."""


class MissingError(DualpruneError, LookupError):
    """Something asked for by name that is not there."""


class DamagedError(DualpruneError, OSError):
    """A file that is not what was written."""


class WriteError(DualpruneError, OSError):
    """Something that could not be made durable."""


class StoreError(DualpruneError, OSError):
    """A store behind a URL that refused, failed or did not answer."""


class WorkerError(DualpruneError, RuntimeError):
    """A worker on a cluster that died or did not answer."""


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Say what to install where something that an extra brings is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _BRINGS[extra]:
            raise
        raise MissingError(
            f"this needs {missing}, which is not installed: pip install 'dualprune[{extra}]'"
        ) from error


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the known name that looks like an unknown one; empty if none does.

    >>> did_you_mean("duel+beta", ["dual+beta", "ccs"]), did_you_mean("x", ["dual+beta", "ccs"])
    (' Did you mean dual+beta?', '')
    """
    matches = get_close_matches(name, known, n=1)
    return f" Did you mean {matches[0]}?" if matches else ""
