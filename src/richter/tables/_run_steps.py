"""The steps of agents' runs as a table on the key of answers, the faults that rules find, and each run's figures."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import polars as pl

from richter.interop import STEPS, Logs, steps_frame
from richter.records import DECISIVE, Note, counted
from richter.store import Ledger
from richter.tables._tables import KEY, RUN_FIGURES, Dataset
from richter.trajectories import MAX_STEPS, Step, Trajectory, figures_of, find_faults, is_cut

STEP_RATINGS: dict[str, type[pl.DataType]] = {
    **{name: STEPS[name] for name in KEY}, "rater": pl.String, "kind": pl.String, "step": pl.Int64,
    "severity": pl.Float64,
}  # fmt: skip
FAULTS: dict[str, type[pl.DataType]] = {**{name: STEPS[name] for name in (*KEY, "place")}, "rule": pl.String}
STEP_FIELDS = tuple(field.name for field in dataclasses.fields(Step))

Key = tuple[str, str, int]


def steps_table(logs: Logs) -> pl.DataFrame:
    """A row for every step of the logs; a run without one said its answer, which is its only step."""
    return steps_frame(
        (r.item, r.condition, r.sample.draw or 0, r.sample.steps or _only_step(r.sample.answer)) for r in logs.rows
    )


def kept_steps(ledger: Ledger, answers: pl.DataFrame) -> pl.DataFrame | None:
    """The same of the answers of a run; None where it keeps no steps."""
    kept: dict[Key, tuple[Step, ...]] = {(i, c, d): steps for i, c, d, steps in ledger.trajectories()}
    if not kept:
        return None
    rows = answers.select(*KEY, pl.col("text").fill_null("")).iter_rows()
    return steps_frame((i, c, d, kept.get((i, c, d)) or _only_step(text)) for i, c, d, text in rows)


def kept_step_ratings(ledger: Ledger) -> pl.DataFrame | None:
    """The ratings of steps that a run keeps; None where nobody rated one."""
    rows = [(r.item, r.condition, r.draw, r.rater, r.kind, r.step, r.severity) for r in ledger.step_ratings()]
    return pl.DataFrame(rows, schema=STEP_RATINGS, orient="row") if rows else None


def _only_step(answer: str) -> tuple[Step, ...]:
    return (Step(role="assistant", result=answer),)


def step_notes(steps: pl.DataFrame) -> list[Note]:
    """What of the steps was left out, where something was."""
    long = steps.filter(pl.col("place") == MAX_STEPS).height
    cut = sum(is_cut(text) for name in ("arguments", "result", "error") for text in steps[name])
    notes = [f"{counted(long, 'run')} reached {MAX_STEPS:,} steps; later steps are left out"] if long else []
    notes += [f"{counted(cut, 'long text')} of steps {'is' if cut == 1 else 'are'} cut"] if cut else []
    return [Note(text, "steps") for text in notes]


class MeasuredRuns(NamedTuple):
    """The answers with their runs' figures, and a row for every fault."""

    answers: pl.DataFrame
    faults: pl.DataFrame


def measure_runs(tables: Dataset, steps: pl.DataFrame) -> MeasuredRuns:
    """The figures and the faults of every run that has steps."""
    answers, irreversible = tables.answers, tables.reading.irreversible
    figures, faults = [], []
    decisive = _first_decisive(tables, steps)
    for key, run in _runs(tables, steps):
        found = list(find_faults(run))
        own = figures_of(run, found, irreversible)
        own = dataclasses.replace(own, first_decisive=decisive.get(key))
        figures.append((*key, *(getattr(own, name) for name in RUN_FIGURES)))
        faults += [(*key, fault.step + 1, fault.rule) for fault in found]
    schema = {name: answers.schema[name] for name in (*KEY, *RUN_FIGURES)}
    table = pl.DataFrame(figures, schema=schema, orient="row")
    joined = answers.drop(RUN_FIGURES).join(table, on=KEY, how="left", maintain_order="left")
    return MeasuredRuns(joined.select(answers.columns), pl.DataFrame(faults, schema=FAULTS, orient="row"))


def _first_decisive(tables: Dataset, steps: pl.DataFrame) -> dict[Key, float]:
    """Of every run that the counting kind of raters rated: the share of its steps before the first decisive error.

    1 without one; the mean over raters where several rated it.
    """
    if tables.step_ratings is None:
        return {}
    who = [*KEY, "rater"]
    has_counted = pl.col("kind") == (tables.counting or "")
    wrong = tables.step_ratings.filter(has_counted, pl.col("severity") >= DECISIVE)
    first = wrong.group_by(who).agg(pl.col("step").min())
    rated = tables.ratings.filter(has_counted, pl.col("severity").is_not_null()).select(who).unique()
    sizes = steps.group_by(KEY).len()
    share = ((pl.col("step") - 1) / pl.col("len")).fill_null(1.0)
    every = rated.join(sizes, on=KEY, how="inner").join(first, on=who, how="left")
    rows = every.group_by(KEY).agg(share.mean()).iter_rows()
    return {(item, condition, draw): value for item, condition, draw, value in rows}


def _runs(tables: Dataset, steps: pl.DataFrame) -> Iterator[tuple[Key, Trajectory]]:
    """Every run that has steps, with its key."""
    graded = tables.scores.filter(pl.col("metric") == "accuracy", pl.col("value") == 1)
    right, items = set(graded.select(*KEY).iter_rows()), tables.items
    ends = tables.answers.select(*KEY, "text", "finish", "refused", pl.col("error").fill_null("") != "")
    known = {row[:3]: row[3:] for row in ends.iter_rows()}
    rows: Iterable[Sequence[object]] = steps.select(*KEY, *STEP_FIELDS).iter_rows()
    for key, own in itertools.groupby(rows, key=lambda row: tuple(row[:3])):
        if key not in known:
            continue
        text, finish, refused, crashed = known[key]
        found = tuple(Step(**dict(zip(STEP_FIELDS, row[3:], strict=True))) for row in own)  # type: ignore[arg-type]
        prompt = items[key[0]].prompt if key[0] in items else ""
        yield (
            key,
            Trajectory(
                steps=found, prompt=prompt, answer=text or "", finish=finish or "", declines=bool(refused),
                crashed=bool(crashed), is_right=key in right,
            ),
        )  # fmt: skip
