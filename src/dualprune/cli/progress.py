"""Print progress: one line that is rewritten on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualprune.train import Progress, Tell

_SECONDS = 5.0  # between plain lines; logs are read by people too


def watch(title: str) -> "Tell":
    """Give a callback that writes the progress after every epoch to standard error."""
    return _Line(title).tell


class _Line:
    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._last = time.perf_counter()
        self._epochs = 0
        self._terminal = sys.stderr.isatty()

    def tell(self, progress: "Progress") -> None:
        now = time.perf_counter()
        left = 0 if progress.settled else progress.epochs - progress.epoch
        self._epochs += 1
        if self._terminal or not left or now - self._last > _SECONDS:
            self._last = now
            start, end = ("\r\x1b[K", "" if left else "\n") if self._terminal else ("", "\n")
            sys.stderr.write(start + self._line(progress, now - self._start, left) + end)
            sys.stderr.flush()

    def _line(self, progress: "Progress", seconds: float, left: int) -> str:
        accuracy = "" if progress.accuracy is None else f", accuracy {progress.accuracy:.1%}"
        clock = f"{duration(seconds / self._epochs * left)} left" if left else duration(seconds)
        epoch = f"{self._title}: epoch {progress.epoch} of {progress.epochs}"
        settled = ", what would be kept hardly changes any more" if progress.settled else ""
        return f"{epoch}, loss {progress.loss:.3f}{accuracy}, {clock}{settled}"


def count_to(what: str) -> Callable[[int, int], None]:
    """Give a callback that prints how many of all are finished, and how long the rest takes.

    On a terminal it prints every time, elsewhere now and then.
    """
    start = last = time.monotonic()
    terminal = sys.stderr.isatty()

    def tell(number: int, total: int) -> None:
        nonlocal last
        if terminal or time.monotonic() - last > _SECONDS:
            last = time.monotonic()
            left = duration((last - start) / number * (total - number))
            before, after = (
                ("\r\x1b[K", "\n" if number == total else "") if terminal else ("", "\n")
            )
            sys.stderr.write(f"{before}{what} {number:,} of {total:,}, {left} left{after}")
            sys.stderr.flush()

    return tell


def duration(seconds: float) -> str:
    """Write a time in seconds, in minutes or in hours.

    >>> duration(4.23), duration(75), duration(7300)
    ('4.2 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
