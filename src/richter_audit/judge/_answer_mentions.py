"""What an answer says: names that exist or do not, numbers, codes; apart from what it repeats of the question."""

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from richter.texts import content_words
from richter.texts._normalise import is_denied_at
from richter_audit.bench import Entity, normalise_name

Lookup = Callable[[str], tuple[Entity, ...]]

_TOKEN = re.compile(
    r"[A-Za-z]+(?:[_-][A-Za-z]+)*(?:/[A-Za-z_+-]+)+"  # Area/City
    r"|\.[a-z]{2,}\b"  # .xx
    r"|[+]?\d[\d.,-]*\d|[+]?\d"
    r"|[^\W\d_](?:[\w'’ʻ`.-]*\w)?#?\+*"
)
_JOINTS = frozenset(
    {"of", "the", "and", "de", "del", "da", "do", "di", "du", "la", "las", "los", "le", "les", "el", "al", "der", "den"}
    | {"van", "von", "sur", "in", "upon", "y", "e"}
)
# Capitalised for other reasons than being a name.
_COMMON = frozenset(
    word
    for line in (
        "a an and answer as at but by capital character chemical city code codes country currency decimal domain",
        "element for from having he hence here however i iana iata icao if in international internet is iso it its",
        "language",
        "letter most name no none not of on one or our period phrase please port question region row script she since",
        "so some standard state status sure symbol system that the their there therefore these they this those three",
        "time to two unit we what when where which while who with yes you your zone note overall generally according",
        "based although additionally also known located north south east west northern southern eastern western",
        "central tld tlds dns http organization organisation standardization association civil aviation top-level www",
        "ip usa us uk kingdom im ive id its theres",
        "january february march april may june july august september october november december monday friday sunday",
        "union federal republic rev national european united eurozone dr sir mr mrs professor university highway coast",
        "gsm utc gmt isbn ascii hexadecimal binary periodic table atomic number middle sea ocean river island",
    )
    for word in line.split()
)
LONGEST_NAME = 6  # words
WINDOW = 80  # characters before a name in which the end of a sentence is looked for
_ADJECTIVE = re.compile(r"[A-Z]\w+(?:ean|ian|ese|ish|ic|can)$")


_SENTENCE_END = re.compile(
    r"(?<=[a-z0-9)”\"][.!?])(?<!\bSt\.)(?<!\bMt\.)(?<!\bFt\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bNo\.)\s+(?=[A-Z\"“])|\n+"
)
_NUMBER = re.compile(
    r"\b0x[0-9a-fA-F]+\b|\b0b[01]+\b|[-−]?(?<!\d)\d[\d,]*(?:\.\d+)*(?![\w])|\b(?<!\d,)\d[\d,]*+(?:st|nd|rd|th)\b"
)


_END_OF_NAME = re.compile(r"[.!?;:()\n“”\"]\s")


@dataclasses.dataclass(frozen=True, slots=True)
class Mention:
    """A name in an answer that the gazetteer knows: the text, where it starts, and what it may stand for."""

    text: str
    start: int
    entities: tuple[Entity, ...]


def leading_sentences(text: str, count: int = 2) -> str:
    """The first sentences: a long answer answers first and goes on about other things after."""
    pieces = _SENTENCE_END.split(re.sub(r"([:=])\s*\n\s*", r"\1 ", text.strip()))
    return " ".join(pieces[:count])


def _tokens(text: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(text))


def _name_like(token: str) -> bool:
    return token[0].isupper() or "/" in token


def mentions(text: str, prompt: str, lookup: Lookup, *, lower_kinds: Iterable[str] = ()) -> list[Mention]:
    """Names in the text that exist, longest first from left to right; what the question itself names is left out.

    Names are capitalised; kinds in `lower_kinds` (elements, currencies) are also found in lower case.
    """
    words = _Words(text, _tokens(text), lookup, frozenset(lower_kinds))
    asked = f" {normalise_name(prompt)} "
    names: list[Mention] = []
    first = 0
    while first < len(words.tokens):
        length, entities = words.longest_name(first, asked)
        phrase, start = words.phrase(first, length), words.tokens[first].start()
        if entities and not is_denied_at(text, start):
            names.append(Mention(phrase, start, entities))
        first += length
    return names


