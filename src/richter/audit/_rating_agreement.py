"""How far ratings can be trusted: agreement within a kind, judges against a reference, corrections by people."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Mapping
from typing import ClassVar, Literal, TypedDict, cast

import numpy as np

from richter.audit._judge_trust import JudgeTrust
from richter.audit._measure_run import RunRecords
from richter.audit._results import JUDGING_NOTE
from richter.errors import InputError, TooFewErrors
from richter.ratings import (
    Agreement,
    Correction,
    JudgeReport,
    SelfJudging,
    Tabulated,
    Undefined,
    agreement,
    audit_self_judging,
    corrections,
    judge_report,
    snap,
    tabulate,
)
from richter.records import DEFAULT_LEVEL, Condition, Result
from richter.stats import JudgeEffect, Share
from richter.tables import RatingsFile

__all__ = ["AgreementReport", "LoneRater", "SlopeRanks", "measure_agreement"]

Kind = Literal["human", "judge", "rule"]
KINDS: tuple[Kind, ...] = ("human", "judge", "rule")
Key = tuple[str, str, int]
MIN_CONDITIONS = 4  # below, no order of slopes is rarer than 1 in 20
SLOPE_RESAMPLES = 100  # intervals of slopes are not used


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoneRater(Result):
    """One rater alone: there is nobody to agree with."""

    raters: tuple[str, ...]
    n_answers: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SlopeRanks(Result):
    """Whether people's ratings put conditions in the judges' order of severity: each condition's slope b by both.

    `correlation` is Spearman's over the conditions that have a slope by both, `p_value` by permutation.
    """

    people: Mapping[str, float]
    judges: Mapping[str, float]
    correlation: float
    p_value: float


class ByGroup(TypedDict, total=False):
    """Agreement within each condition or domain, where asked for."""

    by_condition: Mapping[str, Agreement]
    by_domain: Mapping[str, Agreement]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WithinKind(Result):
    """Agreement within a kind of rating, with that within its groups."""

    flat: ClassVar = ("found", "groups")

    found: Agreement | LoneRater
    groups: ByGroup


class Held(TypedDict, total=False):
    """Judges and rules against their reference, and as people's labels correct them."""

    judges: JudgeReport
    rules: JudgeReport
    corrected_judges: tuple[Correction, ...]
    corrected_rules: tuple[Correction, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AgreementReport(Result):
    """Agreement by kind of rating, judges and rules against a reference, and what people's labels correct them to."""

    unwritten: ClassVar = ("kinds", "groups", "by", "references", "corrected", "stratified")
    flat: ClassVar = ("held",)
    derived: ClassVar = ("by_kind", "held")
    named: ClassVar = {"by_kind": "kinds"}

    file: str
    kinds: Mapping[Kind, Agreement | LoneRater]
    groups: Mapping[Kind, Mapping[str, Agreement]]  # by condition or domain, where asked for
    by: str | None
    references: Mapping[Kind, JudgeReport]
    corrected: Mapping[Kind, tuple[Correction, ...]]
    stratified: bool
    trust: JudgeTrust | None = None  # each judge against labels and a reference, where judges graded
    slopes: SlopeRanks | Undefined | None = None  # None where people or judges did not rate

    @property
    def by_kind(self) -> Mapping[str, WithinKind]:
        """Agreement within each kind, with that within each group."""
        by = {kind: cast(ByGroup, {f"by_{self.by}": groups}) for kind, groups in self.groups.items()}
        return {kind: WithinKind(found=found, groups=by.get(kind, {})) for kind, found in self.kinds.items()}

    @property
    def held(self) -> Held:
        """Judges and rules against their reference, and as people's labels correct them."""
        corrected = {f"corrected_{kind}s": rows for kind, rows in self.corrected.items()}
        return cast(Held, {f"{kind}s": report for kind, report in self.references.items()} | corrected)


def measure_agreement(
    source: RatingsFile,
    *,
    rng: np.random.Generator,
    file: str = "",
    kind: Kind | None = None,
    reference: Kind | None = None,
    by: Literal["condition", "domain"] | None = None,
    any_scale: bool = False,
    level: float = DEFAULT_LEVEL,
) -> AgreementReport:
    """Report each kind of rating by itself; hold judges against people or rules, and rules against people.

    With `kind` only that one, which must be there. Judge and rule figures are corrected by human labels where there
    are any.
    """
    rated = {r.kind for r in source.ratings}
    present = [k for k in KINDS if k in rated]
    wanted = [kind] if kind else present
    tables = {k: tabulate(source.ratings, k, any_scale=any_scale) for k in dict.fromkeys([*wanted, *present])}
    kinds: dict[Kind, Agreement | LoneRater] = {}
    groups: dict[Kind, Mapping[str, Agreement]] = {}
    for name in wanted:
        table = tables[name]
        if len(table.raters) < 2 and kind is None:
            kinds[name] = LoneRater(raters=table.raters, n_answers=len(table.keys))
            continue
        strata = source.strata if name == "human" else None
        kinds[name] = agreement(table, strata=strata, level=level, rng=rng)
        if by:
            groups[name] = _by(table, source, by, level=level, rng=rng)
    references = _held_against(source, {k: tables[k] for k in wanted}, tables, reference, level=level, rng=rng)
    on_rubric = {} if any_scale else tables
    return AgreementReport(
        file=file,
        kinds=kinds,
        groups=groups,
        by=by,
        references=references,
        corrected=_correct_by_people(source, on_rubric, references, level=level),
        stratified=bool(source.strata),
        slopes=_rank_slopes(source, on_rubric, rng),
    )


def _correct_by_people(
    source: RatingsFile, tables: Mapping[Kind, Tabulated], kinds: Iterable[Kind], *, level: float
) -> dict[Kind, tuple[Correction, ...]]:
    """Figures of these kinds of rating as people's labels correct them; none where people did not rate."""
    if "human" not in tables:
        return {}
    order, strata = dict.fromkeys(r.condition for r in source.ratings), source.strata or None
    return {k: corrections(tables["human"], tables[k], strata=strata, order=order, level=level) for k in kinds}


def _rank_slopes(
    source: RatingsFile, tables: Mapping[Kind, Tabulated], rng: np.random.Generator
) -> SlopeRanks | Undefined | None:
    """The rank correlation of conditions' slopes by people and by judges, on the answers that both rated."""
    if not {"human", "judge"} <= tables.keys():
        return None
    if source.strata:
        return Undefined(why="People rated a sample drawn by severity, whose slope is not that of all answers.")
    people, judges = (_slopes(tables[kind], rng, shared=set(tables["human"].keys) & set(tables["judge"].keys))
                      for kind in ("human", "judge"))  # fmt: skip
    both = [name for name in people if name in judges]
    if len(both) < MIN_CONDITIONS:
        why = f"{len(both)} conditions have a slope by both people and judges; {MIN_CONDITIONS} are needed."
        return Undefined(why=why)
    from scipy.stats import permutation_test, spearmanr  # here, since it is slow to load

    x, y = (np.array([average[name] for name in both]) for average in (people, judges))
    found = permutation_test(
        (x,), lambda order: spearmanr(order, y).statistic, permutation_type="pairings", n_resamples=2000, rng=rng
    )
    return SlopeRanks(
        people={name: people[name] for name in both}, judges={name: judges[name] for name in both},
        correlation=float(found.statistic), p_value=float(found.pvalue),
    )  # fmt: skip


def _slopes(table: Tabulated, rng: np.random.Generator, *, shared: set[Key]) -> dict[str, float]:
    """Each condition's slope of its answers' mean severities; conditions with too few errors have none."""
    from richter.severity import estimate_b  # here, since slopes are slow to load

    found: dict[str, float] = {}
    mean = snap(table.mean)
    of = np.array([key[1] for key in table.keys])
    use = np.array([key in shared for key in table.keys])
    for name in dict.fromkeys(of.tolist()):
        with contextlib.suppress(TooFewErrors):
            found[name] = estimate_b(mean[(of == name) & use], n_resamples=SLOPE_RESAMPLES, rng=rng).b
    return found


def _held_against(
    source: RatingsFile,
    wanted: Mapping[Kind, Tabulated],
    tables: Mapping[Kind, Tabulated],
    reference: Kind | None,
    *,
    level: float,
    rng: np.random.Generator,
) -> dict[Kind, JudgeReport]:
    """Judges against people or rules, and rules against people, where these rated."""
    bases: dict[Kind, Tabulated | None] = {}
    if "judge" in wanted:
        bases["judge"] = _reference(tables, reference)
    if "rule" in wanted and "human" in tables:
        bases["rule"] = tables["human"]
    reports: dict[Kind, JudgeReport] = {}
    for kind, basis in bases.items():
        drawn = source.strata if source.strata and basis is not None and basis.kind == "human" else None
        reports[kind] = judge_report(wanted[kind], basis, strata=drawn, level=level, rng=rng)
    return reports


def _reference(tables: Mapping[Kind, Tabulated], wanted: Kind | None) -> Tabulated | None:
    if wanted and wanted not in tables:
        raise InputError(f"There are no {wanted} ratings to hold the judges against.", remedy="Leave --reference out.")
    return tables.get(wanted or ("human" if "human" in tables else "rule"))


def _by(
    table: Tabulated, source: RatingsFile, by: str, *, level: float, rng: np.random.Generator
) -> dict[str, Agreement]:
    if by == "domain" and not source.domains:
        raise InputError("The ratings have no `domain` column.", remedy="Add one, or use --by condition.")
    names = np.array([key[1] if by == "condition" else source.domains.get(key[0], "") for key in table.keys])
    return {name: agreement(table, names == name, level=level, rng=rng) for name in sorted(set(names.tolist()))}


def self_judging(records: RunRecords) -> SelfJudging | None:
    """Who judged their own answers; None where no judge model rated."""
    judges = [Condition.from_dict(row) for row in records.notes[JUDGING_NOTE].get("judges", [])]
    if not judges or not any(r.kind == "judge" for r in records.ratings):
        return None
    return audit_self_judging(records.ratings, records.conditions, judges)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgesSection(Result):
    """Agreement as `richter label agreement --json` prints it, with leniency and overcall by judge."""

    flat: ClassVar = ("report",)

    report: AgreementReport
    leniency: Mapping[str, JudgeEffect]
    overcall: Mapping[str, Share | Undefined]
    self_judging: SelfJudging | None


def agreement_by_labels(trust: JudgeTrust, *, file: str) -> AgreementReport:
    """What human labels say of judges in a source without a second rating of severity."""
    return AgreementReport(
        file=file, kinds={}, groups={}, by=None, references={}, corrected={}, stratified=False, trust=trust
    )


def judges_section(records: RunRecords, report: AgreementReport) -> JudgesSection:
    """The section on judges."""
    held = report.references.get("judge")
    lenient = () if held is None or isinstance(held.leniency, Undefined) else held.leniency.effects
    return JudgesSection(
        report=report,
        leniency={} if held is None else {held.judges[effect.judge]: effect for effect in lenient},
        overcall={} if held is None else dict(held.overcall),
        self_judging=self_judging(records),
    )
