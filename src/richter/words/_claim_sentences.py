"""The sentences of claims: what is so, then the numbers, then what would change it."""

import math
from typing import TYPE_CHECKING

from richter.claims._evidence import TYPICAL, Evidence, p_value
from richter.claims._measures import Metric
from richter.claims._question import Asked, Blocked
from richter.records import Claim, Interval, Verdict, counted

if TYPE_CHECKING:
    from richter.claims._subgroups import Subgroups

__all__ = ["claimed", "requirement_name"]

JUDGE_ERROR_RATE = 0.1  # of a judge that nobody checked, for the number of labels that would settle a claim
BY_JUDGE = "By the judge's grades, "


def describe_claim(
    asked: Asked,
    verdict: Verdict,
    interval: Interval,
    *,
    needed: int | None = None,
    aim: float | None = None,
    is_real: bool = False,
) -> str:
    """A claim in one sentence; `is_real`: a difference is shown although it is within the margin."""
    evidence, question, two = asked.known, asked.question, len(asked.question.conditions) == 2
    words = asked.words.telling(interval.low, interval.high)
    if verdict in (Verdict.VERIFIED, Verdict.REFUTED):
        words = words.telling(interval.low, interval.high, stated=question.value)
    unit = _unit(words, two)
    span = f"{_span(words, evidence.estimate, interval, two)} {_items(asked)}"
    span += f"; {evidence.detail}" if evidence.detail else ""
    statement = _statement(asked, words, verdict)
    judge = describe_judge_bias(asked, verdict, interval)
    lead = BY_JUDGE if evidence.judged else ""
    if verdict is Verdict.EQUIVALENT:
        assert question.margin is not None
        more = "; the difference is real but within the margin" if is_real else ""
        text = f"{lead}{_alike(asked, words)} within {words.amount(question.margin)}{unit}: {span}{more}"
    elif verdict in (Verdict.VERIFIED, Verdict.REFUTED):
        text = f"{lead}{statement}: {span}"
    else:
        whether = "whether" if lead else "Whether"
        text = f"{lead}{whether} {statement} is undecided: {span}{describe_missing(asked, interval.level)}"
        text += _describe_needed(evidence, needed, "" if aim is None else f"{words.amount(aim)}{unit}")
    return f"{text}.{judge}"


def _describe_needed(evidence: Evidence, needed: int | None, difference: str) -> str:
    """How many units would settle a difference; where no number is known, the last note."""
    if needed is None or not difference:
        return f"; {evidence.notes[-1]}" if evidence.notes else ""
    more = "would settle" if needed > evidence.units else "were enough for"
    more = f"in all {more}" if evidence.sides else more
    return f"; {counted(needed, evidence.unit)} {more} a difference of {difference}"


def describe_requirement(
    asked: Asked, verdict: Verdict, interval: Interval, *, needed: tuple[int, float] | None
) -> str:
    """A requirement in one sentence: `accuracy of new no worse than old by 2.0 points: met; -0.3 [-1.1, 0.5]`."""
    evidence, question, two = asked.known, asked.question, len(asked.question.conditions) == 2
    words = asked.words.telling(interval.low, interval.high, stated=question.value)
    word = {Verdict.VERIFIED: "met", Verdict.REFUTED: "violated", Verdict.UNDECIDED: "undecided"}[verdict]
    lead = BY_JUDGE if evidence.judged else ""
    name = _requirement(asked.words, question.conditions, question.relation, question.value)
    text = f"{lead}{name}: {word}; {_span(words, evidence.estimate, interval, two)} {_items(asked)}{evidence.against}"
    if verdict is Verdict.UNDECIDED:
        text += describe_missing(asked, interval.level)
    if needed is not None:
        truth = "there is no loss" if two else "there is half of what is allowed"
        more = "would show" if needed[0] > evidence.units else "were enough to show"
        text += f"; {counted(needed[0], evidence.unit)} {more} it met if in truth {truth}"
    elif verdict is Verdict.UNDECIDED and evidence.notes:
        text += f"; {evidence.notes[-1]}"
    return f"{text}.{describe_judge_bias(asked, verdict, interval)}"


