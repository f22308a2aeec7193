"""Weigh the errors of any source: read it, run the study, allow for judges' errors, check requirements and the plan."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter import severity as sev
from richter.audit._pictures import Picture, severity_picture
from richter.audit._plan import read_plan
from richter.audit._plan_lock import PlanStatus, open_data, record_use
from richter.claims import (
    METRICS,
    Asked,
    FamilyName,
    JointTests,
    Question,
    as_judged,
    check_margin,
    decide,
    pairs_of,
)
from richter.errors import InputError
from richter.evidence import (
    MissingPolicy,
    Policy,
    SeverityRows,
    SeveritySettings,
    evidence,
    has_shared_items,
    joint_law_of,
    lacking_grades,
    outcomes_of,
    run_checks,
    severity_pairs,
    severity_rows,
)
from richter.interop import Source, read_frame
from richter.records import Claim, Note, Rating, Refused, Shown, counted
from richter.stats import Floats, Indices, Mapper, in_threads
from richter.tables import (
    KEY,
    Dataset,
    RatingsFile,
    ReadOptions,
    read_tables,
    severity_of,
    severity_scores,
)

__all__ = ["SeverityReport", "ask_severities", "weigh_scores", "with_labels"]

INDEPENDENT = "independent"
JUDGED = "as judged"
CORRECTED = "true_severity_given_error"
WORST = METRICS["mean_severity"].worst or 4.0


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
    losses: Mapping[str, sev.ExpectedLoss]
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
    costs: Mapping[float, float] | None = None,
    require: Sequence[str] = (),
    human: str | Path | RatingsFile | None = None,
    judge_errors: str | Path | None = None,
    plan: str | Path | None = None,
    status: PlanStatus | None = None,
    decided: Sequence[Claim] | None = None,
    deviations: Sequence[str] = (),
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

    With a plan its values hold, its hash is the seed, and options given against it are listed as deviations; with
    `status` it is already known where the plan stands, and `deviations` are further ones. The judges' errors are
    allowed for where they are known: from labels, from three or more ratings an answer with
    `judge_errors="independent"`, or from a table `judge_errors` (`true`, `judged`, `share`). Pairs have seeds of their
    own: `mapper` says where they run.
    """
    margins = margins_of(margin)
    values: dict[str, Any] = {
        "max_error_gap": 0.05, "min_gap": 0.15, "primary": primary or "severity_given_error", "control": control,
    }  # fmt: skip
    recipe = sev.DEFAULT
    rules = list(require)
    keep: Sequence[str] = ()
    opened: PlanStatus | None = None
    if plan is not None:
        from richter.audit._plan_severity import plan_margins, plan_recipe  # here, since slopes are slow to load

        found = read_plan(plan, kind="severity")
        given = {"n_resamples": n_resamples, "level": level, "primary": primary, "control": control}
        against = [
            f"--{name.replace('_', '-')} {value} against the plan"
            for name, value in given.items()
            if value is not None and value != found.values.get(name)
        ]
        stated = plan_margins(found.values)
        against += [f"--margin {m}={x:g} against the plan" for m, x in margins.items() if stated.get(m) != x]
        files = {
            "traffic": traffic,
            "judge_errors": judge_errors,
            "human": human if isinstance(human, str | Path) else None,
        }
        against += [
            f"--{name.replace('_', '-')} {Path(file).name} is not in the plan"
            for name, file in files.items()
            if file is not None
        ]
        vouched = {
            f"missing {missing}": missing != "both-ways", "trust-ids": trust_ids, "trust-raters": trust_raters,
            "trust-labels": trust_labels, "unpaired": unpaired,
        }  # fmt: skip
        against += [f"--{name} is not in the plan" for name, is_given in vouched.items() if is_given]
        against += deviations
        against += [f"--require {rule!r} is not in the plan" for rule in rules if rule not in found.values["require"]]
        tables = _severities(source, found.values["conditions"])
        control = found.values["control"]
        others = [name for name in tables.conditions if name != control] if control else []
        opened = None if status is not None else open_data(plan, tables, candidates=others, extra=against)
        status = status or opened
        planned = {name: found.values[name] or None for name in values}
        values = {name: planned[name] if given.get(name) is None else given[name] for name in values}
        margins = stated | margins
        recipe = plan_recipe(found.values)
        n_resamples = n_resamples or found.values["n_resamples"]
        level = level or found.values["level"]
        rules = [*found.values["require"], *(rule for rule in rules if rule not in found.values["require"])]
        keep = found.values["conditions"]
        seed = found.seed
    n_resamples, level = n_resamples or 2000, level or 0.95
    sev.check_primary(values["primary"])
    requirements = [sev.parse_requirement(rule) for rule in rules]
    tables = _severities(source, keep)
    tables = tables if human is None else with_labels(tables, human)
    policy = Policy(
        missing=missing, trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels, unpaired=unpaired,
        min_shared=min_shared,
        severity=SeveritySettings(
            recipe=None if recipe == sev.DEFAULT else recipe, control=values["control"],
            max_error_gap=values["max_error_gap"], n_resamples=n_resamples, level=level, seed=seed, mapper=mapper,
        ),
    )  # fmt: skip
    scores, rng = severity_scores(tables), np.random.default_rng(seed)
    weighed, answers = severity_pairs(tables, policy.severity), rated_answers(tables, trust_labels=trust_labels)
    mix = None if traffic is None else _by_row(read_traffic(traffic, scores), scores, answers, tables.item_ids)
    corrected, skipped = _corrected(answers, judge_errors, scores, level, rng)
    asked: list[Asked] = []
    if decided is None:
        asked = ask_severities(tables, policy, primary=values["primary"], margins=margins, corrected=corrected)
        joint = None
        if values["control"] is not None and not corrected:
            joint = _joint_law(tables, weighed, asked, policy, values["primary"], rng)
        claims = decide(asked, level=level, joint=joint, data_hash=tables.data_hash, seed=seed)
    else:
        claims = tuple(c for c in decided if c.measure in sev.MEASURES or c.measure == CORRECTED)
    study = sev.summarise_study(
        weighed, claims, primary=values["primary"], recipe=recipe, traffic=mix, weights=answers.weights,
        max_error_gap=values["max_error_gap"], min_gap=values["min_gap"], n_resamples=n_resamples, level=level,
        unrated=tuple(name for name in tables.conditions if name not in weighed.columns),
        n_unrated_rows=len(tables.answers) - severity_of(tables).height, rng=rng,
    )  # fmt: skip
    rates = _rates_by_people(study, answers, level)
    if requirements and not study.rates:
        raise InputError(
            "Requirements need severities from 0 to 4.", remedy="Map the scale with --as-severity RIGHT:WORST."
        )
    required = [
        _ask_requirement(tables, rule, name, policy, answers, mix, is_corrected=name in rates)
        for rule in requirements
        for name in study.rates
    ]
    checks = sev.decide_requirements(required, level=level, data_hash=tables.data_hash, seed=seed)
    if status is not None:
        marked = study.claims if decided is not None else status.mark_claims(study.claims)
        study = dataclasses.replace(study, claims=marked)
        checks = status.mark_claims(checks)
    report = SeverityReport(
        study=study,
        seed=seed,
        basis=("" if answers.label is not None else as_judged(outcomes_of(tables, "mean_severity").judges))
        or tables.basis
        or JUDGED,
        requirements=checks,
        losses={name: _loss(answers, name, costs, mix, level) for name in study.rates} if costs else {},
        corrected=corrected,
        human=rates,
        human_skipped=skipped,
        understood=tables.understood,
        notes=tuple(
            dict.fromkeys(_notes(study, tables, scores, answers, asked, rates, corrected, any_scale=any_scale))
        ),
        plan=status,
    )
    if plan is not None and opened is not None:
        record_use(plan, opened)
    return report


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
    primary: str = "severity_given_error",
    margins: Mapping[str, float] | None = None,
    corrected: Mapping[str, sev.TrueSeverity] | None = None,
) -> list[Asked]:
    """Every question on the severities of pairs with its evidence: the main measure's first.

    What is given an error is asked of conditions that have one, and what needs the scale of 0 to 4 is asked on it. With
    `corrected` severities their mean given an error stands in the place of the mean as judged.
    """
    weighed, margins, corrected = severity_pairs(tables, policy.severity), margins or {}, corrected or {}
    known = {pair.names: pair for pair in weighed.pairs}
    couples = pairs_of(tuple(weighed.columns), control=policy.severity.control) if len(weighed.columns) > 1 else ()
    asked = []
    for measure in (primary, *(m for m in sev.MEASURES if m != primary)):
        for pair in couples:
            is_true = measure == "severity_given_error" and all(name in corrected for name in pair)
            family: FamilyName = "main" if measure == primary else "other"
            if is_true and pair in known:
                asked.append(_ask_corrected(tables, policy, pair, corrected, margins, family))
            question = Question(
                measure=measure, conditions=pair, margin=sev.margin_of(measure, margins),
                family="other" if is_true else family,
            )  # fmt: skip
            if _is_asked(measure, known.get(pair), is_on_grid=bool(weighed.fits)):
                asked.append(evidence(tables, question, policy))
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


