"""The option that a reply chooses: by letter, by its text, in JSON or in a box; a reply that names several has none."""

import functools
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.records import Item, json_objects
from richter.texts._normalise import is_denied_at, matches_reference, normalise
from richter.texts._reply_text import answer_window, remove_thoughts

__all__ = ["read_choice"]

LETTERS = string.ascii_uppercase[:10]
_SPACES = r" \t\r\f\v\u00a0"  # within a line: a pattern that begins at each line must not cross lines
_QUOTES = "\"'“”‘’`"
_OPENING = rf"[\s:：*_(\[{_QUOTES}]*"
_ANSWER = (
    r"(?:answer|antwort|r[ée]ponse|respuesta|resposta|risposta|antwoord|odpowied[źz]|svar|vastaus|cevap"
    r"|ответ|відповідь|答案|答え|正解|回答|정답|الجواب|उत्तर)"
)
_IS = r"(?:is|would be|ist|est|es|è|é|är|er|是|は|为|:|：|=)"
_AFTER = r"(?![\w+#]|['’]\w|-\w)"
_SEVERAL = r"(?:(?:\s*,\s*|\s*/\s*|\s*&\s*|\s+and\s+|\s+or\s+|\s+)[A-J])*"
_VERB = r"(?:choose|pick|select|go with|going with|opt for|conclude(?: that it is)?)"
_JUDGED = r"(?:is|seems|looks) (?:the )?(?:clearly )?(?:only )?(?:correct|right|best|most|true|answer)\b"
# from the plainest statement of a choice to the weakest; each is tried on the whole reply before the next
_LINE = re.compile(
    rf"(?im)^[{_SPACES}*#>_]*(?:final |correct |my )*{_ANSWER}[\s*_]*[:：]{_OPENING}([A-J]{_SEVERAL}){_AFTER}"
)
_DECLARED = re.compile(
    rf"(?i:{_ANSWER}\W{{0,3}}\s*{_IS}{_OPENING}"
    rf"|\b(?:correct|right|best|final|proper) (?:choice|option|letter|one)(?: here)? {_IS}{_OPENING}"
    rf"|\b(?:i|i'd|i would|i'll|we) {_VERB} (?:with )?(?:option |choice |answer )?{_OPENING}|<answer>\s*"
    rf"|\b(?:looks|seems) like (?:option |choice |answer )?{_OPENING})"
    rf"(?:(?:option|choice) )?([A-J]){_AFTER}"
    rf"|(?i:\b(?:option|choice) )([A-J])\b(?= {_JUDGED})|\b([A-J])\b(?= {_JUDGED})"
)
_NAMED = re.compile(rf"(?i:\b(?:option|choice|letter)\s+(?:is\s+)?){_OPENING}([A-J]){_AFTER}")
_FIRST = re.compile(rf"^[\s*_#>(\[{_QUOTES}✅]*([A-J])[\s*_]*(?:[).:,\]—–-]|[{_QUOTES}]|$)")
_LAST = re.compile(r"\(([A-J])\)|(?<![\w/])([A-J])[.)。]?[\s*_]*$")
_PATTERNS = (_LINE, _DECLARED, _NAMED, _FIRST, _LAST)
_WEAK = (_NAMED, _LAST)  # what a reply that goes on may take back
_LISTED = re.compile(rf"(?m)^[{_SPACES}*(>-]*([A-J])[).:](?:\s.*)?$")
_TABLE_ROW = re.compile(rf"(?m)^[{_SPACES}]*\|.*\|\s*$")
_MAYBE = r"(?:(?:perhaps|maybe|possibly|also|even|option|choice|answer|it is|it's)\s+)*"
_OR = rf"(?:(?:\s*[,.;])?\s*(?:\bor\b|/)\s*{_MAYBE}\(?)"
_OR_AFTER = re.compile(rf"(?i:[).]?{_OR})([A-J])\b(?!['’]\w)")
_OR_BEFORE = re.compile(rf"\b([A-J])\b(?i:[).]?{_OR})$")
_RULED_OUT = re.compile(r"(?i)\s*(?:is|was|are|seems)\s+(?:not|wrong|incorrect|false|out|ruled out)\b")
_REVISED = re.compile(
    r"(?i)\b(?:wait|no|actually|however|correction|hmm|sorry|instead|final|but|scratch|second thought|reconsider\w*"
    r"|re-?check\w*|mistake|so|therefore|thus|hence|conclude|should)\b"
)
_SENTENCE_END = re.compile(r"(?<=[!?。])\s*|(?<=[^\sA-J]\.)\s+|(?<=\w\w\.)\s+|\n+")
_STRUCK = re.compile(r"~~.*?~~")
_HEADING = re.compile(rf"(?im)^[{_SPACES}]*#+[{_SPACES}]*((?:final |correct )?{_ANSWER})\s*(?::\s*)?\n")
_BOX = re.compile(r"\\f?boxed\s*\{|\\fbox\s*\{|\\framebox\s*\{")
_LATEX = re.compile(r"\\(?:text|textbf|textrm|mathrm|mathbf|textit|mathit|mathsf|texttt)\s*\{([^{}]*)\}")
ANSWER_KEYS = (
    "answer", "final_answer", "finalanswer", "final", "choice", "option", "letter", "selected", "selected_option",
    "selection", "correct_option", "correct_answer", "response", "text",
)  # fmt: skip


