"""A tail study of one numeric column of a file, with its plan."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from richter import tail as tl
from richter.audit._measure_run import RunRecords
from richter.audit._pictures import Picture, tail_picture
from richter.audit._plan import Plan, read_plan
from richter.audit._plan_lock import PlanStatus, open_data
from richter.audit._plan_tail import FIELDS, tail_plan
from richter.claims import Question, block_claim
from richter.errors import InputError, TooFewErrors
from richter.evidence import MissingPolicy, Policy, run_checks
from richter.interop import Source, less_is_better, read_frame
from richter.records import Claim, Result, Shown, Verdict, of_kind, printable
from richter.stats import Floats, Mapper
from richter.store import is_run, run_file
from richter.tables import Dataset, ReadOptions, read_tables, severity_scores

__all__ = ["TailReport", "study_column"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TailReport(Shown):
    """A tail study, and where its data and plan came from."""

    schema: ClassVar = "richter/tail"
    flat: ClassVar = ("study",)
    unwritten: ClassVar[tuple[str, ...]] = ("values",)
    named: ClassVar = {"scans": "stability", "status": "plan_status"}

    file: str
    column: str
    study: tl.TailStudy
    values: Mapping[str, Floats]  # on the scale of the study; none where there is no continuous tail
    scans: Mapping[str, tl.StabilityScan]  # the shape over thresholds, where it was asked for
    status: PlanStatus | None
    seed: int
    n_missing: int
    understood: str

    def _shown(self) -> Picture:
        return tail_picture(self)


def study_column(
    *sources: Source,
    column: str | None = None,
    plan_path: str | Path | None = None,
    reading: ReadOptions | None = None,
    overrides: Mapping[str, Any] | None = None,
    probe: tuple[str, str] | None = None,
    scan: bool = False,
    status: PlanStatus | None = None,
    missing: MissingPolicy = "both-ways",
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    unpaired: bool = False,
    level: float | None = None,
    seed: int = 0,
    mapper: Mapper = map,
) -> TailReport:
    """Run the tail protocol on a column. `overrides` are fields of a tail plan; against one they make it exploratory.

    The column is the one named (here, as the score of `reading`, or in the plan), else the severities, else the score.
    Higher is worse, unless `reading` or the plan says that higher is better; a scale that `reading` states gives the
    bounds. Without a plan the tolerances default to a tenth and a fifth of the pooled standard deviation on the scale
    of the comparison, which is a convention and not a judgement; the finding is exploratory either way. With `status`
    it is already known where the plan stands. Every pair passes the checks of `richter compare` first, and `missing`,
    `trust_ids`, `trust_raters`, `trust_labels` and `unpaired` mean what they mean there; a tail has no worst value, so
    that missing severities above 1% block it unless they are lost at random. `level` is that of all intervals.
    `mapper` says where items are resampled and changes no number.
    """
    plan = None if plan_path is None else read_plan(plan_path, kind="tail")
    reading = reading or ReadOptions()
    if plan is not None and reading == ReadOptions():
        reading = plan.reading or reading
    planned: dict[str, Any] = dict(plan.values) if plan else {}
    column = column or reading.map.get("score") or (planned.get("column", "") if reading.wide is None else "")
    tables = _read(sources, column, reading, lower_is_worse=bool(planned.get("lower_is_worse")))
    frame, is_rated = _rows(tables, column)
    policy = Policy(
        missing=missing, trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels, unpaired=unpaired
    )
    given = _given_fields(overrides or {}, planned, reading, is_rated=is_rated, level=level, unpaired=unpaired)
    values = planned | given
    n_missing = int(frame["value"].null_count())
    frame = frame.drop_nulls("value")
    severities, items = _by_condition(frame, values, plan, tables.name)
    _check_probe(probe, severities)
    if plan is not None and plan_path is not None and status is None:
        read_by_plan = dataclasses.replace(tables.select([*severities]), options=_other_options(reading, plan))
        extra = _beside_tail_plan(planned, given, column, policy)
        status = open_data(plan_path, read_by_plan, extra=extra)
    if plan is None:
        chosen, seed_used = _plan_without(severities, values), seed
    else:
        chosen, seed_used = tail_plan(dataclasses.replace(plan, values=values)), plan.seed
    study = tl.compare_conditions(
        severities,
        chosen,
        rng=np.random.default_rng(seed_used),
        items=items,
        groups=groups_of(tables),
        probe=probe,
        locked=None if status is None or not status.confirmatory else status.hash,
        mapper=mapper,
    )
    study = _with_checks(study, functools.partial(check_claim, _as_severities(tables, frame, is_rated), policy))
    way = () if is_rated or "lower_is_worse" in given or plan is not None else _taken_as(tables, column)
    study = dataclasses.replace(study, notes=(*study.notes, *_reading_notes(tables), *way, *unused(tables)))
    moved = {
        name: tl.transform_scores(x, study.transform, bounds=chosen.bounds, clip=chosen.clip).values
        for name, x in (severities if study.path else {}).items()
    }
    return TailReport(
        file=tables.name,
        column=column or ("severity" if is_rated else " ".join(tables.scored_by).removeprefix("column ") or "score"),
        study=study,
        values=moved,
        scans={name: tl.stability_scan(x) for name, x in moved.items()} if scan else {},
        status=status,
        seed=seed_used,
        n_missing=n_missing,
        understood=tables.understood,
    )


def _check_probe(probe: tuple[str, str] | None, severities: Mapping[str, Floats]) -> None:
    """Refuse to probe conditions that there are not."""
    for name in probe or ():
        if name not in severities:
            raise InputError(f"There is no model {name!r} to probe.", remedy=f"There are {', '.join(severities)}.")


def _reading_notes(tables: Dataset) -> list[str]:
    """The notes of the data but for those on far values, which a tail is made of."""
    far = of_kind(tables.notes, "scale")
    return [note for note in tables.notes if note not in far]


def _given_fields(
    overrides: Mapping[str, Any], planned: Mapping[str, Any], reading: ReadOptions, *, is_rated: bool,
    level: float | None, unpaired: bool,
) -> dict[str, Any]:  # fmt: skip
    """The fields of a tail plan that options state, or that the way of reading implies."""
    given = {k: v for k, v in overrides.items() if v is not None}
    if level is not None:
        given["alpha"] = round(1 - level, 12)
    if unpaired:
        given["pairing"] = "independent"
    if reading.better is not None:
        given["lower_is_worse"] = reading.better == "higher"
    if is_rated:  # of severities more is worse
        return given | {"lower_is_worse": False} | ({} if reading.as_severity is None else {"bounds": [0.0, 4.0]})
    if reading.scale is not None:
        low, high = reading.scale
        lower_is_worse = given.get("lower_is_worse", planned.get("lower_is_worse", False))
        given["bounds"] = [0.0 - high, 0.0 - low] if lower_is_worse else [low, high]
    return given


def _beside_tail_plan(
    planned: Mapping[str, Any], given: Mapping[str, Any], column: str, policy: Policy
) -> list[str]:  # fmt: skip
    """What options say beside a tail plan, or against it."""
    extra = [f"{k}: plan {planned[k]!r}, option {v!r}" for k, v in given.items() if k in planned and planned[k] != v]
    if planned.get("column") and planned["column"] != column:
        extra.append(f"column: plan {planned['column']!r}, option {column or '--wide'!r}")
    vouched = {
        f"missing {policy.missing}": not policy.is_both_ways, "trust-ids": policy.trust_ids,
        "trust-raters": policy.trust_raters, "trust-labels": policy.trust_labels,
    }  # fmt: skip
    return [*extra, *(f"--{name} is not in the plan" for name, is_given in vouched.items() if is_given)]


def _with_checks(study: tl.TailStudy, check: Callable[[Claim], Claim]) -> tl.TailStudy:
    """The study with every pair's claim as the checks of the data leave it, also where there is no tail to test."""
    if study.path:
        return tl.with_checked_claims(study, check)
    claims = tuple(map(check, study.claims))
    blocked = next((claim for claim in claims if claim.verdict is Verdict.BLOCKED), None)
    if blocked is None:
        return dataclasses.replace(study, claims=claims)
    fields = ("verdict", "blocked_by", "reason", "remedy", "override", "sentence")
    whole = dataclasses.replace(study.claim, **{name: getattr(blocked, name) for name in fields})
    return dataclasses.replace(study, claims=claims, claim=whole)


