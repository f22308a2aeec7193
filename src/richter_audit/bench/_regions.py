"""Regions and zones: which country a division is in, which division a city is in, its time zone; zones that are not."""

from functools import cached_property

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells
from richter_audit.bench._places import Places, country_truth, near_countries
from richter_audit.bench._text_order import normalise_name, order_by_hash, pick, unique, words
from richter_audit.bench._world import Region, World

# Names that many countries use: points of the compass, "Centre", "Capital".
VAGUE = set(words("central centre east eastern west western north northern south southern capital"))
HOURS = ["1 hour", "2 hours", "3 hours", "5 hours", "7 hours", "9 hours"]
SOLVED_HOURS = [
    ("In January the IANA time zone Europe/Paris differs from UTC by 1 hour.", "1 hour"),
    ("In January the IANA time zone Asia/Tokyo differs from UTC by 9 hours.", "9 hours"),
    ("In January the IANA time zone America/New_York differs from UTC by 5 hours.", "5 hours"),
    ("In January the IANA time zone Asia/Bangkok differs from UTC by 7 hours.", "7 hours"),
]
SOLVED_LARGEST = [
    ("In Germany, the largest city of the state of Bavaria is Munich.", "Munich"),
    ("In Spain, the largest city of the autonomous community of Catalonia is Barcelona.", "Barcelona"),
    ("In the United States, the largest city of the state of Texas is Houston.", "Houston"),
    ("In India, the largest city of the state of Gujarat is Ahmedabad.", "Ahmedabad"),
]
FEDERAL = ("US", "CA", "AU", "DE", "IN", "BR", "CN")  # whose divisions are widely known


class Zones(Places):
    """Time zones as answers of questions."""

    def _near(self, zone: str, code: str, salt: str) -> list[str]:
        """Other zones: of near countries, then of the same area."""
        table = self.world.country_zones
        near = [z for c in near_countries(self.world, code, salt) for z in table.get(c, ())[:1]]
        area = [z for z in self.world.zones if z.split("/")[0] == zone.split("/")[0]]
        return [z for z in [*near[:3], *pick(area, 4, zone, salt), *near[3:]] if z not in table.get(code, ())]

    def zone(self, zone: str, code: str, salt: str, *, any_of_country: bool = True, **more: str) -> Object:
        """A time zone of a country; with `any_of_country` none of the country's zones is offered as wrong."""
        where = {"kind": "zone", "zone": zone, "area": zone.split("/")[0], **country_truth(self.world, code)}
        return Object(
            kind="zone",
            answer=zone,
            wrong=self._near(zone, code, salt),
            aliases=[*self.world.zone_links.get(zone, ()), zone.split("/")[-1].replace("_", " ")],
            also=self.world.country_zones.get(code, ()) if any_of_country else (),
            truth={**more, **where},
        )


