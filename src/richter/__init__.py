"""Statistical checks for LLM evals: is the difference real, how bad are the errors, is there enough data?

>>> import richter
>>> result = richter.compare({"old": [1, 0, 1, 0] * 50, "new": [1, 1, 1, 0] * 50})
>>> result["old", "new"].verdict.value
'verified'

`richter.open(data)` gives opened data, whose methods `calibration`, `severity`, `tail` and `watch` put the other
questions; the modules of these names hold the estimators.
"""

import typing as _typing
from importlib import import_module as _import_module

if _typing.TYPE_CHECKING:
    from richter.errors import InputError, PlanError, ReadingProposed, RichterError, RichterWarning, UnconfirmedReading
    from richter.notebook import assert_no_worse, compare, gate, paired, size, unpaired
    from richter.notebook import open_run as open  # noqa: A004 - read as richter.open

__version__ = "1.0.0.dev0"

_ROOMS = ("calibration", "floors", "severity", "stats", "tail")
_ERRORS = ("InputError", "PlanError", "ReadingProposed", "RichterError", "RichterWarning", "UnconfirmedReading")
# where each name is; a file is loaded when its name is first used, so that `import richter` stays light
_NAMES = {
    "assert_no_worse": ("notebook", "assert_no_worse"),
    "compare": ("notebook", "compare"),
    "gate": ("notebook", "gate"),
    "open": ("notebook", "open_run"),
    "paired": ("notebook", "paired"),
    "size": ("notebook", "size"),
    "unpaired": ("notebook", "unpaired"),
    **{name: ("errors", name) for name in _ERRORS},
}
__all__ = [
    "InputError", "PlanError", "ReadingProposed", "RichterError", "RichterWarning", "UnconfirmedReading", "__version__",
    "assert_no_worse", "compare", "gate", "open", "paired", "size", "unpaired", *_ROOMS,
]  # fmt: skip


def __getattr__(name: str) -> _typing.Any:
    if name in _ROOMS:
        return _import_module(f"richter.{name}")
    if name in _NAMES:
        room, own = _NAMES[name]
        value = globals()[name] = getattr(_import_module(f"richter.{room}"), own)
        return value
    raise AttributeError(f"module 'richter' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
