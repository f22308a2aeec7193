"""What a document says beside its claims: first lines, the checks made, what to do next, what a signatory can sign."""

import math
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from richter import severity as sev
from richter.audit._comparison import changed_items
from richter.audit._floors_audit import gap_claims
from richter.audit._measure_claims import RunStudy, calibration_claims_of
from richter.audit._measure_conditions import SIMULATED, known_sample, without_labels
from richter.audit._measure_run import BASES, RunRecords
from richter.audit._plan import RESTATED_DEFAULTS
from richter.audit._plan_lock import PlanStatus
from richter.audit._rating_agreement import self_judging
from richter.audit._results import Bound, Check, ConditionResults, NoSection, Signature
from richter.claims import METRICS, Evidence, mean_evidence
from richter.errors import InputError
from richter.ratings import ACCEPTED_ALPHA, Agreement, Undefined, panel_failures
from richter.records import Claim, Verdict, counted, printable, refusals
from richter.tables import CATASTROPHIC, as_options, judges_of
from richter.words import (
    FirstLines,
    NamedData,
    describe_alone,
    describe_bound,
    describe_counts_by_name,
    describe_first_step,
    describe_missing_section,
    describe_names,
    describe_population,
    describe_rated,
    describe_raters,
    describe_searched,
    describe_sizes,
    describe_stop,
    first_lines,
)
from richter.words._spans import describe_level

MILLION = 1_000_000
ECE_MARGIN = 0.02  # the calibration error that more questions are asked for where no margin is stated
REPLIES = "judge replies read"
_STATES = {  # of a run: whether it is complete, and what is said of it
    "complete": (True, "nobody is writing to the run"),
    "in progress": (False, "the run is being written: these figures are of a moment"),
    "empty": (None, "the run holds no answers"),
}


def first_lines_of(study: RunStudy, conditions: Sequence[ConditionResults]) -> FirstLines:
    """What a first screen says of a run: of one condition its own answer and its requirements, else the comparison."""
    names = study.records.names
    if len(names) == 1:
        required = () if study.severity is None else study.severity.requirements
        required += () if study.gate is None else study.gate.claims
        return FirstLines(
            headline=" ".join([_alone(conditions[0], study.records.notes), *(c.sentence for c in required)])
        )
    if study.comparison is None and all(row.how_often is None and row.scored is None for row in conditions):
        return FirstLines(headline="Can't compare yet: nobody has graded the answers.")
    claims = () if study.comparison is None else study.comparison.claims
    others = () if study.severity is None else study.severity.study.claims
    known = {(c.measure, c.conditions) for c in claims}
    gate = study.plan_of("gate")
    named = {} if gate is None else gate.values
    return first_lines(
        [*claims, *(c for c in others if (c.measure, c.conditions) not in known)],
        conditions=names,
        changed={} if study.comparison is None else changed_items(study.comparison.pairs),
        candidate=named.get("candidate"),
        baseline=named.get("baseline") or None,
    )


def _alone(row: ConditionResults, notes: Mapping[str, Any]) -> str:
    """One condition's answer: how often it is right, or how well it is scored; of a search what it found."""
    often, scored = row.how_often, row.scored
    if often is not None and notes["search"]:
        mean = None if row.how_badly is None else row.how_badly.mean
        severity = None if mean is None else mean.estimate
        return describe_searched(row.name, wrong=often.estimate, n=often.n, severity=severity)
    if often is None and scored is not None:
        span = scored.interval
        has_ends = span is not None and math.isfinite(span.low)
        ends = f" ({describe_level(span.level)} CI {span.low:.4g} to {span.high:.4g})" if span and has_ends else ""
        text = f"{scored.estimate:.4g}{ends}"
        return describe_alone(row.name, wrong=None, n=scored.n, interval=span, answers=scored.n, scored=text)
    wrong, n, interval = (None, 0, None) if often is None else (often.estimate, often.n, often.interval)
    return describe_alone(row.name, wrong=wrong, n=n, interval=interval, answers=row.rated)


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
            "each one has questions of its own"
            if apart
            else f"all {counted(items, 'question')} are answered"
            if not short
            else f"{describe_counts_by_name(short)} short of {items:,} questions",
        ),
        _check(
            "no failed calls",
            not any(failed.values()) if total else None,
            "no call failed" if not any(failed.values()) else f"failed: {describe_counts_by_name(failed)}",
        ),
        _rated(records, total),
        _aligned(study),
        *_judged(study),
        _fits(study),
        *_planned(study.status),
        *_fixed(study),
        _real(records),
    )


def _rated(records: RunRecords, total: int) -> Check:
    if records.basis is None or not total:
        return _check("every answer rated", None if not total else False, "no answer is rated")
    n = records.rated[records.basis]
    by = BASES[records.basis]
    return _check("every answer rated", n >= total, describe_rated(n, total, by))


def _apart(study: RunStudy) -> bool:
    """Whether conditions were compared as on different items."""
    return study.comparison is not None and any(c.apart for c in study.comparison.claims)


