"""A plan's requirements against grades: met, violated, or not shown either way."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from richter.audit._compare_severity import CATASTROPHIC
from richter.audit._grades import GradeMatrix
from richter.audit._pictures import gate_picture
from richter.audit._plan import Plan, PlanStatus, open_data
from richter.claims import ece_difference, ece_side
from richter.errors import PlanError
from richter.floors import PairedCounts, clustered_test, compare, tango
from richter.interop import log_files, named_source
from richter.records import Interval, Verdict
from richter.stats import bin_gaps, clopper_pearson, ece_interval
from richter.store import LEDGER_NAME, Place, RunLike

__all__ = ["GateReport", "Requirement", "open_gate_data", "run_gate"]

POWER = 0.8

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement: `verified` (met), `refuted` (violated), `undecided`, `blocked` or `untestable`.

    `excess` is the measured quantity that must stay below `limit` (a loss, a rate); `low` and `high` are its
    one-sided limits. `labels_needed` would show it met, with 80% power, if in truth there is no loss or half the
    rate allowed: never for what happened to be observed.
    """

    name: str
    verdict: Verdict
    sentence: str
    excess: float | None
    limit: float
    low: float | None
    high: float | None
    n: int
    labels_needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self) | {"verdict": self.verdict.value}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GateReport:
    """All requirements, the exit status they give, and how often the plan has been used."""

    requirements: tuple[Requirement, ...]
    outcome: Verdict
    exit_code: int
    on_undecided: str
    uses: int
    confirmatory: bool
    reasons: tuple[str, ...]
    sentence: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "sentence": self.sentence,
            "outcome": self.outcome.value,
            "exit_code": self.exit_code,
            "requirements": [r.to_dict() for r in self.requirements],
            "on_undecided": self.on_undecided,
            "uses": self.uses,
            "confirmatory": self.confirmatory,
            "reasons": list(self.reasons),
        }

    def _repr_html_(self) -> str:
        return gate_picture(self)


def open_gate_data(plan_path: str | Path, sources: Sequence[RunLike]) -> PlanStatus:
    """Record that these files, a run's ledger or a run in a database are opened with the plan, as one set of data."""
    return open_data(plan_path, *(file for source in sources for file in _data_files(named_source(source)[1])))


def _data_files(path: Place) -> list[Place]:
    """A table, a run in a database, a run's ledger, or the logs of a folder."""
    if not isinstance(path, Path) or not path.is_dir():
        return [path]
    return [path / LEDGER_NAME] if (path / LEDGER_NAME).exists() else [*log_files(path)]


def run_gate(plan: Plan, grades: GradeMatrix, *, status: PlanStatus | None = None) -> GateReport:
    """Judge every requirement of a gate plan.

    A requirement is met when its one-sided limit at the plan's level lies inside; violated when the limit on the
    other side, at the level shared among the requirements, lies outside; else undecided. Differences are paired by
    item. Nothing is decided by single items that changed.
    """
    values = plan.values
    wanted = [values["candidate"], *([values["baseline"]] if values["baseline"] else [])]
    missing = [name for name in wanted if name not in grades.names]
    if missing:
        raise PlanError(
            f"The plan speaks of {', '.join(missing)}; the data hold {', '.join(grades.names)}.",
            remedy="Name the files (new=a.csv old=b.csv), or correct the plan.",
        )
    chosen = grades.select(wanted)
    blocked = _blocked(chosen, values)
    alpha = 1 - values["level"]
    spent = alpha / len(values["require"])
    judged = tuple(_judge(rule, chosen, blocked, alpha, spent) for rule in values["require"])
    verdicts = {r.verdict for r in judged}
    open_ones = [r for r in judged if r.verdict not in (Verdict.VERIFIED, Verdict.REFUTED)]
    if Verdict.REFUTED in verdicts:
        outcome, code = Verdict.REFUTED, 3
    elif open_ones:
        outcome, code = Verdict.UNDECIDED, 4 if values["on_undecided"] == "fail" else 0
    else:
        outcome, code = Verdict.VERIFIED, 0
    names = {
        Verdict.REFUTED: [r.name for r in judged if r.verdict is Verdict.REFUTED],
        Verdict.UNDECIDED: [r.name for r in open_ones],
        Verdict.VERIFIED: [],
    }[outcome]
    sentence = {
        Verdict.REFUTED: f"{values['candidate']} violates {', '.join(names)}.",
        Verdict.UNDECIDED: f"Not shown either way: {', '.join(names)}.",
        Verdict.VERIFIED: f"{values['candidate']} meets all {len(judged)} requirements.",
    }[outcome]
    return GateReport(
        requirements=judged,
        outcome=outcome,
        exit_code=code,
        on_undecided=values["on_undecided"],
        uses=0 if status is None else status.uses,
        confirmatory=status is not None and status.confirmatory,
        reasons=() if status is None else status.reasons,
        sentence=sentence,
    )


