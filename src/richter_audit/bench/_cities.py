"""Cities: in which country they lie, which capital and currency that leads to, and cities put in the wrong country."""

from functools import cached_property

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells
from richter_audit.bench._money import Money
from richter_audit.bench._places import Places, country_truth
from richter_audit.bench._text_order import order_by_hash, pick, unique
from richter_audit.bench._world import World

DENIALS = ("{name} is not in", "not in", "isn't in", "not a city in", "not located in")
STATES = (
    *(("US", "Denver", "Colorado"), ("US", "Houston", "Texas"), ("CA", "Calgary", "Alberta")),
    *(("DE", "Munich", "Bavaria"), ("BR", "Curitiba", "Paraná"), ("AU", "Brisbane", "Queensland")),
    *(("IN", "Pune", "Maharashtra"), ("IT", "Florence", "Tuscany")),
)


class Cities(Places):
    """Cities by id, and what they lead to."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.money = Money(world)

    def slots(self, key: str) -> Slots:
        """What a wording says of a city."""
        city = self.world.cities[key]
        kind = "city" if city.population >= 50_000 else "town"
        return {"name": city.name, "called": self.world.call(city), "kind": kind}

    def country_of(self, key: str) -> str:
        """The code of a city's country."""
        return self.world.cities[key].country

    def capital_of_country(self, key: str, asked: Asked) -> Object | None:
        """The capital of a city's country, unless the city is it."""
        city = self.world.cities[key]
        country = self.world.countries[city.country]
        if city.name in (country.capital, *country.capital_aliases):
            return None
        biggest = self.world.biggest(city.country)[:3]
        first = [c.name for c in biggest if c.id != key and c.name != country.capital][:1]
        return self.capital(city.country, asked, first=first)

    def trap_slots(self, fact: str) -> Slots:
        """What a wording says of a city (before the bar) in a country where it is not (behind it)."""
        key, code = fact.split("|")
        city, claimed = self.world.cities[key], self.world.countries[code]
        part = f"{self.world.division_terms[code]} of {claimed.the_name}"
        return {"name": city.name, "called": self.world.call(city), "part": part}

    def reject(self, fact: str, asked: Asked) -> Object:
        """That a city does not lie in a country."""
        key, code = fact.split("|")
        name, claimed = asked.slots["name"], self.world.countries[code]
        country = self.world.countries[self.country_of(key)]
        forms = [form.format(name=name) for form in DENIALS]
        denials = [f"{form} {land}" for form in forms for land in (claimed.the_name, claimed.name)]
        return Object(
            kind="trap",
            answer=f"none, because {name} is in {country.the_name}",
            wrong=pick([r.name for r in self.world.big_regions(code)], 3, asked.salt),
            aliases=unique([country.name, *country.aliases, *denials, "none"]),
            truth={
                "premise": f"{name} lies in {claimed.the_name}",
                "corrected": f"{name} lies in {country.the_name}",
                "claimed_country": code,
                **country_truth(self.world, country.code),
            },
        )

    def between(self, least: int, most: int) -> list[str]:
        """The cities of so many people that can be asked about."""
        return [key for key in self.world.asked_cities if least <= self.world.cities[key].population < most]

    @cached_property
    def misplaced(self) -> list[str]:
        """Cities with two countries each that they may be put into by mistake: a neighbour and another."""
        claimable = sorted(self.world.division_terms)
        return [f"{key}|{code}" for key in self.world.known_cities[:1500] for code in self._claims(key, claimable)]

    def _claims(self, key: str, claimable: list[str]) -> list[str]:
        own = self.country_of(key)
        neighbours = [c for c in self.world.countries[own].neighbours if c in claimable]
        others = [c for c in claimable if c != own and c not in neighbours]
        return [*order_by_hash(neighbours, key)[:1], *pick(others, 1, key)]

    @cached_property
    def solved_states(self) -> list[tuple[str, str]]:
        """Cities with the division that they do lie in."""
        terms, lands = self.world.division_terms, self.world.countries
        stem = "The {} of {} in which {} lies is {}."
        return [(stem.format(terms[c], lands[c].the_name, name, region), region) for c, name, region in STATES]


def cities(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Cities(world)
    half = len(d.misplaced) // 2
    pools = {
        "middle": d.between(20_000, 100_000),
        "small": d.between(5_000, 20_000),
        "villages": d.between(1_000, 5_000),
        "misplaced_first": d.misplaced[:half],
        "misplaced_rest": d.misplaced[half:],
    }
    return cells("cities", d, pools)
