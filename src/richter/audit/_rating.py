"""People's ratings of a run: the sample they share, the page, the sheet, and reading a sheet back."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np
import polars as pl

from richter.audit._labelling import MOST, Key, Labelling, LabelOptions, Labels, keep_sample, labelling_of, labels_of
from richter.errors import InputError
from richter.interop import export_table, read_frame
from richter.ratings import (
    GRID,
    Sample,
    add_conditions,
    check_mechanism,
    draw_sample,
    snap,
    tabulate,
)
from richter.records import SAMPLE_NOTE, Answer, Rating, Result, printable
from richter.store import Ledger, RunLike, is_run, open_ledger
from richter.tables import Dataset, read_ratings, read_tables, tables_of
from richter.words._label_texts import ClaimStanding

if TYPE_CHECKING:
    from richter.ratings import RatingPage

__all__ = [
    "ImportedRatings",
    "import_ratings",
    "label_page",
    "open_rating",
    "serve_rating",
    "shared_sample",
    "write_sheet",
]

MOST_FAULTS = 5  # named of a sheet
SHEET = ("id", "question", "reference", "answer", "severity", "mechanism")


def _read_run(run: RunLike) -> Dataset:
    """The tables of a run; raises for any other source, which no label can be kept in."""
    if not is_run(run):
        if isinstance(run, str | Path) and "://" not in str(run) and not Path(run).exists():
            raise InputError(f"{run}: no such run.", remedy="Make one of a file: richter import FILE -o RUN")
        remedy = f"Make a run of it first: richter import {shlex.quote(str(run))} -o RUN"
        raise InputError(f"{run} is not a run, so labels cannot be kept in it.", remedy=remedy)
    return read_tables(run)


def with_text(answers: Sequence[Answer], run: str) -> list[Answer]:
    """The answers that came. Where none holds a text (a table of grades alone) nobody can read what to rate."""
    if not any(a.text for a in answers):
        raise InputError(
            f"No answer in {Path(run).name} holds a text, so there is nothing to read and to rate.",
            remedy="Import a table that has the texts too (a column `answer`), or one with severities.",
        )
    return [a for a in answers if not a.error]


def shared_sample(ledger: Ledger, *, n: int, seed: int, conditions: Sequence[str] = ()) -> Sample:
    """The run's sample for people: drawn once, then the same for every rater, so that raters can be compared.

    Strata are condition and band of severity by judges, else by rules, else right or wrong by grades, else none. With
    `conditions` only their answers are drawn, and those of a condition that was not named before are added.
    """
    before = ledger.read_note(SAMPLE_NOTE, Sample.from_dict)
    drawn = set() if before is None else {condition for _, condition, _ in before.chosen}
    new = [name for name in conditions if name not in drawn]
    if before is not None and not new:
        return before
    ratings, answers = ledger.ratings(), list(ledger.answers())
    with_text(answers, ledger.name)
    scores = _scores_by_kind(ratings) or _scores_by_grade(ledger)
    number = n if len(new) == len(conditions) else max(n * len(new) // len(conditions), 1)
    sample = draw_sample(answers, scores, number, seed=seed, conditions=new)
    sample = sample if before is None else add_conditions(before, sample)
    ledger.set_note(SAMPLE_NOTE, sample.to_dict())
    return sample


def _scores_by_kind(ratings: Sequence[Rating]) -> dict[Key, float | None]:
    """Each answer's mean severity by judges, else by rules; empty where neither rated."""
    for kind in ("judge", "rule"):
        if any(r.kind == kind for r in ratings):
            table = tabulate(ratings, kind)
            means = zip(table.keys, table.mean, strict=True)
            return {key: None if np.isnan(mean) else float(mean) for key, mean in means}
    return {}


def _scores_by_grade(ledger: Ledger) -> dict[Key, float | None]:
    """0 for a right answer and 4 for a wrong one."""
    grades = [g for g in ledger.grades() if g.main]
    return {(g.item, g.condition, g.draw): None if g.correct is None else 4.0 * (not g.correct) for g in grades}


