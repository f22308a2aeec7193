"""How every room loads: a file is read when one of its names is first used; and what other packages add.

A file says in its `__all__` which of its names the room exports; the room's `__init__` imports them for type checkers
alone. Asking a model need not wait for all the statistics to load.
"""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from richter.errors import missing_package_error

_EXPORTS = re.compile(r"^__all__ = \[(.*?)\]", re.MULTILINE | re.DOTALL)


def lazy(room: str, *, public: tuple[str, ...] | None = None) -> None:
    """Give the module `room` an `__all__`, a `__dir__` and a `__getattr__` for the names its files export.

    `public` are the names that users call, which `dir` lists; None: all. The others are there for other rooms.
    """
    module = sys.modules[room]
    files: dict[str, str] = {}
    for path in sorted(Path(module.__path__[0]).glob("_[a-z]*.py")):
        exported = _EXPORTS.search(path.read_text("utf-8"))
        files |= dict.fromkeys(re.findall(r'"(\w+)"', exported.group(1)), path.stem) if exported else {}

    def load(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(load_module(f"{room}.{files[name]}"), name)
        setattr(module, name, value)
        return value

    vars(module).update(
        __all__=sorted(files), __getattr__=load,
        __dir__=lambda: sorted({*vars(module), *files} if public is None else public),
    )  # fmt: skip
    # `dir` finds what is not loaded yet: completion goes by it


def load_module(name: str) -> ModuleType:
    """A module of Richter; where a package that it needs is missing, the error says which line installs it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        missing = missing_package_error(error.name or "")
        if missing is None:
            raise
        raise missing from error


def load_entry_point(group: str, name: str) -> Any:
    """What an installed package has registered under this name of a group; None where none has."""
    from importlib.metadata import entry_points  # takes longer than all else that a start loads

    for point in entry_points(group=group, name=name):
        load_module(point.module)
        return point.load()
    return None
