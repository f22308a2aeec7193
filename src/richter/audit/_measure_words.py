"""The results in words: the question, the checks made, what to do next, and what a signatory can sign."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from richter import severity as sev
from richter.audit._floors_audit import gap_claims
from richter.audit._measure_claims import ECE_MARGIN, Measured, calibration_claims_of
from richter.audit._measure_conditions import SIMULATED, condition_outcomes
from richter.audit._measure_run import BASES, RunRecords
from richter.audit._plan import Plan
from richter.audit._plan_lock import PlanStatus
from richter.audit._rating_agreement import self_judging
from richter.audit._results import Bound, Check, ConditionResults, NoSection, Signature
from richter.claims import METRICS, answer, as_sample, mean_evidence
from richter.errors import InputError
from richter.ratings import Agreement, Undefined, panel_failures
from richter.records import Claim, Verdict, at_most, counted, printable, refusals
from richter.tables import CATASTROPHIC

MILLION = 1_000_000
REPLIES = "judge replies read"
_LACKING = {  # what a section that is not there would tell
    "severity": "how bad the errors are",
    "tail": "how bad the worst errors are",
    "calibration": "whether it knows when it is wrong",
    "floors": "which is better",
    "search": "where else it fails",
    "judges": "whether judges agree",
}
_STATES = {  # of a run: whether it is complete, and what is said of it
    "complete": (True, "nobody is writing to the run"),
    "in progress": (False, "the run is being written: these figures are of a moment"),
    "empty": (None, "the run holds no answers"),
}
ACCEPTED_ALPHA = 0.667  # Krippendorff (2004): below it, no conclusions even tentatively


def question_of(names: Sequence[str]) -> str:
    """What the run asks, in one sentence."""
    shown = [printable(name, limit=60) for name in names]
    if not shown:
        return "Which conditions fail, how badly, and do they know it?"
    if len(shown) == 1:
        return f"How often and how badly does {shown[0]} fail, and does it know it?"
    if len(shown) == 2:
        return f"Is {shown[1]} worse than {shown[0]}, how badly do they fail, do they know it?"
    return f"Which of {len(shown)} conditions fail more, how badly do they fail, do they know it?"


def answer_of(
    records: RunRecords, measured: Measured, conditions: Sequence[ConditionResults], plan: Plan | None
) -> str:
    """What the claims say, in plain words; see `richter.claims.answer`."""
    claims = [] if measured.comparison is None else list(measured.comparison.claims)
    if measured.severity is not None:
        known = {(c.measure, c.conditions) for c in claims}
        claims += [c for c in measured.severity.study.claims if (c.measure, c.conditions) not in known]
    if len(records.names) == 1:
        required = () if measured.severity is None else measured.severity.requirements
        required += () if measured.gate is None else measured.gate.claims
        return " ".join([_alone(conditions[0]), *(c.sentence for c in required)])
    scale = next((row.scored.scale for row in conditions if row.scored is not None), None)
    named = plan.values if plan is not None and plan.kind == "gate" else {}
    return answer(
        claims,
        conditions=records.names,
        candidate=named.get("candidate"),
        baseline=named.get("baseline") or None,
        scale=scale,
    )


def _alone(row: ConditionResults) -> str:
    """One condition's answer: how often it is wrong, or how well it is scored."""
    often, who = row.how_often, printable(row.name, limit=60)
    if often is None and row.scored is not None:
        span, on = row.scored.interval, counted(row.scored.n, "item")
        ends = f" (between {span.low:.4g} and {span.high:.4g})" if span is not None and math.isfinite(span.low) else ""
        return f"{who} is scored {row.scored.estimate:.4g}{ends} on {on}: {row.scored.what}."
    if often is None or often.interval is None:
        return f"Nobody graded the answers of {who}: how often it is wrong is not known."
    low, high = 100 * often.interval.low, 100 * often.interval.high
    answers = (
        counted(often.n, "answer")
        if row.rated <= often.n
        else f"{counted(row.rated, 'answer')} to {counted(often.n, 'item')}"
    )
    if often.estimate == 0:
        return f"No error of {who} was seen in {answers}: it is wrong in at most {at_most(high)}%."
    seen = f"{100 * often.estimate:.1f}% of {answers}"
    return f"{who} is wrong in {seen} (between {low:.1f}% and {high:.1f}%)."


