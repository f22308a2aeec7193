"""One form for answers that say the same (case, accents, articles, number words, dates), and what is no answer."""

import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial

from richter.texts._reply_text import remove_thoughts

__all__ = ["content_words", "is_refusal", "matches_reference", "normalise", "statements"]

_UNITS = {
    w: i
    for i, w in enumerate(
        [
            "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
            "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
        ]
    )
}  # fmt: skip
_TENS = {
    w: 10 * i
    for i, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip
_MONTHS = {
    name: i
    for i, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH_NAMES = [name for name in _MONTHS if len(name) > 4 or name in ("may", "june", "july")]
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    (re.compile(rf"\b{_DAY}(?: of)? ({_MONTH})\.?,? (\d{{4}})\b"), (3, 2, 1)),
    (re.compile(rf"\b({_MONTH})\.? {_DAY},? (\d{{4}})\b"), (3, 1, 2)),
)
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])[-−]?\d+\.\d+")
_INITIALS = re.compile(r"\b(\w)\.(?=\w\.)")
_ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"(?<!\w)[^\W\d_](?:\+\+|#)(?!\w)|[^\W_]+(?:\.\d+)?")  # C++ and C# are not C
# what denies the words right after it; "not only", "not until" and "not ... but" do not
_DENIED = re.compile(
    r"(?i:(?=[nri])(?:\b(?:not|never|rather than|instead of|no longer|neither|nor)|n['’]t))"
    r"(?:\s+(?!(?i:but|only|just|merely|until|till|before|unless|except|other)\b)\w+){0,2}"
    r"(?:\s+(?:[A-Z][\w'’-]*|of|the|and))*(?:\s+|[/-])[\"'“(*+]*$"  # ... of a longer name: "not the Republic of X"
)
_OPPOSITES = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_ARTICLES = frozenset({"a", "an", "the"})
_VERB = (
    r"(?:know|have|provide|answer|determine|access|find|recall|tell|predict|give|specify|confirm|verify|help|assist)"
)
_DISCLAIMER = re.compile(
    r"\bas an ai\b|\bi(?:'m| am) (?:sorry|unable|not (?:sure|certain|aware|able))\b"
    rf"|\bi (?:do not|don't|dont|cannot|can't|cant|could not|couldn't)(?: \w+){{0,2}}? {_VERB}\b"
    r"|\bi (?:won't|wont|will not|must decline to|have to decline to|decline to|prefer not to|would rather not) "
    r"(?:answer|help|say|choose|comment|do)"
    r"|\bi have no (?:answer|information|idea|knowledge)\b"
    r"|\bmy (?:(?:last|latest) update|knowledge|training|database|responses)\b"
    r"|\bplease (?:provide|note|check|specify|clarify|refer|consult)\b"
    r"|\b(?:could|can) you (?:please )?(?:provide|clarify|specify)"
    r"|\breal-time (?:information|data)|\bup-to-date information|\bnot enough information|\bcannot be determined"
    r"|\bno (?:known )?(?:answer|information)\b|\b(?:it is|it's) (?:not known|unknown|unclear)|\bunanswerable\b"
)
_TURN = re.compile(r"\b(?:however|but|nevertheless|that said)\b[ ,:]*|; *|, (?=the |it |as of )")
_ABBREVIATION = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|jr|sr|vs|v|no|rev|gen|lt|col)|\b[a-z])\.$")
_LETTERS = re.compile(r"[^\W\d_]{2}")
_NO_ANSWER = frozenset({"", "unknown", "none", "n/a", "null", "not applicable", "no idea", "idk"})


def number_words_to_digits(words: list[str]) -> list[str]:
    """Spell out numbers as digits: ['twenty', 'one', 'hundred'] is ['2100'].

    "and" joins only inside a number that has a scale ("one hundred and five"). A lone "one" stays a word, since it
    is more often a pronoun.
    """
    digits: list[str] = []
    start = 0
    while start < len(words):
        number = _SpelledNumber()
        end = start
        while end < len(words) and number.take(
            words[end], words[end - 1] if end > start else "", words[end + 1 : end + 2]
        ):
            end += 1
        if end > start and words[start:end] != ["one"]:
            digits.append(str(number.total + number.current))
            start = end
        else:
            digits.append(words[start])
            start += 1
    return digits


