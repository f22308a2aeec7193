"""From questions with evidence to claims: levels, families, margins, requirements and verdicts, in this one place."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from richter.claims._board import Board, SettledPair
from richter.claims._control import JointTests, in_steps
from richter.claims._equivalence import equivalence_level, equivalence_p, is_within
from richter.claims._question import (
    JUDGE_UNCHECKED,
    Asked,
    Blocked,
    Evidence,
    one_sided,
    one_sided_level,
    p_value,
)
from richter.claims._sizes import min_detectable_difference, needed_units, requirement_needed, size_steps
from richter.claims._subgroups import Subgroups
from richter.errors import InputError
from richter.records import DEFAULT_LEVEL, Claim, Family, Gate, GradedResult, Hypothesis, Interval, Reckoning, Verdict
from richter.stats import Floats, holm
from richter.words._claim_sentences import (
    describe_blocked,
    describe_claim,
    describe_heterogeneity,
    describe_requirement,
)

__all__ = [
    "Alarm",
    "Change",
    "GateOutcome",
    "GatedVerdict",
    "block_claim",
    "decide",
    "decide_by_gates",
    "decide_by_limits",
    "decide_change",
    "decide_gate",
    "decide_heterogeneity",
    "find_change",
    "undecided_claim",
    "untestable_claim",
]


@dataclasses.dataclass(frozen=True, slots=True)
class _Test:
    """One test of a Holm list: of which question, and whether it is the one of being within the margin."""

    place: int
    within: bool
    p: float


def decide(
    asked: Sequence[Asked],
    *,
    level: float = DEFAULT_LEVEL,
    tried: int = 1,
    joint: JointTests | None = None,
    board: Board | None = None,
    plan: str | None = None,
    data_hash: str = "",
    seed: int | None = None,
) -> tuple[Claim, ...]:
    """Give every question its verdict: one claim each, in their order.

    Questions on the main measure are one family, those on other measures a second, those on subgroups a third; each
    family's error rate is at most 1 - `level`. Within a family Holm's rule decides: each step shows the smallest
    p-value left if it is at most a = alpha / m, m being the questions of which a null hypothesis is left. With a margin
    a question has two hypotheses, no difference and one of the margin or more, and leaves when both are rejected. They
    exclude each other (Shaffer 1986), so that at most one of a question is true and a false rejection has a probability
    of at most alpha. A difference is decided by its interval at 1 - a, being within the margin by that at
    `equivalence_level(a)`, and what comes after the first that is not shown by that of the first.

    Requirements pass by intersection-union (each at one-sided alpha) and are violated by Holm over all of them.
    Questions that a check blocked become blocked claims, and cost the others nothing.

    `tried` divides alpha: the best of that many attempts is on show. With `joint`, the law of claims against one
    control together, a is the level at which any of those left without a margin, or one of the others by Bonferroni,
    is falsely shown with probability alpha: at least alpha / m. With `board`, which settled all pairs of the main
    measure, its questions are some of these: the list is that of all pairs.
    """
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")
    if tried < 1:
        raise InputError(f"tried={tried} is not a number of attempts.", remedy="Give at least 1.")
    alpha = (1 - level) / tried
    claims = {k: _blocked_claim(one, one.evidence) for k, one in enumerate(asked) if isinstance(one.evidence, Blocked)}
    for name, places in _families_of(asked).items():
        if name == "requirement":
            decided = _decide_requirements([asked[k] for k in places], level, tried)
            claims |= dict(zip(places, decided, strict=True))
        else:
            of_main = board if name == "main" else None
            claims |= _decide_family(asked, places, level=level, alpha=alpha, joint=joint, board=of_main, name=name)
    stamp: dict[str, Any] = {"plan": plan, "data_hash": data_hash, "seed": seed}
    return tuple(dataclasses.replace(claims[k], **stamp) for k in range(len(asked)))


def _families_of(asked: Sequence[Asked]) -> dict[str, list[int]]:
    """The places of the questions that have evidence, by family."""
    families: dict[str, list[int]] = {}
    for k, one in enumerate(asked):
        if not isinstance(one.evidence, Blocked):
            families.setdefault(one.question.family, []).append(k)
    return families


def _decide_family(
    asked: Sequence[Asked], places: list[int], *, level: float, alpha: float, joint: JointTests | None,
    board: Board | None, name: str,
) -> dict[int, Claim]:  # fmt: skip
    """The claims of one Holm family, by their place."""
    if board is None:
        lines = _holm_steps(asked, places, alpha, joint)
    else:
        lines = {(k, False): board.settled(*asked[k].question.conditions) for k in places}
    known = () if joint is None else joint.keys
    by_joint_law = any(asked[k].question.margin is None and _key(asked[k]) in known for k in places)
    size = len(places) if board is None else board.n_pairs
    family = Family(method="max t" if by_joint_law else "holm", size=size, name=name)
    share = (1 - level) / alpha
    return {
        k: _difference_claim(
            asked[k], lines[k, False], lines.get((k, True)), level=level, family=family, share=share
        )
        for k in places
    }  # fmt: skip


def _key(asked: Asked) -> tuple[str, tuple[str, ...]]:
    return asked.question.name, asked.question.conditions


def _tests_of(asked: Sequence[Asked], places: list[int]) -> list[_Test]:
    """Every question's test of no difference, and of being within its margin where one is stated."""
    tests = []
    for k in places:
        question, evidence = asked[k].question, asked[k].known
        tests.append(_Test(k, False, p_value(evidence, question.value)))
        if question.margin is not None:
            tests.append(_Test(k, True, equivalence_p(evidence, question.margin, value=question.value)))
    return tests


