"""Aviation: airports, their codes, where they are; codes that belong to no airport."""

import dataclasses
from collections import Counter
from functools import cached_property
from typing import Any

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells
from richter_audit.bench._money import Money
from richter_audit.bench._place_names import DISPUTED
from richter_audit.bench._places import country_truth
from richter_audit.bench._regions import Zones
from richter_audit.bench._text_order import leaks, normalise_name, order_by_hash, pick
from richter_audit.bench._world import City, World

SOLVED_STATES = [
    ("The state of the United States with the airport DEN is Colorado.", "Colorado"),
    ("The state of Germany with the airport MUC is Bavaria.", "Bavaria"),
    ("The province of Canada with the airport YYC is Alberta.", "Alberta"),
    ("The state of Australia with the airport BNE is Queensland.", "Queensland"),
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Airport:
    """An airport with an IATA code.

    `city` is what it serves, where GeoNames has a city of that name nearby; `town` is where it stands.
    """

    iata: str
    icao: str
    name: str
    city: City | None
    town: str
    country: str
    zone: str
    lat: float
    lon: float

    @property
    def fame(self) -> int:
        """How well known the city is: by the names that other languages have for it."""
        return len(self.city.alternates) if self.city else 0


def airports(world: World) -> dict[str, Airport]:
    """Airports by IATA code, those of the largest cities first; international ones before others of the same city."""
    rows = []
    group = {iata: row["name"] for row in world.metropolitan_codes.values() for iata in row["airports"]}
    for iata, row in world.airport_rows.items():
        city = world.city_at(group.get(iata, row["city"]), row["country"], row["lat"], row["lon"])
        rows.append(
            Airport(
                iata=iata,
                icao=row["icao"],
                name=row["name"].strip(),
                city=city,
                town=row["city"].strip(),
                country=row["country"],
                zone=row["tz"],
                lat=round(row["lat"], 2),
                lon=round(row["lon"], 2),
            )
        )
    rows.sort(key=lambda a: (-a.fame, "international" not in a.name.lower(), a.iata))
    return {a.iata: a for a in rows}


class Aviation(Zones):
    """Airports by IATA code."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.table = airports(world)
        self.money = Money(world)

    # ---- what wordings say -------------------------------------------------------------------------------------------

    def slots(self, iata: str) -> Slots:
        """Of an airport."""
        airport = self.table[iata]
        land = self.world.countries[airport.country].the_name
        return {"name": airport.name, "icao": airport.icao, "city": self.city_of(iata).name, "land": land}

    def trap_slots(self, fact: str) -> Slots:
        """Of an airport (before the bar) in a country where it is not (behind it)."""
        iata, code = fact.split("|")
        part = f"{self.world.division_terms[code]} of {self.world.countries[code].the_name}"
        return {"iata": iata, "part": part}

    # ---- answers -----------------------------------------------------------------------------------------------------

    def city_of(self, iata: str) -> City:
        """The city that an airport serves."""
        city = self.table[iata].city
        assert city
        return city

    def country_of(self, iata: str) -> str:
        """The code of an airport's country."""
        return self.table[iata].country

    def truth(self, airport: Airport) -> dict[str, Any]:
        """Where an airport is."""
        return {"lat": airport.lat, "lon": airport.lon, **country_truth(self.world, airport.country)}

    def land(self, iata: str, asked: Asked) -> Object:
        """An airport's country."""
        airport = self.table[iata]
        return self.country(airport.country, asked, lat=airport.lat, lon=airport.lon)

    def city(self, iata: str, asked: Asked) -> Object:
        """The city that an airport serves."""
        airport, city, salt = self.table[iata], self.city_of(iata), asked.salt
        same = [name for name, code in self.served if code == airport.country and name != city.name]
        like = [name for name, code in self.served if name[0] == city.name[0] and code != airport.country]
        near = self.near_capitals(airport.country, salt)
        return Object(
            kind="city",
            answer=city.name,
            wrong=[*pick(same[:40], 2, salt), *pick(like, 1, salt), *near],
            aliases=[airport.town, *self.world.city_aliases(city.name, airport.country)],
            truth=self.truth(airport) | self.world.city_truth(city.name, airport.country),
        )

    def code(self, iata: str, asked: Asked) -> Object:
        """The code of the airport that serves a city."""
        airport, salt = self.table[iata], asked.salt
        like = [a.iata for a in self.usable[:1200] if a.iata[0] == iata[0] and a.iata != iata]
        home = [a.iata for a in self.usable if a.country == airport.country and a.iata != iata]
        return Object(
            kind="code",
            answer=iata,
            wrong=[*pick(like, 2, salt), *pick(home[:40], 1, salt), *pick(like, 4, salt, "more")],
            truth={**self.truth(airport), "of": "airport", "code": iata},
        )

    def zone_of(self, iata: str, asked: Asked) -> Object | None:
        """An airport's time zone."""
        airport = self.table[iata]
        if airport.zone not in self.world.zones:
            return None
        return self.zone(airport.zone, airport.country, asked.salt, via=self.city_of(iata).name)

    def capital_of_country(self, iata: str, asked: Asked) -> Object | None:
        """The capital of an airport's country, unless the airport serves it."""
        airport, city = self.table[iata], self.city_of(iata).name
        country = self.world.countries[airport.country]
        if not country.capital or city in (country.capital, *country.capital_aliases):
            return None
        where = self.world.city_truth(country.capital, airport.country)
        return Object(
            kind="city",
            answer=country.capital,
            wrong=[city, *self.near_capitals(airport.country, asked.salt)],
            aliases=country.capital_aliases,
            truth=self.truth(airport) | {"via": country.name} | where,
        )

    def some_names(self, salt: str) -> list[str]:
        """Four airports."""
        return [self.table[k].name for k in pick(self.named[:400], 4, salt)]

    def reject(self, fact: str, asked: Asked) -> Object:
        """That an airport is not in a country."""
        iata, code = fact.split("|")
        airport, claimed = self.table[iata], self.world.countries[code]
        real = self.world.countries[airport.country]
        return Object(
            kind="trap",
            answer=f"none, because {iata} is in {real.the_name}",
            wrong=[r.name for r in pick(self.world.big_regions(code), 4, asked.salt)],
            aliases=[
                *(real.name, *real.aliases, self.city_of(iata).name, "none", f"not in {claimed.name}"),
                *(f"not in {claimed.the_name}", f"isn't in {claimed.the_name}", f"not located in {claimed.the_name}"),
            ],
            truth={
                "premise": f"{iata} is in {claimed.the_name}",
                "corrected": f"{iata} is {airport.name} in {real.the_name}",
                "claimed_country": code,
                **country_truth(self.world, airport.country),
            },
        )

    # ---- facts -------------------------------------------------------------------------------------------------------

    @cached_property
    def usable(self) -> list[Airport]:
        """Airports that can be asked about: of a state, and of a city of some size that lies in one division."""
        known = [a for a in self.table.values() if a.country in self.world.states and a.icao]
        return [a for a in known if a.city and a.city.population >= 3_000 and self._is_settled(a.city.region)]

    def _is_settled(self, region: str) -> bool:
        return region not in DISPUTED and region in self.world.regions

    @cached_property
    def served(self) -> list[tuple[str, str]]:
        """The cities of the best known airports, with their countries."""
        return [(self.city_of(a.iata).name, a.country) for a in self.usable[:1500]]

    @cached_property
    def named(self) -> list[str]:
        """Airports with a plain name of their own that says neither the city nor the country."""
        users = Counter(normalise_name(a.name) for a in self.table.values())
        own = [a for a in self.usable if users[normalise_name(a.name)] == 1 and _is_plain(a.name)]
        lands = self.world.countries
        return [a.iata for a in own if not leaks([lands[a.country].name, *lands[a.country].aliases], a.name)]

    @cached_property
    def alone(self) -> list[str]:
        """The only airports of cities that a question can name without doubt."""
        users = Counter(a.city.id for a in self.table.values() if a.city)
        cities = {a.iata: self.city_of(a.iata) for a in self.usable}
        return [k for k, city in cities.items() if users[city.id] == 1 and self.world.call(city) == city.name]

    @cached_property
    def unassigned(self) -> list[str]:
        """Codes of whole blocks that hold no airport: a single gap might be one that the list lacks."""
        rows = self.world.airport_rows.values()
        used = {code[:2] for code in (*self.table, *(row["lid"] for row in rows), *self.world.metropolitan_codes)}
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        blocks = [a + b for a in letters for b in letters if a + b not in used]
        return order_by_hash([block + c for block in blocks for c in letters], "free airport codes")[:600]

    @cached_property
    def international(self) -> list[str]:
        """Airports that call themselves so."""
        return [a.iata for a in self.usable if "international" in a.name.lower()]

    @cached_property
    def misplaced(self) -> list[str]:
        """Airports with a country each in which they are not."""
        terms = set(self.world.division_terms)
        known = self.international[:500]
        return [f"{k}|{code}" for k in known for code in pick(sorted(terms - {self.country_of(k)}), 1, k)]


def _is_plain(name: str) -> bool:
    """Whether a name has no signs and ends in the word."""
    signs = any(sign in name for sign in "/()-")
    return name.isascii() and not signs and "Afb" not in name and name.endswith("Airport")


def aviation(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Aviation(world)
    pools = {
        "codes": [a.iata for a in d.usable],
        "famous_names": [(iata, d.table[iata].name) for iata in ("CDG", "JFK", "LHR", "FRA", "SYD", "HND")],
        "solved_states": SOLVED_STATES,
    }
    return cells("aviation", d, pools)
