"""A plan's requirements against a dataset: met, violated, or not shown either way."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from richter.audit._pictures import Picture, gate_picture
from richter.audit._plan import Plan, make_plan, read_plan
from richter.audit._plan_lock import PlanStatus, check_plan, describe_changed_plan, open_data
from richter.audit._results import stored_results
from richter.claims import (
    METRICS,
    Asked,
    Evidence,
    GateOutcome,
    Question,
    apart_evidence,
    check_margin,
    claim_words,
    decide,
    decide_gate,
    gateable_measures,
)
from richter.errors import InputError, PlanError
from richter.evidence import Policy, alignment_of, evidence, metric_of
from richter.records import DEFAULT_LEVEL, Claim, Shown, Verdict
from richter.stats import wilson
from richter.store import is_run
from richter.tables import Dataset, name_again
from richter.tables._words import map_option
from richter.words import NamedData, describe_gate, describe_gate_next, requirement_name

__all__ = [
    "GateReport",
    "apply_gate_plan",
    "is_old_second",
    "margin_plan",
    "run_gate",
    "stated_gate",
    "stated_result",
]

# names that say which of two is held against the other
OLDER_NAMES = ("old", "older", "baseline", "base", "before", "control", "main", "master", "production", "previous")
NEWER_NAMES = ("new", "newer", "candidate", "after", "treatment", "branch", "challenger", "experiment", "next")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateReport(Shown):
    """One claim a requirement, and the exit status they give.

    `requirements` says in words what each claim requires, in the same order. `understood` says how the data were read.
    `obstacles` are the reasons why the gate does not pass whatever the data show: a plan that does not match its
    lock, that must be locked and is not, or that differs from the base branch's. `next_step` says what to do now.
    """

    schema: ClassVar = "richter/gate"

    sentence: str
    outcome: Verdict
    exit_code: int
    claims: tuple[Claim, ...]
    requirements: tuple[str, ...]
    on_undecided: str
    confirmatory: bool
    reasons: tuple[str, ...]
    vouched: str
    tried: int
    level: float
    understood: str
    notes: tuple[str, ...]
    obstacles: tuple[str, ...]
    next_step: str

    def _shown(self) -> Picture:
        return gate_picture(self)


def margin_plan(
    tables: Dataset,
    margin: float | Mapping[str, float],
    *,
    level: float = DEFAULT_LEVEL,
) -> Plan:
    """The gate without a plan file: the last condition may not be worse than the first by the margin or more.

    A bare margin is that of the main measure; margins by measure are one requirement each. It fixes nothing before
    the data are seen, so what it finds is exploratory.
    """
    if len(tables.conditions) != 2:
        name = "".join(tables.conditions[:1])
        limit = 'require=[{metric="error_rate", rule="below", limit=0.05}]'
        made = f"richter plan new gate --set {shlex.quote(f'candidate={name}')} --set '{limit}'"
        made += ", then richter gate plan.toml FILE"
        one = f"Give the old one too (--baseline FILE), or set a limit: {made}"
        raise InputError(
            f"A gate without a plan compares two, and the data hold {len(tables.conditions)}.",
            remedy=one
            if len(tables.conditions) < 2
            else f"Name the two: richter gate {name_again(tables) or 'FILE'} {shlex.join(tables.conditions[:2])} "
            "--margin 2pt",
        )
    _check_order(*tables.conditions)
    margins = margin if isinstance(margin, Mapping) else {tables.metric or "accuracy": margin}
    for measure, loss in margins.items():
        if measure not in gateable_measures():
            raise InputError(
                f"A gate can't require {measure!r}; it takes {', '.join(gateable_measures())}.",
                remedy=f"A score column is checked as the main one: {map_option('score', measure)} --margin {loss:g}",
            )
        check_margin(metric_of(tables, measure), loss)
    given = {
        "candidate": tables.conditions[1],
        "baseline": tables.conditions[0],
        "level": level,
        "require": [{"metric": name, "rule": "no_worse", "limit": loss} for name, loss in margins.items()],
    }
    return make_plan("gate", given)


def is_old_second(first: str, second: str) -> bool:
    """Whether the names of two say that the old one stands second: a gate would pass a loss as a gain."""
    return first.strip().lower() in NEWER_NAMES and second.strip().lower() in OLDER_NAMES


def _check_order(first: str, second: str) -> None:
    """Refuse a gate whose names say that the old one stands second."""
    if is_old_second(first, second):
        raise InputError(
            f"{second} comes second, and a gate checks the second one against the first: a loss could pass as a gain.",
            remedy=f"Put the old one first: richter gate {second}.csv {first}.csv --margin 2pt, or of one file: "
            f"richter gate FILE {second} {first} --margin 2pt",
        )


def stated_result(path: str | Path) -> tuple[int, int] | None:
    """How many of how many answers were right by a results document of one condition; None where it is none."""
    document = stored_results(path)
    if document is None:
        return None
    rows = [row for row in document.get("conditions") or () if isinstance(row.get("how_often"), dict)]
    if len(rows) != 1 or rows[0]["how_often"]["interval"]["method"] not in ("wilson", "clopper-pearson upper"):
        raise InputError(
            f"{path} states no single rate of independent answers ({len(rows)} graded conditions, groups or draws).",
            remedy="Give the answers that it was made from.",
        )
    often = rows[0]["how_often"]
    right = (1 - float(often["estimate"])) * int(often["n"])
    if abs(right - round(right)) > 1e-6:
        raise InputError(
            f"{path}: its rate is not a count of its answers.", remedy="Give the answers that it was made from."
        )
    return round(right), int(often["n"])


def stated_gate(
    tables: Dataset, margin: float, *, right: int, n: int, level: float = DEFAULT_LEVEL,
    policy: Policy | None = None, accept_judge: bool = False, obstacles: Sequence[str] = (),
) -> GateReport:  # fmt: skip
    """The gate without a plan against a baseline of which only its rate is known: `right` of `n` answers.

    Nothing is paired: the difference of two independent rates, its limits by recovery of variances (MOVER) from
    Wilson's of the baseline and the candidate's own, which are exact. It needs several times the items of a paired one.
    """
    if len(tables.conditions) != 1:
        raise InputError(
            f"A stated baseline is for one source; the data hold {len(tables.conditions)}.", remedy="Name the one."
        )
    plan = make_plan("gate", {
        "candidate": tables.conditions[0], "baseline": "baseline", "level": level,
        "require": [{"metric": "accuracy", "rule": "no_worse", "limit": margin}],
    })  # fmt: skip
    alone = Question(measure="accuracy", conditions=tables.conditions, family="requirement")
    found = evidence(tables, alone, dataclasses.replace(policy or Policy(), is_gate=True))
    known = Evidence(estimate=right / n, interval=lambda at: wilson(right, n, level=at), n=n, units=n)
    note = "only the baseline's rate is known: nothing is paired, which needs more items"
    question = Question(
        measure="accuracy", conditions=("baseline", tables.conditions[0]), relation="above", value=-margin,
        family="requirement",
    )  # fmt: skip
    own = found.evidence
    asked = dataclasses.replace(
        found, question=question, evidence=apart_evidence(known, own, note=note) if isinstance(own, Evidence) else own
    )
    claims = decide([asked], level=level, data_hash=tables.data_hash)
    return _report(plan, claims, None, 1, tables, accept_judge=accept_judge, obstacles=obstacles)


def apply_gate_plan(
    plan_path: str | Path,
    tables: Dataset,
    *,
    policy: Policy | None = None,
    accept_judge: bool = False,
    require_locked: bool = False,
    obstacles: Sequence[str] = (),
) -> GateReport:
    """The report of a gate plan on these data.

    What the user vouches for beside the plan makes the result exploratory. With `require_locked` the gate passes only
    where the result is confirmatory. `obstacles` are further reasons why it does not pass.
    """
    plan = read_plan(plan_path, kind="gate")
    beside = _beside_plan(plan, policy or Policy(), accept_judge)
    status = open_data(plan_path, tables, candidates=[plan.values["candidate"]], extra=beside)
    if require_locked and not status.confirmatory and status.state != "changed":
        obstacles = (*obstacles, f"The gate requires a locked plan: {'; '.join(status.reasons)}.")
    return run_gate(plan, tables, status=status, policy=policy, accept_judge=accept_judge, obstacles=obstacles)


def _beside_plan(plan: Plan, policy: Policy, accept_judge: bool) -> list[str]:
    """What is vouched for beside the plan, and where the plan's word on missing grades holds against the option."""
    given = {name: getattr(policy, name) for name in ("trust_ids", "trust_raters", "trust_labels", "trust_reading")}
    given |= {"unpaired": policy.unpaired, "accept_judge": accept_judge}
    named = [name for name, is_given in given.items() if is_given and not plan.values.get(name)]
    found = [f"--{name.replace('_', '-')} is not in the plan" for name in named]
    planned = plan.values["missing"]
    if policy.missing not in (None, planned):
        found.append(f"missing: plan {planned!r}, option {policy.missing!r}; the plan's holds")
    return found


