"""The facts knowledge base: every place, airfield, language, division and isotope of the sources, in our sentences.

Each paragraph carries the structured facts behind it as questions (see `_wordings`), so that a search can ask about
it without a language model, and attributes by which its errors can be contrasted.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from scipy.spatial import cKDTree

from richter.records import Document, Paragraph, Question
from richter_audit.bench._place_names import DISPUTED
from richter_audit.bench._text_order import leaks, normalise_name
from richter_audit.bench._world import City, World, load_package

__all__ = ["FACT_PARTS", "fact_documents"]

T = TypeVar("T")
FACT_PARTS = ("places", "airfields", "divisions", "languages", "isotopes")
LARGE = 100_000  # people: the cities that others are said to be near
EARTH_KM = 6371.0
PEOPLE_STEPS = (0.04, 0.2, 5.0, 25.0)  # wrong populations, as multiples of the right one


def fact_documents(world: World, *, parts: Sequence[str] = FACT_PARTS) -> Iterator[Document]:
    """All documents, or those of some parts, in an order that depends on the sources alone."""
    facts = _Facts(world)
    for part in FACT_PARTS:
        if part in parts:
            yield from getattr(facts, part)()


def _number(*parts: object) -> int:
    return int.from_bytes(hashlib.blake2b("|".join(map(str, parts)).encode(), digest_size=16).digest(), "big")


def _some(pool: Sequence[T], count: int, number: int, *, but: Sequence[T] = ()) -> list[T]:
    """Up to `count` different members of the pool, chosen by the number alone."""
    chosen: list[T] = []
    for _ in range(8 * count):
        if len(chosen) == count or not pool:
            break
        number, index = divmod(number, len(pool))
        number = number or _number(index, len(chosen), pool[index])
        if pool[index] not in chosen and pool[index] not in but:
            chosen.append(pool[index])
    return chosen


def _round(people: int) -> str:
    """Two digits, with commas."""
    return f"{round(people, 2 - len(str(max(people, 1)))):,}"


class _Facts:
    def __init__(self, world: World) -> None:
        self.world = world

    # ---- what wrong answers are taken from --------------------------------------------------------------------------

    @cached_property
    def _lands(self) -> dict[str, tuple[list[str], list[str], list[str]]]:
        """For each country the names of its neighbours, of others on its continent, of well-known ones elsewhere."""
        lands = self.world.countries
        states = [lands[c] for c in self.world.states]
        table = {}
        for code, own in lands.items():
            near = [lands[c].the_name for c in own.neighbours if lands[c].asked]
            same = [c.the_name for c in states if c.continent == own.continent and c.code != code]
            far = [c.the_name for c in states[:90] if c.continent != own.continent]
            table[code] = (near, same, far)
        return table

    def _wrong_lands(self, code: str, number: int) -> list[str]:
        near, same, far = self._lands[code]
        first = _some(near, 1, number)
        second = _some(same, 2 - len(first), number >> 16, but=first)
        return [*first, *second, *_some(far, 3 - len(first) - len(second), number >> 32)]

    @cached_property
    def _division_names(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = defaultdict(list)
        for region in self.world.regions.values():
            if region.name not in table[region.country]:
                table[region.country].append(region.name)
        return table

    @cached_property
    def _zones_of_area(self) -> dict[str, list[str]]:
        table: dict[str, list[str]] = defaultdict(list)
        for zone in self.world.zones:
            table[zone.split("/")[0]].append(zone)
        return table

    def _country(self, relation: str, code: str, number: int, **slots: str) -> Question:
        country = self.world.countries[code]
        return _question(relation, country.the_name, self._wrong_lands(code, number), country.aliases, **slots)

    def _zone(self, zone: str, code: str, number: int, subject: str) -> Question | None:
        own = self.world.country_zones.get(code, ())  # another zone of the same land may keep the same time
        wrong = _some(self._zones_of_area.get(zone.split("/")[0], []), 3, number, but=(zone, *own))
        if len(wrong) < 3:
            return None
        return _question("place-zone", zone, wrong, subject=subject)

    # ---- places -----------------------------------------------------------------------------------------------------

    @cached_property
    def _large(self) -> tuple[cKDTree, list[City]]:
        cities = [c for c in self.world.cities.values() if c.population >= LARGE]
        return cKDTree(_points([(c.lat, c.lon) for c in cities])), cities

    def places(self) -> Iterator[Document]:
        """One document for each division of a country, one paragraph for each place that can be named without doubt."""
        world = self.world
        twins = Counter((c.key, c.region) for c in world.cities.values())
        groups: dict[str, list[tuple[City, str]]] = defaultdict(list)
        for city in world.cities.values():
            called = self._call(city, twins)
            if called:
                groups[city.region].append((city, called))
        for key in sorted(groups):
            region, own = world.regions[key], groups[key]
            land = world.countries[region.country]
            paragraphs = self._place_paragraphs(own)
            names = ", ".join(called for _, called in own[:12])
            yield Document(
                title=f"{region.name}, {land.name}",
                abstract=f"{region.name} is a division of {land.the_name}. Places in {region.name}, {land.name}: "
                f"{names}.",
                paragraphs=tuple(paragraphs),
            )

    def _call(self, city: City, twins: Counter[tuple[str, str]]) -> str:
        """How the base names a place: as the benchmark does, else by name and division where that is enough."""
        world = self.world
        if called := world.call(city):
            return called
        region = world.regions.get(city.region)
        if region is None or not world.countries[city.country].asked or city.region in DISPUTED:
            return ""
        if twins[city.key, city.region] > 1 or not city.key.isascii() or len(city.key) < 3:
            return ""
        if any(ch.isdigit() or ch in "()/," for ch in city.name) or normalise_name(region.name) == city.key:
            return ""
        return f"{city.name} in {region.name}"

    def _place_paragraphs(self, own: list[tuple[City, str]]) -> Iterator[Paragraph]:
        tree, large = self._large
        km, index = tree.query(_points([(c.lat, c.lon) for c, _ in own]), k=min(8, len(large)))
        for (city, called), distances, neighbours in zip(own, km, index, strict=True):
            near = [
                (large[i], 2 * EARTH_KM * float(np.arcsin(min(1.0, d / 2))))
                for d, i in zip(distances, neighbours, strict=True)
                if large[i].id != city.id
            ]
            yield self._place(city, called, near)

    def _place(self, city: City, called: str, near: list[tuple[City, float]]) -> Paragraph:
        world = self.world
        country, region = world.countries[city.country], world.regions[city.region]
        kind = "city" if city.population >= 50_000 else "town"
        number = _number(city.id)
        people = _round(city.population)
        nearest, km = near[0]
        inhabited = f" of about {people} people" if city.population else ""
        text = (
            f"{called} is a {kind}{inhabited} in {region.name}, {country.the_name}. Its clocks follow {city.zone}. "
            f"The nearest other city of over 100,000 people is {nearest.name}, {_round(round(km))} km away."
        )
        questions = [
            self._country("place-country", city.country, number, subject=called, kind=kind),
            self._region(city, called, number >> 8),
            self._zone(city.zone, city.country, number >> 16, called),
            self._nearest(called, near),
            _people(called, city.population, number),
        ]
        return Paragraph(
            text=text,
            category=country.name,
            attributes={"domain": "places", "continent": country.continent, "size": _band(city.population)}
            | {"country": country.name},
            questions=_sound(questions),
        )

    def _region(self, city: City, called: str, number: int) -> Question | None:
        region = self.world.regions[city.region]
        pool = self._division_names[city.country]
        wrong = _some(pool, 3, number, but=(region.name, *region.aliases))
        if region.mixed or len(wrong) < 3:
            return None
        land = self.world.countries[city.country].the_name
        return _question("place-region", region.name, wrong, region.aliases, subject=called, land=land)

    @staticmethod
    def _nearest(called: str, near: list[tuple[City, float]]) -> Question | None:
        """Asked only where the nearest is clear: the next ones are at least half as far again."""
        first, km = near[0]
        others = list(dict.fromkeys(c.name for c, d in near[1:] if d > 1.5 * km and c.name != first.name))[:3]
        if len(others) < 3 or km < 1:
            return None
        return _question("place-near", first.name, others, subject=called)

    # ---- airfields --------------------------------------------------------------------------------------------------

    def airfields(self) -> Iterator[Document]:
        """One document for each country and division, one paragraph for each airfield with a name of its own."""
        world = self.world
        states = set(world.states)
        table = load_package("airportsdata").load("ICAO")
        rows = [r for _, r in sorted(table.items()) if r["country"] in states and r["name"]]
        names = Counter(normalise_name(r["name"]) for r in rows)
        codes = [r["icao"] for r in rows]
        divisions: dict[str, dict[str, None]] = defaultdict(dict)
        for r in filter(itemgetter("subd"), rows):
            divisions[r["country"]].setdefault(r["subd"])
        groups: dict[tuple[str, str], list[Paragraph]] = defaultdict(list)
        for r in rows:
            if names[normalise_name(r["name"])] == 1 and not re.search("[()/;]", r["name"]):
                paragraph = self._airfield(r, codes, list(divisions[r["country"]]))
                groups[r["country"], r["subd"]].append(paragraph)
        for (country, part), paragraphs in sorted(groups.items()):
            title = f"Airfields in {', '.join(filter(None, (part, world.countries[country].name)))}"
            yield Document(title=title, abstract=f"{title}. " + paragraphs[0].text, paragraphs=tuple(paragraphs))

    def _airfield(self, r: dict[str, Any], codes: Sequence[str], divisions: Sequence[str]) -> Paragraph:
        """The paragraph of one airfield; `codes` and `divisions` are what its wrong answers come from."""
        name, land, number = r["name"], self.world.countries[r["country"]], _number(r["icao"])
        prefix = [c for c in _some(codes, 60, number) if c[:1] == r["icao"][:1]]
        lands = self._country("airport-country", r["country"], number, subject=name)
        code = _question("airport-code", r["icao"], prefix[:3], subject=name)
        parts = _some(divisions, 3, number >> 8, but=(r["subd"],)) if r["subd"] else []
        region = _question("airport-region", r["subd"], parts, subject=name, land=land.the_name)
        zone = self._zone(r["tz"], r["country"], number >> 16, name) if r["tz"] in self.world.zones else None
        where = ", ".join(dict.fromkeys(filter(None, (r["city"], r["subd"], land.the_name))))
        return Paragraph(
            text=f"{name} is an airfield in {where}. Its ICAO code is {r['icao']}; "
            f"it lies {round(r['elevation'] * 0.3048):,} m above the sea.",
            category=land.name,
            attributes={"domain": "airfields", "continent": land.continent, "country": land.name},
            questions=_sound([lands, region, zone, code]),
        )

    # ---- divisions, languages, isotopes -----------------------------------------------------------------------------

    def divisions(self) -> Iterator[Document]:
        """One document for each country, one paragraph for each division of ISO 3166-2."""
        world = self.world
        groups: dict[str, list[Paragraph]] = defaultdict(list)
        names = Counter(normalise_name(s.name) for s in world.pycountry.subdivisions)
        for s in sorted(world.pycountry.subdivisions, key=lambda s: s.code):
            land = world.countries.get(s.country_code)
            name = s.name.split(" [")[0].split(" (")[0].replace("*", "").strip()
            if land is None or not land.asked or names[normalise_name(s.name)] > 1:
                continue
            kind = s.type.lower().split(" (")[0]
            question = self._country("division-country", land.code, _number(s.code), subject=name, kind=kind)
            groups[land.code].append(
                Paragraph(
                    text=f"{name} is a {kind} of {land.the_name}; its ISO 3166-2 code is {s.code}.",
                    category=land.name,
                    attributes={"domain": "divisions", "continent": land.continent, "country": land.name},
                    questions=_sound([question]),
                )
            )
        for code in sorted(groups):
            land = world.countries[code]
            title = f"Divisions of {land.name}"
            yield Document(
                title=title, abstract=f"{title}: their names, kinds and codes.", paragraphs=tuple(groups[code])
            )

    def languages(self) -> Iterator[Document]:
        """One document for each first two letters of the code, one paragraph for each language of ISO 639-3."""
        table = sorted((x.alpha_3, x.name) for x in self.world.pycountry.languages if "(" not in x.name)
        names, codes = [name for _, name in table], [code for code, _ in table]
        groups: dict[str, list[Paragraph]] = defaultdict(list)
        for i, (code, name) in enumerate(table):
            number = _number(code)
            near = codes[max(0, i - 12) : i] + codes[i + 1 : i + 13]
            questions = [
                _question("code-language", name, _some(names, 3, number, but=(name,)), subject=code),
                _question("language-code", code, _some(near, 3, number >> 8), subject=name),
            ]
            groups[code[:2]].append(
                Paragraph(
                    text=f"{name} is a language whose code in ISO 639-3 is {code}.",
                    category="languages",
                    attributes={"domain": "languages"},
                    questions=_sound(questions),
                )
            )
        for prefix, paragraphs in sorted(groups.items()):
            yield Document(
                title=f"Languages coded {prefix}",
                abstract=f"Languages whose ISO 639-3 code begins with {prefix}. " + paragraphs[0].text,
                paragraphs=tuple(paragraphs),
            )

    def isotopes(self) -> Iterator[Document]:
        """One document for each element, one paragraph for each of its isotopes."""
        symbols = [e.symbol for e in self.world.elements]
        for e in self.world.elements:
            paragraphs = []
            for mass in sorted(e.isotopes):
                name = f"{e.name.lower()}-{mass}"
                number = _number(name)
                neutrons = mass - e.number
                questions = [
                    _count("isotope-protons", name, e.number),
                    _count("isotope-neutrons", name, neutrons),
                    _question("isotope-symbol", e.symbol, _some(symbols, 3, number, but=(e.symbol,)), subject=name),
                ]
                paragraphs.append(
                    Paragraph(
                        text=f"{_upper(name)} is an isotope of {e.name.lower()} ({e.symbol}): {e.number} protons and "
                        f"{neutrons} neutrons.",
                        category="isotopes",
                        attributes={"domain": "isotopes", "period": e.period},
                        questions=_sound(questions),
                    )
                )
            if paragraphs:
                yield Document(
                    title=f"Isotopes of {e.name.lower()}",
                    abstract=f"The isotopes of {e.name.lower()} ({e.symbol}), element {e.number}.",
                    paragraphs=tuple(paragraphs),
                )


def _question(relation: str, answer: str, wrong: Sequence[str], aliases: Sequence[str] = (), **slots: str) -> Question:
    return Question(relation=relation, slots=slots, answer=answer, aliases=tuple(aliases), wrong=tuple(wrong))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _points(degrees: Sequence[tuple[float, float]]) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Points on the unit sphere: the chord between two grows with their distance."""
    lat, lon = np.radians(np.asarray(degrees, dtype=np.float64).reshape(-1, 2)).T
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _people(called: str, population: int, number: int) -> Question | None:
    """Wrong figures are a factor of five apart, and the right one stands at any place among them."""
    if "people)" in called or population < 500:
        return None
    first = number % (len(PEOPLE_STEPS) - 2)
    wrong = [_round(max(1, round(population * step))) for step in PEOPLE_STEPS[first : first + 3]]
    return _question("place-people", _round(population), wrong, subject=called)


def _count(relation: str, name: str, right: int) -> Question | None:
    wrong = [str(n) for n in (right + 1, right - 2, right + 3, right + 4) if n > 0][:3]
    return _question(relation, str(right), wrong, subject=name)


def _band(people: int) -> str:
    if not people:
        return "unknown"
    for limit, name in ((2_000, "under 2,000"), (10_000, "2,000 to 10,000"), (50_000, "10,000 to 50,000")):
        if people < limit:
            return name
    return "over 50,000"


def _sound(questions: Sequence[Question | None]) -> tuple[Question, ...]:
    """Questions with three wrong answers whose answer does not stand in what is asked."""
    sound = []
    for q in questions:
        if q is None or len(set(q.wrong)) < 3 or not q.answer:
            continue
        subject = " ".join(q.slots.values()) if not q.relation.startswith("isotope-") else ""
        if not leaks([q.answer, *q.aliases], subject):
            sound.append(q)
    return tuple(sound)
