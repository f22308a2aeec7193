"""Logs into a run."""

import hashlib
from collections.abc import Iterator
from typing import Any

from richter.interop._logs import Logs, Row, is_severity, logs_summary, right, severity_on
from richter.interop._record import LogOptions, Setup
from richter.records import Answer, Condition, Confidence, Decoding, Grade, Rating, RatingKind
from richter.store import Call, RunLike, new_run

__all__ = ["IMPORT_NOTE", "imported_call", "write_run"]

IMPORT_NOTE = "import"  # the ledger's note on where its answers came from
_KINDS: tuple[RatingKind, ...] = ("human", "judge", "rule")


def write_run(logs: Logs, run: RunLike, *, options: LogOptions | None = None, kind: RatingKind = "judge") -> None:
    """Keep what was read as a new run: items, conditions, answers with their cost, grades, ratings, steps.

    Severities (a scorer named so, or any with a scale) become ratings of `kind`, one for each judge where the log has
    their votes. A run that already holds answers is left alone.
    """
    options = options or LogOptions()
    with new_run(run) as ledger:
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
        ledger.set_note(IMPORT_NOTE, logs_summary(logs) | _facts(logs))


def _facts(logs: Logs) -> dict[str, Any]:
    """The counts of agents' runs, which no ledger has a column for, as `KeptFacts` keeps them; empty without any."""
    rows = [(r.item, r.condition, r.sample.draw or 0, r.sample.steps, r.sample.failed_calls) for r in logs.rows]
    return {"facts": {"columns": ["steps", "failed_calls"], "answers": rows}} if any(r[3] for r in rows) else {}


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
    return imported_call(answer, model=logs.conditions[row.condition].model)


def imported_call(answer: Answer, *, model: str) -> Call:
    """An answer that came from elsewhere as the call that a ledger keeps."""
    key = "\0".join(("import", answer.condition, answer.item, str(answer.draw)))
    return Call(key=hashlib.sha256(key.encode()).hexdigest(), model=model, request="imported", answer=answer)


def _grades(row: Row, options: LogOptions) -> Iterator[Grade]:
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


def _ratings(row: Row, logs: Logs, options: LogOptions, kind: RatingKind) -> Iterator[Rating]:
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
