"""The one border to what is written and shown: results as plain values by their types, their JSON schema, and texts.

Model output is untrusted: it is made harmless before a person's terminal, a log or a pull request shows it.
"""

import collections.abc as abc
import dataclasses
import enum
import json
import math
import os
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

__all__ = [
    "Note",
    "Result",
    "counted",
    "distinct_names",
    "is_utf8",
    "json_text",
    "markdown_safe",
    "of_kind",
    "plain",
    "printable",
    "schema_of",
    "sparkline",
]


class Note(str):
    """A line for the reader that also says its `kind`, by which programs find it or leave it out; written as text.

    `written` is the text that documents hold, where a reader in Python gets another.
    """

    __slots__ = ("kind", "written")
    kind: str
    written: str

    def __new__(cls, text: str, kind: str, *, written: str | None = None) -> "Note":
        note = super().__new__(cls, text)
        note.kind, note.written = kind, str(note) if written is None else written
        return note

    def __reduce__(self) -> tuple[Any, ...]:
        return _note_again, (str(self), self.kind, self.written)


def _note_again(text: str, kind: str, written: str) -> Note:
    return Note(text, kind, written=written)


def of_kind(notes: Iterable[str], kind: str) -> list[str]:
    """The notes of one kind.

    >>> of_kind(["one", Note("two", "scale")], "scale")
    ['two']
    """
    return [note for note in notes if isinstance(note, Note) and note.kind == kind]


HOW_WRITTEN = frozenset({"derived", "unwritten", "flat", "keyed", "named", "schema", "always"})


class Result:
    """A result that can be written: a frozen dataclass with `to_dict()`, made from its fields by `plain`.

    `derived` names properties that are written beside the fields, `unwritten` fields that are not, `flat` fields whose
    own rows are written in the place of theirs, `keyed` fields whose parts are written as an object by an attribute of
    theirs, and `named` what is written under another name. A document says its `schema`. Where `always` is given,
    other fields are written only where they are set, so that a new optional field leaves old hashes valid.
    """

    __slots__ = ()
    derived: ClassVar[tuple[str, ...]] = ()
    unwritten: ClassVar[tuple[str, ...]] = ()
    flat: ClassVar[tuple[str, ...]] = ()
    keyed: ClassVar[Mapping[str, str]] = {}
    named: ClassVar[Mapping[str, str]] = {}
    schema: ClassVar[str] = ""
    always: ClassVar[tuple[str, ...] | None] = None

    def __dir__(self) -> list[str]:
        """What a user looks for; how a result is written is left out."""
        return [name for name in super().__dir__() if name not in HOW_WRITTEN]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        row: dict[str, Any] = plain(self)
        return row

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    def to_frame(self, *, pandas: bool = False) -> Any:
        """A frame of one row, of polars or with `pandas` of pandas: the numbers and words of the result itself."""
        row = {name: value for name, value in self.to_dict().items() if not isinstance(value, dict | list)}
        frame = import_module("polars").DataFrame([row])  # when it is asked for: what measures does not need it
        return as_pandas(frame) if pandas else frame


def as_pandas(frame: Any) -> Any:
    """A polars frame as one of pandas, which must be installed."""
    return import_module("pandas").DataFrame(frame.to_dict(as_series=False))


def plain(value: Any) -> Any:
    """A result (dataclass, array, mapping, enum, any nesting) as values that strict JSON can hold.

    Numpy scalars and arrays become numbers and lists, functions their names. Undefined and infinite numbers become
    None: JSON has no word for either, and a reader must be able to tell "not known" from a number.
    """
    kind = type(value)
    form = _FORM_OF.get(kind)
    if form is None:
        form = next((to_plain for kinds, to_plain in _FORMS if issubclass(kind, kinds)), _plain_object)
        _FORM_OF[kind] = form
    return form(value)


