"""What a text must keep so that anybody understands it: no banned phrase, short sentences, levels, reading ease.

The rules are those of the project's style: `faults` lists what breaks them, `reading_ease` is Flesch's figure.
"""

import re
from collections.abc import Iterator

LONGEST = 25  # words of a sentence
CODE = "code§"  # stands for a piece of code in a sentence: one word, and none for the reading ease
# what must not stand on a first screen, in the README, the tutorial or a how-to page, and what to say instead
BANNED = {
    r"(?:^|[.!?:] )Whether\b": "no sentence starts with Whether",
    r"\b(?:undecided|refuted|verified|untestable)\b": "inconclusive, worse, better, not measured",
    r"\bequivalent\b": "no practical difference",
    r"\bset in which\b|\bpair is told apart\b": "tier",
    r"\b(?:plain|deciding) interval": "95% CI; adjusted, unadjusted",
    r"\bcould have (?:shown|been seen)\b|\b4 times in 5\b": "detectable difference (80% power)",
    r"\bfamil(?:y|ies)\b": "multiple comparisons",
    r"\bgraver\b|\bdearer\b": "more severe; more expensive",
    r"\bas judged\b": "the judge's grades",
    r"\bMay (?:this|the judge)\b": "Can I ...?",
    r"\bis no (?!evidence|difference|practical|plan|key|longer|best|upper|lower|question text)": "is not a",
    r"\b(?:an|each) (?:item|draw)\b": "per question",
    r"\bis to judge\b|\bcan carry\b|\bdo not carry\b|\bIt is not so\b": "plain words",
    r"\bBy accuracy\b": "On accuracy",
    r"\bsuch-items\b|\bm_min\b": "the field's own word",
}
FIRST_SCREEN = {  # terms of the reference pages
    r"\bitems?\b": "question",
    r"\bconditions?\b": "model, prompt or variant",
    r"\bdraws?\b": "repeat",
}
RANGE = r"[-+]?\d[\d.,]*%? to [-+]?\d[\d.,]*%?"


def prose(markdown: str) -> str:
    """The text of a page without code, tables, headings and pictures."""
    text = re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S)
    lines = [line for line in text.splitlines() if not re.match(r"\s*(\||#|!\[)", line)]
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines))
    text = re.sub(r"`[^`]*`", CODE, text)
    return re.sub(r"[*_>]", "", text)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text: they end at a full stop, and with a paragraph or a point of a list."""
    for part in re.split(r"\n\s*\n|\n\s*[-·]\s|\n(?=\s*[A-Z][a-z]+: )", text):
        joined = " ".join(part.split())
        yield from filter(None, re.split(r"(?<=[.!?])\s+(?=[A-Z\"`'(\d]|code|new |old )", joined))


def words_of(sentence: str) -> list[str]:
    """The words and numbers of a sentence."""
    return [word for word in sentence.split() if re.search(r"\w", word)]


def faults(text: str, *, is_first_screen: bool = False) -> list[str]:
    """What breaks a rule, with the sentence that does."""
    found = []
    rules = BANNED | (FIRST_SCREEN if is_first_screen else {})
    for sentence in sentences(text):
        found += [f"{why}: {sentence}" for rule, why in rules.items() if re.search(rule, sentence)]
        if len(words_of(sentence)) > LONGEST:
            found.append(f"{len(words_of(sentence))} words: {sentence}")
    return found + bare_intervals(text)


def bare_intervals(text: str) -> list[str]:
    """Intervals that do not name their level, on their line or in the heading of their table."""
    found, heading = [], ""
    for line in text.splitlines():
        heading = line if "CI" in line else heading if line.strip() else ""
        if re.search(r"\[[-+]?\d[^\]]*, ?[-+]?\d[^\]]*\]", line):
            found.append(f"an interval in square brackets: {line.strip()}")
        elif re.search(rf"\((?!0 to 1\)){RANGE}\)", line) and not heading:
            found.append(f"an interval without its level: {line.strip()}")
    return found


def syllables(word: str) -> int:
    """The syllables of an English word by its groups of vowels; a final e, es or ed is mostly silent."""
    word = re.sub(r"[^a-z]", "", word.lower())
    groups = len(re.findall(r"[aeiouy]+", word))
    if re.search(r"[^aeiouyl](?:e|es|ed)$", word) and not re.search(r"(?:[td]ed|[sxz]es|[cs]hes|ges|ces)$", word):
        groups -= 1
    return max(groups, 1)


def reading_ease(text: str) -> float:
    """Flesch's reading ease: 206.835 - 1.015 words per sentence - 84.6 syllables per word, of words with letters."""
    found = [[w for w in words_of(s) if re.search(r"[a-z]{2}|\b[aAI]\b", w) and CODE not in w] for s in sentences(text)]
    found = [words for words in found if words]
    number = sum(map(len, found))
    total = sum(syllables(word) for words in found for word in words)
    return 206.835 - 1.015 * number / len(found) - 84.6 * total / number
