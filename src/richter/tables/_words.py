"""Cells as grades: words for right and wrong in many languages, marks, percentages, points of so many, ranks."""

import json
import re
import shlex
from collections.abc import Iterable, Mapping

import polars as pl

from richter.records import printable


def _list(words: str) -> list[str]:
    return words.split()


_RIGHT = _list(
    "true t yes y correct right pass passed c success successful ok okay ✓ ✔ ✅ ☑ 👍 ○ 〇 ◯ o accept"
    " accepted acceptable approved good resolved solved ja wahr richtig korrekt bestanden i.o. i.o io"
    " oui vrai up"
    " juste exact réussi reussi sí si sì verdadero correcto correcta acierto vero corretto corretta"
    " giusto sim verdadeiro correto correta certo certa waar goed juist tak poprawne poprawna prawda"
    " evet doğru dogru 正 正确 正確 正解 对 對 是 はい 정답 예 맞음 верно да правильно истина"
)
_WRONG = _list(
    "false f no n incorrect wrong fail failed i failure ✗ ✘ x ❌ ☐ 👎 × ✕ ✖ reject rejected down"
    " unacceptable bad unresolved nein falsch n.i.o. n.i.o nio inkorrekt non faux échoué echoue échec falso incorrecto"
    " incorrecta fallo error errato errata sbagliato não nao incorreto errado errada nee onwaar fout"
    " onjuist nie niepoprawne błędne fałsz hayır hayir yanlış yanlis 誤 误 错误 錯誤 不正解 错 錯 否 いいえ 오답 아니오"
    " 아니요 틀림 неверно нет неправильно ложь"
)
WORDS = {
    **dict.fromkeys(_RIGHT, 1.0),
    **dict.fromkeys(_WRONG, 0.0),
    **dict.fromkeys(
        ("partial", "partially correct", "p", "partly", "partially", "teilweise", "partiel", "parcial"), 0.5
    ),
}
# of these it takes a name besides to know that they are grades
ANY = frozenset(
    _list(
        "true t yes y c ja oui si sí sì sim 是 はい да tak evet 예 o ok false f no n i x nein non não nao"
        " nee nie hayır 否 いいえ нет 아니오 p good bad error exact up down"
    )
)
# grades of answers that gave none: not right, unless --grade says otherwise; the first are of a model that declined
DECLINED = (
    "not attempted", "not-attempted", "not_attempted", "refused", "refusal", "abstained", "abstain", "abstention",
    "declined", "no answer", "no-answer", "no_answer", "noanswer", "idk", "don't know", "unanswered"
)  # fmt: skip
UNREADABLE = (
    "timeout",
    "timed out",
    "timed_out",
    "crashed",
    "unparseable",
    "unparsable",
    "unparsed",
    "parse error",
    "parse_error",
    "invalid",
    "malformed",
)
MISSING = (".", "", "nan", "na", "n/a", "null", "none", "-", "--", "#n/a", "missing", "?")
# words in order: such a column is a rating from 1 to as many
RANKS = (
    ("very poor", "poor", "fair", "good", "excellent"), ("very bad", "bad", "average", "good", "very good"),
    ("strongly disagree", "disagree", "neutral", "agree", "strongly agree"), ("poor", "fair", "good", "excellent"),
    ("terrible", "bad", "okay", "good", "great"), ("very dissatisfied", "dissatisfied", "neutral", "satisfied",
                                                   "very satisfied"),
    ("strongly disagree", "disagree", "neither agree nor disagree", "agree", "strongly agree"),
    ("rot", "gelb", "grün"), ("red", "yellow", "green"), ("red", "amber", "green"), ("rouge", "orange", "vert"),
    ("poor", "average", "good"), ("bad", "neutral", "good"), ("bad", "ok", "good"), ("low", "medium", "high"),
    ("mangelhaft", "ausreichend", "befriedigend", "gut", "sehr gut"), ("差", "中", "良", "优"),
)  # fmt: skip
_NEGATED = re.compile(
    r"(in|im|un|non|not|no|nicht|ne|не|nie|niet|on|dis|pas|não|nao|non[- ]|不|非|未)[\s_-]*", re.IGNORECASE
)
_LETTER = re.compile(r"([abcdf])([+-]?)")
_NOT = re.compile(r"(not|no|nicht|non|не|nie|niet|pas|não|nao)[\s_-]+")
TOTALS = re.compile(
    r"(grand )?(total|mean|average|avg|accuracy|sum|overall|summe|gesamt|durchschnitt|mittelwert|moyenne|"
    r"media|promedio|średnia|suma|итого|среднее|σ|∑|合計|合计|平均|总计)(?![\w-])",
    re.IGNORECASE,
)
# beside totals at the foot of a table
SPREADS = re.compile(r"(st\.? ?dev|std|sd|stderr|se|variance|var|n|count|min|max|median|ci|rank)\.?", re.IGNORECASE)
_PLAIN = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)(e[-+]?\d+)?\s*%?", re.IGNORECASE)
_OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out of|von|sur|de|su)\s*(\d+)")
_LED = re.compile(
    r"([-+]?\d+(?:[.,]\d+)?)(?:\s+[-–—]\s+\D*|\s*[:=(]\s*\D*|[.)]\s+\D*|\s*(?:stars?|sterne|points?|pts\.?|punkte|点|分|★|⭐))",
    re.IGNORECASE,
)
_MONTH = "(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*"
DATES = re.compile(rf"\d{{1,2}}[-. /]{_MONTH}|{_MONTH}[-. ]\d{{1,2}}|\d{{4}}-\d\d-\d\d.*", re.IGNORECASE)