def reference_names(item: Item) -> list[str]:
    """The reference and its aliases."""
    return [item.reference, *item.aliases]


def bare_text(text: str) -> str:
    """A text without case, and without space and punctuation around it."""
    return text.casefold().strip(string.whitespace + string.punctuation)


# ---- JSON and boxes become a line "Answer: ..." ----------------------------------------------------------------------


def unwrap_answer(text: str) -> str:
    """A reply whose answer stands in a JSON object or a LaTeX box, with that answer as its last line."""
    fields = [(value, body) for body in json_objects(text) for value in (_answer_field(body),) if value is not None]
    if fields:
        value = fields[-1][0]
        wrapped = not re.sub(r"```\w*|\[|\]", "", text[: text.find("{")]).strip()
        return value if wrapped else f"{text[: text.find('{')]}\nAnswer: {value}"
    boxes = list(_boxes(text))
    if boxes:
        return f"Answer: {boxes[-1]}"
    return _HEADING.sub(r"\1: ", _STRUCK.sub("", text))


def _answer_field(body: Mapping[str, Any] | None) -> str | None:
    """What an object says under a key of answers; a list or an object there is written out."""
    if body is None:
        return None
    lower = {str(key).casefold(): value for key, value in body.items()}
    key = next((name for name in ANSWER_KEYS if name in lower), None)
    return None if key is None else _field_text(lower[key])


def _field_text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        inner = _answer_field(value)
        return "none" if inner is None else inner
    if isinstance(value, list):
        return ", ".join(_field_text(one) for one in value)
    return str(value)


def _boxes(text: str) -> Iterator[str]:
    """What stands in each box of a text, without the commands around it."""
    for match in _BOX.finditer(text):
        depth, end = 1, match.end()
        while end < len(text) and depth and end - match.end() < 2_000:
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        if depth == 0:
            inside = text[match.end() : end - 1]
            yield _LATEX.sub(r"\1", inside).replace("\\", " ").replace("$", " ").strip()


def breaks_off_in_json(text: str) -> bool:
    """Whether a reply is a JSON object that does not end."""
    start = re.sub(r"^```\w*\s*", "", text.strip())
    return start.startswith("{") and next(iter(json_objects(start)), None) is None


# ---- letters and texts -----------------------------------------------------------------------------------------------