def _aligned(study: RunStudy) -> Check:
    if study.comparison is None:
        return _check("items aligned", None, "no two of them are graded")
    refused = study.comparison.refused
    if refused:
        lines = refusals((r.conditions, r.reason) for r in refused)
        more = f"; and {len(lines) - 1} more, listed as not compared" if len(lines) > 1 else ""
        return _check("items aligned", False, f"not compared: {printable(lines[0])}{more}")
    number = len(study.comparison.pairs)
    if _apart(study):
        return _check("items aligned", None, "different questions on each side: compared without pairs")
    text = "both answered the same questions" if number == 1 else f"all {counted(number, 'pair')} share their questions"
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
        text = f"Krippendorff's alpha is {value:.2f} (at least {low:.2f}); {ACCEPTED_ALPHA:g} is recommended"
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
        return _check("the severity law fits", None, "no slope: errors are few, or all of one severity")
    within = study.severity.study.recipe.tolerance
    text = f"{len(fits) - len(bad)} of {counted(len(fits), 'slope')} describe their errors within {within:g}"
    return _check("the severity law fits", not bad, text)


def _planned(status: PlanStatus | None) -> list[Check]:
    if status is None:
        return []
    text = "; ".join(status.reasons) or "the plan is not locked"
    if status.confirmatory:
        text = f"locked {status.locked_at}; {status.vouched}"
    return [_check("plan locked before asking", status.confirmatory, text)]


def _fixed(study: RunStudy) -> list[Check]:
    """After an early stop the limits of all but the claim that was stopped for are those of a fixed number of items."""
    if not study.stopping or not study.stopping.get("saved"):
        return []
    return [_check("number of items fixed before", False, describe_stop(study.stopping["claim"]))]


def _real(records: RunRecords) -> Check:
    simulated = [c.name for c in records.conditions if c.model.startswith(SIMULATED)]
    if not simulated:
        return _check("no condition is simulated", True, "no answers are simulated")
    return _check("no condition is simulated", False, f"{len(simulated)} of {len(records.conditions)} are simulated")


# ------------------------------------------------------------------ what to do next


def next_steps(study: RunStudy, sections: Mapping[str, Any]) -> tuple[str, ...]:
    """What would settle what is undecided, with numbers: labels for the margin, never for the gap that was seen."""
    records = study.records
    steps = []
    if records.state == "in progress":
        steps.append("wait for the run to end, then report again: more answers are coming")
    steps += _first_step(study)
    steps += _undecided_gaps(study)
    steps += _undecided_calibration(study)
    steps += _undecided_severity(study)
    steps += _uncorrected(study)
    if study.tail is not None and study.tail.study.claim.needed is not None:
        steps.append(f"use {counted(study.tail.study.claim.needed, 'question')} each to settle the tails")
    for name, section in sorted(sections.items(), key=lambda pair: pair[0] != "floors"):  # a second model first
        if isinstance(section, NoSection) and name in study.wanted:
            steps.append(describe_missing_section(name, section.missing.remedy))
    lacking = getattr(sections["calibration"], "draws_missing", None)
    if lacking:
        steps.append(f"to learn if repeated answers agree: {lacking.remedy}")
    label = _named_data(study).label_command()
    if (
        records.basis is not None
        and "human" not in records.rated
        and records.tables.has_texts
        and not any(label in step for step in steps)
    ):
        steps.append(f"check a sample by hand: {label} (so far all grades come from {BASES[records.basis]})")
    return tuple(steps)


def _named_data(study: RunStudy) -> NamedData:
    """How a command names what the document is of."""
    records = study.records
    tables, margin = records.tables, {} if study.margin is None else study.margin
    stated = {"margin": margin if isinstance(margin, Mapping) else {"": margin}, "level": study.level}
    options = {
        **study.vouched,
        **({} if study.plan else {k: x for k, x in stated.items() if x != RESTATED_DEFAULTS[k]}),
    }
    return NamedData(
        again=" ".join([records.command, *as_options(tables.options)]),
        names=shlex.join(records.names) if tables.whole is not None else "",
        options=options,
        is_run=not records.files,
        has_texts=tables.has_texts,
        has_raters=tables.has_raters,
    )


def _first_step(study: RunStudy) -> list[str]:
    """What comes first, as a comparison says it."""
    if study.comparison is None:
        return []
    changed = changed_items(study.comparison.pairs)
    return list(filter(None, [describe_first_step(study.comparison.claims, _named_data(study), changed)]))


def _undecided_gaps(study: RunStudy) -> list[str]:
    """One step a measure: the most items that any undecided pair needs for the margin. The first measure, then the
    cheapest."""
    if study.comparison is None:
        return []
    waiting: dict[str, list[Claim]] = defaultdict(list)
    for claim in gap_claims(study.comparison):
        if claim.verdict is Verdict.UNDECIDED and claim.needed is not None and claim.without_missing is None:
            waiting[claim.measure].append(claim)
    waiting.pop(study.comparison.primary, None)  # the first step and the sizes below the headline say it
    steps = [_gap_step(claims, len(study.comparison.pairs)) for claims in waiting.values()]
    return [text for *_, text in sorted(steps, key=lambda s: s[:2]) if text]


