"""The sentences of claims: the answer, its numbers, then what would change it."""

import math
from typing import TYPE_CHECKING

from richter.claims._measures import Metric
from richter.claims._question import TOTALS, Asked, Blocked
from richter.records import Claim, GradedResult, Interval, Verdict, of_kind
from richter.words._spans import (
    amount_of,
    count_units,
    describe_level,
    describe_sizes,
    describe_span,
    digits_by_width,
    round_up_to_two_figures,
    stated_amount,
    unit_of,
)

if TYPE_CHECKING:
    from richter.claims._subgroups import Subgroups

__all__ = ["describe_gap", "describe_label_change", "describe_note", "requirement_name"]

JUDGE_ERROR_RATE = 0.1  # of a judge that nobody checked, for the number of labels that would settle a claim
INCONCLUSIVE = "Inconclusive"
_SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)


def describe_claim(asked: Asked, claim: Claim, *, is_real: bool = False) -> str:
    """A claim in a few sentences; `is_real`: a difference is shown although it is within the margin."""
    evidence, words, is_difference = asked.known, asked.words, len(claim.conditions) == 2
    assert claim.interval is not None
    span = describe_span(
        words, evidence.estimate, claim.interval, is_difference=is_difference, basis=describe_basis(asked)
    )
    if claim.verdict is Verdict.EQUIVALENT:
        text = _describe_equivalent(asked, words, span)
        text += " The difference is real but within the margin." if is_real else ""
    elif claim.verdict in _SHOWN:
        text = f"{_statement(asked, words, claim.verdict)}: {span}."
        is_name = len(claim.conditions) == 2 and not text.startswith("neither of ")  # a name stays as it is written
        text = _with_judge(asked, text) if evidence.judged or is_name else text[0].upper() + text[1:]
    else:
        text = _describe_inconclusive(asked, words, claim, span)
    return " ".join(filter(None, (text, *_extra_sentences(asked, claim), _describe_judge(claim, asked.metric))))


def _extra_sentences(asked: Asked, claim: Claim) -> list[str]:
    """What follows the numbers: what the estimator adds, missing grades, and sizes where nothing is shown."""
    evidence = asked.known
    texts = [as_sentence(evidence.detail)]
    if claim.verdict is Verdict.UNDECIDED:
        missing = describe_missing(claim, asked.words)
        sizes = "" if missing else describe_sizes(claim, asked.words)  # more questions would not settle it
        texts += [missing, sizes]
        texts += [as_sentence(evidence.notes[-1])] if not sizes and not missing and evidence.notes else []
    return texts


def _with_judge(asked: Asked, text: str) -> str:
    return f"By the judge's grades, {text}" if asked.known.judged else text


def _describe_equivalent(asked: Asked, words: Metric, span: str) -> str:
    question = asked.question
    assert question.margin is not None
    margin = stated_amount(words, question.margin, is_difference=len(question.conditions) == 2)
    within = f"within the margin of {margin}"
    if len(question.conditions) == 2:
        first, second = question.conditions
        text = f"no practical difference in {words.noun} between {first} and {second}: {span}, {within}."
    else:
        value = f"{words.amount(question.value)}{words.unit}"
        text = f"{words.noun} of {question.conditions[0]} is {value}: {span}, {within}."
    return f"By the judge's grades, {text}" if asked.known.judged else text[0].upper() + text[1:]


def _describe_inconclusive(asked: Asked, words: Metric, claim: Claim, span: str) -> str:
    """That nothing is shown, which way the estimate points, and how far both may lie apart."""
    question, evidence = asked.question, asked.known
    assert claim.interval is not None
    lead = f"{INCONCLUSIVE} by the judge's grades" if evidence.judged else INCONCLUSIVE
    if len(question.conditions) == 2 and question.value == 0:
        shown = digits_by_width(words, claim.interval.low, claim.interval.high)
        gap = describe_gap(shown, question.conditions, evidence.estimate)
        return f"{lead}: {gap} {span[span.index('(') :]}."
    return f"{lead}: the data do not show that {_statement(asked, words, Verdict.UNDECIDED)}: {span}."