def _plain_object(value: Any) -> Any:
    """What is known by its attributes and not by its type: a dataclass, numpy's numbers, a function."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    return {k if isinstance(k, str) else _key(k): plain(v) for k, v in value.items()}


# the first that fits; an enumeration may be an int or a str too, and numpy's floats and texts are Python's
_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (type(None), lambda _: None),
    (enum.Enum, lambda value: value.value),
    (int, lambda value: value),
    (float, lambda value: float(value) if math.isfinite(value) else None),
    (Note, lambda note: note.written),
    (str, str),
    ((list, tuple, set, frozenset), lambda values: [plain(v) for v in values]),
    (Mapping, _plain_mapping),
    (os.PathLike, os.fspath),
)

_FORM_OF: dict[type, Callable[[Any], Any]] = {}  # of every type that was met


class _Layout(typing.NamedTuple):
    """A type's fields with what they are where nobody sets them, and the names of what is written by those there.

    An empty name stands for own rows.
    """

    unset: dict[str, Any]
    names: dict[str, str]


_LAYOUTS: dict[type, _Layout] = {}


def _layout_of(of: Any) -> _Layout:
    """How a type of results is written, worked out once."""
    if of not in _LAYOUTS:
        unset = {f.name: f.default for f in dataclasses.fields(of)}
        _LAYOUTS[of] = _Layout(unset, _written_names(of, unset) if issubclass(of, Result) else dict.fromkeys(unset, ""))
    return _LAYOUTS[of]


def _written_names(of: type[Result], unset: Mapping[str, Any]) -> dict[str, str]:
    names = {name: of.named.get(name, name) for name in (*unset, *of.derived)} | dict.fromkeys(of.flat, "")
    return {name: names[name] for name in names if name not in of.unwritten}


def _fields(value: Any) -> dict[str, Any]:
    layout = _layout_of(type(value))
    if not isinstance(value, Result):
        return {name: plain(getattr(value, name)) for name in layout.names}
    row = {"schema": value.schema} if value.schema else {}
    for name, written in layout.names.items():
        if written:
            row[written] = _written_field(value, name)
        else:
            row |= _written_field(value, name) or {}
    if value.always is None:
        return row
    unset = layout.unset
    return {k: v for k, v in row.items() if k in value.always or not (_is_empty(v) or v == unset.get(k))}


def _written_field(value: Result, name: str) -> Any:
    """What is written of one field."""
    part = getattr(value, name)
    return plain({getattr(one, value.keyed[name]): one for one in part} if name in value.keyed else part)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or (isinstance(value, str | list | dict) and not value)


def _key(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else str(key.value if isinstance(key, enum.Enum) else key)


_SIMPLE: dict[Any, dict[str, Any]] = {
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": ["number", "null"]},  # undefined and infinite numbers are written as null
    str: {"type": "string"},
}


def schema_of(kind: type[Result], *, substitutes: Mapping[type[Result], type[Result]] | None = None) -> dict[str, Any]:
    """The schema (draft 2020-12) of what `plain` makes of a result of this type; parts with a class are in `$defs`.

    msgspec's own schema describes fields alone: not derived, flat, keyed and renamed ones, and no field that holds one
    of two classes. `substitutes` says which class stands where a type names only an empty one, as that of another
    package's section.
    """
    schemas = _Schemas(substitutes or {})
    whole = schemas.describe_class(kind)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **whole,
        "$defs": dict(sorted(schemas.classes.items())),
    }


class _Schemas:
    """The schemas of a document's parts; of classes by name."""

    def __init__(self, substitutes: Mapping[type[Result], type[Result]]) -> None:
        self.classes: dict[str, dict[str, Any]] = {}
        self._names: dict[type, str] = {}
        for empty, real in substitutes.items():
            self._refer(real)
            self._names[empty] = self._names[real]

    def describe(self, kind: Any) -> dict[str, Any]:
        """The schema of one annotation."""
        origin, inside = get_origin(kind), get_args(kind)
        if kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        if origin in (typing.Union, types.UnionType):
            return _any_of([self.describe(one) for one in inside])
        if origin is typing.Literal:
            return {"enum": list(inside)}
        if isinstance(origin, type):
            return self._describe_container(origin, inside)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [one.value for one in kind]}
        if typing.is_typeddict(kind):
            return {"type": "object", **self._describe_keys(kind)}
        return self._refer(kind) if isinstance(kind, type) and dataclasses.is_dataclass(kind) else {}

    def _describe_container(self, origin: type, inside: tuple[Any, ...]) -> dict[str, Any]:
        if origin is tuple and inside[-1] is not Ellipsis:
            parts = [self.describe(one) for one in inside]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        if issubclass(origin, abc.Callable):  # type: ignore[arg-type]
            return {"type": "string"}  # its name
        if issubclass(origin, abc.Mapping):
            return {"type": "object", "additionalProperties": self.describe(inside[1])}
        if issubclass(origin, abc.Sequence | abc.Set):
            return {"type": "array", "items": self.describe(inside[0])}
        return {}  # anything: arrays of numpy

    def _refer(self, kind: type) -> dict[str, Any]:
        """A class by its name, described once."""
        if kind not in self._names:
            taken = kind.__name__ in self._names.values()
            name = self._names[kind] = f"{kind.__module__.split('.')[1]}.{kind.__name__}" if taken else kind.__name__
            self.classes[name] = {}  # its place, while a class that holds itself is described
            self.classes[name] = self.describe_class(kind)
        return {"$ref": f"#/$defs/{self._names[kind]}"}

    def describe_class(self, kind: type) -> dict[str, Any]:
        """The schema of what is written of a dataclass."""
        row: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
        if kind.__doc__:
            row["description"] = kind.__doc__.strip().split("\n")[0]
        hints = get_type_hints(kind)
        written = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
        how: Any = kind if issubclass(kind, Result) else Result
        if how.schema:
            row["properties"]["schema"] = {"const": how.schema}
            row["required"].append("schema")
        for name, hint in (written | {name: _derived_type(kind, name) for name in how.derived}).items():
            if name in how.flat:
                self._describe_flat(hint, row)
            elif name not in how.unwritten:
                schema, key = self.describe(hint), how.named.get(name, name)
                row["properties"][key] = (
                    {"type": "object", "additionalProperties": schema["items"]} if name in how.keyed else schema
                )
                row["required"] += [key] if how.always is None or name in how.always else []
        return row

    def _describe_flat(self, hint: Any, row: dict[str, Any]) -> None:
        """Add the rows of a field, or of each class that it may hold, to those of the class that has it."""
        parts = get_args(hint) or (hint,)
        for part in parts:
            inner = self.describe_class(part) if dataclasses.is_dataclass(part) else self._describe_keys(part)  # type: ignore[arg-type]
            row["properties"] |= inner["properties"]
            row["required"] += inner["required"] if len(parts) == 1 else []

    def _describe_keys(self, kind: Any) -> dict[str, Any]:
        """The keys of a mapping that are known by name."""
        if not typing.is_typeddict(kind):
            return {"properties": {}, "required": []}
        parts = {name: self.describe(hint) for name, hint in get_type_hints(kind).items()}
        return {"properties": parts, "required": sorted(kind.__required_keys__)}