class _Words(NamedTuple):
    """The words of a text in which names are looked up; kinds in `lower_kinds` need no capital."""

    text: str
    tokens: list[re.Match[str]]
    lookup: Lookup
    lower_kinds: frozenset[str]

    def phrase(self, first: int, length: int) -> str:
        """The text from one word on over as many words."""
        return self.text[self.tokens[first].start() : self.tokens[first + length - 1].end()]

    def longest_name(self, first: int, asked: str) -> tuple[int, tuple[Entity, ...]]:
        """How many words the longest name from a word on has, and what it may stand for: nothing if it is an echo."""
        following = self.tokens[first : first + LONGEST_NAME]
        if end := _END_OF_NAME.search(self.text, following[0].start(), following[-1].end()):
            following = [token for token in following if token.start() <= end.start()]
        for length in range(len(following), 0, -1):
            if not self._may_be_name(first, length):
                continue
            if f" {normalise_name(self.phrase(first, length))} " in asked:
                return length, ()  # an echo of the question says nothing
            if entities := self._find_entities(first, length):
                return length, entities
        return 1, ()

    def _is_capitalised(self, first: int, length: int) -> bool:
        return _name_like(self.tokens[first].group()) and _name_like(self.tokens[first + length - 1].group())

    def _may_be_name(self, first: int, length: int) -> bool:
        if not self._is_capitalised(first, length):
            most = 4 if _name_like(self.tokens[first].group()) else 2  # 'South Sudanese pound'; 'euro'
            if not self.lower_kinds or length > most:
                return False
        return length > 1 or self.phrase(first, length).lower() not in _COMMON

    def _find_entities(self, first: int, length: int) -> tuple[Entity, ...]:
        phrase = self.phrase(first, length)
        entities = self.lookup(phrase)
        if not self._is_capitalised(first, length):
            return tuple(e for e in entities if e.kind in self.lower_kinds)
        if length > 1:
            return entities
        entities = tuple(e for e in entities if _is_written_so(e, phrase))
        if _is_part_of_longer_name(self.text, self.tokens, first, self.lookup):
            entities = tuple(e for e in entities if e.kind not in ("city", "region", "airport"))
        return entities


def _is_part_of_longer_name(text: str, tokens: list[re.Match[str]], i: int, lookup: Lookup) -> bool:
    """Whether a word stands in a longer name that does not exist ('Baja' in 'Baja de Baja')."""
    j = i + 1
    while (
        j < len(tokens)
        and tokens[j].group() in _JOINTS - {"and", "in"}
        and text[tokens[j - 1].end() : tokens[j].start()] == " "
    ):
        j += 1
    if j >= len(tokens) or text[tokens[j - 1].end() : tokens[j].start()] != " ":
        return False
    follower = tokens[j].group()
    if not follower[0].isupper() or follower.lower() in _COMMON | _ALL_KINDS:
        return False
    return j > i + 1 or not lookup(follower)


def _is_written_so(entity: Entity, phrase: str) -> bool:
    """A single word is a code only if it is written as one, and a village only if it is not a common word."""
    if entity.kind == "code":
        return phrase.isupper() or not phrase[0].isalpha() or (len(phrase) <= 2 and entity.of == "element")
    return len(phrase) > 2 or phrase.isupper() or entity.kind in ("software", "element")