def describe_gap(words: Metric, conditions: tuple[str, ...], estimate: float) -> str:
    """Which of two is higher in a measure and by how much, as a statement about these data only."""
    first, second = conditions
    amount = f"{words.amount(abs(estimate))}{words.suffix}"
    is_same = not float(words.amount(abs(estimate)).replace(",", ""))
    if words.is_cost:
        if is_same:
            return f"{second} and {first} are {words.alike_word}"
        return f"{second} is {amount} {_word(words, estimate > 0)} than {first}"
    if words.source == "score" and words.better == "higher":
        on = "" if words.name in ("accuracy", "mean_score") else f" in {words.noun}"
        if is_same:
            return f"{second} and {first} scored the same{on}"
        return f"{second} scored {amount} {'higher' if estimate > 0 else 'lower'} than {first}{on}"
    if is_same:
        return f"{second} and {first} have the same {words.noun}"
    return f"the {words.noun} of {second} is {amount} {'higher' if estimate > 0 else 'lower'} than that of {first}"


# ------------------------------------------------------------------ requirements


def describe_requirement(asked: Asked, claim: Claim) -> str:
    """A requirement in a few sentences: what holds, its one-sided limit, and what would show it met."""
    words, evidence = asked.words, asked.known
    assert claim.interval is not None
    name = _requirement(asked.words, claim.conditions, asked.question.relation, asked.question.value)
    limit = _describe_limit(asked, claim.interval, is_best_case=claim.verdict is Verdict.REFUTED)
    if claim.verdict is Verdict.VERIFIED:
        text = f"{name} ({limit}, {describe_basis(asked)})."
    elif claim.verdict is Verdict.REFUTED:
        shown = digits_by_width(words, claim.interval.low, claim.interval.high)
        is_difference = len(claim.conditions) == 2
        unit = unit_of(words, is_difference=is_difference)
        estimate = f"{shown.amount(evidence.estimate, sign=is_difference)}{unit}"
        text = f"{_violated(asked)}: {estimate} ({limit}, {describe_basis(asked)})."
    else:
        lead = "can't" if evidence.judged else "Can't"
        text = f"{lead} rule out that {_violated(asked)} ({limit}, {describe_basis(asked)})."
    text = _with_judge(asked, text)
    extra: list[str] = []
    if claim.verdict is Verdict.UNDECIDED:
        extra += [describe_missing(claim, words), _describe_gate_size(asked, claim)]
    return " ".join(filter(None, (text, *extra, _describe_judge(claim, asked.metric))))


def _describe_limit(asked: Asked, interval: Interval, *, is_best_case: bool) -> str:
    """The end of the interval that decides, which holds at a one-sided level: 'one-sided 95%: at worst -0.4 points'."""
    words = digits_by_width(asked.words, interval.low, interval.high, stated=asked.question.value)
    is_difference = len(asked.question.conditions) == 2
    is_low = (asked.question.relation == "above") != is_best_case
    end = interval.low if is_low else interval.high
    kind = ("at best" if is_best_case else "at worst") if is_difference else "at least" if is_low else "at most"
    is_gain = is_difference and end * (1 if asked.question.relation == "above" else -1) > 0
    if is_gain and not asked.words.is_cost:
        amount = f"{amount_of(words, abs(end), sign=False)}{unit_of(words, is_difference=True)} better"
        kind = "at best" if is_best_case else "at least"
        return f"one-sided {describe_level((1 + interval.level) / 2)}: {kind} {amount}"
    amount = f"{amount_of(words, end, sign=is_difference)}{unit_of(words, is_difference=is_difference)}"
    return f"one-sided {describe_level((1 + interval.level) / 2)}: {kind} {amount}"


def _describe_gate_size(asked: Asked, claim: Claim) -> str:
    """How many units would show a requirement met; where that is not known, the last note."""
    if claim.needed is None:
        return as_sentence(asked.known.notes[-1]) if asked.known.notes else ""
    truth = "the two are equally good" if len(claim.conditions) == 2 else "half of what is allowed is true"
    if claim.needed <= claim.units:
        return f"If {truth}, these {count_units(claim.units, claim.unit)} were enough to pass."
    number = count_units(round_up_to_two_figures(claim.needed), claim.unit)
    return f"If {truth}, about {number} would pass this gate."


def requirement_name(metric: Metric, claim: Claim) -> str:
    """What a requirement asks, in words."""
    assert claim.hypothesis is not None
    return _requirement(metric, claim.conditions, claim.hypothesis.relation, claim.hypothesis.value)


def _requirement(words: Metric, conditions: tuple[str, ...], relation: str, value: float) -> str:
    if len(conditions) == 2:
        first, second = conditions
        return f"{second} is not {_worse_by(words, value)} than {first}{_on(words)}"
    return f"{words.noun} of {conditions[0]} is {relation} {stated_amount(words, value, is_difference=False)}"


