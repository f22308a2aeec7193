"""One form for answers that say the same (case, accents, articles, number words, dates), and what is no answer."""

import re
import unicodedata
from collections.abc import Iterable
from functools import partial

__all__ = ["content_words", "is_refusal", "matches_reference", "normalise", "number_words_to_digits"]

_UNITS = {
    w: i
    for i, w in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS = {
    w: 10 * i
    for i, w in enumerate(["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_ORDINALS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "ninth": 9,
    "tenth": 10,
    "eleventh": 11,
    "twelfth": 12,
}
_MONTHS = {
    name: i
    for i, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    (re.compile(rf"\b{_DAY}(?: of)? ({_MONTH})\.?,? (\d{{4}})\b"), (3, 2, 1)),
    (re.compile(rf"\b({_MONTH})\.? {_DAY},? (\d{{4}})\b"), (3, 1, 2)),
)
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.])[-−]?\d+\.\d+")
_WORD = re.compile(r"[^\W_]+(?:\.\d+)?", re.UNICODE)
_ARTICLES = frozenset({"a", "an", "the"})
_REFUSAL = re.compile(
    r"\b(i (?:do not|don't|dont|cannot|can't|cant|am not able|am unable|'m not able|'m unable|'m not sure|am not sure)"
    r"(?: \w+){0,3}? ?(?:know|have|answer|provide|determine|find|help|assist|recall|able|sure|certain|tell)"
    r"|i(?:'m| am) (?:sorry|unable|not (?:sure|certain|aware|able))"
    r"|(?:there is )?no (?:answer|information)|(?:it is|it's) (?:not known|unknown|unclear)"
    r"|as an ai(?: language)? model|cannot be determined|not enough information|unanswerable)",
    re.IGNORECASE,
)
_NO_ANSWER = frozenset({"", "unknown", "none", "n/a", "null", "not applicable", "no idea", "idk"})


def number_words_to_digits(words: list[str]) -> list[str]:
    """Spell out numbers as digits: ['twenty', 'one', 'hundred'] is ['2100'].

    "and" joins only inside a number that has a scale ("one hundred and five"). A lone "one" stays a word, since it
    is more often a pronoun.
    """
    out: list[str] = []
    i = 0
    while i < len(words):
        total = current = used = 0
        scaled = False
        j = i
        while j < len(words):
            word = words[j]
            if word in _UNITS and (j == i or words[j - 1] in _TENS or words[j - 1] in _SCALES or words[j - 1] == "and"):
                current += _UNITS[word]
            elif word in _TENS and (j == i or words[j - 1] in _SCALES or words[j - 1] == "and"):
                current += _TENS[word]
            elif word == "hundred" and current:
                current, scaled = current * 100, True
            elif word in _SCALES and current:
                total, current, scaled = total + current * _SCALES[word], 0, True
            elif word == "and" and scaled and j + 1 < len(words) and (words[j + 1] in _UNITS or words[j + 1] in _TENS):
                pass
            else:
                break
            j += 1
            used += 1
        if used and words[i : i + used] != ["one"]:
            out.append(str(total + current))
            i += used
        else:
            out.append(words[i])
            i += 1
    return out


def _plain(text: str) -> str:
    """NFKC, lower case, no accents, straight apostrophes."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("‘", "'").replace("−", "-")
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _date(match: re.Match[str], order: tuple[int, int, int]) -> str:
    year, month, day = (match.group(i) for i in order)
    number = _MONTHS.get(month)
    return match.group() if number is None else f"{year}d{number:02d}d{int(day):02d}"


def content_words(text: str) -> list[str]:
    """The words of a text in one form: no case, accents, punctuation or articles; numbers and dates in digits."""
    text = _plain(text)
    for pattern, order in _DATES:
        text = pattern.sub(partial(_date, order=order), text)
    text = re.sub(r"\b(\w)\.(?=\w\.)", r"\1", text)  # U.S.A. -> USA.
    text = text.replace("'s ", " ").replace("s' ", "s ").replace("'", "")
    text = _NUMBER.sub(lambda m: _number(m.group()), text)
    text = re.sub(r"\b(\d+)(?:st|nd|rd|th)\b", r"\1", text)
    words = [w for w in _WORD.findall(text) if w not in _ARTICLES]
    return [str(_ORDINALS[w]) if w in _ORDINALS else w for w in number_words_to_digits(words)]


def _number(text: str) -> str:
    value = text.replace(",", "")
    return value.rstrip("0").rstrip(".") if "." in value else value


def normalise(text: str) -> str:
    """A text in one form, so that answers that differ only in dress are equal."""
    return " ".join(content_words(text))


def is_refusal(text: str) -> bool:
    """Whether a text gives no answer: empty, "unknown", or a sentence that declines.

    A text that declines and then answers ("I cannot be sure. However, it is X.") is an answer.
    """
    if _plain(text).strip(" .!?") in _NO_ANSWER or not normalise(text):
        return True
    match = _REFUSAL.search(_plain(text))
    if match is None:
        return False
    return re.search(r"\b(however|but|nevertheless|that said)\b", _plain(text)[match.end() :]) is None


def matches_reference(answer: str, references: Iterable[str]) -> bool:
    """Whether an answer names one of the references: equal in the normal form, or the reference's words in a row.

    A refusal matches nothing. This is lenient: "Paris or Rome" matches both. A judge is the stricter tool.
    """
    if is_refusal(answer):
        return False
    words = content_words(answer)
    for reference in references:
        wanted = content_words(reference)
        if not wanted:
            continue
        if any(words[i : i + len(wanted)] == wanted for i in range(len(words) - len(wanted) + 1)):
            return True
        if "".join(words) == "".join(wanted):  # "George Town" and "Georgetown"
            return True
    return False