def text_of(column: pl.Series) -> pl.Series:
    """A column as texts without spaces around them."""
    if column.dtype == pl.String:
        return column.str.strip_chars()
    if column.dtype.is_float() and (column.drop_nulls() == column.drop_nulls().round()).all():
        column = column.cast(pl.Int64, strict=False)  # 7.0 as another program wrote 7
    return column.cast(pl.String, strict=False)


def number_of(text: str) -> float | None:
    """A cell as a number: words for right and wrong, percentages, a decimal comma, `4/5`, `4 - good`, stars."""
    plain = text.strip().lower()
    if plain in WORDS:
        return WORDS[plain]
    if _PLAIN.fullmatch(plain):
        value = float(plain.rstrip("% ").replace(",", "."))
        return value / 100 if plain.endswith("%") else value
    if (match := _OUT_OF.fullmatch(plain)) and float(match[2]):
        return float(match[1].replace(",", ".")) / float(match[2])
    if match := _LED.fullmatch(plain):
        return float(match[1].replace(",", "."))
    if plain and not plain.strip("★⭐☆ ️"):
        return float(plain.count("★") + plain.count("⭐"))
    if (match := _NOT.match(plain)) and WORDS.get(word := plain[match.end() :]) in (0.0, 1.0):
        return 1 - WORDS[word]
    parts = [part for part in re.split(r"[\s()\[\],;:/|-]+", plain) if part]
    said = {WORDS[part] for part in parts if part in WORDS}
    rest = "".join(part for part in parts if part not in WORDS)
    return said.pop() if len(said) == 1 and not re.search(r"\w", rest) else None


def ordered_words(cells: Iterable[str]) -> dict[str, float]:
    """Words of a column that only together say what they mean: a word and its negation, or ranks from bad to good."""
    words = {cell: cell.strip().lower() for cell in cells if cell.strip().lower() not in MISSING}
    apart = set(words.values())
    if len(apart) == 2:
        short, long = sorted(apart, key=len)
        if (match := _NEGATED.match(long)) and long[match.end() :] == short:
            return {cell: float(word == short) for cell, word in words.items()}
    letters = {word: match for word in apart if (match := _LETTER.fullmatch(word))}
    marked = any(match[2] for match in letters.values()) or ("f" in apart and "e" not in apart)
    if len(letters) == len(apart) > 2 and marked:  # grades of a school, not options that were chosen
        points = {word: "fdcba".index(m[1]) + {"+": 0.33, "-": -0.33, "": 0.0}[m[2]] for word, m in letters.items()}
        return {cell: points[word] for cell, word in words.items()}
    for ranks in RANKS:
        if len(apart) > 1 and apart <= set(ranks) and not apart <= WORDS.keys():
            return {cell: 1.0 + ranks.index(word) for cell, word in words.items()}
    return {}


def holds_grades(column: pl.Series, told: Mapping[str, float | None] | None = None) -> bool:
    """Whether every cell can be read as a grade or a number."""
    if column.dtype == pl.Boolean or column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    some = column.drop_nulls().unique().head(50)
    empty = {*MISSING, *DECLINED, *UNREADABLE, *(word.strip().lower() for word in told or {})}
    rest = [text for text in some if text.strip().lower() not in empty]
    if not rest:
        return len(some) > 0
    return all(number_of(text) is not None for text in rest) or bool(ordered_words(rest))


def holds_any(column: pl.Series) -> bool:
    """Whether any cell holds something."""
    texts = column.drop_nulls().unique().head(20)
    return len(texts) > 0 if column.dtype != pl.String else any(t.strip().lower() not in MISSING for t in texts)


def sure_grades(column: pl.Series) -> bool:
    """Words that nobody writes but to grade."""
    if column.dtype != pl.String:
        return False
    words = {text.strip().lower() for text in column.drop_nulls().unique().head(20)} - set(MISSING)
    worded = {word for word in words if not _PLAIN.fullmatch(word)}
    graded = worded and all(number_of(word) is not None for word in words) and not words <= ANY
    return bool(graded or (words and ordered_words(words)))


def says_right(column: pl.Series) -> bool:
    """Whether the cells are words such as `pass` and `fail`, which mean the same under any name of the column."""
    if column.dtype != pl.String:
        return False
    words = {text.strip().lower() for text in column.drop_nulls().unique().head(50)} - set(MISSING)
    return bool(words & WORDS.keys() - ANY)


def listed(column: pl.Series) -> list[list[object]] | None:
    """Cells that are JSON lists; None where none is, or one is something else."""
    cells = [] if column.dtype != pl.String else column.fill_null("[]").to_list()
    if not any(cell.startswith("[") for cell in cells):
        return None
    found: list[list[object]] = []
    for cell in cells:
        try:
            values = json.loads(cell) if cell.startswith("[") else [cell]  # a list of one may stand without brackets
        except (ValueError, RecursionError):
            return None
        if not isinstance(values, list) or any(isinstance(v, dict | list) for v in values):
            return None
        found.append(values)
    return found if any(found) else None


def map_option(field: str, column: str) -> str:
    """The option that names a column, as a shell takes it: whole, for a name that is cut names nothing."""
    return f"--map {shlex.quote(f'{field}={printable(column)}')}"
