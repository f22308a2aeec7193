"""What a verdict is called, how many pairs came out how, and the next step: one command to paste."""

import dataclasses
import math
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.claims._measures import claim_words, measure_words
from richter.records import Claim, Verdict, counted
from richter.words._claim_sentences import describe_label_change
from richter.words._headline import best_pair, side

__all__ = [
    "NamedData",
    "describe_first_step",
    "describe_next",
    "describe_pairs",
    "describe_remedy",
    "describe_verdict",
    "verdict_word",
]

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


def describe_pairs(
    claims: Sequence[Claim], n_items: int, *, grouped: bool, ranks: Mapping[str, tuple[int, int]]
) -> str:
    """How many pairs of a board differ, are the same in practice, or are inconclusive; what a tier is.

    Where a large board has claims on some pairs, the ranks tell how many differ: each is worse than so many.
    """
    tested = [c for c in claims if c.estimate is not None]
    if not tested:
        return "No two could be compared."
    differ = sum(c.verdict in (Verdict.VERIFIED, Verdict.REFUTED) for c in tested)
    alike = sum(c.verdict is Verdict.EQUIVALENT for c in tested)
    number = len(tested)
    if len(claims) < math.comb(len(ranks), 2):
        number, differ = math.comb(len(ranks), 2), sum(best - 1 for best, _ in ranks.values())
    rest = number - differ - alike
    noun = measure_words(tested[0].measure).noun
    parts = [f"{differ:,} of {number:,} pairs differ in {noun}"]
    parts += [f"{alike:,} show no practical difference"] if alike else []
    parts += [f"{rest:,} {'is' if rest == 1 else 'are'} inconclusive"] if rest else []
    refused = len(claims) - len(tested)
    parts += [f"{refused:,} could not be compared"] if refused else []
    text = f"{'; '.join(parts)} ({n_items:,} questions)."
    return f"{text} A model that we can't tell from others has a range of ranks." if grouped else text


def describe_remedy(remedy: str, again: str) -> str:
    """What lifts a block; an option at its end becomes the whole command. `again` names the data."""
    text = remedy[:1].lower() + remedy[1:].rstrip(".")
    return re.sub(r": (--[a-z][a-z-]*)$", lambda option: f": richter compare {again} {option[1]}", text)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedData:
    """How a command names data: the files or the run with how they are read (`again`), and the models that are meant.

    `options` holds what the user stated beyond the defaults: what is vouched for, margins by measure, the level.
    `has_texts`: people can read the answers. `has_raters`: several rated each answer, so that it has no repeats.
    """

    again: str = "FILE"
    names: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    is_run: bool = False
    has_texts: bool = True
    has_raters: bool = False

    @property
    def asked(self) -> str:
        """All of it, as one writes it: 'results.csv old new --unpaired --margin 0.05'."""
        return " ".join(filter(None, (self.again, self.names, *self._stated())))

    def _stated(self) -> Iterator[str]:
        for name, value in self.options.items():
            flag = f"--{name.replace('_', '-')}"
            if isinstance(value, tuple):
                yield from (f"{flag} {shlex.quote(one)}" for one in value)
            elif isinstance(value, Mapping):
                yield from (f"{flag} {measure}{'=' * bool(measure)}{x:g}" for measure, x in value.items())
            else:
                yield flag if value is True else f"{flag} {value}"

    def label_command(self) -> str:
        """The command that draws answers of a run, or of files that become one, for a person to label."""
        run = self.again if self.is_run else "run1"
        label = " ".join(filter(None, ("richter label", run, self.names, "--rater me")))
        return label if self.is_run else f"richter import {self.again} -o run1; {label}"

    def describe_check(self) -> str:
        """How people check a judge; without the texts of answers these come first."""
        if not self.again:
            return "check the judge by hand (richter label)"
        texts = "" if self.has_texts else "add the texts of the answers in a column `answer`, then "
        return f"check the judge by hand: {texts}{self.label_command()}"


MORE_RUNS = "add runs (other seeds, checkpoints or templates), and questions"


