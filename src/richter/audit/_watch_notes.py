"""What a series says beside its measures: items that all entries have, gaps, and what the runs record as changed."""

import datetime
import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from richter.audit._watch_days import Day
from richter.claims import measure_words
from richter.records import counted, printable

JUDGE = "judge"  # the series of fixed answers that judges rated anew


def noun_of(metric: str) -> str:
    """What a series is called."""
    return "judges' severity of fixed answers" if metric == JUDGE else measure_words(metric).noun


def shared_items(days: Sequence[Day]) -> tuple[set[str] | None, list[str], list[Day]]:
    """The items that every day has (None: each has its own), what is to be said, and the days that count."""
    sets = [set(d.values["item"].to_list()) for d in days]
    sizes = np.array([len(s) for s in sets])
    typical = float(np.median(sizes))
    small = [d.at for d, n in zip(days, sizes, strict=True) if n < typical / 2]
    kept = [(d, s) for d, s in zip(days, sets, strict=True) if len(s) >= typical / 2]
    said = [f"entries with fewer than half of the usual questions are left out: {', '.join(small)}"] if small else []
    common = set.intersection(*(s for _, s in kept))
    if len(common) >= typical / 2:
        left = max(len(s) for _, s in kept) - len(common)
        if left:
            said.append(
                f"the questions changed: {len(common):,} that all entries have are watched, up to {left:,} are not"
            )
        return common, said, [d for d, _ in kept]
    said.append("each entry has questions of its own, so some of the spread is how hard they are")
    return None, said, [d for d, _ in kept]


def step_of(days: Sequence[Day]) -> str:
    """What an entry is: by the usual time between two of them."""
    at = [datetime.datetime.fromisoformat(day.at) for day in days]
    apart = sorted((two - one) / datetime.timedelta(days=1) for one, two in itertools.pairwise(at))
    usual = apart[len(apart) // 2] if apart else 1.0
    known = (("day", 0.5, 1.9), ("week", 6, 8), ("month", 27, 32))
    return next((name for name, low, high in known if low < usual < high), "run")


def describe_gaps(days: Sequence[Day]) -> list[str]:
    """What is to be said of days on which nothing ran, and of entries without the fixed answers that others have."""
    said = []
    at = [datetime.datetime.fromisoformat(day.at) for day in days]
    steps = [two - one for one, two in itertools.pairwise(at)]
    usual = max(sorted(steps)[len(steps) // 2], datetime.timedelta(days=1)) if steps else datetime.timedelta(0)
    wide = [k for k, step in enumerate(steps) if step >= 2 * usual]
    if wide:
        longest = max(wide, key=lambda k: steps[k])
        said.append(
            f"the series has {counted(len(wide), 'gap')}, the longest from {days[longest].at} to "
            f"{days[longest + 1].at}: missing days do not count"
        )
    bare = [day.at for day in days if not day.judge]
    if days[0].judged and 0 < len(bare) < len(days):
        said.append(f"left out of judged measures, since the fixed answers are missing: {', '.join(bare)}")
    return said


def data_notes(days: Sequence[Day]) -> list[str]:
    """What is to be said of the entries' data: their own notes, and the measures that a check blocks."""
    notes = list(dict.fromkeys(note for day in days for note in day.notes))
    for measure in dict.fromkeys(m for day in days for m in day.blocked):
        at = [day.at for day in days if measure in day.blocked]
        reason = next(day.blocked[measure].reason for day in days if measure in day.blocked)
        notes.append(f"{noun_of(measure)} is not taken from {', '.join(at[:3])}{', …' * (len(at) > 3)}: {reason}")
    return notes


def recorded_changes(days: Sequence[Day]) -> list[str]:
    """What the runs themselves say has changed: model and settings, judge, rubric, questions."""
    names = dict.fromkeys(name for day in days for name in day.made)
    return [*(line for name in names for line in _changes_of(name, days)), *_item_changes(days)]


def _changes_of(name: str, days: Sequence[Day]) -> Iterator[str]:
    """When one of the settings changed, and from what to what."""
    for one, two in itertools.pairwise(day for day in days if name in day.made):
        if one.made[name] != two.made[name]:
            a, b = (printable(day.made[name], limit=120) or "none" for day in (one, two))
            yield f"the {name} changed on {two.at}: {a} -> {b}"


def _item_changes(days: Sequence[Day]) -> Iterator[str]:
    """When items came or went while others stayed."""
    items = [set(d.values["item"].to_list()) for d in days]
    for (before, after), day in zip(itertools.pairwise(items), days[1:], strict=True):
        new, gone = len(after - before), len(before - after)
        if (new or gone) and after & before:
            yield f"the questions changed on {day.at}: {new:,} new, {gone:,} gone"
