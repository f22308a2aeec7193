"""Languages: where they are spoken, what they call themselves, their scripts and codes; codes that stand for none."""

import dataclasses
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path
from typing import Any

from richter_audit.bench._drafts import NO_SUCH, Asked, Cell, Object, Rule, Slots, cells
from richter_audit.bench._places import Places, country_truth
from richter_audit.bench._text_order import normalise_name, order_by_hash, pick, unique, words
from richter_audit.bench._world import World

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
SCRIPTS = words("Latn Cyrl Arab Deva Grek Hebr Ethi Beng Thai Geor Armn Taml Khmr")
# Codes of two letters that are withdrawn, or are words and names that a reader takes for something else.
WITHDRAWN_CODES = frozenset(words("iw in ji jw mo sh bh eu"))
CODES_THAT_ARE_WORDS = frozenset(words("ad ax do ex go ha hi if me oh ok ow ox pi re us we up ye yo by at"))


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

    def most_speakers(self, code: str) -> list[str]:
        """The five countries with most speakers."""
        table = self.speakers.get(code, {})
        return sorted(table, key=lambda c: -table[c])[:5]

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
        names = {}
        for code in sorted(self.cldr):
            name = self.world.own_name(code)
            alike = SequenceMatcher(None, normalise_name(name), normalise_name(self.name(code))).ratio()
            if name and name[-1].isalpha() and "(" not in name and alike < 0.6:  # else it gives itself away
                names[code] = name
        return names


