"""Logs of any known format as one set of items, conditions and answers, with what was not read counted."""

import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.interop._files import named_source
from richter.interop._recognise import Format, recognise
from richter.interop._record import LogOptions, Reading, Sample, Setup
from richter.interop._safe import Unreadable
from richter.records import Item, counted, printable

__all__ = ["Logs", "Row", "distinct_stems", "is_severity", "log_files", "logs_summary", "read_logs"]

FILES_LIMIT = 20_000  # of a folder
DRAWS_LIMIT = 1_000_000
TEXT_FROM = 1 << 27  # characters of all questions and answers of a file, and over the file's size
TEXT_RATIO_LIMIT = 20
TOP = 4.0  # the worst severity
_SHOWN = 60  # characters of a setting in a condition's name


@dataclasses.dataclass(slots=True, kw_only=True)
class Row:
    """An answer with the condition it belongs to and its item's name in the whole."""

    condition: str
    item: str
    sample: Sample
    file: int  # which of the readings it came from
    scorer: str  # the one that grades it
    correct: bool | None = None
    severity: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """What was read: files, conditions by name, items by name, and answers."""

    readings: tuple[Reading, ...]
    conditions: Mapping[str, Setup]
    items: Mapping[str, Item]
    rows: Sequence[Row]
    not_logs: int = 0

    @property
    def unread(self) -> Counter[str]:
        """What could not be read, by reason, over all files."""
        return sum((r.unread for r in self.readings), Counter())


def log_files(path: Path) -> list[Path]:
    """The logs of a folder, or the one file."""
    return [file for file in _files(path)[0] if _recognise_in(path, file) is not None]


def read_logs(sources: Sequence[str | Path], *, options: LogOptions | None = None) -> Logs:
    """Read logs and folders of them, each perhaps as `NAME=PATH`, which names the file's one condition.

    Two setups of one model become two conditions named by what differs; what differs in nothing that a log states is
    told apart by its file. Items of several tasks carry their task's name.
    """
    options = options or LogOptions()
    contents = _Contents()
    for source in sources:
        _read_source(source, contents, options)
    if not contents.readings:
        raise InputError(
            f"{sources[0]} is not a run, and holds no log of a known format.", remedy="See `richter import --help`."
        )
    if not contents.samples:
        raise _no_answer_error(sources, contents.readings)
    return _assemble(contents, options)


@dataclasses.dataclass(slots=True)
class _Contents:
    """What the files hold, before it is one set: a sample is beside the place of its file among the readings."""

    readings: list[Reading] = dataclasses.field(default_factory=list)
    samples: list[tuple[int, Sample]] = dataclasses.field(default_factory=list)
    names: dict[int, str] = dataclasses.field(default_factory=dict)  # which the user gave, by the file's place
    not_logs: int = 0


def _read_source(source: str | Path, contents: _Contents, options: LogOptions) -> None:
    """Add the logs of a file or folder to the contents."""
    name, path = named_source(source)
    files, n_empty = _files(path)
    contents.not_logs += n_empty
    for file in files:
        log_format = _recognise_in(path, file)
        if log_format is None:
            contents.not_logs += 1
            continue
        reading = Reading(path=file, format=log_format.name, options=options)
        samples = _read_all(log_format.read(file, reading), reading, alone=not path.is_dir())
        place = len(contents.readings)
        if name is not None:
            contents.names[place] = name
        contents.samples += [(place, s) for s in samples]
        contents.readings.append(reading)


def _no_answer_error(sources: Sequence[str | Path], readings: Iterable[Reading]) -> InputError:
    what = ", ".join(str(s) for s in sources[:3])
    unread = sum((r.unread for r in readings), Counter[str]())
    why = f" Not read: {', '.join(f'{n} x {reason}' for reason, n in unread.most_common(3))}." if unread else ""
    return InputError(
        f"{what}: no answer could be read.{why}", remedy="`richter import --dry-run` says what a file is."
    )


def _files(path: Path) -> tuple[list[Path], int]:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder.", remedy="Check the path.")
    if not path.is_dir():
        return [path], 0
    files = sorted(p for p in path.rglob("*") if p.is_file() and not any(part.startswith(".") for part in p.parts))
    if len(files) > FILES_LIMIT:
        raise InputError(f"{path} holds {counted(len(files), 'file')}.", remedy="Name the logs, or a smaller folder.")
    return [f for f in files if f.stat().st_size], sum(not f.stat().st_size for f in files)