def describe_blocked(asked: Asked, blocked: Blocked) -> str:
    """Why a question has no answer, in one sentence."""
    question, words = asked.question, asked.metric
    if question.family == "requirement":
        state = "untestable" if blocked.gate is None else "blocked"
        name = _requirement(words, question.conditions, question.relation, question.value)
        return f"{name}: {state}, {blocked.reason}."
    if len(question.conditions) == 2:
        first, second = question.conditions
        return f"{second} and {first} are not compared by {words.noun}: {blocked.reason}."
    return f"{words.noun} of {question.conditions[0]} is not measured: {blocked.reason}."


def describe_missing(asked: Asked, level: float) -> str:
    """How the answer depends on missing grades: without them, and with each at the worse end; else empty."""
    evidence = asked.known
    if evidence.ignoring is None or evidence.as_worst is None:
        return ""
    total = sum(evidence.missing.values())
    one, two = evidence.ignoring, evidence.as_worst
    value, sides = asked.question.value, len(asked.question.conditions) == 2
    if p_value(one, value) > 1 - level:  # undecided without them too
        return ""
    who = " and ".join(f"{n:,} of {name}" for name, n in evidence.missing.items() if n)
    ignoring, as_worst = (_span(asked.words, e.estimate, e.interval(level), sides) for e in (one, two))
    noun = "grade" if total == 1 else "grades"
    return (
        f"; it depends on {total:,} missing {noun} ({who}): {ignoring} without them, {as_worst} counting them as wrong"
    )


def describe_judge_bias(asked: Asked, verdict: Verdict, interval: Interval) -> str:
    """What a judge that nobody checked means for a claim: the bias that undoes it, and the labels that settle it."""
    evidence, words = asked.known, asked.metric
    if not evidence.judged:
        return ""
    text = f" {evidence.judged[0].upper()}{evidence.judged[1:]}."
    bias = judge_bias_to_undo(asked, verdict, interval)
    if bias is None or words.low is None or words.high is None or words.kind == "real":
        return text
    two, is_good = len(asked.question.conditions) == 2, asked.is_rising == (words.better == "higher")
    towards = f"kinder to {asked.question.conditions[int(is_good)]}" if two else "kinder or harsher than people"
    towards = "kinder to one side" if verdict is Verdict.EQUIVALENT else towards
    amount = f"{words.amount(bias)}{words.suffix if two else words.unit}"
    labels = labels_to_settle(asked)
    more = "" if labels is None else f" About {labels:,} labels would settle it."
    return f"{text} This is gone if the judge is {amount} {towards}.{more}"


def describe_heterogeneity(found: "Subgroups", verdict: Verdict, p: float | None) -> str:
    """Whether the effect differs between subgroups, in one sentence."""
    effect = f"the effect ({TYPICAL})" if found.relative else "the effect"
    subgroups = f"the {len(found.subgroups)} subgroups"
    if p is None:
        return f"a test for {effect} differing between {subgroups} is not possible: nothing varies within them"
    if verdict is Verdict.VERIFIED:
        return f"{effect} differs between {subgroups} (p {p:.2g})"
    return f"that {effect} differs between {subgroups} is not shown (p {p:.2g})"


def judge_bias_to_undo(asked: Asked, verdict: Verdict, interval: Interval) -> float | None:
    """How much kinder to one side a judge must be to undo a claim; None where nothing was shown."""
    low, high = interval.low - asked.question.value, interval.high - asked.question.value
    if verdict is Verdict.EQUIVALENT:
        assert asked.question.margin is not None
        return max(asked.question.margin - max(high, -low), 0.0)
    return None if verdict is Verdict.UNDECIDED else min(abs(low), abs(high))


def labels_to_settle(asked: Asked) -> int | None:
    """Human labels, over both conditions, that show the difference seen if the judge errs in one of ten answers.

    n = (z_0.975 + z_0.8)^2 v / estimate^2 labels a condition, v = `JUDGE_ERROR_RATE` of the squared range for each.
    """
    words, evidence = asked.metric, asked.known
    beyond = evidence.estimate - asked.question.value
    if words.low is None or words.high is None or words.kind == "real" or beyond == 0 or evidence.relative:
        return None
    sides = len(asked.question.conditions)
    variance = sides * JUDGE_ERROR_RATE * (words.high - words.low) ** 2
    number = sides * math.ceil(2.8**2 * variance / beyond**2)
    return None if number > 1_000_000 else round_up_to_two_figures(number)


