"""Every name the benchmark's sources know, gathered into one compact file: judging an answer loads no package."""

import bisect
import dataclasses
import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter_audit.bench._aviation import airports
from richter_audit.bench._computing import HTTP, PORTS, software
from richter_audit.bench._elements import SPELLINGS
from richter_audit.bench._languages import Tongues
from richter_audit.bench._money import Money
from richter_audit.bench._text import normalise_name
from richter_audit.bench._world import CONTINENTS, World

__all__ = ["Entity", "Gazetteer", "beside", "pack", "read_gazetteer"]

FORMAT = 1


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """Something that exists under a name: its kind, its code, and where it belongs.

    `kind` is country, continent, region, city, airport, zone, currency, unit, element, language, script, software,
    status, service, or code (then `of` says of what). `countries` are those that use it; `country` is set where it
    is one. `people` counts thousands (cities). `number` is an atomic number, a port or a status.
    """

    kind: str
    code: str = ""
    of: str = ""
    country: str = ""
    region: str = ""
    countries: tuple[str, ...] = ()
    lat: float | None = None
    lon: float | None = None
    people: int | None = None
    number: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Gazetteer:
    """Names and what they stand for.

    `countries` maps a code to name, continent and neighbours; `regions` is (id, name) in the order that city rows
    refer to. City rows are sorted by normalised name; `others` lists everything else by normalised name.
    """

    countries: dict[str, dict[str, Any]]
    regions: list[list[str]]
    others: dict[str, list[dict[str, Any]]]
    city_names: list[str]
    city_regions: list[int]
    city_lats: list[int]
    city_lons: list[int]
    city_people: list[int]
    versions: dict[str, str]

    def find(self, name: str, *, kind: str = "") -> tuple[Entity, ...]:
        """Everything known under a name (compared by `normalise_name`), the largest city first."""
        key = normalise_name(name)
        rows = [row for row in self.others.get(key, ()) if kind in ("", row["kind"])]
        found = [Entity(**{**row, "countries": tuple(row.get("countries", ()))}) for row in rows]
        if kind in ("", "city"):
            low = bisect.bisect_left(self.city_names, key)
            high = bisect.bisect_right(self.city_names, key, lo=low)
            found += sorted((self._city(i) for i in range(low, high)), key=lambda city: -(city.people or 0))
        return tuple(found)

    def _city(self, row: int) -> Entity:
        region = self.regions[self.city_regions[row]][0]
        return Entity(
            kind="city",
            country=region.split(".")[0],
            region=region,
            lat=self.city_lats[row] / 10,
            lon=self.city_lons[row] / 10,
            people=self.city_people[row],
        )


