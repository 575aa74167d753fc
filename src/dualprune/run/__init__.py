"""Run: what a recording left on disk; the only reader and writer of that format."""

from dualprune.run.reader import Run
from dualprune.run.values import RunWriter

__all__ = ["Run", "RunWriter"]