def _blocked(grades: GradeMatrix, values: Mapping[str, Any]) -> str:
    """Why the two cannot be compared, if so."""
    if len(grades.names) < 2:
        return ""
    checked = compare(
        grades.correct,
        rng=np.random.default_rng(0),
        names=grades.names,
        failed=grades.failed,
        min_shared=values["min_shared"],
        n_resamples=100,
    )
    return checked.refused[0].reason if checked.refused else ""


def _judge(rule: Mapping[str, Any], grades: GradeMatrix, blocked: str, alpha: float, spent: float) -> Requirement:
    metric, kind, limit = rule["metric"], rule["rule"], float(rule["limit"])
    shown = metric.replace("_", " ")
    against = grades.names[1] if len(grades.names) > 1 else ""
    name = {
        "no_worse": f"{shown} no worse than {against} by {limit:g}",
        "below": f"{shown} below {limit:g}",
        "above": f"{shown} above {limit:g}",
    }[kind]

    def undone(verdict: Verdict, why: str) -> Requirement:
        return Requirement(
            name=name,
            verdict=verdict,
            sentence=f"{name}: {verdict.value}, {why}.",
            excess=None,
            limit=limit,
            low=None,
            high=None,
            n=0,
            labels_needed=None,
        )

    if kind == "no_worse" and blocked:
        return undone(Verdict.BLOCKED, blocked)
    measured = _loss(metric, grades, alpha, spent) if kind == "no_worse" else _level(metric, grades, alpha, spent)
    if measured is None:
        return undone(Verdict.UNTESTABLE, "the data hold nothing to measure it by")
    bound = 1 - limit if kind == "above" else limit  # accuracy above c is an error rate below 1 - c
    if measured.high < bound:
        verdict, word = Verdict.VERIFIED, "met"
    elif measured.low > bound:
        verdict, word = Verdict.REFUTED, "violated"
    else:
        verdict, word = Verdict.UNDECIDED, "undecided"
    what = {"no_worse": "loss", "below": shown, "above": "error rate"}[kind]
    text = (
        f"{name}: {word}; {what} {measured.excess:+.4f}, limits {measured.low:+.4f} and {measured.high:+.4f} "
        f"on {measured.n:,} items"
    )
    needed = None
    if verdict is Verdict.UNDECIDED:
        needed = _needed(measured, bound, metric=metric, paired=kind == "no_worse", alpha=alpha)
        text += f"; {needed:,} items would show it met if in truth there is " + (
            "no loss" if kind == "no_worse" else "half of what is allowed"
        )
    return Requirement(
        name=name,
        verdict=verdict,
        sentence=text + ".",
        excess=measured.excess,
        limit=bound,
        low=measured.low,
        high=measured.high,
        n=measured.n,
        labels_needed=needed,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Measured:
    """What must stay low, its lower limit at `spent`, its upper limit at `alpha`, n, and one item's variance."""

    excess: float
    low: float
    high: float
    n: int
    variance: float


def _needed(measured: _Measured, bound: float, *, metric: str, paired: bool, alpha: float) -> int:
    """Items that show the requirement met with 80% power if there is no loss, or half of what is allowed."""
    room, least = (bound, bound) if paired else (bound / 2, bound / 2 * (1 - bound / 2))
    if metric in ("ece", "mean_severity"):
        least = 0.0  # not a rate of items: what was measured is all there is to go by
    z = float(ndtri(1 - alpha) + ndtri(POWER))
    return math.ceil(z * z * max(measured.variance, least) / room**2)


def _limits(make: Any, alpha: float, spent: float) -> tuple[float, float]:
    """One-sided limits from a maker of two-sided intervals: lower at `spent`, upper at `alpha`."""
    low: Interval = make(1 - 2 * spent)
    high: Interval = make(1 - 2 * alpha)
    return low.low, high.high


def _columns(grades: GradeMatrix, table: Floats | None, number: int) -> Floats | None:
    """Rows that are known in the first `number` conditions."""
    if table is None:
        return None
    known = ~np.isnan(table[:, :number]).any(axis=1) & ~grades.failed[:, :number].any(axis=1)
    return table[known, :number] if known.any() else None


def _loss(metric: str, grades: GradeMatrix, alpha: float, spent: float) -> _Measured | None:
    """How much worse the candidate (column 0) is than the baseline (column 1), on the items of both."""
    if metric == "ece":
        return _ece_loss(grades, alpha, spent)
    source = grades.correct if metric in ("accuracy", "error_rate") else grades.severity
    rows = _columns(grades, source, 2)
    if rows is None or len(rows) < 2:
        return None
    if metric == "mean_severity":
        worse = rows[:, 0] - rows[:, 1]
        groups = np.arange(len(worse))
        low, high = _limits(lambda level: clustered_test(worse, groups, level=level).interval, alpha, spent)
        return _Measured(float(worse.mean()), low, high, len(worse), float(np.var(worse)))
    bad = rows == 0 if metric in ("accuracy", "error_rate") else rows >= CATASTROPHIC
    worse = bad[:, 0].astype(np.float64) - bad[:, 1]
    if grades.groups is not None and metric in ("accuracy", "error_rate"):
        known = ~np.isnan(grades.correct[:, :2]).any(axis=1) & ~grades.failed[:, :2].any(axis=1)
        units = np.unique(grades.groups[known], return_inverse=True)[1].astype(np.intp)
        if int(units.max()) + 1 < len(units) and int(units.max()) > 0:
            low, high = _limits(lambda level: clustered_test(worse, units, level=level).interval, alpha, spent)
            return _Measured(float(worse.mean()), low, high, len(worse), float(np.var(worse)))
    both = int(np.sum(bad[:, 0] & bad[:, 1]))
    counts = PairedCounts(
        both=both,
        only_a=int(bad[:, 1].sum()) - both,
        only_b=int(bad[:, 0].sum()) - both,
        neither=int(np.sum(~bad[:, 0] & ~bad[:, 1])),
    )
    low, high = _limits(lambda level: tango(counts, level=level), alpha, spent)
    return _Measured(counts.delta, low, high, counts.n, counts.discordance)


def _ece_loss(grades: GradeMatrix, alpha: float, spent: float) -> _Measured | None:
    if grades.confidence is None:
        return None
    known = ~np.isnan(grades.correct[:, :2]).any(axis=1) & ~np.isnan(grades.confidence[:, :2]).any(axis=1)
    if int(np.sum(known)) < 2:
        return None
    candidate, baseline = (ece_side(grades.confidence[known, k], grades.correct[known, k]) for k in (0, 1))
    found = ece_difference(baseline, candidate)
    low, high = _limits(found.interval, alpha, spent)
    error = found.interval(1 - 2 * alpha).half_width / float(ndtri(1 - alpha))
    return _Measured(found.estimate, low, high, found.n, error**2 * found.n)


def _level(metric: str, grades: GradeMatrix, alpha: float, spent: float) -> _Measured | None:
    """A metric of the candidate alone, turned so that less is better."""
    if metric == "ece":
        if grades.confidence is None:
            return None
        known = ~np.isnan(grades.correct[:, 0]) & ~np.isnan(grades.confidence[:, 0])
        if not known.any():
            return None
        gaps = bin_gaps(grades.confidence[known, 0], grades.correct[known, 0])
        debiased, _ = ece_interval(gaps.gap, gaps.standard_error)
        low, high = _limits(lambda level: ece_interval(gaps.gap, gaps.standard_error, level=level)[1], alpha, spent)
        n = int(np.sum(known))
        return _Measured(debiased, low, high, n, float(np.sum(gaps.standard_error**2)) * n)
    rows = _columns(grades, grades.correct if metric in ("accuracy", "error_rate") else grades.severity, 1)
    if rows is None:
        return None
    column = rows[:, 0]
    n = len(column)
    if metric == "mean_severity":
        if n < 2:
            return None
        low, high = _limits(lambda level: clustered_test(column, np.arange(n), level=level).interval, alpha, spent)
        return _Measured(float(column.mean()), low, high, n, float(np.var(column)))
    bad = int(np.sum(column == 0)) if metric in ("accuracy", "error_rate") else int(np.sum(column >= CATASTROPHIC))
    low = clopper_pearson(bad, n, level=1 - spent, side="lower").low
    high = clopper_pearson(bad, n, level=1 - alpha, side="upper").high
    return _Measured(bad / n, low, high, n, bad / n * (1 - bad / n))