def _violated(asked: Asked) -> str:
    """The opposite of what a requirement asks."""
    question, words = asked.question, asked.words
    if len(question.conditions) == 2:
        first, second = question.conditions
        return f"{second} is {_worse_by(words, question.value)} than {first}{_on(words)}"
    other = "below" if question.relation == "above" else "above"
    value = stated_amount(words, question.value, is_difference=False)
    return f"{words.noun} of {question.conditions[0]} is {other} {value}"


def _worse_by(words: Metric, value: float) -> str:
    return f"more than {stated_amount(words, value, is_difference=True)} worse" if value else "worse"


def _on(words: Metric) -> str:
    return "" if words.name == "accuracy" else f" in {words.noun}"


# ------------------------------------------------------------------ other claims


def describe_blocked(asked: Asked, blocked: Blocked) -> str:
    """Why a question has no answer, in one sentence."""
    question, words = asked.question, asked.metric
    reason = blocked.reason.rstrip(".")
    if question.family == "requirement":
        name = _requirement(words, question.conditions, question.relation, question.value)
        return f"Can't check that {name}: {reason}."
    if len(question.conditions) == 2:
        first, second = question.conditions
        return f"Can't compare {second} with {first} on {words.noun}: {reason}."
    return f"Can't measure {words.noun} of {question.conditions[0]}: {reason}."


def describe_missing(claim: Claim, words: Metric) -> str:
    """How the answer depends on missing grades: ignoring them, and counting each as wrong; else empty."""
    if claim.without_missing is None or claim.missing_as_worst is None:
        return ""
    total = sum(claim.missing.values())
    who = " and ".join(f"{n:,} of {name}" for name, n in claim.missing.items() if n)
    is_difference = len(claim.conditions) == 2
    ignoring, as_worst = (
        describe_span(words, way.estimate, way.interval, is_difference=is_difference)
        for way in (claim.without_missing, claim.missing_as_worst)
    )
    noun = "grade" if total == 1 else "grades"
    return (
        f"It depends on {total:,} missing {noun} ({who}). Ignoring them: {ignoring}. "
        f"Counting them as wrong: {as_worst}."
    )


def _describe_judge(claim: Claim, words: Metric) -> str:
    """Which judge graded, and the bias that undoes the claim."""
    return f"{as_sentence(claim.judged)} {describe_judge_bias(claim, words)}".strip()


def describe_judge_bias(claim: Claim, words: Metric) -> str:
    """The bias of an unchecked judge that undoes a claim, and the labels that settle it."""
    if not claim.judged:
        return ""
    bias = judge_bias_to_undo(claim)
    if bias is None or words.low is None or words.high is None or words.kind == "real":
        return ""
    is_difference, is_good = len(claim.conditions) == 2, _is_rising(claim) == (words.better == "higher")
    amount = f"{digits_by_width(words, bias, 0.0).amount(bias)}{unit_of(words, is_difference=is_difference)}"
    leans = f"is {amount} kinder or harsher than people"
    if is_difference:
        leans = (
            f"favours {'one side' if claim.verdict is Verdict.EQUIVALENT else claim.conditions[is_good]} by {amount}"
        )
    labels = labels_to_settle(claim, words)
    more = "" if labels is None else f" About {labels:,} human labels would settle it."
    if labels is not None and 0 < claim.n * len(claim.conditions) <= labels:
        more = " It takes human labels of all these answers to settle it."
    return f"If the judge {leans}, this result no longer holds.{more}"


def describe_label_change(claim: Claim, words: Metric) -> str:
    """That human labels changed the verdict, with the figure before and after; empty where they did not."""
    graded = claim.as_graded
    if graded is None or claim.estimate is None or not _is_other_verdict(claim, graded):
        return ""
    is_difference = len(claim.conditions) == 2
    shown = digits_by_width(words, graded.interval.low, graded.interval.high)
    before, after = (shown.amount(x, sign=is_difference) for x in (graded.estimate, claim.estimate))
    unit = unit_of(words, is_difference=is_difference)
    labels = f"{claim.labels:,} label{'s' if claim.labels != 1 else ''}"
    if of_kind(claim.notes, "label conflict"):
        return f"Your {labels} disagree with the automatic grades: {before}{unit} became {after}."
    return f"Corrected by your {labels}, {before}{unit} became {after}."


def _is_other_verdict(claim: Claim, graded: GradedResult) -> bool:
    """Whether grades alone would give another verdict, or the same one of the other sign."""
    if graded.verdict is not claim.verdict:
        return True
    return claim.verdict in _SHOWN and (graded.estimate > _value_of(claim)) != _is_rising(claim)


