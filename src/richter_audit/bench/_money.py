"""Money: currencies, their codes, who uses them, what came before, and currencies that were never adopted."""

import dataclasses
from functools import partial
from typing import Any

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation, solve
from richter_audit.bench._places import GEONAMES, country_draft, country_truth, field_of, near_countries
from richter_audit.bench._text import normalise_name, ordered, pick, unique, words
from richter_audit.bench._world import World

CLDR = "CLDR (Unicode License) via babel"
ISO = "ISO 4217 via pycountry (LGPL-2.1) and CLDR (Unicode License) via babel"
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


class Money:
    """Currencies by code, and each state's own currency."""

    def __init__(self, world: World) -> None:
        self.world = world
        table = world.cldr_table("territory_currencies")
        self.history: dict[str, list[Any]] = {code: list(rows) for code, rows in table.items()}
        self.own: dict[str, str] = {}
        users: dict[str, list[str]] = {}
        for code in world.states:
            current = [c for c, _, end, tender in self.history.get(code, ()) if end is None and tender]
            for currency in current:
                users.setdefault(currency, []).append(code)
            if current and code not in UNSETTLED:
                # where a neighbour's money is legal tender too, the country's own comes last in CLDR's list or alone
                own = [c for c in current if c[:2] == code] or current
                self.own[code] = own[0]
        self.iso = {c.alpha_3: c for c in world.pycountry.currencies}
        names = world.cldr.currencies
        self.currencies = {
            code: self._currency(code, names[code], sorted(users[code])) for code in sorted(users) if code in self.iso
        }
        self.former = {code: self._currency(code, names[code], []) for code in FORMER}
        self.unit_users: dict[str, set[str]] = {}
        for currency in self.currencies.values():
            self.unit_users.setdefault(currency.unit, set()).add(currency.code)

    def _currency(self, code: str, cldr_name: str, users: list[str]) -> Currency:
        plain = cldr_name.split(" (")[0].replace("&", "and")
        words = plain.split()
        name = FULL_NAMES.get(code) or " ".join([*words[:-1], words[-1] if len(words) == 1 else words[-1].lower()])
        unit = UNITS.get(code) or words[-1].lower()
        iso_name = self.iso[code].name if code in self.iso else ""
        return Currency(
            code=code,
            name=name,
            unit=unit,
            aliases=unique([name, plain, *([iso_name] if " " in iso_name else [])])[1:],
            unit_aliases=UNIT_ALIASES.get(code, ()),
            numeric=self.iso[code].numeric if code in self.iso else "",
            users=tuple(users),
        )

    def truth(self, currency: Currency) -> dict[str, Any]:
        """What a wrong currency is measured against."""
        own = country_truth(self.world, currency.users[0]) if len(currency.users) == 1 else {}
        return {"code": currency.code, "unit": currency.unit, "countries": list(currency.users), **own}

    def unit_draft(self, country: str, asked: Asked) -> Draft | None:
        """A question whose answer is the unit that a country pays with."""
        if country not in self.own:
            return None
        currency = self.currencies[self.own[country]]
        kin = next((group for group in KIN if normalise_name(currency.unit) in group), set())
        near = [self.own[c] for c in near_countries(self.world, country, asked.prompt) if c in self.own]
        far = pick(sorted(self.unit_users), 6, asked.prompt)
        also = [self.currencies[c].unit for c, _, end, t in self.history[country] if end is None and t]
        units = [u for u in [*(self.currencies[c].unit for c in near), *far] if normalise_name(u) not in kin]
        wrong = [u for u in units if not ("franc" in u and "franc" in currency.unit)]
        names = [currency.name, *currency.aliases, *currency.unit_aliases, f"{currency.unit}s", currency.code]
        truth = self.truth(currency) | country_truth(self.world, country)
        return asked.draft(currency.unit, wrong, "currency", aliases=unique(names), also=also, **truth)


