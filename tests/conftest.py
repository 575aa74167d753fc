"""For tests of commands: `dualprune(*words)` gives exit code, what was printed, what was said."""

import sys

import pytest

from dualprune.cli.__main__ import main


@pytest.fixture
def dualprune(monkeypatch, capsys):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["dualprune", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code or 0, printed.out, printed.err

    return call