def open_rating(
    ledger: Ledger,
    rater: str,
    *,
    n: int = 60,
    seed: int = 0,
    conditions: Sequence[str] = (),
    labelling: Callable[[Sample], Labelling | None] | None,
) -> RatingPage:
    """A rater's page on the run's sample, over a ledger that is open for writing.

    With `labelling` the page shows where its claim stands, and the sample grows batch by batch until it is decided.
    """
    from richter.ratings import RatingPage  # the page alone needs aiohttp, which the core does not bring

    sample = shared_sample(ledger, n=n, seed=seed, conditions=conditions)
    items = {item.id: item for item in ledger.items()}
    answers = {(a.item, a.condition, a.draw): a for a in ledger.answers()}
    plan = None if labelling is None else labelling(sample)
    if plan is None:
        return RatingPage(ledger, sample, rater, items, answers)

    def labels(of: Sample) -> Labels:
        return labels_of(ledger.ratings(kind="human"), of)

    def more(now: Sample) -> Sample | None:
        larger = plan.grow(now, labels(now))
        if larger is not None:
            keep_sample(ledger, larger)
        return larger

    def claim() -> ClaimStanding:
        now, names = plan.state(labels(page.sample), page.sample), [printable(name, limit=40) for name in plan.sides]
        return ClaimStanding(
            sentence=now.sentence,
            metric=plan.metric,
            subject=names[0] if len(names) == 1 else f"{names[1]} minus {names[0]}",
            estimate=now.estimate,
            interval=now.interval,
            is_difference=len(names) == 2,
            is_decided=now.decided,
        )

    page = RatingPage(ledger, sample, rater, items, answers, claim=claim, more=more)
    return page


def label_page(ledger: Ledger, rater: str) -> RatingPage:
    """A rater's page as the app opens it: it says where the claim on the run's first two conditions stands."""
    return open_rating(ledger, rater, labelling=lambda sample: labelling_of(tables_of(ledger), sample))


class Rated(NamedTuple):
    """How many answers of the sample a rater has rated, and where the claim stands."""

    done: int
    claim: str


def serve_rating(
    run: RunLike,
    *,
    rater: str,
    n: int,
    seed: int = 0,
    port: int = 0,
    ready: Callable[[str, int], None],
    **claim: Unpack[LabelOptions],
) -> Rated:
    """Serve the rating page on loopback until interrupted; `ready` gets the address and how many are to be rated.

    Returns how many answers of the sample this rater has rated, and where the claim stands.
    """
    tables = _read_run(run)
    claim["most"] = max(claim.get("most", MOST), n)
    with open_ledger(run, mode="write") as ledger:
        page = open_rating(
            ledger,
            rater,
            n=n,
            seed=seed,
            conditions=claim.get("conditions", ()),
            labelling=lambda sample: labelling_of(tables, sample, **claim),
        )
        from richter.ratings import serve_loopback

        page.state()  # a rater with nothing left to do is not served
        serving = serve_loopback(
            page.app(),
            port=port,
            ready=lambda base: ready(f"{base}/?token={page.guard.token}", len(page.order)),
            ended=page.is_finished,
        )
        with contextlib.suppress(KeyboardInterrupt):  # how a rater stops for today: everything is in the ledger
            asyncio.run(serving)
        state = page.state()
        return Rated(int(state["done"]), str(state["sentence"]) if state["claim"] else "")


def _code(sample: Sample, position: int) -> str:
    """A name for an answer that says nothing of its condition."""
    return hashlib.sha256(f"{sample.seed}|{sample.chosen[position]}".encode()).hexdigest()[:8]