def run_gate(
    plan: Plan,
    tables: Dataset,
    *,
    status: PlanStatus | None = None,
    policy: Policy | None = None,
    accept_judge: bool = False,
    obstacles: Sequence[str] = (),
) -> GateReport:
    """Judge every requirement of a gate plan.

    A requirement is met when its one-sided limit at the plan's level lies inside; violated when the limit on the
    other side, at the level that Holm leaves it among the requirements, lies outside; else undecided. Missing grades
    count as wrong. Nothing is decided by single items that changed. With `obstacles` the gate does not pass, and a plan
    that does not match its lock is one.
    """
    values = plan.values
    wanted = [*([values["baseline"]] if values["baseline"] else []), values["candidate"]]
    unknown = [name for name in wanted if name not in tables.conditions]
    if unknown:
        raise PlanError(
            f"The plan speaks of {', '.join(unknown)}; the data hold {', '.join(tables.conditions)}.",
            remedy="Name the files (new=a.csv old=b.csv), or correct the plan.",
        )
    dataset = tables.select(wanted)
    policy = dataclasses.replace(policy or Policy(), is_gate=True, min_shared=values["min_shared"])
    policy = dataclasses.replace(policy, unpaired=policy.unpaired or bool(values.get("unpaired")))
    if plan.path:  # what a plan file says of missing grades holds; without one the caller's policy does
        policy = dataclasses.replace(policy, missing=values["missing"])
    asked = [_requirement(dataset, rule, policy) for rule in values["require"]]
    tried = values.get("tried", 1)
    if plan.path:
        status = status or check_plan(plan.path)
        obstacles = (*obstacles, *filter(None, [describe_changed_plan(plan.path, status)]))
    confirmed = plan.hash if status is not None and status.confirmatory else None
    claims = decide(asked, level=values["level"], tried=tried, plan=confirmed, data_hash=tables.data_hash)
    notes = () if len(wanted) < 2 else alignment_of(dataset, policy.trust_ids).warnings
    accept = accept_judge or values["accept_judge"]
    return _report(plan, claims, status, tried, dataset, accept_judge=accept, notes=notes, obstacles=obstacles)