# ------------------------------------------------------------------ checks


def _check(name: str, passed: bool | None, text: str) -> Check:
    return Check(name=name, passed=passed, text=text)


def checks_of(records: RunRecords, measured: Measured, status: PlanStatus | None) -> tuple[Check, ...]:
    """What was checked of the run itself; `passed` is None where a check could not be made."""
    answered = {name: records.asked[name].answered for name in records.names}
    failed = {name: records.asked[name].failed for name in records.names}
    items = len(records.items)
    apart = _apart(measured)
    short = {name: items - n for name, n in answered.items() if n < items and not apart}
    total = sum(records.asked[name].calls - failed[name] for name in records.names)
    return (
        _check("run complete", *_STATES[records.state]),
        _check(
            "every item answered",
            not short if total and not apart else None,
            "each condition has items of its own"
            if apart
            else f"each condition answered all {counted(items, 'item')}"
            if not short
            else f"{_listed(short)} short of {items:,} items",
        ),
        _check(
            "no failed calls",
            not any(failed.values()) if total else None,
            "no call failed for good" if not any(failed.values()) else f"failed for good: {_listed(failed)}",
        ),
        _rated(records, total),
        _aligned(measured),
        *_judged(records, measured),
        _fits(measured),
        _planned(status),
        *_fixed(measured),
        _real(records),
    )


def _listed(counts: Mapping[str, int]) -> str:
    named = [f"{printable(name, limit=40)} {n:,}" for name, n in counts.items() if n]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")


def _rated(records: RunRecords, total: int) -> Check:
    if records.basis is None or not total:
        return _check("every answer rated", None if not total else False, "no answer is rated")
    n = records.rated[records.basis]
    by = BASES[records.basis]
    return _check("every answer rated", n >= total, f"{n:,} of {counted(total, 'answer')} rated by {by}")


def _apart(measured: Measured) -> bool:
    """Whether conditions were compared as on different items."""
    return measured.comparison is not None and any(c.apart for c in measured.comparison.claims)


def _aligned(measured: Measured) -> Check:
    if measured.comparison is None:
        return _check("items aligned", None, "there are no two graded conditions to align")
    refused = measured.comparison.refused
    if refused:
        told = refusals((r.conditions, r.reason) for r in refused)
        more = f"; and {len(told) - 1} more, listed as not compared" if len(told) > 1 else ""
        return _check("items aligned", False, f"not compared: {printable(told[0])}{more}")
    number = len(measured.comparison.pairs)
    if _apart(measured):
        return _check("items aligned", None, "different items per condition: they are compared without pairs")
    text = "the two conditions share their items" if number == 1 else f"all {counted(number, 'pair')} share their items"
    return _check("items aligned", True, text)


def _judged(records: RunRecords, measured: Measured) -> list[Check]:
    """Whether judges agree with each other, and whether any judged itself."""
    panel = None if measured.agreement is None else measured.agreement.kinds.get("judge")
    lost = panel_failures(records.ratings)
    replies = [] if lost is None else [_check(REPLIES, lost.failed == 0, printable(str(lost), limit=300))]
    if not isinstance(panel, Agreement):
        return [*replies, _check("judges agree", None, "no two judges rated")]
    if isinstance(panel.alpha, Undefined):
        agree = _check("judges agree", None, f"undefined: {panel.alpha.why}")
    else:
        span, value = panel.alpha.interval, panel.alpha.estimate
        low = value if span is None else span.low
        text = f"Krippendorff's alpha {value:.2f} (at least {low:.2f}), {ACCEPTED_ALPHA:g} is asked for"
        agree = _check("judges agree", low >= ACCEPTED_ALPHA, text)
    try:
        own = self_judging(records)
    except InputError as fault:
        return [*replies, agree, _check("no model judged itself", None, fault.what)]
    if own is None:
        return [*replies, agree]
    text = f"{own.n_self:,} of {own.n_judge_ratings:,} judge ratings are of the judge's own model"
    return [*replies, agree, _check("no model judged itself", own.n_self == 0, text)]