class Regions(Zones):
    """First-level divisions by id, cities and zones."""

    @cached_property
    def table(self) -> dict[str, Region]:
        """The divisions that can be asked about."""
        terms = self.world.division_terms
        return {r.id: r for r in self.world.regions.values() if r.country in terms and not self.world.is_odd(r)}

    # ---- what wordings say ------------------------------------------------------------------------------------------

    def term(self, code: str) -> str:
        """What one division of a country is called."""
        return self.world.division_terms[code].split(" or ")[0]

    def slots(self, key: str) -> Slots:
        """Of a division."""
        region = self.table[key]
        land = self.world.countries[region.country].the_name
        return {"name": region.name, "term": self.term(region.country), "land": land}

    def city_slots(self, key: str) -> Slots:
        """Of a city."""
        city = self.world.cities[key]
        terms, land = self.world.division_terms, self.world.countries[city.country].the_name
        return {"name": city.name, "called": self.world.call(city), "part": f"{terms.get(city.country)} of {land}"}

    def zone_slots(self, fact: str) -> Slots:
        """Of a city (before the bar) that has no time zone of its name, and of its zone (behind it)."""
        key, zone = fact.split("|")
        city = self.world.cities[key]
        return {"name": city.name, "zone": zone, "made": f"{city.zone.split('/')[0]}/{city.name.replace(' ', '_')}"}

    def trap_slots(self, fact: str) -> Slots:
        """Of a division (before the bar) in a country where it is not (behind it)."""
        key, code = fact.split("|")
        return {**self.slots(key), "claimed": self.world.countries[code].the_name}

    def code_slots(self, code: str) -> Slots:
        """Of the code of a division."""
        return {"land": self.world.countries[self.codes[code].country].the_name}

    # ---- answers ----------------------------------------------------------------------------------------------------

    def country_of(self, key: str) -> str:
        """The code of a division's country."""
        return self.table[key].country

    def region_of(self, key: str) -> str:
        """The division of a city."""
        return self.world.cities[key].region

    def region(self, key: str, asked: Asked, **more: str) -> Object:
        """A division."""
        region = self.table[key]
        siblings = [r.name for r in self.world.big_regions(region.country) if r.id != key and r.id in self.table]
        return Object(
            kind="region",
            answer=region.name,
            wrong=[*pick(siblings[:10], 2, asked.salt), *pick(siblings, 4, asked.salt, "rest")],
            aliases=region.aliases,
            truth={"region": key, **country_truth(self.world, region.country), **more},
        )

    def region_of_code(self, code: str, asked: Asked) -> Object:
        """The division that has a code."""
        return self.region(self.codes[code].id, asked, code=code)

    def zone_of_city(self, key: str, asked: Asked) -> Object:
        """The zone of a city."""
        city = self.world.cities[key]
        return self.zone(city.zone, city.country, asked.salt)

    def zone_of_capital(self, code: str, asked: Asked) -> Object:
        """The zone of the capital of a country that has one zone."""
        zone, via = self.world.country_zones[code][0], self.world.countries[code].capital
        return self.zone(zone, code, asked.salt, any_of_country=False, via=via)

    def zone_of_region(self, key: str, asked: Asked) -> Object:
        """The zone of a division that lies in one zone whole."""
        return self.zone(self.world.region_zone[key], self.country_of(key), asked.salt)

    def some_hours(self, salt: str) -> list[str]:
        """Differences from UTC."""
        return order_by_hash(HOURS, salt)

    def reject(self, fact: str, asked: Asked) -> Object:
        """That a division does not lie in a country."""
        key, code = fact.split("|")
        name, claimed = self.table[key].name, self.world.countries[code]
        real = self.world.countries[self.country_of(key)]
        denials = [
            *(real.name, *real.aliases, f"not in {claimed.name}", f"not in {claimed.the_name}", "none"),
            *(f"isn't in {claimed.the_name}", f"not a {asked.slots['term']} of", "there is no"),
            *("not part of", "does not exist", "no such"),
        ]
        return Object(
            kind="trap",
            answer=f"none, because {name} is in {real.the_name}",
            wrong=[c.name for c in self.world.biggest(code)[:6]],
            aliases=unique(denials),
            truth={
                "premise": f"{name} lies in {claimed.the_name}",
                "corrected": f"{name} lies in {real.the_name}",
                "claimed_country": code,
                **country_truth(self.world, real.code),
            },
        )

    # ---- facts ------------------------------------------------------------------------------------------------------

    @cached_property
    def codes(self) -> dict[str, Region]:
        """Divisions by their ISO 3166-2 codes, where both sources call them alike."""
        names = {(r.country, normalise_name(n)): r for r in self.table.values() for n in (r.name, *r.aliases)}
        rows = {s.code: (s.country_code, normalise_name(_plain(s.name))) for s in self.world.pycountry.subdivisions}
        return {code: names[row] for code, row in sorted(rows.items()) if row in names}

    @cached_property
    def clear(self) -> list[str]:
        """Divisions whose name no other country has, the most populous first."""
        users: dict[str, set[str]] = {}
        for region in self.world.regions.values():
            for name in (region.name, *region.aliases):
                users.setdefault(normalise_name(name), set()).add(region.country)
        own = [r for r in self.table.values() if len(users[normalise_name(r.name)]) == 1 and self._is_clear(r)]
        return [r.id for r in sorted(own, key=lambda r: (-r.population, r.id))]

    def _is_clear(self, region: Region) -> bool:
        """Whether a name is not vague, and no city of 100,000 or more in another country bears it."""
        name = normalise_name(region.name)
        places = [self.world.cities[k] for k in self.world.name_places.get(name, ())]
        elsewhere = any(city.country != region.country and city.population >= 100_000 for city in places)
        return not elsewhere and not VAGUE & set(name.split())

    def cities_in_table(self, least: int, most: int) -> list[str]:
        """Cities of so many people in divisions that can be asked about."""
        own = [key for key in self.world.asked_cities if self.region_of(key) in self.table]
        return [key for key in own if least <= self.world.cities[key].population < most]

    def cities_with_zone(self, least: int, most: int) -> list[str]:
        """Cities of so many people whose zone can be asked about."""
        own = [key for key in self.world.asked_cities if self.world.cities[key].zone in self.world.zones]
        return [key for key in own if least <= self.world.cities[key].population < most]

    @cached_property
    def one_zone(self) -> list[str]:
        """States with one zone and one capital."""
        world = self.world
        return [c for c in world.states if len(world.country_zones.get(c, ())) == 1 and world.countries[c].capital]

    @cached_property
    def zones(self) -> list[str]:
        """Zones of one state."""
        table = self.world.zone_country
        return [z for z, code in table.items() if self.world.countries[code].asked and z.count("/") == 1]

    @cached_property
    def without_zone(self) -> list[str]:
        """Large cities of which no zone has the name, each with its zone."""
        largest = [self.world.cities[key] for key in self.world.asked_cities[:900]]
        bare = [c for c in largest if self.world.call(c) == c.name and c.name.isascii()]
        named = [c for c in bare if c.name.replace(" ", "").isalpha() and c.key not in self.world.zone_words]
        return [f"{city.id}|{city.zone}" for city in named]

    @cached_property
    def misplaced(self) -> list[str]:
        """Divisions with two countries each, near ones first, in which no place bears their name."""
        return [f"{key}|{code}" for key in self.clear[:400] for code in self._claims(self.table[key])]

    def _claims(self, region: Region) -> list[str]:
        places = self.world.name_places.get(normalise_name(region.name), ())
        there = {self.world.cities[k].country for k in places}
        return [c for c in near_countries(self.world, region.country, region.id) if c not in there][:2]


def regions(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Regions(world)
    large, middle = d.cities_in_table(300_000, 10**9), d.cities_in_table(60_000, 300_000)
    pools = {
        "codes": list(d.codes),
        "code_shots": order_by_hash(d.codes, 0)[:30],
        "federal": [key for key in large if world.cities[key].country in FEDERAL],
        "large": large,
        "large_and_middle": [*large, *middle],
        "small": d.cities_in_table(8_000, 60_000),
        "solved_hours": SOLVED_HOURS,
        "solved_largest": SOLVED_LARGEST,
        "whole": [key for key in d.clear if key in world.region_zone],
        "zone_large": d.cities_with_zone(500_000, 10**9),
        "zone_middle": d.cities_with_zone(50_000, 500_000),
        "zone_shots": order_by_hash(d.zones, 0)[:20],
    }
    return cells("regions", d, pools)


def _plain(name: str) -> str:
    """'Bern [Berne]' -> 'Bern'; 'Bizkaia*' -> 'Bizkaia'; 'Illes Balears [Islas Baleares]' -> 'Illes Balears'."""
    return name.split("[")[0].split("(")[0].replace("*", "").strip().rstrip(",")