def named_letters(item: Item, text: str, *, cut: bool = False) -> set[str]:
    """The letters of the options that a reply chooses: one is a choice, several are a hedge, none is no choice.

    Options that are only listed again are not chosen, and a letter with another option's text names both. In a reply
    that was cut off only a stated letter is a choice: an option's text may stand there on the way to another.
    """
    return set(_read_letters(item.options, text, cut))


@functools.lru_cache(maxsize=4096)  # a search reads each reply again for every summary of it
def _read_letters(choices: tuple[str, ...], text: str, cut: bool) -> set[str]:
    """The letters that a reply chooses of options in the order in which they were shown."""
    text = remove_thoughts(text).text
    if breaks_off_in_json(text):
        return set()
    text = unwrap_answer(answer_window(text)).strip()
    if re.fullmatch(rf"[\s*_(\[{_QUOTES}]*[a-j][\s*_)\].:{_QUOTES}]*", text):  # nothing but a letter, however written
        text = text.upper()
    own = _LISTED.sub("", text).strip() if len(set(_LISTED.findall(text))) > 1 else text
    own = _TABLE_ROW.sub("", own).strip()
    answered = re.findall(rf"(?im)^[{_SPACES}*#>_]*(?:final )?{_ANSWER}[\s*_]*[:：]\s*(.+)$", text)[-1:]
    options = dict(zip(LETTERS, choices, strict=False))
    for part in (*answered, own):  # "Answer: A dog" is no letter where an option is a dog
        bare = bare_text(part)
        same = {a for a, option in options.items() if len(bare) > 1 and bare_text(option) == bare}
        if len(same) == 1:
            return same
    for part, pattern in zip((text, text, own, own, own), _PATTERNS, strict=True):
        if not (cut and pattern in _WEAK) and (letters := _letters_by_pattern(part, pattern, options)):
            return letters
    return set() if cut else next(filter(None, (_letters_by_text(part, choices) for part in (*answered, own))), set())


def _letters_by_pattern(text: str, pattern: re.Pattern[str], options: Mapping[str, str]) -> set[str]:
    """The letters that the last match names, with those offered beside it and the option whose text follows it."""
    matches = [m for m in pattern.finditer(text) if _is_choice(text, m, options)]
    if not matches:
        return set()
    last = matches[-1]
    if pattern is _LAST and (ends := _option_at_end(text, options)):
        return ends  # "It is vitamin C."
    letters = _matched_letter(last) | _offered_beside(text, last, options)
    own_text = normalise(options.get(min(letters), ""))
    followed = own_text and normalise(text[last.end() :]).startswith(own_text)  # "B. Ernest Rutherford, while A ..."
    if pattern in (_FIRST, _LAST) and not followed:
        letters |= _others_in_sentence(text, last, options)
    if pattern in (_DECLARED, _NAMED):  # "The answer is B. The answer is C." is a hedge,
        revisions = _REVISED.finditer(text, 0, last.end()) if pattern is _DECLARED else ()
        revised = max((m.start() for m in revisions), default=-1)  # "B. Wait, the answer is C." is not
        letters = letters.union(*(_matched_letter(m) for m in matches[:-1] if m.end() > revised))
    rest = normalise(text[last.end() :].lstrip().partition("\n")[0])
    also = {a for a, option in options.items() if rest and normalise(option) == rest}
    return letters if len(letters) > 1 or letters & also else letters | also


def _matched_letter(match: re.Match[str]) -> set[str]:
    return set(re.findall(r"[A-J]", next(g for g in match.groups() if g).upper().replace("AND", "").replace("OR", "")))


def _is_choice(text: str, match: re.Match[str], options: Mapping[str, str]) -> bool:
    """Whether a match names an option and neither denies it nor rules it out: "Answer: I think", "It is not A."."""
    if options and not _matched_letter(match) & options.keys():
        return False
    place = match.start(match.lastindex or 0)
    if any(_stands_within(option, text, place) for option in options.values()):
        return False  # "vitamin C is the answer"
    return not is_denied_at(text, place) and not _RULED_OUT.match(text, match.end(match.lastindex or 0))


