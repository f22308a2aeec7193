"""The facts benchmark's rows: what the sources say of each country, city, currency, element and so on, as plain dicts.

A row has an `id`, a `name`, a `type` and `truth` (what a wrong answer is measured against); its other columns are texts
that a wording may show or a question ask for, and rows that it leads to (a city's `country`). Beside a column that is
asked for may stand `<column>_aliases` (also right), `_also` (right enough not to be offered), `_wrong` (wrong answers
that go first) and `_truth`.
"""

import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from richter_audit.bench import _fact_lists as lists
from richter_audit.bench._place_names import CONTINENTS, DISPUTED, DIVISIONS
from richter_audit.bench._text_order import leaks, normalise_name, order_by_hash, pick, unique
from richter_audit.bench._world import City, Element, Region, World, load_package

Row = dict[str, Any]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ORDINALS = ("zero", "first", "second", "third", "fourth", "fifth", "sixth", "seventh")
PRINTED = range(33, 127)  # the characters of ASCII that can be seen
NEAREST = 9  # values of a column from which wrong numbers are chosen


def _nothing(*columns: str) -> Callable[[str], Row]:
    """What makes a row of a code that nobody has, in the columns in which others have theirs."""
    return lambda name: {"type": "nothing", **dict.fromkeys(("id", "name", *columns), name), "truth": {}}


def _free_codes(codes: Iterable[str], taken: Iterable[str], most: int) -> list[str]:
    """Codes that nobody has, in an order that looks random."""
    return order_by_hash(set(codes) - set(taken), "free codes")[:most]


def _number_row(kind: str, number: int, **columns: Any) -> Row:
    return {"type": kind, "id": str(number), "name": str(number), "truth": {"value": number}, **columns}


# from which pool wrong answers of a type are taken
POOLS = {
    "country": "states", "served": "airports", "airport": "airports", "currency": "money",
    "region": "regions", "element": "elements", "isotope": "natural_isotopes", "language": "major", "script": "scripts",
    "extension": "usual", "status": "statuses", "port": "ports", "character": "letters",
}  # fmt: skip


def _describe_continent(code: str, continent: str) -> Row:
    """A country's columns on its continent; one that lies on two has none to ask for."""
    return {
        "continent": "" if code in lists.TWO_CONTINENTS else CONTINENTS[continent],
        "continent_aliases": ["the Americas", "Central America", "Caribbean"] if continent == "NA" else [],
        "continent_wrong": order_by_hash([c for k, c in CONTINENTS.items() if k not in (continent, "AN")], code),
    }


class Values(NamedTuple):
    """Values of a column from which wrong answers are chosen."""

    of_kin: dict[Any, list[str]]
    of_letter: dict[str, list[str]]
    everything: list[str]


