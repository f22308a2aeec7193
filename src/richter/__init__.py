"""Richter finds a language model's errors, weighs them, and says what the evidence can carry."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_ROOMS = ("calibration", "floors", "severity", "stats", "tail")  # loaded on first use: `import richter` stays light
__all__ = ["__version__", *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"richter.{name}")
    raise AttributeError(f"module 'richter' has no attribute {name!r}")