def unknown_names(text: str, prompt: str, known: Iterable[Mention]) -> list[str]:
    """Names that nothing in the gazetteer bears: runs of capitalised words, and whatever is said to be "called" so.

    Words that the question holds, that open a sentence, that are capitalised by habit, adjectives of peoples and what
    stands in brackets are no names.
    """
    asked = set(normalise_name(prompt).split())
    names: list[str] = []
    for run in _capitalised_runs(text, _mark_known(text, known), asked):
        while run and run[-1].group() in _JOINTS:
            run.pop()
        if any(_is_strange(token.group(), asked) for token in run):
            names.append(text[run[0].start() : run[-1].end()])
    called = re.search(r"\b(?:called|named|known as)\s+(?:the |an? )?[“\"'`]?([a-z]{6,})", text)
    if called and not names and called.group(1) not in asked | _COMMON:
        names.append(called.group(1))
    return list(dict.fromkeys(names))


def _mark_known(text: str, known: Iterable[Mention]) -> bytearray:
    """1 for each character of a known name or in brackets."""
    spans = [(m.start, m.start + len(m.text)) for m in known]
    spans += [(m.start(), m.end()) for m in re.finditer(r"\([^)]*\)?", text)]
    marks = bytearray(len(text))
    for start, end in spans:
        marks[start:end] = b"\1" * (end - start)
    return marks


def _capitalised_runs(text: str, known: bytearray, asked: set[str]) -> Iterator[list[re.Match[str]]]:
    """Runs of capitalised words, with the small words that join them; some are empty."""
    run: list[re.Match[str]] = []
    for token in _tokens(text):
        word = token.group()
        if run and re.search(r"[.,;:!?()\n]", text[run[-1].end() : token.start()]):
            yield run
            run = []
        skipped = known[token.start()] or (
            (word.lower() in _COMMON or normalise_name(word) in asked) and _opens_sentence(text, token.start())
        )
        if not skipped and (word[0].isupper() or (run and word in _JOINTS)):
            run.append(token)
        else:
            yield run
            run = []
    yield run


def _opens_sentence(text: str, at: int) -> bool:
    return at == 0 or re.search(r"[.!?:\n]\s*[\"“]?$", text[max(0, at - WINDOW) : at]) is not None


def _is_strange(word: str, asked: set[str]) -> bool:
    """Whether a capitalised word is no word of the question, none of habit, no people's adjective, no contraction."""
    if re.search(r"['’](?:m|ll|ve|re|d|t)$|-(?:based|controlled|speaking|made|born)$", word) or not word[0].isupper():
        return False
    parts = normalise_name(word.removesuffix("'s").removesuffix("’s")).split()
    if _ADJECTIVE.match(re.split(r"[-–]", word)[0]) or "".join(parts) in asked:
        return False
    return any(p not in asked and p not in _COMMON and p not in _JOINTS and len(p) > 1 for p in parts)


# By which nouns a name is said to be of the kind that was asked for.
_KINDS = {
    "country": "country nation republic kingdom territory", "city": "city town municipality village port",
    "region": "region province state prefecture county canton division district territory department",
    "continent": "continent", "currency": "currency unit", "element": "element", "symbol": "symbol element",
    "language": "language tongue", "script": "script alphabet", "zone": "zone identifier",
    "software": "language format program", "service": "service protocol", "status": "phrase",
}  # fmt: skip
_ALL_KINDS = frozenset(word for words in _KINDS.values() for word in words.split())
LONGEST_CODE = 16  # characters
LONG = 12  # words: a text longer than this may have been cut off within its last one
LONGEST_CLAIM = 2000  # characters of the first sentences in which names are looked for
_PLACES = frozenset({"country", "city", "region", "continent", "script"})
_SAYING = frozenset({"is", "are", "was", "were", "be", "called", "named", "as"})
# Names whose last word says that they are of no kind that is asked for: bodies of people, features of the land.
_OTHER_THING = re.compile(
    r"\b(?:network|fund|association|organi[sz]ation|commission(?:er)?|bank|university|institute|union|airlines?|academy"
    r"|forces|army|navy|police|ministry|government|agenc(?:y|ies)|company|corporation|council|committee|party|church"
    r"|school|college|society|foundation|federation|protocol|act|treaty|war|empire"
    r"|peninsula|ocean|sea|river|lake|mountains?|gulf|valley|desert|coast|basin|subcontinent|airport|road|street)$",
    re.IGNORECASE,
)
_AFTER = frozenset(
    {"which", "is", "was", "are", "and", "or", "in", "of", "where", "that", "with", "who", "as", "by", "at"}
)
# Real names, of no kind that is ever asked for, which answers go astray to.
_WELL_KNOWN = re.compile(
    r"hugging ?face|google|microsoft|apple|wikipedia|united nations|european|tcp|unicode|world (?:bank|health|war)"
    r"|international (?:air|civil|organization|organisation|monetary|telecommunication)|smollm|air transport"
    r"|\bamericas?$|caribbean|middle east|far east|balkan|scandinavia|himalaya|arctic|mediterranean|eurasia|polynesia"
    r"|sahara|sahel|maghreb|levant|caucasus|siberia|amazon|\bandes|\balps|soviet|ottoman|commonwealth|schengen|asean",
    re.IGNORECASE,
)


