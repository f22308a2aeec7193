"""The results in words: the question, the checks made, what to do next, and what a signatory can sign."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from richter import severity as sev
from richter.audit._floors_audit import gap_claims
from richter.audit._measure_claims import ECE_MARGIN, RunStudy, calibration_claims_of
from richter.audit._measure_conditions import SIMULATED, known_outcomes
from richter.audit._measure_run import BASES, RunRecords
from richter.audit._plan_lock import PlanStatus
from richter.audit._rating_agreement import self_judging
from richter.audit._results import Bound, Check, ConditionResults, NoSection, Signature
from richter.claims import METRICS, Evidence, as_sample, mean_evidence
from richter.errors import InputError
from richter.evidence import sample_of
from richter.ratings import ACCEPTED_ALPHA, Agreement, Undefined, panel_failures
from richter.records import Claim, Verdict, at_most, counted, printable, refusals
from richter.tables import CATASTROPHIC
from richter.words import answer

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


def answer_of(study: RunStudy, conditions: Sequence[ConditionResults]) -> str:
    """What the claims say, in plain words; see `richter.words.answer`."""
    names = study.records.names
    if len(names) == 1:
        required = () if study.severity is None else study.severity.requirements
        required += () if study.gate is None else study.gate.claims
        return " ".join([_alone(conditions[0]), *(c.sentence for c in required)])
    claims = () if study.comparison is None else study.comparison.claims
    others = () if study.severity is None else study.severity.study.claims
    known = {(c.measure, c.conditions) for c in claims}
    gate = study.plan_of("gate")
    named = {} if gate is None else gate.values
    return answer(
        [*claims, *(c for c in others if (c.measure, c.conditions) not in known)],
        conditions=names,
        candidate=named.get("candidate"),
        baseline=named.get("baseline") or None,
        scale=next((row.scored.scale for row in conditions if row.scored is not None), None),
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


def checks_of(study: RunStudy) -> tuple[Check, ...]:
    """What was checked of the run itself; `passed` is None where a check could not be made."""
    records = study.records
    answered = {name: records.asked[name].answered for name in records.names}
    failed = {name: records.asked[name].failed for name in records.names}
    items = len(records.items)
    apart = _apart(study)
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
        _aligned(study),
        *_judged(study),
        _fits(study),
        _planned(study.status),
        *_fixed(study),
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


def _apart(study: RunStudy) -> bool:
    """Whether conditions were compared as on different items."""
    return study.comparison is not None and any(c.apart for c in study.comparison.claims)


def _aligned(study: RunStudy) -> Check:
    if study.comparison is None:
        return _check("items aligned", None, "there are no two graded conditions to align")
    refused = study.comparison.refused
    if refused:
        lines = refusals((r.conditions, r.reason) for r in refused)
        more = f"; and {len(lines) - 1} more, listed as not compared" if len(lines) > 1 else ""
        return _check("items aligned", False, f"not compared: {printable(lines[0])}{more}")
    number = len(study.comparison.pairs)
    if _apart(study):
        return _check("items aligned", None, "different items per condition: they are compared without pairs")
    text = "the two conditions share their items" if number == 1 else f"all {counted(number, 'pair')} share their items"
    return _check("items aligned", True, text)


def _judged(study: RunStudy) -> list[Check]:
    """Whether judges agree with each other, and whether any judged itself."""
    panel = None if study.agreement is None else study.agreement.kinds.get("judge")
    lost = panel_failures(study.records.ratings)
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
        own = self_judging(study.records)
    except InputError as fault:
        return [*replies, agree, _check("no model judged itself", None, fault.what)]
    if own is None:
        return [*replies, agree]
    text = f"{own.n_self:,} of {own.n_judge_ratings:,} judge ratings are of the judge's own model"
    return [*replies, agree, _check("no model judged itself", own.n_self == 0, text)]


def _fits(study: RunStudy) -> Check:
    if study.severity is None:
        return _check("the severity law fits", None, "no severities")
    fits = {n: f for n, f in study.severity.study.slopes.items() if isinstance(f, sev.BValue)}
    bad = [name for name, fit in fits.items() if not fit.adequate]
    if not fits:
        return _check("the severity law fits", None, "no condition's errors allow a slope")
    within = study.severity.study.recipe.tolerance
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


def _fixed(study: RunStudy) -> list[Check]:
    """After an early stop the limits of all but the claim that was stopped for are those of a fixed number of items."""
    if not study.stopping or not study.stopping.get("saved"):
        return []
    text = f"asking stopped when {study.stopping['claim']!r} was decided; only that claim's limits allow for it"
    return [_check("number of items fixed before", False, text)]


def _real(records: RunRecords) -> Check:
    simulated = [c.name for c in records.conditions if c.model.startswith(SIMULATED)]
    if not simulated:
        return _check("no condition is simulated", True, "no condition is simulated")
    return _check("no condition is simulated", False, f"{len(simulated)} of {len(records.conditions)} are simulated")


# ------------------------------------------------------------------ what to do next


def next_steps(study: RunStudy, sections: Mapping[str, Any]) -> tuple[str, ...]:
    """What would settle what is undecided, with numbers: labels for the margin, never for the gap that was seen."""
    records = study.records
    steps = []
    if records.state == "in progress":
        steps.append("wait for the run to end, then report again: more answers are on their way")
    steps += _undecided_gaps(study)
    steps += _undecided_calibration(study)
    steps += _undecided_severity(study)
    steps += _uncorrected(study)
    if study.tail is not None and study.tail.study.claim.needed is not None:
        steps.append(f"give each condition {counted(study.tail.study.claim.needed, 'item')} in all to settle the tails")
    for name, section in sections.items():
        if isinstance(section, NoSection) and name in study.wanted:
            steps.append(f"to learn {_LACKING[name]}: {section.missing.remedy}")
    lacking = getattr(sections["calibration"], "draws_missing", None)
    if lacking:
        steps.append(f"to learn whether repeated answers agree: {lacking.remedy}")
    if records.basis is not None and "human" not in records.rated and records.has_texts:
        run, by = records.command, BASES[records.basis]
        label = f"richter label {run}" if not records.files else f"richter import {run} -o RUN; richter label RUN"
        steps.append(f"have people check a sample: {label} --rater NAME (all rests on {by} so far)")
    return tuple(steps)


def _undecided_gaps(study: RunStudy) -> list[str]:
    """One step a measure: the most items that any undecided pair needs for the margin. The first measure, then the
    cheapest."""
    if study.comparison is None:
        return []
    waiting: dict[str, list[Claim]] = defaultdict(list)
    for claim in gap_claims(study.comparison):
        if claim.verdict is Verdict.UNDECIDED and claim.needed is not None:
            waiting[claim.measure].append(claim)
    steps = [_gap_step(claims, len(study.comparison.pairs)) for claims in waiting.values()]
    return [text for *_, text in sorted(steps, key=lambda s: s[:2])]


def _gap_step(claims: Sequence[Claim], n_pairs: int) -> tuple[bool, int, str]:
    """What settles the undecided claims on a measure: whether it is another than the main one, how much, and how."""
    first = claims[0]
    metric = METRICS.get(first.measure, METRICS["mean_score"])
    aim = f"{metric.amount(first.needed_for or 0.0)}{metric.suffix}{metric.read_on}"
    of = "" if n_pairs == 1 else f" for {len(claims)} of {n_pairs} pairs"
    more = max((c.needed or 0) - c.units for c in claims)
    if more > 0:
        units = "groups of items" if first.unit == "group" else f"{first.unit}s"
        text = f"ask and grade {more:,} more {units} to show a difference of {aim} in {metric.noun}{of}"
    else:
        text = f"decide which difference in {metric.noun} matters to you and state it (--margin){of}; one of {aim} "
        text += "would likely have been seen"
    return not first.primary, more, text


def _undecided_calibration(study: RunStudy) -> list[str]:
    steps, claims = [], calibration_claims_of(study)
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


def _undecided_severity(study: RunStudy) -> list[str]:
    """What the slopes and the requirements lack that are undecided."""
    if study.severity is None:
        return []
    steps = _missing_slopes(study.severity.study.slopes)
    steps += [
        f"undecided: {sev.describe_requirement(check)}; "
        f"{check.needed - check.n:,} more answers without such an event would show it"
        for check in study.severity.requirements
        if check.verdict is Verdict.UNDECIDED and check.needed is not None
    ]
    gate = study.gate
    for name, claim in () if gate is None else zip(gate.requirements, gate.claims, strict=True):
        if claim.verdict is Verdict.UNDECIDED and claim.needed is not None:
            more = claim.needed - claim.units
            enough = f"{more:,} more labelled {claim.unit}s would" if more > 0 else f"{claim.needed:,} were enough to"
            steps.append(f"undecided: {name}; {enough} show it met")
    return steps


def _missing_slopes(slopes: Mapping[str, Any]) -> list[str]:
    """Why conditions have no slope: too few errors, or enough and all of one severity."""
    few = {n: f for n, f in slopes.items() if not isinstance(f, sev.BValue)}
    alike = [n for n, f in few.items() if f.needed <= f.n_errors]
    steps = []
    if alike:
        steps.append(f"no slope of severities for {_listed_names(alike)}: {printable(few[alike[0]].reason, limit=200)}")
    short = {n: f for n, f in few.items() if n not in alike}
    if short:
        worst = max(short.values(), key=lambda f: f.needed - f.n_errors)
        steps.append(
            f"no slope of severities for {_listed_names(list(short))}; "
            f"{counted(worst.needed, 'error is', 'errors are')} needed, they have fewer"
        )
    return steps


def _listed_names(names: Sequence[str]) -> str:
    return ", ".join(printable(n, limit=40) for n in names[:3]) + (" and others" if len(names) > 3 else "")


def _uncorrected(study: RunStudy) -> list[str]:
    """Conditions for which people's labels do not suffice, with the first reason."""
    skipped = {} if study.severity is None else study.severity.human_skipped
    if not skipped:
        return []
    name, reason = next(iter(skipped.items()))
    of = printable(name, limit=40) if len(skipped) == 1 else counted(len(skipped), "condition")
    return [f"rates of {of} are not corrected by people's labels: {printable(reason, limit=200)}"]


