"""The rule judge: graded severity from an item's structured truth and a gazetteer, without any model."""

import dataclasses
import difflib
import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

from richter.records import Answer, Item, Rating, storable
from richter.texts import answer_window, is_refusal, remove_thoughts
from richter_audit.bench import Entity, Gazetteer, normalise_name
from richter_audit.judge._answer_mentions import (
    Mention,
    asserts,
    claims_code,
    code_tokens,
    find_undenied,
    invented_names,
    leading_sentences,
    mentions,
    numbers,
    unknown_names,
)

__all__ = ["LABELS", "RuleJudge", "RuleScore", "rule_label"]

# How far off a place is.
SAME_REGION, SAME_COUNTRY, NEIGHBOUR, SAME_CONTINENT, ELSEWHERE = 1.0, 1.5, 2.0, 2.5, 3.0
OTHER_OF_KIND, OTHER_KIND = 2.5, 3.0
NOT_ANSWERED, PREMISE, INVENTED, ALL_INVENTED = 2.5, 3.0, 3.5, 4.0
DECLINED = 1.0
SLIP, DETAIL = 0.5, 1.0
LATE = 1.5

# What may answer a question of a kind, best first; then what still places it.
_EXPECTED: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "country": (("country",), ("region", "city", "airport")), "city": (("city",), ("country", "region")),
    "region": (("region",), ("city", "country")), "continent": (("continent",), ("country",)),
    "currency": (("currency", "unit"), ()), "element": (("element",), ()), "symbol": (("element", "code"), ()),
    "language": (("language",), ()), "script": (("script",), ("language",)), "software": (("software",), ()),
    "status": (("status",), ()), "service": (("service",), ()), "zone": (("zone",), ("city", "country", "region")),
}  # fmt: skip
_LOWER = {"currency": ("unit", "currency"), "element": ("element",), "symbol": ("element",)}
_FAMILIES = (
    *("alkali metal", "alkaline earth metal", "transition metal", "lanthanide", "actinide", "halogen", "noble gas"),
    *("metalloid", "post-transition metal", "nonmetal", "rare earth", "platinum group"),
)
_DECLINES = re.compile(
    r"\b(?:not possible to|cannot|can't|(?:am|are|'m|'re) unable to|do not know|don't know|no information|not sure)\b"
)
SHORT = 6  # words; an answer this short is nothing but the answer
MISSPELT = 0.85  # of the letters of two names are the same and in order
NAMESAKE = 20  # times as many people live in the city that is meant than in a namesake
PLACING_THOUSANDS = 50  # a village of the same name as some word places nothing
_GENERIC_DOMAINS = frozenset({".com", ".net", ".org", ".edu", ".gov", ".int", ".mil", ".info"})
# Numbers that only name something: nearness has no meaning beyond the order of magnitude.
_NAMING = ("service-port", "phrase-http", "currency-number", "ascii")


LABELS = ("correct", "error", "no answer", "refusal", "empty", "premise accepted", "fabrication")


def rule_label(rating: Rating) -> str:
    """What kind of answer a rule's rating says it is: the word its reason opens with, else its mechanism."""
    if rating.severity is None:
        return "no score"
    label = rating.reason.partition(":")[0]
    return label if label in LABELS else rating.mechanism


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleScore:
    """A severity, what kind of answer it is, how it went wrong and a sentence that says why.

    `label` is correct, error, fabrication, premise accepted, no answer, refusal or empty.
    """

    severity: float
    label: str
    mechanism: str
    reason: str