def _recognise_in(path: Path, file: Path) -> Format | None:
    """The format of a file; one that was named must have one, one found in a folder need not."""
    try:
        found = recognise(file)
    except InputError:
        if path.is_dir():
            return None
        raise
    if found is None and not path.is_dir():
        raise InputError(
            f"{file} is not a log of a known format.", remedy="A table is read as it is: richter compare FILE"
        )
    return found


def _read_all(samples: Iterable[Sample], reading: Reading, *, alone: bool) -> list[Sample]:
    """What a file holds. One that cannot be read at all is an error if it was named, and counted in a folder."""
    try:
        return list(_within_memory(samples, reading.path))
    except (Unreadable, InputError) as error:
        if not alone:
            reading.unread[f"file: {error}"] += 1
            return []
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{reading.path} ({reading.format}) cannot be read: {error}.", remedy="Get the file from its source again."
        ) from error


def _within_memory(samples: Iterable[Sample], path: Path) -> Iterator[Sample]:
    """The same, until they hold more text than a file of this size has any business to."""
    room = max(TEXT_FROM, TEXT_RATIO_LIMIT * path.stat().st_size)
    for sample in samples:
        room -= len(sample.prompt) + len(sample.answer)
        if room < 0:
            raise InputError(
                f"{path} unpacks to more than {TEXT_RATIO_LIMIT} times its size in text.",
                remedy="It is not read further: an archive made to exhaust a machine does that.",
            )
        yield sample


def _assemble(contents: _Contents, options: LogOptions) -> Logs:
    """The logs as one set: an answer whose item, draw or place among the others is impossible is counted as unread."""
    readings, samples = contents.readings, contents.samples
    names = _name_conditions(readings, samples, contents.names)
    tasks = {s.task for _, s in samples}
    chosen = _choose_scorers(readings, samples, options)
    items: dict[str, Item] = {}
    rows: list[Row] = []
    seen: set[tuple[str, str, int]] = set()
    drawn: Counter[tuple[str, str]] = Counter()
    for k, sample in samples:
        item = f"{sample.task}/{sample.item}" if len(tasks) > 1 and sample.task else sample.item
        condition = names[k, sample.setup]
        if not _register(items, item, sample, readings[k], many=len(tasks) > 1):
            continue
        if sample.draw is None:
            sample.draw = drawn[condition, item]
            drawn[condition, item] += 1
        if fault := _draw_fault(sample.draw, is_repeated=(condition, item, sample.draw) in seen):
            readings[k].unread[fault] += 1
            continue
        seen.add((condition, item, sample.draw))
        row = Row(condition=condition, item=item, sample=sample, file=k, scorer=chosen[k])
        if not sample.error:
            _grade(row, options, readings[k])
        rows.append(row)
    _complete_steps(rows)
    conditions = {names[k, s.setup]: s.setup for k, s in samples}
    return Logs(readings=tuple(readings), conditions=conditions, items=items, rows=rows, not_logs=contents.not_logs)


def _draw_fault(draw: int, *, is_repeated: bool) -> str:
    """Why an answer is not taken at its draw; empty where it is."""
    if not 0 <= draw < DRAWS_LIMIT:
        return "answer: its draw has an impossible number"
    return "answer: repeats one already read" if is_repeated else ""


def _complete_steps(rows: Sequence[Row]) -> None:
    """Count an answer without a call as one step, where it stands beside agents' runs."""
    if any(row.sample.steps for row in rows):
        for row in rows:
            row.sample.steps, row.sample.failed_calls = row.sample.steps or 1, row.sample.failed_calls or 0


def _choose_scorers(
    readings: Sequence[Reading], samples: Iterable[tuple[int, Sample]], options: LogOptions
) -> list[str]:
    """The scorer that grades each file."""
    counts: list[Counter[str]] = [Counter() for _ in readings]
    for k, sample in samples:
        counts[k].update(sample.scores.keys())
    return [_choose_scorer(*pair, options) for pair in zip(readings, counts, strict=True)]