def _requirement(dataset: Dataset, rule: Mapping[str, Any], policy: Policy) -> Asked:
    """A requirement as a question, with its evidence or with what blocks it."""
    measure, limit, is_paired = rule["metric"], float(rule["limit"]), rule["rule"] == "no_worse"
    try:
        metric = metric_of(dataset, measure)
    except InputError:  # nothing to measure it by: the evidence says so
        metric = METRICS[measure]
    is_above = metric.better == "higher"
    if not is_paired and (rule["rule"] == "above") != is_above:
        raise PlanError(
            f"The plan asks {metric.noun} to be {rule['rule']} a limit, where {'more' if is_above else 'less'} is "
            "better.",
            remedy="Ask for the other side, or say which end is good: --better higher, or --better lower.",
        )
    question = Question(
        measure=measure,
        conditions=dataset.conditions if is_paired else dataset.conditions[-1:],
        relation="above" if is_above else "below",
        value=-limit if is_paired and is_above else limit,
        family="requirement",
    )
    return evidence(dataset, question, policy)


def _report(
    plan: Plan,
    claims: tuple[Claim, ...],
    status: PlanStatus | None,
    tried: int,
    tables: Dataset,
    *,
    accept_judge: bool,
    notes: tuple[str, ...] = (),
    obstacles: Sequence[str],
) -> GateReport:
    """The outcome of all requirements; one that only an unchecked judge's grades meet does not pass by itself."""
    values = plan.values
    names = tuple(requirement_name(claim_words(c), c) for c in claims)
    outcome = decide_gate(claims, accept_judge=accept_judge, is_stopped=bool(obstacles))
    sentence = describe_gate(
        values["candidate"], claims, names, outcome=outcome.by_data, is_judge_only=outcome.is_judge_only,
        obstacles=obstacles,
    )  # fmt: skip
    return GateReport(
        sentence=sentence,
        outcome=outcome.verdict,
        exit_code=_exit_code(outcome, values["on_undecided"], is_stopped=bool(obstacles)),
        claims=claims,
        requirements=names,
        on_undecided=values["on_undecided"],
        confirmatory=status is not None and status.confirmatory,
        reasons=() if status is None else status.reasons,
        tried=tried,
        level=values["level"],
        vouched="" if status is None else status.vouched,
        understood=tables.understood,
        notes=tuple(dict.fromkeys((*tables.notes, *notes))),
        obstacles=tuple(obstacles),
        next_step=describe_gate_next(
            claims, outcome=outcome.verdict, is_judge_only=outcome.is_judge_only, obstacles=obstacles,
            data=_named(tables), is_pair=len(tables.conditions) == 2,
        ),
    )  # fmt: skip


def _named(tables: Dataset) -> NamedData:
    """How a command names the data of a gate: with the conditions, where the data hold others or in another order."""
    held = tables.conditions if tables.whole is None else tables.whole.conditions
    return NamedData(
        again=name_again(tables),
        names="" if held == tables.conditions else shlex.join(tables.conditions),
        is_run=len(tables.places) == 1 and is_run(tables.places[0]),
        has_texts=tables.has_texts,
    )


def _exit_code(outcome: GateOutcome, on_undecided: str, *, is_stopped: bool) -> int:
    """The exit status: 3 violated, 0 met, 4 undecided, unless the plan lets what the data leave undecided pass."""
    if outcome.verdict is not Verdict.UNDECIDED:
        return 3 if outcome.verdict is Verdict.REFUTED else 0
    return 4 if on_undecided == "fail" or is_stopped or outcome.is_judge_only else 0
