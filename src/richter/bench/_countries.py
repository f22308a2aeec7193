"""Countries: capitals, continents, borders, codes; and borders that do not exist."""

from functools import partial

from richter.bench._draft import Cell, Draft, solve
from richter.bench._places import GEONAMES, country_truth, near_countries, wrong_countries
from richter.bench._text import ordered, pick, words
from richter.bench._world import CONTINENTS, World

ISO = "ISO 3166 via GeoNames (CC BY 4.0)"
# Reach into two continents, or are counted with either.
TWO_CONTINENTS = frozenset(["AM", "AZ", "CY", "EG", "GE", "ID", "KZ", "RU", "TL", "TR"])
# Border by land one country only. Canada and Denmark (an islet) and the United Kingdom (Gibraltar) are left out.
ONE_NEIGHBOUR = frozenset(words("PT IE LS SM VA MC KR QA GM BN PG TL HT DO"))


def countries(world: World) -> list[Cell]:
    """The cells of the domain."""
    with_capital = [c for c in world.states if world.countries[c].capital]

    def country_draft(code: str, *, prompt: str, stem: str, subject: str) -> Draft:
        country = world.countries[code]
        return Draft(
            prompt=prompt,
            stem=stem,
            answer=country.the_name,
            aliases=country.aliases,
            wrong=wrong_countries(world, code, prompt),
            truth={"kind": "country", "subject": subject, **country_truth(world, code)},
        )

    def capital_draft(code: str, *, prompt: str, stem: str, subject: str) -> Draft:
        country = world.countries[code]
        near = [world.countries[c].capital for c in near_countries(world, code, prompt)]
        own = [c.name for c in world.biggest(code)[:3] if c.name not in (country.capital, *country.capital_aliases)]
        return Draft(
            prompt=prompt,
            stem=stem,
            answer=country.capital,
            aliases=country.capital_aliases,
            wrong=[*own[:1], *near],
            truth={
                "kind": "city",
                "subject": subject,
                **country_truth(world, code),
                **world.city_truth(country.capital, code),
            },
        )

    def continent(fact: str) -> Draft:
        country = world.countries[fact]
        name = country.the_name
        return Draft(
            prompt=f"On which continent is {name}?",
            stem=f"{name[0].upper()}{name[1:]} is a country on the continent of",
            answer=CONTINENTS[country.continent],
            aliases=["the Americas", "Central America", "Caribbean"] if country.continent == "NA" else [],
            wrong=ordered([CONTINENTS[c] for c in ("AF", "AS", "EU", "NA", "OC", "SA")], fact),
            truth={"kind": "continent", "subject": country.name, **country_truth(world, fact)},
        )

    def of_capital(fact: str) -> Draft:
        capital = world.countries[fact].capital
        return country_draft(
            fact,
            prompt=f"Which country has {capital} as its capital?",
            stem=f"{capital} is the capital of",
            subject=capital,
        )

    def capital(fact: str) -> Draft:
        name = world.countries[fact].the_name
        return capital_draft(
            fact,
            prompt=f"What is the capital of {name}?",
            stem=f"The capital of {name} is",
            subject=world.countries[fact].name,
        )

    def of_alpha3(fact: str) -> Draft:
        code = world.countries[fact].iso3
        return country_draft(
            fact,
            prompt=f"Which country has the three-letter ISO 3166 code {code}?",
            stem=f"{code} is the three-letter ISO 3166 code of",
            subject=code,
        )

    def of_phone(fact: str) -> Draft:
        phone = f"+{world.countries[fact].phone}"
        return country_draft(
            fact,
            prompt=f"Which country has the international telephone code {phone}?",
            stem=f"{phone} is the international telephone code of",
            subject=phone,
        )

    def phone_draft(code: str, *, prompt: str, stem: str, subject: str) -> Draft:
        phone = world.countries[code].phone
        near = [world.countries[c].phone for c in near_countries(world, code, prompt)]
        return Draft(
            prompt=prompt,
            stem=stem,
            answer=f"+{phone}",
            aliases=[f"00{phone}"],
            wrong=[f"+{p}" for p in near if p.isdigit()],
            truth={"kind": "code", "of": "telephone", "subject": subject, "code": phone, **country_truth(world, code)},
        )

    def phone_of(fact: str) -> Draft:
        name = world.countries[fact].the_name
        return phone_draft(
            fact,
            prompt=f"What is the international telephone code of {name}?",
            stem=f"The international telephone code of {name} is",
            subject=world.countries[fact].name,
        )

    def phone_by_capital(fact: str) -> Draft:
        name = world.countries[fact].capital
        return phone_draft(
            fact,
            prompt=f"What is the international telephone code of the country whose capital is {name}?",
            stem=f"The international telephone code of the country whose capital is {name} is",
            subject=name,
        )

    def of_numeric(fact: str) -> Draft:
        code = world.countries[fact].numeric
        return country_draft(
            fact,
            prompt=f"Which country has the three-digit ISO 3166 code {code}?",
            stem=f"{code} is the three-digit ISO 3166 code of",
            subject=code,
        )

    def capital_by_alpha3(fact: str) -> Draft:
        code = world.countries[fact].iso3
        return capital_draft(
            fact,
            prompt=f"What is the capital of the country with the three-letter ISO 3166 code {code}?",
            stem=f"The capital of the country with the three-letter ISO 3166 code {code} is",
            subject=code,
        )

    def capital_by_phone(fact: str) -> Draft:
        phone = f"+{world.countries[fact].phone}"
        return capital_draft(
            fact,
            prompt=f"What is the capital of the country with the international telephone code {phone}?",
            stem=f"The capital of the country with the international telephone code {phone} is",
            subject=phone,
        )

    def between(fact: str) -> Draft:
        """The one country that borders both of two others."""
        code, one, two = fact.split("|")
        a, b = world.countries[one], world.countries[two]
        draft = country_draft(
            code,
            prompt=f"Which country borders both {a.the_name} and {b.the_name} by land?",
            stem=f"The country that borders both {a.the_name} and {b.the_name} is",
            subject=f"{a.name} and {b.name}",
        )
        near = [*a.neighbours, *b.neighbours]
        wrong = [world.countries[c].the_name for c in ordered(near, fact) if c in world.states and c not in (one, two)]
        safe = [n for n in draft.wrong if n not in (a.the_name, b.the_name)]
        return Draft(
            prompt=draft.prompt,
            stem=draft.stem,
            answer=draft.answer,
            aliases=draft.aliases,
            wrong=[*wrong[:2], *safe],
            truth=draft.truth,
        )

    def only_neighbour_capital(fact: str) -> Draft:
        code = world.countries[fact].neighbours[0]
        name = world.countries[fact].the_name
        return capital_draft(
            code,
            prompt=f"What is the capital of the only country that has a land border with {name}?",
            stem=f"The capital of the only country that has a land border with {name} is",
            subject=world.countries[fact].name,
        )

    def no_border(fact: str) -> Draft:
        one, two = (world.countries[c] for c in fact.split("|"))
        return Draft(
            prompt=f"How many kilometres long is the land border between {one.the_name} and {two.the_name}?",
            stem=f"The length in kilometres of the land border between {one.the_name} and {two.the_name} is",
            answer=f"zero, because {one.the_name} and {two.the_name} have no common border",
            aliases=[
                *("0", "none", "no land border", "no border", "do not share", "don't share", "does not share"),
                *("doesn't share", "not share a", "do not border", "don't border", "does not border", "not neighbours"),
                *("not neighbors", "no shared border", "no common border", "there is no", "not adjacent"),
            ],
            wrong=ordered(["130", "310", "560", "740", "920", "1,340", "1,820"], fact),
            truth={
                "kind": "trap",
                "subject": f"{one.name} and {two.name}",
                "premise": f"{one.the_name} and {two.the_name} share a land border",
                "corrected": f"{one.the_name} and {two.the_name} share no land border",
            },
        )

    own_phone = {c: sum(o.phone == world.countries[c].phone for o in world.countries.values()) for c in world.states}
    phones = [c for c in with_capital if world.countries[c].phone.isdigit() and own_phone[c] == 1]
    pairs = _common_neighbours(world)
    apart = _no_border(world)
    known, rest = with_capital[:100], with_capital[100:]

    top = with_capital[:30]
    border_shots = [
        ("The length in kilometres of the land border between Spain and Portugal is 1,214.", "1,214"),
        ("The length in kilometres of the land border between Norway and Sweden is 1,619.", "1,619"),
        ("The length in kilometres of the land border between the United States and Mexico is 3,145.", "3,145"),
    ]
    geo = partial(Cell, source=GEONAMES)
    iso = partial(Cell, source=ISO)
    chain = partial(Cell, source=GEONAMES, form="compositional")
    on = partial(
        geo, write=continent, relation="country-continent", shots=solve(continent, ["FR", "BR", "KE", "JP", "CA", "NZ"])
    )
    seat = partial(geo, write=of_capital, relation="capital-country", shots=solve(of_capital, top))
    chief = partial(geo, write=capital, relation="country-capital", shots=solve(capital, top))
    alpha = partial(iso, write=of_alpha3, relation="alpha3-country", shots=solve(of_alpha3, top))
    dialled = partial(geo, write=of_phone, relation="phone-country", shots=solve(of_phone, phones[:30]))
    dial = partial(geo, write=phone_of, relation="country-phone", shots=solve(phone_of, phones[:30]))
    number = partial(iso, write=of_numeric, relation="numeric-country", shots=solve(of_numeric, top))
    middle = partial(chain, write=between, relation="common-neighbour", shots=solve(between, pairs[:40]))
    only = partial(
        chain,
        write=only_neighbour_capital,
        relation="only-neighbour-capital",
        shots=solve(only_neighbour_capital, sorted(ONE_NEIGHBOUR)),
    )
    alpha_capital = partial(
        chain, write=capital_by_alpha3, relation="alpha3-capital", shots=solve(capital_by_alpha3, top)
    )
    phone_capital = partial(
        chain, write=capital_by_phone, relation="phone-capital", shots=solve(capital_by_phone, phones[:30])
    )
    capital_phone = partial(
        chain, write=phone_by_capital, relation="capital-phone", shots=solve(phone_by_capital, phones[:30])
    )
    trap = partial(Cell, source=GEONAMES, form="trap", write=no_border, relation="no-border", shots=border_shots)
    return [
        on(tier=1, facts=[c for c in world.states if c not in TWO_CONTINENTS], weight=2),
        seat(tier=1, facts=known),
        chief(tier=2, facts=known),
        seat(tier=2, facts=rest),
        alpha(tier=2, facts=known),
        chief(tier=3, facts=rest),
        alpha(tier=3, facts=[c for c in world.states if c not in known]),
        dialled(tier=3, facts=phones),
        middle(tier=4, facts=pairs, weight=2),
        only(tier=4, facts=sorted(ONE_NEIGHBOUR)),
        alpha_capital(tier=4, facts=with_capital, weight=2),
        dial(tier=4, facts=phones, weight=2),
        trap(tier=4, facts=apart[0::2], weight=2),
        phone_capital(tier=5, facts=phones, weight=2),
        capital_phone(tier=5, facts=phones, weight=2),
        number(tier=5, facts=world.states, weight=2),
        trap(tier=5, facts=apart[1::2], weight=2),
    ]


