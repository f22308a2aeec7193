"""Item sets: read, written, and the built-in facts benchmark with the gazetteer that grades wrong answers to it."""

from typing import TYPE_CHECKING, Any

from richter.bench._gazetteer import Entity, Gazetteer, pack, read_gazetteer
from richter.bench._items import read_items, write_bytes, write_items
from richter.bench._normalise import content_words, is_refusal, matches_reference, normalise, statements
from richter.bench._text import normalise_name

if TYPE_CHECKING:
    from richter.bench._facts import DOMAINS, FactsBench, build_facts

__all__ = [
    "DOMAINS",
    "Entity",
    "FactsBench",
    "Gazetteer",
    "build_facts",
    "content_words",
    "is_refusal",
    "matches_reference",
    "normalise",
    "normalise_name",
    "pack",
    "read_gazetteer",
    "read_items",
    "statements",
    "write_bytes",
    "write_items",
]


def __getattr__(name: str) -> Any:
    if name in ("DOMAINS", "FactsBench", "build_facts"):  # loaded when the benchmark is built, not when items are read
        from richter.bench import _facts

        return getattr(_facts, name)
    raise AttributeError(f"module 'richter.bench' has no attribute {name!r}")
