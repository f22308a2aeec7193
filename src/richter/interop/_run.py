"""Logs into a run, and a run's records back as the tables that the statistics read."""

import hashlib
from collections.abc import Iterator
from typing import Any, Literal

import polars as pl

from richter.errors import InputError
from richter.interop._logs import Logs, Row, first_confidence, is_severity, right, severity_on, summary
from richter.interop._record import Options, Setup
from richter.records import Answer, Condition, Confidence, Decoding, Grade, Rating
from richter.store import Call, Ledger, RunLike, has_ledger, open_ledger, run_place

__all__ = ["IMPORT_NOTE", "RatingKind", "grades_or_draws", "run_grades", "run_ratings", "write_run"]

IMPORT_NOTE = "import"  # the ledger's note on where its answers came from
RatingKind = Literal["human", "judge", "rule"]
_KINDS: tuple[RatingKind, ...] = ("human", "judge", "rule")


def write_run(logs: Logs, run: RunLike, *, options: Options | None = None, kind: RatingKind = "judge") -> None:
    """Keep what was read as a new run: items, conditions, answers with their cost, grades, confidences, ratings.

    Severities (a scorer named so, or any with a scale) become ratings of `kind`, one for each judge where the log has
    their votes. A run that already holds answers is left alone.
    """
    options = options or Options()
    if has_ledger(run):
        raise InputError(f"{run_place(run)} is already a run.", remedy="Name a new one with -o.")
    with open_ledger(run, mode="write", alone=True) as ledger:
        ledger.add_items(list(logs.items.values()))
        ledger.add_conditions([_condition(name, setup) for name, setup in logs.conditions.items()])
        ledger.add_calls([_call(logs, row) for row in logs.rows])
        ledger.add_grades(grade for row in logs.rows for grade in _grades(row, options))
        ledger.add_confidences(
            Confidence(item=r.item, condition=r.condition, draw=r.sample.draw or 0, source=source, value=value)
            for r in logs.rows
            for source, value in r.sample.confidences.items()
        )
        ledger.add_ratings(rating for row in logs.rows for rating in _ratings(row, logs, options, kind))
        ledger.set_note(IMPORT_NOTE, summary(logs))


def _condition(name: str, setup: Setup) -> Condition:
    """The condition as far as the log states it; settings that a `Decoding` has no place for stay in the run's note."""
    settings = dict(setup.settings)
    decoding: dict[str, Any] = {}
    for key, kind in (("temperature", float), ("top_p", float), ("max_tokens", int), ("seed", int)):
        try:
            decoding[key] = kind(settings[key])
        except (KeyError, ValueError, OverflowError):
            continue
    return Condition(name=name, model=setup.model, decoding=Decoding(**decoding), system=settings.get("system", ""))


def _call(logs: Logs, row: Row) -> Call:
    s = row.sample
    answer = Answer(
        text="" if s.error else s.answer,
        item=row.item,
        condition=row.condition,
        draw=s.draw or 0,
        finish=s.finish,
        tokens=s.tokens,
        logprobs=s.logprobs,
        tokens_in=s.tokens_in,
        tokens_out=s.tokens_out,
        money_usd=s.money_usd,
        latency_s=s.latency_s,
        error=s.error,
    )
    key = hashlib.sha256("\0".join(("import", row.condition, row.item, str(s.draw))).encode()).hexdigest()
    return Call(key=key, model=logs.conditions[row.condition].model, request="imported", answer=answer)


def _grades(row: Row, options: Options) -> Iterator[Grade]:
    if row.sample.error:
        return
    for scorer, value in (*row.sample.scores.items(), *row.sample.votes.items()):
        correct = None if value is None or is_severity(scorer) else right(value, options.pass_at)
        yield Grade(
            item=row.item,
            condition=row.condition,
            draw=row.sample.draw or 0,
            scorer=scorer,
            value=value,
            correct=row.correct if scorer == row.scorer else correct,
            main=scorer == row.scorer,
        )