class Languages(Places):
    """Languages by code, and countries by what they speak."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.tongues = Tongues(world)
        self.scripts = self.tongues.scripts()
        self.own_names = self.tongues.own_names()

    # ---- what wordings say -------------------------------------------------------------------------------------------

    def slots(self, code: str) -> Slots:
        """Of a language."""
        return {"name": self.tongues.name(code), "own_name": self.own_names.get(code, "")}

    def country_slots(self, code: str) -> Slots:
        """Of a country and its language."""
        return {**super().country_slots(code), "language": self.tongues.name(self.official[code])}

    # ---- answers -----------------------------------------------------------------------------------------------------

    def truth(self, code: str) -> dict[str, Any]:
        """Where a language is spoken."""
        where = self.tongues.most_speakers(code)
        own = country_truth(self.world, where[0]) if where and where[0] in self.world.countries else {}
        return {"language": code, "countries": where, **own}

    def language(self, pool: list[str]) -> Rule:
        """A language's name; wrong ones come from a pool, those of the same countries first."""
        spoken = {code: set(self.tongues.speakers.get(code, ())) for code in pool}

        def name(code: str, asked: Asked) -> Object:
            where = set(self.tongues.speakers.get(code, ()))
            near = [c for c in pool if c != code and where & spoken[c]]
            return Object(
                kind="language",
                answer=self.tongues.name(code),
                wrong=[self.tongues.name(c) for c in [*pick(near, 2, asked.salt), *pick(pool, 5, asked.salt)]],
                aliases=self.tongues.aliases(code),
                truth=self.truth(code),
            )

        return name

    def home(self, code: str, asked: Asked) -> Object:
        """The country where a language is spoken."""
        country, speakers = self.country(self.tongues.home(code), asked), self.tongues.speakers[code]
        return dataclasses.replace(
            country, also=[self.world.countries[c].name for c in speakers if c in self.world.countries]
        )

    def code(self, code: str, asked: Asked) -> Object | None:
        """A language's code of two letters, where it has one."""
        if len(code) != 2:
            return None
        guess = normalise_name(self.tongues.name(code))[:2]
        guesses = [guess] if len(guess) == 2 and guess.isalpha() else []
        like = [c for c in self.two if c != code and c[0] == code[0]]
        wrong = [*guesses, *pick(like, 3, asked.salt), *pick(self.two, 4, asked.salt)]
        return Object(kind="code", answer=code, wrong=wrong, truth={**self.truth(code), "of": "language", "code": code})

    def script(self, code: str, asked: Asked) -> Object:
        """The script in which a language is written."""
        script = self.scripts[code]
        pool = [*order_by_hash(SCRIPTS[:4], asked.salt)[:2], *order_by_hash(SCRIPTS, asked.salt)]
        return Object(
            kind="script",
            answer=self.script_name(script),
            wrong=[self.script_name(s) for s in pool if s != script],
            aliases=SCRIPT_ALIASES.get(script, ()),
            truth={**self.truth(code), "script": script},
        )

    def script_name(self, code: str) -> str:
        """A script's usual English name."""
        return SCRIPT_NAMES.get(code) or str(self.world.cldr.scripts[code])

    def some_names(self, salt: str) -> list[str]:
        """Four languages."""
        return [self.tongues.name(c) for c in pick(self.two, 4, salt)]

    def no_code(self, code: str, asked: Asked) -> Object:
        """That a language has no code of two letters."""
        name = self.tongues.name(code)
        like = [c for c in self.two if c[0] == normalise_name(name)[0]]
        denials = ("does not have", "doesn't have", "no two-letter", "only a three-letter", code, "has no")
        corrected = f"{name} has the ISO 639-3 code {code} only"
        return Object(
            kind="trap",
            answer=f"none, because {name} has only a three-letter code",
            wrong=[*pick(like, 2, asked.salt), *pick(self.two, 3, asked.salt)],
            aliases=[*NO_SUCH, *denials],
            truth={"premise": f"{name} has an ISO 639-1 code", "corrected": corrected},
        )

    # ---- facts -------------------------------------------------------------------------------------------------------

    def most_spoken_first(self, codes: Iterable[str]) -> list[str]:
        """Languages by their speakers."""
        return sorted(codes, key=lambda c: (-self.tongues.people(c), c))

    @cached_property
    def two(self) -> list[str]:
        """Languages with a code of two letters."""
        return self.most_spoken_first(c for c in self.tongues.iso2 if c not in ("sh", "bh"))

    @cached_property
    def three(self) -> list[str]:
        """Single languages with a code of three letters and an English name."""
        iso = self.tongues.iso3
        return self.most_spoken_first(c for c in self.tongues.cldr if len(c) == 3 and c in iso and iso[c].scope == "I")

    @cached_property
    def only_three(self) -> list[str]:
        """Living languages of some size that have no code of two letters, by their code."""
        living = [c for c in sorted(self.three) if self.tongues.iso3[c].type == "L"]
        return [c for c in living if self.tongues.people(c) > 30_000]

    @cached_property
    def homes(self) -> list[str]:
        """Languages that are spoken in one state."""
        known = self.most_spoken_first(c for c in self.tongues.speakers if c in self.tongues.cldr)
        return [c for c in known if self.tongues.home(c) in self.world.states]

    @cached_property
    def written(self) -> list[str]:
        """Languages of one script, those in other letters than ours first; in ours those of some size."""
        other = self.most_spoken_first(c for c, script in self.scripts.items() if script != "Latn")
        roman = self.most_spoken_first(c for c, script in self.scripts.items() if script == "Latn")
        return [*other, *(c for c in roman if self.tongues.people(c) > 100_000)]

    @cached_property
    def written_shots(self) -> list[str]:
        """Some of these."""
        roman = [c for c in self.written if self.scripts[c] == "Latn"]
        return [*[c for c in self.written if c not in roman][:20], *roman[:4]]

    @cached_property
    def official(self) -> dict[str, str]:
        """The one official language of each state that has one, the most populous first."""
        table = self.world.cldr_table("territory_languages")
        states = [c for c in table if c in self.world.states and c not in NOT_ONE_OFFICIAL]
        spoken = {c: [k for k, v in table[c].items() if v["official_status"] == "official"] for c in states}
        one = {c: codes[0] for c, codes in spoken.items() if len(codes) == 1 and "_" not in codes[0]}
        return dict(sorted(one.items(), key=lambda kv: (-self.world.countries[kv[0]].population, kv[0])))

    @cached_property
    def unassigned(self) -> list[str]:
        """Pairs of letters that are no language's code and no word."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        taken = {*self.tongues.iso2, *WITHDRAWN_CODES, *CODES_THAT_ARE_WORDS}
        return order_by_hash([a + b for a in letters for b in letters if a + b not in taken], "free language codes")


def languages(world: World) -> list[Cell]:
    """The cells of the domain."""
    d = Languages(world)
    names = [(code, d.tongues.name(code)) for code in d.two[:30]]
    pools = {
        "codes_by_name": [(name, code) for code, name in names],
        "names_by_code": names,
        "nations": list(d.official),
        "official_language": d.language(sorted(set(d.official.values()))),
        "self_named_language": d.language(sorted(d.own_names)),
        "selves": d.most_spoken_first(d.own_names),
        "three_letter_language": d.language(d.three),
        "two_letter_language": d.language(d.two),
    }
    return cells("languages", d, pools)


def _plain(name: str) -> str:
    return name.split(" (")[0]
