"""Cities: in which country they lie, which capital and currency that leads to, and cities put in the wrong country."""

from richter_audit.bench._draft import Asked, Cell, Draft, relation
from richter_audit.bench._money import Money
from richter_audit.bench._places import GEONAMES, capital_draft, country_draft, country_truth
from richter_audit.bench._text import ordered, pick, unique
from richter_audit.bench._world import City, World


def cities(world: World) -> list[Cell]:
    """The cells of the domain."""
    money = Money(world)

    def in_country(fact: str) -> Draft:
        city = world.cities[fact]
        kind, called = _kind(city), world.call(city)
        stem = f"{called} is a {kind} in the country of"
        asked = Asked(f"In which country is the {kind} of {called}?", city.name, stem)
        return country_draft(world, city.country, asked, salt=fact)

    def capital_of_its_country(fact: str) -> Draft | None:
        city = world.cities[fact]
        country = world.countries[city.country]
        if not country.capital or city.name in (country.capital, *country.capital_aliases):
            return None
        called = world.call(city)
        largest = [c.name for c in world.biggest(city.country)[:3] if c.id != fact and c.name != country.capital]
        prompt = f"What is the capital of the country in which the {_kind(city)} of {called} lies?"
        asked = Asked(prompt, city.name, f"The capital of the country in which {called} lies is")
        return capital_draft(world, city.country, asked, salt=fact, first=largest[:1])

    def money_of_its_country(fact: str) -> Draft | None:
        city = world.cities[fact]
        place = f"the {_kind(city)} of {world.call(city)}"
        prompt = f"What is the main unit of the currency used in {place}?"
        return money.unit_draft(city.country, Asked(prompt, city.name, f"People in {place} pay with the"))

    def wrong_state(fact: str) -> Draft:
        """A city said to lie in a division of a country that it is not in."""
        key, code = fact.split("|")
        city, claimed = world.cities[key], world.countries[code]
        country, called = world.countries[city.country], world.call(city)
        part = f"{world.division_terms[code]} of {claimed.the_name}"
        forms = (f"{city.name} is not in", "not in", "isn't in", "not a city in", "not located in")
        denials = [f"{form} {name}" for form in forms for name in (claimed.the_name, claimed.name)]
        prompt = f"In which {part} is the city of {called}?"
        return Asked(prompt, city.name, f"The {part} in which {called} lies is").trap(
            f"none, because {city.name} is in {country.the_name}",
            pick([r.name for r in world.big_regions(code)], 3, fact),
            f"{city.name} lies in {claimed.the_name}",
            f"{city.name} lies in {country.the_name}",
            aliases=unique([country.name, *country.aliases, *denials, "none"]),
            claimed_country=code,
            **country_truth(world, city.country),
        )

    asked = world.asked_cities
    people = {key: world.cities[key].population for key in asked}
    famous, large = world.known_cities[:450], world.known_cities[450:3500]
    middle = [key for key in asked if 20_000 <= people[key] < 100_000]
    small = [key for key in asked if 5_000 <= people[key] < 20_000]
    villages = [key for key in asked if 1_000 <= people[key] < 5_000]
    claimable = sorted(world.division_terms)
    traps = [f"{key}|{code}" for key in world.known_cities[:1500] for code in _claims(world, key, claimable)]
    state_shots = [
        (f"The {world.division_terms[c]} of {world.countries[c].the_name} in which {name} lies is {region}.", region)
        for c, name, region in (
            *(("US", "Denver", "Colorado"), ("US", "Houston", "Texas"), ("CA", "Calgary", "Alberta")),
            *(("DE", "Munich", "Bavaria"), ("BR", "Curitiba", "Paraná"), ("AU", "Brisbane", "Queensland")),
            *(("IN", "Pune", "Maharashtra"), ("IT", "Florence", "Tuscany")),
        )
    ]
    plain = relation("city-country", GEONAMES, in_country, famous[:40])
    capital = relation("city-country-capital", GEONAMES, capital_of_its_country, famous[:40], "compositional")
    both = f"{GEONAMES}; CLDR (Unicode License) via babel"
    unit = relation("city-country-unit", both, money_of_its_country, famous[:40], "compositional")
    untrue = relation("city-in-wrong-country", GEONAMES, wrong_state, state_shots, "trap")
    return [
        plain(tier=1, facts=famous),
        plain(tier=2, facts=large),
        plain(tier=3, facts=middle, weight=3),
        plain(tier=3, facts=small),
        plain(tier=4, facts=villages, weight=3),
        capital(tier=4, facts=[*famous, *large], weight=3),
        unit(tier=4, facts=[*famous, *large], weight=2),
        untrue(tier=4, facts=traps[: len(traps) // 2], weight=2),
        capital(tier=5, facts=small, weight=3),
        unit(tier=5, facts=small, weight=3),
        untrue(tier=5, facts=traps[len(traps) // 2 :], weight=2),
    ]


def _kind(city: City) -> str:
    return "city" if city.population >= 50_000 else "town"


def _claims(world: World, key: str, claimable: list[str]) -> list[str]:
    """Countries a city may be put into by mistake: a neighbour and another."""
    city = world.cities[key]
    neighbours = [c for c in world.countries[city.country].neighbours if c in claimable]
    others = [c for c in claimable if c != city.country and c not in neighbours]
    return [*ordered(neighbours, key)[:1], *pick(others, 1, key)]
