"""From a model to signals: everything that needs torch to be recorded."""

from dualprune.errors import needing

with needing("torch"):
    from dualprune.record.indexed import Indexed
    from dualprune.record.recorder import Recorder
    from dualprune.record.signals import Outputs

__all__ = ["Indexed", "Outputs", "Recorder"]