def _fits(measured: Measured) -> Check:
    if measured.severity is None:
        return _check("the severity law fits", None, "no severities")
    fits = {n: f for n, f in measured.severity.study.slopes.items() if isinstance(f, sev.BValue)}
    bad = [name for name, fit in fits.items() if not fit.adequate]
    if not fits:
        return _check("the severity law fits", None, "no condition's errors allow a slope")
    within = measured.severity.study.recipe.tolerance
    text = f"of {counted(len(fits), 'slope')} {len(fits) - len(bad)} describe their errors within {within:g}"
    return _check("the severity law fits", not bad, text)


def _planned(status: PlanStatus | None) -> Check:
    if status is None:
        return _check("plan locked before asking", None, "there is no plan: every finding is exploratory")
    if status.confirmatory:
        return _check(
            "plan locked before asking", True, f"locked {status.locked_at}, unchanged since; {status.vouched}"
        )
    return _check("plan locked before asking", False, "; ".join(status.reasons) or "the plan is not locked")


def _fixed(measured: Measured) -> list[Check]:
    """After an early stop the limits of all but the claim that was stopped for are those of a fixed number of items."""
    if not measured.stopping or not measured.stopping.get("saved"):
        return []
    text = f"asking stopped when {measured.stopping['claim']!r} was decided; only that claim's limits allow for it"
    return [_check("number of items fixed before", False, text)]


def _real(records: RunRecords) -> Check:
    made = [c.name for c in records.conditions if c.model.startswith(SIMULATED)]
    if not made:
        return _check("no condition is simulated", True, "no condition is simulated")
    return _check("no condition is simulated", False, f"{len(made)} of {len(records.conditions)} are simulated")


# ------------------------------------------------------------------ what to do next


def next_steps(
    records: RunRecords, measured: Measured, sections: Mapping[str, Any], wanted: Collection[str]
) -> tuple[str, ...]:
    """What would settle what is undecided, with numbers: labels for the margin, never for the gap that was seen."""
    steps = []
    if records.state == "in progress":
        steps.append("wait for the run to end, then report again: more answers are on their way")
    steps += _undecided_gaps(measured)
    steps += _undecided_calibration(measured)
    steps += _undecided_severity(measured)
    steps += _uncorrected(measured)
    if measured.tail is not None and measured.tail.study.claim.needed is not None:
        steps.append(
            f"give each condition {counted(measured.tail.study.claim.needed, 'item')} in all to settle the tails"
        )
    for name, section in sections.items():
        if isinstance(section, NoSection) and name in wanted:
            steps.append(f"to learn {_LACKING[name]}: {section.missing.remedy}")
    lacking = getattr(sections["calibration"], "draws_missing", None)
    if lacking:
        steps.append(f"to learn whether repeated answers agree: {lacking.remedy}")
    if records.basis is not None and "human" not in records.rated and records.worded:
        run, by = records.command, BASES[records.basis]
        label = f"richter label {run}" if not records.files else f"richter import {run} -o RUN; richter label RUN"
        steps.append(f"have people check a sample: {label} --rater NAME (all rests on {by} so far)")
    return tuple(steps)


