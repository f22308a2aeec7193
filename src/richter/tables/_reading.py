"""How a table is read: what each column is, and whether that is known or was inferred.

Known is what a tool's signature, a listed name of a column, an option or a saved reading says. All else is inferred: it
is proposed, with the options that confirm it, and not acted on.
"""

import dataclasses
import fnmatch
import glob
import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from richter.errors import ReadingProposed
from richter.records import printable
from richter.tables._tables import Dataset, ReadOptions
from richter.tables._words import brief, map_option, wide_option

__all__ = ["Reading", "Role", "as_options", "name_again", "options_for", "proposal_of", "saved_entry"]

MAX_LINES = 8
MAX_SHOWN = 4  # names in a line
# steps that are not of a table's layout: what a folder, a file or a sheet stands for, the alphabet, what is left out
FILE_STEPS = (
    "totals", "spellings", "severity-words", "splits", "folders", "file-per-answer", "file-names", "rater-sheets",
    "cp932", "cp949", "gb18030", "cp1251",
)  # fmt: skip
GRADE_WORDS = {"right": 1.0, "wrong": 0.0, "missing": None}
TITLES = {
    "item": "question", "condition": "model", "score": "score", "severity": "severity", "draw": "epoch", "run": "run",
    "confidence": "confidence", "rater": "rater", "human": "human label", "human_severity": "human label",
    "text": "answer", "reference": "answer key", "layout": "layout", "grade": "grades", "better": "better",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """What one or several columns are: the field, how a person would say it, and whether that is known."""

    field: str
    shown: str
    is_known: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How one source is read: its `roles` in order, the columns that are not used, and the options that say the same.

    `options` are those `given` and, for every role that was inferred, the one that names it.
    """

    source: str
    roles: tuple[Role, ...] = ()
    unused: tuple[str, ...] = ()
    given: ReadOptions = dataclasses.field(default_factory=ReadOptions)
    options: ReadOptions = dataclasses.field(default_factory=ReadOptions)

    @property
    def is_known(self) -> bool:
        """Whether nothing of it was inferred."""
        return all(role.is_known for role in self.roles)

    def describe(self) -> tuple[str, ...]:
        """The reading in at most eight lines: a role each, and the columns that are not used."""
        rows = [(TITLES[role.field], role.shown) for role in self.roles]
        if self.unused:
            rows.append(("not used", quoted(self.unused)))
        if len(rows) > MAX_LINES:
            rows = [*rows[: MAX_LINES - 1], ("and", f"{len(rows) - MAX_LINES + 1} more")]
        return tuple(f"  {title:<12} {shown}" for title, shown in rows)


def table_steps(layout: Iterable[str]) -> tuple[str, ...]:
    """The steps of layout that are of a table, without those of its file or folder."""
    return tuple(step for step in layout if step not in FILE_STEPS)


def with_step(reading: Reading | None, step: str, shown: str, given: ReadOptions) -> Reading | None:
    """The reading with a further step of layout, which is known where the options name it."""
    if reading is None:
        return None
    role = Role(field="layout", shown=shown, is_known=step in given.layout)
    options = dataclasses.replace(reading.options, layout=tuple(dict.fromkeys((*reading.options.layout, step))))
    return dataclasses.replace(reading, roles=(*reading.roles, role), options=options)


def quoted(names: Iterable[str]) -> str:
    """Names of columns in quotes; of many the first."""
    names = [f'"{brief(name)}"' for name in names]
    more = f" and {len(names) - MAX_SHOWN} more" if len(names) > MAX_SHOWN else ""
    return ", ".join(names[:MAX_SHOWN]) + more


def proposal_of(reading: Reading) -> ReadingProposed:
    """The exception that proposes a reading, with the options that confirm it."""
    given = as_options(reading.given)
    added = [option for option in as_options(reading.options) if option not in given]
    lines = (f"I would read {printable(reading.source)} like this:", *reading.describe())
    return ReadingProposed(
        "\n".join(lines) + "\n", lines=lines, source=reading.source, options=reading.options, added=tuple(added)
    )


def as_options(reading: ReadOptions) -> list[str]:
    """The options of a reading, each as a shell takes it, for a command that is advised."""
    ends = {"scale": reading.scale, "as-severity": reading.as_severity}
    single = {"better": reading.better, "ratings": reading.ratings, "scorer": reading.scorer, "filter": reading.filter,
              "pass-at": reading.pass_at, "layout": ",".join(reading.layout) or None}  # fmt: skip
    return [
        *(map_option(field, column) for field, column in reading.map.items()),
        *(map_option(f, c) for f, c in (("weight", reading.weight), ("macro", reading.macro)) if c is not None),
        *(f"--{name} {low:g}:{high:g}" for name, (low, high) in ((n, e) for n, e in ends.items() if e)),
        *(f"--{name} {shlex.quote(str(value))}" for name, value in single.items() if value is not None),
        *(f"--grade {shlex.quote(f'{word}={means}')}" for word, means in _grade_words(reading.grade).items()),
        *([] if reading.wide is None else [wide_option(reading.wide) if reading.wide else "--wide all"]),
        *(["--yes"] if reading.confirm else []),
    ]


def name_again(dataset: Dataset) -> str:
    """How a command names these data and reads them the same way; empty for data that no file holds."""
    if not dataset.places:
        return ""
    names = {place: name for name, place in dataset.named_places.items()}
    given = [f"{names[place]}={place}" if place in names else str(place) for place in dataset.places]
    return " ".join([*(shlex.quote(text) for text in given), *as_options(dataset.options)])


def _grade_words(grade: Mapping[str, float | None]) -> dict[str, str]:
    words = {value: word for word, value in GRADE_WORDS.items()}
    return {word: words.get(value, f"{value:g}" if value is not None else "") for word, value in grade.items()}


# ------------------------------------------------------------------ saved readings


def options_for(source: str | Path, options: ReadOptions) -> ReadOptions:
    """The options of one source: those given, and for what they leave open those saved for its name."""
    path = Path(str(source))
    names = (str(path), path.name)
    patterns = [p for p in options.saved if p in names or any(fnmatch.fnmatchcase(name, p) for name in names)]
    if not patterns:
        return options
    saved, usual = options.saved[patterns[0]], ReadOptions()
    fields = [f.name for f in dataclasses.fields(ReadOptions) if f.compare]
    open_fields = {name: getattr(saved, name) for name in fields if getattr(options, name) == getattr(usual, name)}
    merged = {name: {**getattr(saved, name), **getattr(options, name)} for name in ("map", "grade")}
    return dataclasses.replace(options, **open_fields | merged, settings=(*options.settings, *saved.settings))


def saved_entry(source: str | Path, options: ReadOptions) -> str:
    """The entry of `richter.toml` that saves these options for a file of this name."""
    usual = ReadOptions()
    values = {f.name: getattr(options, f.name) for f in dataclasses.fields(ReadOptions) if f.compare}
    lines = [f"{name} = {_toml(name, value)}" for name, value in values.items() if value != getattr(usual, name)]
    return "\n".join([f"[read.{_text(glob.escape(Path(str(source)).name))}]", *lines]) + "\n"


def _toml(name: str, value: object) -> str:
    if name in ("scale", "as_severity"):
        low, high = cast("tuple[float, float]", value)
        return _text(f"{low:g}:{high:g}")
    if name == "grade":
        value = _grade_words(value)  # type: ignore[arg-type]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(k)} = {_toml('', v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml("", v) for v in value) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
