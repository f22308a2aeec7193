"""Small results of every kind by number, and what of one of them is not the same in all its clothes."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import richter
from richter.audit import measure_run
from richter.claims import METRICS
from richter.cli._screen import summarise
from richter.errors import InputError
from richter.records import Claim, markdown_safe, printable
from richter.report import markdown, render_report
from richter.tables import read_tables, write_tables

KINDS = ("binary", "sure", "partial", "five", "hundred", "real", "severity", "wer", "all")
SHAPES = ("plain", "plain", "plain", "all right", "all wrong", "tied", "one empty", "repeated", "one short")
NAMES = (("old", "new", "base"), ("<b>old</b>", "a|b, c", "\x1b[31mred"), ("🚀 new", "x" * 90, "[l](http://x)"))
RESAMPLED = ("b", "xi")
WORDS = {"accuracy": "more", "mean_score": "better", "mean_severity": "less", "catastrophic_rate": "less",
         "ece": "better", "severity_given_error": "less"}  # fmt: skip
NUMBER = r"([+-]?\d[\d,]*(?:\.\d+)?)"
SPAN = re.compile(rf"\(([\d.]+)% CI {NUMBER} to {NUMBER}(?=[,)])")
SHOWN = re.compile(rf": {NUMBER}(?: points|%)? \([\d.]+% CI ")  # 'b is less accurate than a: -7.5 points (95% CI ...'
LEANING = re.compile(rf" (?:scored|is) {NUMBER}(?: points|%)? (higher|lower) than ")
SAME = ("verdict", "sentence", "estimate", "values", "n", "units", "needed", "min_detectable_difference")


def world(seed: int) -> pl.DataFrame:
    """A table of results: kind of grade, shape, draws, groups, weights, missing grades and names by `seed`."""
    rng = np.random.default_rng(seed)
    kind, shape = KINDS[seed % len(KINDS)], SHAPES[int(rng.integers(len(SHAPES)))]
    names = NAMES[int(rng.choice([0, 0, 1, 2]))][: int(rng.choice([2, 2, 3]))]
    items, draws = int(rng.choice([1, 2, 3, 8, 20, 40, 90])), int(rng.choice([1, 1, 3]))
    gain, lost = rng.choice([-0.2, 0.0, 0.3], size=3), 0.1 * (rng.random() < 0.3)
    rows = []
    for k, j, d in np.ndindex(items, len(names), draws):
        x = float(np.clip(0.5 * (k * 37 % 97) / 97 + gain[j] + 0.5 * rng.random(), 0, 1))
        x = {"all right": 1.0, "all wrong": 0.0, "tied": float(k % 2)}.get(shape, x)
        grave = 0.0 if x > 0.55 else min(4.0, 0.5 + round(8 * (0.6 - x)) / 2)
        sure = round(0.3 + 0.6 * rng.random(), 2)
        row: dict[str, Any] = {
            "binary": {"correct": int(x > 0.55)},
            "sure": {"correct": int(x > 0.55), "confidence": sure},
            "partial": {"score": round(4 * x) / 4},
            "five": {"score": 1 + round(4 * x)},
            "hundred": {"score": round(100 * x, 1)},
            "real": {"score": round(10 * x - 3, 3)},
            "severity": {"severity": grave},
            "wer": {"wer": round(1 - x, 3)},
            "all": {"correct": int(grave == 0), "severity": grave, "confidence": sure},
        }[kind]
        if (shape == "one empty" and j == len(names) - 1) or rng.random() < lost:
            row = dict.fromkeys(row)
        if not (shape == "one short" and j == 0 and k > items // 3):
            rows.append({"item": f"q{k:03d}", "condition": names[j], "draw": d, **row})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if rng.random() < 0.25:
        frame = frame.with_columns(group=pl.col("item").str.slice(0, 3))
    if rng.random() < 0.25:
        frame = frame.with_columns(weight=1.0 + pl.col("item").str.slice(1).cast(pl.Int64) % 3)
    return pl.concat([frame, frame.head(len(frame) // 10)]) if shape == "repeated" else frame


def faults(frame: pl.DataFrame, folder: Path) -> Iterator[str]:
    """What differs between terminal, Markdown, page, JSON and Python, and what changes that should not."""
    try:
        own = richter.open(frame).compare(n_resamples=50).claims
    except InputError:
        return
    results = measure_run(frame, n_resamples=50)
    document = results.to_dict()
    texts = {
        "page": html.unescape(re.sub(r"<[^>]+>", "", render_report(document, results.tables))),
        "Markdown": markdown(document),
        "terminal": "\n".join(summarise(document)),
    }
    squashed = {where: re.sub(r"[\s\\]", "", text) for where, text in texts.items()}
    for where, text in texts.items():
        if "\x1b" in text:
            yield f"{where}: a control character"
        said = markdown_safe(document["answer"]) if where == "Markdown" else printable(document["answer"])
        if re.sub(r"[\s\\]", "", said)[:150] not in squashed[where]:
            yield f"{where}: not the answer {document['answer']!r}"
    reported = {(c["measure"], tuple(c["conditions"])): c for c in document["claims"] if len(c["conditions"]) == 2}
    for claim in own:
        yield from _said(claim)
        other = reported.get((claim.measure, claim.conditions))
        if other is None or claim.measure in RESAMPLED:
            continue
        mine = claim.to_dict()
        yield from (f"compare and report: {claim.measure} {name}" for name in SAME if mine[name] != other[name])
        if re.sub(r"[\s\\]", "", printable(claim.sentence, limit=600)) not in squashed["page"]:
            yield f"page: not {claim.sentence!r}"
    yield from _unchanged(frame, own, folder)


def _said(claim: Claim) -> Iterator[str]:
    """A sentence against its own numbers: what is said, of how many items, and which way."""
    text = claim.sentence
    if claim.estimate is not None and claim.measure not in RESAMPLED:
        yield from _numbers_said(claim, claim.estimate)
    items = re.search(r"[(,] ?([\d,]+) questions?(?: in [\d,]+ groups?)?\)", text)
    if items and int(items[1].replace(",", "")) != claim.n:
        yield f"{claim.measure}: {items[1]} questions are said of {claim.n}"
    is_undecided = text.startswith("Inconclusive")
    if claim.estimate is not None and is_undecided != (claim.verdict.value == "undecided"):
        yield f"{claim.verdict.value}: {text}"
    if claim.verdict.value == "verified" and claim.measure in WORDS and claim.estimate is not None:
        good = (claim.estimate > 0) == (claim.better == "higher")
        if (
            text.removeprefix("By the judge's grades, ").startswith(f"{claim.conditions[1]} is {WORDS[claim.measure]} ")
            != good
        ):
            yield f"the other way round: {text}"


def _numbers_said(claim: Claim, estimate: float) -> Iterator[str]:
    """The estimate, its interval and its level as they are said, against the claim's own."""
    text, span = claim.sentence, claim.interval or claim.plain_interval
    assert span is not None
    scale = METRICS[claim.measure].scale
    if not np.isfinite([span.low, span.high]).all():
        if "CI: no limits known" not in text:
            yield f"{claim.measure}: an interval without limits is not called so: {text}"
        return
    found = SPAN.search(text)
    if not found:
        yield f"{claim.measure}: no interval is said: {text}"
        return
    said = [(found[1], 100 * span.level), (found[2], scale * span.low), (found[3], scale * span.high)]
    shown, leaning = SHOWN.search(text), LEANING.search(text)
    if shown:
        said.append((shown[1], scale * estimate))
    elif leaning:
        said.append((leaning[1], scale * estimate * (1 if leaning[2] == "higher" else -1)))
    elif " the same" in text:
        said.append((f"{0:.{len(found[3].partition('.')[2])}f}", scale * estimate))
    else:
        yield f"{claim.measure}: no estimate is said: {text}"
    for number, value in said:
        digits = len(number.partition(".")[2])
        if abs(float(number.replace(",", "")) - value) > 0.51 * 10**-digits:
            yield f"{claim.measure}: {number} is said of {value}"


