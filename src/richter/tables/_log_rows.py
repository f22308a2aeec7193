"""Logs of other tools as rows of answers, scores and ratings."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from richter.interop import LogOptions, Logs, agreeing_totals, is_severity, problems, read_logs
from richter.records import printable
from richter.tables._confidence_source import confidences
from richter.tables._part import OTHERS, ROW, Part, frame_of, severities
from richter.tables._tables import KEY, RATINGS, ReadOptions


def part_of_logs(sources: Sequence[str | Path], options: ReadOptions) -> Part:
    """All logs together: what names a condition is what differs between them."""
    logs = read_logs(
        sources,
        options=LogOptions(
            scorer=options.scorer, filter=options.filter, columns=options.map, pass_at=options.pass_at or 1.0
        ),
    )
    notes = [f"{count} x {printable(reason)}: not read" for reason, count in logs.unread.most_common()]
    rows = logs.rows
    names = list(dict.fromkeys(r.scorer for r in rows if r.scorer))
    by_severity = bool(names) and all(is_severity(name) for name in names)
    samples = [r.sample for r in rows]
    items = [logs.items[r.item] for r in rows]
    keys = [(r.item, r.condition, r.sample.draw or 0) for r in rows]
    sure = {key: next(iter(s.confidences.items())) for key, s in zip(keys, samples, strict=True) if s.confidences}
    said = [(key, s.answer, s.tokens, s.logprobs) for key, s in zip(keys, samples, strict=True) if not s.error]
    answers = pl.DataFrame(
        {
            "item": [r.item for r in rows],
            "condition": [r.condition for r in rows],
            "draw": [s.draw for s in samples],
            "text": [None if s.error else s.answer for s in samples],
            "error": [s.error for s in samples],
            "tokens_in": [None if s.error else s.tokens_in for s in samples],
            "tokens_out": [None if s.error else s.tokens_out for s in samples],
            "money_usd": [None if s.error else s.money_usd for s in samples],
            "latency_s": [None if s.error else s.latency_s for s in samples],
            "finish": [s.finish for s in samples],
            "domain": [i.domain or None for i in items],
            "value": [None if s.error else s.scores.get(r.scorer) for r, s in zip(rows, samples, strict=True)],
        },
        schema_overrides={name: kind for name, kind in ROW.items() if not name.startswith("confidence")},
    )
    answers = answers.join(confidences(sure, said), on=KEY, how="left", maintain_order="left")
    ratings = _judges(logs, names, by_severity=by_severity)
    if by_severity:
        answers = answers.with_columns(pl.lit(None, dtype=pl.Float64).alias("value"))
    return Part(
        name=str(sources[0]),
        answers=frame_of(answers, ROW),
        ratings=ratings,
        others=pl.DataFrame(
            [
                (r.item, r.condition, r.sample.draw, name, value)
                for r in rows
                if not r.sample.error
                for name, value in (*r.sample.scores.items(), *r.sample.votes.items())
                if name != r.scorer
            ],
            schema=OTHERS,
            orient="row",
        ),
        conditions=list(logs.conditions),
        items=logs.items,
        score="" if by_severity else ", ".join(printable(name, limit=40) for name in names),
        notes=[*notes, *problems(logs), *agreeing_totals(logs)],
    )


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
