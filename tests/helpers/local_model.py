"""The built-in model for tests: fetched once, or the test skips and says why."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from richter.errors import RichterError
from richter.models import smollm2_path


def need_smollm2(*packages: str) -> Path:
    """The weights of SmolLM2; skips where they, llama.cpp or one of `packages` cannot be had."""
    for package in ("xllamacpp", *packages):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    try:
        return smollm2_path()
    except RichterError as error:
        pytest.skip(str(error))
