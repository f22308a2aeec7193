"""Weigh the errors of any source: read it, run the study, allow for judges' errors, check requirements and the plan."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter import severity as sev
from richter.audit._pictures import Picture, severity_picture
from richter.audit._plan import read_plan
from richter.audit._plan_lock import PlanStatus, open_data
from richter.audit._severity_labels import RatedAnswers, rated_answers, with_labels
from richter.audit._severity_requirements import ask_requirement, rates_of
from richter.claims import METRICS, Asked, FamilyName, Question, as_judged, check_margin, decide, pairs_of
from richter.errors import InputError
from richter.evidence import (
    MissingPolicy,
    Policy,
    SeveritySettings,
    evidence,
    joint_law_of,
    outcomes_of,
    run_checks,
    severity_pairs,
)
from richter.interop import Source, read_frame
from richter.records import DEFAULT_LEVEL, Claim, Note, Refused, Shown, counted
from richter.severity._grid import TOP
from richter.stats import Mapper, in_threads
from richter.tables import (
    KEY,
    Dataset,
    RatingsFile,
    ReadOptions,
    SeverityScores,
    read_tables,
    severity_of,
    severity_scores,
)

__all__ = ["SeverityReport", "ask_severities", "weigh_scores"]

PRIMARY = "severity_given_error"
JUDGED = "the judge's grades"
CORRECTED = "true_severity_given_error"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityReport(Shown):
    """The study, what was required of it, and what else the inputs allowed.

    `corrected` holds the severities with the judges' errors allowed for, and `human` the rates per million as people
    would rate, for conditions that have enough labels; `human_skipped` says why others have none. In JSON the
    study's own keys stand at the top.
    """

    study: sev.SeverityStudy
    seed: int
    basis: str
    requirements: tuple[Claim, ...]
    corrected: Mapping[str, sev.TrueSeverity]
    human: Mapping[str, sev.DeploymentTable]
    human_skipped: Mapping[str, str]
    understood: str
    notes: tuple[str, ...]
    plan: PlanStatus | None
    derived = ("claims", "refused", "counts", "conditions", "recipe")
    unwritten = ("study",)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Requirements first, then the pairs."""
        return (*self.requirements, *self.study.claims)

    @property
    def refused(self) -> tuple[Refused, ...]:
        """Conditions of which no claim was formed."""
        return self.study.refused

    @property
    def counts(self) -> sev.PairCounts:
        """Pairs by each rule."""
        return self.study.counts

    @property
    def conditions(self) -> Mapping[str, sev.ConditionSeverity]:
        """Each condition's own figures."""
        return self.study.conditions

    @property
    def recipe(self) -> sev.Recipe:
        """How slopes were estimated."""
        return self.study.recipe

    def _shown(self) -> Picture:
        return severity_picture(self)


