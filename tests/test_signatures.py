"""What every public function calls the same: `rng`, `level` and `n_resamples`, by name only and of one kind."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin

import pytest

import richter
import richter_audit

KINDS = {"rng": "Generator", "level": "float", "n_resamples": "int"}
OTHER_NAMES = {"random_state", "confidence_level", "conf_level", "n_boot", "n_bootstrap", "resamples"}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    rooms = [
        *pkgutil.iter_modules(richter.__path__, "richter."),
        *pkgutil.iter_modules(richter_audit.__path__, "richter_audit."),
    ]
    for room in rooms:
        if not room.ispkg or room.name in ("richter.plugins", "richter_audit.inspect"):
            continue
        module = importlib.import_module(room.name)
        for name in getattr(module, "__all__", ()):
            found = getattr(module, name)
            if inspect.isfunction(found):
                yield f"{room.name}.{name}", found


FUNCTIONS = dict(public())


def test_there_are_public_functions() -> None:
    assert len(FUNCTIONS) > 100


@pytest.mark.parametrize("word", list(KINDS))
def test_a_word_is_given_by_name_and_means_one_thing(word: str) -> None:
    faults = []
    for name, function in FUNCTIONS.items():
        given = inspect.signature(function).parameters.get(word)
        if given is not None and (given.kind is not given.KEYWORD_ONLY or KINDS[word] not in str(given.annotation)):
            faults.append(f"{name}({given})")
    assert not faults


def test_nobody_calls_them_otherwise() -> None:
    names = {p for f in FUNCTIONS.values() for p in inspect.signature(f).parameters}
    assert not names & OTHER_NAMES


def test_nobody_returns_a_bare_tuple() -> None:
    """Several things have names; a tuple of any length is many of one thing."""
    returned = {name: inspect.signature(function).return_annotation for name, function in FUNCTIONS.items()}
    assert not [name for name, kind in returned.items() if get_origin(kind) is tuple and get_args(kind)[-1:] != (...,)]