class FactRows:
    """All rows, by type and id; each table is read when it is first asked for."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.city = cache(self._city)  # of 100,000 cities few are asked about
        self.airport = cache(self._airport)
        self.rows = cache(self._rows)
        self.values = cache(self._values)

    # ---- countries ---------------------------------------------------------------------------------------------------

    @cached_property
    def countries(self) -> dict[str, Row]:
        """Countries and territories by code."""
        users = Counter(c.phone for c in self.world.countries.values())
        rows = {}
        for code, c in self.world.countries.items():
            known = (c.capital, *c.capital_aliases)
            name = normalise_name(c.name).replace(" ", "")
            guesses = [f".{name[:2]}", f".{name[0]}{name[-1]}", f".{name[0]}{name[2]}"]
            own_phone = c.phone.isdigit() and users[c.phone] == 1
            zones = self.world.country_zones.get(code, [])
            rows[code] = {
                "type": "country",
                "id": code,
                "name": c.name,
                "the_name": c.the_name,
                "The_name": f"{c.the_name[0].upper()}{c.the_name[1:]}",
                "the_name_aliases": c.aliases,
                "capital": c.capital,
                "capital_aliases": c.capital_aliases,
                "capital_wrong": [x.name for x in self.world.biggest(code)[:3] if x.name not in known][:1],
                "capital_truth": self.world.city_truth(c.capital, code) if c.capital else {},
                "iso3": c.iso3,
                "numeric": c.numeric,
                "phone": f"+{c.phone}" if own_phone else "",
                "phone_aliases": [f"00{c.phone}"],
                "tld": c.tld,
                "tld_also": [".gb"] if code == "GB" else [],
                "tld_wrong": [guess for guess in guesses if guess != c.tld][:1],
                **_describe_continent(code, c.continent),
                "zone": self.zone(zones[0]) if len(zones) == 1 else None,
                "zones": zones,
                "euro_year": str(lists.LATE_EURO.get(code, "")),
                "truth": {"country": code, "continent": c.continent, "neighbours": list(c.neighbours)},
            }
        return rows

    def country(self, code: str) -> Row:
        """A state with its currency and language, where it has one of each."""
        row = self.countries[code]
        if "currency" not in row:
            row["language"] = self.language(self.official[code]) if code in self.official else None
            row["currency"] = None
            if code in self.own_currency:
                own = self.currencies[self.own_currency[code]]
                also = [self.currencies[c]["unit"] for c in self.tender(code)]
                row["currency"] = own | {"unit_also": [*own["unit_also"], *also]}
        return row

    def near_countries(self, code: str, *salt: object) -> list[str]:
        """Other states: two neighbours, two of the continent, then well-known ones, then the rest near."""
        country, states = self.world.countries[code], self.world.states
        neighbours = order_by_hash([n for n in country.neighbours if n in self._states], *salt, code)
        same = [c for c in states if self.world.countries[c].continent == country.continent]
        same = [c for c in same if c != code and c not in neighbours]
        far = [c for c in states[:90] if self.world.countries[c].continent != country.continent]
        close = pick(same, 4, *salt, code, "same") if same else []
        codes = [*neighbours[:1], *close[:1], *pick(far, 1, *salt, code, "far"), *neighbours[1:], *close[1:]]
        return [*codes, *pick(far, 4, *salt, code, "more")]

    @cached_property
    def _states(self) -> set[str]:
        return set(self.world.states)

    def pair(self, fact: str) -> Row:
        """Two countries."""
        one, two = (self.world.countries[code] for code in fact.split("|"))
        return _nothing()(f"{one.name} and {two.name}") | {"one": one.the_name, "two": two.the_name}

    @cached_property
    def unconnected(self) -> list[str]:
        """Pairs of states without a common border: for each state one on its continent and one far away."""
        lands = self.world.countries
        clear = [c for c in self.world.states[:120] if c not in {*lists.UNCLEAR_BORDERS, "ES", "MA"}]
        pairs = []
        for code in clear:
            free = [c for c in clear if c not in {code, *lands[code].neighbours}]
            near = [c for c in free if lands[c].continent == lands[code].continent]
            far = [c for c in free if c not in near]
            pairs += ["|".join(sorted((code, pick(pool, 1, code)[0]))) for pool in (near, far) if pool]
        return list(dict.fromkeys(pairs))

    # ---- cities, divisions, zones ------------------------------------------------------------------------------------

    def _city(self, key: str) -> Row:
        """A city by its id in GeoNames."""
        city = self.world.cities[key]
        country = self.country(city.country)
        term = DIVISIONS.get(city.country)
        return {
            "type": "city",
            "id": key,
            "name": city.name,
            "called": self.world.call(city),
            "kind": "city" if city.population >= 50_000 else "town",
            "country": country,
            "region": self.region(city.region) if city.region in self.clear_regions else None,
            "part": f"{term} of {country['the_name']}" if term else "",
            "zone": self.zone(city.zone) if city.zone in self.world.zones else None,
            "truth": country["truth"],
        }

    def misplaced(self, maker: Callable[[str], Row]) -> Callable[[str], Row]:
        """What makes a row of a place (before the bar) that is claimed to lie in another country (behind it)."""

        def make(fact: str) -> Row:
            key, code = fact.split("|")
            row, claimed = maker(key), self.countries[code]
            part = f"{DIVISIONS.get(code, '')} of {claimed['the_name']}"
            truth = {"claimed_country": code, **row["country"]["truth"]}
            cities = [city.name for city in self.world.biggest(code)[:6]]
            regions = [region.name for region in self.world.big_regions(code)]
            return row | {"claimed": claimed, "part": part, "truth": truth, "cities": cities, "regions": regions}

        return make

    def cities_between(self, least: int, most: int, *, where: Callable[[City], bool] = bool) -> list[str]:
        """The ids of the cities of so many people that can be asked about."""
        cities = map(self.world.cities.__getitem__, self.world.asked_cities)
        return [city.id for city in cities if least <= city.population < most and where(city)]

    @cached_property
    def misplaced_cities(self) -> list[str]:
        """Well-known cities with two countries each that they may be put into by mistake: a neighbour and another."""
        claimable, facts = sorted(DIVISIONS), []
        for key in self.world.known_cities[:1500]:
            own = self.world.cities[key].country
            near = [c for c in self.world.countries[own].neighbours if c in claimable]
            others = [c for c in claimable if c != own and c not in near]
            facts += [f"{key}|{code}" for code in (*order_by_hash(near, key)[:1], *pick(others, 1, key))]
        return facts

    @cached_property
    def clear_regions(self) -> dict[str, Region]:
        """The divisions that can be asked about."""
        regions = self.world.regions.values()
        return {r.id: r for r in regions if r.country in DIVISIONS and not self.world.is_odd(r)}

    def region(self, key: str) -> Row:
        """A division by its id."""
        region = self.clear_regions[key]
        country = self.country(region.country)
        return {
            "type": "region",
            "id": key,
            "name": region.name,
            "name_aliases": region.aliases,
            "term": DIVISIONS[region.country].split(" or ")[0],
            "country": country,
            "truth": {"region": key, **country["truth"]},
        }

    @cached_property
    def region_codes(self) -> dict[str, str]:
        """Divisions by their ISO 3166-2 codes, where both sources call them alike."""
        regions = self.clear_regions.values()
        names = {(r.country, normalise_name(n)): r.id for r in regions for n in (r.name, *r.aliases)}
        codes = {}
        for s in self.world.pycountry.subdivisions:
            # 'Bern [Berne]' -> 'Bern'; 'Bizkaia*' -> 'Bizkaia'
            name = s.name.split("[")[0].split("(")[0].replace("*", "").strip().rstrip(",")
            if (s.country_code, normalise_name(name)) in names:
                codes[s.code] = names[s.country_code, normalise_name(name)]
        return dict(sorted(codes.items()))

    @cached_property
    def named_regions(self) -> list[str]:
        """Divisions whose name is not vague and that no other country or large city elsewhere has, largest first."""
        users: dict[str, set[str]] = defaultdict(set)
        for region in self.world.regions.values():
            for name in (region.name, *region.aliases):
                users[normalise_name(name)].add(region.country)
        rows = sorted(self.clear_regions.values(), key=lambda r: (-r.population, r.id))
        return [r.id for r in rows if len(users[normalise_name(r.name)]) == 1 and self._is_clear(r)]

    def _is_clear(self, region: Region) -> bool:
        name = normalise_name(region.name)
        places = [self.world.cities[key] for key in self.world.name_places.get(name, ())]
        elsewhere = any(city.country != region.country and city.population >= 100_000 for city in places)
        return not elsewhere and not lists.VAGUE & set(name.split())

    @cached_property
    def misplaced_regions(self) -> list[str]:
        """Divisions with two countries each, near ones first, in which no place bears their name."""
        facts = []
        for key in self.named_regions[:400]:
            region = self.clear_regions[key]
            places = self.world.name_places.get(normalise_name(region.name), ())
            there = {self.world.cities[k].country for k in places}
            near = [c for c in self.near_countries(region.country, key) if c not in there]
            facts += [f"{key}|{code}" for code in near[:2]]
        return facts

    def zone(self, zone: str) -> Row:
        """A time zone by its identifier."""
        aliases = [*self.world.zone_links.get(zone, ()), zone.split("/")[-1].replace("_", " ")]
        truth = {"zone": zone, "area": zone.split("/")[0]}
        return {"type": "zone", "id": zone, "name": zone, "id_aliases": aliases, "truth": truth}

    # ---- money -------------------------------------------------------------------------------------------------------

    def tender(self, country: str) -> list[str]:
        """The currencies that are legal tender in a country now."""
        history = self.world.cldr_table("territory_currencies").get(country, ())
        return [code for code, _, end, is_tender in history if end is None and is_tender]

    @cached_property
    def own_currency(self) -> dict[str, str]:
        """Each state's own currency; where a neighbour's is legal tender too, the one that has the state's letters."""
        tender = {c: self.tender(c) for c in self.world.states if c not in lists.UNSETTLED}
        return {c: next((x for x in codes if x[:2] == c), codes[0]) for c, codes in tender.items() if codes}

    @cached_property
    def currencies(self) -> dict[str, Row]:
        """Currencies by code, with those that use them."""
        users: dict[str, list[str]] = defaultdict(list)
        for country in self.world.states:
            for code in self.tender(country):
                users[code].append(country)
        rows = {code: self._currency(code, sorted(users[code])) for code in sorted(users) if code in self._iso_money}
        units = Counter(row["unit"] for row in rows.values())
        for row in rows.values():
            if units[row["unit"]] == 1:
                row["name_aliases"] = [*row["name_aliases"], row["unit"], *row["unit_names"]]
            kin = next((group for group in lists.KIN if normalise_name(row["unit"]) in group), ())
            row["unit_also"] = [*kin, *(unit for unit in units if "franc" in unit and "franc" in row["unit"])]
        return rows

    def former(self) -> Iterable[Row]:
        """Currencies that are gone."""
        return (self._currency(code, []) for code in lists.FORMER)

    @cached_property
    def _iso_money(self) -> dict[str, Any]:
        return {c.alpha_3: c for c in self.world.pycountry.currencies}

    def _currency(self, code: str, users: list[str]) -> Row:
        plain = self.world.cldr.currencies[code].split(" (")[0].replace("&", "and")
        words, iso = plain.split(), self._iso_money.get(code)
        spoken = plain if len(words) == 1 else " ".join([*words[:-1], words[-1].lower()])
        name = lists.FULL_NAMES.get(code, spoken)
        unit = lists.UNITS.get(code) or words[-1].lower()
        aliases = unique([name, plain, *([iso.name] if iso and " " in iso.name else [])])[1:]
        numeric = iso.numeric if iso else ""
        home = self.countries[users[0]]["truth"] if len(users) == 1 else {}
        return {
            "type": "currency",
            "id": code,
            "name": name,
            "names": aliases,
            "name_aliases": aliases,
            "unit": unit,
            "unit_names": lists.UNIT_ALIASES.get(code, ()),
            "unit_aliases": unique([name, *aliases, *lists.UNIT_ALIASES.get(code, ()), f"{unit}s", code]),
            "id_wrong": [f"{code[:2]}{x}" for x in "DPRSFK" if f"{code[:2]}{x}" not in self._iso_money][:1],
            "numeric": numeric,
            "numeric_aliases": [str(int(numeric))] if numeric else [],
            "users": users,
            "country": self.countries[users[0]] if users else None,
            "truth": {"code": code, "unit": unit, "countries": users, **home},
        }

    @cached_property
    def money(self) -> list[str]:
        """Currencies, those that most people use first; without Bulgaria's, Zimbabwe's and Panama's."""
        lands = self.world.countries
        people = {code: sum(lands[user].population for user in row["users"]) for code, row in self.currencies.items()}
        return sorted(people.keys() - {"BGN", "ZWG", "PAB"}, key=lambda code: (-people[code], code))

    @cached_property
    def without_euro(self) -> list[str]:
        """States that have never paid with the euro."""
        history = self.world.cldr_table("territory_currencies")
        paid = {c for c in self.own_currency for row in history.get(c, ()) if row[0] == "EUR"}
        return [c for c in self.own_currency if c not in paid | lists.EURO_BY_OTHER_MEANS]

    @cached_property
    def free_currencies(self) -> list[str]:
        """Codes of three letters that look like a state's and stand for nothing."""
        taken = {*self._iso_money, *self.world.cldr.currencies}
        return _free_codes((c + x for c in self.world.states for x in "DFKLPRSZ"), taken, 600)

    # ---- airports ----------------------------------------------------------------------------------------------------

    @cached_property
    def airports(self) -> dict[str, tuple[dict[str, Any], City | None]]:
        """Airports by IATA code with the city they serve, where GeoNames has one of that name nearby.

        Those of the best known cities come first, by the names that other languages have for them; international ones
        come before others of the same city.
        """
        source = load_package("airportsdata")
        group = {iata: row["name"] for row in source.load_iata_macs().values() for iata in row["airports"]}
        rows = {}
        for iata, row in source.load("IATA").items():
            name = group.get(iata, row["city"])
            rows[iata] = (row, self.world.city_at(name, row["country"], row["lat"], row["lon"]))

        def order(iata: str) -> tuple[int, bool, str]:
            row, city = rows[iata]
            return (-len(city.alternates) if city else 0, "international" not in row["name"].lower(), iata)

        return {iata: rows[iata] for iata in sorted(rows, key=order)}

    def _airport(self, iata: str) -> Row:
        """An airport that serves a city, by its IATA code."""
        row, city = self.airports[iata]
        assert city
        country = self.country(row["country"])
        where = {"lat": round(row["lat"], 2), "lon": round(row["lon"], 2), **country["truth"]}
        served = {
            "type": "served",
            "id": city.id,
            "name": city.name,
            "name_aliases": [row["city"].strip(), *self.world.city_aliases(city.name, row["country"])],
            "truth": where | self.world.city_truth(city.name, row["country"]),
        }
        return {
            "type": "airport",
            "id": iata,
            "name": row["name"].strip(),
            "icao": row["icao"],
            "city": served,
            "country": country,
            "zone": self.zone(row["tz"]) if row["tz"] in self.world.zones else None,
            "truth": where,
        }

    @cached_property
    def usable_airports(self) -> dict[str, City]:
        """Airports that can be asked about, with their cities: of a state, of a city that lies in one division."""
        usable = {}
        for iata, (row, city) in self.airports.items():
            if city is None or row["country"] not in self._states or not row["icao"] or city.population < 3_000:
                continue
            if city.region in self.world.regions and city.region not in DISPUTED:
                usable[iata] = city
        return usable

    @cached_property
    def named_airports(self) -> list[str]:
        """Airports with a plain name of their own that says neither the city nor the country."""
        users = Counter(normalise_name(row["name"]) for row, _ in self.airports.values())
        named = []
        for iata in self.usable_airports:
            name, country = self.airports[iata][0]["name"].strip(), self.countries[self.airports[iata][0]["country"]]
            is_plain = name.isascii() and name.endswith("Airport") and not set("/()-") & set(name) and "Afb" not in name
            if is_plain and users[normalise_name(name)] == 1:
                named += [iata] if not leaks([country["name"], *country["the_name_aliases"]], name) else []
        return named

    @cached_property
    def international(self) -> list[str]:
        """Airports that call themselves so."""
        return [iata for iata in self.usable_airports if "international" in self.airports[iata][0]["name"].lower()]

    @cached_property
    def misplaced_airports(self) -> list[str]:
        """Airports with a country each in which they are not."""
        lands = {iata: self.airports[iata][0]["country"] for iata in self.international[:500]}
        return [f"{iata}|{pick(sorted(set(DIVISIONS) - {land}), 1, iata)[0]}" for iata, land in lands.items()]

    @cached_property
    def free_airports(self) -> list[str]:
        """Codes of whole blocks that hold no airport: a single gap might be one that the list lacks."""
        letters, cities = LETTERS.upper(), load_package("airportsdata").load_iata_macs()
        used = {code[:2] for code in (*self.airports, *(row["lid"] for row, _ in self.airports.values()), *cities)}
        blocks = {a + b for a in letters for b in letters} - used
        return _free_codes((block + c for block in blocks for c in letters), (), 600)

    # ---- elements ----------------------------------------------------------------------------------------------------

    @cached_property
    def elements(self) -> dict[str, Row]:
        """Elements by symbol, each with the next one."""
        families = {symbol: name for name, symbols in lists.FAMILIES.items() for symbol in symbols.split()}
        rows = {e.symbol: self._element(e, families.get(e.symbol, "")) for e in self.world.elements}
        for one, two in zip(list(rows), list(rows)[1:], strict=False):
            rows[one]["next"] = rows[two]
        return rows

    def _element(self, e: Element, family: str) -> Row:
        several, others = _several(family), lists.FAMILY_ALIASES.get(family, ())
        guesses = [s.title() for s in (e.name[0] + e.name[2:3], e.name[:2], e.name[0] + e.name[-1]) if len(s) == 2]
        group = "" if e.symbol in lists.UNSETTLED_COLUMN else str(e.group or "")
        return {
            "type": "element",
            "id": e.symbol,
            "id_wrong": [guess for guess in guesses if guess != e.symbol][:1],
            "name": e.name,
            "Name": e.name.capitalize(),
            "name_aliases": lists.SPELLINGS.get(e.name, ()),
            "number": str(e.number),
            "family": several,
            "family_aliases": [family, *others, *(f"{name}s" for name in others)],
            "family_wrong": [_several(other) for other in order_by_hash(lists.FAMILIES, e.symbol) if other != family],
            "period": str(e.period),
            "period_aliases": [*_places("period", e.period), f"row {e.period}", ORDINALS[e.period]],
            "group": group,
            "group_aliases": _places("group", e.group or 0),
            "year": str(lists.FOUND.get(e.symbol, "")),
            "masses": [str(mass) for mass in e.isotopes],
            "truth": {"element": e.symbol, "number": e.number, "period": e.period, "group": e.group, "block": e.block},
        }

    def isotope(self, fact: str) -> Row:
        """An isotope by symbol and mass number."""
        symbol, mass = fact.split("-")
        element = self.elements[symbol]
        neutrons = str(int(mass) - int(element["number"]))
        name = f"{element['name']}-{mass}"
        return {"type": "isotope", "id": fact, "name": name, "neutrons": neutrons, "truth": element["truth"]}

    def isotopes(self, *, natural: bool) -> list[str]:
        """The isotopes of the elements from the sixth on that occur in nature, or of known ones that do not."""
        table = self.world.elements[5 : 83 if natural else 100]
        return [f"{e.symbol}-{m}" for e in table for m, share in e.isotopes.items() if bool(share) is natural]

    @cached_property
    def free_symbols(self) -> list[str]:
        """What looks like a symbol and is none, nor was one, nor is an English word."""
        taken = {*self.elements, *lists.ONCE_SYMBOLS, *(word.title() for word in lists.ENGLISH)}
        return _free_codes((a + b for a in LETTERS.upper() for b in "abdefgjkmoqvwxz"), taken, 240)

    # ---- languages ---------------------------------------------------------------------------------------------------

    @cached_property
    def speakers(self) -> dict[str, dict[str, int]]:
        """Speakers of each language by country."""
        table: dict[str, dict[str, int]] = defaultdict(dict)
        for key, count in load_package("language_data.population_data").LANGUAGE_SPEAKING_POPULATION.items():
            parts = key.split("-")
            if len(parts) == 2 and len(parts[1]) == 2 and count:
                table[parts[0]][parts[1]] = count
        return table

    @cached_property
    def _iso_languages(self) -> dict[str, Any]:
        """ISO's languages by their codes of two and of three letters."""
        table = {lang.alpha_3: lang for lang in self.world.pycountry.languages}
        return table | {lang.alpha_2: lang for lang in table.values() if hasattr(lang, "alpha_2")}

    @cached_property
    def english_languages(self) -> dict[str, str]:
        """CLDR's English names of languages by code."""
        return {code: name for code, name in self.world.cldr.languages.items() if code.isalpha()}

    @cached_property
    def languages(self) -> list[str]:
        """All codes: of two letters where a language has one, else of three."""
        iso = self._iso_languages
        return sorted({*self.english_languages, *(k for k, v in iso.items() if not hasattr(v, "alpha_2"))})

    def language(self, code: str) -> Row:
        """A language by its code."""
        iso, english = self._iso_languages.get(code), self.english_languages.get(code, "")
        plain = iso.name.split(" (")[0] if iso else ""
        name = lists.NAMES.get(code) or english or plain
        spoken = self.speakers.get(code, {})
        where = sorted(spoken, key=lambda c: -spoken[c])[:5]
        home = self.countries[where[0]]["truth"] if where and where[0] in self.countries else {}
        script = self.scripts.get(code)
        guess = normalise_name(name)[:2]
        return {
            "type": "language",
            "id": code,
            "name": name,
            "name_aliases": unique([name, english, plain, *lists.NAME_ALIASES.get(code, ())])[1:],
            "two": code if len(code) == 2 else "",
            "two_wrong": [guess] if len(guess) == 2 and guess.isalpha() else [],
            "script": self.script(script) if script else None,
            "home": self._home(code),
            "truth": {"language": code, "countries": where, **home},
        }

    def _home(self, code: str) -> Row | None:
        """The state where over nine tenths of a language's speakers live."""
        table = self.speakers.get(code, {})
        if not table or code in lists.NO_CLEAR_HOME:
            return None
        best = max(sorted(table), key=lambda c: table[c])
        likely = self.world.cldr_table("likely_subtags").get(code, "").split("_")[-1]
        if table[best] <= 0.9 * sum(table.values()) or likely != best or best not in self._states:
            return None
        also = [self.countries[c]["name"] for c in table if c in self.countries]
        return self.countries[best] | {"the_name_also": also}

    @cached_property
    def scripts(self) -> dict[str, str]:
        """Languages for which CLDR knows one script only."""
        folder = Path(load_package("language_data").__file__).parent
        table = ET.parse(folder / "data" / "supplementalData.xml").getroot().find("languageData")  # noqa: S314
        assert table is not None
        seen: dict[str, set[str]] = defaultdict(set)
        for row in table:
            seen[row.get("type", "")] |= set((row.get("scripts") or "").split())
        one = {code: min(scripts) for code, scripts in sorted(seen.items()) if len(scripts) == 1}
        return {k: v for k, v in one.items() if k in self.english_languages and k not in lists.NO_CLEAR_SCRIPT}

    def script(self, code: str) -> Row:
        """A script by its ISO 15924 code."""
        name = lists.SCRIPT_NAMES.get(code) or str(self.world.cldr.scripts[code])
        aliases = lists.SCRIPT_ALIASES.get(code, ())
        return {"type": "script", "id": code, "name": name, "name_aliases": aliases, "truth": {"script": code}}

    def most_spoken(self, codes: Iterable[str]) -> list[str]:
        """Languages by their speakers."""
        return sorted(codes, key=lambda c: (-sum(self.speakers.get(c, {}).values()), c))

    @cached_property
    def two_letters(self) -> list[str]:
        """Languages with a code of two letters."""
        return self.most_spoken(c for c in self._iso_languages if len(c) == 2 and c not in ("sh", "bh"))

    @cached_property
    def three_letters(self) -> list[str]:
        """Single languages with a code of three letters and an English name."""
        iso = self._iso_languages
        three = [c for c in self.english_languages if len(c) == 3 and c in iso]
        return self.most_spoken(c for c in three if iso[c].scope == "I")

    @cached_property
    def only_three(self) -> list[str]:
        """Living languages of some size that have no code of two letters, by their code."""
        living = [c for c in sorted(self.three_letters) if self._iso_languages[c].type == "L"]
        return [c for c in living if sum(self.speakers.get(c, {}).values()) > 30_000]

    @cached_property
    def homes(self) -> list[str]:
        """Languages that are spoken in one state."""
        return [c for c in self.most_spoken(self.speakers) if c in self.english_languages and self._home(c)]

    @cached_property
    def written(self) -> list[str]:
        """Languages of one script, those in other letters than ours first; in ours those of some size."""
        other = self.most_spoken(c for c, script in self.scripts.items() if script != "Latn")
        roman = self.most_spoken(c for c, script in self.scripts.items() if script == "Latn")
        return [*other, *(c for c in roman if sum(self.speakers.get(c, {}).values()) > 100_000)]

    @cached_property
    def official(self) -> dict[str, str]:
        """The one official language of each state that has one, the most populous first."""
        table = self.world.cldr_table("territory_languages")
        one = {}
        for country in self.world.states:
            spoken = table.get(country, {}) if country not in lists.NOT_ONE_OFFICIAL else {}
            codes = [code for code, row in spoken.items() if row["official_status"] == "official"]
            if len(codes) == 1 and "_" not in codes[0]:
                one[country] = codes[0]
        return one

    @cached_property
    def free_languages(self) -> list[str]:
        """Pairs of letters that are no language's code and no word."""
        taken = {*self._iso_languages, *lists.WITHDRAWN_CODES, *lists.CODES_THAT_ARE_WORDS}
        return _free_codes((a + b for a in LETTERS for b in LETTERS), taken, 400)

    # ---- computing ---------------------------------------------------------------------------------------------------

    @cached_property
    def software(self) -> dict[str, str]:
        """File extension -> the one language or format that Pygments knows for it, as we show it."""
        seen: dict[str, set[str]] = defaultdict(set)
        for _, name, _, patterns, _ in load_package("pygments.lexers._mapping").LEXERS.values():
            for pattern in patterns:
                if pattern.startswith("*.") and pattern[2:].isalnum() and pattern.islower():
                    seen[pattern[2:]].add(lists.SHOWN.get(name, name))
        return {extension: min(names) for extension, names in sorted(seen.items()) if len(names) == 1}

    def extension(self, extension: str) -> Row:
        """A file extension."""
        name = self.software[extension]
        row = {"type": "extension", "id": extension, "name": f".{extension}", "truth": {"name": name}}
        return row | {"software": name, "software_aliases": lists.MORE_NAMES.get(name, ())}

    def status(self, code: str) -> Row:
        """An HTTP status."""
        phrase, aliases = lists.HTTP[int(code)], lists.HTTP_ALIASES.get(int(code), ())
        return _number_row("status", int(code), phrase=phrase, phrase_aliases=aliases)

    def port(self, port: str) -> Row:
        """A well-known port."""
        aliases = lists.PORT_ALIASES.get(int(port), ())
        return _number_row("port", int(port), service=lists.PORTS[int(port)], service_aliases=aliases)

    def character(self, code: str) -> Row:
        """A character by its number."""
        value = int(code)
        row = _number_row("character", value, character=chr(value), hex=f"{value:02X}", binary=f"{value:07b}")
        row |= {"hex_aliases": (f"0x{row['hex']}", f"{row['hex']}h")}
        row |= {"hex_truth": {"base": "hexadecimal"}, "binary_truth": {"base": "binary"}}
        return row | {"name": chr(value), "binary_aliases": (f"0{row['binary']}", f"0b{row['binary']}")}

    @cached_property
    def free_domains(self) -> list[str]:
        """Domains of two letters that nobody has."""
        taken = {*lists.MORE_DOMAINS, *(c.tld for c in self.world.countries.values())}
        return _free_codes((f".{a}{b}" for a in LETTERS for b in LETTERS), taken, 220)

    # ---- pools, and what is near what --------------------------------------------------------------------------------

    @cached_property
    def pools(self) -> dict[str, tuple[Callable[[str], Row], Sequence[str]]]:
        """What questions are about: by name the ids, the best known first, and what makes a row of an id."""
        world, everything, known = self.world, list(self.elements), set(lists.COMMON)
        usual = [e for e in lists.FAMILIAR if e in self.software]
        large = self.cities_between(300_000, 10**9, where=self._is_placed)
        single = [code for code in self.money if len(self.currencies[code]["users"]) == 1]
        unusual = [e for e in dict.fromkeys(lists.LESSER) if e in self.software and e not in usual]
        lone = Counter(lists.PORTS.values())
        return {
            "known": (self.city, world.known_cities),
            "middle": (self.city, self.cities_between(20_000, 100_000)),
            "small": (self.city, self.cities_between(5_000, 20_000)),
            "villages": (self.city, self.cities_between(1_000, 5_000)),
            "misplaced_cities": (self.misplaced(self.city), self.misplaced_cities),
            "states": (self.country, world.states),
            "unconnected": (self.pair, self.unconnected),
            "zone_large": (self.city, self.cities_between(500_000, 10**9)),
            "zone_middle": (self.city, self.cities_between(50_000, 500_000)),
            "federal": (self.city, [k for k in large if world.cities[k].country in lists.FEDERAL]),
            "large": (self.city, [*large, *self.cities_between(60_000, 300_000, where=self._is_placed)]),
            "placed": (self.city, self.cities_between(8_000, 60_000, where=self._is_placed)),
            "regions": (self.region, self.named_regions),
            "region_codes": (lambda code: self.region(self.region_codes[code]) | {"code": code}, [*self.region_codes]),
            "misplaced_regions": (self.misplaced(self.region), self.misplaced_regions),
            "money": (self.currencies.__getitem__, self.money),
            "single": (self.currencies.__getitem__, single),
            "euro": (self.country, sorted(lists.LATE_EURO)),
            "without_euro": (self.country, self.without_euro),
            "free_currencies": (_nothing(), self.free_currencies),
            "airports": (self.airport, list(self.usable_airports)),
            "named_airports": (self.airport, self.named_airports),
            "international": (self.airport, self.international),
            "misplaced_airports": (self.misplaced(self.airport), self.misplaced_airports),
            "free_airports": (_nothing(), self.free_airports),
            "elements": (self.elements.__getitem__, everything),
            "common": (self.elements.__getitem__, lists.COMMON),
            "rare": (self.elements.__getitem__, [symbol for symbol in everything if symbol not in known]),
            "never_stable": (self.elements.__getitem__, lists.NEVER_STABLE),
            "beyond": (_nothing("number"), list(map(str, range(121, 200)))),
            "free_symbols": (_nothing(), self.free_symbols),
            "natural_isotopes": (self.isotope, self.isotopes(natural=True)),
            "made_isotopes": (self.isotope, self.isotopes(natural=False)),
            "nations": (self.country, list(self.official)),
            "two": (self.language, self.two_letters),
            "major": (self.language, self.two_letters[:90]),
            "three": (self.language, self.three_letters),
            "only_three": (self.language, self.only_three),
            "homes": (self.language, self.homes),
            "written": (self.language, self.written),
            "scripts": (self.script, lists.SCRIPTS),
            "free_languages": (_nothing(), self.free_languages),
            "usual": (self.extension, usual),
            "unusual": (self.extension, unusual),
            "statuses": (self.status, list(map(str, lists.HTTP))),
            "free_statuses": (_nothing(), list(map(str, lists.HTTP_FREE))),
            "ports": (self.port, list(map(str, lists.PORTS))),
            "own_ports": (self.port, [str(port) for port, service in lists.PORTS.items() if lone[service] == 1]),
            "characters": (self.character, list(map(str, PRINTED))),
            "letters": (self.character, [str(v) for v in range(48, 91) if chr(v).isalnum()]),
            "foreign": (_nothing("character"), list(lists.NOT_ASCII)),
            "free_domains": (_nothing("tld"), self.free_domains),
        }

    def _is_placed(self, city: City) -> bool:
        return city.region in self.clear_regions

    def _rows(self, pool: str, most: int = 1500) -> list[Row]:
        """The rows of a pool, or the first of them."""
        make, ids = self.pools[pool]
        return [make(fact) for fact in ids[:most]]

    def _values(self, pool: str, column: str) -> Values:
        """The values of a column in a pool, those of rows that are easily mixed up together, and those alike."""
        values = Values(defaultdict(list), defaultdict(list), [])
        for row in self.rows(pool):
            row = row["city"] if pool == "airports" and column == "name" else row
            values.of_kin[_shared(row)].append(row[column])
            values.of_letter[row[column][:1]].append(row[column])
            values.everything.append(row[column])
        return values

    def near(self, row: Row, column: str, home: str, salt: str) -> list[str]:
        """Values of a column that a reader might take for a row's, the likeliest first; `home` is its country."""
        kind = row["type"]
        if kind == "zone":
            return self._near_zones(row, home, salt)
        if kind == "country":
            return [self.country(code)[column] for code in self.near_countries(row["id"], salt)]
        values = self.values("three" if kind == "language" and len(row["id"]) == 3 else POOLS[kind], column)
        kin, like = values.of_kin[_shared(row)], values.of_letter[row[column][:1]]
        if kind == "region":
            return pick(kin, 6, salt)
        if kind == "currency" and home:
            lands = [self.country(code)["currency"] for code in self.near_countries(home, salt)]
            kin = [money[column] for money in lands if money]
        return [*pick(kin, 1, salt), *pick(like, 1, salt), *pick(values.everything, 6, salt)]

    def _near_zones(self, row: Row, home: str, salt: str) -> list[str]:
        """Time zones: three of countries near `home`, some of the same area, then the rest near."""
        lands = [self.countries[code] for code in self.near_countries(home, salt)] if home else []
        area = [zone for zone in self.world.zones if zone.split("/")[0] == row["id"].split("/")[0]]
        zones = [zone for land in lands for zone in land["zones"][:1]]
        return [*zones[:3], *pick(area, 4, row["id"], salt), *zones[3:]]

    def near_numbers(self, row: Row, column: str, salt: str) -> list[str]:
        """Numbers of a column: two next to a row's, then any, in an order set by the salt."""
        values = {other[column] for other in self.rows(POOLS[row["type"]])} - {row[column], ""}
        nearest = sorted(values, key=lambda value: (abs(int(value) - int(row[column])), value))[:NEAREST]
        return [*order_by_hash(nearest, salt)[:2], *pick(sorted(values), 4, salt)]


def _shared(row: Row) -> Any:
    """What a row shares with those that are easily taken for it."""
    kind, truth = row["type"], row["truth"]
    if kind in ("status", "character"):
        return row["id"][0]
    if kind == "currency":
        return row["unit"]
    return row["group"] if kind == "element" else truth.get("country")


def _several(family: str) -> str:
    return "noble gases" if family == "noble gas" else f"{family}s" if family else ""


def _places(kind: str, n: int) -> list[str]:
    return [f"{kind} {n}", f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"]
