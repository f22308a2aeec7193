"""Languages: where they are spoken, what they call themselves, their scripts and codes; codes that stand for none."""

import xml.etree.ElementTree as ET
from collections import defaultdict
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any

from richter_audit.bench._draft import NO_SUCH, Asked, Cell, Draft, ask, relation, solve
from richter_audit.bench._places import capital_draft, country_truth, field_of, wrong_countries
from richter_audit.bench._text import normalise_name, ordered, pick, unique, words
from richter_audit.bench._world import World

CLDR = "CLDR (Unicode License) via babel"
PEOPLE = "CLDR (Unicode License) via language_data"
ISO = "ISO 639 via pycountry (LGPL-2.1)"
NAMES = {"bn": "Bengali", "ny": "Chichewa", "mi": "Maori", "gez": "Geez", "lah": "Western Punjabi", "rn": "Kirundi"}
NAME_ALIASES = {
    "fa": ("Farsi",), "zh": ("Mandarin", "Mandarin Chinese"), "es": ("Castilian",), "nl": ("Flemish",),
    "bn": ("Bangla",), "dv": ("Maldivian", "Dhivehi"), "fil": ("Tagalog",), "lg": ("Luganda",), "ki": ("Gikuyu",),
    "rn": ("Rundi",), "kl": ("Greenlandic",), "my": ("Myanmar",), "km": ("Cambodian",), "si": ("Sinhalese",),
    "hr": ("Serbo-Croatian",), "ro": ("Moldovan",), "tn": ("Setswana",), "st": ("Sesotho",), "ss": ("Swazi",),
    "ga": ("Gaelic", "Irish Gaelic"), "he": ("Modern Hebrew",), "kok": ("Goan Konkani",),
}  # fmt: skip
# One official language by CLDR, but not so by law or any longer: two in law, none in law, or changed since.
NOT_ONE_OFFICIAL = frozenset(words("BF CN ET FM GB GH IQ ME ML NA NE NZ PS SB SS US ZA BA XK MY LA"))
# Spoken as much, or claimed as much, elsewhere; dead; or not a language in its own right to all.
NO_CLEAR_HOME = frozenset(
    words(
        "ab aln bo cop crh dyu fan frs guc ie kde kfo kg kiu kj ks la lad lez lun lah mwr nb nn no nqo pdt "
        "prg rue sa sli sma smj swb syr tly tru ttt ug vmf yao zh wuu hsn hak gan uz he tt gbz sdh bas raj "
        "ta am om so"
    )
)
# CLDR names a script for these that another has replaced or accompanies.
NO_CLEAR_SCRIPT = frozenset(
    words(
        "ady akk bax bej blt bfq crh crk crm csw gan hnj hsn ja jpr jrb ko lad lus lzh mnc non ojs saz tig "
        "trw wal wuu zen kru rue yi"
    )
)
SCRIPT_NAMES = {"Beng": "Bengali", "Cans": "Canadian syllabics", "Xsux": "cuneiform", "Mymr": "Burmese"}
SCRIPT_ALIASES = {
    "Ethi": ("Ge'ez", "Geez", "Amharic"), "Beng": ("Bangla", "Bengali-Assamese", "Eastern Nagari"), "Latn": ("Roman",),
    "Arab": ("Perso-Arabic", "Nastaliq"), "Deva": ("Nagari",), "Mymr": ("Myanmar", "Mon-Burmese"),
    "Cyrl": ("Cyrillic alphabet",), "Orya": ("Oriya",),
}  # fmt: skip


