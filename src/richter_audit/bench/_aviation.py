"""Aviation: airports, their codes, where they are; codes that belong to no airport."""

import dataclasses
from functools import partial
from typing import Any

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation
from richter_audit.bench._money import Money
from richter_audit.bench._places import country_draft, country_truth, near_countries
from richter_audit.bench._regions import zone_draft
from richter_audit.bench._text import leaks, normalise_name, ordered, pick
from richter_audit.bench._world import DISPUTED, City, World

SOURCE = "airportsdata (MIT)"


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
    found = []
    group = {iata: row["name"] for row in world.metropolitan_codes.values() for iata in row["airports"]}
    for iata, row in world.airport_rows.items():
        city = world.city_at(group.get(iata, row["city"]), row["country"], row["lat"], row["lon"])
        found.append(
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
    found.sort(key=lambda a: (-a.fame, "international" not in a.name.lower(), a.iata))
    return {a.iata: a for a in found}


def aviation(world: World) -> list[Cell]:
    """The cells of the domain."""
    table = airports(world)
    bank = Money(world)
    usable = [
        a
        for a in table.values()
        if a.country in world.states and a.city and a.city.population >= 3_000 and a.icao
        if a.city.region not in DISPUTED and a.city.region in world.regions
    ]
    names: dict[str, int] = {}
    served: dict[str, int] = {}
    for a in table.values():
        names[normalise_name(a.name)] = names.get(normalise_name(a.name), 0) + 1
        if a.city:
            served[a.city.id] = served.get(a.city.id, 0) + 1

    def served_by(airport: Airport) -> City:
        assert airport.city
        return airport.city

    def where_is(airport: Airport) -> dict[str, Any]:
        return {"lat": airport.lat, "lon": airport.lon, **country_truth(world, airport.country)}

    def land(iata: str, asked: Asked) -> Draft:
        return country_draft(world, table[iata].country, asked, lat=table[iata].lat, lon=table[iata].lon)

    def city_draft(iata: str, asked: Asked) -> Draft:
        airport, salt = table[iata], asked.prompt
        city = served_by(airport)
        others = [(served_by(a).name, a.country) for a in usable[:1500]]
        same = [name for name, code in others if code == airport.country and name != city.name]
        like = [name for name, code in others if name[0] == city.name[0] and code != airport.country]
        near = [world.countries[c].capital for c in near_countries(world, airport.country, salt)]
        wrong = [*pick(same[:40], 2, salt), *pick(like, 1, salt), *near]
        aliases = [airport.town, *world.city_aliases(city.name, airport.country)]
        truth = where_is(airport) | world.city_truth(city.name, airport.country)
        return asked.draft(city.name, wrong, "city", aliases=aliases, **truth)

    def code_of_city(fact: str) -> Draft:
        airport = table[fact]
        name, land = served_by(airport).name, world.countries[airport.country].the_name
        like = [a.iata for a in usable[:1200] if a.iata[0] == fact[0] and a.iata != fact]
        home = [a.iata for a in usable if a.country == airport.country and a.iata != fact]
        served = f"IATA code of the airport that serves {name} in {land}"
        wrong = [*pick(like, 2, fact), *pick(home[:40], 1, fact), *pick(like, 4, fact, "more")]
        asked = Asked(f"Give the three-letter {served}.", name, f"The {served} is")
        return asked.draft(fact, wrong, "code", **where_is(airport), of="airport", code=fact)

    def zone_of_code(fact: str) -> Draft | None:
        airport = table[fact]
        if airport.zone not in world.zones:
            return None
        prompt = f"Which IANA time zone identifier applies at the airport with the IATA code {fact}?"
        asked = Asked(prompt, fact, f"The IANA time zone identifier at the airport with the IATA code {fact} is")
        return zone_draft(world, airport.zone, airport.country, asked, salt=fact, via=served_by(airport).name)

    def capital_of_code(fact: str) -> Draft | None:
        airport = table[fact]
        country = world.countries[airport.country]
        if not country.capital or served_by(airport).name in (country.capital, *country.capital_aliases):
            return None
        near = [world.countries[c].capital for c in near_countries(world, airport.country, fact)]
        truth = where_is(airport) | {"via": country.name} | world.city_truth(country.capital, airport.country)
        return Asked(f"What is the capital of the country whose airport has the IATA code {fact}?", fact).draft(
            country.capital, [served_by(airport).name, *near], "city", aliases=country.capital_aliases, **truth
        )

    def unassigned(fact: str) -> Draft:
        stem = f"The airport that has the IATA code {fact} is"
        return Asked(f"Which airport has the IATA code {fact}?", fact, stem).trap(
            f"none, because {fact} is not assigned to any airport",
            [table[k].name for k in pick(named[:400], 4, fact)],
            f"{fact} is the IATA code of an airport",
            aliases=[*NO_SUCH, "no airport", "not an IATA code"],
        )

    def elsewhere(fact: str) -> Draft:
        iata, code = fact.split("|")
        airport, claimed = table[iata], world.countries[code]
        real, part = world.countries[airport.country], f"{world.division_terms[code]} of {claimed.the_name}"
        prompt = f"In which {part} is the airport with the IATA code {iata}?"
        return Asked(prompt, iata, f"The {part} with the airport {iata} is").trap(
            f"none, because {iata} is in {real.the_name}",
            [r.name for r in pick(world.big_regions(code), 4, fact)],
            f"{iata} is in {claimed.the_name}",
            f"{iata} is {airport.name} in {real.the_name}",
            aliases=[
                *(real.name, *real.aliases, served_by(airport).name, "none", f"not in {claimed.name}"),
                *(f"not in {claimed.the_name}", f"isn't in {claimed.the_name}", f"not located in {claimed.the_name}"),
            ],
            claimed_country=code,
            **country_truth(world, airport.country),
        )

    def telling(a: Airport) -> bool:
        """A name that is the airport's own, and says neither the city nor the country."""
        land = world.countries[a.country]
        return names[normalise_name(a.name)] == 1 and not leaks([land.name, *land.aliases], a.name)

    def bare(a: Airport) -> bool:
        plain = a.name.isascii() and not any(sign in a.name for sign in "/()-") and "Afb" not in a.name
        return plain and a.name.endswith("Airport")

    named = [a.iata for a in usable if telling(a) and bare(a)]
    codes = [a.iata for a in usable]
    international = [a.iata for a in usable if "international" in a.name.lower()]
    alone = [a.iata for a in usable if served[served_by(a).id] == 1 and world.call(served_by(a)) == served_by(a).name]
    taken = set(table) | {row["lid"] for row in world.airport_rows.values()} | set(world.metropolitan_codes)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    # whole blocks that hold no airport: a single gap might be one that the list lacks
    used = {code[:2] for code in taken}
    free = [f"{a}{b}{c}" for a in letters for b in letters for c in letters if f"{a}{b}" not in used]
    free = ordered(free, "free airport codes")[:600]
    claims = [
        f"{iata}|{code}"
        for iata in international[:500]
        for code in pick(sorted(set(world.division_terms) - {table[iata].country}), 1, iata)
    ]

    plain = partial(relation, source=SOURCE)
    chain = partial(relation, source=f"{SOURCE}; GeoNames (CC BY 4.0)", form="compositional")
    untrue = partial(relation, source=SOURCE, form="trap")
    some = international[:40]
    write = ask(land, "In which country is {}?", lambda a: table[a].name, stem="{} is in the country of")
    by_name = plain("airport-country", write=write, shots=named[:40])
    port = "airport with the IATA code {}"
    write = ask(land, f"In which country is the {port}?", stem=f"The {port} is in the country of")
    by_code = plain("iata-country", write=write, shots=some)
    write = ask(city_draft, f"Which city is served by the {port}?", stem=f"The {port} serves the city of")
    city = plain("iata-city", write=write, shots=some)
    write = ask(
        lambda code, asked: bank.unit_draft(table[code].country, asked),
        f"What is the main unit of the currency at the {port}?",
        stem=f"At the {port} people pay with the",
    )
    unit = chain("iata-unit", write=write, shots=international[:30])
    port = "airport with the ICAO code {}"
    write = ask(
        city_draft,
        f"Which city is served by the {port}?",
        lambda a: table[a].icao,
        stem=f"The {port} serves the city of",
    )
    icao = plain("icao-city", write=write, shots=some)
    code = plain("city-iata", write=code_of_city, shots=alone[:40])
    zone = chain("iata-zone", write=zone_of_code, shots=international[:30])
    seat = chain("iata-capital", write=capital_of_code, shots=some)
    whose = [
        (f"The airport that has the IATA code {a} is {table[a].name}.", table[a].name)
        for a in ("CDG", "JFK", "LHR", "FRA", "SYD", "HND")
    ]
    nobody = untrue("iata-unassigned", write=unassigned, shots=whose)
    where = [
        ("The state of the United States with the airport DEN is Colorado.", "Colorado"),
        ("The state of Germany with the airport MUC is Bavaria.", "Bavaria"),
        ("The province of Canada with the airport YYC is Alberta.", "Alberta"),
        ("The state of Australia with the airport BNE is Queensland.", "Queensland"),
    ]
    abroad = untrue("iata-in-wrong-country", write=elsewhere, shots=where)
    return [
        by_name(tier=1, facts=named[:700], weight=1),
        by_name(tier=2, facts=named[700:], weight=2),
        by_code(tier=2, facts=codes[:250]),
        by_code(tier=3, facts=codes[250:2500], weight=1),
        city(tier=3, facts=codes[:350], weight=2),
        city(tier=4, facts=codes[350:2500], weight=3),
        zone(tier=4, facts=international, weight=2),
        unit(tier=4, facts=international, weight=1),
        nobody(tier=4, facts=free[0::2], weight=1),
        abroad(tier=4, facts=claims[0::2], weight=1),
        icao(tier=5, facts=codes[:2500], weight=3),
        code(tier=5, facts=alone[200:], weight=2),
        seat(tier=5, facts=codes[350:2500], weight=2),
        nobody(tier=5, facts=free[1::2], weight=1),
        abroad(tier=5, facts=claims[1::2], weight=1),
    ]
