"""From evidence to claims: one family a page, the deciding interval, what would settle it, and the sentence."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Literal

from scipy.special import ndtri, stdtrit

from richter.claims._control import JointTests, in_steps
from richter.claims._evidence import LEAST_FREEDOM, TYPICAL, UNPAIRED, Evidence
from richter.claims._labels import if_kinder
from richter.claims._outcomes import METRICS, Metric
from richter.claims._unpaired import rates_needed
from richter.errors import InputError
from richter.records import Claim, Family, Hypothesis, Interval, Note, Verdict, counted
from richter.stats import root

__all__ = [
    "Question",
    "claimed",
    "counted",
    "decide",
    "not_tested",
    "nothing_open",
    "p_value",
    "reach_of",
    "units_for",
]

POWER = 0.8
AFTER = 0.2  # of alpha, kept for secondary questions where a primary one has a margin
METHODS = ("holm", "max t")
UNTESTED = Note(
    "not tested: a claim that comes before it on this page, or a test of its margin, is not settled", "untested"
)

Relation = Literal["above", "below", "differs"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of one piece of evidence.

    `differs`: shown where the interval excludes `value`, on either side. `above` and `below` are directed: the other
    side refutes. With a `margin`, being within it of `value` is asked as well. `where` names the part of the items that
    it is about.
    """

    metric: Metric
    conditions: tuple[str, ...]
    evidence: Evidence
    relation: Relation = "differs"
    value: float = 0.0
    margin: float | None = None
    primary: bool = True
    where: str = ""
    basis: str = ""
    notes: tuple[str, ...] = ()

    @property
    def who_graded(self) -> str:
        """The basis; where judges graded and no labels corrected them that nobody checked them; what is not paired."""
        apart = UNPAIRED if self.evidence.sides else ""
        return "; ".join(part for part in (self.basis, apart, self.evidence.judged) if part)

    @property
    def rising(self) -> bool:
        """Whether the estimate lies above the value."""
        return self.evidence.estimate > self.value

    @property
    def words(self) -> Metric:
        """The metric's words; a ratio speaks in per cent."""
        if not self.evidence.relative:
            return self.metric
        return dataclasses.replace(self.metric, scale=100.0, suffix="%", digits=1, gap=0.05)


@dataclasses.dataclass(frozen=True, slots=True)
class _Test:
    """One test of the list: of which question, and whether it is the one of being within the margin."""

    place: int
    within: bool
    p: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Line:
    """A line as the list settled it: whether it was shown, at which level, and its p-value adjusted for the list."""

    shown: bool
    alpha: float
    p_adjusted: float


def one_sided(evidence: Evidence, value: float, *, above: bool) -> float:
    """The p-value of the quantity being at most (`above`) or at least `value`: half of the two-sided one."""
    half, beyond = p_value(evidence, value) / 2, evidence.estimate - value
    return half if (beyond if above else -beyond) > 0 else 1 - half