class _SpelledNumber:
    """A number that is read word by word."""

    def __init__(self) -> None:
        self.total = self.current = 0
        self.has_scale = False

    def take(self, word: str, before: str, after: list[str]) -> bool:
        """Go on with a word, where it goes on with the number; `before` is empty at its beginning."""
        joins = before == "" or before in _SCALES or before == "and"
        if word in _UNITS and (joins or before in _TENS):
            self.current += _UNITS[word]
        elif word in _TENS and joins:
            self.current += _TENS[word]
        elif word in _SCALES:
            return self._take_scale(word, first=before == "")
        else:
            return word == "and" and self.has_scale and (after[:1] or [""])[0] in _UNITS | _TENS
        return True

    def _take_scale(self, word: str, *, first: bool) -> bool:
        if first:  # "a hundred", the article being gone
            self.total, self.current = (0, 100) if word == "hundred" else (_SCALES[word], 0)
        elif word == "hundred" and 0 < self.current < 10**15:  # "hundred hundred ..." without end is no number
            self.current *= 100
        elif self.current:
            self.total, self.current = self.total + self.current * _SCALES[word], 0
        else:
            return False
        self.has_scale = True
        return True


def plain_text(text: str) -> str:
    """The text in NFKC, lower case, no accents, straight apostrophes."""
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'").replace("−", "-")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _date(match: re.Match[str], order: tuple[int, int, int]) -> str:
    year, month, day = (match.group(i) for i in order)
    number = _MONTHS.get(month)
    return match.group() if number is None else f"{year} {_MONTH_NAMES[number - 1]} {int(day)}"


def content_words(text: str) -> list[str]:
    """The words of a text in one form: no case, accents, punctuation or articles; numbers and dates in digits."""
    text = plain_text(text)
    for pattern, order in _DATES:
        text = pattern.sub(partial(_date, order=order), text)
    text = _INITIALS.sub(r"\1", text)  # U.S.A. -> USA.
    text = text.replace("'s ", " ").replace("s' ", "s ").replace("'", "")
    text = _NUMBER.sub(lambda m: _number(m.group()), text)
    text = _ORDINAL.sub(r"\1", text)
    tokens = _WORD.findall(text)
    words = [w for w in tokens if w not in _ARTICLES] or tokens  # the answer "A" is not an article
    return [str(_ORDINALS[w]) if w in _ORDINALS else w for w in number_words_to_digits(words)]


def _number(text: str) -> str:
    value = text.replace(",", "")
    return value.rstrip("0").rstrip(".") if "." in value else value


def normalise(text: str) -> str:
    """A text in one form, so that answers that differ only in dress are equal."""
    return " ".join(content_words(text))


def statements(text: str) -> list[str]:
    """The sentences of an answer that say something: lower case, disclaimers and questions left out.

    Of "I cannot be sure, but it is Paris." the part after the turn remains. An answer without any is a refusal.
    """
    return list(_statements(text))


def _statements(text: str) -> Iterator[str]:
    plain = plain_text(remove_thoughts(text).text)
    if plain.strip(" .!?") in _NO_ANSWER:
        return
    sentences = _sentences(plain)
    first = list(itertools.islice(sentences, 2))
    for sentence in itertools.chain(first, sentences):
        rest = _without_disclaimer(sentence)
        # two letters in a row are a word in any case; working out the words takes ten times as long
        says_something = _LETTERS.search(rest) or content_words(rest)
        if says_something and (not rest.endswith("?") or len(first) == 1):
            yield rest


def _sentences(plain: str) -> Iterator[str]:
    """The sentences of a text, each found when it is asked for; an abbreviation ends none."""
    plain, start, sentence = plain.strip(), 0, ""
    for start_of_gap, end in itertools.chain((m.span() for m in _SENTENCE_END.finditer(plain)), [(len(plain),) * 2]):
        part, start = plain[start:start_of_gap], end
        if sentence and _ABBREVIATION.search(sentence[-8:]):
            sentence += " " + part
        elif part:
            if sentence:
                yield sentence
            sentence = part
    if sentence:
        yield sentence