def _holm_steps(
    asked: Sequence[Asked], places: list[int], alpha: float, joint: JointTests | None
) -> dict[tuple[int, bool], SettledPair]:
    """The tests of a family as Holm's rule settles them, by the question's place and whether they are of its margin."""
    lines = {}
    order = sorted(_tests_of(asked, places), key=lambda t: t.p)
    last = {test.place: number for number, test in enumerate(order)}  # where the last of a question's tests comes
    steps = None
    if joint is not None:
        leaving = [asked[k] for k in sorted(places, key=last.__getitem__)]
        steps = in_steps(joint, [_key(a) if a.question.margin is None else None for a in leaving], alpha)
    gone = list(itertools.accumulate((number == last[t.place] for number, t in enumerate(order)), initial=0))
    still_rejecting, stop, worst = True, len(order), 0.0
    for number, test in enumerate(order):
        level = alpha / (len(places) - gone[min(number, stop)])
        if steps is None:
            worst = max(worst, test.p * (len(places) - gone[number]))
        else:
            level, worst = steps[0](gone[min(number, stop)]), max(worst, steps[1](gone[number], test.p))
        still_rejecting = still_rejecting and _is_rejected(asked[test.place], level, within=test.within)
        lines[test.place, test.within] = SettledPair(still_rejecting, level, worst)
        if not still_rejecting and stop == len(order):
            stop = number
    return lines


def _is_rejected(asked: Asked, level: float, *, within: bool) -> bool:
    """Whether a test at `level` rejects no difference, or (`within`) a difference of the margin or more."""
    question, evidence = asked.question, asked.known
    if not within:
        return question.value not in evidence.interval(1 - level)
    assert question.margin is not None
    return is_within(evidence, question.margin, alpha=level, value=question.value)


def undecided_claim(asked: Asked, *, level: float) -> Claim:
    """What was asked and what the evidence says of it at `level`, before any verdict."""
    return Claim(**_undecided_fields(asked, level=level))


def _undecided_fields(asked: Asked, *, level: float) -> dict[str, Any]:
    evidence, question = asked.known, asked.question
    return {
        "measure": question.name,
        "conditions": question.conditions,
        "verdict": Verdict.UNDECIDED,
        "sentence": "",
        "estimate": evidence.estimate,
        "plain_interval": (evidence.as_compared or evidence).interval(level),
        "values": evidence.values,
        "p": p_value(evidence, question.value),
        "n": evidence.n,
        "units": evidence.units,
        "unit": evidence.unit,
        "hypothesis": Hypothesis(relation=question.relation, value=question.value),
        "margin": question.margin,
        "better": asked.metric.better,
        "scale": asked.metric.ends,
        "primary": question.family in ("main", "requirement"),
        "basis": JUDGE_UNCHECKED if evidence.judged else asked.who_graded,
        "judged": evidence.judged,
        "apart": bool(evidence.sides),
        "missing": dict(evidence.missing),
        "labels": evidence.labels,
        "gates": asked.gates,
        "notes": (*asked.notes, *evidence.notes_at(level)),
    }


