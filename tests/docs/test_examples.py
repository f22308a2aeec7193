"""Every public function of the rooms that compute is called on the page of examples, and what it returns has names."""

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "examples.md"
ROOMS = ("stats", "claims", "severity", "tail", "calibration", "floors")
INSIDE = {"evaluate_gates"}  # of the parts of a comparison, which `compare_tails` makes and hands to it


def public(room: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    module = importlib.import_module(f"richter.{room}")
    for name in module.__all__:
        value = getattr(module, name)
        if not name.startswith("_") and inspect.isfunction(value) and value.__module__.startswith(f"richter.{room}."):
            yield name, value


@pytest.mark.parametrize("room", ROOMS)
def test_every_function_has_an_example(room: str) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    nodes = [node for block in blocks for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Call)]
    called = {n.func.attr for n in nodes if isinstance(n.func, ast.Attribute) and ast.unparse(n.func.value) == room}
    assert not [name for name, _ in public(room) if name not in called | INSIDE]
