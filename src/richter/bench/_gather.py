"""What goes into the gazetteer: every entity of the sources under every name it has."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from richter.bench._aviation import airports
from richter.bench._computing import HTTP, PORTS, software
from richter.bench._elements import SPELLINGS
from richter.bench._gazetteer import Gazetteer, sort_cities
from richter.bench._languages import Tongues
from richter.bench._money import Money
from richter.bench._text import normalise_name
from richter.bench._world import CONTINENTS, World

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
