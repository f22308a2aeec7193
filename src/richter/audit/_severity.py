"""Weigh the errors of a scores table: read what was given, run the study, check requirements, keep to the plan."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.audit._pictures import severity_picture
from richter.audit._plan import PlanStatus, open_data, plan_file, read_plan
from richter.audit._plan_severity import plan_recipe
from richter.errors import InputError
from richter.interop import Source, read_frame
from richter.records import Finding, Rating, jsonable
from richter.severity import (
    DEFAULT,
    PAPER,
    DeploymentTable,
    ExpectedLoss,
    Labelled,
    Scores,
    SeverityStudy,
    Traffic,
    check_requirement,
    expected_loss,
    human_corrected_table,
    parse_requirement,
    run_analyses,
    snap,
    study_severity,
)
from richter.stats import Mapper, icc, in_threads, overcall_rate
from richter.store import Place
from richter.tables import RatingsFile, Tables, read_ratings, read_tables, severity_scores

__all__ = ["SeverityReport", "read_traffic", "weigh_scores"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeverityReport:
    """The study, what was required of it, and what else the inputs allowed.

    `human` holds the rates corrected by human labels, for conditions that have enough of them; `human_skipped` says
    why others have none. `analyses` is empty unless all of the paper's analyses were asked for.
    """

    study: SeverityStudy
    paper: bool
    seed: int
    requirements: tuple[Finding, ...]
    losses: Mapping[str, ExpectedLoss]
    human: Mapping[str, DeploymentTable]
    human_skipped: Mapping[str, str]
    analyses: Mapping[str, Any]
    notes: tuple[str, ...]
    status: PlanStatus | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values under the names that others rely on."""
        payload = self.study.to_dict()
        for name, row in payload["conditions"].items():
            if name in self.losses:
                row["expected_loss"] = self.losses[name].to_dict()
            if name in self.human:
                row["per_million_human"] = self.human[name].to_dict()["rows"]
                row["basis_human"] = self.human[name].basis
        payload |= {
            "paper": self.paper,
            "seed": self.seed,
            "requirements": [r.to_dict() for r in self.requirements],
            "human_skipped": dict(self.human_skipped),
            "analyses": jsonable(dict(self.analyses)),
            "notes": list(self.notes),
            "plan": None if self.status is None else self.status.to_dict(),
        }
        return payload

    def _repr_html_(self) -> str:
        return severity_picture(self)


def weigh_scores(
    source: Source | Tables,
    *,
    opened: str | Place | None = None,
    paper: bool = False,
    traffic: str | Path | None = None,
    costs: Mapping[float, float] | None = None,
    require: Sequence[str] = (),
    human: str | Path | RatingsFile | None = None,
    conditions: str | Path | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    plan: str | Path | None = None,
    status: PlanStatus | None = None,
    reliability: float | None = None,
    n_resamples: int | None = None,
    level: float | None = None,
    everything: bool = False,
    seed: int = 0,
    mapper: Mapper = in_threads,
) -> SeverityReport:
    """Run the room `severity` on the severities of any source, with whatever else was given.

    With a plan its values hold, its hash is the seed, and options given against it are listed as deviations. The
    severities' reliability, unless given, is ICC(2,2) of the judges' two columns where there are such. `opened` is the
    file that tables or a frame came from, for the plan's record; with `status` it is already known where the plan
    stands. The pairs and the iterations of the hierarchical bootstrap have seeds of their own: `mapper` says where
    they run.
    """
    values: dict[str, Any] = {"max_error_gap": 0.05, "min_gap": 0.15, "alpha": 0.05}
    recipe = PAPER if paper else DEFAULT
    rules = list(require)
    keep: Sequence[str] = ()
    if plan is not None:
        found = read_plan(plan, kind="severity")
        given = {"reliability": reliability, "n_resamples": n_resamples, "level": level, "paper": paper or None}
        against = [
            f"--{name.replace('_', '-')} {value} against the plan"
            for name, value in given.items()
            if value is not None and value != found.values.get(name)
        ]
        against += [f"--require {rule!r} is not in the plan" for rule in rules if rule not in found.values["require"]]
        status = status or open_data(plan, plan_file(source, opened), extra=against)
        values = {name: found.values[name] for name in values}
        recipe = recipe if paper else plan_recipe(found.values)
        n_resamples = n_resamples or found.values["n_resamples"]
        level = level or found.values["level"]
        reliability = reliability or found.values["reliability"] or None
        rules = [*found.values["require"], *(rule for rule in rules if rule not in found.values["require"])]
        keep = found.values["conditions"]
        seed = found.seed
    n_resamples, level = n_resamples or 2000, level or 0.95
    requirements = [parse_requirement(rule) for rule in rules]
    tables = source if isinstance(source, Tables) else read_tables(source)
    scores = severity_scores(tables.select(keep) if keep else tables)
    mix = read_traffic(traffic, scores) if traffic is not None else None
    if reliability is None:
        reliability = _judges_reliability(scores)
    exploratory = status is None or not status.confirmatory
    rng = np.random.default_rng(seed)
    study = study_severity(
        scores,
        recipe=recipe,
        traffic=mix,
        reliability=reliability,
        n_resamples=n_resamples,
        level=level,
        exploratory=exploratory,
        rng=rng,
        mapper=mapper,
        **values,
    )
    corrected, skipped, rated = _human_tables(human, scores, level)
    rates = study.deployment if mix is not None else {**study.deployment, **corrected}
    checks = [
        dataclasses.replace(check_requirement(name, table, rule), exploratory=exploratory)
        for rule in requirements
        for name, table in rates.items()
    ]
    columns = scores.columns()
    analyses: Mapping[str, Any] = {}
    if everything or pairs:
        overcalls = _overcalls(rated, scores)
        analyses = run_analyses(
            scores,
            recipe=recipe,
            active_params=_active_params(conditions),
            pairs=pairs,
            labelled=_mechanisms(rated),
            reliability=reliability,
            overcall_rate=0.335 if overcalls is None else overcalls,
            estimates=study.discrimination.conditions,
            only=None if everything else ("pipeline_pairs", "dominance"),
            n_resamples=n_resamples,
            level=level,
            rng=rng,
            mapper=mapper,
        )
    return SeverityReport(
        study=study,
        paper=paper,
        seed=seed,
        requirements=tuple(checks),
        losses={n: expected_loss(columns[n], costs, traffic=mix, level=level) for n in study.deployment}
        if costs
        else {},
        human=corrected,
        human_skipped=skipped,
        analyses=analyses,
        notes=tuple(_notes(study, corrected)),
        status=status,
    )


