"""Every place in a document that can be edited, and those that are taken as given."""

from collections.abc import Iterator
from typing import Any

from richter.audit._verify import AS_STATED, OF_THE_PROGRAM

Step = str | int


def leaves(value: Any, path: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The place of every value in a document that holds no others; empty lists and objects are such."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for step, child in children:
        found = True
        yield from leaves(child, (*path, step))
    if not found:
        yield path


def is_given(path: tuple[Step, ...]) -> bool:
    names = [str(step) for step in path]
    return bool(OF_THE_PROGRAM & {*names}) or " ".join(names).startswith(AS_STATED)