def _without_disclaimer(sentence: str) -> str:
    """What a sentence says after a disclaimer and a turn, nothing where that is too little."""
    disclaimer = _DISCLAIMER.search(sentence)
    if not disclaimer:
        return sentence
    turn = _TURN.search(sentence, disclaimer.end())
    rest = sentence[turn.end() :] if turn else ""
    return "" if len(rest.split()) < 3 or _DISCLAIMER.search(rest) else rest


def is_refusal(text: str) -> bool:
    """Whether a text gives no answer: empty, "unknown", or nothing but disclaimers.

    A text that declines and then answers ("I cannot be sure. However, it is X.") is an answer.
    """
    return next(_statements(text), None) is None


Date = tuple[int | None, int | None, int | None]  # year, month, day; None where it is not stated
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\.?,? (?:of )?(\d{{4}})\b")
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_SLASHED = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")


def find_dates(text: str) -> list[Date]:
    """Dates in a text: day, month and year, or month and year. 3/4/1990 is both readings, 13/4/1990 has one."""
    plain = plain_text(text)
    dates: list[Date] = []
    for pattern, (year, month, day) in _DATES:
        dates += [(int(m[year]), _MONTHS[m[month]], int(m[day])) for m in pattern.finditer(plain)]
        plain = pattern.sub(" ", plain)  # its month and year are not another, vaguer date
    dates += [(int(m[1]), int(m[2]), int(m[3])) for m in _ISO.finditer(plain)]
    for m in _SLASHED.finditer(plain):
        dates += [(int(m[3]), int(b), int(a)) for a, b in ((m[1], m[2]), (m[2], m[1])) if int(b) <= 12]
    dates += [(int(m[2]), _MONTHS[m[1]], None) for m in _MONTH_YEAR.finditer(plain)]
    return dates


_TITLES = frozenset(
    ["sir", "dr", "hon", "mr", "mrs", "ms", "prof", "professor", "king", "queen", "president", "saint", "lady", "lord"]
)
_ABOUT = frozenset(["mid", "early", "late", "circa", "around", "about"])  # before a century, a decade, a year
_BETWEEN = frozenset(["and", "in", "of", "on", "at", "by", "to", "between", "from"])
_DRESS = (
    (re.compile(r"&"), " and "),
    (re.compile(r"\bmt\. ?(?=[a-z])"), "mount "),
    (re.compile(r"\b([a-z])\. (?=[a-z]\.)"), r"\1."),  # R. H. -> R.H.
    (re.compile(r"\b([a-z]{1,2}(?:\.[a-z]){1,6})\.?(?=\W|$)"), lambda m: m[1].replace(".", "")),
    (re.compile(r"\bb\.?c\.?e\.?(?=\W|$)"), "bc"),
    (re.compile(r"(?<=\d)(?=(?:ft|in|cm|m|km|kg|mph)\b)"), " "),
    (re.compile(r"\b(?:feet|foot)\b"), "ft"),
    (re.compile(r"\binch(?:es)?\b"), "in"),
    (re.compile(r"\b([kmg])bit/s\b"), r"\1bps"),
)
LOOSE = 5  # words that may stand between the words of a reference of three or more


def _reference_words(text: str) -> list[str]:
    """`content_words` after what names and quantities are abbreviated by."""
    text = plain_text(text)
    for pattern, by in _DRESS:
        text = pattern.sub(by, text)
    return content_words(text)


def _holds(words: list[str], wanted: list[str]) -> bool:
    return any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1))


def _loosely(sentences: Iterable[str], wanted: list[str]) -> bool:
    """Whether a sentence has the words in this order with at most `LOOSE` others between the first and the last."""
    core = [w for w in wanted if w not in _BETWEEN]
    if len(core) < 3 and not (len(core) == 2 and all(w.isdigit() for w in core)):
        return False  # before any sentence is read: most references are a word or two
    return any(
        _in_order(words[start + 1 : start + len(core) + LOOSE], core[1:])
        for words in map(_reference_words, sentences)
        for start, word in enumerate(words)
        if word == core[0]
    )