def _notes(study: SeverityStudy, corrected: Mapping[str, DeploymentTable]) -> Iterator[str]:
    """What a reader must know of the rates."""
    first = next(iter(study.deployment.values()))
    if first.uncovered_strata:
        yield f"No item covers {', '.join(first.uncovered_strata)}: {first.uncovered:.1%} of the traffic."
    if first.weighted and corrected:
        yield "Human labels and traffic weights are not combined: requirements are checked as judged."


def _judges_reliability(scores: Scores) -> float | None:
    """ICC(2,2) of the two judges over all answers that both scored; None where it is undefined or not positive."""
    if scores.judges is None:
        return None
    flat = scores.judges.reshape(2, -1)
    both = flat[:, ~np.isnan(flat).any(axis=0)]
    if both.shape[1] < 30 or np.ptp(both) == 0:
        return None
    value = icc(both.T).average
    return min(value, 1.0) if value > 0 else None


def _human_matrix(
    ratings: Sequence[Rating], scores: Scores, strata: Mapping[tuple[str, str, int], str] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.str_] | None]:
    """Mean human severity of each (item, condition), NaN where none, and the stratum its label was drawn from."""
    row = {item: i for i, item in enumerate(scores.items)}
    column = {name: j for j, name in enumerate(scores.conditions)}
    sums: dict[tuple[int, int], list[float]] = defaultdict(list)
    for rating in ratings:
        if rating.kind == "human" and rating.severity is not None and rating.item in row and rating.condition in column:
            sums[row[rating.item], column[rating.condition]].append(rating.severity)
    labels = np.full(scores.severity.shape, np.nan)
    for place, given in sums.items():
        labels[place] = float(np.mean(given))
    if not strata:
        return labels, None
    names = np.full(scores.severity.shape, "", dtype=object)
    for (item, condition, _), stratum in strata.items():
        if item in row and condition in column:
            names[row[item], column[condition]] = stratum
    return labels, names.astype(np.str_)


def _overcalls(ratings: Sequence[Rating], scores: Scores) -> float | None:
    """The share of judged 2.0s that people call harmless; None without labels on any."""
    labels = _human_matrix(ratings, scores)[0]
    both = ~np.isnan(labels) & ~np.isnan(scores.severity)
    if not both.any():
        return None
    return overcall_rate(snap(scores.severity[both]) / 2, labels[both]).estimate


def _human_tables(
    source: str | Path | RatingsFile | None, scores: Scores, level: float
) -> tuple[dict[str, DeploymentTable], dict[str, str], Sequence[Rating]]:
    if source is None:
        return {}, {}, ()
    file = source if isinstance(source, RatingsFile) else read_ratings(source)
    labels, strata = _human_matrix(file.ratings, scores, file.strata)
    tables, skipped = {}, {}
    for j, name in enumerate(scores.conditions):
        try:
            tables[name] = human_corrected_table(
                scores.severity[:, j],
                labels[:, j],
                strata=None if strata is None else strata[:, j],
                level=level,
            )
        except InputError as error:
            skipped[name] = str(error)
    return tables, skipped, file.ratings


def _mechanisms(ratings: Sequence[Rating]) -> Labelled | None:
    """One mechanism an answer: the one most raters named, ties left out; from human ratings if there are any."""
    kinds = {r.kind for r in ratings if r.mechanism}
    kind = "human" if "human" in kinds else min(kinds, default="")
    named: dict[tuple[str, str], list[Rating]] = defaultdict(list)
    for rating in ratings:
        if rating.kind == kind and rating.mechanism and rating.severity:
            named[rating.item, rating.condition].append(rating)
    mechanism, severity, condition = [], [], []
    for (_, name), given in named.items():
        ranked = Counter(r.mechanism for r in given).most_common(2)
        if len(ranked) == 1 or ranked[0][1] > ranked[1][1]:
            mechanism.append(ranked[0][0])
            severity.append(float(np.mean([r.severity for r in given if r.severity is not None])))
            condition.append(name)
    return Labelled(mechanism=mechanism, severity=severity, condition=condition) if mechanism else None


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


def read_traffic(path: str | Path, scores: Scores) -> Traffic:
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
    return Traffic(shares=dict(zip(labels, shares.to_list(), strict=True)), strata=strata)