def pack(gazetteer: Gazetteer) -> bytes:
    """The gazetteer as compressed JSON; the same gazetteer gives the same text, and with one zlib the same bytes."""
    fields = {f.name: getattr(gazetteer, f.name) for f in dataclasses.fields(gazetteer)}
    fields["city_names"] = "\n".join(gazetteer.city_names)
    text = json.dumps({"format": FORMAT, **fields}, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def unpack(data: bytes) -> Gazetteer:
    """The inverse of `pack`."""
    fields = json.loads(gzip.decompress(data))
    if fields.pop("format") != FORMAT:
        raise ValueError("another format")
    fields["city_names"] = fields["city_names"].split("\n")
    return Gazetteer(**fields)


def beside(path: str | Path) -> Path:
    """Where the gazetteer of an item set lies: `facts.jsonl` leads to `facts.gazetteer.json.gz`."""
    path = Path(path)
    return path.with_name(f"{path.name.split('.')[0]}.gazetteer.json.gz")


def read_gazetteer(path: str | Path) -> Gazetteer:
    """Read the file that `richter bench build facts` writes beside the items.

    `path` may also be the items' own file: `facts.jsonl` leads to `facts.gazetteer.json.gz`.
    """
    path = Path(path)
    if not path.name.endswith(".gazetteer.json.gz"):
        path = beside(path)
    remedy = "Build it again: richter bench build facts -o facts.jsonl"
    try:
        return unpack(path.read_bytes())
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file.", remedy=remedy) from error
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not a gazetteer of this version ({error}).", remedy=remedy) from error


def sort_cities(rows: Iterable[tuple[str, int, float, float, int]]) -> dict[str, list[Any]]:
    """City rows (name, region, latitude, longitude, people) as the columns of a gazetteer."""
    ordered = sorted(
        {(name, region, round(lat * 10), round(lon * 10), people // 1000) for name, region, lat, lon, people in rows}
    )
    columns = [list(column) for column in zip(*ordered, strict=True)]
    names = ("city_names", "city_regions", "city_lats", "city_lons", "city_people")
    return dict(zip(names, columns, strict=True))


ALTERNATES_FROM = 100_000  # people; smaller places keep their main name only, which holds the file to a few MB


def gather(world: World) -> Gazetteer:
    """The gazetteer of all sources."""
    table: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def add(names: Iterable[str], **row: Any) -> None:
        kept = {key: value for key, value in row.items() if value not in ("", None, [], ())}
        for name in dict.fromkeys(normalise_name(n) for n in names if n and n.strip()):
            if kept not in table[name]:
                table[name].append(kept)

    countries = {}
    for code, c in world.countries.items():
        countries[code] = {"name": c.name, "continent": c.continent, "neighbours": list(c.neighbours)}
        add([c.name, *c.aliases], kind="country", code=code, country=code)
        add([code, c.iso3, c.numeric], kind="code", of="country", code=code, country=code)
        add([c.tld], kind="code", of="domain", code=c.tld, country=code)
        add([c.phone, f"00{c.phone}"], kind="code", of="telephone", code=c.phone, country=code)
    for code, name in CONTINENTS.items():
        add([name], kind="continent", code=code)
    for region in world.regions.values():
        add([region.name, *region.aliases], kind="region", country=region.country, region=region.id)
    for subdivision in world.pycountry.subdivisions:
        land = subdivision.country_code
        add([subdivision.name.split(" [")[0]], kind="region", country=land, code=subdivision.code)
        add([subdivision.code], kind="code", of="region", country=land, code=subdivision.code)
    for zone in sorted({z for zones in world.country_zones.values() for z in zones}):
        users = sorted(c for c, zones in world.country_zones.items() if zone in zones)
        add([zone, *world.zone_links.get(zone, ())], kind="zone", code=zone, countries=users)

    bank = Money(world)
    for currency in (*bank.currencies.values(), *bank.former.values()):
        users = list(currency.users)
        add([currency.name, *currency.aliases], kind="currency", code=currency.code, countries=users)
        add([currency.unit, f"{currency.unit}s", *currency.unit_aliases], kind="unit", code=currency.unit)
        add([currency.code, currency.numeric], kind="code", of="currency", code=currency.code, countries=users)

    for a in airports(world).values():
        place = {"country": a.country, "lat": a.lat, "lon": a.lon}
        add([a.name], kind="airport", code=a.iata, **place)
        add([a.iata, a.icao], kind="code", of="airport", code=a.iata, **place)

    for element in world.elements:
        add(
            [element.name, *SPELLINGS.get(element.name, ())], kind="element", code=element.symbol, number=element.number
        )
        add([element.symbol], kind="code", of="element", code=element.symbol, number=element.number)

    tongues = Tongues(world)
    for code in sorted({*tongues.cldr, *(k for k, v in tongues.iso3.items() if not hasattr(v, "alpha_2"))}):
        if code in tongues.cldr or code in tongues.iso3:
            where = sorted(tongues.speakers.get(code, {}), key=lambda c, code=code: -tongues.speakers[code][c])[:5]  # type: ignore[misc]
            add([tongues.name(code), *tongues.aliases(code)], kind="language", code=code, countries=where)
            add([code], kind="code", of="language", code=code, countries=where)
    for script in world.pycountry.scripts:
        names = [script.name.split(" (")[0], str(world.cldr.scripts.get(script.alpha_4, ""))]
        add(names, kind="script", code=script.alpha_4)
        add([script.alpha_4], kind="code", of="script", code=script.alpha_4)

    for extension, name in software(world).items():
        add([name], kind="software")
        add([f".{extension}"], kind="code", of="extension", code=extension)
    for number, phrase in HTTP.items():
        add([phrase], kind="status", number=number)
    for number, service in PORTS.items():
        add([service], kind="service", number=number)

    ids = sorted({city.region for city in world.cities.values()})
    index = {key: i for i, key in enumerate(ids)}
    rows = []
    for city in world.cities.values():
        called = {city.key}
        if city.population >= ALTERNATES_FROM:
            called |= {normalise_name(n) for n in city.alternates if len(n) > 2 and max(n) < "\u0250"}
        rows += [
            (name, index[city.region], city.lat, city.lon, city.population)
            for name in sorted(called)
            if name.isascii() or name == city.key
        ]
    regions = [[key, world.regions[key].name if key in world.regions else ""] for key in ids]
    return Gazetteer(
        countries=countries,
        regions=regions,
        others=dict(sorted(table.items())),
        versions=world.versions,
        **sort_cities(rows),
    )
