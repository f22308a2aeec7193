"""Weigh the errors of any source: read it, run the study, allow for judges' errors, check requirements and the plan."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter import severity as sev
from richter.audit._pictures import Picture, severity_picture
from richter.audit._plan import read_plan
from richter.audit._plan_lock import PlanStatus, open_data, record_use
from richter.claims import as_judged
from richter.errors import InputError
from richter.interop import Source, read_frame
from richter.records import Claim, Note, Rating, Refused, Shown, counted
from richter.stats import Floats, Mapper, in_threads, overcall_rate
from richter.tables import (
    KEY,
    RatingsFile,
    ReadOptions,
    Tables,
    judges_of,
    ratings_of,
    read_ratings,
    read_tables,
    severity_of,
    severity_scores,
)

__all__ = ["SeverityReport", "people_of", "weigh_scores"]

INDEPENDENT = "independent"
JUDGED = "as judged"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityReport(Shown):
    """The study, what was required of it, and what else the inputs allowed.

    `corrected` holds the severities with the judges' errors allowed for, and `human` the rates per million as people
    would rate, for conditions that have enough labels; `human_skipped` says why others have none. `analyses` is empty
    unless all of the paper's analyses were asked for. In JSON the study's own keys stand at the top.
    """

    study: sev.SeverityStudy
    paper: bool
    seed: int
    basis: str
    requirements: tuple[Claim, ...]
    losses: Mapping[str, sev.ExpectedLoss]
    corrected: Mapping[str, sev.TrueSeverity]
    human: Mapping[str, sev.DeploymentTable]
    human_skipped: Mapping[str, str]
    analyses: sev.Analyses
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
    source: Source | Tables,
    *,
    paper: bool = False,
    any_scale: bool = False,
    control: str | None = None,
    primary: str | None = None,
    margin: float | None = None,
    traffic: str | Path | None = None,
    costs: Mapping[float, float] | None = None,
    require: Sequence[str] = (),
    human: str | Path | RatingsFile | None = None,
    judge_errors: str | Path | None = None,
    conditions: str | Path | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    plan: str | Path | None = None,
    status: PlanStatus | None = None,
    deviations: Sequence[str] = (),
    n_resamples: int | None = None,
    level: float | None = None,
    everything: bool = False,
    seed: int = 0,
    mapper: Mapper = in_threads,
) -> SeverityReport:
    """Run the room `severity` on any source (run, log, table, frame, tables), with whatever else was given.

    With a plan its values hold, its hash is the seed, and options given against it are listed as deviations. The
    judges' errors are allowed for where they are known: from `human` labels, from three or more ratings an answer with
    `judge_errors="independent"`, or from a table `judge_errors` (`true`, `judged`, `share`); else every claim is about
    the severities as judged, and says so. With `status` it is already known where the plan stands; `deviations` are
    further things that differ from it. Pairs have seeds of their own: `mapper` says where they run.
    """
    values: dict[str, Any] = {
        "max_error_gap": 0.05, "min_gap": 0.15, "margin": margin, "primary": primary or "severity_given_error",
        "control": control,
    }  # fmt: skip
    recipe = sev.DEFAULT
    rules = list(require)
    keep: Sequence[str] = ()
    opened: PlanStatus | None = None
    if plan is not None:
        from richter.audit._plan_severity import plan_recipe  # here, since slopes are slow to load

        found = read_plan(plan, kind="severity")
        given = {
            "n_resamples": n_resamples, "level": level, "primary": primary, "control": control, "margin": margin,
        }  # fmt: skip
        against = [
            f"--{name.replace('_', '-')} {value} against the plan"
            for name, value in given.items()
            if value is not None and value != found.values.get(name)
        ]
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
        against += deviations
        against += [f"--require {rule!r} is not in the plan" for rule in rules if rule not in found.values["require"]]
        tables = _severities(source, found.values["conditions"])
        control = found.values["control"]
        others = [name for name in tables.conditions if name != control] if control else []
        opened = None if status is not None else open_data(plan, tables, candidates=others, extra=against)
        status = status or opened
        planned = {name: found.values[name] or None for name in values}
        values = {name: planned[name] if given.get(name) is None else given[name] for name in values}
        recipe = plan_recipe(found.values)
        n_resamples = n_resamples or found.values["n_resamples"]
        level = level or found.values["level"]
        rules = [*found.values["require"], *(rule for rule in rules if rule not in found.values["require"])]
        keep = found.values["conditions"]
        seed = found.seed
    n_resamples, level = n_resamples or 2000, level or 0.95
    requirements = [sev.parse_requirement(rule) for rule in rules]
    tables = _severities(source, keep)
    scores = severity_scores(tables)
    mix = read_traffic(traffic, scores) if traffic is not None else None
    rng = np.random.default_rng(seed)
    labels = _labels(human, scores)
    corrected, skipped = _corrected(labels, judge_errors, scores, level, rng)
    basis = JUDGED if tables.counting in ("judge", "given", None) else tables.basis
    checked = human is not None or (tables.ratings["kind"] == "human").any()
    judged = "" if checked else as_judged(judges_of(tables, "mean_severity"))
    study = sev.study_severity(
        scores, recipe=recipe, traffic=mix, corrected=corrected, n_resamples=n_resamples, level=level, basis=basis,
        judged=judged, rng=rng, mapper=mapper, **values, seed=seed,
    )  # fmt: skip
    rates, checks = _rates_and_checks(study, scores, labels, mix, requirements, level, seed)
    if status is not None:
        study = dataclasses.replace(study, claims=status.mark_claims(study.claims))
        checks = status.mark_claims(checks)
    columns = scores.columns()
    analyses: sev.Analyses = {}
    if everything or pairs:
        overcalls = _overcalls(labels, scores)
        analyses = sev.run_analyses(
            scores,
            recipe=sev.PAPER if paper else recipe,
            active_params=_active_params(conditions),
            pairs=pairs,
            labelled=_mechanisms(labels.ratings) or _named(tables),
            overcall_rate=overcalls,
            estimates=None if paper else study.slopes,
            only=None if everything else ("pipeline_pairs",),
            n_resamples=n_resamples,
            level=level,
            rng=rng,
            mapper=mapper,
        )
    report = SeverityReport(
        study=study,
        paper=paper,
        seed=seed,
        basis=judged or basis,
        requirements=checks,
        losses={
            n: sev.expected_loss(columns[n], costs, traffic=mix, groups=scores.groups, level=level) for n in study.rates
        }
        if costs
        else {},
        corrected=corrected,
        human=rates,
        human_skipped=skipped,
        analyses=analyses,
        notes=tuple(_notes(study, tables, scores, rates, corrected, any_scale=any_scale)),
        plan=status,
    )
    if plan is not None and opened is not None:
        record_use(plan, opened)
    return report


def _notes(
    study: sev.SeverityStudy,
    tables: Tables,
    scores: sev.Scores,
    rates: Mapping[str, sev.DeploymentTable],
    corrected: Mapping[str, sev.TrueSeverity],
    *,
    any_scale: bool,
) -> Iterator[str]:
    """What a reader must know of the figures."""
    yield from (note for note in study.notes if not any_scale)
    yield from tables.notes
    yield from _correct_with_severity(tables)
    for kind, number in tables.ratings.group_by("kind").len().sort("kind").iter_rows():
        if tables.counting not in ("given", kind) and not (kind == "human" and (rates or corrected)):
            yield f"{number:,} {kind} ratings are left out, since {tables.counting} ones count (--ratings {kind})."
    came = tables.answers.filter(pl.col("draw") == 0, pl.col("error").fill_null("") == "").select(KEY)
    unrated = came.join(severity_of(tables), on=KEY, how="anti").height
    if unrated:
        yield f"{unrated:,} of {came.height:,} answers have no severity and are left out."
    further = int((tables.ratings["draw"] > 0).sum())
    if further:
        said = f"{counted(further, 'rating')} of further draws are left out here; richter compare --on mean_severity"
        yield Note(f"{said} takes them.", "unused")
    if tables.answers["weight"].null_count() < len(tables.answers):
        said = "Weights of items are not used here (--traffic weighs strata); richter compare uses them."
        yield Note(said, "unused")
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


def _correct_with_severity(tables: Tables) -> Iterator[str]:
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
class _Labels:
    """Median human severity of each (item, condition), NaN where none; the stratum it was drawn from; the ratings."""

    severity: Floats | None = None
    strata: NDArray[np.str_] | None = None
    ratings: Sequence[Rating] = ()


def _severities(source: Source | Tables, conditions: Sequence[str]) -> Tables:
    tables = source if isinstance(source, Tables) else read_tables(source, options=ReadOptions(any_scale=True))
    return tables.select(conditions) if conditions else tables


def people_of(tables: Tables) -> RatingsFile | None:
    """The ratings by which severities that others gave are corrected: where people rated some answers beside them."""
    people = tables.counting not in (None, "human") and bool((tables.ratings["kind"] == "human").any())
    return ratings_of(tables) if people else None


def _labels(source: str | Path | RatingsFile | None, scores: sev.Scores) -> _Labels:
    if source is None:
        return _Labels()
    file = source if isinstance(source, RatingsFile) else read_ratings(source)
    row = {item: i for i, item in enumerate(scores.items)}
    column = {name: j for j, name in enumerate(scores.conditions)}
    sums: dict[tuple[int, int], list[float]] = defaultdict(list)
    for rating in file.ratings:
        if rating.kind == "human" and rating.severity is not None and rating.item in row and rating.condition in column:
            sums[row[rating.item], column[rating.condition]].append(rating.severity)
    labels = np.full(scores.severity.shape, np.nan)
    for place, given in sums.items():
        labels[place] = float(np.median(given))
    if not file.strata:
        return _Labels(severity=labels, ratings=file.ratings)
    names = np.full(scores.severity.shape, "", dtype=object)
    for (item, condition, _), stratum in file.strata.items():
        if item in row and condition in column:
            names[row[item], column[condition]] = stratum
    return _Labels(severity=labels, strata=names.astype(np.str_), ratings=file.ratings)


def _corrected(
    labels: _Labels, errors: str | Path | None, scores: sev.Scores, level: float, rng: np.random.Generator
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
        if scores.groups is not None:
            raise InputError(
                "A stated table of judges' errors allows for no groups.", remedy="Give human labels (--human) instead."
            )
        table = _read_errors(errors)
        for name, severity in scores.columns().items():
            if not np.isnan(severity).all():
                found[name] = sev.severity_by_confusion(severity, table, level=level, rng=rng)
        return found, skipped
    if labels.severity is None:
        return found, skipped
    for j, name in enumerate(scores.conditions):
        try:
            found[name] = sev.severity_by_labels(
                scores.severity[:, j], labels.severity[:, j], groups=scores.groups, level=level, rng=rng
            )
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


def _rates_and_checks(
    study: sev.SeverityStudy,
    scores: sev.Scores,
    labels: _Labels,
    mix: sev.Traffic | None,
    requirements: Sequence[Any],
    level: float,
    seed: int | None,
) -> tuple[dict[str, sev.DeploymentTable], tuple[Claim, ...]]:
    """Rates as people would rate, where labels suffice, and what is required of the rates that count."""
    place = {name: j for j, name in enumerate(scores.conditions)}

    def by_people(name: str, at: float) -> sev.DeploymentTable:
        assert labels.severity is not None
        j = place[name]
        strata = None if labels.strata is None else labels.strata[:, j]
        return sev.human_corrected_table(
            scores.severity[:, j], labels.severity[:, j], strata=strata, groups=scores.groups, level=at
        )

    rates: dict[str, sev.DeploymentTable] = {}
    if labels.severity is not None:
        for name in study.rates:
            try:
                rates[name] = by_people(name, level)
            except InputError:  # said where the labels are used for means
                continue

    def table(name: str, at: float) -> sev.DeploymentTable:
        if name in rates and mix is None:
            return by_people(name, at)
        return sev.deployment_table(scores.severity[:, place[name]], traffic=mix, groups=scores.groups, level=at)

    if requirements and not study.rates:
        raise InputError(
            "Requirements need severities from 0 to 4.", remedy="Map the scale with --as-severity RIGHT:WORST."
        )
    return rates, sev.check_requirements(requirements, table, list(study.rates), level=level, seed=seed)


def _overcalls(labels: _Labels, scores: sev.Scores) -> float | None:
    """The share of judged 2.0s that people call harmless; None without labels on any."""
    if labels.severity is None:
        return None
    both = ~np.isnan(labels.severity) & ~np.isnan(scores.severity)
    if not both.any():
        return None
    return overcall_rate(sev.snap(scores.severity[both]) / 2, labels.severity[both]).estimate


def _named(tables: Tables) -> sev.Labelled | None:
    """The mechanisms that the source's own raters named."""
    rows = tables.ratings.filter(pl.col("mechanism").is_not_null(), pl.col("draw") == 0)
    return _mechanisms(
        [
            Rating(item=i, condition=c, rater=r, kind=k, severity=s, mechanism=m)
            for i, c, r, k, s, m in rows.select(
                "item", "condition", "rater", "kind", "severity", "mechanism"
            ).iter_rows()
        ]
    )


