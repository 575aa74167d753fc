"""Commands as a user types them: in this process or in one of their own, which can be killed."""

import io
import json
import os
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout

import pytest

from dualprune.cli.__main__ import main

DUALPRUNE = ("-m", "dualprune")


def dualprune(*words):
    """Give the exit code of a command, and what it wrote to standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["dualprune", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
    return stop.value.code or 0, out.getvalue(), err.getvalue()


def start(*words):
    command, pipe = [sys.executable, *map(str, words)], subprocess.PIPE
    own = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=own)


def process(*words):
    """Give the same of a process of its own."""
    with start(*words) as started:
        try:
            printed, said = started.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            started.terminate()  # torchrun passes it on
            raise
    return started.returncode, printed, said


def killed_when(sign, *words):
    with start(*DUALPRUNE, *words) as started:
        while not sign():
            assert started.poll() is None, f"it ended by itself: {started.communicate()}"
            time.sleep(0.001)
        started.kill()
    assert started.returncode == -9


def contents(path):
    return json.loads(path.read_text())


def files(folder):
    return {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if not p.is_dir()}