def _other_options(reading: ReadOptions, plan: Plan) -> ReadOptions:
    """The options of reading but for the score, its direction and its scale, which fields of a tail plan fix."""
    planned = plan.reading or ReadOptions()
    others = {field: column for field, column in reading.map.items() if field != "score"}
    score = {field: column for field, column in planned.map.items() if field == "score"}
    return dataclasses.replace(reading, map=others | score, better=planned.better, scale=planned.scale)


def _read(sources: Sequence[Source], column: str, reading: ReadOptions, *, lower_is_worse: bool) -> Dataset:
    """The tables with the column as their score; a run has severities and scores, and no columns.

    Unless somebody says otherwise more is taken as worse.
    """
    named = {**reading.map, "score": column} if column else reading.map
    better = reading.better or ("higher" if lower_is_worse else "lower")
    tables = read_tables(*sources, options=dataclasses.replace(reading, map=named, any_scale=True, better=better))
    runs = [place for place in tables.places if is_run(place)]
    if runs and column not in ("", "severity"):
        raise InputError(
            f"{runs[0]} is a run: it has no column {column!r}.",
            remedy="Give a table; `richter audit RUN --scorer` writes one from a run.",
        )
    return tables


def _taken_as(tables: Dataset, column: str) -> tuple[str, ...]:
    """That more is taken as worse, where nobody says so and the name of the scores does not."""
    name = column or " ".join(tables.scored_by).removeprefix("column ")
    if less_is_better(name) or name in PREFERRED:
        return ()
    what = printable(name, limit=40) or "the score"
    return (f"More of {what} is taken as worse here; --better higher says otherwise.",)