def _derived_type(kind: type, name: str) -> Any:
    member = getattr(kind, name)
    return get_type_hints(member.fget)["return"] if isinstance(member, property) else type(member)


def _any_of(options: list[dict[str, Any]]) -> dict[str, Any]:
    """One of several; simple types as a list of their names."""
    if any(set(option) != {"type"} for option in options):
        return {"anyOf": options}
    kinds = [
        k for option in options for k in (option["type"] if isinstance(option["type"], list) else [option["type"]])
    ]
    return {"type": list(dict.fromkeys(kinds))}


# All that can move a cursor, hide or reorder text: C0 and C1 controls (terminal escapes among them), bidirectional
# overrides and isolates, zero-width, filling and line-separating characters, variation selectors other than the one
# of emoji, tags, lone surrogates and non-characters.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with what it counts, as people say it; `many` where that is not `one` and an s.

    >>> counted(1, "row is", "rows are"), counted(2000, "group")
    ('1 row is', '2,000 groups')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def is_utf8(text: str) -> bool:
    """Whether a text, such as the name of a file, can be written in UTF-8."""
    return text.encode(errors="ignore").decode() == text


def printable(text: str, *, limit: int | None = None) -> str:
    """Text on one line with every control and invisible character shown as an escape, cut to `limit`."""
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 1, 0)] + "…"

    def escape(match: re.Match[str]) -> str:
        char = match.group()
        if char in "\n\t\r":
            return " "
        code = ord(char)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    return _UNSAFE.sub(escape, text)


