"""The names that Inspect gives."""

from collections.abc import Callable
from typing import Any, TypeVar

Made = TypeVar("Made", bound=Callable[..., Any])


def in_namespace_richter(function: Made) -> Made:
    """The function, defined for Inspect in the package `richter`: it names tasks and scorers by their package."""
    function.__module__ = "richter.plugins.inspect"
    return function