def _gap_step(claims: Sequence[Claim], n_pairs: int) -> tuple[bool, int, str]:
    """What settles the inconclusive claims on a measure: whether it is not the main one, how much, and how."""
    first = max(claims, key=lambda c: (c.needed or 0) - c.units)
    metric = METRICS.get(first.measure, METRICS["mean_score"])
    of = "" if n_pairs == 1 else f" ({len(claims):,} of {n_pairs:,} pairs)"
    more = (first.needed or 0) - first.units
    sizes = describe_sizes(first, metric)
    if more > 0:
        text = f"add questions to settle {metric.noun}{of}: {sizes[0].lower()}{sizes[1:]}" if sizes else ""
    else:
        text = f"state the difference in {metric.noun} that matters to you: --margin{of}"
    return not first.primary, more, text


def _undecided_calibration(study: RunStudy) -> list[str]:
    steps, claims = [], calibration_claims_of(study)
    for measure, ask, what in (("draws", "draw", "questions"), ("ece", "ask and grade", "questions")):
        own = [c for c in claims if c.measure == measure and c.verdict is Verdict.UNDECIDED and c.needed]
        if not own:
            continue
        worst = max(own, key=lambda c: (c.needed or 0) - c.n)
        more = (worst.needed or 0) - worst.n
        of = printable(worst.conditions[0], limit=40) if len(own) == 1 else f"{len(own)} of them"
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
        f"inconclusive: {sev.describe_requirement(check)}; "
        f"{check.needed - check.n:,} more answers without such an event would show it"
        for check in study.severity.requirements
        if check.verdict is Verdict.UNDECIDED and check.needed is not None
    ]
    gate = study.gate
    for name, claim in () if gate is None else zip(gate.requirements, gate.claims, strict=True):
        if claim.verdict is Verdict.UNDECIDED and claim.needed is not None:
            more = claim.needed - claim.units
            enough = f"{more:,} more graded questions would" if more > 0 else f"{claim.needed:,} were enough to"
            steps.append(f"inconclusive: {name}; {enough} show it")
    return steps


def _missing_slopes(slopes: Mapping[str, Any]) -> list[str]:
    """Why conditions have no slope: too few errors, or enough and all of one severity."""
    few = {n: f for n, f in slopes.items() if not isinstance(f, sev.BValue)}
    alike = [n for n, f in few.items() if f.needed <= f.n_errors]
    steps = []
    if alike:
        steps.append(
            f"no slope of severities for {describe_names(alike)}: {printable(few[alike[0]].reason, limit=200)}"
        )
    short = {n: f for n, f in few.items() if n not in alike}
    if short:
        worst = max(short.values(), key=lambda f: f.needed - f.n_errors)
        steps.append(
            f"no slope of severities for {describe_names(list(short))}; "
            f"{counted(worst.needed, 'error is', 'errors are')} needed, they have fewer"
        )
    return steps


def _uncorrected(study: RunStudy) -> list[str]:
    """Conditions for which people's labels do not suffice, with the first reason."""
    skipped = {} if study.severity is None else study.severity.human_skipped
    if not skipped:
        return []
    name, reason = next(iter(skipped.items()))
    of = printable(name, limit=40) if len(skipped) == 1 else f"{len(skipped)} of them"
    return [f"rates of {of} are not corrected by human labels: {printable(reason, limit=200)}"]


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
    )


def _bounds(study: RunStudy, conditions: Sequence[ConditionResults]) -> tuple[Bound, ...]:
    """The upper limit on every condition's rate of catastrophic answers."""
    tables = study.records.tables
    labelled = known_sample(tables, "catastrophic_rate")
    if labelled is None:
        return ()
    judged, rated = without_labels(labelled), labelled.outcomes
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
    return describe_bound(
        worst.condition, worst.upper, level=worst.level, basis=worst.basis, seen=worst.seen, n=worst.n,
        n_conditions=len(bounds),
    )  # fmt: skip


def _basis_words(records: RunRecords) -> str:
    """Whose ratings the figures rest on, and who checked them."""
    if records.basis is None:
        return "nobody graded an answer"
    graded = records.rated[records.basis]
    if records.basis == "grader" and records.tables.has_raters:  # each has several rows
        graded = records.rows.drop_nulls("score").n_unique(("item", "condition"))
    return describe_raters(
        BASES[records.basis],
        graded,
        judges=judges_of(records.tables, records.tables.metric or "accuracy"),
        checked=records.rated.get("human") or int(records.tables.answers["human"].count()),
        is_human=records.basis == "human",
    )


def _population_words(records: RunRecords) -> str:
    """Which questions the figures speak of, and no others."""
    domains = sorted({item.domain for item in records.items.values() if item.domain})
    tiers = sorted({item.tier for item in records.items.values() if item.tier is not None})
    return describe_population(len(records.items), records.bench, domains, tiers)