def _in_order(words: list[str], wanted: list[str]) -> bool:
    """Whether the wanted words stand among these in their order."""
    rest = iter(words)
    return all(word in rest for word in wanted)


def matches_reference(answer: str, references: Iterable[str]) -> bool:
    """Whether an answer names one of the references, whatever the dress.

    Its words in a row in the normal form; a name without its title or middle name; the words of a longer phrase in
    order with few between them, within one sentence; a date that agrees in all that the reference states. A refusal
    matches nothing but itself, nor does an answer that leaves the choice open ("it depends on which"), or that denies
    the reference wherever it names it ("not Paris"). Of yes and no the one that an answer begins with counts, else the
    last. This is lenient: "Paris or Rome" matches both. A judge is the stricter tool.
    """
    answer = remove_thoughts(answer).text
    sentences, words = statements(answer), _reference_words(answer)
    for reference in references:
        wanted = _reference_words(reference)
        if wanted and "".join(words) == "".join(wanted):  # "George Town" and "Georgetown"
            return True
        if not wanted or not sentences or _is_denied(answer, reference):
            continue
        if _names_reference(words, wanted, reference):
            return not _OPEN.search(plain_text(answer))
        if _matches_loosely(answer, sentences, words, wanted, reference):
            return True
    return False


def _matches_loosely(answer: str, sentences: list[str], words: list[str], wanted: list[str], reference: str) -> bool:
    """Whether an answer says a reference in other ways than its words in a row."""
    if _is_opposite(wanted):
        return _chosen_opposite(words, wanted[0])
    if _loosely(sentences, wanted):
        return True
    dates = find_dates(reference)
    return len(wanted) <= 4 and bool(dates) and same_date(find_dates(answer), dates)


def _is_opposite(wanted: list[str]) -> bool:
    """Whether a reference is yes or no, true or false."""
    return len(wanted) == 1 and wanted[0] in _OPPOSITES


def _chosen_opposite(words: list[str], wanted: str) -> bool:
    """Whether an answer says yes and not no (or the reverse): the one it begins with counts, else the last."""
    pair = [word for word in words if word in (wanted, _OPPOSITES[wanted])]
    return bool(pair) and (words[0] if words[0] in pair else pair[-1]) == wanted


def _names_reference(words: list[str], wanted: list[str], reference: str) -> bool:
    """Whether the words hold a reference in a row: with or without its title, a person also without a middle name."""
    if _is_opposite(wanted):
        return False
    name = wanted[1:] if wanted[0] in _TITLES and len(wanted) > 2 else wanted
    if len(name) > 2 and name[0] in _ABOUT and name[1].isdigit():  # "the mid-10th century BC"
        name = name[1:]
    # Rachel Sarah Bilson: three words that are a person's name, of which people say the first and the last
    is_person = len(name) == 3 and len(re.findall(r"\b[A-Z][a-z]+", reference)) == 3 and name[0] != "united"
    return _holds(words, name) or (is_person and _holds(words, [name[0], name[2]]))


def is_denied_at(text: str, at: int) -> bool:
    """Whether what stands at a place of a text is denied by the words right before it."""
    return _DENIED.search(text[max(0, at - 80) : at]) is not None


def _is_denied(answer: str, reference: str) -> bool:
    """Whether an answer names a reference in its own words, and denies it each time."""
    text, name = plain_text(answer), plain_text(reference).strip()
    places = [m.start() for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
    return bool(places) and all(is_denied_at(text, at) for at in places)


_OPEN = re.compile(r"\b(?:it |answer[^.]*|this )depends on (?:which|what)|\bdepending on (?:which|what) ")


def same_date(stated: list[Date], wanted: list[Date]) -> bool:
    """Whether a date that is said agrees with a wanted one in every part which that one states."""
    return any(all(b is None or a == b for a, b in zip(s, w, strict=True)) for s in stated for w in wanted)