def _joint_law(
    tables: Dataset, weighed: sev.PairStudy, asked: Sequence[Asked], policy: Policy, primary: str,
    rng: np.random.Generator,
) -> JointTests | None:  # fmt: skip
    """The law of the main measure's claims against one control together."""
    if METRICS[primary].estimator == "mean":
        return joint_law_of(tables, asked, policy, rng=rng)
    return weighed.joint_law(primary, rng)


def _notes(
    study: sev.SeverityStudy,
    tables: Dataset,
    scores: sev.Scores,
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
        yield "Human labels and traffic weights are not combined: requirements are checked as judged."
    if not corrected and tables.counting in ("judge", "given") and scores.judges is not None:
        raters = len(scores.judges)
        why = "two judges cannot tell their own errors" if raters == 2 else "what the judges' errors are is not known"
        yield (
            f"All claims are about the severities as judged: {why}. Label some answers (--human), or state the errors "
            "(--judge-errors)."
        )


def _correct_with_severity(tables: Dataset) -> Iterator[str]:
    """Answers that are graded right and yet have a severity above 0, or wrong with 0: said, never averaged away."""
    if tables.counting is None or "accuracy" not in set(tables.scores["metric"].unique()):
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RatedAnswers:
    """Every draw's severity with what is known of it: conditions x rows (NaN: none), and what people say of some.

    `label` is the median of people's severities and `layer` the stratum that it was drawn from (-1: none known); both
    None where nobody labels what others rated. `weights` say, by condition, what each answer counts for (its item's
    weight over the item's draws); None where all count alike. `groups` are the units.
    """

    rows: SeverityRows
    label: Floats | None
    layer: Indices | None
    label_fault: str
    weights: Mapping[str, Floats] | None

    @property
    def is_weighted(self) -> bool:
        """Whether items have weights of their own."""
        return self.rows.weight is not None

    def arrays(self, name: str) -> dict[str, Any]:
        """One condition's severities with units, weights, labels and strata."""
        k = self.rows.conditions.index(name)
        return {
            "severity": self.rows.severity[k],
            "groups": self.rows.groups,
            "weights": None if self.weights is None else self.weights[name],
            "label": None if self.label is None else self.label[k],
            "layer": None if self.layer is None else self.layer[k],
        }


def rated_answers(tables: Dataset, *, trust_labels: bool = False) -> RatedAnswers:
    """Severities, labels, strata and weights of all draws, in the rows of `severity_rows`."""
    rows, rated = severity_rows(tables, False), outcomes_of(tables, "mean_severity")
    draw = 0 if rated.draw is None else rated.draw
    place = (rated.condition, rated.item * rows.width + draw)
    label = layer = None
    if rated.label is not None and not np.isnan(rated.label).all() and (trust_labels or not rated.label_fault):
        label = np.full(rows.severity.shape, np.nan)
        label[place] = rated.label
        if rated.layer is not None:
            layer = np.full(rows.severity.shape, -1, dtype=np.intp)
            layer[place] = rated.layer
    return RatedAnswers(
        rows=rows, label=label, layer=layer, label_fault=rated.label_fault, weights=_answer_weights(rows)
    )


def _answer_weights(rows: SeverityRows) -> dict[str, Floats] | None:
    """What each answer counts for, by condition: its item's weight over its draws; None where all count alike."""
    has = ~np.isnan(rows.severity)
    draws = np.stack([np.bincount(rows.item, weights=own) for own in has])
    if rows.weight is None and all(len(np.unique(own[own > 0])) <= 1 for own in draws):
        return None
    weight = np.ones(len(rows.item)) if rows.weight is None else rows.weight
    return {
        name: np.where(own, weight / np.maximum(count[rows.item], 1), 0.0)
        for name, own, count in zip(rows.conditions, has, draws, strict=True)
    }


def _severities(source: Source | Dataset, conditions: Sequence[str]) -> Dataset:
    tables = source if isinstance(source, Dataset) else read_tables(source, options=ReadOptions(any_scale=True))
    return tables.select(conditions) if conditions else tables


def with_labels(tables: Dataset, source: str | Path | RatingsFile) -> Dataset:
    """The same data with people's ratings of another file, the strata they were drawn from, and their chances.

    A rater's own rating of the same answer is replaced. Ratings of answers that the data do not hold are left out and
    counted.
    """
    ratings, design = _labels_of(source, tables)
    known = tables.answers.select(KEY)
    own = ratings.join(known, on=KEY, how="semi", maintain_order="left")
    lost = ratings.height - own.height
    if own.is_empty():
        raise InputError(
            f"None of the {counted(ratings.height, 'label')} is of an answer in {tables.name}.",
            remedy="Labels name items and conditions as the data do: item, condition, rater, kind, severity.",
        )
    before = tables.ratings.join(own, on=(*KEY, "rater", "kind"), how="anti", maintain_order="left")
    answers = tables.answers
    for column in ("layer", "inclusion"):
        new = design.filter(pl.col(column).is_not_null()).select(*KEY, pl.col(column).alias("new"))
        answers = answers.join(new, on=KEY, how="left", maintain_order="left")
        answers = answers.with_columns(pl.coalesce("new", column).alias(column)).drop("new")
    said = (f"{counted(lost, 'label')} of answers that the data do not hold are left out.",) if lost else ()
    merged = pl.concat([before, own.select(before.columns)], how="vertical")
    return dataclasses.replace(tables, ratings=merged, answers=answers, notes=(*tables.notes, *said))


def _labels_of(source: str | Path | RatingsFile, tables: Dataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """People's ratings, and the stratum and the chance of every answer that the source names."""
    if not isinstance(source, RatingsFile):
        found = read_tables(source)
        return found.ratings.filter(pl.col("kind") == "human"), found.answers.select(*KEY, "layer", "inclusion")
    people = [r for r in source.ratings if r.kind == "human"]
    columns = ("item", "condition", "draw", "rater", "kind", "severity", "mechanism", "reason")
    rows = [(*(getattr(r, c) for c in columns), None) for r in people]
    schema = dict(tables.ratings.schema)
    ratings = pl.DataFrame(rows, schema={c: schema[c] for c in (*columns, "inclusion")}, orient="row")
    layers = [(*key, stratum, None) for key, stratum in source.strata.items()]
    types = {c: schema[c] for c in KEY} | {"layer": pl.String, "inclusion": pl.Float64}
    return ratings, pl.DataFrame(layers, schema=types, orient="row")


def _corrected(
    answers: RatedAnswers, errors: str | Path | None, scores: sev.Scores, level: float, rng: np.random.Generator
) -> tuple[dict[str, sev.TrueSeverity], dict[str, str]]:
    """Severities with the judges' errors allowed for, by whatever identifies them, and why others have none."""
    if errors is not None and str(errors) == INDEPENDENT:
        if scores.judges is None or len(scores.judges) < 3:
            raise InputError(
                "--judge-errors independent needs three or more ratings an answer: two do not identify the errors.",
                remedy="Give a third rating, human labels (--human), or a table of errors.",
            )
        own = {name: scores.judges[:, :, j].T for j, name in enumerate(scores.conditions)}
        return sev.severity_by_ratings(own, groups=scores.groups, level=level, rng=rng), {}
    found: dict[str, sev.TrueSeverity] = {}
    skipped: dict[str, str] = {}
    if errors is not None:
        if answers.rows.groups is not None:
            raise InputError(
                "A stated table of judges' errors allows for no groups.", remedy="Give human labels (--human) instead."
            )
        table = _read_errors(errors)
        for name, severity in scores.columns().items():
            if not np.isnan(severity).all():
                found[name] = sev.severity_by_confusion(severity, table, level=level, rng=rng)
        return found, skipped
    if answers.label is None or np.nanmax(answers.rows.severity) > WORST:
        return found, skipped
    for name in answers.rows.conditions:
        given = answers.arrays(name)
        if np.isnan(given["severity"]).all():
            continue
        try:
            found[name] = sev.severity_by_labels(
                given["severity"], given["label"], strata=given["layer"], groups=given["groups"],
                weights=given["weights"], level=level, rng=rng,
            )  # fmt: skip
        except InputError as error:
            skipped[name] = str(error)
    return found, skipped


def _read_errors(path: str | Path) -> Floats:
    """A stated table of judges' errors: `true`, `judged`, `share`; levels that it leaves out are judged rightly."""
    frame = read_frame(path)
    missing = [c for c in ("true", "judged", "share") if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: a table of judges' errors needs {', '.join(missing)}; it has {', '.join(frame.columns)}.",
            remedy="Give true, judged and share: how an answer of a true level is judged.",
        )
    columns = [frame[c].cast(pl.Float64, strict=False).to_numpy() for c in ("true", "judged", "share")]
    if any(np.isnan(c).any() for c in columns):
        raise InputError(f"{path}: a value is empty or not a number.", remedy="Levels are 0, 0.5, .. 4, shares 0..1.")
    true, judged = sev.snap(columns[0], name="true"), sev.snap(columns[1], name="judged")
    table = np.zeros((9, 9))
    np.add.at(table, (true, judged), columns[2])
    silent = table.sum(axis=1) == 0
    table[silent, silent] = 1.0
    return table


def _rates_by_people(study: sev.SeverityStudy, answers: RatedAnswers, level: float) -> dict[str, sev.DeploymentTable]:
    """Rates per million as people would rate, of conditions that have labels enough."""
    rates: dict[str, sev.DeploymentTable] = {}
    for name in study.rates if answers.label is not None else ():
        with contextlib.suppress(InputError):  # said where the labels are used for means
            rates[name] = _rates_of(answers.arrays(name), None, is_corrected=True)(level)
    return rates


def _rates_of(
    given: Mapping[str, Any], mix: sev.Traffic | None, *, is_corrected: bool
) -> Callable[[float], sev.DeploymentTable]:
    """The rates of one condition's answers at any level, as people would rate where labels correct them."""
    shared = {"groups": given["groups"], "weights": given["weights"]}
    if is_corrected and mix is None:
        return sev.human_corrected_rates(given["severity"], given["label"], strata=given["layer"], **shared)
    return functools.cache(lambda at: sev.deployment_table(given["severity"], traffic=mix, level=at, **shared))


def _loss(
    answers: RatedAnswers, name: str, costs: Mapping[float, float], mix: sev.Traffic | None, level: float
) -> sev.ExpectedLoss:
    given = answers.arrays(name)
    return sev.expected_loss(
        given["severity"], costs, traffic=mix, groups=given["groups"], weights=given["weights"], level=level
    )


def _ask_requirement(
    tables: Dataset,
    rule: sev.Requirement,
    name: str,
    policy: Policy,
    answers: RatedAnswers,
    mix: sev.Traffic | None,
    *,
    is_corrected: bool,
) -> sev.AskedRequirement:
    """A requirement on a condition's rates after every check; missing severities count as the worst, both ways.

    As in a gate, no absence of rows counts as a design.
    """
    policy = dataclasses.replace(policy, is_gate=True, trust_reading=True)
    question = sev.requirement_question(rule, name)
    checked = run_checks(tables, dataclasses.replace(question, measure="mean_severity"), policy)
    if checked.block is not None:
        asked = Asked(
            question=question, metric=sev.requirement_metric(rule), evidence=checked.block, basis=tables.basis,
            notes=checked.notes,
        )  # fmt: skip
        return sev.AskedRequirement(asked=asked)
    given = answers.arrays(name)
    lacking = _lacking(tables, name, policy)
    filled, traffic = _with_worst(given, answers.rows, lacking, mix)
    found = sev.ask_requirement(
        rule,
        name,
        _rates_of(given, mix, is_corrected=is_corrected),
        as_worst=_rates_of(filled, traffic, is_corrected=is_corrected) if lacking.any() else None,
        missing=int(lacking.sum()),
        level=policy.severity.level,
    )
    judged = "" if is_corrected else as_judged(outcomes_of(tables, "mean_severity").judges)
    known = dataclasses.replace(found.asked.known, judged=judged)
    return dataclasses.replace(found, asked=dataclasses.replace(found.asked, evidence=known, notes=checked.notes))


def _lacking(tables: Dataset, name: str, policy: Policy) -> Indices:
    """The severities that a condition lacks, by item; none where they are another design or lost at random."""
    if policy.missing != "both-ways":
        return np.zeros(len(tables.item_ids), dtype=np.intp)
    loose = policy.unpaired or not has_shared_items(tables, "mean_severity")
    rated = tuple(n for n in tables.conditions if n in severity_pairs(tables, policy.severity).columns)
    found = lacking_grades(tables, "mean_severity", rated, True, loose)
    return np.asarray(found.lacking[:, tables.conditions.index(name)])


def _with_worst(
    given: Mapping[str, Any], rows: SeverityRows, lacking: Indices, mix: sev.Traffic | None
) -> tuple[dict[str, Any], sev.Traffic | None]:
    """The answers of a condition with one of the worst severity for each that is missing, and their traffic.

    Where people labelled some, the added are a stratum of their own in which every label is known.
    """
    item = np.repeat(np.arange(len(lacking)), lacking)
    first = np.searchsorted(rows.item, item)  # rows stand in the order of items
    added, worst = len(item), np.full(len(item), WORST)
    filled = dict(given)
    filled["severity"] = np.concatenate([given["severity"], worst])
    units = rows.item if rows.groups is None else rows.groups
    if rows.groups is not None or len(np.unique(item)) < added:
        filled["groups"] = np.concatenate([units, units[first]])
    if given["weights"] is not None:
        own = np.ones(len(rows.item)) if rows.weight is None else rows.weight
        draws = np.bincount(rows.item[~np.isnan(given["severity"])], minlength=len(lacking)) + lacking
        weight = own / np.maximum(draws[rows.item], 1)
        filled["weights"] = np.concatenate([np.where(np.isnan(given["severity"]), 0.0, weight), weight[first]])
    if given["label"] is not None:
        layer = np.zeros(len(rows.item), dtype=np.intp) if given["layer"] is None else given["layer"]
        filled["label"] = np.concatenate([given["label"], worst])
        filled["layer"] = np.concatenate([layer, np.full(added, int(layer.max(initial=0)) + 1)])
    if mix is not None:
        mix = dataclasses.replace(mix, strata=[*mix.strata, *(mix.strata[k] for k in first)])
    return filled, mix


def _by_row(mix: sev.Traffic, scores: sev.Scores, answers: RatedAnswers, items: Sequence[str]) -> sev.Traffic:
    """A traffic mix with the stratum of every row."""
    of = dict(zip(scores.items, mix.strata, strict=True))
    return dataclasses.replace(mix, strata=[of.get(items[k], "") for k in answers.rows.item])


def mechanisms_named(ratings: Sequence[Rating], kind: str | None) -> dict[tuple[str, str], tuple[str, float]]:
    """By item and condition the mechanism that most raters of a kind named for a wrong first answer, and their mean
    severity; an empty name where two were named as often.
    """
    given: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.kind == kind and rating.draw == 0 and rating.mechanism and rating.severity:
            given[rating.item, rating.condition].append(rating)
    found = {}
    for key, own in given.items():
        first, *second = Counter(r.mechanism for r in own).most_common(2)
        clear = not second or first[1] > second[0][1]
        found[key] = first[0] if clear else "", float(np.mean([r.severity for r in own if r.severity is not None]))
    return found


def read_traffic(path: str | Path, scores: sev.Scores) -> sev.Traffic:
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