def _register(items: dict[str, Item], name: str, sample: Sample, reading: Reading, *, many: bool) -> bool:
    """Keep the item, or say that its name already means another question. The sample's own copy is let go."""
    reference, aliases = (sample.references[0], sample.references[1:]) if sample.references else ("", ())
    known = items.get(name)
    if known is None:
        items[name] = Item(
            id=name,
            prompt=sample.prompt,
            reference=reference,
            aliases=aliases,
            options=sample.options,
            domain=sample.domain or (sample.task if many else ""),
            source=f"{reading.format}, {sample.task}" if sample.task else reading.format,
        )
    elif reference and known.reference and reference != known.reference:
        reading.unread["answer: its item's name stands for another reference elsewhere"] += 1
        return False
    sample.prompt, sample.references, sample.options = "", (), ()
    return True


def _choose_scorer(reading: Reading, counts: Counter[str], options: LogOptions) -> str:
    """The scorer that grades a file: the user's, else the log's own first; a part of it where it has several."""
    if options.scorer is not None:
        match = [n for n in counts if n == options.scorer] or [n for n in counts if n.startswith(f"{options.scorer}/")]
        if not match:
            raise InputError(
                f"{reading.path} has no scorer {options.scorer!r}.",
                remedy=f"It has {', '.join(printable(n) for n in counts) or 'none'}.",
            )
        return match[0]
    if reading.scorer in counts or not counts:
        return reading.scorer
    parts = [n for n in counts if n.startswith(f"{reading.scorer}/")] if reading.scorer else []
    first = parts or list(counts)
    preferred = [n for n in first if n.split("/")[-1].lower() in ("accuracy", "correct", "correctness", "score")]
    return (preferred or first)[0]


def _grade(row: Row, options: LogOptions, reading: Reading) -> None:
    """Right or wrong, or how bad, by the chosen scorer; a value off its scale is refused."""
    scorer = row.scorer
    value = row.sample.scores.get(scorer)
    if value is None:
        return
    if options.scale is not None:
        row.severity = severity_on(options.scale, value, reading, scorer)
        row.correct = row.severity == 0
    elif is_severity(scorer):
        row.severity = severity_on((0.0, TOP), value, reading, scorer)
        row.correct = row.severity == 0
    else:
        row.correct = right(value, options.pass_at)  # None off 0 to 1: a score of its own scale


def is_severity(scorer: str) -> bool:
    """Whether a scorer says by its name that it gives severities from 0 to 4."""
    return scorer.lower().replace("-", "_").split("/")[0].split("_")[-1] == "severity"


def right(value: float, pass_at: float) -> bool | None:
    """Whether a score between 0 and 1 counts as right; None off that scale."""
    if not 0 <= value <= 1:
        return None
    return value >= pass_at if 0 < value < 1 else value == 1


def severity_on(scale: tuple[float, float], value: float, reading: Reading, scorer: str) -> float:
    """A value on a scale from right to worst as a severity from 0 to 4."""
    low, high = scale
    severity = (value - low) * TOP / (high - low)
    if not -1e-9 <= severity <= TOP + 1e-9 or math.isnan(severity):
        raise InputError(
            f"{reading.path}: the scorer {printable(scorer)!r} gives {value:g}, off the scale {low:g}:{high:g}.",
            remedy="Give --as-severity RIGHT:WORST so that it holds all of its values.",
        )
    return min(max(severity, 0.0), TOP)


def _name_conditions(
    readings: list[Reading], found: list[tuple[int, Sample]], given: Mapping[int, str]
) -> dict[tuple[int, Setup], str]:
    """A name for each setup of each file: the model, what differs where it has several, the file if nothing does."""
    tasks: dict[tuple[int, Setup], set[str]] = defaultdict(set)
    for k, sample in found:
        tasks[k, sample.setup].add(sample.task)
    _refuse_several(readings, given, tasks)
    names = {(k, setup): given[k] for k, setup in tasks if k in given}
    by_model: dict[str, list[tuple[int, Setup]]] = defaultdict(list)
    for k, setup in tasks:
        if k not in given:
            by_model[setup.model].append((k, setup))
    for group in by_model.values():
        names |= _name_setups(readings, group, tasks)
    return _apart(names, clashing=len(given) == 0)


def distinct_stems(files: Sequence[Path]) -> dict[Path, str]:
    """A name for each file or folder: its own, else the parts of its path in which it differs from the others."""
    plain = {f: f.name if f.is_dir() else f.stem for f in files}
    if len({*plain.values()}) == len(plain):
        return plain
    parts = [(*f.absolute().parent.parts, plain[f]) for f in files]
    deep = max(map(len, parts))
    shared = next(k for k in range(deep) if len({own[k : k + 1] for own in parts}) > 1)
    padded = [("",) * (deep - len(own)) + own[shared:] for own in parts]
    differing = [level for level in zip(*padded, strict=True) if len({*level}) > 1]
    return {f: "/".join(filter(None, own)) for f, own in zip(files, zip(*differing, strict=True), strict=True)}