class Tongues:
    """Languages by code (two letters where there are two, else three)."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cldr: dict[str, str] = {k: v for k, v in world.cldr.languages.items() if k.isalpha()}
        self.iso2 = {lang.alpha_2: lang for lang in world.pycountry.languages if hasattr(lang, "alpha_2")}
        self.iso3 = {lang.alpha_3: lang for lang in world.pycountry.languages}
        self.speakers: dict[str, dict[str, int]] = defaultdict(dict)
        for key, count in world.speakers.items():
            parts = key.split("-")
            if len(parts) == 2 and len(parts[1]) == 2 and count:
                self.speakers[parts[0]][parts[1]] = count

    def name(self, code: str) -> str:
        """The usual English name."""
        return NAMES.get(code) or self.cldr.get(code) or _plain(self.iso3[code].name)

    def aliases(self, code: str) -> tuple[str, ...]:
        """Other English names."""
        iso = self.iso2.get(code) or self.iso3.get(code)
        names = [_plain(iso.name)] if iso else []
        return unique([self.name(code), self.cldr.get(code, ""), *names, *NAME_ALIASES.get(code, ())])[1:]

    def people(self, code: str) -> int:
        """Speakers by CLDR."""
        return sum(self.speakers.get(code, {}).values())

    def home(self, code: str) -> str:
        """The country where over nine tenths of the speakers live, or nothing."""
        table = self.speakers.get(code, {})
        if not table or code in NO_CLEAR_HOME:
            return ""
        best = max(sorted(table), key=lambda c: table[c])
        likely = self.world.cldr_table("likely_subtags").get(code, "").split("_")[-1]
        return best if table[best] > 0.9 * sum(table.values()) and likely == best else ""

    def scripts(self) -> dict[str, str]:
        """Languages for which CLDR knows one script only."""
        root = ET.parse(Path(self.world.language_data_folder) / "supplementalData.xml").getroot()  # noqa: S314
        seen: dict[str, set[str]] = defaultdict(set)
        table = root.find("languageData")
        assert table is not None
        for row in table:
            seen[row.get("type", "")] |= set((row.get("scripts") or "").split())
        return {
            code: next(iter(scripts))
            for code, scripts in sorted(seen.items())
            if len(scripts) == 1 and code in self.cldr and code not in NO_CLEAR_SCRIPT
        }

    def own_names(self) -> dict[str, str]:
        """What languages call themselves, where CLDR has their own locale."""
        found = {}
        for code in sorted(self.cldr):
            name = self.world.own_name(code)
            alike = SequenceMatcher(None, normalise_name(name), normalise_name(self.name(code))).ratio()
            if name and name[-1].isalpha() and "(" not in name and alike < 0.6:  # else it gives itself away
                found[code] = name
        return found


def languages(world: World) -> list[Cell]:
    """The cells of the domain."""
    tongues = Tongues(world)
    two = sorted((c for c in tongues.iso2 if c not in ("sh", "bh")), key=lambda c: (-tongues.people(c), c))
    scripts = tongues.scripts()
    own = tongues.own_names()
    official = {
        code: [k for k, v in table.items() if v["official_status"] == "official"]
        for code, table in world.cldr_table("territory_languages").items()
        if code in world.states and code not in NOT_ONE_OFFICIAL
    }
    one = {code: found[0] for code, found in official.items() if len(found) == 1 and "_" not in found[0]}

    def spoken(code: str) -> dict[str, Any]:
        where = sorted(tongues.speakers.get(code, {}), key=lambda c: -tongues.speakers[code][c])[:5]
        own = country_truth(world, where[0]) if where and where[0] in world.countries else {}
        return {"language": code, "countries": where, **own}

    def language_draft(pool: list[str], code: str, asked: Asked) -> Draft:
        where = set(tongues.speakers.get(code, {}))
        near = [c for c in pool if c != code and where & set(tongues.speakers.get(c, {}))]
        wrong = [tongues.name(c) for c in [*pick(near, 2, asked.prompt), *pick(pool, 5, asked.prompt)]]
        return asked.draft(tongues.name(code), wrong, "language", aliases=tongues.aliases(code), **spoken(code))

    def home_of(fact: str) -> Draft:
        country = world.countries[tongues.home(fact)]
        name = tongues.name(fact)
        stem = f"Most speakers of the {name} language live in"
        return Asked(f"In which country do most speakers of the {name} language live?", name, stem).draft(
            country.the_name,
            wrong_countries(world, country.code, fact),
            "country",
            aliases=country.aliases,
            also=[world.countries[c].name for c in tongues.speakers[fact] if c in world.countries],
            **country_truth(world, country.code),
        )

    def code_draft(code: str, asked: Asked) -> Draft:
        like = [c for c in two if c != code and c[0] == code[0]]
        guess = normalise_name(asked.subject)[:2]
        made = [guess] if len(guess) == 2 and guess.isalpha() else []
        wrong = [*made, *pick(like, 3, asked.prompt), *pick(two, 4, asked.prompt)]
        return asked.draft(code, wrong, "code", **spoken(code), of="language", code=code)

    def script_draft(code: str, asked: Asked) -> Draft:
        script, salt = scripts[code], asked.prompt
        pool = words("Latn Cyrl Arab Deva Grek Hebr Ethi Beng Thai Geor Armn Taml Khmr")
        wrong = [_script(world, s) for s in [*ordered(pool[:4], salt)[:2], *ordered(pool, salt)] if s != script]
        aliases = SCRIPT_ALIASES.get(script, ())
        return asked.draft(_script(world, script), wrong, "script", aliases=aliases, **spoken(code), script=script)

    named3 = sorted(c for c in tongues.cldr if len(c) == 3 and c in tongues.iso3 and tongues.iso3[c].scope == "I")

    def unassigned(fact: str) -> Draft:
        stem = f"The language that the ISO 639-1 code {fact} denotes is"
        return Asked(f"Which language does the ISO 639-1 code {fact} denote?", fact, stem).trap(
            f"none, because {fact} is not assigned",
            [tongues.name(c) for c in pick(two, 4, fact)],
            f"{fact} is an ISO 639-1 code",
            aliases=[*NO_SUCH, "no language", "not an ISO 639-1 code"],
        )

    def no_code2(fact: str) -> Draft:
        name = tongues.name(fact)
        like = [c for c in two if c[0] == normalise_name(name)[0]]
        return Asked(f"What is the two-letter ISO 639-1 code of the {name} language?", name).trap(
            f"none, because {name} has only a three-letter code",
            [*pick(like, 2, fact), *pick(two, 3, fact)],
            f"{name} has an ISO 639-1 code",
            f"{name} has the ISO 639-3 code {fact} only",
            aliases=[*NO_SUCH, "does not have", "doesn't have", "no two-letter", "only a three-letter", fact, "has no"],
        )

    homes = sorted((c for c in tongues.speakers if c in tongues.cldr), key=lambda c: (-tongues.people(c), c))
    homes = [c for c in homes if tongues.home(c) in world.states]
    writable = sorted(scripts, key=lambda c: (scripts[c] == "Latn", -tongues.people(c), c))
    other = [c for c in writable if scripts[c] != "Latn"]
    roman = [c for c in writable if scripts[c] == "Latn" and tongues.people(c) > 100_000]
    selves = sorted(own, key=lambda c: (-tongues.people(c), c))
    letters = "abcdefghijklmnopqrstuvwxyz"
    gone = {"iw", "in", "ji", "jw", "mo", "sh", "bh", "eu"}
    free = [f"{a}{b}" for a in letters for b in letters if f"{a}{b}" not in tongues.iso2 and f"{a}{b}" not in gone]
    free = ordered([c for c in free if c not in _WORDS], "free language codes")
    only3 = [c for c in named3 if tongues.iso3[c].type == "L" and tongues.people(c) > 30_000]
    named3.sort(key=lambda c: (-tongues.people(c), c))
    nations = sorted(one, key=lambda c: (-world.countries[c].population, c))

    the, name, capital = (field_of(world, f) for f in ("the_name", "name", "capital"))
    cldr, iso = partial(relation, source=CLDR), partial(relation, source=ISO)
    chain = partial(relation, form="compositional", source=f"{CLDR}; GeoNames (CC BY 4.0)")
    untrue = partial(relation, form="trap", source=ISO)
    official_draft = partial(language_draft, sorted(set(one.values())))
    known, lands, written = two[:30], nations[:40], [*other[:20], *roman[:4]]
    write = ask(official_draft, "What is the official language of {}?", the, name, key=one.__getitem__)
    tongue = cldr("country-language", write=write, shots=lands)
    write = ask(
        official_draft,
        "What is the official language of the country whose capital is {}?",
        capital,
        key=one.__getitem__,
    )
    via_capital = chain("capital-language", write=write, shots=lands)
    live = relation("language-country", PEOPLE, home_of, homes[:40])
    with_code = ask(
        partial(language_draft, two),
        "Which language has the two-letter ISO 639-1 code {}?",
        stem="The language with the ISO 639-1 code {} is",
    )
    code2 = iso("iso639-language", write=with_code, shots=known)
    write = ask(
        partial(language_draft, sorted(own)),
        "Which language is called “{}” by its own speakers?",
        own.__getitem__,
        stem="“{}” is what its own speakers call",
    )
    self_name = cldr("autonym-language", write=write, shots=selves[:30])
    write = ask(
        partial(language_draft, named3),
        "Which language has the three-letter ISO 639-3 code {}?",
        stem="The language with the ISO 639-3 code {} is",
    )
    code3 = iso("iso639-3-language", write=write, shots=named3[:30])
    code_of = ask(
        code_draft,
        "Give the two-letter ISO 639-1 code for the {} language.",
        tongues.name,
        stem="The ISO 639-1 code for the {} language is",
    )
    to_code = iso("language-iso639", write=code_of, shots=known)
    write = ask(
        code_draft,
        "Give the two-letter ISO 639-1 code for the official language of {}.",
        lambda land: the(land) if len(one[land]) == 2 else "",
        lambda land: tongues.name(one[land]),
        stem="The ISO 639-1 code for the official language of {} is",
        key=one.__getitem__,
    )
    via_country = chain("country-language-code", write=write, shots=lands)
    write = ask(
        script_draft,
        "In which script is the {} language written?",
        tongues.name,
        stem="The script in which the {} language is written is",
    )
    script = cldr("language-script", write=write, shots=written)
    write = ask(
        script_draft,
        "In which script is the language with the ISO 639 code {} written?",
        stem="The script of the language with the ISO 639 code {} is",
    )
    code_script = chain("code-script", write=write, shots=written)
    write = ask(
        lambda code, asked: capital_draft(world, tongues.home(code), asked, salt=code),
        "What is the capital of the country where most speakers of the {} language live?",
        lambda code: tongues.name(code) if capital(tongues.home(code)) else "",
    )
    seat = chain("language-capital", write=write, shots=homes[:40])
    denoted = [
        (text.replace("with the ISO", "that the ISO").replace(" is ", " denotes is "), a)
        for text, a in solve(with_code, known)
    ]
    nobody = untrue("iso639-unassigned", write=unassigned, shots=denoted)
    two_letter = [
        (text.replace("The ISO 639-1 code for", "The two-letter ISO 639-1 code of"), a)
        for text, a in solve(code_of, known)
    ]
    lacking = untrue("no-iso639-1-code", write=no_code2, shots=two_letter)
    return [
        tongue(tier=1, facts=nations, weight=2),
        live(tier=1, facts=homes[:90], weight=2),
        code2(tier=1, facts=two[:100], weight=1),
        self_name(tier=2, facts=selves, weight=2),
        code2(tier=2, facts=two[100:], weight=1),
        script(tier=2, facts=[*other, *roman], weight=2),
        to_code(tier=3, facts=two, weight=2),
        live(tier=3, facts=homes[90:], weight=2),
        via_capital(tier=4, facts=nations, weight=2),
        code3(tier=4, facts=named3[:150], weight=2),
        seat(tier=4, facts=homes[:150], weight=2),
        nobody(tier=4, facts=free[:200], weight=1),
        lacking(tier=4, facts=only3[:60], weight=1),
        code3(tier=5, facts=named3[150:], weight=2),
        via_country(tier=5, facts=nations, weight=1),
        code_script(tier=5, facts=[*other, *roman], weight=1),
        seat(tier=5, facts=homes[150:], weight=2),
        nobody(tier=5, facts=free[200:], weight=1),
        lacking(tier=5, facts=only3[60:], weight=1),
    ]


_WORDS = frozenset(words("ad ax do ex go ha hi if me oh ok ow ox pi re us we up ye yo by at"))


def _plain(name: str) -> str:
    return name.split(" (")[0]


def _script(world: World, code: str) -> str:
    return SCRIPT_NAMES.get(code) or str(world.cldr.scripts[code])