def describe_first_step(
    claims: Sequence[Claim], data: NamedData, changed: Mapping[tuple[str, ...], tuple[int, int]] | None = None
) -> str:
    """What to do first about these claims, on every surface; empty where they leave nothing to do.

    `changed` has the fixed and broken questions of pairs that answered the same questions.
    """
    main = [c for c in claims if c.primary and len(c.conditions) == 2]
    if obstacle := _describe_obstacle(main, data):
        return obstacle
    waiting = [c for c in main if c.verdict is Verdict.UNDECIDED]
    if _needs_labels(main, waiting):
        return f"label more answers, or see the automatic grades alone: richter compare {data.asked} --ratings rule"
    if any(c.unit == "run" for c in waiting):
        return MORE_RUNS
    if waiting:
        return _describe_more_questions(waiting, data, n_pairs=len(main))
    is_over = bool(main) and all(c.decided and not c.apart for c in main)
    return _describe_changed(changed or {}) if is_over else ""


def _describe_obstacle(main: Sequence[Claim], data: NamedData) -> str:
    """What stands before an answer: a block to lift, missing questions to ask, a judge to check; empty without any."""
    remedies = [c.remedy for c in main if c.remedy]
    if remedies and all(c.estimate is None for c in main):
        return describe_remedy(remedies[0], data.asked)
    if any(c.without_missing is not None for c in main):
        total = max(sum(c.missing.values()) for c in main)
        again = f"richter compare {data.asked} --missing at-random"
        return f"ask the {counted(total, 'missing question')} again. If right or wrong has no part in why: {again}"
    if any(c.judged for c in main):
        return data.describe_check()
    return ""


def _needs_labels(main: Sequence[Claim], waiting: Sequence[Claim]) -> bool:
    """Whether more labels are what settles these claims: labels changed one, or left the only one open."""
    is_open = len(main) == 1 and bool(waiting) and bool(main[0].labels)
    return is_open or any(describe_label_change(c, claim_words(c)) for c in main)


def _describe_more_questions(waiting: Sequence[Claim], data: NamedData, *, n_pairs: int) -> str:
    """How to settle an inconclusive pair: the only one, or of several the best two that can't be told apart."""
    ways = "add questions" + ", or run each one several times" * (not data.has_raters)
    tried = data.options.get("tried", 1)  # as many attempts divide the level as so many pairs
    data = dataclasses.replace(data, options={name: x for name, x in data.options.items() if name != "tried"})
    n_tests = tried * (_pairs_left(waiting[0], len(waiting), n_pairs) if n_pairs > 1 else 1)
    pairs = f" --pairs {n_tests}" if n_tests > 1 else ""
    if n_pairs == 1:
        return f"{ways}: richter size {data.asked}{pairs}"
    best = best_pair(waiting)
    first, second = best.conditions
    asked = dataclasses.replace(data, names=shlex.join(best.conditions)).asked
    return f"to tell {second} from {first}, {ways}: richter size {asked}{pairs}"


def _pairs_left(claim: Claim, n_waiting: int, n_pairs: int) -> int:
    """How many pairs share the level of one that is not settled: all that are not, also those without a claim."""
    if claim.family is None or claim.family.size <= n_pairs or claim.interval is None or claim.plain_interval is None:
        return n_waiting
    return round((1 - claim.plain_interval.level) / (1 - claim.interval.level))


def _describe_changed(changed: Mapping[tuple[str, ...], tuple[int, int]]) -> str:
    """What to look at where everything is settled."""
    if len(changed) != 1:
        return "look at the questions that got worse"
    ((fixed, broken),) = changed.values()
    return f"look at the {fixed:,} fixed and {broken:,} broken questions"


def describe_next(
    claims: Sequence[Claim], data: NamedData, changed: Mapping[tuple[str, ...], tuple[int, int]] | None = None
) -> str:
    """The next command for these claims: the first step, or the page that shows what there is to look at."""
    step = describe_first_step(claims, data, changed)
    page = f"richter report {data.asked} -o page.html"
    if not step:
        return f"Next: {page}"
    return f"Next: {step}: {page}" if step.startswith("look at") else f"Next: {step}"
