"""The command `richter`: parse, call one function, print."""

from richter.cli._main import main

__all__ = ["main"]