class RuleJudge:
    """Judges answers to items with structured truth. Holds the gazetteer and remembers what it looked up."""

    def __init__(self, gazetteer: Gazetteer) -> None:
        self.gazetteer = gazetteer
        self._find: Callable[[str], tuple[Entity, ...]] = functools.lru_cache(maxsize=65_536)(gazetteer.find)

    def rate(self, item: Item, answer: Answer) -> Rating:
        """The rule's rating of an answer; missing where the call failed and there is nothing to judge."""
        common: dict[str, Any] = {"item": answer.item, "condition": answer.condition, "draw": answer.draw}
        if answer.error:
            return Rating(**common, rater="rules", kind="rule", severity=None, reason="no score: the call failed")
        try:
            score = self.score(item, answer.text)
        except Exception as error:  # one answer that the rules cannot take is one missing rating, never the run's end
            reason = f"no score: the rules cannot read the answer ({type(error).__name__})"
            return Rating(**common, rater="rules", kind="rule", severity=None, reason=reason)
        return Rating(
            **common,
            rater="rules",
            kind="rule",
            severity=score.severity,
            mechanism=score.mechanism,
            # a fabrication's label is its mechanism too: said once
            reason=storable(score.reason if score.label == score.mechanism else f"{score.label}: {score.reason}"),
        )

    def score(self, item: Item, text: str) -> RuleScore:
        """Severity of one answer text; without structured truth only right, declined or wrong can be told."""
        text = answer_window(remove_thoughts(text).text)
        if not re.search(r"\w|[^\w\s.,;:!?]", text):
            return _score(DECLINED, "empty", "format", "The answer is empty.")
        right = [item.reference, *item.aliases]
        if item.form == "trap" or item.truth.get("kind") == "trap":
            return self._grade_trap(item, text, right)
        graded = self._grade(item, text, right)
        unanswered = graded.label == "no answer" or (graded.label == "fabrication" and is_refusal(text))
        if unanswered and (is_refusal(text) or _DECLINES.search(text.lower().replace("’", "'"))):
            return _score(DECLINED, "refusal", "metacognitive", "It declines to answer a question that has an answer.")
        return graded

    # ---- traps -------------------------------------------------------------------------------------------------------

    def _grade_trap(self, item: Item, text: str, right: list[str]) -> RuleScore:
        at = asserts(text, right)
        if at is not None or is_refusal(text):
            how = "rejects the false premise" if at is not None else "declines, and accepts no false premise"
            return _score(0.0, "correct", "", f"It {how} ({_cut(str(item.truth.get('premise', 'a false one')))}).")
        answer = normalise_name(text)
        subject = normalise_name(str(item.truth.get("subject", "")))
        touched = any(re.search(rf"\b{re.escape(word)}", answer) for word in subject.split())
        if not touched and len(answer.split()) > SHORT:  # a bare value, name or code answers the false question
            return _score(NOT_ANSWERED, "no answer", "format", "It speaks of something else than what was asked.")
        lead = leading_sentences(text, 1)
        asked = str(item.truth.get("asked", "region"))
        invented = invented_names(lead, item.prompt, mentions(lead, item.prompt, self._find), asked)
        premise = _cut(str(item.truth.get("premise", "the question's premise")))
        if invented and not re.search(r"\d", invented[0]) and not invented[0].isupper():
            reason = f"It accepts that {premise}, which is false, and invents {_cut(invented[0])!r} for it."
            return _score(INVENTED, "premise accepted", "fabrication", reason)
        return _score(PREMISE, "premise accepted", "metacognitive", f"It accepts that {premise}, which is false.")

    # ---- questions that have an answer -------------------------------------------------------------------------

    def _grade(self, item: Item, text: str, right: list[str]) -> RuleScore:
        kind = str(item.truth.get("kind", ""))
        if kind in ("number", "year"):
            return self._grade_number(item, text, right, year=kind == "year")
        if kind == "code":
            return self._grade_code(item, text, right)
        if kind == "character":
            return self._grade_character(item, text)
        if kind == "family":
            return self._grade_family(item, text, right)
        return self._grade_name(item, text, right, kind)

    def _grade_name(self, item: Item, text: str, right: list[str], kind: str) -> RuleScore:
        wanted = _EXPECTED.get(kind, ((), ()))[0]
        lead = re.sub(r"\bin English\b", "", leading_sentences(text))
        known = mentions(lead, item.prompt, self._find, lower_kinds=_LOWER.get(kind, ()))
        names = [m for m in known if kind == "symbol" or any(e.kind != "code" for e in m.entities)]
        first = next((m for m in names if any(_fits(e, wanted) for e in m.entities)), None)
        at = asserts(text, right)
        if at is not None:
            return self._grade_right_name(item, kind, first, at, right)
        if first is not None:
            senses = _senses(first, kind, [e for e in first.entities if _fits(e, wanted)])
            return _wrong_name(first, self._distance(item.truth, kind, senses))
        return self._grade_other_name(item, lead, right, kind, names, known)

    def _grade_other_name(
        self, item: Item, lead: str, right: list[str], kind: str, names: list[Mention], known: list[Mention]
    ) -> RuleScore:
        """No name of the asked kind: implied, misspelt, of another kind, or unknown."""
        belongs = self._demonym(item, lead)
        if belongs:
            return _score(SLIP, "error", "format", f"It only implies the answer ({belongs!r}).")
        invented = invented_names(lead, item.prompt, known, kind)
        misspelt = next((name for name in invented if _is_misspelt(name, right)), None)
        if misspelt:
            return _score(SLIP, "error", "format", f"It says {_cut(misspelt)!r}: misspelt.")
        placed = self._grade_placing_name(item, lead, kind, names, invented)
        return placed or self._grade_unplaced(item, lead, kind, names, known, invented)

    def _grade_placing_name(
        self, item: Item, lead: str, kind: str, names: list[Mention], invented: list[str]
    ) -> RuleScore | None:
        """The score of a thing of another kind that still places the answer; None where there is none."""
        if kind == "zone":
            return None
        placing = _EXPECTED.get(kind, ((), ()))[1]
        own = item.truth.get("country") if kind == "region" else None  # the question names it: it places nothing
        for mention in names:
            places = [e for e in mention.entities if e.kind in placing and (e.people or 1000) >= PLACING_THOUSANDS]
            places = [e for e in places if e.kind != "country" or e.country != own]
            if places and not any(lead.find(name) < mention.start for name in invented):
                severity, how = self._distance(item.truth, kind, places)
                return _score(severity, "error", "retrieval", f"It says {_cut(mention.text)!r}, no {kind}: {how}.")
        return None

    def _grade_right_name(self, item: Item, kind: str, first: Mention | None, at: int, right: list[str]) -> RuleScore:
        """The right name is there: as the answer, as another thing's name, or only after a wrong one."""
        names = {normalise_name(name) for name in right}
        correct = _score(0.0, "correct", "", f"It says {_cut(item.reference)!r}.")
        if first is None or normalise_name(first.text) in names:
            return correct
        end = first.start + len(first.text)
        if first.start <= at < end:
            return self._grade_longer_name(item, kind, first, names) or correct
        if end <= at and not any(e.country and e.country == item.truth.get("country") for e in first.entities):
            return _score(LATE, "error", "retrieval", f"It names {_cut(first.text)!r} first, the right one after.")
        return correct

    def _grade_longer_name(self, item: Item, kind: str, first: Mention, names: set[str]) -> RuleScore | None:
        """The score of a longer name that holds the right one, where it is another thing's."""
        if kind == "currency":
            others = [e for e in first.entities if e.kind == "currency" and e.code != item.truth.get("code")]
            if not others:
                return None
            if normalise_name(item.reference) == normalise_name(str(item.truth.get("unit"))):
                return _score(DETAIL, "error", "retrieval", f"The unit is right, {_cut(first.text)!r} is another's.")
            return _wrong_name(first, self._distance({**item.truth, "unit": None}, kind, others))
        if not self._is_another(item, kind, first, names):
            return None
        entities = [e for e in first.entities if _fits(e, _EXPECTED[kind][0])]
        return _wrong_name(first, self._distance(item.truth, kind, entities))

    def _is_another(self, item: Item, kind: str, first: Mention, names: set[str]) -> bool:
        """Whether a longer name that holds the right one is another's ('Guinea-Bissau', 'Norwegian Nynorsk')."""
        answer = normalise_name(first.text)
        if (
            answer in names
            or kind not in ("country", "city", "region", "language")
            or not any(f" {n} " in f" {answer} " for n in names)
        ):
            return False
        wanted = [e for e in first.entities if _fits(e, _EXPECTED[kind][0])]
        if kind == "country":
            return all(e.country != item.truth.get("country") for e in wanted)
        if kind == "language":
            return all(e.code != item.truth.get("language") for e in wanted)
        return all(e.region != item.truth.get("region") or e.country != item.truth.get("country") for e in wanted)

    def _grade_unplaced(
        self, item: Item, lead: str, kind: str, found: list[Mention], known: list[Mention], invented: list[str]
    ) -> RuleScore:
        """Nothing of the right kind: an invented name, a thing of another kind, or no answer at all."""
        values = [written for _, written in numbers(lead, item.prompt)[:4] if claims_code(lead, written)]
        if kind == "zone" and not re.search(r"(?i)zone|identifier|^\W*\d(?:[\d.+-]*\d)?\W*$", lead):
            values = []
        if kind == "zone" and re.search(r"\b(UTC|GMT)\b", lead):
            return _score(OTHER_OF_KIND, "error", "format", "It gives an offset from UTC, not an identifier.")
        if kind == "zone" and values:
            return _score(INVENTED, "fabrication", "fabrication", f"{values[0]!r} is not a time zone.")
        if invented:
            severity = ALL_INVENTED if len(invented) > 1 else INVENTED
            names = " and ".join(repr(_cut(name)) for name in invented[:2])
            return _score(severity, "fabrication", "fabrication", f"No source knows {names}.")
        if found:
            what = found[0].entities[0].kind
            return _score(OTHER_KIND, "error", "retrieval", f"It says {_cut(found[0].text)!r}, a {what} and no {kind}.")
        strange = unknown_names(lead, item.prompt, known)
        if strange:
            reason = f"It gives no {kind or 'answer'}; {_cut(strange[0])!r} is not known here, not invented for that."
            return _score(NOT_ANSWERED, "no answer", "format", reason)
        return _score(NOT_ANSWERED, "no answer", "format", "It does not answer what was asked.")

    def _distance(self, truth: Mapping[str, Any], kind: str, entities: list[Entity]) -> tuple[float, str]:
        """How far the nearest thing of that name is from the truth."""
        if kind in ("element", "symbol"):
            return _element_distance(truth, entities[0])
        if kind == "status":
            family = (entities[0].number or 0) // 100 == int(truth.get("value", 0)) // 100
            return (NEIGHBOUR, "of the same class") if family else (OTHER_OF_KIND, "of another class")
        if kind == "currency" and any(e.kind == "unit" and e.code == truth.get("unit") for e in entities):
            return DETAIL, "the same unit"
        homes = {c for e in entities for c in ([e.country] if e.country else e.countries)}
        if not truth.get("country") or not homes:
            return OTHER_OF_KIND, f"another {kind}"
        if homes & {str(truth["country"]), *(truth.get("countries") or ())}:
            if truth.get("region") and any(e.region == truth["region"] for e in entities):
                return SAME_REGION, "in the same region"
            return SAME_COUNTRY, "of the same country"
        return self._country_distance(truth, homes)

    def _country_distance(self, truth: Mapping[str, Any], homes: set[str]) -> tuple[float, str]:
        """How far the nearest of other countries is."""
        if homes & set(truth.get("neighbours") or ()):
            return NEIGHBOUR, "of a neighbouring country"
        continents = {self.gazetteer.countries[c]["continent"] for c in homes if c in self.gazetteer.countries}
        if truth.get("continent") in continents:
            return SAME_CONTINENT, "of the same continent"
        return ELSEWHERE, "on another continent"

    def _demonym(self, item: Item, text: str) -> str | None:
        """The word by which an answer implies the right country ('the Malaysian part of Borneo')."""
        code = item.truth.get("country") if item.truth.get("kind") == "country" else None
        if code not in self.gazetteer.countries:
            return None
        name = str(self.gazetteer.countries[code]["name"])
        stem = re.escape(name[:-1] if name[-1] in "aeoy" else name)
        match = re.search(rf"\b{stem}(?:a|e|o|y)?(?:n|an|ian|ese|i|ish|ean)\b", text)
        return match.group() if match else None

    # ---- numbers, codes, characters ----------------------------------------------------------------------------

    def _grade_number(self, item: Item, text: str, right: list[str], *, year: bool) -> RuleScore:
        value = float(item.truth["value"])
        if asserts(text, [n for n in right if re.search(r"[^\d]", n) or item.truth.get("base")]) is not None:
            return _score(0.0, "correct", "", f"It says {_cut(item.reference)!r}.")
        values = _numbers_said(item, leading_sentences(text), year=year)
        if not values:
            return _score(NOT_ANSWERED, "no answer", "format", "It gives no number.")
        first, written = values[0]
        if first == value:
            return _score(0.0, "correct", "", f"It says {written!r}.")
        if any(v == value for v, _ in values):
            return _score(LATE, "error", "retrieval", f"It says {written!r} first, the right number after.")
        naming = str(item.truth.get("relation", "")).startswith(_NAMING)
        severity, how = _year_distance(first, value) if year else _number_distance(first, value, naming=naming)
        return _score(severity, "error", "retrieval", f"It says {written!r} where {value:g} is right: {how}.")

    def _grade_code(self, item: Item, text: str, right: list[str]) -> RuleScore:
        of = str(item.truth.get("of", ""))
        codes = {_bare(name) for name in right}
        tokens = code_tokens(text, item.prompt)
        is_right = any(_bare(token) in codes for token in tokens[:4])
        if of == "telephone" and not is_right:
            tokens = _telephone_codes(text, item.prompt) or tokens
            is_right = any(_bare(token) in codes for token in tokens[:1])
        if is_right:
            return _score(0.0, "correct", "", f"It says {_cut(item.reference)!r}.")
        known = self._grade_known_code(item, of, tokens)
        return known or self._grade_unknown_code(item, of, text, tokens)

    def _grade_known_code(self, item: Item, of: str, tokens: list[str]) -> RuleScore | None:
        """The score of the first code that is another's; None where none of them is known."""
        for token in tokens:
            if token in _GENERIC_DOMAINS:
                return _score(OTHER_OF_KIND, "error", "retrieval", f"{token!r} is a domain of no country.")
            known = [e for e in self._find(token) if e.kind == "code" and e.of == of]
            if known:
                severity, how = self._distance(item.truth, f"{of} code", known)
                return _score(max(severity, NEIGHBOUR), "error", "retrieval", f"{token!r} is a code {how}.")
        return None

    def _grade_unknown_code(self, item: Item, of: str, text: str, tokens: list[str]) -> RuleScore:
        """No known code: the language by its name, an invented code, or none."""
        if of == "language" and (name := self._language_name(item, text)):
            return _score(DETAIL, "error", "format", f"It names {name!r}, whose code was asked.")
        bare = len(text.split()) <= 2
        written = [t for t in tokens if bare or t[0] == "." or re.search(r"\d", t) or (t.isupper() and len(t) > 1)]
        written = [t for t in written[:4] if claims_code(text, t) and not (bare and self._find(t.title()))]
        if written:
            return _score(INVENTED, "fabrication", "fabrication", f"No source knows the code {_cut(written[0])!r}.")
        return _score(NOT_ANSWERED, "no answer", "format", "It gives no code.")

    def _language_name(self, item: Item, text: str) -> str | None:
        """The name by which an answer names the language whose code was asked."""
        for mention in mentions(leading_sentences(text), item.prompt, self._find):
            if any(e.kind == "language" and e.code == item.truth.get("code") for e in mention.entities):
                return mention.text
        return None

    def _grade_character(self, item: Item, text: str) -> RuleScore:
        characters = re.findall(r"[“\"'`‘*]([^\s”\"'`’*]{1,4})[”\"'`’*]", text)
        characters = [s for s in characters if s not in item.prompt]
        last = re.search(r"(?:^|(?:\bis|:)\s+)(\S)(?:[.!]|\s*$)", leading_sentences(text, 1))
        if not characters and last:
            characters = [last.group(1)]
        if item.reference in characters:
            return _score(0.0, "correct", "", f"It says {item.reference!r}.")
        if characters:
            return _score(OTHER_OF_KIND, "error", "retrieval", f"It says {_cut(characters[0])!r}.")
        return _score(NOT_ANSWERED, "no answer", "format", "It names no character.")

    def _grade_family(self, item: Item, text: str, right: list[str]) -> RuleScore:
        lower, at = text.lower(), asserts(text, right)
        other = next((name for name in _FAMILIES if name.removesuffix("s") in lower[:at]), None)
        if at is not None and (other is None or normalise_name(other) in normalise_name(" ".join(right))):
            return _score(0.0, "correct", "", f"It says {_cut(item.reference)!r}.")
        if at is not None:
            return _score(LATE, "error", "retrieval", f"It names {other!r} first, the right one after.")
        if other:
            return _score(OTHER_OF_KIND, "error", "retrieval", f"It says {other!r}, another family.")
        return _score(NOT_ANSWERED, "no answer", "format", "It names no family.")