def _difference_claim(
    asked: Asked, differs: SettledPair, within: SettledPair | None, *, level: float, family: Family, share: float
) -> Claim:
    """The claim as its family settled it.

    An adjusted p-value is multiplied by `share`, as the level is divided: at most 1 - `level` where that shows it.
    """
    evidence, question = asked.known, asked.question
    interval = evidence.interval(1 - differs.alpha)
    if within is not None and within.shown:
        verdict, interval = Verdict.EQUIVALENT, evidence.interval(equivalence_level(within.alpha))
    elif differs.shown:
        against = question.relation == ("below" if asked.is_rising else "above")
        verdict = Verdict.REFUTED if against else Verdict.VERIFIED
    elif evidence.p_refuted is not None and evidence.p_refuted <= differs.alpha:
        verdict = Verdict.REFUTED
    else:
        verdict = Verdict.UNDECIDED
    aim = asked.words.default_margin if question.margin is None else question.margin
    undone = _undone_by_missing(evidence, lambda e: question.value not in e.interval(1 - differs.alpha))
    needed = None
    if verdict is Verdict.UNDECIDED and aim is not None:
        needed = needed_units(evidence, aim, alpha=differs.alpha, margin=question.margin is not None)
    fields = _undecided_fields(asked, level=level) | dict(
        verdict=verdict,
        interval=interval,
        p_adjusted=min(differs.p_adjusted * share, 1.0),
        needed=needed,
        needed_for=None if needed is None else aim,
        min_detectable_difference=min_detectable_difference(evidence, asked.metric, tail=differs.alpha / 2),
        sizes=() if question.margin is not None else size_steps(evidence, asked.metric, alpha=differs.alpha),
        family=family,
        as_graded=_difference_as_graded(asked, differs.alpha, None if within is None else within.alpha),
        notes=(*asked.notes, *evidence.notes_at(level), *undone),
        **_ways_with_missing(evidence, verdict, value=question.value, level=interval.level),
    )
    return Claim(**(fields | {"sentence": describe_claim(asked, Claim(**fields), is_real=differs.shown)}))


def _difference_as_graded(asked: Asked, alpha: float, within: float | None) -> GradedResult | None:
    """What the grades alone would show at the levels that decided a claim; None where no labels corrected them."""
    graded, question = asked.known.as_graded, asked.question
    if graded is None:
        return None
    interval, verdict = graded.interval(1 - alpha), Verdict.UNDECIDED
    if within is not None and is_within(graded, question.margin or 0.0, alpha=within, value=question.value):
        verdict = Verdict.EQUIVALENT
    elif question.value not in interval:
        against = question.relation == ("below" if graded.estimate > question.value else "above")
        verdict = Verdict.REFUTED if against else Verdict.VERIFIED
    return GradedResult(estimate=graded.estimate, interval=interval, verdict=verdict)


def _requirement_as_graded(asked: Asked, alpha: float) -> GradedResult | None:
    """What the grades alone would show of one requirement; None where no labels corrected them."""
    graded, question = asked.known.as_graded, asked.question
    if graded is None:
        return None
    interval = graded.interval(one_sided_level(alpha))
    verdict = decide_by_limits(interval, value=question.value, above=question.relation == "above")
    return GradedResult(estimate=graded.estimate, interval=interval, verdict=verdict)


def _ways_with_missing(evidence: Evidence, verdict: Verdict, *, value: float, level: float) -> dict[str, Any]:
    """Both ways to count missing grades, where an undecided claim would be decided without them; else empty."""
    ways = {"without_missing": evidence.ignoring, "missing_as_worst": evidence.as_worst}
    if verdict is not Verdict.UNDECIDED or evidence.ignoring is None or p_value(evidence.ignoring, value) > 1 - level:
        return {}
    return {
        name: Reckoning(estimate=way.estimate, interval=way.interval(level))
        for name, way in ways.items() if way is not None
    }  # fmt: skip


def _undone_by_missing(evidence: Evidence, is_shown: Callable[[Evidence], bool]) -> tuple[str, ...]:
    """A note on how many missing grades undo what is shown without them; none where they undo nothing."""
    if evidence.missing_to_undo is None or evidence.ignoring is None:
        return ()
    if is_shown(evidence) or not is_shown(evidence.ignoring):
        return ()
    undone = evidence.missing_to_undo(is_shown)
    return (f"if {undone:,} of the missing grades count as wrong, the difference is no longer shown",)


def decide_by_limits(*intervals: Interval | None, value: float, above: bool) -> Verdict:
    """The verdict on being above (below) a value that each of several intervals gives; undecided where they differ.

    The limits are points already rejected, so one that has reached the value decides. Limits that have crossed, or
    that both reach the value, reject everything and decide nothing, nor does an interval that is not known yet.
    """
    verdicts = {_verdict_by_limits(interval, value, above=above) for interval in intervals}
    return verdicts.pop() if len(verdicts) == 1 else Verdict.UNDECIDED


