"""Requirements: passing several rules is intersection-union, violating one is a union of rules.

Each rule passes at one-sided alpha, with no correction over rules: all must pass. A rule is violated where Holm over
the rules shows it at one-sided alpha. So false passes and false violations are each bounded by alpha, separately, and
intervals are printed at 1 - 2 alpha.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal

from scipy.special import ndtri

from richter.claims._decide import (
    POWER,
    Question,
    _unit,
    asked,
    counted,
    kinder_judge,
    one_sided,
    reach_of,
    units_needed,
    visible,
)
from richter.claims._evidence import TYPICAL
from richter.claims._outcomes import Metric
from richter.records import Claim, Family, Hypothesis, Interval, Verdict
from richter.stats import holm

__all__ = ["require", "requirement_name", "unjudged"]


def require(
    questions: Sequence[Question],
    *,
    level: float = 0.95,
    plan: str | None = None,
    data_hash: str = "",
    seed: int | None = None,
) -> tuple[Claim, ...]:
    """Judge requirements: each question is `above` or `below` a value, of one condition or of a difference.

    `verified`: the interval at 1 - 2 alpha lies on the side that is asked for. `refuted` (violated): the
    Holm-adjusted one-sided p-value of the other side is at most alpha. Else `undecided`, with the units that would
    show it met with 80% power if in truth there is no loss (a difference) or half of what is allowed (a level).
    """
    alpha = 1 - level
    against = [one_sided(q.evidence, q.value, above=q.relation == "below") for q in questions]
    violated = holm(against)
    claims = []
    for question, p_own, p_violated in zip(questions, against, violated, strict=True):
        evidence = question.evidence
        interval = evidence.interval(1 - 2 * alpha)
        above, below = interval.low > question.value, interval.high < question.value
        met, broken = (above, below) if question.relation == "above" else (below, above)
        verdict = Verdict.VERIFIED if met else Verdict.UNDECIDED
        if broken:
            if float(p_violated) <= alpha:
                verdict = Verdict.REFUTED
            else:  # violated alone, not among all rules: the interval at the level that decided this
                interval = evidence.interval(1 - 2 * alpha * p_own / float(p_violated))
        needed = _needed(question, alpha) if verdict is Verdict.UNDECIDED else None
        error = evidence.standard_error
        claims.append(
            dataclasses.replace(
                asked(question, level=level),
                verdict=verdict,
                sentence=_sentence(question, verdict, interval, needed=needed),
                interval=interval,
                p_adjusted=float(p_violated),
                needed=None if needed is None else needed[0],
                needed_for=None if needed is None else needed[1],
                could_show=None
                if error is None
                else visible(question.metric, reach_of(evidence.freedom, alpha, POWER) * error),
                family=Family(method="intersection-union to pass, holm to violate", size=len(questions)),
                plan=plan,
                data_hash=data_hash,
                seed=seed,
            )
        )
    return tuple(claims)


def _needed(question: Question, alpha: float) -> tuple[int, float] | None:
    """Units, and the distance from the limit that they are for: the whole allowance, or half of a level's."""
    evidence, limit = question.evidence, question.value
    if evidence.standard_error is None or evidence.standard_error == 0 or limit == 0:
        return None
    words, room = question.metric, abs(limit)
    if len(question.conditions) == 1:
        if question.relation == "above":
            room = (1.0 if words.high is None else words.high) - limit
        room /= 2
        if room <= 0:
            return None
        if words.kind == "binary":  # how much answers vary at the limit and at half of what is allowed, not as seen
            at = (evidence.estimate * evidence.n + 0.5) / (evidence.n + 1)
            effect = max(evidence.standard_error**2 * evidence.n / (at * (1 - at)), 1.0) * evidence.units / evidence.n
            truth = limit + room if question.relation == "above" else limit - room
            z_alpha, z_power = float(ndtri(1 - alpha)), float(ndtri(POWER))
            reach = z_alpha * math.sqrt(limit * (1 - limit)) + z_power * math.sqrt(truth * (1 - truth))
            error = reach / (z_alpha + z_power) * math.sqrt(effect / evidence.units)
            evidence = dataclasses.replace(evidence, standard_error=error)
    return units_needed(evidence, room, tail=alpha), room


def _sentence(question: Question, verdict: Verdict, interval: Interval, *, needed: tuple[int, float] | None) -> str:
    """`accuracy of new no worse than old by 2.0 points: met; -0.3 points [-1.1, +0.5] on 900 items`."""
    evidence, two = question.evidence, len(question.conditions) == 2
    words = question.words.telling(interval.low, interval.high, stated=question.value)
    unit = _unit(words, two)
    word = {Verdict.VERIFIED: "met", Verdict.REFUTED: "violated", Verdict.UNDECIDED: "undecided"}[verdict]
    low, high = (words.amount(x, sign=two) for x in (interval.low, interval.high))
    name = _name(question.words, question.conditions, question.relation, question.value)
    span = f"{words.amount(evidence.estimate, sign=two)}{unit} [{low}, {high}]" + f" ({TYPICAL})" * evidence.relative
    judged = f", {evidence.judged}" if evidence.judged else ""
    text = f"{name}: {word}{judged}; {span} on {counted(evidence.n, 'item')}"
    if evidence.unit != "item":
        text += f" in {counted(evidence.units, evidence.unit)}"
    text += evidence.against
    if needed is not None:
        truth = "there is no loss" if two else "there is half of what is allowed"
        more = "would show" if needed[0] > evidence.units else "were enough to show"
        text += f"; {counted(needed[0], evidence.unit)} {more} it met if in truth {truth}"
    elif verdict is Verdict.UNDECIDED and evidence.notes:
        text += f"; {evidence.notes[-1]}"
    return f"{text}{kinder_judge(question, verdict, interval) if judged else ''}."


def requirement_name(metric: Metric, claim: Claim) -> str:
    """What a requirement asks, in words."""
    assert claim.hypothesis is not None
    return _name(metric, claim.conditions, claim.hypothesis.relation, claim.hypothesis.value)


def _name(words: Metric, conditions: tuple[str, ...], relation: str, value: float) -> str:
    words = words.telling(stated=value)
    if len(conditions) == 2:
        old, new = conditions
        return f"{words.noun} of {new} no worse than {old} by {words.amount(abs(value))}{words.suffix}"
    return f"{words.noun} of {conditions[0]} {relation} {words.amount(value)}{_unit(words, False)}"


def unjudged(
    metric: Metric,
    conditions: tuple[str, ...],
    relation: Literal["above", "below"],
    value: float,
    *,
    why: str,
    blocked_by: str | None = None,
    plan: str | None = None,
) -> Claim:
    """A requirement that could not be judged: blocked by a gate, or untestable."""
    verdict = Verdict.UNTESTABLE if blocked_by is None else Verdict.BLOCKED
    return Claim(
        measure=metric.name,
        conditions=conditions,
        verdict=verdict,
        sentence=f"{_name(metric, conditions, relation, value)}: {verdict.value}, {why}.",
        hypothesis=Hypothesis(relation=relation, value=value),
        better=metric.better,
        blocked_by=blocked_by,
        plan=plan,
    )