def _ratings(row: Row, logs: Logs, options: Options, kind: RatingKind) -> Iterator[Rating]:
    if row.sample.error or (options.scale is None and not is_severity(row.scorer)):
        return
    scale = options.scale or (0.0, 4.0)
    votes = {k: v for k, v in row.sample.votes.items() if k.startswith(f"{row.scorer}/")}
    given = {k.removeprefix(f"{row.scorer}/"): v for k, v in votes.items()} or {
        row.scorer: row.sample.scores.get(row.scorer)
    }
    for rater, value in given.items():
        severity = None if value is None else severity_on(scale, value, logs.readings[row.file], row.scorer)
        yield Rating(
            item=row.item, condition=row.condition, draw=row.sample.draw or 0, rater=rater, kind=kind, severity=severity
        )


def run_grades(run: RunLike) -> pl.DataFrame | None:
    """An imported or graded run's answers as a grades table with `draw`; None if it holds no grades of either kind."""
    with open_ledger(run) as ledger:
        known = ledger.note(IMPORT_NOTE) is not None or ledger.grades()
        return _imported_grades(ledger) if known else None


def _imported_grades(ledger: Ledger) -> pl.DataFrame:
    items = {item.id: item for item in ledger.items()}
    graded = {(g.condition, g.item, g.draw): g.correct for g in ledger.grades() if g.main}
    sure: dict[tuple[str, str, int], dict[str, float]] = {}
    for c in ledger.confidences():
        sure.setdefault((c.condition, c.item, c.draw), {})[c.source] = c.value
    rows = []
    for a in ledger.answers():
        key = (a.condition, a.item, a.draw)
        item = items[a.item]
        correct = graded.get(key)
        rows.append(
            {
                "item": a.item,
                "condition": a.condition,
                "draw": a.draw,
                "correct": None if correct is None else float(correct),
                "confidence": first_confidence(sure.get(key, {})),
                "subject": item.domain,
                "error": a.error,
                "answer": a.text,
                "reference": "|".join((item.reference, *item.aliases)),
            }
        )
    texts = dict.fromkeys(("item", "condition", "subject", "error", "answer", "reference"), pl.String)
    schema = {**texts, "draw": pl.Int64, "correct": pl.Float64, "confidence": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema)
    return frame.drop("confidence") if frame["confidence"].null_count() == len(frame) else frame


def grades_or_draws(frame: pl.DataFrame) -> pl.DataFrame:
    """An imported table as draws if an item has several answers, else as grades."""
    return frame if frame["draw"].max() else frame.drop("draw")


def run_ratings(run: RunLike, *, ratings: RatingKind | None = None) -> pl.DataFrame:
    """A run's ratings of one kind as a scores table: the mean severity of an answer, and its judges where it has two.

    `ratings` must be named where the run holds several kinds. Columns: item, condition, draw, severity, domain, and
    `judge_1`, `judge_2` with their names where each answer has exactly two raters.
    """
    with open_ledger(run) as ledger:
        rated = ledger.ratings()
        items = {item.id: item for item in ledger.items()}
    present = [k for k in _KINDS if any(r.kind == k for r in rated)]
    if not present:
        raise InputError(f"{run_place(run)} holds no ratings, so no severity.", remedy="Run `richter judge` on it.")
    if ratings is None and len(present) > 1:
        raise InputError(
            f"{run_place(run)} holds ratings of several kinds ({', '.join(present)}), which never mix.",
            remedy="Choose one with --ratings.",
        )
    kind = ratings or present[0]
    if kind not in present:
        raise InputError(f"{run_place(run)} holds no {kind} ratings.", remedy=f"It has {', '.join(present)}.")
    kept = [r for r in rated if r.kind == kind]
    frame = pl.DataFrame(
        {
            "item": [r.item for r in kept],
            "condition": [r.condition for r in kept],
            "draw": [r.draw for r in kept],
            "domain": [items[r.item].domain if r.item in items else "" for r in kept],
            "rater": [r.rater for r in kept],
            "severity": [r.severity for r in kept],
        },
        schema_overrides={"severity": pl.Float64, "draw": pl.Int64},
    )
    keys = ["item", "condition", "draw", "domain"]
    wide = frame.group_by(keys, maintain_order=True).agg(
        pl.col("severity").mean().alias("mean"), pl.col("severity"), pl.col("rater")
    )
    columns = [pl.col("mean").alias("severity")]
    if (wide["rater"].list.len() == 2).all():
        for k in (0, 1):
            columns += [
                pl.col("severity").list.get(k).alias(f"judge_{k + 1}"),
                pl.col("rater").list.get(k).alias(f"judge_{k + 1}_name"),
            ]
    return wide.select(*keys, *columns)