def invented_names(text: str, prompt: str, known: Iterable[Mention], kind: str) -> list[str]:
    """The names of `unknown_names` that the text claims to be what was asked for.

    A name is claimed where it is all that is said, where a verb of saying so ("is", "called") or, for places, "in"
    stands before it, where it is of a noun of the asked kind ("the country of X", "the X language"), or where such a
    noun explains it ("X, the capital of ..."). Any other unknown name is only that: unknown to the gazetteer. So is one
    that says itself, or is said, to be of another kind ("Monmouth County" for a country, "a compound named X" for an
    element), and one at which a long text was cut off.
    """
    nouns = _KINDS.get(kind, "").split() + (["capital"] if kind == "city" else [])
    text = text[:LONGEST_CLAIM]
    topic = {word for word in normalise_name(prompt).split() if len(word) > 3} | set(nouns)
    invented = []
    for name in unknown_names(text, prompt, known):
        before, match, after = text.partition(name)
        if (
            match
            and not _is_of_another_kind(name, kind, nouns)
            and not _is_only_mentioned(text, before, after, nouns)
            and _is_claimed(before, after, kind, nouns, topic)
        ):
            invented.append(name)
    return invented


def _is_of_another_kind(name: str, kind: str, nouns: list[str]) -> bool:
    """Whether a name says by itself that it is not what was asked for."""
    words = name.split()
    if name.isupper() and len(name) <= 4 and kind not in ("symbol", "zone"):  # a code
        return True
    if _WELL_KNOWN.search(name) or _OTHER_THING.search(name):
        return True
    last = words[-1].lower()
    if len(words) > 1 and last in _ALL_KINDS and last not in nouns:
        return True
    if kind == "symbol" and not re.fullmatch(r"[A-Z][a-z]{0,2}", name):  # a formula, an element's name
        return True
    return len(set(words)) * 2 < len(words)  # one word again and again


def _is_only_mentioned(text: str, before: str, after: str, nouns: list[str]) -> bool:
    """Whether a long text was cut off at a name, or something of another kind is named after it."""
    if not after and len(text.split()) > LONG:
        return True
    # "in the Tabtak world", "the Caucasus region"
    noun = re.match(r"\s+([a-z]+)\b", after)
    return bool(re.search(r"\bthe\s+$", before) and noun and noun[1] not in nouns and noun[1] not in _AFTER)


