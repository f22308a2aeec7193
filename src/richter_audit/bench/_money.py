"""Money: currencies, their codes, who uses them, what came before, and currencies that were never adopted."""

import dataclasses
from functools import cached_property
from typing import Any

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells, solve
from richter_audit.bench._places import Places, country_truth, near_countries
from richter_audit.bench._text_order import normalise_name, order_by_hash, pick, unique, words
from richter_audit.bench._world import World

# Bulgaria changed to the euro in 2026, after the sources' date; Panama and Zimbabwe use two currencies side by side.
UNSETTLED = frozenset({"BG", "PA", "ZW"})
UNITS = {"BAM": "convertible mark", "ILS": "shekel", "XAF": "CFA franc", "XOF": "CFA franc", "GBP": "pound"}
UNIT_ALIASES = {
    "BAM": ("mark", "marka"), "ILS": ("new shekel", "sheqel"), "XAF": ("franc",), "XOF": ("franc",),
    "GBP": ("pound sterling", "sterling"), "CNY": ("renminbi", "RMB"), "PLN": ("złoty",), "KGS": ("Kyrgyzstani som",),
    "GYD": ("Guyanese dollar",), "BWP": ("Botswana pula",), "MNT": ("tögrög", "togrog"), "UAH": ("hryvnya",),
    "RUB": ("rouble",), "BYN": ("rouble",), "DEM": ("German mark", "D-Mark"), "SUR": ("Soviet rouble",),
}  # fmt: skip
# One word in several languages: none of them is offered as a wrong answer for another.
KIN = ({"krone", "krona", "koruna", "kroon"}, {"rial", "riyal", "riel"}, {"pound", "lira"}, {"leu", "lev"})
FULL_NAMES = {
    "GYD": "Guyanese dollar", "ILS": "Israeli new shekel", "BAM": "Bosnia and Herzegovina convertible mark",
    "KGS": "Kyrgyzstani som", "BWP": "Botswana pula", "CSK": "Czechoslovak koruna", "SUR": "Soviet ruble",
    "EUR": "euro", "DEM": "Deutsche Mark", "MMK": "Myanmar kyat",
}  # fmt: skip
# Withdrawn codes of money that had a name of its own; revaluations under the same name are left out.
FORMER = words(
    "ADP ARA ATS BEF BOP BRC BUK CLE CSK CYP DDM DEM ECS EEK ESP FIM FRF GNS GRD GWP HRD HRK IEP ILP ITL "
    "KRH LTL LUF LVL LVR MAF MCF MDC MGF MLF MTL MZE NLG PEI PTE RHD SIT SKK SRG SUR TJR TPE UAK YDD ZRZ"
)
# The euro is their money (by treaty or by their own decision), or they share a currency pegged to it by name.
EURO_BY_OTHER_MEANS = frozenset(["AD", "MC", "SM", "VA", "ME", "XK"])
LATE_EURO = {"GR": 2001, "SI": 2007, "CY": 2008, "MT": 2008, "SK": 2009, "EE": 2011, "LV": 2014, "LT": 2015, "HR": 2023}
BEFORE_EURO = {
    "AT": "ATS", "BE": "BEF", "CY": "CYP", "DE": "DEM", "EE": "EEK", "ES": "ESP", "FI": "FIM", "FR": "FRF", "GR": "GRD",
    "HR": "HRK", "IE": "IEP", "IT": "ITL", "LT": "LTL", "LV": "LVL", "MT": "MTL", "NL": "NLG", "PT": "PTE", "SI": "SIT",
    "SK": "SKK", "LU": "LUF",
}  # fmt: skip
EURO_YEARS = (2001, 2004, 2007, 2009, 2011, 2014, 2015, 2018, 2023)
NOT_ADOPTED = (
    *("never adopted", "not adopted", "did not adopt", "didn't adopt", "has not", "hasn't", "does not use"),
    *("doesn't use", "not a member of the eurozone", "not part of the eurozone", "not in the eurozone"),
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    """A currency with its code, the full name as in a sentence, its unit, and who uses it."""

    code: str
    name: str
    unit: str
    aliases: tuple[str, ...]
    unit_aliases: tuple[str, ...]
    numeric: str
    users: tuple[str, ...]


class Money(Places):
    """Currencies by code, and each state's own currency."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        table = world.cldr_table("territory_currencies")
        self.history: dict[str, list[Any]] = {code: list(rows) for code, rows in table.items()}
        self.iso = {c.alpha_3: c for c in world.pycountry.currencies}
        self.currencies = {
            code: self._currency(code, sorted(users))
            for code, users in sorted(self._users().items())
            if code in self.iso
        }
        self.former = {code: self._currency(code, []) for code in FORMER}
        self.unit_users: dict[str, set[str]] = {}
        for currency in self.currencies.values():
            self.unit_users.setdefault(currency.unit, set()).add(currency.code)

    def current(self, country: str) -> list[str]:
        """The currencies that are legal tender in a country now."""
        return [c for c, _, end, tender in self.history.get(country, ()) if end is None and tender]

    def _users(self) -> dict[str, list[str]]:
        users: dict[str, list[str]] = {}
        for country in self.world.states:
            for currency in self.current(country):
                users.setdefault(currency, []).append(country)
        return users

    @cached_property
    def own(self) -> dict[str, str]:
        """Each state's own currency; where a neighbour's is legal tender too, the one that has the state's letters."""
        tender = {country: self.current(country) for country in self.world.states if country not in UNSETTLED}
        return {
            country: next((c for c in codes if c[:2] == country), codes[0])
            for country, codes in tender.items()
            if codes
        }

    def _currency(self, code: str, users: list[str]) -> Currency:
        plain = self.world.cldr.currencies[code].split(" (")[0].replace("&", "and")
        words = plain.split()
        name = FULL_NAMES.get(code) or " ".join([*words[:-1], words[-1] if len(words) == 1 else words[-1].lower()])
        iso_name = self.iso[code].name if code in self.iso else ""
        return Currency(
            code=code,
            name=name,
            unit=UNITS.get(code) or words[-1].lower(),
            aliases=unique([name, plain, *([iso_name] if " " in iso_name else [])])[1:],
            unit_aliases=UNIT_ALIASES.get(code, ()),
            numeric=self.iso[code].numeric if code in self.iso else "",
            users=tuple(users),
        )

    # ---- what wordings say ------------------------------------------------------------------------------------------

    def slots(self, code: str) -> Slots:
        """Of a currency."""
        currency = self.currencies[code]
        return {"name": currency.name, "numeric": currency.numeric}

    # ---- answers ----------------------------------------------------------------------------------------------------

    def truth(self, currency: Currency) -> dict[str, Any]:
        """What a wrong currency is measured against."""
        own = country_truth(self.world, currency.users[0]) if len(currency.users) == 1 else {}
        return {"code": currency.code, "unit": currency.unit, "countries": list(currency.users), **own}

    def first_user(self, code: str) -> str:
        """The first country that uses a currency."""
        return self.currencies[code].users[0]

    def unit(self, country: str, asked: Asked) -> Object | None:
        """The unit that a country pays with."""
        if country not in self.own:
            return None
        currency = self.currencies[self.own[country]]
        names = [currency.name, *currency.aliases, *currency.unit_aliases, f"{currency.unit}s", currency.code]
        return Object(
            kind="currency",
            answer=currency.unit,
            wrong=self._other_units(currency, country, asked.salt),
            aliases=unique(names),
            also=[self.currencies[c].unit for c in self.current(country)],
            truth=self.truth(currency) | country_truth(self.world, country),
        )

    def _near_money(self, country: str, salt: str) -> list[str]:
        """The currencies of other states, near ones first."""
        return [self.own[c] for c in near_countries(self.world, country, salt) if c in self.own]

    def _other_units(self, currency: Currency, country: str, salt: str) -> list[str]:
        """Units of near countries, then others; none that is the same word."""
        near = [self.currencies[c].unit for c in self._near_money(country, salt)]
        units = [*near, *pick(sorted(self.unit_users), 6, salt)]
        kin = next((group for group in KIN if normalise_name(currency.unit) in group), set())
        return [u for u in units if normalise_name(u) not in kin and not ("franc" in u and "franc" in currency.unit)]

    def code(self, currency: str, asked: Asked) -> Object:
        """A currency's code of three letters."""
        like = [c for c in self.by_people if c[0] == currency[0] and c != currency]
        guesses = [f"{currency[:2]}{letter}" for letter in "DPRSFK" if f"{currency[:2]}{letter}" not in self.iso]
        wrong = [
            *order_by_hash(guesses, asked.salt)[:1],
            *order_by_hash(like, asked.salt)[:2],
            *pick(self.by_people, 4, asked.salt),
        ]
        truth = {**self.truth(self.currencies[currency]), "of": "currency"}
        return Object(kind="code", answer=currency, wrong=wrong, truth=truth)

    def name(self, code: str, asked: Asked) -> Object:
        """A currency's full name."""
        currency = self.currencies[code]
        alone = len(self.unit_users.get(currency.unit, ())) == 1
        kin = [c for c in self.by_people if self.currencies[c].unit == currency.unit and c != code]
        near = self._near_money(currency.users[0], asked.salt) if currency.users else []
        pool = [*order_by_hash(kin, asked.salt)[:1], *near, *pick(self.by_people, 4, asked.salt)]
        return Object(
            kind="currency",
            answer=currency.name,
            wrong=[self.currencies[c].name for c in pool],
            aliases=[*currency.aliases, *([currency.unit, *currency.unit_aliases] if alone else [])],
            truth=self.truth(currency),
        )

    def number(self, code: str, asked: Asked) -> Object:
        """A currency's code of three digits."""
        currency = self.currencies[code]
        value = int(currency.numeric)
        near = sorted(self.by_people, key=lambda c: (abs(int(self.currencies[c].numeric) - value), c))
        pool = [*order_by_hash(near[1:8], asked.salt)[:2], *pick(self.by_people, 4, asked.salt)]
        return Object(
            kind="number",
            answer=currency.numeric,
            wrong=[self.currencies[c].numeric for c in pool],
            aliases=[str(value)],
            truth={**self.truth(currency), "value": value},
        )

    def former_name(self, code: str, asked: Asked) -> Object:
        """The full name of a currency that is gone."""
        currency = self.former[code]
        pool = [c for c in self.former if c[:2] == code[:2]] + pick(sorted(self.former), 6, asked.salt)
        return Object(
            kind="currency",
            answer=currency.name,
            wrong=[self.former[c].name for c in pool],
            aliases=[*currency.aliases, *currency.unit_aliases],
            truth={"code": code, "unit": currency.unit, "former": True},
        )

    def before_euro(self, country: str, asked: Asked) -> Object:
        """What a country paid with before the euro."""
        old = self.former[BEFORE_EURO[country]]
        others = [self.former[c] for c in order_by_hash(BEFORE_EURO.values(), asked.salt)]
        return Object(
            kind="currency",
            answer=old.name,
            wrong=[c.name for c in others if c.unit != old.unit],
            aliases=[*old.aliases, old.unit, *old.unit_aliases],
            truth={**self.truth(old), **country_truth(self.world, country), "former": True},
        )

    def euro_year(self, country: str, asked: Asked) -> Object:
        """When a country adopted the euro."""
        year = LATE_EURO[country]
        wrong = [str(y) for y in order_by_hash({*EURO_YEARS} - {year}, asked.salt)]
        return Object(kind="year", answer=str(year), wrong=wrong, truth={"value": year})

    def never_euro(self, code: str, asked: Asked) -> Object:
        """That a country has never adopted the euro."""
        country, currency = self.world.countries[code], self.currencies[self.own[code]]
        name = country.the_name
        own = (currency.name, f"uses the {currency.unit}", "none", "never")
        return Object(
            kind="trap",
            answer=f"none, because {name} has never adopted the euro",
            wrong=order_by_hash(["1999", "2002", "2004", "2007", "2011", "2014"], asked.salt),
            aliases=[f"{country.name} has not adopted the euro", *NOT_ADOPTED, *own],
            truth={
                "premise": f"{name} adopted the euro",
                "corrected": f"{name} uses the {currency.name}",
                **country_truth(self.world, code),
            },
        )

    # ---- facts ------------------------------------------------------------------------------------------------------

    @cached_property
    def by_people(self) -> list[str]:
        """Currencies, those that most people use first; without Bulgaria's, Zimbabwe's and Panama's."""
        people = {
            code: sum(self.world.countries[user].population for user in currency.users)
            for code, currency in self.currencies.items()
            if code not in {"BGN", "ZWG", "PAB"}
        }
        return sorted(people, key=lambda code: (-people[code], code))

    @cached_property
    def without_euro(self) -> list[str]:
        """States that have never paid with the euro."""
        with_euro = {c for c in self.own for row in self.history.get(c, ()) if row[0] == "EUR"}
        return [c for c in self.own if c not in with_euro and c not in EURO_BY_OTHER_MEANS]

    @cached_property
    def unassigned(self) -> list[str]:
        """Codes of three letters that look like a state's and stand for nothing."""
        taken = set(self.iso) | set(self.world.cldr.currencies)
        free = [f"{c}{x}" for c in self.world.states for x in "DFKLPRSZ" if f"{c}{x}" not in taken]
        return order_by_hash(free, "unassigned currency codes")[:600]

    def some_names(self, salt: str) -> list[str]:
        """Four currencies."""
        return [f"the {self.currencies[c].name}" for c in pick(self.by_people, 4, salt)]


def money(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Money(world)
    half = len(d.without_euro) // 2
    named = [(code, d.currencies[code].name) for code in d.by_people[:24]]
    pools = {
        "before_euro_states": sorted(BEFORE_EURO),
        "former_codes": sorted(d.former),
        "former_shots": ["DEM", "FRF", "ITL", "ESP", "NLG"],
        "late_euro_states": sorted(LATE_EURO),
        "late_euro_years": [(world.countries[c].name, str(year)) for c, year in sorted(LATE_EURO.items())],
        "single": [c for c in d.by_people if len(d.currencies[c].users) == 1],
        "solved_codes": solve("The currency denoted by the ISO 4217 code {fact} is the", named),
        "states": list(d.own),
        "without_euro_first": d.without_euro[:half],
        "without_euro_rest": d.without_euro[half:],
    }
    return cells("money", d, pools)