def _common_neighbours(world: World) -> list[str]:
    """Triples country|one|two where the country alone borders both others, which do not border each other."""
    found = []
    states = set(world.states)
    odd = {"US", "CU", "DK", "CA", "GB", "FR", "NL"}  # lands and islets overseas blur whom they border
    for one in world.states:
        for two in world.states:
            a, b = world.countries[one], world.countries[two]
            if one < two and two not in a.neighbours and not odd & {one, two}:
                common = set(a.neighbours) & set(b.neighbours)
                if len(common) == 1 and common <= states - odd:
                    found.append(f"{common.pop()}|{one}|{two}")
    return sorted(found, key=lambda t: -sum(world.countries[c].population for c in t.split("|")))


def _no_border(world: World) -> list[str]:
    """Pairs of states without a common border; for each one a near one (same continent) and one far away."""
    found = []
    odd = {"CU", "DK", "CA", "GB", "FR", "NL", "US", "ES", "MA"}
    for code in world.states[:120]:
        country = world.countries[code]
        free = [c for c in world.states[:120] if c != code and c not in country.neighbours and not odd & {c, code}]
        near = [c for c in free if world.countries[c].continent == country.continent]
        far = [c for c in free if world.countries[c].continent != country.continent]
        for pool in (near, far):
            found += ["|".join(sorted((code, other))) for other in pick(pool, 1, code) if pool]
    return list(dict.fromkeys(found))