def _is_claimed(before: str, after: str, kind: str, nouns: list[str], topic: set[str]) -> bool:
    """Whether what stands before and after a name says that it is what was asked for."""
    if not re.search(r"\w", re.sub(r"(?i)\b(?:the|an?)\b", "", before) + after):  # it is all that is said
        return True
    is_one = rf"(?:is |are |was )?(?:the |a |an |its )?(?:(?!of\b)\w+ ){{0,3}}?(?:{'|'.join(nouns) or 'x^'})\b"
    if kind != "zone" and re.match(rf"\W{{0,3}}(?:\s*\([^)]*\))?\W{{0,3}}{is_one}", after):
        return True
    start, rest = _SENTENCE_END.split(before)[-1], _SENTENCE_END.split(after)[0]
    on_topic = bool(topic & set(normalise_name(start + " " + rest).split())) or len((start + rest).split()) <= 4
    return on_topic and _says_it_is(start, kind, nouns)


# What a sentence may speak of instead: the codes of a language, the king of a country.
_OTHER_HEADS = frozenset(
    {"code", "codes", "name", "names", "king", "queen", "president", "chairman", "leader", "number"}
)


def _says_it_is(before: str, kind: str, nouns: list[str]) -> bool:
    """Whether the words of its sentence before a name say that it is the thing of the asked kind.

    "is", "are", "was", "called" or "named", and "known as" after them, but for the name's noun, stand right before
    it, and the sentence does not speak of a thing of another kind; or a colon after a noun of the kind; or, for places,
    "in"; or "of" after a noun of the kind. "a NAME" is a sort of thing and no name.
    """
    words = [word.lower() for word in re.findall(r"[\w'’-]+|[.,;:!?()]", before)]
    if words and words[-1] in ("a", "an"):
        return False
    on_kind = not _speaks_of_other_kind(before, nouns)
    if re.search(r":\s*[“\"'`*]*$", before):
        return on_kind and (len(words) <= 4 or bool({*nouns, "answer"} & set(words)))
    for k in range(len(words) - 1, max(len(words) - 6, -1), -1):
        verdict = _word_says(words[k], words[:k], kind, nouns, on_kind=on_kind)
        if verdict is not None:
            return verdict
    return False


def _speaks_of_other_kind(sentence: str, nouns: list[str]) -> bool:
    head = re.match(
        r"\W*(?:the|its|this|an?)\s+((?:[\w'’-]+\s+){0,4}?[\w'’-]+?)\s+(?:of|for|used|in|with|that|which|is|are|was)\b",
        sentence.lower(),
    )
    return head is not None and head[1].split()[-1] in (_OTHER_HEADS | _ALL_KINDS) - {*nouns, "capital"}


def _word_says(word: str, before: list[str], kind: str, nouns: list[str], *, on_kind: bool) -> bool | None:
    """Whether a word of `_says_it_is` decides, given those before it; None where the one before it does."""
    last = before[-1] if before else ""
    if word in ("called", "named") or (word == "as" and last in ("known", "referred", "to")):
        near = set(before[-3:])
        return on_kind and bool({"is", "are", "was", *nouns} & near) and "locally" not in near
    if word in _SAYING:
        return on_kind and word != "as"
    if word == "in":
        return kind in _PLACES
    if word == "of":
        return last in nouns and last != "capital"
    return None if word in ("the", "a", "an", "also", "now", "local", "ancient", "small", *nouns) else False


def claims_code(text: str, token: str) -> bool:
    """Whether a text gives a token as the code that was asked for: first of all, after "is", a colon or an equals."""
    first = leading_sentences(text[:LONGEST_CLAIM], 1).strip()
    if len(token) > LONGEST_CODE:
        return False
    written = rf"(?:the\s+)?[“\"'`*(]*{re.escape(token)}(?!\w|-\w|\s?:|\))"
    alone = re.match(rf"{written}\W*(?:\d+\W*)?$", first)
    return bool(alone or re.search(rf"(?:\b(?:is|be|was)\s*:?\s*|[:=]\s*){written}", first))