def _undecided_gaps(measured: Measured) -> list[str]:
    """One step a measure: the most items that any undecided pair needs for the margin. The first measure, then the
    cheapest."""
    if measured.comparison is None:
        return []
    pairs = measured.comparison.pairs
    waiting: dict[str, list[Claim]] = defaultdict(list)
    for claim in gap_claims(measured.comparison):
        if claim.verdict is Verdict.UNDECIDED and claim.needed is not None:
            waiting[claim.measure].append(claim)
    steps: list[tuple[bool, int, str]] = []
    for measure, claims in waiting.items():
        metric = METRICS.get(measure, METRICS["mean_score"])
        aim = f"{metric.amount(claims[0].needed_for or 0.0)}{metric.suffix}{metric.read_on}"
        of = "" if len(pairs) == 1 else f" for {len(claims)} of {len(pairs)} pairs"
        more = max((c.needed or 0) - c.units for c in claims)
        if more > 0:
            units = "groups of items" if claims[0].unit == "group" else f"{claims[0].unit}s"
            text = f"ask and grade {more:,} more {units} to show a difference of {aim} in {metric.noun}{of}"
        else:
            text = f"decide which difference in {metric.noun} matters to you and state it (--margin){of}; one of {aim} "
            text += "would likely have been seen"
        steps.append((not claims[0].primary, more, text))
    return [text for *_, text in sorted(steps, key=lambda s: s[:2])]


def _undecided_calibration(measured: Measured) -> list[str]:
    steps, claims = [], calibration_claims_of(measured)
    for measure, ask, what in (("draws", "draw", "questions"), ("ece", "ask and grade", "items")):
        own = [c for c in claims if c.measure == measure and c.verdict is Verdict.UNDECIDED and c.needed]
        if not own:
            continue
        worst = max(own, key=lambda c: (c.needed or 0) - c.n)
        more = (worst.needed or 0) - worst.n
        of = printable(worst.conditions[0], limit=40) if len(own) == 1 else counted(len(own), "condition")
        if more > 0:
            aim = f"{100 * ECE_MARGIN:g} points"
            steps.append(f"{ask} {more:,} more {what} to show a calibration error of {aim} in {of}")
    return steps


def _undecided_severity(measured: Measured) -> list[str]:
    if measured.severity is None:
        return []
    few = {n: f for n, f in measured.severity.study.slopes.items() if not isinstance(f, sev.BValue)}
    steps = []
    alike = [n for n, f in few.items() if f.needed <= f.n_errors]  # as many as it takes, and all of one severity
    if alike:
        steps.append(f"no slope of severities for {_listed_names(alike)}: {printable(few[alike[0]].reason, limit=200)}")
    few = {n: f for n, f in few.items() if n not in alike}
    if few:
        worst = max(few.values(), key=lambda f: f.needed - f.n_errors)
        named = _listed_names(list(few))
        steps.append(
            f"no slope of severities for {named}; {counted(worst.needed, 'error is', 'errors are')} "
            "needed, they have fewer"
        )
    steps += [
        f"undecided: {sev.describe_requirement(check)}; "
        f"{check.needed - check.n:,} more answers without such an event would show it"
        for check in measured.severity.requirements
        if check.verdict is Verdict.UNDECIDED and check.needed is not None
    ]
    gate = measured.gate
    for name, wanted in () if gate is None else zip(gate.requirements, gate.claims, strict=True):
        if wanted.verdict is Verdict.UNDECIDED and wanted.needed is not None:
            more = wanted.needed - wanted.units
            said = f"{more:,} more labelled {wanted.unit}s would" if more > 0 else f"{wanted.needed:,} were enough to"
            steps.append(f"undecided: {name}; {said} show it met")
    return steps


def _listed_names(names: Sequence[str]) -> str:
    return ", ".join(printable(n, limit=40) for n in names[:3]) + (" and others" if len(names) > 3 else "")


def _uncorrected(measured: Measured) -> list[str]:
    """Conditions for which people's labels do not suffice, with the first reason."""
    skipped = {} if measured.severity is None else measured.severity.human_skipped
    if not skipped:
        return []
    name, reason = next(iter(skipped.items()))
    of = printable(name, limit=40) if len(skipped) == 1 else counted(len(skipped), "condition")
    return [f"rates of {of} are not corrected by people's labels: {printable(reason, limit=200)}"]


# ------------------------------------------------------------------ what can be signed