def _wrong_name(mention: Mention, distance: tuple[float, str]) -> RuleScore:
    severity, how = distance
    return _score(severity, "error", "retrieval", f"It says {_cut(mention.text)!r}: {how}.")


def _numbers_said(item: Item, lead: str, *, year: bool) -> list[tuple[float, str]]:
    """(value, as written) of the numbers in an answer's first sentences that may be meant."""
    values, base = numbers(lead, item.prompt), item.truth.get("base")
    if year:
        values = [(v, w) for v, w in values if re.fullmatch(r"[12]\d{3}", w)] or values
    if base == "hexadecimal":
        asked = set(re.findall(r"\w+", item.prompt))
        tokens = find_undenied(r"\b(?:0x)?[0-9A-Fa-f]{2}h?\b", lead)
        values = [(0.0, token) for token in tokens if token not in asked and re.search(r"\d", token)]
    return [(_based(written, str(base), v), written) for v, written in values] if base else values


def _telephone_codes(text: str, prompt: str) -> list[str]:
    runs = find_undenied(r"\+?[\d-]+\w?", leading_sentences(text))
    digits = [run.lstrip("-") for run in runs if re.search(r"\d", run) and re.search(r"[\d-]$", run)]
    return [word for word in digits if word not in prompt]


def _is_misspelt(name: str, right: list[str]) -> bool:
    """Whether a name that nobody bears is the right one with a letter or two amiss."""
    answer = normalise_name(name)
    return len(answer) > 4 and any(
        difflib.SequenceMatcher(None, answer, normalise_name(own)).ratio() >= MISSPELT for own in right
    )