def _verdict_by_limits(interval: Interval | None, value: float, *, above: bool) -> Verdict:
    if interval is None or interval.low > interval.high or interval.low == interval.high == value:
        return Verdict.UNDECIDED
    if interval.low >= value:
        return Verdict.VERIFIED if above else Verdict.REFUTED
    if interval.high <= value:
        return Verdict.REFUTED if above else Verdict.VERIFIED
    return Verdict.UNDECIDED


def _decide_requirements(asked: Sequence[Asked], level: float, tried: int) -> tuple[Claim, ...]:
    """Requirements: each question is `above` or `below` a value, of one condition or of a difference.

    `verified`: the interval at 1 - 2 alpha lies on the side that is asked for; all must pass, so no level is divided.
    `refuted` (violated): the Holm-adjusted one-sided p-value of the other side is at most alpha. Else `undecided`, with
    the units that would show it met with 80% power if in truth there is no loss (a difference) or half of what is
    allowed (a level). So false passes and false violations are each bounded by alpha, separately.
    """
    alpha = (1 - level) / tried
    p_other_side = [one_sided(a.known, a.question.value, above=a.question.relation == "below") for a in asked]
    p_violated = holm(p_other_side)
    claims = []
    for one, p_own, p_holm in zip(asked, p_other_side, p_violated, strict=True):
        evidence, question = one.known, one.question
        is_met = functools.partial(_is_beyond, value=question.value, above=question.relation == "above", alpha=alpha)
        interval = evidence.interval(one_sided_level(alpha))
        verdict = Verdict.VERIFIED if is_met(evidence) else Verdict.UNDECIDED
        if _is_beyond(evidence, value=question.value, above=question.relation == "below", alpha=alpha):
            if float(p_holm) <= alpha:
                verdict = Verdict.REFUTED
            else:  # violated alone, not among all rules: the interval at the level that decided this
                interval = evidence.interval(one_sided_level(alpha * p_own / float(p_holm)))
        needed = requirement_needed(one, alpha) if verdict is Verdict.UNDECIDED else None
        claims.append(
            dataclasses.replace(
                undecided_claim(one, level=level),
                verdict=verdict,
                interval=interval,
                p_adjusted=min(float(p_holm) * tried, 1.0),
                needed=None if needed is None else needed[0],
                needed_for=None if needed is None else needed[1],
                min_detectable_difference=min_detectable_difference(evidence, one.metric, tail=alpha),
                as_graded=_requirement_as_graded(one, alpha),
                notes=(*one.notes, *evidence.notes_at(level), *_undone_by_missing(evidence, is_met)),
                family=Family(
                    method="intersection-union to pass, holm to violate", size=len(asked), name="requirement"
                ),
                **_ways_with_missing(evidence, verdict, value=question.value, level=interval.level),
            )
        )
    return tuple(
        dataclasses.replace(claim, sentence=describe_requirement(one, claim))
        for one, claim in zip(asked, claims, strict=True)
    )


def decide_heterogeneity(
    found: Sequence[Subgroups], *, level: float = DEFAULT_LEVEL, tried: int = 1
) -> tuple[Subgroups, ...]:
    """The subgroups of every pair with the verdict on their having one effect: `verified` where it differs.

    The pairs' tests are one Holm family at 1 - `level`, which `tried` attempts share.
    """
    tested = [one.p for one in found if one.p is not None]
    adjusted = iter(np.minimum(holm(tested) * tried, 1.0).tolist() if tested else ())
    decided = []
    for one in found:
        p = None if one.p is None else next(adjusted)
        verdict = Verdict.UNTESTABLE if p is None else Verdict.VERIFIED if p <= 1 - level else Verdict.UNDECIDED
        sentence = describe_heterogeneity(one, verdict, p)
        decided.append(dataclasses.replace(one, p_adjusted=p, verdict=verdict, sentence=sentence))
    return tuple(decided)


def _is_beyond(evidence: Evidence, *, value: float, above: bool, alpha: float) -> bool:
    """Whether the interval at 1 - 2 `alpha` lies above (below) a value."""
    interval = evidence.interval(one_sided_level(alpha))
    return interval.low > value if above else interval.high < value


def _blocked_claim(asked: Asked, blocked: Blocked) -> Claim:
    """A question that a check blocked, or that the data cannot answer: no numbers, the reason and the remedy."""
    question = asked.question
    claim = untestable_claim(
        question.name,
        question.conditions,
        "",
        hypothesis=Hypothesis(relation=question.relation, value=question.value),
        margin=question.margin,
        better=asked.metric.better,
        primary=question.family in ("main", "requirement"),
        gates=asked.gates,
        basis=asked.basis,
        notes=asked.notes,
    )
    return block_claim(claim, blocked, sentence=describe_blocked(asked, blocked))