def numbers(text: str, prompt: str = "") -> list[tuple[float, str]]:
    """Numbers in the order they stand, (value, as written); hexadecimal with 0x; those of the question left out."""
    asked = set(re.findall(r"[\w.]+", prompt))
    matches = [m for m in _NUMBER.finditer(text) if not text[m.start() - 1 : m.start()].isalpha() and m[0] not in asked]
    undenied = [(_read_number(m[0]), m[0]) for m in matches if not is_denied_at(text, m.start())]
    if not matches:  # number words
        return [(float(w), w) for w in content_words(text) if re.fullmatch(r"\d+(\.\d+)?", w) and w not in asked]
    return undenied


def _read_number(written: str) -> float:
    digits = re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", written.replace(",", "").replace("−", "-"))
    if digits.count(".") > 1:
        digits = digits.split(".")[0]
    try:
        return float(int(digits, 0)) if digits[:2] in ("0x", "0b") else float(digits)
    except OverflowError:  # hundreds of digits
        return math.inf


def find_undenied(pattern: str, text: str) -> list[str]:
    """What matches a pattern in a text and is not denied there."""
    return [match.group() for match in re.finditer(pattern, text) if not is_denied_at(text, match.start())]


def code_tokens(text: str, prompt: str) -> list[str]:
    """What is written like a code: quoted, after a colon or at the end, with a dot or a plus, or in capitals."""
    asked = set(re.findall(r"[+.]?[\w/]+", prompt))
    text = leading_sentences(text, 1)
    flat = find_undenied(r"(?<!\w)\.[a-z]{2,}\b|\+\d+", text)
    quoted = re.finditer(r"[“\"'`]([^\s“”\"'`]{1,12})[”\"'`]|\b([A-Z0-9](?:[A-Z0-9-]{0,10}[A-Z0-9])?)\b", text)
    flat += [m.group(1) or m.group(2) for m in quoted if not is_denied_at(text, m.start())]
    named = [t for t in flat if t.lower() not in _COMMON]
    final = re.search(r"(?:\bis|\bbe|:)\s*[“\"'`]?(\S{1,12}?)[”\"'`]?[.!]?\s*$", text)
    if final:
        named.append(final.group(1))
    if len(text.split()) == 1:
        named.append(text.strip().strip("“”\"'`!").rstrip("."))
    return [t for t in dict.fromkeys(named) if t and t not in asked]


@functools.lru_cache(maxsize=16_384)
def _plain_words(name: str) -> str:
    return " ".join(content_words(name))


def asserts(text: str, names: Iterable[str]) -> int | None:
    """Where the text says one of the names, or None: its words side by side in the normal form, and not negated.

    Names of one or two letters count only as written, or when they are the whole answer.
    """
    whole = " ".join(content_words(text))
    places = (_find_name(text, whole, name) for name in names)
    return min((place for place in places if place is not None), default=None)


def _find_name(text: str, whole: str, name: str) -> int | None:
    """Where a text, `whole` in the normal form, says a name and does not deny it."""
    wanted = _plain_words(name)
    if not wanted:
        return None
    if whole == wanted:
        return 0
    if len(name) <= 2:
        match = re.search(rf"(?<![\w.]){re.escape(name)}(?![\w])", text)
        place = match.start() if match and not name.islower() else None
    elif f" {wanted} " in f" {whole} " or _in_another_order(whole, wanted):
        place = _locate(text, name, wanted)
    else:
        place = None
    return None if place is None or is_denied_at(text, place) else place


def _in_another_order(whole: str, wanted: str) -> bool:
    """Whether the words of a name stand side by side in another order ('Korea, South')."""
    name, words = sorted(wanted.split()), whole.split()
    n = len(name)
    return 2 <= n <= 4 and any(sorted(words[i : i + n]) == name for i in range(len(words) - n + 1))


def _locate(text: str, *names: str) -> int:
    """Where a text holds the beginning of a name, in one of its forms."""
    matches = (re.search(re.escape(name.split()[0][:4]), text, re.IGNORECASE) for name in names)
    return next((match.start() for match in matches if match), 0)