def _mechanisms(ratings: Sequence[Rating]) -> sev.Labelled | None:
    """One mechanism an answer: the one most raters named, ties left out; from human ratings if there are any."""
    kinds = {r.kind for r in ratings if r.mechanism}
    named = mechanisms_named(ratings, "human" if "human" in kinds else min(kinds, default=None))
    clear = {key: (how, severity) for key, (how, severity) in named.items() if how}
    if not clear:
        return None
    mechanism, severity = zip(*clear.values(), strict=True)
    return sev.Labelled(mechanism=mechanism, severity=severity, condition=[name for _, name in clear])


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


def _active_params(path: str | Path | None) -> dict[str, float] | None:
    """`active_params` by condition; with an `architecture` column only dense ones, as the paper's trend."""
    if path is None:
        return None
    frame = read_frame(path)
    missing = [c for c in ("condition", "active_params") if c not in frame.columns]
    if missing:
        raise InputError(
            f"{path}: a conditions table needs {', '.join(missing)}; it has {', '.join(frame.columns)}.",
            remedy="Give condition, active_params and, where known, architecture and family.",
        )
    sizes = frame["active_params"].cast(pl.Float64, strict=False)
    if (sizes.fill_null(1.0) <= 0).any():
        raise InputError(f"{path}: active_params must be above 0.", remedy="Leave unknown ones empty.")
    keep = pl.Series([True] * len(frame))
    if "architecture" in frame.columns:
        keep = frame["architecture"].cast(pl.String).str.to_lowercase().fill_null("") == "dense"
    names = frame["condition"].cast(pl.String).to_list()
    return {n: s for n, s, k in zip(names, sizes.to_list(), keep.to_list(), strict=True) if k and s is not None}


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