def decide(
    questions: Sequence[Question],
    *,
    level: float = 0.95,
    tried: int = 1,
    joint: JointTests | None = None,
    settled: bool = True,
    data_hash: str = "",
    seed: int | None = None,
) -> tuple[Claim, ...]:
    """Give every question its verdict, with the family-wise error over all of them at most 1 - `level`.

    Primary questions are one list. Each step shows the smallest p-value left if it is at most a = alpha / m, m being
    the questions of which a null hypothesis is left. That is Holm's rule; with a margin a question has two of them, no
    difference and one of the margin or more, and leaves when both are rejected. They exclude each other (Shaffer 1986):
    before the first false rejection all true ones are left, at most one a question, so that their number is at most m,
    a at most alpha over it, and a false rejection has a probability of at most alpha. A difference is decided by its
    interval at 1 - a, being within the margin by that at 1 - 2 a, and what comes after the first that is not shown by
    the interval of that step.

    Secondary questions come after: they are a list of their own if every primary was settled, and else not tested (no
    deciding interval). Where every null hypothesis of the primaries is rejected they have all of alpha. With a margin
    one is mostly left, and true: its false rejection and theirs add up. So primaries with a margin have 4/5 of alpha
    where others come after them, and those the last fifth.

    `tried` divides alpha: the best of that many attempts is on show. With `joint`, the law of claims against one
    control together, a is the level at which any of those left without a margin, or one of the others by Bonferroni,
    is falsely shown with probability alpha: at least alpha / m. `settled` is False where claims that come before all of
    these were not settled: then none is tested.
    """
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")
    if tried < 1:
        raise InputError(f"tried={tried} is not a number of attempts.", remedy="Give at least 1.")
    whole = (1 - level) / tried
    shared = len({q.primary for q in questions}) == 2 and any(q.primary and q.margin is not None for q in questions)
    alpha = whole * (1 - AFTER) if shared else whole
    made: dict[int, Claim] = {}
    going = settled
    for primary in (True, False):
        places = [k for k, q in enumerate(questions) if q.primary is primary]
        lines = _in_turn(questions, places, alpha, joint) if going else {}
        known = () if joint is None else joint.keys
        method = METHODS[any(questions[k].margin is None and _key(questions[k]) in known for k in places)]
        family, share = Family(method=method, size=len(places)), (1 - level) / alpha
        for k in places:
            own = lines.get((k, False)), lines.get((k, True))
            claim = _claim(questions[k], *own, level=level, family=family, share=share)
            made[k] = dataclasses.replace(claim, data_hash=data_hash, seed=seed)
        going = going and all(made[k].verdict is not Verdict.UNDECIDED for k in places)
        alpha = whole if all(line.shown for line in lines.values()) else whole * AFTER
    return tuple(made[k] for k in range(len(questions)))


def nothing_open(claims: Sequence[Claim], *, level: float) -> bool:
    """Whether all of a page's claims before are settled, and of a pair with a margin both tests: others may follow."""
    return all(
        c.verdict is not Verdict.UNDECIDED
        and (
            c.margin is None
            or c.family is None
            or c.family.method not in METHODS  # decided by another rule
            or (c.verdict is Verdict.EQUIVALENT and c.p_adjusted is not None and c.p_adjusted <= 1 - level)
        )
        for c in claims
    )


def _key(question: Question) -> tuple[str, tuple[str, ...]]:
    return question.metric.name, question.conditions


def _in_turn(
    questions: Sequence[Question], places: list[int], alpha: float, joint: JointTests | None
) -> dict[tuple[int, bool], _Line]:
    """The lines by the question's place and whether they are about being within its margin."""
    tests = [_Test(k, False, p_value(questions[k].evidence, questions[k].value)) for k in places]
    for k in places:
        question = questions[k]
        if question.margin is not None:
            low, high = question.value - question.margin, question.value + question.margin
            evidence = question.evidence
            p = max(one_sided(evidence, low, above=True), one_sided(evidence, high, above=False))
            tests.append(_Test(k, True, p))
    lines = {}
    order = sorted(tests, key=lambda t: t.p)
    last = {test.place: number for number, test in enumerate(order)}  # where the last of a question's tests comes
    steps = None
    if joint is not None:
        leaving = [questions[k] for k in sorted(places, key=last.__getitem__)]
        steps = in_steps(joint, [_key(q) if q.margin is None else None for q in leaving], alpha)
    gone = list(itertools.accumulate((number == last[t.place] for number, t in enumerate(order)), initial=0))
    going, stop, worst = True, len(order), 0.0
    for number, test in enumerate(order):
        question = questions[test.place]
        level = alpha / (len(places) - gone[min(number, stop)])
        if steps is None:
            worst = max(worst, test.p * (len(places) - gone[number]))
        else:
            level, worst = steps[0](gone[min(number, stop)]), max(worst, steps[1](gone[number], test.p))
        if test.within:
            assert question.margin is not None
            inside = question.evidence.interval(1 - 2 * level)
            low, high = question.value - question.margin, question.value + question.margin
            going = going and low < inside.low and inside.high < high
        else:
            found = question.evidence.interval(1 - level)
            going = going and not found.low <= question.value <= found.high
        lines[test.place, test.within] = _Line(going, level, worst)
        if not going and stop == len(order):
            stop = number
    return lines


