"""Where agents went wrong, for the page: the table of faults, and the steps of a few runs as a timeline.

Everything is text of others: it is passed on without control characters, cut, and escaped by the template.
"""

from collections.abc import Mapping
from typing import Any

from richter.records import printable
from richter.store import RunLike
from richter.tables import Dataset
from richter.words._numbers import name

MAX_TIMELINES = 6
MAX_SHOWN_STEPS = 40  # of a run: its first ones, and those around the fault
SHOWN_TEXT = 300  # characters of one argument list or result


def faults_section(
    document: Mapping[str, Any], run: RunLike | Dataset | None, *, redact: bool = False
) -> dict[str, Any] | None:
    """The table and the timelines; None where no answer has steps. Timelines need the tables, and are not redacted."""
    floors = (document.get("sections") or {}).get("floors")
    comparison = floors.get("comparison") if isinstance(floors, Mapping) else None
    found = comparison.get("went_wrong") if isinstance(comparison, Mapping) else None
    if not isinstance(found, Mapping):
        return None
    from richter.words import describe_faults  # only where there are steps

    runs, rules = found.get("runs") or {}, found.get("rules") or []
    timelines = [] if redact or not isinstance(run, Dataset) else _timelines(rules, run)
    return {
        "words": printable(describe_faults(runs, len(rules)), limit=600),
        "names": [name(condition) for condition in runs],
        "rows": [_row(rule, runs) for rule in rules],
        "timelines": timelines,
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
    }


def _timelines(rules: list[Mapping[str, Any]], tables: Dataset) -> list[dict[str, Any]]:
    """The steps of the runs that are the rules' examples, each run once."""
    from richter.tables import trajectory_of

    marks: dict[tuple[str, str, int], dict[int, list[str]]] = {}
    for rule in rules:
        example = rule["example"]
        key = (str(example["item"]), str(example["condition"]), int(example["run"]) - 1)
        marks.setdefault(key, {}).setdefault(int(example["step"]), []).append(str(rule["rule"]))
    found = []
    for (item, condition, draw), faults in list(marks.items())[:MAX_TIMELINES]:
        trajectory = trajectory_of(tables, item, condition, draw)
        if trajectory is None:
            continue
        places = _shown_places(len(trajectory.steps), faults)
        found.append({
            "title": f"{name(item, limit=60)}, run {draw + 1} of {name(condition)}",
            "steps": [_step(trajectory.steps[place - 1], place, faults.get(place, [])) for place in places],
            "left": len(trajectory.steps) - len(places),
        })  # fmt: skip
    return found


def _shown_places(n: int, faults: Mapping[int, Any]) -> list[int]:
    """The places of the steps that are shown: all of a short run, else the first and those up to a fault."""
    near = {k for place in faults for k in range(place - 3, place + 2)}
    first = range(1, max(MAX_SHOWN_STEPS - len(near), 1) + 1)
    return sorted(k for k in {*first, *near} if 1 <= k <= n)


def _step(step: Any, place: int, faults: list[str]) -> dict[str, Any]:
    from richter.words import describe_step

    return {
        "place": place,
        "words": printable(describe_step(step.role, step.tool, error=step.error), limit=80),
        "arguments": printable(step.arguments, limit=SHOWN_TEXT),
        "result": printable(step.error or step.result, limit=SHOWN_TEXT),
        "faults": [printable(fault, limit=60) for fault in faults],
    }
