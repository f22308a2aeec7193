"""Countries: capitals, continents, borders, codes; and borders that do not exist."""

import dataclasses
from functools import partial

from richter_audit.bench._draft import Asked, Cell, Draft, ask, relation
from richter_audit.bench._places import (
    GEONAMES,
    capital_draft,
    country_draft,
    country_truth,
    field_of,
    near_countries,
)
from richter_audit.bench._text import ordered, pick, words
from richter_audit.bench._world import CONTINENTS, World

ISO = "ISO 3166 via GeoNames (CC BY 4.0)"
# Reach into two continents, or are counted with either.
TWO_CONTINENTS = frozenset(["AM", "AZ", "CY", "EG", "GE", "ID", "KZ", "RU", "TL", "TR"])
# Border by land one country only. Canada and Denmark (an islet) and the United Kingdom (Gibraltar) are left out.
ONE_NEIGHBOUR = frozenset(words("PT IE LS SM VA MC KR QA GM BN PG TL HT DO"))


def countries(world: World) -> list[Cell]:
    """The cells of the domain."""
    with_capital = [c for c in world.states if world.countries[c].capital]
    the, name, seat, iso3, numeric = (field_of(world, f) for f in ("the_name", "name", "capital", "iso3", "numeric"))
    land = partial(country_draft, world)

    def capital(code: str, asked: Asked) -> Draft:
        known = (seat(code), *world.countries[code].capital_aliases)
        own = [c.name for c in world.biggest(code)[:3] if c.name not in known]
        return capital_draft(world, code, asked, first=own[:1], via=False)

    def phone(code: str) -> str:
        return f"+{world.countries[code].phone}"

    def dial(code: str, asked: Asked) -> Draft:
        number = world.countries[code].phone
        near = [world.countries[c].phone for c in near_countries(world, code, asked.prompt)]
        wrong = [f"+{p}" for p in near if p.isdigit()]
        truth = {"code": number, **country_truth(world, code)}
        return asked.draft(f"+{number}", wrong, "code", aliases=[f"00{number}"], code_of="telephone", **truth)

    def continent(fact: str) -> Draft:
        country = world.countries[fact]
        name = country.the_name
        stem = f"{name[0].upper()}{name[1:]} is a country on the continent of"
        return Asked(f"On which continent is {name}?", country.name, stem).draft(
            CONTINENTS[country.continent],
            ordered([CONTINENTS[c] for c in ("AF", "AS", "EU", "NA", "OC", "SA")], fact),
            "continent",
            aliases=["the Americas", "Central America", "Caribbean"] if country.continent == "NA" else [],
            **country_truth(world, fact),
        )

    def between(fact: str) -> Draft:
        """The one country that borders both of two others."""
        code, one, two = fact.split("|")
        a, b = world.countries[one], world.countries[two]
        both = f"borders both {a.the_name} and {b.the_name}"
        asked = Asked(f"Which country {both} by land?", f"{a.name} and {b.name}", f"The country that {both} is")
        draft = land(code, asked)
        near = [*a.neighbours, *b.neighbours]
        wrong = [world.countries[c].the_name for c in ordered(near, fact) if c in world.states and c not in (one, two)]
        safe = [n for n in draft.wrong if n not in (a.the_name, b.the_name)]
        return dataclasses.replace(draft, wrong=[*wrong[:2], *safe])

    def no_border(fact: str) -> Draft:
        one, two = (world.countries[c] for c in fact.split("|"))
        pair = f"{one.the_name} and {two.the_name}"
        prompt = f"How many kilometres long is the land border between {pair}?"
        stem = f"The length in kilometres of the land border between {pair} is"
        return Asked(prompt, f"{one.name} and {two.name}", stem).trap(
            f"zero, because {pair} have no common border",
            ordered(["130", "310", "560", "740", "920", "1,340", "1,820"], fact),
            f"{pair} share a land border",
            f"{pair} share no land border",
            aliases=[
                *("0", "none", "no land border", "no border", "do not share", "don't share", "does not share"),
                *("doesn't share", "not share a", "do not border", "don't border", "does not border", "not neighbours"),
                *("not neighbors", "no shared border", "no common border", "there is no", "not adjacent"),
            ],
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
    geo = partial(relation, source=GEONAMES)
    iso = partial(relation, source=ISO)
    chain = partial(relation, source=GEONAMES, form="compositional")
    which = "Which country has the"
    on = geo("country-continent", write=continent, shots=["FR", "BR", "KE", "JP", "CA", "NZ"])
    write = ask(land, "Which country has {} as its capital?", seat, stem="{} is the capital of")
    seated = geo("capital-country", write=write, shots=top)
    chief = geo("country-capital", write=ask(capital, "What is the capital of {}?", the, name), shots=top)
    code = "three-letter ISO 3166 code"
    write = ask(land, f"{which} {code} {{}}?", iso3, stem=f"{{}} is the {code} of")
    alpha = iso("alpha3-country", write=write, shots=top)
    write = ask(capital, f"What is the capital of the country with the {code} {{}}?", iso3)
    alpha_capital = chain("alpha3-capital", write=write, shots=top)
    code = "three-digit ISO 3166 code"
    write = ask(land, f"{which} {code} {{}}?", numeric, stem=f"{{}} is the {code} of")
    number = iso("numeric-country", write=write, shots=top)
    code, some = "international telephone code", phones[:30]
    write = ask(land, f"{which} {code} {{}}?", phone, stem=f"{{}} is the {code} of")
    dialled = geo("phone-country", write=write, shots=some)
    calls = geo("country-phone", write=ask(dial, f"What is the {code} of {{}}?", the, name), shots=some)
    write = ask(capital, f"What is the capital of the country with the {code} {{}}?", phone)
    phone_capital = chain("phone-capital", write=write, shots=some)
    write = ask(dial, f"What is the {code} of the country whose capital is {{}}?", seat)
    capital_phone = chain("capital-phone", write=write, shots=some)
    middle = chain("common-neighbour", write=between, shots=pairs[:40])
    write = ask(
        capital,
        "What is the capital of the only country that has a land border with {}?",
        the,
        name,
        key=lambda c: world.countries[c].neighbours[0],
    )
    only = chain("only-neighbour-capital", write=write, shots=sorted(ONE_NEIGHBOUR))
    untrue = geo("no-border", write=no_border, shots=border_shots, form="trap")
    return [
        on(tier=1, facts=[c for c in world.states if c not in TWO_CONTINENTS], weight=2),
        seated(tier=1, facts=known),
        chief(tier=2, facts=known),
        seated(tier=2, facts=rest),
        alpha(tier=2, facts=known),
        chief(tier=3, facts=rest),
        alpha(tier=3, facts=[c for c in world.states if c not in known]),
        dialled(tier=3, facts=phones),
        middle(tier=4, facts=pairs, weight=2),
        only(tier=4, facts=sorted(ONE_NEIGHBOUR)),
        alpha_capital(tier=4, facts=with_capital, weight=2),
        calls(tier=4, facts=phones, weight=2),
        untrue(tier=4, facts=apart[0::2], weight=2),
        phone_capital(tier=5, facts=phones, weight=2),
        capital_phone(tier=5, facts=phones, weight=2),
        number(tier=5, facts=world.states, weight=2),
        untrue(tier=5, facts=apart[1::2], weight=2),
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
