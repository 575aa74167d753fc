"""Stand between Python code and the system, for files below one folder."""

import builtins
import contextlib
import io
import os

import pyarrow.parquet as pq

NAMES = ("open", "mkdir", "rmdir", "unlink", "rename", "replace", "stat", "lstat", "listdir")
NAMES += ("scandir", "symlink", "readlink")
NAMES += ("write", "fsync", "fstat", "pread", "close")  # of a descriptor


@contextlib.contextmanager
def between(around, home):
    """Hand every call to `around(call, name, *arguments)` instead.

    These are functions of `os`, `open` with the reads and writes of its files, and Arrow's opening
    of a file, whose reading is out of reach.
    """
    descriptors = set()

    def concerns(where):
        if isinstance(where, int):
            return where in descriptors
        return isinstance(where, str | os.PathLike) and os.fspath(where).startswith(f"{home}/")

    def instead(name, call):
        def handed_over(where, *rest, **more):
            if not concerns(where):
                return call(where, *rest, **more)
            if name == "close":
                descriptors.discard(where)
            result = around(lambda *given: call(*given, **more), name, where, *rest)
            if isinstance(result, int) and name == "open":
                descriptors.add(result)
            return result

        return handed_over

    class Raw(io.FileIO):
        def readall(self):
            return around(super().readall, "read")

        def readinto(self, buffer):
            return around(super().readinto, "read", buffer)

        def write(self, data):
            return around(super().write, "write", data)

        def close(self):
            if not self.closed:
                descriptors.discard(self.fileno())
            super().close()

    def open_file(file, mode="r", buffering=-1, *rest, **more):
        raw = Raw(file, mode.replace("b", "").replace("t", ""))
        descriptors.add(raw.fileno())
        one_way = io.BufferedReader if mode[0] == "r" else io.BufferedWriter
        buffer = (io.BufferedRandom if "+" in mode else one_way)(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, *rest, **more)

    def choose_open(file, *rest, plain=io.open, **more):
        return (open_file if concerns(file) else plain)(file, *rest, **more)

    new = [(os, name, instead(name, getattr(os, name))) for name in NAMES]
    new += [(place, "open", instead("open", choose_open)) for place in (io, builtins)]
    new += [(pq, "ParquetFile", instead("open", pq.ParquetFile))]
    old = [(place, name, getattr(place, name)) for place, name, _ in new]
    try:
        for change in new:
            setattr(*change)
        yield
    finally:
        for change in old:
            setattr(*change)