def untestable_claim(measure: str, conditions: tuple[str, ...], sentence: str, **fields: Any) -> Claim:
    """A claim that the data cannot answer, without evidence; the sentence says why."""
    return Claim(measure=measure, conditions=conditions, verdict=Verdict.UNTESTABLE, sentence=sentence, **fields)


def block_claim(claim: Claim, blocked: Blocked, *, sentence: str) -> Claim:
    """A claim that a check took its verdict from: blocked, or untestable where the check has no name."""
    return dataclasses.replace(
        claim, verdict=Verdict.UNTESTABLE if blocked.gate is None else Verdict.BLOCKED, sentence=sentence,
        blocked_by=blocked.gate, reason=blocked.reason, remedy=blocked.remedy, override=blocked.override,
    )  # fmt: skip


class GatedVerdict(NamedTuple):
    """A verdict, and the gate that blocked it if one did."""

    verdict: Verdict
    blocked_by: str | None


def decide_by_gates(admitting: Sequence[Gate], passing: Sequence[Gate]) -> GatedVerdict:
    """The verdict of a claim that stands behind gates, and which of them blocks it.

    A gate that admits the claim and failed blocks it. Where one of either kind could not be run, or is short of data,
    the claim is undecided whatever those that it must pass say: neither their pass nor their failure has the planned
    power. Else one that it does not pass blocks it.
    """
    blocked = next((gate.name for gate in admitting if gate.passed is False), None)
    if blocked is None and any(gate.passed is None for gate in (*admitting, *passing)):
        return GatedVerdict(Verdict.UNDECIDED, None)
    blocked = blocked or next((gate.name for gate in passing if gate.passed is False), None)
    return GatedVerdict(Verdict.BLOCKED if blocked else Verdict.VERIFIED, blocked)


class GateOutcome(NamedTuple):
    """How a gate ends: by its data alone, with what stops it besides, and whether only an unchecked judge passes it."""

    by_data: Verdict
    verdict: Verdict
    is_judge_only: bool


def decide_gate(claims: Sequence[Claim], *, accept_judge: bool, is_stopped: bool = False) -> GateOutcome:
    """The outcome of requirements that must all be met: refuted where one is violated, verified where all are met.

    What only the grades of a judge meet whom nobody checked is undecided, unless the user accepts the judge. A gate
    that is stopped does not pass whatever the data show; a violation stays one.
    """
    verdicts = {claim.verdict for claim in claims}
    by_data = Verdict.UNDECIDED if verdicts - {Verdict.VERIFIED} else Verdict.VERIFIED
    if Verdict.REFUTED in verdicts:
        by_data = Verdict.REFUTED
    is_judge_only = by_data is Verdict.VERIFIED and not accept_judge and any(claim.judged for claim in claims)
    by_data = Verdict.UNDECIDED if is_judge_only else by_data
    verdict = Verdict.UNDECIDED if is_stopped and by_data is Verdict.VERIFIED else by_data
    return GateOutcome(by_data, verdict, is_judge_only)


class Alarm(NamedTuple):
    """When a watched measure is shown to have changed, and whether for the worse; None where nothing is shown."""

    at: str | None
    worse: bool | None


class Change(NamedTuple):
    """The look that first detects a change, and the one that first shows it; None where none does."""

    detected: int | None
    shown: int | None


def find_change(e_values: Floats, difference_at: Callable[[int], Evidence | None], *, limit: float) -> Change:
    """The first look whose evidence of a change reaches the limit, and the first from there on that shows it.

    A look shows it where its window's difference from what was before excludes 0 at level 1 - 1 / `limit`; it has none
    where nothing was before its window.
    """
    detected = next(iter(np.flatnonzero(e_values >= limit).tolist()), None)
    for look in range(len(e_values) if detected is None else detected, len(e_values)):
        difference = difference_at(look)
        if difference is not None and 0.0 not in difference.interval(1 - 1 / limit):
            return Change(detected, look)
    return Change(detected, None)


def decide_change(*ways: Alarm) -> Verdict:
    """Verified where every way to count missing grades shows a change, and all in one direction; else undecided."""
    is_shown = all(way.at is not None for way in ways) and len({way.worse for way in ways}) == 1
    return Verdict.VERIFIED if is_shown else Verdict.UNDECIDED