def write_sheet(
    run: RunLike, output: str | Path, *, rater: str = "", n: int, seed: int = 0, **claim: Unpack[LabelOptions]
) -> int:
    """Write what is to be rated as a blind sheet with empty `severity` and `mechanism` columns, in a shuffled order.

    It is what the rater has not rated yet; where that is nothing, the next batch for the claim. 0: no more is needed.
    """
    tables = _read_run(run)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=n, seed=seed, conditions=claim.get("conditions", ()))
        people = ledger.ratings(kind="human")
        done = {(r.item, r.condition, r.draw) for r in people if r.rater == rater}
        if rater and done >= set(sample.chosen):
            claim["most"] = max(claim.get("most", MOST), n)
            plan = labelling_of(tables, sample, **claim)
            larger = None if plan is None else plan.grow(sample, labels_of(people, sample))
            if larger is not None:
                sample = larger
                keep_sample(ledger, sample)
        items = {item.id: item for item in ledger.items()}
        answers = {(a.item, a.condition, a.draw): a for a in ledger.answers()}
    rows: list[dict[str, Any]] = []
    for position in sample.order(rater):
        key = sample.chosen[position]
        if key in done:
            continue
        item = items[key[0]]
        values = (_code(sample, position), item.prompt, item.reference, answers[key].text, None, None)
        rows.append(dict(zip(SHEET, values, strict=True)))
    if rows:
        kinds = {"severity": pl.Float64, "mechanism": pl.String}
        export_table(pl.DataFrame(rows, schema_overrides=kinds), Path(output))
    return len(rows)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRatings(Result):
    """How many ratings were taken, how many replaced one of the same rater, and how many are of another answer.

    `changed` rows of a sheet hold another answer than the run does now: what they rate is gone, and they are left out.
    `moved` ones lay between half steps and were put on the nearest.
    """

    taken: int
    replaced: int
    changed: int
    moved: int = 0
    claim: str = ""

    def __str__(self) -> str:
        text = f"{self.taken:,} human ratings imported."
        if self.replaced:
            text += f" {self.replaced:,} replace an earlier one of the same rater."
        if self.moved:
            text += f" {self.moved:,} lay between half steps and were put on the nearest."
        if self.changed:
            text += f" {self.changed:,} rate an answer that has changed since, and are left out."
        return f"{text} {self.claim}".rstrip()


def import_ratings(run: RunLike, path: str | Path, *, rater: str = "") -> ImportedRatings:
    """Read a filled sheet, or a ratings table with `item` and `condition`, into the run as human ratings.

    Rows without a severity are not yet rated and are passed over. Ratings of another kind are refused. Where any row is
    at fault nothing is imported, and the faults are named.
    """
    frame, changed = read_frame(path), 0
    tables = _read_run(run)
    with open_ledger(run, mode="write") as ledger:
        if "id" in frame.columns and "item" not in frame.columns:
            ratings, changed = _from_sheet(ledger, frame, path, rater)
        else:
            ratings = _from_table(ledger, path)
        ratings = [
            dataclasses.replace(r, mechanism=check_mechanism(r.mechanism, where=f"{path}: {r.rater} on {r.item}"))
            for r in ratings
        ]
        given = [r.severity for r in ratings if r.severity is not None]
        placed = snap(given).tolist()
        moved = sum(a != b for a, b in zip(given, placed, strict=True))
        ratings = [dataclasses.replace(r, severity=value) for r, value in zip(ratings, placed, strict=True)]
        if not ratings:
            rest = f" {changed:,} rate an answer that has changed since." if changed else ""
            raise InputError(f"{path} holds no rating.{rest}", remedy="Fill in the severity column of a new sheet.")
        before = {(r.item, r.condition, r.draw, r.rater) for r in ledger.ratings(kind="human")}
        keys = [(r.item, r.condition, r.draw, r.rater) for r in ratings]
        ledger.add_ratings(ratings)
        claim = _claim_so_far(ledger, tables)
    replaced = len(keys) - len(set(keys)) + len(before & set(keys))
    return ImportedRatings(taken=len(set(keys)), replaced=replaced, changed=changed, moved=moved, claim=claim)


def _claim_so_far(ledger: Ledger, tables: Dataset) -> str:
    """Where the claim stands that the run's sample was drawn for; empty where there is none."""
    sample = ledger.read_note(SAMPLE_NOTE, Sample.from_dict)
    if sample is None:
        return ""
    plan = labelling_of(tables, sample)
    return "" if plan is None else plan.state(labels_of(ledger.ratings(kind="human"), sample), sample).sentence