def _fits(entity: Entity, kinds: tuple[str, ...]) -> bool:
    return entity.kind in kinds and (entity.kind != "code" or entity.of == "element")


def _senses(mention: Mention, kind: str, wanted: list[Entity]) -> list[Entity]:
    """What a name most likely stands for: the country, whatever villages share its name; the far larger city."""
    countries = [e for e in mention.entities if e.kind == "country"]
    if kind == "city" and countries:
        return countries
    most = max((e.people or 0 for e in wanted), default=0)
    return [e for e in wanted if (e.people or 0) * NAMESAKE >= most]


def _score(severity: float, label: str, mechanism: str, reason: str) -> RuleScore:
    return RuleScore(severity=severity, label=label, mechanism=mechanism, reason=reason)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


def _bare(code: str) -> str:
    return re.sub(r"[^0-9a-z]", "", code.lower())


def _based(written: str, base: str, value: float) -> float:
    plain = written.lower().removeprefix("0x").removeprefix("0b").removesuffix("h")
    try:
        return float(int(plain, 16 if base == "hexadecimal" else 2))
    except (ValueError, OverflowError):
        return value


def _year_distance(answer: float, value: float) -> tuple[float, str]:
    off = abs(answer - value)
    for limit, severity in ((1, 0.5), (3, 1.0), (7, 1.5), (15, 2.0), (99, 2.5)):
        if off <= limit:
            return severity, f"{off:g} year{'s' * (off != 1)} off"
    return 3.0, f"{off:g} years off"


