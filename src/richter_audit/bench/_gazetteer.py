"""Every name the benchmark's sources know, gathered into one compact file: judging an answer loads no package."""

import bisect
import dataclasses
import gzip
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter_audit.bench._fact_lists import HTTP, PORTS
from richter_audit.bench._fact_rows import FactRows
from richter_audit.bench._place_names import CONTINENTS
from richter_audit.bench._text_order import normalise_name
from richter_audit.bench._world import World

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
        entities = [Entity(**{**row, "countries": tuple(row.get("countries", ()))}) for row in rows]
        if kind in ("", "city"):
            low = bisect.bisect_left(self.city_names, key)
            high = bisect.bisect_right(self.city_names, key, lo=low)
            entities += sorted((self._city(i) for i in range(low, high)), key=lambda city: -(city.people or 0))
        return tuple(entities)

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
    """Read the file that `richter bench facts` writes beside the items.

    `path` may also be the items' own file: `facts.jsonl` leads to `facts.gazetteer.json.gz`.
    """
    path = Path(path)
    if not path.name.endswith(".gazetteer.json.gz"):
        path = beside(path)
    remedy = "Build it again: richter bench facts -o facts.jsonl"
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


class _Names:
    """Entities by normalised name."""

    def __init__(self) -> None:
        self.table: dict[str, list[dict[str, Any]]] = defaultdict(list)

    def add(self, names: Iterable[str], **row: Any) -> None:
        """Add an entity under all its names; what is empty is left out."""
        entity = {key: value for key, value in row.items() if value not in ("", None, [], ())}
        for name in dict.fromkeys(normalise_name(n) for n in names if n and n.strip()):
            if entity not in self.table[name]:
                self.table[name].append(entity)


def gather(world: World) -> Gazetteer:
    """The gazetteer of all sources."""
    rows, names = FactRows(world), _Names()
    _add_places(names, rows)
    _add_codes(names, rows)
    ids = sorted({city.region for city in world.cities.values()})
    return Gazetteer(
        countries={
            code: {"name": c.name, "continent": c.continent, "neighbours": list(c.neighbours)}
            for code, c in world.countries.items()
        },
        regions=[[key, world.regions[key].name if key in world.regions else ""] for key in ids],
        others=dict(sorted(names.table.items())),
        versions=world.versions,
        **sort_cities(_city_rows(world, {key: i for i, key in enumerate(ids)})),
    )


def _add_places(names: _Names, rows: FactRows) -> None:
    """Countries, continents, divisions, zones and airports."""
    world = rows.world
    for code, c in world.countries.items():
        names.add([c.name, *c.aliases], kind="country", code=code, country=code)
        names.add([code, c.iso3, c.numeric], kind="code", of="country", code=code, country=code)
        names.add([c.tld], kind="code", of="domain", code=c.tld, country=code)
        names.add([c.phone, f"00{c.phone}"], kind="code", of="telephone", code=c.phone, country=code)
    for code, name in CONTINENTS.items():
        names.add([name], kind="continent", code=code)
    for region in world.regions.values():
        names.add([region.name, *region.aliases], kind="region", country=region.country, region=region.id)
    for subdivision in world.pycountry.subdivisions:
        land = subdivision.country_code
        names.add([subdivision.name.split(" [")[0]], kind="region", country=land, code=subdivision.code)
        names.add([subdivision.code], kind="code", of="region", country=land, code=subdivision.code)
    for zone in sorted({z for zones in world.country_zones.values() for z in zones}):
        users = sorted(c for c, zones in world.country_zones.items() if zone in zones)
        names.add([zone, *world.zone_links.get(zone, ())], kind="zone", code=zone, countries=users)
    for iata, (row, _) in rows.airports.items():
        place = {"country": row["country"], "lat": round(row["lat"], 2), "lon": round(row["lon"], 2)}
        names.add([row["name"].strip()], kind="airport", code=iata, **place)
        names.add([iata, row["icao"]], kind="code", of="airport", code=iata, **place)


def _add_codes(names: _Names, rows: FactRows) -> None:
    """Currencies, elements, languages, scripts, and what computers use."""
    for row in (*rows.currencies.values(), *rows.former()):
        users = {"code": row["id"], "countries": row["users"]}
        names.add([row["name"], *row["names"]], kind="currency", **users)
        names.add([row["unit"], f"{row['unit']}s", *row["unit_names"]], kind="unit", code=row["unit"])
        names.add([row["id"], row["numeric"]], kind="code", of="currency", **users)
    for row in rows.elements.values():
        place = {"code": row["id"], "number": int(row["number"])}
        names.add([row["name"], *row["name_aliases"]], kind="element", **place)
        names.add([row["id"]], kind="code", of="element", **place)
    for row in map(rows.language, rows.languages):
        where = {"code": row["id"], "countries": row["truth"]["countries"]}
        names.add([row["name"], *row["name_aliases"]], kind="language", **where)
        names.add([row["id"]], kind="code", of="language", **where)
    for script in rows.world.pycountry.scripts:
        english = str(rows.world.cldr.scripts.get(script.alpha_4, ""))
        names.add([script.name.split(" (")[0], english], kind="script", code=script.alpha_4)
        names.add([script.alpha_4], kind="code", of="script", code=script.alpha_4)
    for extension, name in rows.software.items():
        names.add([name], kind="software")
        names.add([f".{extension}"], kind="code", of="extension", code=extension)
    for number, phrase in HTTP.items():
        names.add([phrase], kind="status", number=number)
    for number, service in PORTS.items():
        names.add([service], kind="service", number=number)


def _city_rows(world: World, regions: dict[str, int]) -> Iterator[tuple[str, int, float, float, int]]:
    """Every city under its name, large ones under other names in Latin letters too."""
    for city in world.cities.values():
        others = city.alternates if city.population >= ALTERNATES_FROM else ()
        latin = {normalise_name(n) for n in others if len(n) > 2 and max(n) < "\u0250"}
        for name in {city.key, *(name for name in latin if name.isascii())}:
            yield name, regions[city.region], city.lat, city.lon, city.population
