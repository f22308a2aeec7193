"""The steps of agents' runs beside their answers, and the table of faults that opens them.

Everything is text of others: it is made visible and cut here, and shown as text and never as markup.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from richter.records import printable
from richter.report._visible_text import shorten
from richter.tables import KEY, Dataset
from richter.trajectories import MAX_STEPS, MAX_TEXT
from richter.words._spans import name

MAX_STEPS_SENT = 6_000  # of all runs together
MAX_SHOWN_STEPS = 40  # of a run: its first ones, and those around its faults
SHOWN_TEXT = 300  # characters of one argument list or result

Row = dict[str, Any]
Key = tuple[str, str, int]


class RunFrames(NamedTuple):
    """The steps of runs, their faults, and how each run ended: `state` is right, wrong, failed or empty."""

    steps: pl.DataFrame
    faults: pl.DataFrame
    states: pl.DataFrame


def run_frames(tables: Dataset) -> RunFrames | None:
    """What the timelines of a dataset are made of; None where no answer has steps."""
    if tables.steps is None or tables.faults is None:
        return None
    has_failed = pl.col("error").fill_null("") != ""
    state = pl.when(has_failed).then(pl.lit("failed")).otherwise(
        pl.col("correct").replace_strict({1.0: "right", 0.0: "wrong"}, default="", return_dtype=pl.String)
    )  # fmt: skip
    return RunFrames(tables.steps, _marked_steps(tables), tables.rows.select(*KEY, state.alias("state")))


def _marked_steps(tables: Dataset) -> pl.DataFrame:
    """The place and the name of what a rule found, and of what a judge or a person rated as an error."""
    assert tables.faults is not None
    found = tables.faults.select(*KEY, "place", "rule")
    if tables.step_ratings is None:
        return found
    rated = tables.step_ratings.filter(pl.col("severity") > 0).select(
        *KEY, pl.col("step").cast(found.schema["place"]).alias("place"), "rater", "severity"
    )
    named = [
        f"{printable(rater, limit=30)}: severity {severity:g}"
        for rater, severity in rated.select("rater", "severity").iter_rows()
    ]
    return pl.concat([found, rated.select(*KEY, "place", pl.Series("rule", named, dtype=pl.String))])


def attach_runs(
    rows: Sequence[Row],
    ids: Sequence[str],
    conditions: Sequence[str],
    frames: RunFrames,
    *,
    cut: int = SHOWN_TEXT,
    most_steps: int = MAX_SHOWN_STEPS,
) -> None:
    """Give every answer of these rows its runs: number, state, steps, faults and the place of the first of these.

    `rows` are those of `answer_rows` for `ids`. Steps are given as far as `MAX_STEPS_SENT` reaches, those of the first
    rows first.
    """
    own = RunFrames(*(frame.filter(pl.col("item").is_in(list(ids))) for frame in frames))
    sizes: dict[Key, int] = {(i, c, d): n for i, c, d, n in own.steps.group_by(KEY).len().iter_rows()}
    states = {(i, c, d): state for i, c, d, state in own.states.iter_rows()}
    faults = _faults_by_run(own.faults)
    cells = _cells_by_answer(rows, ids, conditions)
    place = {cell: k for k, cell in enumerate(cells)}
    keys = sorted((key for key in sizes if key[:2] in place), key=lambda key: (place[key[:2]], key[2]))
    shown = {key: _shown_places(sizes[key], faults.get(key, {}), most_steps) for key in keys}
    sent = itertools.accumulate(map(len, shown.values()))
    within = {key for key, total in zip(shown, sent, strict=True) if total <= MAX_STEPS_SENT}
    steps = _steps_by_run(own.steps, {key: places for key, places in shown.items() if key in within}, cut)
    for key in keys:
        run: Row = {
            "run": key[2] + 1,
            "state": states.get(key, ""),
            "n": sizes[key],
            **_described_faults(faults.get(key)),
        }
        run |= {"steps": steps[key]} if key in within else {}
        cells[key[:2]].setdefault("runs", []).append(run)


def _cells_by_answer(rows: Sequence[Row], ids: Sequence[str], conditions: Sequence[str]) -> dict[tuple[str, str], Row]:
    """The cell of every answer that there is, by item and condition."""
    return {
        (item, condition): cell
        for item, row in zip(ids, rows, strict=True)
        for condition, cell in zip(conditions, row["answers"], strict=True)
        if cell is not None
    }


def _described_faults(marks: Mapping[int, list[str]] | None) -> Row:
    """The place of the first fault, and the rules by place; empty without any."""
    if not marks:
        return {}
    return {"first": min(marks), "faults": {at: sorted(rules) for at, rules in sorted(marks.items())}}


def _faults_by_run(faults: pl.DataFrame) -> dict[Key, dict[int, list[str]]]:
    """Of each run the rules by the place of their faults."""
    found: dict[Key, dict[int, list[str]]] = {}
    for item, condition, draw, place, rule in faults.select(*KEY, "place", "rule").iter_rows():
        found.setdefault((item, condition, draw), {}).setdefault(place, []).append(rule)
    return found


def runs_of_item(tables: Dataset, item: str) -> dict[tuple[str, int], Row]:
    """By condition and draw the whole run behind an answer to one question, as `{"runs": [run]}`."""
    frames = run_frames(tables)
    if frames is None:
        return {}
    row: Row = {"answers": [{} for _ in tables.conditions]}
    attach_runs([row], [item], tables.conditions, frames, cut=MAX_TEXT + 100, most_steps=MAX_STEPS)
    cells = zip(tables.conditions, row["answers"], strict=True)
    return {(condition, run["run"] - 1): {"runs": [run]} for condition, cell in cells for run in cell.get("runs", ())}


def _shown_places(n: int, faults: Mapping[int, Any], most: int) -> set[int]:
    """The places of the steps that are shown: all of a short run, else the first and those up to a fault."""
    if n <= most:
        return set(range(1, n + 1))
    near = {k for place in sorted(faults)[: most // 8] for k in range(max(place - 3, 1), min(place + 2, n + 1))}
    return {*near, *range(1, most - len(near) + 1)}


def _steps_by_run(steps: pl.DataFrame, places: Mapping[Key, set[int]], cut: int) -> dict[Key, list[list[Any]]]:
    """Of each of these runs the steps at its places: place, what it is, arguments, and result or error."""
    from richter.words import describe_step  # only where there are steps

    wanted = pl.DataFrame([(*key, k) for key, own in places.items() for k in sorted(own)],
                          schema={c: steps.schema[c] for c in (*KEY, "place")}, orient="row")  # fmt: skip
    columns = (*KEY, "place", "role", "tool", "arguments", "result", "error")
    found: dict[Key, list[list[Any]]] = {key: [] for key in places}
    chosen = steps.select(columns).join(wanted, on=[*KEY, "place"], how="semi", maintain_order="left")
    for item, condition, draw, place, role, tool, arguments, result, error in chosen.iter_rows():
        words = printable(describe_step(role, tool, error=error), limit=80)
        found[item, condition, draw].append([place, words, shorten(arguments, cut), shorten(error or result, cut)])
    return found


def faults_section(document: Mapping[str, Any], *, redact: bool = False) -> dict[str, Any] | None:
    """The table of faults; None where no answer has steps. Examples open their question, unless redacted."""
    found = _went_wrong(document)
    if found is None:
        return None
    from richter.words import describe_faults  # only where there are steps

    runs, rules = found.get("runs") or {}, found.get("rules") or []
    return {
        "words": printable(describe_faults(runs, len(rules)), limit=600),
        "names": [name(condition) for condition in runs],
        "rows": [_row(rule, runs) for rule in rules],
        "opens": not redact,
    }


def _row(rule: Mapping[str, Any], runs: Mapping[str, int]) -> dict[str, Any]:
    counts = [int(rule["runs"].get(condition, 0)) for condition in runs]
    shares = [100 * n / max(int(total), 1) for n, total in zip(counts, runs.values(), strict=True)]
    example = rule["example"]
    return {
        "rule": printable(str(rule["rule"]), limit=60),
        "severity": int(rule["severity"]),
        "meaning": printable(str(rule["meaning"]), limit=200),
        "counts": [f"{n:,} ({share:.0f}%)" for n, share in zip(counts, shares, strict=True)],
        "example": f"{name(example['item'], limit=60)}, run {int(example['run'])} of {name(example['condition'])}",
        "item": printable(str(example["item"]), limit=200),
        "condition": name(example["condition"]),
        "run": int(example["run"]),
    }


def example_items(document: Mapping[str, Any]) -> list[str]:
    """The questions that the table of faults opens, which a page must hold."""
    found = _went_wrong(document) or {}
    return list(dict.fromkeys(str(rule["example"]["item"]) for rule in found.get("rules") or ()))


def _went_wrong(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    floors = (document.get("sections") or {}).get("floors")
    comparison = floors.get("comparison") if isinstance(floors, Mapping) else None
    found = comparison.get("went_wrong") if isinstance(comparison, Mapping) else None
    return found if isinstance(found, Mapping) else None
