"""The ufuncs of `scipy.special` by name, without the rest of that package.

Importing `scipy.special` loads what it needs for other array libraries: some 0.15 s, while its ufuncs take 0.01 s.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import scipy

_PACKAGE = "scipy.special"


def _load_ufuncs() -> ModuleType:
    """The compiled module of ufuncs; the package itself where scipy lays it out in another way."""
    if _PACKAGE in sys.modules:
        return sys.modules[_PACKAGE]
    package = ModuleType(_PACKAGE)  # stands in while the compiled modules load, so that no file of the package runs
    package.__path__ = [f"{folder}/special" for folder in scipy.__path__]
    sys.modules[_PACKAGE] = package
    try:
        return import_module(f"{_PACKAGE}._ufuncs")
    except ImportError:
        sys.modules.pop(_PACKAGE)
        return import_module(_PACKAGE)
    finally:
        if sys.modules.get(_PACKAGE) is package:
            del sys.modules[_PACKAGE]


_UFUNCS = _load_ufuncs()


def __getattr__(name: str) -> Any:
    return getattr(_UFUNCS, name)
