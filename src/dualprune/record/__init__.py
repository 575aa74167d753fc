"""From a model to signals: everything that needs torch to be recorded."""

from dualprune.record.indexed import Indexed
from dualprune.record.recorder import Recorder

__all__ = ["Indexed", "Recorder"]
