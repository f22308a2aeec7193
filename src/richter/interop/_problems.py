"""What is wrong with what was read, in sentences, and what to do with it next."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from richter.interop._logs import Logs, Row
from richter.records import counted, printable

__all__ = ["agreeing_totals", "describe_interrupted", "next_command", "problems"]

ALIKE = 6e-4  # totals are printed to three decimals
SURE_ALIKE = 30  # answers from which a confidence that never changes is worth a word


def problems(logs: Logs) -> list[str]:
    """Failed calls, answers without a grade, constant confidences, missing items and references, broken-off files."""
    return [*_of_files(logs), *_of_totals(logs), *_of_items(logs), *_of_conditions(logs)]


def describe_interrupted(name: str, reason: str) -> str:
    """That a log was not finished, with the reason."""
    return f"{printable(name, limit=60)} was interrupted ({printable(reason, limit=160)}); what it holds is kept."


def _of_files(logs: Logs) -> Iterator[str]:
    found = Counter(row.file for row in logs.rows)
    for k, reading in enumerate(logs.readings):
        name = printable(reading.path.name, limit=60)
        if reading.interrupted:
            yield describe_interrupted(reading.path.name, reading.interrupted)
        if reading.expected is not None and found[k] < reading.expected:
            yield f"{name} holds {found[k]:,} of the {counted(reading.expected, 'answer')} it set out to get."
        yield from (f"{name}: {printable(note)}" for note in reading.notes)


def own_totals(logs: Logs) -> Iterator[tuple[str, str, float, float, int]]:
    """Of each file whose tool counted for itself: its name, the scorer, the tool's mean, ours, and our answers."""
    by_file: dict[int, list[Row]] = defaultdict(list)
    for row in logs.rows:
        by_file[row.file].append(row)
    for k, reading in enumerate(logs.readings):
        scorer = next((r.scorer for r in by_file[k]), reading.scorer)
        values = [v for r in by_file[k] if not r.sample.error and (v := r.sample.scores.get(scorer)) is not None]
        if scorer in reading.totals and values:
            name = _name_of_file(reading.path, logs)
            yield name, scorer, reading.totals[scorer], sum(values) / len(values), len(values)


def _name_of_file(path: Path, logs: Logs) -> str:
    """A file's name, with its folder's where several files have it."""
    is_unique = sum(reading.path.name == path.name for reading in logs.readings) == 1
    return path.name if is_unique else f"{path.parent.name}/{path.name}"


def agreeing_totals(logs: Logs) -> list[str]:
    """One line on the files where the tool's own total is ours."""
    same = [(name, own) for name, _, own, ours, _ in own_totals(logs) if abs(own - ours) <= ALIKE]
    shown = ", ".join(f"{printable(name, limit=40)} {own:.4g}" for name, own in same[:4]) + ", …" * (len(same) > 4)
    return [f"the tool's own total is the same: {shown}"] if same else []


def _of_totals(logs: Logs) -> Iterator[str]:
    for name, scorer, own, ours, n in own_totals(logs):
        if abs(own - ours) > ALIKE:
            yield (
                f"{printable(name, limit=60)}: the tool's own total ({printable(scorer, limit=40)}) is {own:.4g}, ours "
                f"{ours:.4g} on {counted(n, 'graded answer')}; it may count failed calls or weight items otherwise."
            )


def _of_items(logs: Logs) -> Iterator[str]:
    bare = sum(not item.reference for item in logs.items.values())
    if bare:
        yield f"{bare:,} of {len(logs.items):,} items have no reference answer: they cannot be graded again."


def _of_conditions(logs: Logs) -> Iterator[str]:
    """What looks wrong in the answers of each condition."""
    by_condition: dict[str, list[Row]] = defaultdict(list)
    of_task: dict[str, set[str]] = defaultdict(set)
    for row in logs.rows:
        by_condition[row.condition].append(row)
        of_task[row.sample.task].add(row.item)
    for name, rows in by_condition.items():
        expected = len(set[str]().union(*(of_task[task] for task in {r.sample.task for r in rows})))
        missing = expected - len({r.item for r in rows})
        found = [*_of_calls(rows), *_of_grades(rows), *_of_values(rows)]
        found += [f"{missing:,} of {expected:,} items are missing."] if missing else []
        yield from (f"{printable(name, limit=60)}: {problem}" for problem in found)


def _of_calls(rows: Sequence[Row]) -> Iterator[str]:
    failed = [r for r in rows if r.sample.error]
    if failed:
        reason = printable(failed[0].sample.error, limit=80)
        yield f"{len(failed):,} of {len(rows):,} calls failed ({reason}); they are never graded as wrong."


def _of_grades(rows: Sequence[Row]) -> Iterator[str]:
    came = [r for r in rows if not r.sample.error]
    graded = [r for r in came if r.correct is not None]
    bare = [r for r in came if r.correct is None and r.sample.scores.get(r.scorer) is None]
    if bare:
        yield f"{len(bare):,} of {len(rows):,} answers have no grade."
    is_alike = len({r.sample.scores.get(r.scorer) for r in graded}) == 1  # partial scores are not all wrong
    if len(graded) >= SURE_ALIKE and is_alike:
        word = "right" if graded[0].correct else "wrong"
        count = counted(len(graded), "graded answer is", "graded answers are")
        yield f"all {count} {word}; was the answer extracted well?"


def _of_values(rows: Sequence[Row]) -> Iterator[str]:
    came = [r for r in rows if not r.sample.error]
    sure = [next(iter(r.sample.confidences.values())) for r in rows if r.sample.confidences]
    if len(sure) >= SURE_ALIKE and len(set(sure)) == 1:
        yield f"all {counted(len(sure), 'confidence is', 'confidences are')} {sure[0]:g}: they tell nothing."
    empty = sum(not r.sample.answer for r in came)
    if empty and empty < len(came):
        yield f"{empty:,} of {len(rows):,} answers are empty."
    graded = [r for r in came if r.correct is not None and r.severity is None]
    between = sum(0 < (r.sample.scores.get(r.scorer) or 0) < 1 for r in graded)
    if between:
        yield (
            f"{between:,} of {len(rows):,} answers have a score between 0 and 1 ({printable(rows[0].scorer)}): "
            "--pass-at 0.5 makes each right or wrong."
        )


def next_command(logs: Logs, target: str) -> str:
    """The command that fits what was read: `target` is the run where it is kept, else the file itself."""
    target = shlex.quote(target)
    names = list(logs.conditions)
    if all(row.sample.error for row in logs.rows):
        return "run the eval again: every call failed"
    if all(row.correct is None for row in logs.rows):
        return f"richter audit --only judge {target}"
    if any(row.severity is not None for row in logs.rows) and len(names) == 1:
        return f"richter severity {target}"
    if len(names) == 2:
        return f"richter compare {target} {shlex.quote(names[0])} {shlex.quote(names[1])}"
    if len(names) > 2:
        return f"richter compare {target}"
    if any(row.sample.draw for row in logs.rows) or any(row.sample.confidences for row in logs.rows):
        return f"richter calibration {target}"
    return f"richter size calibration {target}"
