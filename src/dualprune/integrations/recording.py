"""What the callbacks of trainers share: a Recorder that begins late and never stops a training."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch import Tensor

from dualprune.record import Recorder
from dualprune.run.attempts import find_epochs, finished


class Recording:
    """One training's recording, active once the trainer says so; the first batch begins it.

    Parameters
    ----------
    make
        Gives the Recorder for `samples`, `classes` and `start_epoch`.
    strict
        Let an error of the recording stop the training. Otherwise it is a warning, the recording
        ends and the training goes on.
    """

    def __init__(self, path: Path, make: Callable[..., Recorder], *, strict: bool) -> None:
        self.path, self._make, self._strict = path, make, strict
        self.active, self.unfinished = False, False
        self.recorder: Recorder | None = None
        self.memory: Mapping[str, Tensor] = {}
        """What signals such as `kl_step` remembered at the checkpoint."""
        self.not_recorded = 0
        """Epochs of this training before the first one of the run."""

    @contextmanager
    def no_harm(self) -> Iterator[None]:
        """Let the training go on, whatever the recording runs into, unless it is strict."""
        try:
            yield
        except Exception as error:
            if self._strict:
                raise
            self.active = False
            warnings.warn(
                f"recording into {self.path} has ended, training goes on: {error}",
                RuntimeWarning,
                stacklevel=4,
            )

    def begin(self, epoch: int, samples: int, classes: int | None) -> Recorder:
        """Make the Recorder for this epoch of the training, counted from 1, or the next possible.

        A run that lacks epochs before it, as where recording begins later, has them closed up.
        """
        possible = len(finished(find_epochs(self.path))) + 1
        wanted = max(1, epoch - self.not_recorded)
        if possible < wanted:
            warnings.warn(
                f"{self.path} holds {possible - 1} epochs and the training resumes at epoch "
                f"{epoch}: it is recorded as epoch {possible}",
                stacklevel=5,
            )
        self.recorder = self._make(
            samples=samples, classes=classes, start_epoch=min(wanted, possible)
        )
        self.recorder.load_state_dict(self.memory)
        self.not_recorded = epoch - self.recorder.epoch
        return self.recorder

    def end_epoch(self, step: int | None = None) -> None:
        """Make the epoch durable, if it has rows."""
        if self.active and self.unfinished and self.recorder is not None:
            with self.no_harm():
                self.recorder.end_epoch(step=step)
                self.unfinished = False