def _number_distance(answer: float, value: float, *, naming: bool) -> tuple[float, str]:
    if not naming and abs(answer - value) == 1:
        return 1.5, "off by one"
    if value == 0 or answer == 0 or (answer < 0) != (value < 0):
        return 2.5, "another number"
    factor = max(answer / value, value / answer)
    if factor < 2:
        return 2.0, f"off by {abs(answer - value):g}"
    return (2.5, f"off by a factor of {factor:.3g}") if factor < 10 else (3.0, f"off by a factor of {factor:.3g}")


def _element_distance(truth: Mapping[str, Any], entity: Entity) -> tuple[float, str]:
    number = entity.number or 0
    if abs(number - int(truth.get("number") or 0)) <= 2:
        return 2.0, "next to it in the periodic table"
    if truth.get("group") is not None and _group(number) == truth["group"]:
        return 2.0, "of the same group"
    return OTHER_OF_KIND, "another element"


def _group(number: int) -> int | None:
    """The group of an element of the main block, by its distance from the noble gases."""
    nobles = (0, 2, 10, 18, 36, 54, 86, 118)
    if number in (1, 2):  # helium stands over neon, not over beryllium
        return 1 if number == 1 else 18
    row = next(i for i, z in enumerate(nobles) if number <= z)
    after, before = number - nobles[row - 1], nobles[row] - number
    if after <= 2:
        return after
    return 18 - before if before <= (5 if row <= 3 else 15) else None