def _name_setups(
    readings: Sequence[Reading], group: Sequence[tuple[int, Setup]], tasks: Mapping[tuple[int, Setup], set[str]]
) -> dict[tuple[int, Setup], str]:
    """A name for each setup of one model in each file."""
    names = {}
    labels = _differences(list(dict.fromkeys(setup for _, setup in group)))
    stems = distinct_stems(list(dict.fromkeys(readings[k].path for k, _ in group)))
    for k, setup in group:
        shared = [task for at, other in group if other == setup for task in tasks[at, setup]]
        is_repeated = len(shared) > len(set(shared))  # the same task twice: not parts of one condition
        stem = stems[readings[k].path][-60:] if is_repeated else ""
        names[k, setup] = _condition_name(setup.model, [part for part in (labels[setup], stem) if part])
    return names


def _refuse_several(readings: list[Reading], given: Mapping[int, str], setups: Iterable[tuple[int, Setup]]) -> None:
    """Refuse one name for a file of several conditions."""
    counts = Counter(k for k, _ in setups)
    for k, name in given.items():
        if counts[k] > 1:
            raise InputError(
                f"{readings[k].path} holds {counted(counts[k], 'condition')}, "
                f"so it cannot be called {printable(name)}.",
                remedy="Import it without a name.",
            )


def _condition_name(model: str, parts: Sequence[str]) -> str:
    own = ", ".join(parts)
    return model if not parts else own if model == "unknown model" else f"{model} ({own})"


def _differences(setups: list[Setup]) -> dict[Setup, str]:
    """What tells the setups of a model apart, in words."""
    if len(setups) == 1:
        return {setups[0]: ""}
    keys = list(dict.fromkeys(key for s in setups for key, _ in s.settings))
    settings = {s: dict(s.settings) for s in setups}
    differing = [key for key in keys if len({settings[s].get(key) for s in setups}) > 1]
    return {
        s: ", ".join(f"{key} {printable(settings[s].get(key, '') or 'not set', limit=_SHOWN)}" for key in differing)
        for s in setups
    }


def _apart(names: dict[tuple[int, Setup], str], *, clashing: bool) -> dict[tuple[int, Setup], str]:
    """The same names, numbered where two different setups came out alike."""
    if not clashing:
        return names
    owners: dict[str, list[Setup]] = defaultdict(list)
    for (_, setup), name in names.items():
        if setup not in owners[name]:
            owners[name].append(setup)
    return {
        (k, setup): name if owners[name].index(setup) == 0 else f"{name} #{owners[name].index(setup) + 1}"
        for (k, setup), name in names.items()
    }


def logs_summary(logs: Logs) -> dict[str, Any]:
    """Counts for people and machines."""
    by_condition: dict[str, list[Row]] = {name: [] for name in logs.conditions}
    for row in logs.rows:
        by_condition[row.condition].append(row)
    return {
        "files": [r.to_dict() for r in logs.readings],
        "items": len(logs.items),
        "conditions": {name: _condition_summary(s, by_condition[name]) for name, s in logs.conditions.items()},
        "unread": dict(logs.unread),
        "not_logs": logs.not_logs,
    }


def _condition_summary(setup: Setup, rows: Sequence[Row]) -> dict[str, Any]:
    """What a condition is, and counts of its answers."""
    return {
        "model": setup.model,
        "settings": dict(setup.settings),
        "scorer": "+".join(dict.fromkeys(r.scorer for r in rows if r.scorer)),
        "answers": len(rows),
        "items": len({r.item for r in rows}),
        "draws": 1 + max((r.sample.draw or 0 for r in rows), default=0),
        "failed": sum(bool(r.sample.error) for r in rows),
        "unscored": sum(r.correct is None and not r.sample.error for r in rows),
        "right": sum(r.correct is True for r in rows),
        "wrong": sum(r.correct is False for r in rows),
        "with_confidence": sum(bool(r.sample.confidences) for r in rows),
        "with_severity": sum(r.severity is not None for r in rows),
    }
