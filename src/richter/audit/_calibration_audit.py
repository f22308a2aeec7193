"""`richter calibration`: what a grades or draws table shows of each condition's calibration."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from richter import calibration as cal
from richter.audit._calibration_draws import study_draws
from richter.audit._calibration_grades import Options, study_grades, unit_of, with_probabilities
from richter.audit._calibration_results import CalibrationReport, DrawsCondition, GradesCondition
from richter.audit._results import DRAWS_NAME
from richter.claims import Asked, Blocked, as_judged, decide
from richter.errors import InputError
from richter.evidence import Policy, run_checks
from richter.interop import Source
from richter.records import DEFAULT_LEVEL, of_kind, printable
from richter.stats import Mapper, in_threads, run_tasks
from richter.store import RunLike, is_run, run_file
from richter.tables import KEY, Dataset, ReadOptions, judges_of, read_tables

__all__ = ["measure_calibration", "measure_phase", "read_draws"]

Kind = Literal["grades", "draws"]
MOST_SPLIT = 0.05  # questions whose right answers stand in several classes, above which nothing is claimed of agreement


def measure_calibration(
    source: Source | Dataset,
    *,
    rng: np.random.Generator,
    bins: int = 10,
    binning: Any = "width",
    level: float = DEFAULT_LEVEL,
    splits: int | None = None,
    target: float = 0.05,
    by: str | None = None,
    refusals: Literal["keep", "leave-out"] = "keep",
    stated: bool = False,
    policy: Policy | None = None,
    tried: int = 1,
    mapper: Mapper = in_threads,
) -> CalibrationReport:
    """Read a grades or draws table (told apart by the column `draw`), or a run's draws, and measure every condition.

    A table may be a file or a frame. `target` is the share of errors
    allowed to answers given alone, `by` a column to show figures by, `refusals` whether questions that were declined
    count as wrong answers (as the paper has it) or are left out. `stated`: also of repeated draws each answer's own
    confidence is looked at, not how often they agree. `policy` says what missing grades mean.
    A column `group` names what varies together. Every
    condition has a generator of its own: `mapper` says where it is measured and changes no number.
    """
    tables = source if isinstance(source, Dataset) else read_draws(source)
    frame = calibration_rows(tables, stated=stated)
    kind: Kind = "draws" if "draw" in frame.columns else "grades"
    if kind == "grades" and "confidence" not in frame.columns:
        odd = " ".join(of_kind(tables.notes, "no confidence"))
        raise InputError(
            odd or "No answer has a confidence, and none was drawn repeatedly with its text.",
            remedy="Name the column (--map confidence=COLUMN, 0 to 1), or draw answers: richter audit --only draw",
        )
    by = {"subject": "domain"}.get(by or "", by)
    if by is not None and by not in frame.columns:
        raise InputError(
            f"No answer names its {printable(by)}.", remedy=f"Use --by domain, tier or group; --map {by}=COLUMN."
        )
    if refusals not in ("keep", "leave-out"):
        raise InputError(f"refusals={refusals!r} is not known.", remedy="Use 'keep' or 'leave-out'.")
    settings = {
        "bins": bins, "binning": binning, "level": level, "splits": splits, "target": target,
        "by": by, "refusals": refusals,
    }  # fmt: skip
    tasks = [(kind, name, part, settings) for name, part in _parts(frame).items()]
    found = run_tasks(_condition, tasks, rng=rng, mapper=mapper)
    measure: Literal["ece", "draws"] = "ece" if kind == "grades" else "draws"
    asked = tuple(_question(tables, c, measure, policy or Policy()) for c in found)
    report = CalibrationReport(
        kind=kind, conditions=tuple(found), level=level, understood=tables.understood, notes=tables.notes, asked=asked
    )
    return report.with_claims(decide(asked, level=level, tried=tried, data_hash=tables.data_hash))


def _question(
    tables: Dataset, condition: GradesCondition | DrawsCondition, measure: Literal["ece", "draws"], policy: Policy
) -> Asked:
    """ "Is it miscalibrated?", blocked where a check of the data blocks it, with the notes of all checks."""
    judged = as_judged(judges_of(tables, "accuracy"))
    asked = cal.calibration_question(
        condition.name, condition.study, measure=measure, reason=condition.reason, basis=tables.basis
    )
    if isinstance(asked.evidence, Blocked):
        return asked
    if isinstance(condition, DrawsCondition) and (split := _split_phrasings(condition)) is not None:
        return dataclasses.replace(asked, evidence=split)
    checked = run_checks(tables, asked.question, policy)
    evidence = checked.block or dataclasses.replace(asked.known, judged=judged)
    return dataclasses.replace(asked, evidence=evidence, notes=checked.notes)


def _split_phrasings(condition: DrawsCondition) -> Blocked | None:
    """A block where right answers of many questions stand in several classes: agreement is then too low by phrasing."""
    found = condition.agreement
    if found is None or found.split <= MOST_SPLIT * found.questions:
        return None
    return Blocked(
        gate="grouping",
        reason=f"right answers of {found.split} of {found.questions} questions stand in several classes, so that "
        "phrasings count as different answers",
        remedy="Correct the classes (richter label), or give a `cluster` column that joins phrasings.",
    )


def _condition(
    task: tuple[Kind, str, pl.DataFrame, Mapping[str, Any]], rng: np.random.Generator
) -> GradesCondition | DrawsCondition:
    kind, name, part, settings = task
    measure = study_draws if kind == "draws" else study_grades
    return measure(name, part, Options(rng=rng, **settings))


def read_draws(*sources: Source, options: ReadOptions | None = None) -> Dataset:
    """The tables of a source; of a run that holds repeated draws, those."""
    found: list[Source] = []
    for source in sources:
        place = Path(source) if isinstance(source, str | Path) else None
        drawn = None if place is None or not is_run(place) else draws_table(place)
        found.append(source if drawn is None else drawn)
    return read_tables(*found, options=options)


def draws_table(run: RunLike) -> Path | None:
    """RUN/draws/draws.jsonl, or draws.jsonl in the run itself where `richter audit --only draw` made it."""
    return run_file(Path(run) / "draws", DRAWS_NAME) or run_file(run, DRAWS_NAME)


def calibration_rows(tables: Dataset, *, stated: bool = False) -> pl.DataFrame:
    """One row an answer with grade and confidence; `draw` only where answers were drawn repeatedly.

    Draws of which neither the text nor the class is known agree with each other as far as anyone can tell: they are
    answers, each with its own confidence, that vary together within an item; so are all where `stated`.
    """
    texts = [(i.id, i.prompt or None, "|".join((i.reference, *i.aliases)) or None) for i in tables.items.values()]
    schema = {"item": pl.String, "question": pl.String, "reference": pl.String}
    known = pl.DataFrame(texts, schema=schema, orient="row")
    rows = tables.rows.rename({"text": "answer"}).join(known, on="item", how="left", maintain_order="left")
    are_texts_alone = rows["answer"].null_count() < len(rows) and rows["confidence"].null_count() == len(rows)
    grouped = not stated and any(rows[c].null_count() < len(rows) for c in ("answer", "cluster", "human_cluster"))
    is_drawn_again = int(rows["draw"].to_numpy().max()) > 0
    repeated = grouped and (is_drawn_again or rows["cluster"].null_count() < len(rows) or are_texts_alone)
    if repeated:
        rows = rows.filter(pl.col("error").fill_null("") == "")
    rated = tables.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
    if len(rated) and rows["human"].null_count() == len(rows) and tables.metric == "accuracy":
        people = rated.group_by(KEY).agg((pl.col("severity").median() == 0).cast(pl.Float64).alias("human"))
        rows = rows.drop("human").join(people, on=KEY, how="left", maintain_order="left")
        rows = rows.with_columns(pl.lit(rated["inclusion"].n_unique() > 1).alias("uneven"))
    unused = [c for c in rows.columns if rows[c].null_count() == len(rows) and c not in ("correct", "answer")]
    return rows.drop(unused if repeated else [*unused, "draw"])


def measure_phase(
    source: Source | Dataset, *, rng: np.random.Generator, runs: int, level: float = DEFAULT_LEVEL
) -> dict[str, tuple[cal.PhasePoint, ...]]:
    """`phase_transition` of every condition that has graded answers with a confidence."""
    frame = calibration_rows(source if isinstance(source, Dataset) else read_draws(source))
    if "confidence" not in frame.columns:
        raise InputError("No answer has a confidence.", remedy="Name the column: --map confidence=COLUMN.")
    out = {}
    for name, part in _parts(frame).items():
        part = with_probabilities(part)[0].filter(pl.col("confidence").is_not_nan() & pl.col("correct").is_not_null())
        c, a = part["confidence"].to_numpy(), part["correct"].to_numpy()
        out[name] = cal.phase_transition(c, a, rng=rng, unit=unit_of(part), runs=runs, level=level)
    return out


def _parts(frame: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
    return {str(name): part for (name,), part in frame.group_by("condition", maintain_order=True)}
