"""A plan's requirements against tables: met, violated, or not shown either way."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from richter.audit._compare import calibration_evidence, graded_rows
from richter.audit._pictures import Picture, gate_picture
from richter.audit._plan import Plan, make_plan, read_plan
from richter.audit._plan_lock import PlanStatus, open_data, record_use
from richter.audit._results import stored_results
from richter.claims import (
    METRICS,
    Evidence,
    Metric,
    Outcomes,
    Question,
    apart_evidence,
    as_errors,
    as_sample,
    check_alignment,
    check_margin,
    claim_words,
    difference_evidence,
    ece_evidence,
    ece_side,
    mean_evidence,
    require,
    requirement_name,
    too_few_shared,
    unjudged,
)
from richter.errors import InputError, PlanError
from richter.records import Claim, Shown, Verdict, refusals
from richter.stats import wilson
from richter.tables import Tables, chance_of, outcomes, question_codes

__all__ = ["GateReport", "apply_gate_plan", "gate_status", "margin_plan", "run_gate", "stated_gate", "stated_result"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateReport(Shown):
    """One claim a requirement, the exit status they give, and how often the plan has been used.

    `requirements` says in words what each claim requires, in the same order.
    """

    schema: ClassVar = "richter/gate"

    sentence: str
    outcome: Verdict
    exit_code: int
    claims: tuple[Claim, ...]
    requirements: tuple[str, ...]
    on_undecided: str
    uses: int
    confirmatory: bool
    reasons: tuple[str, ...]
    deviations: tuple[str, ...] = ()
    vouched: str = ""
    tried: int = 1
    attempts: int | None = None
    notes: tuple[str, ...] = ()

    def _shown(self) -> Picture:
        return gate_picture(self)


def margin_plan(tables: Tables, margin: float, *, metric: str | None = None, on_undecided: str = "fail") -> Plan:
    """The gate without a plan file: the last condition may not be worse than the first by the margin or more.

    It fixes nothing before the data are seen, so what it finds is exploratory.
    """
    if len(tables.conditions) != 2:
        name = "".join(tables.conditions[:1])
        limit = 'require=[{metric="error_rate", rule="below", limit=0.05}]'
        made = f"richter plan new gate --set {shlex.quote(f'candidate={name}')} --set '{limit}'"
        made += ", then richter gate plan.toml FILE"
        one = f"Give what it is held against (--baseline FILE), or hold it to a limit: {made}"
        raise InputError(
            f"A gate without a plan is on two conditions; the data hold {len(tables.conditions)}.",
            remedy=one
            if len(tables.conditions) < 2
            else "Name the two: richter gate old=main.csv new=branch.csv --margin 2pt",
        )
    asked = metric or tables.metric or "accuracy"
    check_margin(_outcomes(tables, METRICS[asked]).metric if asked == "mean_score" else METRICS[asked], margin)
    given = {
        "candidate": tables.conditions[1],
        "baseline": tables.conditions[0],
        "on_undecided": on_undecided,
        "require": [{"metric": asked, "rule": "no_worse", "limit": margin}],
    }
    return make_plan("gate", given)


def stated_result(path: str | Path) -> tuple[int, int] | None:
    """How many of how many answers were right by a results document of one condition; None where it is none."""
    document = stored_results(path)
    if document is None:
        return None
    rows = [row for row in document.get("conditions") or () if isinstance(row.get("how_often"), dict)]
    if len(rows) != 1 or rows[0]["how_often"]["interval"]["method"] not in ("wilson", "clopper-pearson upper"):
        raise InputError(
            f"{path} states no single rate of independent answers ({len(rows)} graded conditions, groups or draws).",
            remedy="Give the evidence instead: richter export RUN --evidence evidence.zip",
        )
    often = rows[0]["how_often"]
    right = (1 - float(often["estimate"])) * int(often["n"])
    if abs(right - round(right)) > 1e-6:
        raise InputError(f"{path}: its rate is no count of its answers.", remedy="Give the evidence instead.")
    return round(right), int(often["n"])


def stated_gate(tables: Tables, margin: float, *, right: int, n: int, on_undecided: str = "fail") -> GateReport:
    """The gate without a plan against a baseline of which only its rate is known: `right` of `n` answers.

    Nothing is paired: the difference of two independent rates, its limits by recovery of variances (MOVER) from
    Wilson's of the baseline and the candidate's own, which are exact. It needs several times the items of a paired one.
    """
    if len(tables.conditions) != 1:
        raise InputError(
            f"A stated baseline is for one source; the data hold {len(tables.conditions)}.", remedy="Name the one."
        )
    plan = make_plan("gate", {
        "candidate": tables.conditions[0], "baseline": "baseline", "on_undecided": on_undecided,
        "require": [{"metric": "accuracy", "rule": "no_worse", "limit": margin}],
    })  # fmt: skip
    own = mean_evidence(outcomes(tables, "accuracy"), tables.conditions[0], exact=True)
    known = Evidence(estimate=right / n, interval=lambda level: wilson(right, n, level=level), n=n, units=n)
    note = "only the baseline's rate is known: nothing is paired, which needs more items"
    evidence = apart_evidence(known, own, note=note)
    asked = Question(
        metric=METRICS["accuracy"], conditions=("baseline", tables.conditions[0]), evidence=evidence,
        relation="above", value=-margin, basis=tables.basis,
    )  # fmt: skip
    claims = tuple(require([asked], level=plan.values["level"], plan=None, data_hash=tables.data_hash))
    return _report(plan, claims, None, 1, tables.notes)


def gate_status(plan_path: str | Path, tables: Tables, *, extra: Sequence[str] = ()) -> PlanStatus:
    """Where a gate plan stands towards these data; `extra` are options that differ from it."""
    values = read_plan(plan_path, kind="gate").values
    wanted = [name for name in (values["baseline"], values["candidate"]) if name in tables.conditions]
    chosen = tables.select(wanted) if wanted else tables
    return open_data(plan_path, chosen, candidates=[values["candidate"]], extra=extra)


def apply_gate_plan(plan_path: str | Path, tables: Tables, *, extra: Sequence[str] = ()) -> GateReport:
    """The report of a gate plan on these data, which the plan's log then has as an attempt."""
    status = gate_status(plan_path, tables, extra=extra)
    report = run_gate(read_plan(plan_path, kind="gate"), tables, status=status)
    record_use(plan_path, status)
    return report