def asked(question: Question, *, level: float) -> Claim:
    """What was asked and what the evidence says of it at `level`, before any verdict."""
    evidence = question.evidence
    return Claim(
        measure=question.metric.name,
        conditions=question.conditions,
        verdict=Verdict.UNDECIDED,
        sentence="",
        estimate=evidence.estimate,
        plain_interval=evidence.interval(level),
        values=evidence.values,
        p=p_value(evidence, question.value),
        n=evidence.n,
        units=evidence.units,
        unit=evidence.unit,
        hypothesis=Hypothesis(relation=question.relation, value=question.value),
        margin=question.margin,
        better=question.metric.better,
        primary=question.primary,
        basis=question.who_graded,
        judged=evidence.judged,
        apart=bool(evidence.sides),
        notes=(*question.notes, *evidence.notes),
    )


def _claim(
    question: Question, differs: _Line | None, within: _Line | None, *, level: float, family: Family, share: float
) -> Claim:
    """The claim as its list settled it; without a line its turn did not come, and no interval decided.

    An adjusted p-value is multiplied by `share`, as the level is divided: at most 1 - `level` where that shows it.
    """
    evidence, claim = question.evidence, asked(question, level=level)
    if differs is None:
        said = sentence(question, None, evidence.interval(level))
        return dataclasses.replace(claim, sentence=said, notes=(UNTESTED, *claim.notes))
    interval = evidence.interval(1 - differs.alpha)
    if within is not None and within.shown:
        verdict, interval = Verdict.EQUIVALENT, evidence.interval(1 - 2 * within.alpha)
    elif differs.shown:
        against = question.relation == ("below" if question.rising else "above")
        verdict = Verdict.REFUTED if against else Verdict.VERIFIED
    else:
        verdict = Verdict.UNDECIDED
    aim = question.words.gap if question.margin is None else question.margin
    needed = None
    if verdict is Verdict.UNDECIDED and aim is not None:
        needed = needed_units(evidence, aim, alpha=differs.alpha, margin=question.margin is not None)
    error = evidence.standard_error
    return dataclasses.replace(
        claim,
        verdict=verdict,
        sentence=sentence(question, verdict, interval, needed=needed, aim=aim, real=differs.shown),
        interval=interval,
        p_adjusted=min(differs.p_adjusted * share, 1.0),
        needed=needed,
        needed_for=None if needed is None else aim,
        could_show=visible(question.metric, reach_of(evidence.freedom, differs.alpha / 2, POWER) * error)
        if error
        else None,
        family=family,
    )


def not_tested(claim: Claim, *, by: str = "") -> Claim:
    """A claim decided in a list of its own whose turn did not come on this page: undecided, with its plain interval.

    `by` is the command that asks it first: what it says of it is quoted, since the two must not contradict each other.
    """
    if not claim.decided or claim.estimate is None:
        return claim
    words = METRICS.get(claim.measure, METRICS["mean_score"])
    noun, who = words.noun if claim.measure in METRICS else claim.measure, " and ".join(claim.conditions)
    plain, value = claim.plain_interval or claim.interval, 0.0 if claim.hypothesis is None else claim.hypothesis.value
    two = len(claim.conditions) == 2
    unit = _unit(words, two)
    asked = f"{who} differ in {noun}" if two else f"{noun} of {who} is not {words.amount(value)}{unit}"
    span = words.amount(claim.estimate, sign=two) + unit
    if plain is not None:
        span += f" [{_end(words, plain.low, sign=two)}, {_end(words, plain.high, sign=two)}]"
        span += f", plain {100 * plain.level:g}% interval"
    return dataclasses.replace(
        claim, verdict=Verdict.UNDECIDED, interval=None, p_adjusted=None, family=None, needed=None, needed_for=None,
        sentence=f"Whether {asked} was not tested{' here' if by else ''}: {span}."
        + (f" {by}, which asks it first, says: {claim.sentence}" if by else ""),
        notes=(UNTESTED, *claim.notes),
    )  # fmt: skip


