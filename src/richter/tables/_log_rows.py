"""Logs of other tools as rows of answers, scores and ratings."""

import shlex
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from richter.interop import LogOptions, Logs, Row, agreeing_totals, is_severity, problems, read_logs
from richter.records import Note, printable
from richter.tables._confidence_source import confidences
from richter.tables._part import OTHERS, ROW, Part, frame_of, severities
from richter.tables._tables import KEY, RATINGS, ReadOptions

MAX_SCORERS_SHOWN = 3


def part_of_logs(sources: Sequence[str | Path], options: ReadOptions) -> Part:
    """The answers of all logs together: what names a condition is what differs between them."""
    logs = read_logs(
        sources,
        options=LogOptions(
            scorer=options.scorer, filter=options.filter, columns=options.map, pass_at=options.pass_at or 1.0
        ),
    )
    notes = [f"{count} x {printable(reason)}: not read" for reason, count in logs.unread.most_common()]
    names = list(dict.fromkeys(r.scorer for r in logs.rows if r.scorer))
    by_severity = bool(names) and all(is_severity(name) for name in names)
    answers = _answers(logs)
    if by_severity:
        answers = answers.with_columns(pl.lit(None, dtype=pl.Float64).alias("value"))
    return Part(
        name=str(sources[0]),
        answers=frame_of(answers, ROW),
        ratings=_judges(logs, names, by_severity=by_severity),
        others=_other_scores(logs),
        conditions=list(logs.conditions),
        items=logs.items,
        score="" if by_severity else ", ".join(printable(name, limit=40) for name in names),
        notes=[*notes, *problems(logs), *agreeing_totals(logs), *_note_other_scorers(logs, options)],
    )


def _note_other_scorers(logs: Logs, options: ReadOptions) -> list[str]:
    """A note that names the scorers of the logs that do not count, where the user chose none."""
    names = {name: None for row in logs.rows for name in row.sample.scores if name != row.scorer}
    if not names or options.scorer is not None:
        return []
    shown = ", ".join(printable(name, limit=40) for name in [*names][:MAX_SCORERS_SHOWN])
    more = f" and {len(names) - MAX_SCORERS_SHOWN} more" if len(names) > MAX_SCORERS_SHOWN else ""
    settle = f"--scorer {shlex.quote(next(iter(names)))} makes it the main score"
    return [Note(f"The log also holds {shown}{more}. {settle}.", "scores")]


def _answers(logs: Logs) -> pl.DataFrame:
    """A row for every answer of the logs with its main score and its confidence."""
    schema = {name: kind for name, kind in ROW.items() if not name.startswith("confidence")}
    answers = pl.DataFrame([_answer(row, logs) for row in logs.rows], schema=schema, orient="row")
    keys = [(r.item, r.condition, r.sample.draw or 0) for r in logs.rows]
    samples = [(key, row.sample) for key, row in zip(keys, logs.rows, strict=True)]
    sure = {key: next(iter(s.confidences.items())) for key, s in samples if s.confidences}
    texts = [(key, s.answer, s.tokens, s.logprobs) for key, s in samples if not s.error]
    return answers.join(confidences(sure, texts), on=KEY, how="left", maintain_order="left")


def _answer(row: Row, logs: Logs) -> dict[str, object]:
    """One answer; of a failed call only what names it and its error."""
    sample = row.sample
    known: dict[str, object] = {
        "item": row.item, "condition": row.condition, "draw": sample.draw, "error": sample.error,
        "finish": sample.finish, "domain": logs.items[row.item].domain or None,
        "steps": sample.steps, "failed_calls": sample.failed_calls,
    }  # fmt: skip
    if sample.error:
        return known
    return known | {
        "text": sample.answer, "tokens_in": sample.tokens_in, "tokens_out": sample.tokens_out,
        "money_usd": sample.money_usd, "latency_s": sample.latency_s, "value": sample.scores.get(row.scorer),
    }  # fmt: skip


def _other_scores(logs: Logs) -> pl.DataFrame:
    """Every score and vote but the main one, of answers that came."""
    rows = [
        (r.item, r.condition, r.sample.draw, name, value)
        for r in logs.rows
        if not r.sample.error
        for name, value in (*r.sample.scores.items(), *r.sample.votes.items())
        if name != r.scorer
    ]
    return pl.DataFrame(rows, schema=OTHERS, orient="row")


def _judges(logs: Logs, names: Sequence[str], *, by_severity: bool) -> pl.DataFrame:
    """A scorer of severities as ratings, one for each judge where the log has their votes."""
    if not by_severity:
        return pl.DataFrame(schema=RATINGS)
    found = []
    for r in logs.rows:
        if r.sample.error:
            continue
        votes = {k.removeprefix(f"{r.scorer}/"): v for k, v in r.sample.votes.items() if k.startswith(f"{r.scorer}/")}
        for rater, value in (votes or {r.scorer: r.sample.scores.get(r.scorer)}).items():
            found.append((r.item, r.condition, r.sample.draw, rater, value))
    schema: dict[str, type[pl.DataType]] = {**{k: RATINGS[k] for k in (*KEY, "rater")}, "value": pl.Float64}
    frame = pl.DataFrame(found, schema=schema, orient="row")
    severity = severities(frame, "value", (0.0, 4.0), names[0])
    return frame_of(frame.with_columns(severity, pl.lit("judge").alias("kind")), RATINGS)