def _offered_beside(text: str, match: re.Match[str], options: Mapping[str, str]) -> set[str]:
    """The letters that a reply offers beside the matched one: "A or B", "A. Or perhaps C."."""
    start, end = match.span(match.lastindex or 0)
    after, before = _OR_AFTER.match(text, end), _OR_BEFORE.search(text[max(0, start - 60) : start])
    return {m[1].upper() for m in (after, before) if m is not None and m[1].upper() in options}


def _others_in_sentence(text: str, match: re.Match[str], options: Mapping[str, str]) -> set[str]:
    """The other letters of the sentence of a match, those that belong to an option's text aside."""
    place = match.start(match.lastindex or 0)
    start = max((m.end() for m in _SENTENCE_END.finditer(text, 0, place) if m.end() <= place), default=0)
    end = next((m.start() for m in _SENTENCE_END.finditer(text, place + 1)), len(text))
    sentence, offset = text[start:end], place - start
    others = set()
    for found in re.finditer(r"(?<![\w'’-])([A-J])(?![\w'’+#-])", sentence):
        within = any(_stands_within(option, sentence, found.start()) for option in options.values())
        if found.start() != offset and found[1] in options and not within and not _is_article(sentence, found):
            ruled_out = is_denied_at(sentence, found.start()) or _RULED_OUT.match(sentence, found.end())
            others |= set() if ruled_out else {found[1]}
    return others


def _is_article(sentence: str, found: re.Match[str]) -> bool:
    """Whether a letter A begins a phrase: "A shallow clone"."""
    return found[1] == "A" and re.match(r"\s+(?!or\b|and\b|is\b|but\b)[a-z]", sentence[found.end() :]) is not None


def _stands_within(option: str, sentence: str, place: int) -> bool:
    """Whether a place of a sentence is inside an option's text, of more than a letter."""
    if len(option) < 2:
        return False
    around = sentence[max(0, place - len(option) + 1) : place + len(option)]
    return re.search(re.escape(option), around, re.IGNORECASE) is not None


def _option_at_end(text: str, options: Mapping[str, str]) -> set[str]:
    """The letter of the one option, of more than a letter, with which a text ends."""
    ends = [a for a, option in options.items() if f" {normalise(text)}".endswith(f" {normalise(option)}")]
    if len(ends) != 1 or len(bare_text(options[ends[0]])) < 2:
        return set()
    return set(ends) | _letters_by_text(text, list(options.values())) if " or " in text else set(ends)


def _letters_by_text(text: str, options: Sequence[str]) -> set[str]:
    """The letters of the options that a text names, without those whose text is part of another's."""
    named = [k for k, option in enumerate(options) if matches_reference(text, [option])]
    longest = [k for k in named if not any(k != j and _inside(options[k], options[j]) for j in named)]
    return {LETTERS[k] for k in longest if k < len(LETTERS)}


def read_choice(item: Item, text: str) -> str | None:
    """The option that a reply chooses, by letter or text; None where it chooses none, or several."""
    letters = named_letters(item, text)
    chosen = [option for letter, option in zip(LETTERS, item.options, strict=False) if letter in letters]
    return chosen[0] if len(chosen) == 1 == len(letters) else None


def _inside(short: str, long: str) -> bool:
    return f" {normalise(short)} " in f" {normalise(long)} "


def right_letters(item: Item) -> set[str]:
    """The letters of an item's key: of the options that are its reference, else those that the reference states."""
    names = {bare_text(name) for name in reference_names(item)}
    by_text = {LETTERS[k] for k, option in enumerate(item.options[: len(LETTERS)]) if bare_text(option) in names}
    stated = (name for name in reference_names(item) if re.fullmatch(r"[A-J\W]+(?:and [A-J\W]+)?", name))
    return by_text or {letter for name in stated for letter in re.findall(r"[A-J]", name)}