def _unchanged(frame: pl.DataFrame, own: tuple[Claim, ...], folder: Path) -> Iterator[str]:
    """The same data in other words, as a run, and with the conditions turned."""
    names = frame["condition"].unique(maintain_order=True).to_list()
    more = {"columns": frame.select(frame.columns[::-1]), "draws from 1": frame.with_columns(pl.col("draw") + 1)}
    if "group" not in frame.columns:
        more["groups of one"] = frame.with_columns(group=pl.col("item"))
    if "weight" not in frame.columns:
        more["weights of one"] = frame.with_columns(weight=pl.lit(1.0))
    want = [_numbers(c) for c in own]
    for what, changed in more.items():
        if [_numbers(c) for c in richter.open(changed).compare(n_resamples=50).claims] != want:
            yield f"{what}: other claims"
    write_tables(read_tables(frame), folder / "run")
    if [_numbers(c) for c in richter.open(folder / "run").compare(n_resamples=50).claims] != want:
        yield "imported: other claims"
    turned = pl.concat([frame.filter(pl.col("condition") == name) for name in names[::-1]])
    back = {(c.measure, frozenset(c.conditions)): c for c in richter.open(turned).compare(n_resamples=50).claims}
    for claim in own:
        other = back[claim.measure, frozenset(claim.conditions)]
        if claim.measure in RESAMPLED or claim.estimate is None or other.estimate is None:
            continue
        if other.verdict is not claim.verdict or abs(other.estimate + claim.estimate) > 1e-9:
            yield f"turned: {claim.sentence} | {other.sentence}"


def _numbers(claim: Claim) -> tuple[Any, ...]:
    if claim.measure in RESAMPLED:
        return claim.measure, claim.conditions
    span = claim.interval or claim.plain_interval
    ends = () if span is None else (span.low, span.high)
    numbers = [None if x is None or not np.isfinite(x) else round(x, 9) for x in (claim.estimate, *ends)]
    return claim.measure, claim.conditions, claim.verdict, claim.n, *numbers, claim.needed