def money(world: World) -> list[Cell]:
    """The cells of the domain."""
    bank = Money(world)
    by_people = sorted(
        (c for c in bank.currencies if c not in {"BGN", "ZWG", "PAB"}),
        key=lambda c: (-sum(world.countries[u].population for u in bank.currencies[c].users), c),
    )

    def code_draft(currency: str, asked: Asked) -> Draft:
        salt = asked.prompt
        like = [c for c in by_people if c[0] == currency[0] and c != currency]
        made = [f"{currency[:2]}{letter}" for letter in "DPRSFK" if f"{currency[:2]}{letter}" not in bank.iso]
        wrong = [*ordered(made, salt)[:1], *ordered(like, salt)[:2], *pick(by_people, 4, salt)]
        return asked.draft(currency, wrong, "code", **bank.truth(bank.currencies[currency]), of="currency")

    def name_draft(code: str, asked: Asked) -> Draft:
        currency, salt = bank.currencies[code], asked.prompt
        alone = len(bank.unit_users.get(currency.unit, ())) == 1
        home = currency.users[0] if currency.users else ""
        near = [bank.own[c] for c in near_countries(world, home, salt) if c in bank.own] if home else []
        kin = [c for c in by_people if bank.currencies[c].unit == currency.unit and c != currency.code]
        pool = [*ordered(kin, salt)[:1], *near, *pick(by_people, 4, salt)]
        aliases = [*currency.aliases, *([currency.unit, *currency.unit_aliases] if alone else [])]
        wrong = [bank.currencies[c].name for c in pool]
        return asked.draft(currency.name, wrong, "currency", aliases=aliases, **bank.truth(currency))

    def number_of_name(fact: str) -> Draft:
        currency = bank.currencies[fact]
        value, name = int(currency.numeric), f"numeric ISO 4217 code for the {currency.name}"
        near = sorted(by_people, key=lambda c: (abs(int(bank.currencies[c].numeric) - value), c))
        wrong = [bank.currencies[c].numeric for c in [*ordered(near[1:8], fact)[:2], *pick(by_people, 4, fact)]]
        asked = Asked(f"Give the three-digit {name}.", currency.name, f"The {name} is")
        return asked.draft(currency.numeric, wrong, "number", aliases=[str(value)], **bank.truth(currency), value=value)

    def former_of_code(fact: str) -> Draft:
        currency = bank.former[fact]
        pool = [c for c in bank.former if c[:2] == fact[:2]] + pick(sorted(bank.former), 6, fact)
        stem = f"The former currency with the ISO 4217 code {fact} was the"
        return Asked(f"Which former currency had the ISO 4217 code {fact}?", fact, stem).draft(
            currency.name,
            [bank.former[c].name for c in pool],
            "currency",
            aliases=[*currency.aliases, *currency.unit_aliases],
            code=fact,
            unit=currency.unit,
            former=True,
        )

    def before_euro(fact: str) -> Draft:
        country, old = world.countries[fact], bank.former[BEFORE_EURO[fact]]
        others = [bank.former[c] for c in ordered(BEFORE_EURO.values(), fact)]
        stem = f"Before the euro, {country.the_name} used the"
        return Asked(f"Which currency did {country.the_name} use before the euro?", country.name, stem).draft(
            old.name,
            [c.name for c in others if c.unit != old.unit],
            "currency",
            aliases=[*old.aliases, old.unit, *old.unit_aliases],
            **bank.truth(old) | country_truth(world, fact),
            former=True,
        )

    def euro_year(fact: str) -> Draft:
        country, year = world.countries[fact], LATE_EURO[fact]
        wrong = [str(y) for y in ordered({2001, 2004, 2007, 2009, 2011, 2014, 2015, 2018, 2023} - {year}, fact)]
        stem = f"{country.name} adopted the euro in the year"
        asked = Asked(f"In which year did {country.the_name} adopt the euro?", country.name, stem)
        return asked.draft(str(year), wrong, "year", value=year)

    def never_euro(fact: str) -> Draft:
        country, currency = world.countries[fact], bank.currencies[bank.own[fact]]
        name = country.the_name
        stem = f"{name[0].upper()}{name[1:]} adopted the euro in the year"
        return Asked(f"In which year did {name} adopt the euro?", country.name, stem).trap(
            f"none, because {name} has never adopted the euro",
            ordered(["1999", "2002", "2004", "2007", "2011", "2014"], fact),
            f"{name} adopted the euro",
            f"{name} uses the {currency.name}",
            aliases=[
                f"{country.name} has not adopted the euro",
                *("never adopted", "not adopted", "did not adopt", "didn't adopt", "has not", "hasn't", "does not use"),
                *("doesn't use", "not a member of the eurozone", "not part of the eurozone", "not in the eurozone"),
                *(currency.name, f"uses the {currency.unit}", "none", "never"),
            ],
            **country_truth(world, fact),
        )

    def unassigned(fact: str) -> Draft:
        stem = f"The currency denoted by the ISO 4217 code {fact} is"
        return Asked(f"Which currency is denoted by the ISO 4217 code {fact}?", fact, stem).trap(
            f"none, because {fact} is not assigned",
            [f"the {bank.currencies[c].name}" for c in pick(by_people, 4, fact)],
            f"{fact} is an ISO 4217 code",
            aliases=[*NO_SUCH, "no currency", "not an ISO 4217 code"],
        )

    states = [c for c in world.states if c in bank.own]
    single = [c for c in by_people if len(bank.currencies[c].users) == 1]
    known, rest = by_people[:80], by_people[80:]
    euro_states = {c for c in world.states for row in bank.history.get(c, ()) if row[0] == "EUR"}
    without_euro = [c for c in states if c not in euro_states and c not in EURO_BY_OTHER_MEANS]
    taken = set(bank.iso) | set(world.cldr.currencies)
    made_up = [f"{c}{x}" for c in world.states for x in "DFKLPRSZ" if f"{c}{x}" not in taken]
    made_up = ordered(made_up, "unassigned currency codes")[:600]
    half = len(without_euro) // 2

    the, name, capital = (field_of(world, f) for f in ("the_name", "name", "capital"))
    own, top, common = bank.own.__getitem__, states[:30], by_people[:24]
    cldr, iso = partial(relation, source=CLDR), partial(relation, source=ISO)
    chain = partial(relation, source=f"{GEONAMES}; {CLDR}", form="compositional")
    what, so = "What is the main unit of the currency of", "The currency of"
    write = ask(bank.unit_draft, f"{what} {{}}?", the, name, stem=f"{so} {{}} is the")
    unit = cldr("country-unit", write=write, shots=top)
    what, so = f"{what} the country whose capital is", f"{so} the country whose capital is"
    write = ask(bank.unit_draft, f"{what} {{}}?", capital, stem=f"{so} {{}} is the")
    via_capital = chain("capital-unit", write=write, shots=top)
    named_by = ask(
        name_draft, "Which currency has the ISO 4217 code {}?", stem="The currency with the ISO 4217 code {} is the"
    )
    named = iso("currency-code-name", write=named_by, shots=common)
    write = ask(
        name_draft,
        "Which currency has the numeric ISO 4217 code {}?",
        lambda code: bank.currencies[code].numeric,
        stem="The currency with the numeric ISO 4217 code {} is the",
    )
    numbered = iso("currency-number-name", write=write, shots=common)
    give, so = "Give the three-letter ISO 4217 code for the", "The ISO 4217 code for the"
    write = ask(code_draft, f"{give} {{}}.", lambda code: bank.currencies[code].name, stem=f"{so} {{}} is")
    coded = iso("currency-code", write=write, shots=common)
    write = ask(code_draft, f"{give} currency of {{}}.", the, name, stem=f"{so} currency of {{}} is", key=own)
    by_land = iso("country-currency-code", write=write, shots=top)
    give, so = f"{give} currency of the country whose capital is", f"{so} currency of the country whose capital is"
    write = ask(code_draft, f"{give} {{}}.", capital, stem=f"{so} {{}} is", key=own)
    code_chain = chain("capital-currency-code", write=write, shots=top)
    write = ask(
        lambda code, asked: country_draft(world, bank.currencies[code].users[0], asked, salt=code),
        "Which country's currency has the ISO 4217 code {}?",
        stem="{} is the ISO 4217 code of the currency of",
    )
    homes = iso("currency-code-country", write=write, shots=single[:24])
    number = iso("currency-number", write=number_of_name, shots=common)
    former = iso("former-currency-code", write=former_of_code, shots=["DEM", "FRF", "ITL", "ESP", "NLG"])
    before = cldr("currency-before-euro", write=before_euro, shots=sorted(BEFORE_EURO))
    year = cldr("euro-year", write=euro_year, shots=sorted(LATE_EURO))
    no_euro = cldr("euro-never-adopted", write=never_euro, form="trap", shots=solve(euro_year, sorted(LATE_EURO)))
    named_the = [(text.replace("with the ISO", "denoted by the ISO"), a) for text, a in solve(named_by, known[:24])]
    no_code = iso("currency-code-unassigned", write=unassigned, form="trap", shots=named_the)
    return [
        homes(tier=1, facts=single, weight=2),
        named(tier=1, facts=known),
        named(tier=1, facts=rest),
        unit(tier=2, facts=states, weight=3),
        before(tier=2, facts=sorted(BEFORE_EURO)),
        coded(tier=2, facts=known),
        coded(tier=3, facts=rest),
        by_land(tier=3, facts=states, weight=2),
        year(tier=3, facts=sorted(LATE_EURO)),
        numbered(tier=3, facts=known[:40]),
        via_capital(tier=4, facts=states, weight=3),
        code_chain(tier=4, facts=states[:95], weight=2),
        no_euro(tier=4, facts=without_euro[:half], weight=1),
        no_code(tier=4, facts=made_up[:300], weight=1),
        code_chain(tier=5, facts=states[95:], weight=2),
        former(tier=5, facts=sorted(bank.former), weight=2),
        numbered(tier=5, facts=by_people[40:], weight=2),
        number(tier=5, facts=by_people, weight=2),
        no_euro(tier=5, facts=without_euro[half:], weight=1),
        no_code(tier=5, facts=made_up[300:], weight=1),
    ]
