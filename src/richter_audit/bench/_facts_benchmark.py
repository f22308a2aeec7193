"""The facts benchmark: eight domains, five tiers, drawn by hashing so that every machine draws alike."""

import contextlib
import dataclasses
import gc
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from richter.errors import InputError, StorageError
from richter.records import Item, Result
from richter.store import cache_folder, write_file
from richter_audit.bench._aviation import aviation
from richter_audit.bench._cities import cities
from richter_audit.bench._computing import computing
from richter_audit.bench._countries import countries
from richter_audit.bench._drafts import TEMPLATES, Cell, finish
from richter_audit.bench._elements import elements
from richter_audit.bench._gazetteer import Gazetteer, gather, pack
from richter_audit.bench._items import write_items
from richter_audit.bench._languages import languages
from richter_audit.bench._money import money
from richter_audit.bench._regions import regions
from richter_audit.bench._text_order import order_by_hash
from richter_audit.bench._world import World

__all__ = ["DOMAINS", "CellPlace", "FactsBench", "build_facts", "cached_facts", "cell_of"]

DOMAINS = {
    "cities": cities,
    "countries": countries,
    "regions and zones": regions,
    "money": money,
    "aviation": aviation,
    "elements and isotopes": elements,
    "languages": languages,
    "computing codes": computing,
}
TIERS = 5


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """Without Python's search for cycles, which costs a third of the time while a million small objects are made."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FactsBench(Result):
    """The items, the gazetteer that grades wrong answers to them, and what reproduces both."""

    unwritten: ClassVar = ("items", "world")
    derived: ClassVar = ("size",)
    named: ClassVar = {"size": "items"}

    items: tuple[Item, ...]
    world: World
    seed: int
    versions: dict[str, str]

    @property
    def size(self) -> int:
        """How many items there are."""
        return len(self.items)

    @property
    @_without_gc()
    def gazetteer(self) -> Gazetteer:
        """Made of all sources when it is asked for."""
        return gather(self.world)


@_without_gc()
def build_facts(
    *, items: int, seed: int, world: World | None = None, domains: Sequence[str] = tuple(DOMAINS)
) -> FactsBench:
    """Build the facts benchmark: `items` questions, balanced over the domains and 5 tiers to within one.

    The items are the first `items` of one sequence that depends on the seed, the domains and the versions of the data
    packages alone: a smaller benchmark is the beginning of a larger one.
    """
    if items < 1:
        raise InputError(f"--items {items} is not a number of items.", remedy="Ask for at least 1.")
    world = world or World()  # one that is already read saves seconds
    versions = world.versions
    names = list(domains)
    streams: dict[tuple[int, int], Iterator[Item]] = {}
    for d, name in enumerate(names):
        cells = DOMAINS[name](world)
        prompts: set[str] = set()
        for tier in range(TIERS):
            own = [cell for cell in cells if cell.tier == tier + 1]
            streams[d, tier] = _draw(name, own, seed, prompts)
    built: list[Item] = []
    for j in range(items):
        d, tier = cell_of(j, len(names))
        item = next(streams[d, tier], None)
        if item is None:
            raise InputError(
                f"--items {items}: the facts run out at {j} ({names[d]}, tier {tier + 1}).",
                remedy=f"Ask for at most {j} items.",
            )
        built.append(item)
    return FactsBench(items=tuple(built), world=world, seed=seed, versions=versions)


class CellPlace(NamedTuple):
    """A domain and a tier by their numbers from 0."""

    domain: int
    tier: int


def cell_of(j: int, domains: int) -> CellPlace:
    """The cell of position j: domain j mod 8 and tier j mod 5, which visits all 40 cells before it comes back.

    Where 5 divides the number of domains the tiers go on after each round of the domains.
    """
    return CellPlace(j % domains, (j if domains % TIERS else j // domains) % TIERS)


def _draw(domain: str, cells: list[Cell], seed: int, prompts: set[str]) -> Iterator[Item]:
    """The items of one domain and tier: its relations take turns by weight, each in an order set by the seed.

    `prompts` are those that the domain has asked before, in any tier.
    """
    waiting = {i: iter(order_by_hash(cell.facts, seed, domain, cell.relation)) for i, cell in enumerate(cells)}
    given = dict.fromkeys(waiting, 0)
    while waiting:
        turn = min(waiting, key=lambda i: ((given[i] + 1) / cells[i].weight, i))
        item = None
        for fact in waiting[turn]:
            item = finish(domain, cells[turn], fact)
            if item and item.prompt not in prompts:
                break
            item = None
        if item is None:
            del waiting[turn]
            continue
        given[turn] += 1
        prompts.add(item.prompt)
        yield item


def cached_facts(*, items: int, seed: int = 0) -> Path:
    """The items' file, its gazetteer beside it; built where this number, seed and versions were not built before."""
    versions = World().versions
    files = [*sorted(Path(__file__).parent.glob("*.py")), TEMPLATES]  # other code, other questions
    code = [file.read_bytes() for file in files]
    key = hashlib.sha256(repr(sorted(versions.items())).encode() + b"".join(code)).hexdigest()[:12]
    target = cache_folder() / f"facts-{key}" / f"facts-{items}-{seed}.jsonl"
    if not target.is_file():
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"{target.parent} cannot be made: {error.strerror}."
            raise StorageError(what, remedy="Set RICHTER_CACHE to a folder that can be written.") from error
        built = build_facts(items=items, seed=seed)
        write_file(target.with_name(f"{target.stem}.gazetteer.json.gz"), pack(built.gazetteer))
        write_items(built.items, target)  # last: a file that is there is whole
    return target
