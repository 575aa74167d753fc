"""The errors this package raises on purpose.

Each one says what was given, what is possible and what to do, and is also the builtin that a caller
would catch. Any other exception that escapes is a bug.
"""


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