def run_gate(plan: Plan, tables: Tables, *, status: PlanStatus | None = None) -> GateReport:
    """Judge every requirement of a gate plan.

    A requirement is met when its one-sided limit at the plan's level lies inside; violated when the limit on the
    other side, at the level that Holm leaves it among the requirements, lies outside; else undecided. Differences are
    paired by item, and items, groups and draws count as `richter compare` counts them. Nothing is decided by single
    items that changed.
    """
    values = plan.values
    wanted = [*([values["baseline"]] if values["baseline"] else []), values["candidate"]]
    missing = [name for name in wanted if name not in tables.conditions]
    if missing:
        raise PlanError(
            f"The plan speaks of {', '.join(missing)}; the data hold {', '.join(tables.conditions)}.",
            remedy="Name the files (new=a.csv old=b.csv), or correct the plan.",
        )
    chosen, blocked, notes = tables.select(wanted), "", tables.notes
    if len(wanted) == 2 and tables.metric is not None:
        graded = outcomes(tables, tables.metric)
        blocked = too_few_shared(graded, *wanted, min_shared=values["min_shared"])
        blocked += "; `richter compare --unpaired` takes them as independent samples" if blocked else ""
        aligned = check_alignment(graded, texts=question_codes(tables), chance=chance_of(tables))
        notes = (*notes, *aligned.warnings)
        if frozenset(wanted) in aligned.apart:
            refused = (r for r in aligned.refused if set(r.conditions) & set(wanted))
            blocked = refusals((r.conditions, r.reason) for r in refused)[0]
    confirmed = plan.hash if status is not None and status.confirmatory else None
    rules = [_rule(rule, chosen, blocked, confirmed) for rule in values["require"]]
    asked = [r for r in rules if isinstance(r, Question)]
    known = None if status is None else status.attempts
    tried = values.get("tried", 1) or known or 1
    judged = iter(require(asked, level=1 - (1 - values["level"]) / tried, plan=confirmed, data_hash=tables.data_hash))
    claims = tuple(next(judged) if isinstance(r, Question) else r for r in rules)
    claims = tuple(dataclasses.replace(c, p_adjusted=c.p_adjusted and min(tried * c.p_adjusted, 1.0)) for c in claims)
    return _report(plan, claims, status, tried, notes)