def groups_of(tables: Dataset) -> dict[str, str]:
    """The group of each item that has one."""
    return dict(tables.answers.select("item", "group").drop_nulls().unique("item").cast(pl.String).iter_rows())


def compare_tails_of(
    tables: Dataset, plan: tl.TailPlan, *, policy: Policy, rng: np.random.Generator
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims on the tails of severities behind the gates of a plan, and what stood in the way."""
    scores = severity_scores(tables)
    columns = {name: scores.severity[:, k] for k, name in enumerate(scores.conditions)}
    notes = tuple(f"tail: {note}" for note in unused(tables))
    try:
        items = dict.fromkeys(columns, scores.items)
        study = tl.compare_conditions(columns, plan, rng=rng, items=items, groups=groups_of(tables), band=False)
    except InputError as fault:
        return (), (*notes, f"no tail shape: {fault.what}")
    return tuple(check_claim(_of_severities(tables), policy, claim) for claim in study.claims), notes


def check_claim(tables: Dataset, policy: Policy, claim: Claim) -> Claim:
    """A claim on a pair with the notes of all checks of the data, blocked where one blocks it."""
    if len(claim.conditions) != 2:
        return claim
    checked = run_checks(tables, Question(measure="xi", conditions=claim.conditions), policy)
    claim = dataclasses.replace(claim, notes=tuple(dict.fromkeys((*claim.notes, *checked.notes))))
    if checked.block is None:
        return claim
    first, second = claim.conditions
    without_numbers = dataclasses.replace(claim, interval=None, p=None, p_adjusted=None)
    sentence = f"{second} and {first} are not compared: {checked.block.reason}."
    return block_claim(without_numbers, checked.block, sentence=sentence)


def _of_severities(tables: Dataset) -> Dataset:
    """The data with their severities alone: whatever else they hold says nothing of a tail."""
    return dataclasses.replace(tables, scores=tables.scores.clear(), whole=None)


def _as_severities(tables: Dataset, frame: pl.DataFrame, is_rated: bool) -> Dataset:
    """The data with the studied column in the place of severities, whoever gave it."""
    if is_rated:
        return _of_severities(tables)
    own = frame.select("item", "condition", "draw", pl.col("value").alias("severity"))
    own = own.with_columns(pl.lit("column").alias("rater"), pl.lit("given").alias("kind"))
    empty = tables.ratings.clear()
    ratings = pl.concat([empty, own.with_columns(pl.col("severity").cast(pl.Float64))], how="diagonal")
    return dataclasses.replace(_of_severities(tables), ratings=ratings, counting="given")


def unused(tables: Dataset) -> list[str]:
    """What the data say of items and a tail does not use."""
    weights = tables.answers.group_by("item").agg(pl.col("weight").drop_nulls().first())["weight"]
    return ["Weights of items are not used here."] if weights.drop_nulls().n_unique() > 1 else []


def _rows(tables: Dataset, column: str) -> tuple[pl.DataFrame, bool]:
    """`item`, `condition` and the `value` of every answer, and whether that is its severity and not its score."""
    converted = tables.reading.as_severity is not None and not tables.scored_by
    rated = column == "severity" and f"column {column}" not in tables.scored_by
    rated = tables.counting is not None and (not column or converted or rated)
    frame = tables.rows.select("item", "condition", "draw", pl.col("severity" if rated else "score").alias("value"))
    infinite = int(frame["value"].is_infinite().sum())
    if infinite:
        raise InputError(
            f"{column or 'The score'} is infinite in {infinite} rows.",
            remedy="A tail has no fit there: correct or remove them.",
        )
    if int(frame["draw"].to_numpy().max()) > 0:
        raise InputError(
            "Some questions have several repeats: a tail takes one row per question and model.",
            remedy="Keep one repeat, or name another column of questions: --map item=COLUMN",
        )
    return frame, rated


def _by_condition(
    frame: pl.DataFrame, values: Mapping[str, Any], plan: Plan | None, path: str | Path
) -> tuple[dict[str, Floats], dict[str, Sequence[str]]]:
    wanted = values.get("conditions") or frame["condition"].unique(maintain_order=True).to_list()
    severities: dict[str, Floats] = {}
    items: dict[str, Sequence[str]] = {}
    for name in wanted:
        part = frame.filter(pl.col("condition") == name)
        if part.is_empty():
            raise InputError(f"{path}: the condition {name!r} has no rows with a number.", remedy="Correct its name.")
        cap = values.get("items_per_condition", 0)
        if cap and plan is not None:
            part = part.filter(pl.col("item").is_in(plan.order(part["item"].to_list())[:cap]))
        x = part["value"].to_numpy()
        severities[name] = -x if values.get("lower_is_worse") else x
        items[name] = part["item"].to_list()
    return severities, items


def _plan_without(severities: Mapping[str, Floats], values: Mapping[str, Any]) -> tl.TailPlan:
    """A plan from options alone; the band starts at the threshold asked for."""
    known = {f.name for f in dataclasses.fields(tl.TailPlan)}
    chosen: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
    if "tolerance_mean" not in chosen or "tolerance_tvar" not in chosen:
        pooled = np.concatenate(list(severities.values()))
        scale = tl.transform_scores(
            pooled, chosen.get("transform", "identity"), bounds=chosen.get("bounds", ()), clip=chosen.get("clip", 1e-6)
        ).values
        spread = float(np.std(scale)) or 1.0
        chosen.setdefault("tolerance_mean", 0.1 * spread)
        chosen.setdefault("tolerance_tvar", 0.2 * spread)
    if "q" in chosen and "band" not in chosen:
        chosen["band"] = tuple(q for q in FIELDS["band"].default if q > chosen["q"])
    return tl.TailPlan(**chosen)


SCORES = "scores.csv"
PREFERRED = ("nll", "toxicity")
NOT_TAILS = {"item", "condition", "severity", "domain", "tier", "judge_1", "judge_2", "length", "draw"}
QQ_POINTS = 200


def tail_column(records: RunRecords, plan: Plan | None) -> str | None:
    """The column whose tail is studied: the plan's, else nll, else toxicity, else the first other numeric one."""
    path = None if records.place is None else run_file(records.place, SCORES)
    if path is None:
        return None
    schema = read_frame(path).schema
    numeric = [name for name, kind in schema.items() if kind.is_numeric() and name not in NOT_TAILS]
    planned = str(plan.values["column"]) if plan is not None and plan.kind == "tail" else ""
    wanted = (planned, *PREFERRED, *numeric)
    return next((name for name in wanted if name in numeric), None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunTail(TailReport):
    """The study of a run: its scan is beside it, as rows."""

    unwritten: ClassVar = (*TailReport.unwritten, "scans")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ShapePoint(Result):
    """The shape of a condition's tail at one threshold."""

    condition: str
    q: float
    threshold: float
    n_exc: int
    xi: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class QuantilePoint(Result):
    """An exceedance against the quantile of the fitted GPD."""

    condition: str
    model: float
    observed: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailSection(Result):
    """The study as `richter severity tail --json` prints it, and the rows that its figures draw."""

    column: str
    study: RunTail
    stability: tuple[ShapePoint, ...]
    qq: tuple[QuantilePoint, ...]


def tail_section(report: TailReport) -> TailSection:
    """The section on tails; of the file's path its name."""
    fields = {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
    study = RunTail(**fields | {"file": Path(report.file).name})
    return TailSection(column=report.column, study=study, stability=_scan(report.values), qq=_qq(report))


def _scan(values: Mapping[str, Floats]) -> tuple[ShapePoint, ...]:
    """The shape over thresholds, of conditions with enough values for it (200 exceedances)."""
    rows = []
    for name, x in values.items():
        with contextlib.suppress(TooFewErrors):
            rows += [
                ShapePoint(
                    condition=name,
                    q=point.q,
                    threshold=point.threshold,
                    n_exc=point.n_exc,
                    xi=point.xi,
                    low=point.interval.low,
                    high=point.interval.high,
                )
                for point in tl.stability_scan(x).points
            ]
    return tuple(rows)


def _qq(report: TailReport) -> tuple[QuantilePoint, ...]:
    """Observed exceedances against the quantiles of the fitted GPD, at most 200 a condition, the largest always in.

    The i-th smallest of n is set against the quantile at (i - 1/2) / n.
    """
    rows = []
    for name, tail in report.study.conditions.items():
        if tail.fit is None:
            continue
        x = report.values[name]
        above = np.sort(x[x > tail.threshold]) - tail.threshold
        n = len(above)
        kept = np.unique(np.linspace(0, n - 1, min(n, QQ_POINTS)).round().astype(int))
        share = (kept + 0.5) / n
        xi, sigma = tail.fit.xi, tail.fit.sigma
        model = -sigma * np.log1p(-share) if abs(xi) < 1e-9 else sigma / xi * ((1 - share) ** -xi - 1)
        rows += [
            QuantilePoint(condition=name, model=float(m), observed=float(o))
            for m, o in zip(model, above[kept], strict=True)
        ]
    return tuple(rows)
