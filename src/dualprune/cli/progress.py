"""Say how far a training is: one line that is rewritten on a terminal, plain lines elsewhere."""

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dualprune.train import Progress, Tell

_SECONDS = 5.0  # between plain lines; logs are read by people too


def watch(title: str) -> "Tell":
    """Give what `fit` tells after every epoch to standard error."""
    return _Line(title).tell


class _Line:
    def __init__(self, title: str) -> None:
        self._title = title
        self._start = self._last = time.perf_counter()
        self._epochs = 0
        self._terminal = sys.stderr.isatty()

    def tell(self, progress: "Progress") -> None:
        now, done = time.perf_counter(), progress.epoch == progress.epochs
        self._epochs += 1
        if not (self._terminal or done or now - self._last > _SECONDS):
            return
        self._last = now
        each = (now - self._start) / self._epochs
        left = each * (progress.epochs - progress.epoch)
        line = _line(self._title, progress, now - self._start if done else left)
        start, end = ("\r\x1b[K", "\n" if done else "") if self._terminal else ("", "\n")
        sys.stderr.write(start + line + end)
        sys.stderr.flush()


def _line(title: str, progress: "Progress", seconds: float) -> str:
    parts = [f"{title}: epoch {progress.epoch} of {progress.epochs}", f"loss {progress.loss:.3f}"]
    if progress.accuracy is not None:
        parts.append(f"accuracy {progress.accuracy:.1%}")
    left = "" if progress.epoch == progress.epochs else " left"
    return ", ".join([*parts, duration(seconds) + left])


def duration(seconds: float) -> str:
    """Say a time as people do.

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