def _report(
    plan: Plan, claims: tuple[Claim, ...], status: PlanStatus | None, tried: int, notes: tuple[str, ...]
) -> GateReport:
    values, known = plan.values, None if status is None else status.attempts
    names = tuple(requirement_name(claim_words(c), c) for c in claims)
    judged_by = next((f", {c.judged}" for c in claims if c.judged), "")
    verdicts = [c.verdict for c in claims]
    still = [n for n, v in zip(names, verdicts, strict=True) if v not in (Verdict.VERIFIED, Verdict.REFUTED)]
    if Verdict.REFUTED in verdicts:
        outcome, code = Verdict.REFUTED, 3
        violated = [n for n, v in zip(names, verdicts, strict=True) if v is Verdict.REFUTED]
        sentence = f"{values['candidate']} violates: {'; '.join(violated)}{judged_by}."
    elif still:
        outcome, code = Verdict.UNDECIDED, 4 if values["on_undecided"] == "fail" else 0
        sentence = f"Not shown either way: {'; '.join(still)}."
    else:
        outcome, code = Verdict.VERIFIED, 0
        met = f"all {len(claims)} requirements" if len(claims) > 1 else "its requirement"
        sentence = f"{values['candidate']} meets {met}{judged_by}."
    return GateReport(
        sentence=sentence,
        outcome=outcome,
        exit_code=code,
        claims=claims,
        requirements=names,
        on_undecided=values["on_undecided"],
        uses=0 if status is None else status.uses,
        confirmatory=status is not None and status.confirmatory,
        reasons=() if status is None else status.reasons,
        deviations=() if status is None else status.deviations,
        tried=tried,
        attempts=known,
        vouched="" if status is None else status.vouched,
        notes=notes,
    )


def _rule(rule: Mapping[str, Any], tables: Tables, blocked: str, plan: str | None) -> Question | Claim:
    """A requirement as a question on evidence, or as a claim that says why there is none."""
    metric, limit, paired = METRICS[rule["metric"]], float(rule["limit"]), rule["rule"] == "no_worse"
    names, why, gate = tables.conditions if paired else tables.conditions[-1:], "", None
    found: Outcomes | None = None
    evidence: Evidence | None = None
    try:
        if metric.name != "ece":
            found = _outcomes(tables, metric)
            metric = found.metric  # a score's own range, and which end of it is good
        if paired and blocked:
            why, gate = blocked, "items"
        else:
            evidence = _ece(tables, names) if found is None else _mean(found, names)
    except InputError as fault:
        why = f"the data hold nothing to measure it by: {fault.what.rstrip('.')}"
    relation: Literal["above", "below"] = (
        rule["rule"] if not paired else "above" if metric.better == "higher" else "below"
    )
    value = -limit if paired and relation == "above" else limit
    if not paired and (relation == "above") != (metric.better == "higher"):
        way = "more" if metric.better == "higher" else "less"
        raise PlanError(
            f"The plan asks {metric.noun} to be {relation} a limit, where {way} is better.",
            remedy="Ask for the other side, or say which end is good: --better higher|lower.",
        )
    if evidence is None:
        return unjudged(metric, names, relation, value, why=why, blocked_by=gate, plan=plan)
    return Question(
        metric=metric, conditions=names, evidence=evidence, relation=relation, value=value, basis=tables.basis
    )


def _mean(found: Outcomes, names: tuple[str, ...]) -> Evidence:
    """The evidence on a mean of one condition or on a difference, with limits that never fall short."""
    if len(names) == 2:
        return difference_evidence(found, names[0], names[1], exact=True)
    return mean_evidence(found, names[0], exact=True)


def _outcomes(tables: Tables, metric: Metric) -> Outcomes:
    if metric.name != "error_rate":
        return outcomes(tables, metric.name)
    return as_errors(outcomes(tables, "accuracy"))


def _ece(tables: Tables, names: tuple[str, ...]) -> Evidence:
    right = as_sample(outcomes(tables, "accuracy"))
    graded = graded_rows(tables, right)
    if len(names) == 2:
        for _, evidence in calibration_evidence(tables, graded, [(names[0], names[1])]):
            return evidence
    else:
        confidence, correct, item = graded.of(tables.conditions.index(names[0]))
        known = ~np.isnan(confidence)
        if known.any():
            rows = confidence[known], correct[known], item[known]
            return ece_evidence(ece_side(*rows, group=graded.group, weight=graded.weight))
    raise InputError("No graded answer has a confidence.", remedy="Give a `confidence` column.")
