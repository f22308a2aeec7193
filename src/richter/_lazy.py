"""How every room loads: a file is read when one of its names is first used.

A file says in its `__all__` which of its names the room exports; the room's `__init__` imports them for type checkers
alone. Asking a model need not wait for all the statistics to load.
"""

import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

_EXPORTS = re.compile(r"^__all__ = \[(.*?)\]", re.MULTILINE | re.DOTALL)


def lazy(room: str) -> None:
    """Give the module `room` an `__all__`, a `__dir__` and a `__getattr__` for the names its files export."""
    module = sys.modules[room]
    files: dict[str, str] = {}
    for path in sorted(Path(module.__path__[0]).glob("_[a-z]*.py")):
        exported = _EXPORTS.search(path.read_text("utf-8"))
        files |= dict.fromkeys(re.findall(r'"(\w+)"', exported.group(1)), path.stem) if exported else {}

    def load(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        value = getattr(import_module(f"{room}.{files[name]}"), name)
        setattr(module, name, value)
        return value

    vars(module).update(
        __all__=sorted(files), __getattr__=load, __dir__=lambda: sorted({*vars(module), *files})
    )  # `dir` finds what is not loaded yet: documentation and completion go by it
