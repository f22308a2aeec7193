"""Elements and isotopes: symbols, numbers, places in the table, neutrons; elements and isotopes that are not."""

from functools import cached_property
from typing import Any

from richter_audit.bench._drafts import NO_SUCH, Asked, Cell, Object, Slots, cells
from richter_audit.bench._text_order import order_by_hash, pick, words
from richter_audit.bench._world import Element, World

SPELLINGS = {"aluminum": ("aluminium",), "cesium": ("caesium",), "sulfur": ("sulphur",)}
COMMON = words(
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Ti Cr Mn Fe Co Ni Cu Zn As Br Kr Ag Sn I Xe Ba W "
    "Pt Au Hg Pb Ra U Pu Rn Cd Bi Cs Sr Se"
)
# Families that every textbook draws alike; zinc's column, lanthanum, lutetium and their like are left out.
FAMILIES = {
    "alkali metal": "Li Na K Rb Cs Fr",
    "alkaline earth metal": "Be Mg Ca Sr Ba Ra",
    "halogen": "F Cl Br I",
    "noble gas": "He Ne Ar Kr Xe Rn",
    "lanthanide": "Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb",
    "actinide": "Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No",
    "metalloid": "B Si Ge As Sb Te",
    "transition metal": ("Sc Ti V Cr Mn Fe Co Ni Cu Y Zr Nb Mo Tc Ru Rh Pd Ag Hf Ta W Re Os Ir Pt Au Rf Db Sg Bh Hs"),
}
FAMILY_ALIASES = {"lanthanide": ("lanthanoid", "rare earth"), "actinide": ("actinoid",), "metalloid": ("semimetal",)}
UNSETTLED_COLUMN = frozenset({"La", "Lu", "Ac", "Lr"})
# Years on which textbooks agree (first isolated or first made); those they date apart are left out.
FOUND = {
    "O": 1774, "Cl": 1774, "Mn": 1774, "U": 1789, "Zr": 1789, "Ti": 1791, "Cr": 1797, "Nb": 1801, "Ta": 1802,
    "Ce": 1803, "Se": 1817, "Tl": 1861, "Ho": 1878, "Sm": 1879, "Tm": 1879, "Gd": 1880, "Pr": 1885, "Nd": 1885,
    "Dy": 1886, "Am": 1944, "Pm": 1945, "Es": 1952, "Ni": 1751, "W": 1783, "H": 1766, "N": 1772, "Na": 1807, "K": 1807,
    "Ba": 1808, "I": 1811, "Br": 1826, "Rb": 1861, "Cs": 1860, "In": 1863, "Ga": 1875, "Sc": 1879, "Ge": 1886,
    "Ar": 1894, "Kr": 1898, "Ne": 1898, "Xe": 1898, "Po": 1898, "Ra": 1898, "Hf": 1923, "Re": 1925, "Tc": 1937,
    "Fr": 1939, "At": 1940, "Np": 1940, "Eu": 1901, "Ru": 1844, "Cd": 1817, "Li": 1817, "P": 1669, "Cm": 1944,
    "Bk": 1949, "Cf": 1950, "Md": 1955,
}  # fmt: skip
# No stable isotope; bismuth and what decays beyond measuring are left out.
NEVER_STABLE = words(
    "Tc Pm Po At Rn Fr Ra Ac Pa Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)
# symbols once proposed or used
ONCE_SYMBOLS = frozenset(words("Cb Ma Ab Em Ad Ha Ao Me Ka Az Bo Jo De Vm Ph Nt Tu Gl Dp Cp Ct Nv"))
ORDINALS = ("zero", "first", "second", "third", "fourth", "fifth", "sixth", "seventh")
ENGLISH = frozenset(words("am an as at be by do go he hi if in is it me my no of oh ok on or ox so to up us we"))
STABLE = (("fluorine", "19"), ("sodium", "23"), ("aluminum", "27"), ("phosphorus", "31"), ("gold", "197"))


class Elements:
    """Elements by symbol, and isotopes by symbol and mass number."""

    def __init__(self, world: World) -> None:
        self.table = world.elements
        self.by_symbol = {e.symbol: e for e in self.table}
        self.family_of = {symbol: name for name, symbols in FAMILIES.items() for symbol in symbols.split()}

    # ---- what wordings say -------------------------------------------------------------------------------------------

    def slots(self, symbol: str) -> Slots:
        """Of an element."""
        element = self.by_symbol[symbol]
        return {"name": element.name, "Name": element.name.capitalize(), "number": str(element.number)}

    def isotope_slots(self, fact: str) -> Slots:
        """Of an isotope."""
        symbol, mass = fact.split("-")
        return {"name": f"{self.by_symbol[symbol].name}-{mass}"}

    # ---- answers -----------------------------------------------------------------------------------------------------

    def truth(self, e: Element) -> dict[str, Any]:
        """An element's place in the table."""
        return {"element": e.symbol, "number": e.number, "period": e.period, "group": e.group, "block": e.block}

    def following(self, symbol: str) -> str:
        """The next element's symbol."""
        return self.table[self.by_symbol[symbol].number].symbol

    def near(self, e: Element, salt: str) -> list[Element]:
        """Elements that a reader might mix up: neighbours in the table, same column, same first letter."""
        beside = [x for x in self.table if 0 < abs(x.number - e.number) <= 3]
        column = [x for x in self.table if e.group and x.group == e.group and x != e]
        letter = [x for x in self.table if x.name[0] == e.name[0] and x != e]
        pools = [order_by_hash(pool, salt, e.symbol) for pool in (letter, column, beside)]
        return [*(pool[0] for pool in pools if pool), *pick(self.table, 4, salt, e.symbol), *beside]

    def name(self, symbol: str, asked: Asked) -> Object:
        """An element's name."""
        e = self.by_symbol[symbol]
        wrong = [x.name for x in self.near(e, asked.salt)]
        return Object(
            kind="element", answer=e.name, wrong=wrong, aliases=SPELLINGS.get(e.name, ()), truth=self.truth(e)
        )

    def symbol(self, symbol: str, asked: Asked, **more: Any) -> Object:
        """An element's symbol."""
        e = self.by_symbol[symbol]
        guesses = [s.title() for s in (e.name[0] + e.name[2:3], e.name[:2], e.name[0] + e.name[-1]) if len(s) == 2]
        real = [x.symbol for x in self.near(e, asked.salt)]
        wrong = [*order_by_hash([s for s in guesses if s != symbol], asked.salt)[:1], *real]
        return Object(kind="symbol", answer=symbol, wrong=wrong, truth={**self.truth(e), **more})

    def next_symbol(self, symbol: str, asked: Asked) -> Object:
        """The symbol of an element that is told by the one before it."""
        return self.symbol(symbol, asked, via=self.by_symbol[symbol].name)

    def _place(self, symbol: str, asked: Asked, value: int, wrong: list[int], aliases: tuple[str, ...]) -> Object:
        """A place in the table; wrong ones in an order set by the salt."""
        truth = {**self.truth(self.by_symbol[symbol]), "value": value}
        numbers = [str(number) for number in order_by_hash(wrong, asked.salt)]
        return Object(kind="number", answer=str(value), wrong=numbers, aliases=aliases, truth=truth)

    def _count(self, symbol: str, asked: Asked, value: int, spread: int, **more: Any) -> Object:
        """A count of particles; wrong ones are off by at most `spread`."""
        steps = [step for step in range(-spread, spread + 1) if step and value + step > 0]
        wrong = [str(value + step) for step in order_by_hash(steps, asked.salt)]
        truth = {**self.truth(self.by_symbol[symbol]), "value": value, **more}
        return Object(kind="number", answer=str(value), wrong=wrong, truth=truth)

    def number(self, symbol: str, asked: Asked) -> Object:
        """An element's atomic number."""
        return self._count(symbol, asked, self.by_symbol[symbol].number, 6)

    def protons(self, symbol: str, asked: Asked) -> Object:
        """The atomic number of an element that is told by its symbol."""
        return self._count(symbol, asked, self.by_symbol[symbol].number, 6, via=self.by_symbol[symbol].name)

    def neutrons(self, fact: str, asked: Asked) -> Object:
        """How many neutrons an isotope has."""
        symbol, mass = fact.split("-")
        number = self.by_symbol[symbol].number
        return self._count(symbol, asked, int(mass) - number, 5, via=number)

    def family(self, symbol: str, asked: Asked) -> Object:
        """An element's family."""
        own = self.family_of[symbol]
        aliases = [own, *FAMILY_ALIASES.get(own, ()), *(f"{a}s" for a in FAMILY_ALIASES.get(own, ()))]
        wrong = [_several(f) for f in order_by_hash([f for f in FAMILIES if f != own], asked.salt)]
        truth = {**self.truth(self.by_symbol[symbol]), "family": own}
        return Object(kind="family", answer=_several(own), wrong=wrong, aliases=aliases, truth=truth)

    def period(self, symbol: str, asked: Asked) -> Object:
        """An element's period."""
        own = self.by_symbol[symbol].period
        aliases = (f"{own}{_ordinal(own)}", f"period {own}", f"row {own}", ORDINALS[own])
        return self._place(symbol, asked, own, [p for p in range(1, 8) if p != own], aliases)

    def group(self, symbol: str, asked: Asked) -> Object:
        """An element's group."""
        own = self.by_symbol[symbol].group
        assert own
        near = [g for g in range(1, 19) if g != own and abs(g - own) < 6]
        return self._place(symbol, asked, own, near, (f"group {own}", f"{own}{_ordinal(own)}"))

    def year(self, symbol: str, asked: Asked) -> Object:
        """When an element was discovered."""
        year = FOUND[symbol]
        wrong = [str(year + step) for step in order_by_hash([-48, -31, -19, -11, 12, 23, 34, 47], asked.salt)]
        truth = {**self.truth(self.by_symbol[symbol]), "value": year}
        return Object(kind="year", answer=str(year), wrong=wrong, truth=truth)

    def main_isotope(self, symbol: str, asked: Asked) -> Object:
        """The mass number of an element's most abundant isotope."""
        e = self.by_symbol[symbol]
        mass = _main_isotope(e)
        others = [m for m, share in e.isotopes.items() if share and m != mass]
        beside = [m for m in e.isotopes if 0 < abs(m - mass) <= 4 and m not in others]
        wrong = [str(m) for m in [*order_by_hash(others, asked.salt), *order_by_hash(beside, asked.salt)]]
        aliases = [f"{e.name}-{mass}", f"{symbol}-{mass}"]
        truth = {**self.truth(e), "value": mass}
        return Object(kind="number", answer=str(mass), wrong=wrong, aliases=aliases, truth=truth)

    def no_stable_isotope(self, symbol: str, asked: Asked) -> Object:
        """That an element has no stable isotope."""
        e = self.by_symbol[symbol]
        denials = ("no stable", "not have a stable", "not have any stable", "radioactive", "not stable")
        truth = {"premise": f"{e.name} has a stable isotope", "corrected": "no stable isotope"}
        return Object(
            kind="trap",
            answer=f"none, because {e.name} has no stable isotope",
            wrong=[str(m) for m in pick(sorted(e.isotopes), 4, asked.salt)],
            aliases=[*NO_SUCH, *denials],
            truth={**self.truth(e), **truth},
        )

    def heavy_names(self, salt: str) -> list[str]:
        """Three heavy elements."""
        return [e.name for e in pick(self.table[80:], 3, salt)]

    def some_numbers(self, salt: str) -> list[str]:
        """Four atomic numbers."""
        return [str(e.number) for e in pick(self.table, 4, salt)]

    # ---- facts -------------------------------------------------------------------------------------------------------

    @cached_property
    def grouped(self) -> list[str]:
        """Elements whose column is settled."""
        return [e.symbol for e in self.table if e.group and e.symbol not in UNSETTLED_COLUMN]

    @cached_property
    def natural(self) -> list[str]:
        """Elements with two natural isotopes and more."""
        return [e.symbol for e in self.table if sum(bool(share) for share in e.isotopes.values()) >= 2]

    def isotopes(self, most: int, *, natural: bool) -> list[str]:
        """The isotopes of the elements from the sixth to this one that occur in nature, or that do not."""
        return [
            f"{e.symbol}-{m}" for e in self.table[5:most] for m, share in e.isotopes.items() if bool(share) is natural
        ]

    @cached_property
    def free_symbols(self) -> list[str]:
        """What looks like a symbol and is none, nor was one, nor is an English word."""
        pairs = [f"{a}{b}" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "abdefgjkmoqvwxz"]
        taken = {*self.by_symbol, *ONCE_SYMBOLS, *(word.title() for word in ENGLISH)}
        return order_by_hash([symbol for symbol in pairs if symbol not in taken], "free symbols")[:240]


def elements(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Elements(world)
    everything, known = list(d.by_symbol), [d.by_symbol[symbol] for symbol in COMMON]
    pools = {
        "beyond": [str(number) for number in range(121, 200)],
        "common": COMMON,
        "common_grouped": [symbol for symbol in COMMON if symbol in d.grouped],
        "common_in_families": [symbol for symbol in COMMON if symbol in d.family_of],
        "dated": sorted(FOUND),
        "everything": everything,
        "in_families": sorted(d.family_of),
        "made_isotopes": d.isotopes(100, natural=False),
        "names_by_number": [(str(e.number), e.name) for e in known],
        "natural_isotopes": d.isotopes(83, natural=True),
        "never_stable": NEVER_STABLE,
        "numbers_by_symbol": [(e.symbol, str(e.number)) for e in known[:30]],
        "rare": [symbol for symbol in everything if symbol not in COMMON],
        "stable": STABLE,
    }
    return cells("elements", d, pools)


def _several(family: str) -> str:
    return "noble gases" if family == "noble gas" else f"{family}s"


def _ordinal(n: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(n if n < 10 else 0, "th")


def _main_isotope(e: Element) -> int:
    return max(((share or 0.0), -mass) for mass, share in e.isotopes.items())[1] * -1
