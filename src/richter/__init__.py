"""Richter finds a language model's errors, weighs them, and says what the evidence can carry."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from richter.audit import Run
    from richter.interop import Source

__version__ = "0.1.0"

_ROOMS = ("calibration", "floors", "severity", "stats", "tail")  # loaded on first use: `import richter` stays light
__all__ = ["__version__", "open", *_ROOMS]


def open(*sources: "Source", **options: Any) -> "Run":  # noqa: A001 - read as richter.open
    """Open runs, tables, other tools' logs, or polars or pandas frames, to put questions to them.

    `ratings` says whose severities count where there are several kinds ("human", "judge", "rule"), `options` how a
    source is read (`richter.tables.ReadOptions`), `confirm` to go on where that was inferred. What comes back has
    `compare`, `severity`, `calibration`, `tail`, `floors`, `gate`, `measure`, `findings` and the records: `conditions`,
    `table("rows")`.
    """
    run: Run = import_module("richter.audit").open_run(*sources, **options)
    return run


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"richter.{name}")
    raise AttributeError(f"module 'richter' has no attribute {name!r}")
