"""A command in this process: how it ended, and what it said on both streams in one line."""

import shlex
from collections.abc import Sequence

import pytest

from richter.cli import main


def run(capsys: pytest.CaptureFixture[str], line: str | Sequence[str]) -> tuple[int, str]:
    """Run a command line, as a text or in its words; a traceback is a fault whatever the test is about."""
    with pytest.raises(SystemExit) as stop:
        main(shlex.split(line) if isinstance(line, str) else list(line))
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return int(stop.value.code or 0), " ".join((out + err).split())