# ------------------------------------------------------------------ what can be signed


def signature_of(study: RunStudy, conditions: Sequence[ConditionResults]) -> Signature:
    """What can be signed.

    The bound is the exact one-sided upper limit on the rate of catastrophic answers, whatever was required: zero seen
    in n is not zero. Draws, groups and weights are allowed for as in claims; where people's labels suffice it is the
    limit as people would rate, as the figures of the page are.
    """
    bounds, required, status = _bounds(study, conditions), study.required, study.status
    return Signature(
        requirement="; ".join(name for name, _ in required) or None,
        verdicts=tuple(claim.verdict for _, claim in required),
        bound=_describe_highest(bounds),
        bounds=bounds,
        basis=_basis_words(study.records),
        population=_population_words(study.records),
        plan_hash=None if status is None else status.hash,
        deviations=() if status is None else (*status.deviations, *status.reasons),
    )


def _bounds(study: RunStudy, conditions: Sequence[ConditionResults]) -> tuple[Bound, ...]:
    """The upper limit on every condition's rate of catastrophic answers."""
    tables = study.records.tables
    rated = known_outcomes(tables, "catastrophic_rate")
    if rated is None:
        return ()
    labelled, judged = sample_of(tables, "catastrophic_rate"), as_sample(dataclasses.replace(rated, label=None))
    bounds = []
    for row in conditions:
        if row.how_badly is None:
            continue
        evidence, people = (mean_evidence(sample, row.name, exact=True) for sample in (judged, labelled))
        own = rated.value[rated.condition == judged.place(row.name)]
        upper, basis = _upper_limit(study, row.name, evidence, people)
        if evidence.unit != "item" or evidence.units != len(own):
            basis += f", by {counted(evidence.units, evidence.unit)}"
        seen, what = int(np.sum(own > 0)), row.how_badly.what
        bounds.append(
            Bound(condition=row.name, what=what, seen=seen, n=len(own), upper=upper, level=study.level, basis=basis)
        )
    return tuple(bounds)