def signature_of(
    records: RunRecords,
    measured: Measured,
    conditions: Sequence[ConditionResults],
    status: PlanStatus | None,
    *,
    level: float,
) -> Signature:
    """What can be signed.

    The bound is the exact one-sided upper limit on the rate of catastrophic answers, whatever was required: zero seen
    in n is not zero. Draws, groups and weights are allowed for as in claims; where people's labels suffice it is the
    limit as people would rate, as the figures of the page are.
    """
    checks = [] if measured.severity is None else list(measured.severity.requirements)
    bounds, by = [], "nobody" if records.basis is None else BASES[records.basis]
    rated = condition_outcomes(records, "catastrophic_rate")
    for row in conditions:
        if row.how_badly is None or rated is None:
            continue
        sample = as_sample(dataclasses.replace(rated, label=None))
        evidence, people = (mean_evidence(s, row.name, exact=True) for s in (sample, as_sample(rated)))
        own = sample.outcomes.value[sample.outcomes.condition == sample.place(row.name)]
        seen, n = int(np.sum(own > 0)), len(own)
        upper, basis = evidence.interval(2 * level - 1).high, f"as rated by {by}"
        within = "" if evidence.unit == "item" and evidence.units == n else counted(evidence.units, evidence.unit)
        corrected = None if measured.severity is None else measured.severity.human.get(row.name)
        if corrected is not None:
            upper, basis = corrected.at(CATASTROPHIC).upper / MILLION, corrected.basis
        elif people.labels:
            upper = people.interval(2 * level - 1).high
            basis = f"as people would grade ({counted(people.labels, 'label')}, taken as a random sample, beside {by})"
        basis += f", by {within}" if within else ""
        what = row.how_badly.what
        bounds.append(Bound(condition=row.name, what=what, seen=seen, n=n, upper=upper, level=level, basis=basis))
    worst = max(bounds, key=lambda b: b.upper, default=None)
    bound = None
    if worst is not None:
        which = "" if len(bounds) == 1 else f"; the highest of {len(bounds)} conditions"
        bound = (
            f"at most {at_most(100 * worst.upper)}% of answers of {printable(worst.condition, limit=60)} are "
            f"of severity {CATASTROPHIC:g} or more ({100 * level:g}%, one-sided, {worst.basis}; {worst.seen:,} "
            f"seen in {worst.n:,}{which})"
        )
    claims, verdicts = [sev.describe_requirement(check) for check in checks], [check.verdict for check in checks]
    if measured.gate is not None:
        claims += measured.gate.requirements
        verdicts += [c.verdict for c in measured.gate.claims]
    return Signature(
        requirement="; ".join(claims) or None,
        verdicts=tuple(verdicts),
        bound=bound,
        bounds=tuple(bounds),
        basis=_basis_words(records),
        population=_population_words(records),
        plan_hash=None if status is None else status.hash,
        deviations=() if status is None else (*status.deviations, *status.reasons),
    )


def _basis_words(records: RunRecords) -> str:
    """Whose ratings the figures rest on, and who checked them."""
    if records.basis is None:
        return "nobody rated an answer"
    text = f"{BASES[records.basis]} ({counted(records.rated[records.basis], 'answer')})"
    if records.basis != "human" and records.rated.get("human"):
        return f"{text}; people checked {records.rated['human']:,}"
    return text if records.basis == "human" else f"{text}; no person checked them"


def _population_words(records: RunRecords) -> str:
    """Which questions the figures speak of, and no others."""
    domains = sorted({item.domain for item in records.items.values() if item.domain})
    tiers = sorted({item.tier for item in records.items.values() if item.tier is not None})
    text = counted(len(records.items), "question")
    if records.bench:
        text += f" of {printable(records.bench, limit=80)}"
    if domains:
        shown = ", ".join(printable(d, limit=30) for d in domains[:8])
        text += f"; {counted(len(domains), 'domain')} ({shown}{', …' * (len(domains) > 8)})"
    if tiers:
        text += f"; tiers {tiers[0]} to {tiers[-1]}" if len(tiers) > 1 else f"; tier {tiers[0]}"
    return text + ". Of other questions they say nothing."