def weigh_scores(
    source: Source | Dataset,
    *,
    any_scale: bool = False,
    control: str | None = None,
    primary: str | None = None,
    margin: float | Mapping[str, float] | None = None,
    missing: MissingPolicy = "both-ways",
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    unpaired: bool = False,
    min_shared: float = 0.5,
    traffic: str | Path | None = None,
    require: Sequence[str] = (),
    human: str | Path | RatingsFile | None = None,
    plan: str | Path | None = None,
    status: PlanStatus | None = None,
    decided: Sequence[Claim] | None = None,
    beside_plan: Sequence[str] = (),
    n_resamples: int | None = None,
    level: float | None = None,
    seed: int = 0,
    mapper: Mapper = in_threads,
) -> SeverityReport:
    """Weigh the errors of any source (run, log, table, frame, tables), with whatever else was given.

    The claims are those of `richter compare` on the same data: `missing`, `trust_ids`, `trust_raters`, `trust_labels`,
    `unpaired` and `min_shared` mean the same. `primary` is the main measure; a bare `margin` is that of the mean
    severity of errors, others are by measure. Where a page was `decided` already, its claims on severities stand in
    the study and nothing is decided again. `human` labels join those that the data hold; they correct what judges and
    rules rated, by the design in which they were drawn.

    With a plan its values hold, its hash is the seed, and options given against it make the result exploratory; with
    `status` it is already known where the plan stands, and `beside_plan` are further ones. The judges' errors are
    allowed for where people labelled answers. Pairs have seeds of their own: `mapper` says where they run.
    """
    policy = Policy(
        missing=missing, trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels, unpaired=unpaired,
        min_shared=min_shared,
    )  # fmt: skip
    settings = _Settings(
        primary=primary or PRIMARY, control=control, margins=margins_of(margin), rules=tuple(require),
        n_resamples=n_resamples or 2000, level=level or DEFAULT_LEVEL, seed=seed, status=status,
    )  # fmt: skip
    if plan is not None:
        files = {"traffic": traffic, "human": human}
        given = {"n_resamples": n_resamples, "level": level, "primary": primary, "control": control}
        against = [*_files_beside_plan(files), *_vouched(policy), *beside_plan]
        settings = _planned_settings(settings, plan, source, given, against)
    sev.check_primary(settings.primary)
    requirements = [sev.parse_requirement(rule) for rule in settings.rules]
    tables = _severities(source, settings.conditions)
    tables = tables if human is None else with_labels(tables, human)
    policy = dataclasses.replace(policy, severity=settings.for_evidence(mapper))
    scores, rng = severity_scores(tables), np.random.default_rng(settings.seed)
    weighed, answers = severity_pairs(tables, policy.severity), rated_answers(tables, trust_labels=trust_labels)
    mix = None if traffic is None else _by_row(_read_traffic(traffic, scores), scores, answers, tables.item_ids)
    corrected, skipped = _correct_severities(answers, settings.level, rng)
    asked: list[Asked] = []
    if decided is None:
        asked = ask_severities(tables, policy, primary=settings.primary, margins=settings.margins, corrected=corrected)
        joint = None if settings.control is None or corrected else joint_law_of(tables, asked, policy)
        claims = decide(asked, level=settings.level, joint=joint, data_hash=tables.data_hash, seed=settings.seed)
        claims = settings.mark_claims(claims)
    else:
        claims = tuple(c for c in decided if c.measure in sev.MEASURES or c.measure == CORRECTED)
    study = sev.summarise_study(
        weighed, claims, primary=settings.primary, recipe=settings.recipe, traffic=mix, weights=answers.weights,
        max_error_gap=settings.max_error_gap, min_gap=settings.min_gap, n_resamples=settings.n_resamples,
        level=settings.level, unrated=tuple(name for name in tables.conditions if name not in weighed.columns),
        n_unrated_rows=len(tables.answers) - severity_of(tables).height, rng=rng,
    )  # fmt: skip
    rates = _rates_by_people(study, answers, settings.level)
    checks = _decide_requirements(tables, requirements, study, policy, answers, mix, rates)
    notes = _notes(study, tables, scores.items, answers, asked, rates, corrected, any_scale=any_scale)
    return SeverityReport(
        study=study,
        seed=settings.seed,
        basis=_basis(tables, answers),
        requirements=settings.mark_claims(checks),
        corrected=corrected,
        human=rates,
        human_skipped=skipped,
        understood=tables.understood,
        notes=tuple(dict.fromkeys(notes)),
        plan=settings.status,
    )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """What holds for a study: the options, or a plan's values where there is one."""

    primary: str
    control: str | None
    margins: Mapping[str, float]
    rules: tuple[str, ...]
    n_resamples: int
    level: float
    seed: int
    status: PlanStatus | None
    max_error_gap: float = 0.05
    min_gap: float = 0.15
    recipe: sev.Recipe = dataclasses.field(default_factory=lambda: sev.DEFAULT)  # loads compiled loops
    conditions: Sequence[str] = ()

    def for_evidence(self, mapper: Mapper) -> SeveritySettings:
        """What the estimators of severities need of it."""
        return SeveritySettings(
            recipe=None if self.recipe == sev.DEFAULT else self.recipe, control=self.control,
            max_error_gap=self.max_error_gap, n_resamples=self.n_resamples, level=self.level, seed=self.seed,
            mapper=mapper,
        )  # fmt: skip

    def mark_claims(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, exploratory or confirmatory as the plan has them."""
        return tuple(claims) if self.status is None else self.status.mark_claims(tuple(claims))


def _planned_settings(
    asked: _Settings,
    plan: str | Path,
    source: Source | Dataset,
    given: Mapping[str, Any],
    against: Sequence[str],
) -> _Settings:
    """The settings of a plan; what was `given` otherwise holds before it."""
    from richter.audit._plan_severity import plan_margins, plan_recipe  # here, since slopes are slow to load

    found = read_plan(plan, kind="severity")
    values, stated = found.values, plan_margins(found.values)
    stray = [rule for rule in asked.rules if rule not in values["require"]]
    changed = {n: v for n, v in given.items() if v is not None and v != values.get(n)}
    extra = [f"--{name.replace('_', '-')} {value} against the plan" for name, value in changed.items()]
    extra += [f"--margin {m}={x:g} against the plan" for m, x in asked.margins.items() if stated.get(m) != x]
    extra += [*against, *(f"--require {rule!r} is not in the plan" for rule in stray)]
    status = asked.status
    if status is None:
        tables, control = _severities(source, values["conditions"]), values["control"]
        others = [name for name in tables.conditions if control and name != control]
        status = open_data(plan, tables, candidates=others, extra=extra)
    names = ("primary", "control", "n_resamples", "level")
    chosen: dict[str, Any] = {name: (values[name] or None) if given[name] is None else given[name] for name in names}
    return dataclasses.replace(
        asked,
        **chosen,
        margins=stated | dict(asked.margins),
        rules=(*values["require"], *stray),
        max_error_gap=values["max_error_gap"],
        min_gap=values["min_gap"],
        recipe=plan_recipe(values),
        conditions=values["conditions"],
        seed=found.seed,
        status=status,
    )


def _files_beside_plan(files: Mapping[str, Any]) -> Iterator[str]:
    """The files that were given and that no plan names."""
    for name, file in files.items():
        if isinstance(file, str | Path):
            yield f"--{name.replace('_', '-')} {Path(file).name} is not in the plan"


def _vouched(policy: Policy) -> Iterator[str]:
    """What the user vouches for and no plan names."""
    given = {
        f"missing {policy.missing}": not policy.is_both_ways, "trust-ids": policy.trust_ids,
        "trust-raters": policy.trust_raters, "trust-labels": policy.trust_labels, "unpaired": policy.unpaired,
    }  # fmt: skip
    yield from (f"--{name} is not in the plan" for name, is_given in given.items() if is_given)


def _decide_requirements(
    tables: Dataset,
    requirements: Sequence[sev.Requirement],
    study: sev.SeverityStudy,
    policy: Policy,
    answers: RatedAnswers,
    mix: sev.Traffic | None,
    rates: Mapping[str, sev.DeploymentTable],
) -> tuple[Claim, ...]:
    """What is required of every condition's rates, decided."""
    if requirements and not study.rates:
        raise InputError(
            "Requirements need severities from 0 to 4.", remedy="Map the scale with --as-severity RIGHT:WORST."
        )
    required = [
        ask_requirement(tables, rule, name, policy, answers, mix, is_corrected=name in rates)
        for rule in requirements
        for name in study.rates
    ]
    level, seed = policy.severity.level, policy.severity.seed
    return sev.decide_requirements(required, level=level, data_hash=tables.data_hash, seed=seed)


def _basis(tables: Dataset, answers: RatedAnswers) -> str:
    """Whose severities the study rests on."""
    unchecked = "" if answers.label is not None else as_judged(outcomes_of(tables, "mean_severity").judges)
    return unchecked or tables.basis or JUDGED


def margins_of(margin: float | Mapping[str, float] | None) -> dict[str, float]:
    """The stated margins by measure: a bare one is that of the mean severity of errors."""
    stated = dict(margin) if isinstance(margin, Mapping) else {} if margin is None else {"": margin}
    margins = {name or "severity_given_error": value for name, value in stated.items()}
    for name, value in margins.items():
        sev.check_primary(name)
        check_margin(METRICS[name], value)
    return margins


def ask_severities(
    tables: Dataset,
    policy: Policy,
    *,
    primary: str,
    margins: Mapping[str, float],
    corrected: Mapping[str, sev.TrueSeverity],
) -> list[Asked]:
    """Every question on the severities of pairs with its evidence: the main measure's first.

    What is given an error is asked of conditions that have one, and what needs the scale of 0 to 4 is asked on it. With
    `corrected` severities their mean given an error stands in the place of the mean by the judge's grades.
    """
    weighed = severity_pairs(tables, policy.severity)
    known = {pair.names: pair for pair in weighed.pairs}
    couples = pairs_of(tuple(weighed.columns), control=policy.severity.control) if len(weighed.columns) > 1 else ()
    measures = (primary, *(m for m in sev.MEASURES if m != primary))
    asked = []
    for measure, pair in itertools.product(measures, couples):
        family: FamilyName = "main" if measure == primary else "other"
        if measure == "severity_given_error" and all(name in corrected for name in pair):
            if pair in known:
                asked.append(_ask_corrected(tables, policy, pair, corrected, margins, family))
            family = "other"
        if _is_asked(measure, known.get(pair), is_on_grid=bool(weighed.fits)):
            margin = sev.margin_of(measure, margins)
            asked.append(
                evidence(tables, Question(measure=measure, conditions=pair, margin=margin, family=family), policy)
            )
    return asked


def _is_asked(measure: str, pair: sev.SeverityPair | None, *, is_on_grid: bool) -> bool:
    """Whether severities say anything on a measure of this pair, be it why they do not suffice."""
    if METRICS[measure].estimator == "mean":
        return is_on_grid
    return pair is not None and (measure in pair.evidence or (measure == "b" and is_on_grid))


def _ask_corrected(
    tables: Dataset,
    policy: Policy,
    pair: tuple[str, str],
    corrected: Mapping[str, sev.TrueSeverity],
    margins: Mapping[str, float],
    family: FamilyName,
) -> Asked:
    """The question on the mean severity of errors, the judges' errors allowed for, after every check."""
    question = Question(measure=CORRECTED, conditions=pair, margin=sev.margin_of(CORRECTED, margins), family=family)
    first, second = (corrected[name] for name in pair)
    checked = run_checks(tables, question, policy)
    found = checked.block or sev.true_difference(first, second)
    return Asked(question=question, metric=METRICS[CORRECTED], evidence=found, basis=first.basis, notes=checked.notes)


def _notes(
    study: sev.SeverityStudy,
    tables: Dataset,
    items: Sequence[str],
    answers: RatedAnswers,
    asked: Sequence[Asked],
    rates: Mapping[str, sev.DeploymentTable],
    corrected: Mapping[str, sev.TrueSeverity],
    *,
    any_scale: bool,
) -> Iterator[str]:
    """What a reader must know of the figures."""
    yield from (note for note in study.notes if not any_scale)
    yield from tables.notes
    yield from outcomes_of(tables, "mean_severity").notes
    yield from _correct_with_severity(tables)
    yield from dict.fromkeys(note for one in asked for note in one.notes)
    for kind, number in tables.ratings.group_by("kind").len().sort("kind").iter_rows():
        if tables.counting not in ("given", kind) and not (kind == "human" and answers.label is not None):
            yield f"{number:,} {kind} ratings are left out, since {tables.counting} ones count (--ratings {kind})."
    came = tables.answers.filter(pl.col("error").fill_null("") == "").select(KEY)
    unrated = came.join(severity_of(tables), on=KEY, how="anti").height
    if unrated:
        yield f"{unrated:,} of {came.height:,} answers have no severity."
    if answers.is_weighted:
        yield Note("Slopes and families do not use the weights of items; all other figures do.", "unused")
    first = next(iter(study.rates.values()), None)
    if first is not None and first.uncovered_strata:
        yield f"No item covers {', '.join(first.uncovered_strata)}: {first.uncovered:.1%} of the traffic."
    if first is not None and first.weighted and rates:
        yield "Human labels and traffic weights are not combined: requirements are checked by the judge's grades."
    if not corrected and tables.counting in ("judge", "given"):
        yield from _describe_judge_errors(tables, items)


def _describe_judge_errors(tables: Dataset, items: Sequence[str]) -> Iterator[str]:
    """Why the errors of several judges are not allowed for; nothing where one judge rated."""
    judged = tables.ratings.filter(kind="judge", draw=0).filter(pl.col("item").is_in(list(items)))
    raters = judged.group_by(KEY).len().select(pl.max("len")).item() or 0  # of the answer that has most
    if raters > 1:
        why = "two judges cannot tell their own errors" if raters == 2 else "what the judges' errors are is not known"
        yield f"All claims are about the judge's grades: {why}. Label some answers (--human)."


def _correct_with_severity(tables: Dataset) -> Iterator[str]:
    """Answers that are graded right and yet have a severity above 0, or wrong with 0: said, never averaged away."""
    if tables.counting is None or not tables.scored_by or "accuracy" not in set(tables.scores["metric"].unique()):
        return
    right = tables.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_not_null())
    both = right.join(severity_of(tables), on=["item", "condition", "draw"], how="inner")
    odd = both.filter((pl.col("value") == 1) & (pl.col("severity") > 0)).height
    if odd:
        yield (
            f"{counted(odd, 'answer is', 'answers are')} graded correct and have "
            "a severity above 0; here the severity counts."
        )
    odd = both.filter((pl.col("value") == 0) & (pl.col("severity") == 0)).height
    if odd:
        yield (
            f"{counted(odd, 'answer is', 'answers are')} graded wrong and have severity 0; here they count as correct."
        )


