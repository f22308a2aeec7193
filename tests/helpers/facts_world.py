"""The sources of the facts benchmark, read once for all tests that one process runs."""

from functools import cache

import pytest

from richter.errors import MissingPart
from richter_audit.bench import World

__all__ = ["world"]


@cache
def world() -> World:
    try:
        made = World()
        assert made.versions
        assert made.elements
    except MissingPart as error:
        pytest.skip(str(error))
    return made
