"""Countries: capitals, continents, borders, codes; and borders that do not exist."""

import dataclasses
from collections import Counter
from functools import cached_property

from richter_audit.bench._drafts import Asked, Cell, Object, Slots, cells
from richter_audit.bench._place_names import CONTINENTS
from richter_audit.bench._places import (
    Places,
    country_truth,
    near_countries,
)
from richter_audit.bench._text_order import order_by_hash, pick, words
from richter_audit.bench._world import World

# Reach into two continents, or are counted with either.
TWO_CONTINENTS = frozenset(["AM", "AZ", "CY", "EG", "GE", "ID", "KZ", "RU", "TL", "TR"])
# Border by land one country only. Canada and Denmark (an islet) and the United Kingdom (Gibraltar) are left out.
ONE_NEIGHBOUR = sorted(words("PT IE LS SM VA MC KR QA GM BN PG TL HT DO"))
# Lands and islets overseas blur whom they border.
UNCLEAR_BORDERS = {"US", "CU", "DK", "CA", "GB", "FR", "NL"}
NO_BORDER = (
    *("0", "none", "no land border", "no border", "do not share", "don't share", "does not share", "doesn't share"),
    *("not share a", "do not border", "don't border", "does not border", "not neighbours", "not neighbors"),
    *("no shared border", "no common border", "there is no", "not adjacent"),
)
BORDERS = [
    ("The length in kilometres of the land border between Spain and Portugal is 1,214.", "1,214"),
    ("The length in kilometres of the land border between Norway and Sweden is 1,619.", "1,619"),
    ("The length in kilometres of the land border between the United States and Mexico is 3,145.", "3,145"),
]


class Countries(Places):
    """Countries by code, and pairs of them."""

    def own_capital(self, code: str, asked: Asked) -> Object | None:
        """A country's capital, with its best known other city as the first wrong answer."""
        country = self.world.countries[code]
        known = (country.capital, *country.capital_aliases)
        own = [c.name for c in self.world.biggest(code)[:3] if c.name not in known]
        return self.capital(code, asked, first=own[:1], via=False)

    def only_neighbour(self, code: str) -> str:
        """The one country that a country borders."""
        return self.world.countries[code].neighbours[0]

    def phone(self, code: str, asked: Asked) -> Object:
        """A country's telephone code."""
        number = self.world.countries[code].phone
        near = [self.world.countries[c].phone for c in near_countries(self.world, code, asked.salt)]
        return Object(
            kind="code",
            of="telephone",
            answer=f"+{number}",
            wrong=[f"+{p}" for p in near if p.isdigit()],
            aliases=[f"00{number}"],
            truth={"code": number, **country_truth(self.world, code)},
        )

    def continent(self, code: str, asked: Asked) -> Object:
        """A country's continent."""
        own = self.world.countries[code].continent
        return Object(
            kind="continent",
            answer=CONTINENTS[own],
            wrong=order_by_hash([CONTINENTS[c] for c in ("AF", "AS", "EU", "NA", "OC", "SA")], asked.salt),
            aliases=["the Americas", "Central America", "Caribbean"] if own == "NA" else [],
            truth=country_truth(self.world, code),
        )

    def pair_slots(self, fact: str) -> Slots:
        """What a wording says of two countries: the last two codes of a fact."""
        one, two = (self.world.countries[code] for code in fact.split("|")[-2:])
        return {"one": one.the_name, "two": two.the_name, "one_name": one.name, "two_name": two.name}

    def between(self, fact: str, asked: Asked) -> Object:
        """The one country that borders both of two others."""
        code, *ends = fact.split("|")
        country = self.country(code, asked)
        near = [c for end in ends for c in self.world.countries[end].neighbours]
        wrong = [c for c in order_by_hash(near, fact) if c in self.world.states and c not in ends]
        taken = [self.world.countries[end].the_name for end in ends]
        safe = [name for name in country.wrong if name not in taken]
        return dataclasses.replace(country, wrong=[*(self.world.countries[c].the_name for c in wrong[:2]), *safe])

    def no_border(self, fact: str, asked: Asked) -> Object:
        """That two countries have no border."""
        pair = "{one} and {two}".format_map(asked.slots)
        return Object(
            kind="trap",
            answer=f"zero, because {pair} have no common border",
            wrong=order_by_hash(["130", "310", "560", "740", "920", "1,340", "1,820"], asked.salt),
            aliases=NO_BORDER,
            truth={"premise": f"{pair} share a land border", "corrected": f"{pair} share no land border"},
        )

    @cached_property
    def with_capital(self) -> list[str]:
        """The states that have one capital, most populous first."""
        return [c for c in self.world.states if self.world.countries[c].capital]

    @cached_property
    def phones(self) -> list[str]:
        """Those that share their telephone code with nobody."""
        users = Counter(country.phone for country in self.world.countries.values())
        own = {c: self.world.countries[c].phone for c in self.with_capital}
        return [c for c, number in own.items() if number.isdigit() and users[number] == 1]

    @cached_property
    def common_neighbours(self) -> list[str]:
        """Triples country|one|two where the country alone borders both others, which do not border each other."""
        clear = [c for c in self.world.states if c not in UNCLEAR_BORDERS]
        pairs = [(one, two) for one in clear for two in clear if one < two]
        facts = [f"{code}|{one}|{two}" for one, two in pairs for code in self._common(one, two) if code in clear]
        return sorted(facts, key=lambda t: -sum(self.world.countries[c].population for c in t.split("|")))

    def _common(self, one: str, two: str) -> set[str]:
        """The one country that borders both, unless they border each other."""
        a, b = self.world.countries[one], self.world.countries[two]
        common = set(a.neighbours) & set(b.neighbours)
        return common if len(common) == 1 and two not in a.neighbours else set()

    @cached_property
    def unconnected(self) -> list[str]:
        """Pairs of states without a common border; for each one a near one (same continent) and one far away."""
        odd = UNCLEAR_BORDERS | {"ES", "MA"}
        clear = [c for c in self.world.states[:120] if c not in odd]
        return list(dict.fromkeys(pair for code in clear for pair in self._no_border(code, clear)))

    def _no_border(self, code: str, states: list[str]) -> list[str]:
        country = self.world.countries[code]
        free = [c for c in states if c != code and c not in country.neighbours]
        near = [c for c in free if self.world.countries[c].continent == country.continent]
        far = [c for c in free if c not in near]
        others = [*(pick(near, 1, code) if near else []), *(pick(far, 1, code) if far else [])]
        return ["|".join(sorted((code, other))) for other in others]


def countries(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Countries(world)
    pools = {
        "continent_shots": ["FR", "BR", "KE", "JP", "CA", "NZ"],
        "lesser": [c for c in world.states if c not in d.with_capital[:100]],
        "one_continent": [c for c in world.states if c not in TWO_CONTINENTS],
        "one_neighbour": ONE_NEIGHBOUR,
        "solved_borders": BORDERS,
    }
    return cells("countries", d, pools)