def visible(metric: Metric, reach: float) -> float | None:
    """The smallest difference that would have been seen; None where the metric's whole range would not have been."""
    return None if metric.low is not None and metric.high is not None and reach > metric.high - metric.low else reach


def needed_units(evidence: Evidence, aim: float, *, alpha: float, margin: bool = False) -> int | None:
    """Units that settle a true difference of `aim` at two-sided `alpha` with 80% power; never the one that was seen.

    units x ((t_a/2 + t_power) se / aim)^2, t being z where no t test decides; with a `margin` also enough to show being
    within it when there is none: units x ((t_a + t_(1+power)/2) se / margin)^2.
    """
    if evidence.standard_error is None or evidence.standard_error == 0 or evidence.units < 1:
        return None
    tests = [(alpha / 2, POWER)] + [(alpha, (1 + POWER) / 2)] * margin
    return max(units_needed(evidence, aim, tail=tail, power=power) for tail, power in tests)


def units_needed(evidence: Evidence, distance: float, *, tail: float, power: float = POWER) -> int:
    """Units like these that show a true difference of `distance` at `tail` on its side with `power`.

    Of two rates on different items as many as exact limits of their counts take (`rates_needed`).
    """
    assert evidence.standard_error is not None
    variance, free = evidence.units * evidence.standard_error**2, (evidence.freedom + 1) / evidence.units
    n = units_for(variance, distance, tail=tail, power=power, freedom=free)
    return rates_needed(evidence, distance, n, tail=tail, power=power) if evidence.counts else n


def reach_of(freedom: float, tail: float, power: float) -> float:
    """Standard errors that a true difference must have to be shown at `tail` on its side with `power`: t + t_power."""
    if math.isinf(freedom):
        return float(ndtri(1 - tail) + ndtri(power))
    return float(stdtrit(freedom, 1 - tail) + stdtrit(freedom, power))


def units_for(variance: float, distance: float, *, tail: float, power: float, freedom: float = math.inf) -> int:
    """The smallest n with n >= variance ((t_tail + t_power) / distance)^2, Student's t of n x `freedom` less 1.

    `variance` is one unit's and `freedom` the degrees of freedom that one brings (1 where units count alike; infinite
    where no t is taken, and t is z). A t test decides nothing under four of them.
    """
    n = math.ceil(variance * (reach_of(math.inf, tail, power) / distance) ** 2)
    if math.isinf(freedom):
        return n
    n = max(n, math.ceil((LEAST_FREEDOM + 1) / freedom - 1e-9))
    while n < variance * (reach_of(n * freedom - 1, tail, power) / distance) ** 2:
        n += 1
    return n