def _severities(source: Source | Dataset, conditions: Sequence[str]) -> Dataset:
    tables = source if isinstance(source, Dataset) else read_tables(source, options=ReadOptions(any_scale=True))
    return tables.select(conditions) if conditions else tables


def _correct_severities(
    answers: RatedAnswers, level: float, rng: np.random.Generator
) -> tuple[dict[str, sev.TrueSeverity], dict[str, str]]:
    """Severities with the judges' errors allowed for, where people labelled enough, and why others have none."""
    if answers.label is None or np.nanmax(answers.rows.severity) > TOP:
        return {}, {}
    found: dict[str, sev.TrueSeverity] = {}
    skipped: dict[str, str] = {}
    for name in answers.rows.conditions:
        given = answers.arrays(name)
        if np.isnan(given["severity"]).all():
            continue
        try:
            found[name] = sev.severity_by_labels(
                given["severity"], given["label"], strata=given["layer"], probability=given["chance"],
                groups=given["groups"], weights=given["weights"], level=level, rng=rng,
            )  # fmt: skip
        except InputError as error:
            skipped[name] = str(error)
    return found, skipped


def _rates_by_people(study: sev.SeverityStudy, answers: RatedAnswers, level: float) -> dict[str, sev.DeploymentTable]:
    """Rates per million as people would rate, of conditions that have labels enough."""
    rates: dict[str, sev.DeploymentTable] = {}
    for name in study.rates if answers.label is not None else ():
        with contextlib.suppress(InputError):  # said where the labels are used for means
            rates[name] = rates_of(answers.arrays(name), None, is_corrected=True)(level)
    return rates