def round_up_to_two_figures(number: float) -> int:
    """A size rounded up to two figures: it is not known better."""
    step = 10 ** max(math.floor(math.log10(max(number, 1))) - 1, 0)
    return int(math.ceil(number / step) * step)


def requirement_name(metric: Metric, claim: Claim) -> str:
    """What a requirement asks, in words."""
    assert claim.hypothesis is not None
    return _requirement(metric, claim.conditions, claim.hypothesis.relation, claim.hypothesis.value)


def claimed(words: Metric, claim: Claim) -> str:
    """What a directed claim on a difference says, before any verdict."""
    a, b = claim.conditions
    return f"{b} is {_word(words, claim.hypothesis is None or claim.hypothesis.relation == 'above')} than {a}"


def _requirement(words: Metric, conditions: tuple[str, ...], relation: str, value: float) -> str:
    words = words.telling(stated=value)
    if len(conditions) == 2:
        old, new = conditions
        return f"{words.noun} of {new} no worse than {old} by {words.amount(abs(value))}{words.suffix}"
    return f"{words.noun} of {conditions[0]} {relation} {words.amount(value)}{_unit(words, False)}"


def _statement(asked: Asked, words: Metric, verdict: Verdict) -> str:
    """What is so, or what was asked where nothing is shown."""
    question, unit = asked.question, _unit(words, len(asked.question.conditions) == 2)
    if len(question.conditions) == 1:
        name = f"{words.noun} of {question.conditions[0]}"
        if verdict is Verdict.REFUTED:
            return f"{name} is not {question.relation} {words.amount(question.value)}{unit}"
        relation = {"above": "is above", "below": "is below", "differs": "differs from"}[question.relation]
        return f"{name} {relation} {words.amount(question.value)}{unit}"
    a, b = question.conditions
    if verdict is Verdict.REFUTED and question.relation == "differs":  # refuted otherwise than by a sign
        return f"neither of {a} and {b} is {words.worse_word}: each is worse at some"
    rising = asked.is_rising
    if verdict is Verdict.UNDECIDED:
        rising = words.better == "higher" if question.relation == "differs" else question.relation == "above"
    text = f"{b} is {_word(words, rising)} than {a}"
    return text if question.value == 0 else f"{text} by more than {words.amount(abs(question.value))}{unit}"


def _alike(asked: Asked, words: Metric) -> str:
    question = asked.question
    if len(question.conditions) == 2:
        return f"{question.conditions[1]} and {question.conditions[0]} are {words.alike_word}"
    return f"{words.noun} of {question.conditions[0]} is {words.amount(question.value)}{_unit(words, False)}"


def _items(asked: Asked) -> str:
    """`on 900 items in 40 groups of domain law`; of unpaired conditions the items of each."""
    evidence, question = asked.known, asked.question
    text = f"on {' and '.join(f'{n:,}' for n in evidence.sides)} different items" if evidence.sides else ""
    text = text or f"on {counted(evidence.n, 'item')}"
    if evidence.unit != "item":
        text += f" in {counted(evidence.units, evidence.unit)}"
    text += f" of {question.column_name or question.column} {question.part}" if question.column else ""
    return f"({TYPICAL}) {text}{evidence.against}" if evidence.relative else text


def _span(words: Metric, estimate: float, interval: Interval, two: bool) -> str:
    low, high = (_end(words, x, sign=two) for x in (interval.low, interval.high))
    return f"{words.amount(estimate, sign=two)}{_unit(words, two)} [{low}, {high}]"


def _word(words: Metric, rising: bool) -> str:
    return words.better_word if rising == (words.better == "higher") else words.worse_word


def _unit(words: Metric, two: bool) -> str:
    """Differences of rates are in points, rates in per cent."""
    return words.suffix if two else words.unit


def _end(words: Metric, value: float, *, sign: bool) -> str:
    return str(value) if math.isinf(value) else words.amount(value, sign=sign)