def sentence(
    question: Question,
    verdict: Verdict | None,
    interval: Interval,
    *,
    needed: int | None = None,
    aim: float | None = None,
    real: bool = False,
) -> str:
    """The one form of all sentences: what is so, then the numbers. None as verdict: not tested."""
    evidence, two = question.evidence, len(question.conditions) == 2
    words = question.words.telling(interval.low, interval.high)
    if verdict in (Verdict.VERIFIED, Verdict.REFUTED):
        words = words.telling(interval.low, interval.high, stated=question.value)
    unit = _unit(words, two)
    low, high = (_end(words, x, sign=two) for x in (interval.low, interval.high))
    span = f"{words.amount(evidence.estimate, sign=two)}{unit} [{low}, {high}]"
    on = f"on {' and '.join(f'{n:,}' for n in evidence.sides)} different items" if evidence.sides else ""
    on = on or f"on {counted(evidence.n, 'item')}"
    if evidence.unit != "item":
        on += f" in {counted(evidence.units, evidence.unit)}"
    on += f" of {question.where}" if question.where else ""
    if evidence.relative:
        span, on = f"{span} ({TYPICAL})", on + evidence.against
    if two:
        a, b = question.conditions
        if verdict is None or verdict is Verdict.UNDECIDED:
            up = question.relation != "below" if question.relation != "differs" else words.better == "higher"
            said = f"{b} is {_word(words, up)} than {a}"
        else:
            said = f"{b} is {_word(words, question.rising)} than {a}"
        if question.value != 0:
            said += f" by more than {words.amount(abs(question.value))}{unit}"
        alike = f"{b} and {a} are {words.alike_word}"
    else:
        name = f"{words.noun} of {question.conditions[0]}"
        relation = {"above": "is above", "below": "is below", "differs": "differs from"}[question.relation]
        said = f"{name} {relation} {words.amount(question.value)}{unit}"
        if verdict is Verdict.REFUTED:
            said = f"{name} is not {question.relation} {words.amount(question.value)}{unit}"
        alike = f"{name} is {words.amount(question.value)}{unit}"
    judged, kinder = "", ""
    if evidence.judged:
        judged, kinder = f", {evidence.judged}", kinder_judge(question, verdict, interval)
    if verdict is None:
        return f"Whether {said} was not tested{judged}: {span} {on}, plain {100 * interval.level:g}% interval."
    if verdict is Verdict.EQUIVALENT:
        assert question.margin is not None
        more = "; the difference is real but within the margin" if real else ""
        return f"{alike} within {words.amount(question.margin)}{unit}{judged}: {span} {on}{more}{kinder}."
    if verdict in (Verdict.VERIFIED, Verdict.REFUTED):
        return f"{said}{judged}: {span} {on}{kinder}."
    text = f"Whether {said} is undecided{judged}: {span} {on}"
    if needed is not None and aim is not None:
        more = "would settle" if needed > evidence.units else "were enough for"
        more = f"in all {more}" if evidence.sides else more
        text += f"; {counted(needed, evidence.unit)} {more} a difference of {words.amount(aim)}{unit}"
    elif evidence.notes:
        text += f"; {evidence.notes[-1]}"
    return f"{text}{kinder}."


def kinder_judge(question: Question, verdict: Verdict | None, interval: Interval) -> str:
    """What a judge that is kinder to one side, or harsher than people to the only one, would do to the verdict."""
    if verdict is None:
        return ""
    two, low, high = len(question.conditions) == 2, interval.low - question.value, interval.high - question.value
    if verdict is Verdict.EQUIVALENT:
        assert question.margin is not None
        return if_kinder(question.metric, max(question.margin - max(high, -low), 0.0), "kinder to one side")
    if verdict is Verdict.UNDECIDED:
        return if_kinder(question.metric, None, "kinder to one side" if two else "kinder or harsher than people")
    good = question.rising == (question.metric.better == "higher")
    if two:
        return if_kinder(question.metric, min(abs(low), abs(high)), f"kinder to {question.conditions[int(good)]}")
    return if_kinder(question.metric, min(abs(low), abs(high)), f"{'kinder' if good else 'harsher'} than people")


def claimed(words: Metric, claim: Claim) -> str:
    """What a directed claim on a difference says, before any verdict."""
    a, b = claim.conditions
    return f"{b} is {_word(words, claim.hypothesis is None or claim.hypothesis.relation == 'above')} than {a}"


def _word(words: Metric, rising: bool) -> str:
    return words.better_word if rising == (words.better == "higher") else words.worse_word


def _unit(words: Metric, two: bool) -> str:
    """Differences of rates are in points, rates in per cent."""
    return words.suffix if two else words.unit


def _end(words: Metric, value: float, *, sign: bool) -> str:
    return str(value) if math.isinf(value) else words.amount(value, sign=sign)


def p_value(evidence: Evidence, value: float) -> float:
    """The two-sided p-value of the quantity being `value`: the smallest alpha whose interval excludes it."""
    if evidence.p is not None:
        return evidence.p(value)

    def outside(log_alpha: float) -> float:
        interval = evidence.interval(1 - math.exp(log_alpha))
        return float(max(interval.low - value, value - interval.high)) or -1.0  # an end is inside

    low, high = math.log(1e-12), math.log(1 - 1e-12)
    if outside(low) > 0:
        return 1e-12
    return math.exp(root(outside, low, high)) if outside(high) > 0 else 1.0