def describe_heterogeneity(found: "Subgroups", verdict: Verdict, p: float | None) -> str:
    """Whether the effect differs between subgroups, in one sentence."""
    effect = f"the effect ({TOTALS})" if found.relative else "the effect"
    between = f"differs between the {len(found.subgroups)} subgroups"
    if p is None:
        return f"can't test if {effect} {between}: nothing varies within them"
    if verdict is Verdict.VERIFIED:
        return f"{effect} {between} (p = {p:.2g})"
    return f"there is no evidence that {effect} {between} (p = {p:.2g})"


def _value_of(claim: Claim) -> float:
    return 0.0 if claim.hypothesis is None else claim.hypothesis.value


def _is_rising(claim: Claim) -> bool:
    return (claim.estimate or 0.0) > _value_of(claim)


def judge_bias_to_undo(claim: Claim) -> float | None:
    """How much kinder to one side a judge must be to undo a claim; None where nothing was shown."""
    span = claim.interval
    if span is None or not claim.decided:
        return None
    low, high = span.low - _value_of(claim), span.high - _value_of(claim)
    if claim.verdict is Verdict.EQUIVALENT:
        assert claim.margin is not None
        return max(claim.margin - max(high, -low), 0.0)
    return min(abs(low), abs(high))


def labels_to_settle(claim: Claim, words: Metric) -> int | None:
    """Human labels, over both conditions, that show the difference seen if the judge errs in one of ten answers.

    n = (z_0.975 + z_0.8)^2 v / estimate^2 labels a condition, v = `JUDGE_ERROR_RATE` of the squared range for each.
    """
    beyond = (claim.estimate or 0.0) - _value_of(claim)
    if words.low is None or words.high is None or words.kind == "real" or beyond == 0:
        return None
    sides = len(claim.conditions)
    variance = sides * JUDGE_ERROR_RATE * (words.high - words.low) ** 2
    number = sides * math.ceil(2.8**2 * variance / beyond**2)
    return None if number > 1_000_000 else round_up_to_two_figures(number)


# ------------------------------------------------------------------ parts of sentences


def as_sentence(text: str) -> str:
    """A remark as a sentence of its own: a capital letter and a full stop; empty stays empty."""
    text = text.strip(" ;.")
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _statement(asked: Asked, words: Metric, verdict: Verdict) -> str:
    """What is so, or what was asked where nothing is shown."""
    question, is_difference = asked.question, len(asked.question.conditions) == 2
    if not is_difference:
        name, value = (
            f"{words.noun} of {question.conditions[0]}",
            stated_amount(words, question.value, is_difference=False),
        )
        if verdict is Verdict.REFUTED:
            return f"{name} is not {question.relation} {value}"
        relation = {"above": "is above", "below": "is below", "differs": "differs from"}[question.relation]
        return f"{name} {relation} {value}"
    first, second = question.conditions
    if verdict is Verdict.REFUTED and question.relation == "differs":  # refuted otherwise than by a sign
        return f"neither of {first} and {second} is {words.worse_word}: each is worse at some"
    rising = asked.is_rising
    if verdict is Verdict.UNDECIDED:
        rising = words.better == "higher" if question.relation == "differs" else question.relation == "above"
    text = f"{second} is {_word(words, rising)} than {first}"
    return (
        text
        if question.value == 0
        else f"{text} by more than {stated_amount(words, question.value, is_difference=True)}"
    )


def describe_basis(asked: Asked) -> str:
    """On how much a claim rests: '900 questions in 40 groups of domain law'; of unpaired conditions both counts."""
    evidence, question = asked.known, asked.question
    text = f"{' and '.join(f'{n:,}' for n in evidence.sides)} different questions" if evidence.sides else ""
    text = text or count_units(evidence.n, "item")
    if evidence.unit != "item":
        text += f" in {count_units(evidence.units, evidence.unit)}"
    text += f" of {question.column_name or question.column} {question.part}" if question.column else ""
    return f"{TOTALS}, {text}" if evidence.relative else text


def _word(words: Metric, rising: bool) -> str:
    return words.better_word if rising == (words.better == "higher") else words.worse_word


def describe_note(text: str) -> str:
    """A note as a line of its own; a command or an option at its end gets no full stop.

    >>> describe_note("new lacks 3 grades"), describe_note("another column: --map group=COLUMN")
    ('Note: new lacks 3 grades.', 'Note: another column: --map group=COLUMN')
    """
    text = text.rstrip(" .")
    is_command = text.split(" ")[-1].startswith("--") or ("=" in text.split(" ")[-1].rstrip(")") and text[-1] != ")")
    return f"Note: {text}" if is_command else f"Note: {text}."
