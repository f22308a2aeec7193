"""Item sets: read, written, and the built-in facts benchmark with the gazetteer that grades wrong answers to it."""

from typing import TYPE_CHECKING, Any

from richter.bench._cached import cached_facts
from richter.bench._card import BUILD, write_card
from richter.bench._gazetteer import Entity, Gazetteer, beside, pack, read_gazetteer
from richter.bench._graders import GRADERS, Graders, choose_grader, choose_graders, grade_answer
from richter.bench._items import read_items, write_bytes, write_items
from richter.bench._normalise import content_words, is_refusal, matches_reference, normalise, statements
from richter.bench._text import normalise_name
from richter.bench._wordings import word

if TYPE_CHECKING:
    from richter.bench._facts import DOMAINS, FactsBench, build_facts
    from richter.bench._paragraphs import FACT_PARTS, fact_documents
    from richter.bench._world import World

__all__ = [
    "BUILD",
    "DOMAINS",
    "FACT_PARTS",
    "GRADERS",
    "Entity",
    "FactsBench",
    "Gazetteer",
    "Graders",
    "World",
    "beside",
    "build_facts",
    "cached_facts",
    "choose_grader",
    "choose_graders",
    "content_words",
    "fact_documents",
    "grade_answer",
    "is_refusal",
    "matches_reference",
    "normalise",
    "normalise_name",
    "pack",
    "read_gazetteer",
    "read_items",
    "statements",
    "word",
    "write_bytes",
    "write_card",
    "write_items",
]


def __getattr__(name: str) -> Any:
    if name in ("DOMAINS", "FactsBench", "build_facts"):  # loaded when the benchmark is built, not when items are read
        from richter.bench import _facts

        return getattr(_facts, name)
    if name in ("FACT_PARTS", "fact_documents"):
        from richter.bench import _paragraphs

        return getattr(_paragraphs, name)
    if name == "World":
        from richter.bench import _world

        return _world.World
    raise AttributeError(f"module 'richter.bench' has no attribute {name!r}")