def _by_row(mix: sev.Traffic, scores: SeverityScores, answers: RatedAnswers, items: Sequence[str]) -> sev.Traffic:
    """A traffic mix with the stratum of every row."""
    of = dict(zip(scores.items, mix.strata, strict=True))
    return dataclasses.replace(mix, strata=[of.get(items[k], "") for k in answers.rows.item])


def _read_traffic(path: str | Path, scores: SeverityScores) -> sev.Traffic:
    """Read a mix: `share` per `domain`, per `tier`, or per both; matched to the items by these columns."""
    frame = read_frame(path)
    keys = [c for c in ("domain", "tier") if c in frame.columns]
    if "share" not in frame.columns or not keys:
        raise InputError(
            f"{path}: a traffic mix needs `share` and `domain` or `tier`; it has {', '.join(frame.columns)}.",
            remedy="Give one row per stratum of your traffic.",
        )
    parts = []
    for key in keys:
        values = scores.domain if key == "domain" else scores.tier
        if values is None:
            raise InputError(f"The scores have no `{key}`, by which {path} weights.", remedy=f"Add a {key} column.")
        parts.append(values.astype(np.str_))
    strata = [" / ".join(p) for p in zip(*parts, strict=True)]
    shares = frame["share"].cast(pl.Float64, strict=False)
    if shares.null_count() or not shares.is_finite().all() or (shares < 0).any():
        raise InputError(f"{path}: a share is empty, negative or not a number.", remedy="Shares are 0 or more.")
    names = frame.select(pl.concat_str([pl.col(k).cast(pl.String).str.strip_chars() for k in keys], separator=" / "))
    labels = names.to_series().fill_null("").to_list()
    if len(set(labels)) < len(labels):
        raise InputError(f"{path}: a stratum has two rows.", remedy="Give each stratum one share.")
    return sev.Traffic(shares=dict(zip(labels, shares.to_list(), strict=True)), strata=strata)
