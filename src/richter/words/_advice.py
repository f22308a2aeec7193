"""What a verdict is called, how many pairs came out how, and the next step: one command to paste."""

import re
from collections.abc import Sequence

from richter.claims._measures import claim_words, measure_words
from richter.records import Claim, Verdict
from richter.words._claim_sentences import describe_label_change
from richter.words._headline import side

__all__ = ["describe_next", "describe_pairs", "describe_remedy", "describe_verdict", "verdict_word"]

_GATE_WORDS = {Verdict.VERIFIED: "PASS", Verdict.REFUTED: "FAIL", Verdict.UNDECIDED: "INCONCLUSIVE"}
_OPEN_WORDS = {
    "undecided": "inconclusive",
    "equivalent": "no practical difference",
    "blocked": "not compared",
    "untestable": "not measured",
}


def describe_verdict(claim: Claim) -> str:
    """What came of a claim, as people say it: better, worse, no practical difference, inconclusive; PASS or FAIL."""
    if claim.family is not None and claim.family.name == "requirement":
        return _GATE_WORDS.get(claim.verdict, "NOT CHECKED")
    return verdict_word(claim.verdict, side(claim))


def verdict_word(verdict: str, seen: str) -> str:
    """The word for a verdict and the side that it is on for the reader, as documents hold both."""
    if verdict in _OPEN_WORDS:
        return _OPEN_WORDS[verdict]
    return seen if seen in ("better", "worse") else "shown" if verdict == "verified" else "shown false"


def describe_pairs(claims: Sequence[Claim], n_items: int, *, grouped: bool) -> str:
    """How many pairs of a board differ, are the same in practice, or are inconclusive; what a tier is."""
    tested = [c for c in claims if c.estimate is not None]
    if not tested:
        return "No two could be compared."
    differ = sum(c.verdict in (Verdict.VERIFIED, Verdict.REFUTED) for c in tested)
    alike = sum(c.verdict is Verdict.EQUIVALENT for c in tested)
    rest = len(tested) - differ - alike
    noun = measure_words(tested[0].measure).noun
    parts = [f"{differ:,} of {len(tested):,} pairs differ in {noun}"]
    parts += [f"{alike:,} show no practical difference"] if alike else []
    parts += [f"{rest:,} {'is' if rest == 1 else 'are'} inconclusive"] if rest else []
    refused = len(claims) - len(tested)
    parts += [f"{refused:,} could not be compared"] if refused else []
    text = f"{'; '.join(parts)} ({n_items:,} questions)."
    return f"{text} A rank is a range where we can't tell pairs apart." if grouped else text


def describe_remedy(remedy: str, again: str) -> str:
    """What lifts a block; an option at its end becomes the whole command. `again` names the data."""
    text = remedy[:1].lower() + remedy[1:].rstrip(".")
    return re.sub(r": (--[a-z][a-z-]*)$", lambda option: f": richter compare {again} {option[1]}", text)


def describe_next(claims: Sequence[Claim], *, again: str) -> str:
    """The next command for these claims; `again` names the data and how they are read."""
    main = [c for c in claims if c.primary and len(c.conditions) == 2]
    if not main:
        return f"Next: richter report {again} -o page.html"
    blocked = next((c for c in main if c.remedy), None)
    if blocked is not None and not any(c.estimate is not None for c in main):
        return f"Next: {describe_remedy(blocked.remedy, again)}"
    if any(c.without_missing is not None for c in main):
        return "Next: ask the missing questions again, or say how they went missing: --missing at-random"
    if any(c.judged for c in main):
        return f"Next: check the judge by hand: richter import {again} -o run1; richter label run1 --rater me"
    is_open = len(main) == 1 and main[0].verdict is Verdict.UNDECIDED
    if any(describe_label_change(c, claim_words(c)) for c in main) or (is_open and main[0].labels):
        return f"Next: label more answers, or see the automatic grades alone: richter compare {again} --ratings rule"
    if is_open:
        return f"Next: add questions, or run each one several times: richter size {again}"
    why = "   see what was fixed and broken" if len(main) == 1 else ""
    return f"Next: richter report {again} -o page.html{why}"
