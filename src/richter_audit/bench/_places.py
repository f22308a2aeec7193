"""What the place domains share: the truth of a place, and plausible wrong countries."""

from collections.abc import Sequence
from typing import Any

from richter_audit.bench._drafts import Asked, Object, Slots
from richter_audit.bench._text_order import order_by_hash, pick
from richter_audit.bench._world import World


def country_truth(world: World, code: str) -> dict[str, Any]:
    """Where a country is: enough to say neighbour, same continent, elsewhere."""
    country = world.countries[code]
    return {"country": code, "continent": country.continent, "neighbours": list(country.neighbours)}


def near_countries(world: World, code: str, *salt: object) -> list[str]:
    """Other states from near to far: two neighbours, two of the continent, then well-known ones, then the rest near."""
    country = world.countries[code]
    known = set(world.states)
    neighbours = order_by_hash([n for n in country.neighbours if n in known], *salt, code)
    same = [c for c in world.states if world.countries[c].continent == country.continent and c != code]
    same = [c for c in same if c not in neighbours]
    far = [c for c in world.states[:90] if world.countries[c].continent != country.continent]
    close = pick(same, 4, *salt, code, "same") if same else []
    codes = [*neighbours[:1], *close[:1], *pick(far, 1, *salt, code, "far"), *neighbours[1:], *close[1:]]
    return [*codes, *pick(far, 4, *salt, code, "more")]


def with_capital_letter(name: str) -> str:
    """A name as it begins a sentence."""
    return f"{name[0].upper()}{name[1:]}"


class Places:
    """Countries and their capitals, as subjects and as answers of questions."""

    def __init__(self, world: World) -> None:
        self.world = world

    def country_slots(self, code: str) -> Slots:
        """What a wording says of a country."""
        country = self.world.countries[code]
        return {
            "name": country.name,
            "the_name": country.the_name,
            "The_name": with_capital_letter(country.the_name),
            "capital": country.capital,
            "iso3": country.iso3,
            "numeric": country.numeric,
            "phone": f"+{country.phone}",
            "tld": country.tld,
        }

    def country(self, code: str, asked: Asked, **more: Any) -> Object:
        """A country."""
        country = self.world.countries[code]
        wrong = [self.world.countries[c].the_name for c in near_countries(self.world, code, asked.salt)]
        truth = {**more, **country_truth(self.world, code)}
        return Object(kind="country", answer=country.the_name, wrong=wrong, aliases=country.aliases, truth=truth)

    def near_capitals(self, code: str, salt: str) -> list[str]:
        """The capitals of other states, near ones first."""
        return [self.world.countries[c].capital for c in near_countries(self.world, code, salt)]

    def capital(self, code: str, asked: Asked, *, first: Sequence[str] = (), via: bool = True) -> Object | None:
        """A country's capital, where it has one; `first` are wrong answers before those of near countries."""
        country = self.world.countries[code]
        if not country.capital:
            return None
        truth = {"via": country.name} if via else {}
        truth |= {**country_truth(self.world, code), **self.world.city_truth(country.capital, code)}
        wrong = [*first, *self.near_capitals(code, asked.salt)]
        return Object(kind="city", answer=country.capital, wrong=wrong, aliases=country.capital_aliases, truth=truth)
