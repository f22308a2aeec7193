"""Every name the benchmark's sources know, in one compact file, so that judging an answer loads no data package."""

import bisect
import dataclasses
import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from richter.bench._text import normalise_name
from richter.errors import InputError

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
