"""A tail study of one numeric column of a file, with its plan."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.audit._pictures import tail_picture
from richter.audit._plan import Plan, PlanStatus, open_data, plan_file, read_plan
from richter.audit._plan_tail import FIELDS, tail_plan
from richter.errors import InputError
from richter.interop import Source, read_frame, source_name
from richter.records import Result
from richter.stats import Mapper
from richter.store import Place
from richter.tail import (
    StabilityScan,
    TailPlan,
    TailStudy,
    compare_conditions,
    paper_parts,
    stability_scan,
    transform_scores,
)

__all__ = ["TailReport", "study_column"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TailReport(Result):
    """A tail study, where its data and plan came from, and every deviation from the plan."""

    schema: ClassVar = "richter/tail"
    flat: ClassVar = ("study",)
    unwritten: ClassVar = ("scans", "status")
    derived: ClassVar = ("stability", "plan_status", "deviations")

    file: str
    column: str
    study: TailStudy
    scans: Mapping[str, StabilityScan]
    status: PlanStatus | None
    seed: int
    n_missing: int

    @property
    def stability(self) -> Mapping[str, StabilityScan]:
        """The shape over thresholds, where it was asked for."""
        return self.scans

    @property
    def plan_status(self) -> PlanStatus | None:
        """Where the plan stands."""
        return self.status

    @property
    def deviations(self) -> tuple[str, ...]:
        """What differs from the locked plan."""
        return () if self.status is None else self.status.deviations

    def paper(self) -> dict[str, str]:
        """LaTeX table, methods paragraph, references and deviations, by file name."""
        status = self.status
        return paper_parts(
            self.study,
            data=Path(self.file).name,
            column=self.column,
            seed=self.seed,
            plan_hash=None if status is None else status.hash,
            locked_at=None if status is None else status.locked_at,
            deviations=self.deviations,
            reasons=() if status is None else status.reasons,
            versions=None if status is None else status.versions,
        )

    def _repr_html_(self) -> str:
        return tail_picture(self)


def study_column(
    path: Source,
    *,
    opened: str | Place | None = None,
    column: str | None = None,
    plan_path: str | Path | None = None,
    item_column: str = "item",
    condition_column: str = "condition",
    overrides: Mapping[str, Any] | None = None,
    probe: tuple[str, str] | None = None,
    scan: bool = False,
    status: PlanStatus | None = None,
    seed: int = 0,
    mapper: Mapper = map,
) -> TailReport:
    """Run the tail protocol on a column. `overrides` are fields of a tail plan; against a plan they are deviations.

    Without a plan the tolerances default to a tenth and a fifth of the pooled standard deviation on the scale of the
    comparison, which is a convention and not a judgement; the finding is exploratory either way. `path` may be a frame;
    `opened` is then the file it came from, for the plan's record; with `status` it is already known where the plan
    stands. `mapper` says where items are resampled and changes no number.
    """
    given = {k: v for k, v in (overrides or {}).items() if v is not None}
    plan = None if plan_path is None else read_plan(plan_path, kind="tail")
    values = dict(plan.values) if plan else {}
    extra = [f"{k}: plan {values[k]!r}, option {v!r}" for k, v in given.items() if k in values and values[k] != v]
    planned = values.get("column", "")
    column = column or planned
    if not column:
        raise InputError("No column is named.", remedy="Give --column, or `column` in the plan.")
    if planned and planned != column:
        extra.append(f"column: plan {planned!r}, option {column!r}")
    values |= given
    frame = _read(path, column, item_column, condition_column)
    name = source_name(path)
    n_missing = int(frame[column].null_count())
    frame = frame.drop_nulls(column)
    severities, items = _by_condition(frame, column, item_column, condition_column, values, plan, name)
    if plan_path is not None:
        status = status or open_data(plan_path, plan_file(path, opened), extra=extra)
    if plan is None:
        chosen = _plan_without(severities, values)
        seed_used = seed
    else:
        merged = dataclasses.replace(plan, values=values)
        chosen, seed_used = tail_plan(merged), plan.seed
    rng = np.random.default_rng(seed_used)
    for name in probe or ():
        if name not in severities:
            raise InputError(f"There is no condition {name!r} to probe.", remedy=f"There are {', '.join(severities)}.")
    study = compare_conditions(
        severities,
        chosen,
        rng=rng,
        items=items,
        probe=probe,
        locked=None if status is None or not status.confirmatory else status.hash,
        mapper=mapper,
    )
    scans = {}
    if scan and study.path:
        for name, x in severities.items():
            moved = transform_scores(x, study.transform, bounds=chosen.bounds, clip=chosen.clip).values
            scans[name] = stability_scan(moved)
    return TailReport(
        file=source_name(path),
        column=column,
        study=study,
        scans=scans,
        status=status,
        seed=seed_used,
        n_missing=n_missing,
    )


def _read(source: Source, column: str, item_column: str, condition_column: str) -> pl.DataFrame:
    path, frame = source_name(source), read_frame(source)
    if column not in frame.columns:
        raise InputError(f"{path} has no column {column!r}; it has {', '.join(frame.columns)}.", remedy="Name another.")
    if frame.is_empty():
        raise InputError(f"{path} has a header and no rows.", remedy="It needs at least one row.")
    text = pl.col(column).cast(pl.String).str.strip_chars()
    number = text.cast(pl.Float64, strict=False)
    bad = frame.filter(
        number.is_null() & text.is_not_null() & ~text.str.to_lowercase().is_in(["", "nan", "na", "null"])
    )
    if len(bad):
        raise InputError(
            f"{path}: {column} is not a number in {len(bad)} rows (the first: {bad[column][0]!r}).",
            remedy="Name a numeric column.",
        )
    frame = frame.with_columns(number.fill_nan(None).alias(column))
    infinite = int(frame.select(pl.col(column).is_infinite().sum()).item())
    if infinite:
        raise InputError(
            f"{path}: {column} is infinite in {infinite} rows.",
            remedy="A tail has no fit there: correct or remove them.",
        )
    for name in (item_column, condition_column):
        if name in frame.columns:
            frame = frame.with_columns(pl.col(name).cast(pl.String))
    return frame


def _by_condition(
    frame: pl.DataFrame,
    column: str,
    item_column: str,
    condition_column: str,
    values: Mapping[str, Any],
    plan: Plan | None,
    path: str | Path,
) -> tuple[dict[str, NDArray[np.float64]], dict[str, Sequence[str]] | None]:
    has_items = item_column in frame.columns
    if condition_column not in frame.columns:
        frame = frame.with_columns(pl.lit("all").alias(condition_column))
    wanted = values.get("conditions") or frame[condition_column].unique(maintain_order=True).to_list()
    severities: dict[str, NDArray[np.float64]] = {}
    items: dict[str, Sequence[str]] = {}
    for name in wanted:
        part = frame.filter(pl.col(condition_column) == name)
        if part.is_empty():
            raise InputError(f"{path}: the condition {name!r} has no rows with a number.", remedy="Correct its name.")
        if has_items and part[item_column].is_duplicated().any():
            raise InputError(
                f"{path}: the condition {name!r} has several rows for one {item_column}.",
                remedy="One row an item and condition, or name another column with --item-column.",
            )
        cap = values.get("items_per_condition", 0)
        if cap and plan is not None:
            if not has_items:
                raise InputError("items_per_condition needs a column of items.", remedy="Name it with --item-column.")
            keep = plan.order(part[item_column].to_list())[:cap]
            part = part.filter(pl.col(item_column).is_in(keep))
        x = part[column].to_numpy()
        severities[name] = -x if values.get("lower_is_worse") else x
        items[name] = part[item_column].to_list() if has_items else []
    return severities, items if has_items else None


def _plan_without(severities: Mapping[str, NDArray[np.float64]], values: Mapping[str, Any]) -> TailPlan:
    """A plan from options alone; the band starts at the threshold asked for."""
    known = {f.name for f in dataclasses.fields(TailPlan)}
    chosen: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
    if "tolerance_mean" not in chosen or "tolerance_tvar" not in chosen:
        pooled = np.concatenate(list(severities.values()))
        scale = transform_scores(
            pooled,
            chosen.get("transform", "identity"),
            bounds=chosen.get("bounds", ()),
            clip=chosen.get("clip", 1e-6),
        ).values
        spread = float(np.std(scale)) or 1.0
        chosen.setdefault("tolerance_mean", 0.1 * spread)
        chosen.setdefault("tolerance_tvar", 0.2 * spread)
    if "q" in chosen and "band" not in chosen:
        chosen["band"] = tuple(q for q in FIELDS["band"].default if q > chosen["q"])
    return TailPlan(**chosen)