def sparkline(values: Sequence[float], *, ascii_only: bool = False) -> str:
    """A series as one line of characters from lowest to highest; all alike, the middle one."""
    marks = "_.-=#" if ascii_only else "▁▂▃▄▅▆▇█"
    low, high = min(values), max(values)
    if not high > low:
        return marks[len(marks) // 2] * len(values)
    return "".join(marks[min(int((v - low) / (high - low) * len(marks)), len(marks) - 1)] for v in values)


# What would be Markdown gets a backslash, and what would be HTML becomes an entity.
_MARKUP = re.compile(r"[\\`*_\[\]|~#$]|(?P<entity>[<>&@])")
# Mentions, references to issues and commits, and links by themselves are looked for in the rendered page, where neither
# backslash nor entity is left. They need their characters side by side, so something invisible goes between.
_REFERENCE = re.compile(
    r"""[@#!&~%$](?=[\w"'])|:(?=//)|\bwww(?=\.)|\bgh-(?=\d)|\bmailto(?=:)|\bxmpp(?=:)""", re.IGNORECASE
)
_COMMIT = re.compile(r"\b[0-9a-f]{7,}\b", re.IGNORECASE)
_INVISIBLE = "\u200b"


def json_text(value: Any, **layout: Any) -> str:
    r"""JSON of a value in which every letter can be seen: marks that turn or hide text are escaped.

    >>> json_text(["a\u202eb"])
    '["a\\u202eb"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    return _UNSAFE.sub(lambda mark: mark[0] if mark[0] in "\n\t\r" else json.dumps(mark[0])[1:-1], text)


def markdown_safe(text: str, *, limit: int | None = None) -> str:
    """Printable text that stays text in Markdown: no markup, no HTML, no link, no mention of a person or an issue."""

    def escape(match: re.Match[str]) -> str:
        return f"&#{ord(match.group())};" if match["entity"] else f"\\{match.group()}"

    apart = _REFERENCE.sub(lambda m: m.group() + _INVISIBLE, printable(text, limit=limit))
    apart = _COMMIT.sub(lambda m: _INVISIBLE.join(re.findall(".{1,6}", m.group())), apart)
    return _MARKUP.sub(escape, apart).replace(_INVISIBLE, f"&#{ord(_INVISIBLE)};")


def distinct_names(names: Sequence[str], *, width: int = 24) -> tuple[str, ...]:
    """Each name in at most `width` characters where that leaves all of them distinct, by cutting out the middle.

    What all long names begin with goes first ("org/very-long-family-" says nothing where all have it); then the
    middle of a name becomes one ellipsis, with more of its end kept as long as two would read the same. A name that
    stays ambiguous is kept whole.
    """
    if all(len(name) <= width for name in names):
        return tuple(names)
    start = _common_start(names)
    bodies = ["…" + name[start:] if start else name for name in names]
    for end in range(width // 2, width):
        short = tuple(_cut_middle(body, width, end) for body in bodies)
        if len(set(short)) == len(set(names)):
            return short
    taken = [_cut_middle(body, width, width // 2) for body in bodies]
    return tuple(name if taken.count(s) > 1 else s for name, s in zip(names, taken, strict=True))


def _common_start(names: Sequence[str]) -> int:
    """Length of the beginning, up to a separator, that all names share."""
    if len(set(names)) < 2:
        return 0
    low, high = min(names), max(names)
    same = next((k for k, (x, y) in enumerate(zip(low, high, strict=False)) if x != y), min(len(low), len(high)))
    return max((k + 1 for k in range(same) if low[k] in "/-_.: "), default=0)


def _cut_middle(name: str, width: int, end: int) -> str:
    if len(name) <= width:
        return name
    return name[: width - end - 1] + "…" + name[len(name) - end :]