def _from_table(ledger: Ledger, path: str | Path) -> list[Rating]:
    """People's ratings of a table that names items and conditions."""
    ratings = list(read_ratings(path).ratings)
    other = next((r for r in ratings if r.kind != "human"), None)
    if other is not None:
        raise InputError(
            f"{path}: {other.rater} on {other.item} is a {other.kind} rating.",
            remedy="Only people's ratings are imported; keep kinds apart.",
        )
    known = {(a.item, a.condition, a.draw) for a in ledger.answers()}
    stray = next((r for r in ratings if (r.item, r.condition, r.draw) not in known), None)
    if stray is not None:
        raise InputError(
            f"{path}: the run has no answer of {stray.condition!r} to {stray.item!r}.",
            remedy="Check the item and condition names against `richter export`.",
        )
    return [r for r in ratings if r.severity is not None]


def _sheet_error(path: str | Path, faults: Sequence[str]) -> InputError:
    more = f"; and {len(faults) - MOST_FAULTS:,} more" if len(faults) > MOST_FAULTS else ""
    return InputError(
        f"{path}: {'; '.join(faults[:MOST_FAULTS])}{more}. Nothing was imported.",
        remedy="Use 0 to 4, each id of this run's own sheet once.",
    )


def _from_sheet(ledger: Ledger, frame: pl.DataFrame, path: str | Path, rater: str) -> tuple[list[Rating], int]:
    sample = _sheet_sample(ledger, frame, path, rater)
    position = {_code(sample, i): i for i in range(len(sample.chosen))}
    texts = {(a.item, a.condition, a.draw): a.text for a in ledger.answers()}
    ratings: dict[int, Rating] = {}
    changed, faults = 0, list[str]()
    for number, row in enumerate(frame.iter_rows(named=True), start=1):
        code, given = str(row["id"]).strip(), str("" if row["severity"] is None else row["severity"]).strip()
        if not given:
            continue
        faults += [f"row {number}: {fault}" for fault in _row_faults(code, given, position, ratings)]
        if code not in position or (severity := _as_number(given)) is None:
            continue
        item, condition, draw = key = sample.chosen[position[code]]
        if row.get("answer") is not None and _bare(str(row["answer"])) != _bare(texts.get(key, "")):
            changed += 1
            continue
        ratings[position[code]] = Rating(
            item=item,
            condition=condition,
            draw=draw,
            rater=rater,
            kind="human",
            severity=severity,
            mechanism=str(row.get("mechanism") or "").strip().lower(),
        )
    if faults:
        raise _sheet_error(path, faults)
    return list(ratings.values()), changed


def _sheet_sample(ledger: Ledger, frame: pl.DataFrame, path: str | Path, rater: str) -> Sample:
    """The sample that a sheet was written for; a sheet that cannot be read is refused."""
    if not rater.strip():
        raise InputError("A sheet does not say who filled it in.", remedy="Give --rater NAME.")
    if "severity" not in frame.columns:
        raise InputError(f"{path} has no severity column.", remedy="Use the sheet that `richter label --sheet` wrote.")
    sample = ledger.read_note(SAMPLE_NOTE, Sample.from_dict)
    if sample is None:
        raise InputError("The run has no rating sample.", remedy="Write the sheet from this run with --sheet first.")
    return sample


def _as_number(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None


def _row_faults(code: str, given: str, position: Mapping[str, int], ratings: Mapping[int, Rating]) -> Iterator[str]:
    """What is wrong with a row of a sheet."""
    severity = _as_number(given)
    if severity is None:
        yield f"severity {given!r} is not a number"
        return
    if not 0 <= severity <= GRID[-1]:
        yield f"severity {severity:g} is not on the scale"
    if code not in position:
        yield f"{code!r} is not in this run's sample"
    elif position[code] in ratings:
        yield f"{code!r} is rated twice"


def _bare(text: str) -> str:
    """Letters and digits alone: what spreadsheets leave of a text."""
    return "".join(c for c in text if c.isalnum())
