"""Elements and isotopes: symbols, numbers, places in the table, neutrons; elements and isotopes that are not."""

from functools import partial
from typing import Any

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation, solve
from richter_audit.bench._text import ordered, pick, words
from richter_audit.bench._world import Element, World

SOURCE = "mendeleev 1.3.0 (MIT)"
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
NEVER_STABLE = (
    "Tc Pm Po At Rn Fr Ra Ac Pa Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
)


def elements(world: World) -> list[Cell]:
    """The cells of the domain."""
    table = world.elements
    by = {e.symbol: e for e in table}
    rare = [e.symbol for e in table if e.symbol not in COMMON]
    everything = [e.symbol for e in table]
    family = {symbol: name for name, symbols in FAMILIES.items() for symbol in symbols.split()}

    def place(e: Element) -> dict[str, Any]:
        return {"element": e.symbol, "number": e.number, "period": e.period, "group": e.group, "block": e.block}

    def near(e: Element, *salt: object) -> list[Element]:
        """Elements that a reader might mix up: neighbours in the table, same column, same first letter."""
        beside = [x for x in table if 0 < abs(x.number - e.number) <= 3]
        column = [x for x in table if e.group and x.group == e.group and x != e]
        letter = [x for x in table if x.name[0] == e.name[0] and x != e]
        pools = [ordered(pool, *salt, e.symbol) for pool in (letter, column, beside)]
        return [*(pool[0] for pool in pools if pool), *pick(table, 4, *salt, e.symbol), *beside]

    def name_draft(symbol: str, asked: Asked) -> Draft:
        e = by[symbol]
        wrong = [x.name for x in near(e, asked.prompt)]
        return asked.draft(e.name, wrong, "element", aliases=SPELLINGS.get(e.name, ()), **place(e))

    def symbol_draft(symbol: str, asked: Asked, **more: Any) -> Draft:
        e = by[symbol]
        made = [s.title() for s in (e.name[0] + e.name[2:3], e.name[:2], e.name[0] + e.name[-1]) if len(s) == 2]
        real = [x.symbol for x in near(e, asked.prompt)]
        wrong = [*ordered([s for s in made if s != e.symbol], asked.prompt)[:1], *real]
        return asked.draft(e.symbol, wrong, "symbol", **place(e), **more)

    def number_draft(symbol: str, asked: Asked, value: int = 0, spread: int = 6, **more: Any) -> Draft:
        value = value or by[symbol].number
        steps = [d for d in range(-spread, spread + 1) if d and value + d > 0]
        wrong = [str(value + d) for d in ordered(steps, asked.prompt)]
        return asked.draft(str(value), wrong, "number", **place(by[symbol]), value=value, **more)

    def called(symbol: str) -> str:
        return by[symbol].name

    def after(symbol: str) -> str:
        return table[by[symbol].number].symbol

    def family_of(fact: str) -> Draft:
        e, own = by[fact], family[fact]
        aliases = [own, *FAMILY_ALIASES.get(own, ()), *(f"{a}s" for a in FAMILY_ALIASES.get(own, ()))]
        wrong = [_several(f) for f in ordered([f for f in FAMILIES if f != own], fact)]
        prompt = f"To which family of chemical elements does {e.name} belong?"
        asked = Asked(prompt, e.name, f"{e.name.capitalize()} belongs to the family of the")
        return asked.draft(_several(own), wrong, "family", aliases=aliases, **place(e), family=own)

    def period_of(fact: str) -> Draft:
        e = by[fact]
        aliases = [f"{e.period}{_ordinal(e.period)}", f"period {e.period}", f"row {e.period}", _WORDS[e.period]]
        wrong = [str(p) for p in ordered([p for p in range(1, 8) if p != e.period], fact)]
        prompt = f"In which period (row) of the periodic table is {e.name}?"
        asked = Asked(prompt, e.name, f"The number of the period of the periodic table with {e.name} is")
        return asked.draft(str(e.period), wrong, "number", aliases=aliases, **place(e), value=e.period)

    def group_of(fact: str) -> Draft:
        e = by[fact]
        assert e.group
        near = [g for g in range(1, 19) if g != e.group and abs(g - e.group) < 6]
        prompt = f"In which group (column, IUPAC number) of the periodic table is {e.name}?"
        return Asked(prompt, e.name, f"The number of the group of the periodic table with {e.name} is").draft(
            str(e.group),
            [str(g) for g in ordered(near, fact)],
            "number",
            aliases=[f"group {e.group}", f"{e.group}{_ordinal(e.group)}"],
            **place(e),
            value=e.group,
        )

    def year_of(fact: str) -> Draft:
        e, year = by[fact], FOUND[fact]
        wrong = [str(year + d) for d in ordered([-48, -31, -19, -11, 12, 23, 34, 47], fact)]
        prompt = f"In which year was the chemical element {e.name} discovered?"
        asked = Asked(prompt, e.name, f"The chemical element {e.name} was discovered in the year")
        return asked.draft(str(year), wrong, "year", **place(e), value=year)

    def neutrons(fact: str) -> Draft:
        symbol, mass = fact.split("-")
        e, name = by[symbol], f"{by[symbol].name}-{mass}"
        prompt = f"How many neutrons are in the nucleus of an atom of {name}?"
        asked = Asked(prompt, name, f"The number of neutrons in an atom of {name} is")
        return number_draft(symbol, asked, value=int(mass) - e.number, spread=5, via=e.number)

    def main_isotope(fact: str) -> Draft:
        e = by[fact]
        mass = _main_isotope(e)
        others = [m for m, share in e.isotopes.items() if share and m != mass]
        beside = [m for m in e.isotopes if 0 < abs(m - mass) <= 4 and m not in others]
        wrong = [str(m) for m in [*ordered(others, fact), *ordered(beside, fact)]]
        aliases = [f"{e.name}-{mass}", f"{fact}-{mass}"]
        asked = Asked(f"What is the mass number of the most abundant natural isotope of {e.name}?", e.name)
        return asked.draft(str(mass), wrong, "number", aliases=aliases, **place(e), value=mass)

    def no_element(fact: str) -> Draft:
        return Asked(f"What is the name of the chemical element with atomic number {fact}?", fact).trap(
            f"none, because no element {fact} is known",
            [e.name for e in pick(table[80:], 3, fact)],
            f"element {fact} is known",
            "118 elements are known",
            aliases=[
                *NO_SUCH,
                *("not been discovered", "not yet been discovered", "undiscovered", "no element", "not known"),
            ],
        )

    def no_symbol(fact: str) -> Draft:
        return Asked(f"What is the atomic number of the chemical element with the symbol {fact}?", fact).trap(
            f"none, because {fact} is no element's symbol",
            [str(e.number) for e in pick(table, 4, fact)],
            f"{fact} is the symbol of an element",
            aliases=[*NO_SUCH, "no element", "not a chemical symbol", "not the symbol", "not an element"],
        )

    def no_stable(fact: str) -> Draft:
        e = by[fact]
        denials = ("no stable", "not have a stable", "not have any stable", "radioactive", "not stable")
        return Asked(f"What is the mass number of the stable isotope of {e.name}?", e.name).draft(
            f"none, because {e.name} has no stable isotope",
            [str(m) for m in pick(sorted(e.isotopes), 4, fact)],
            "trap",
            aliases=[*NO_SUCH, *denials],
            **place(e),
            premise=f"{e.name} has a stable isotope",
            corrected="no stable isotope",
        )

    familiar = [s for s in COMMON if s in family]
    grouped = [e.symbol for e in table if e.group and e.symbol not in UNSETTLED_COLUMN]
    natural = [e.symbol for e in table if sum(bool(a) for a in e.isotopes.values()) >= 2]
    stable = [f"{e.symbol}-{m}" for e in table[5:83] for m, a in e.isotopes.items() if a]
    known_isotopes = [f"{e.symbol}-{m}" for e in table[5:100] for m, a in e.isotopes.items() if not a]
    free = [f"{a}{b}" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "abdefgjkmoqvwxz" if f"{a}{b}" not in by]
    free = ordered([s for s in free if s.lower() not in _ENGLISH and s not in _ONCE], "free symbols")[:240]
    beyond = [str(n) for n in range(121, 200)]

    plain = partial(relation, source=SOURCE)
    chain = partial(relation, source=SOURCE, form="compositional")
    untrue = partial(relation, source=SOURCE, form="trap")
    some = COMMON[:30]
    write = ask(name_draft, "Which chemical element has the symbol {}?", stem="{} is the chemical symbol of")
    name = plain("symbol-element", write=write, shots=some)
    write = ask(symbol_draft, "Give the chemical symbol for {}.", called)
    symbol = plain("element-symbol", write=write, shots=COMMON[10:40])
    write = ask(number_draft, "What is the atomic number of {}?", called)
    number = plain("element-number", write=write, shots=COMMON[5:35])
    with_number = ask(name_draft, "Which chemical element has the atomic number {}?", lambda s: str(by[s].number))
    numbered = plain("number-element", write=with_number, shots=some)
    kind = plain("element-family", write=family_of, shots=familiar[:24])
    period = plain("element-period", write=period_of, shots=COMMON[:40])
    group = plain("element-group", write=group_of, shots=[s for s in COMMON if s in grouped])
    year = plain("element-year", write=year_of, shots=sorted(FOUND))
    main = plain("main-isotope", write=main_isotope, shots=natural[:24])
    write = ask(
        lambda s, asked: symbol_draft(after(s), asked, via=called(after(s))),
        "Give the symbol of the chemical element that follows {} in the periodic table.",
        called,
    )
    next_symbol = chain("next-element-symbol", write=write, shots=some)
    write = ask(
        name_draft,
        "Which chemical element comes right after the one with the symbol {} in the periodic table?",
        stem="The chemical element right after the one with the symbol {} is",
        key=after,
    )
    follows = chain("symbol-next-element", write=write, shots=some)
    write = ask(
        lambda s, asked: number_draft(s, asked, via=called(s)),
        "How many protons are in the nucleus of an atom of the element with the symbol {}?",
        stem="The number of protons in an atom of the element with the symbol {} is",
    )
    protons = chain("symbol-protons", write=write, shots=COMMON[5:30])
    count = chain("isotope-neutrons", write=neutrons, shots=stable[:40])
    unknown = untrue("no-such-element", write=no_element, shots=_named_shots(solve(with_number, COMMON)))
    unsymbol = untrue("no-such-symbol", write=no_symbol, shots=_symbol_shots(by, COMMON))
    lasting = [
        (f"The mass number of the stable isotope of {n} is {m}.", str(m))
        for n, m in (("fluorine", 19), ("sodium", 23), ("aluminum", 27), ("phosphorus", 31), ("gold", 197))
    ]
    unstable = untrue("no-stable-isotope", write=no_stable, shots=lasting)
    return [
        name(tier=1, facts=everything, weight=2),
        symbol(tier=1, facts=everything, weight=2),
        number(tier=1, facts=COMMON, weight=1),
        numbered(tier=2, facts=everything, weight=2),
        number(tier=2, facts=rare, weight=1),
        kind(tier=2, facts=sorted(family), weight=2),
        period(tier=3, facts=everything, weight=2),
        group(tier=3, facts=grouped, weight=2),
        year(tier=3, facts=sorted(FOUND), weight=1),
        protons(tier=4, facts=everything, weight=2),
        count(tier=4, facts=stable, weight=2),
        next_symbol(tier=4, facts=everything[:117], weight=2),
        unknown(tier=4, facts=beyond, weight=1),
        unsymbol(tier=4, facts=free[:120], weight=1),
        main(tier=5, facts=natural, weight=2),
        follows(tier=5, facts=everything[:117], weight=1),
        count(tier=5, facts=known_isotopes, weight=2),
        unstable(tier=5, facts=NEVER_STABLE.split(), weight=1),
        unsymbol(tier=5, facts=free[120:], weight=1),
    ]


# symbols once proposed or used
_ONCE = frozenset(words("Cb Ma Ab Em Ad Ha Ao Me Ka Az Bo Jo De Vm Ph Nt Tu Gl Dp Cp Ct Nv"))
_WORDS = ("zero", "first", "second", "third", "fourth", "fifth", "sixth", "seventh")
_ENGLISH = frozenset(words("am an as at be by do go he hi if in is it me my no of oh ok on or ox so to up us we"))


def _several(family: str) -> str:
    return "noble gases" if family == "noble gas" else f"{family}s"


def _ordinal(n: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(n if n < 10 else 0, "th")


def _main_isotope(e: Element) -> int:
    return max(((share or 0.0), -mass) for mass, share in e.isotopes.items())[1] * -1


def _named_shots(shots: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The shots of the true relation in the words of the trap."""
    return [
        (text.replace("The chemical element with the atomic", "The name of the chemical element with atomic"), answer)
        for text, answer in shots
    ]


def _symbol_shots(by: dict[str, Element], symbols: list[str]) -> list[tuple[str, str]]:
    return [
        (f"The atomic number of the chemical element with the symbol {s} is {by[s].number}.", str(by[s].number))
        for s in symbols[:30]
    ]