def _upper_limit(study: RunStudy, name: str, evidence: Evidence, people: Evidence) -> tuple[float, str]:
    """The one-sided limit as people would rate where their labels suffice, else as rated, and by whom."""
    basis, at = study.records.basis, 2 * study.level - 1
    by = "nobody" if basis is None else BASES[basis]
    corrected = None if study.severity is None else study.severity.human.get(name)
    if corrected is not None:
        return corrected.at(CATASTROPHIC).upper / MILLION, corrected.basis
    if people.labels:
        labels = f"{counted(people.labels, 'label')}, taken as a random sample, beside {by}"
        return people.interval(at).high, f"as people would grade ({labels})"
    return evidence.interval(at).high, f"as rated by {by}"


def _describe_highest(bounds: Sequence[Bound]) -> str | None:
    """The highest bound in words; None where there is none."""
    if not bounds:
        return None
    worst = max(bounds, key=lambda b: b.upper)
    which = "" if len(bounds) == 1 else f"; the highest of {len(bounds)} conditions"
    return (
        f"at most {at_most(100 * worst.upper)}% of answers of {printable(worst.condition, limit=60)} are "
        f"of severity {CATASTROPHIC:g} or more ({100 * worst.level:g}%, one-sided, {worst.basis}; {worst.seen:,} "
        f"seen in {worst.n:,}{which})"
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
