"""Messages of the command line in the words of Python: `--map item=Frage` is `map={"item": "Frage"}`.

Options and commands stand in messages as a shell takes them. Here alone they are read back into data (an option with
its values, a command with its arguments) and written as Python. A result holds the Python text; documents, which
the command line reads too, keep the shell's.
"""

import copy
import dataclasses
import functools
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, ParamSpec, TypeVar

from richter.errors import RichterError
from richter.records import Note

P = ParamSpec("P")
T = TypeVar("T")
Kind = Literal["flag", "number", "text", "word", "range", "list", "pair", "grade", "margin", "numbers"]
# an option of the command line -> what its value is; its keyword in Python is spelled alike, but with _
OPTIONS: Mapping[str, Kind] = {
    **dict.fromkeys(("unpaired", "trust-ids", "trust-raters", "trust-labels", "trust-reading", "accept-judge",
                     "yes", "require-locked"), "flag"),
    **dict.fromkeys(("tried", "level", "min-shared", "pass-at", "seed", "discordance", "phi", "pairs",
                     "cluster-size", "intraclass", "power", "q"), "number"),
    **dict.fromkeys(("on", "control", "by", "scorer", "filter", "tail-plan", "plan", "date", "condition",
                     "weight", "macro"),
                    "text"),
    **dict.fromkeys(("missing", "better", "ratings"), "word"),
    **dict.fromkeys(("scale", "as-severity"), "range"),
    "map": "pair", "grade": "grade", "wide": "list", "margin": "margin", "accuracy": "numbers",
}  # fmt: skip
# where Python has another word
KEYWORDS = {"yes": "confirm", "json": "to_json()", "save-reading": "options=proposal.options"}
WORDS = ("at-random", "both-ways", "shared", "higher", "lower", "human", "judge", "rule")
READING = (
    "map",
    "scale",
    "better",
    "grade",
    "wide",
    "as_severity",
    "ratings",
    "scorer",
    "filter",
    "pass_at",
    "weight",
    "macro",
    "confirm",
)
# of these, what `richter.compare` takes itself
IN_FUNCTIONS = ("map", "scale", "better", "ratings", "weight", "macro", "confirm")
GRADES = {"right": "1", "wrong": "0", "missing": "None"}
# a command -> the function at the top, or the method of opened data, that does the same
FUNCTIONS = ("compare", "gate", "size")
METHODS = {
    "report": "report", "severity": "severity", "severity tail": "tail", "calibration": "calibration",
    "watch": "watch", "size calibration": "floors",
}  # fmt: skip
COMMANDS = (
    "audit", "bench", "calibration", "compare", "demo", "doctor", "export", "gate", "help", "import", "label", "plan",
    "report", "search", "severity", "size", "verify", "view", "watch",
)  # fmt: skip
_SECOND = "tail|score|agreement|next|calibration|new|lock|run|show|retest|export|label|base|questions|index"

_PLAIN = r"(?:[^\s,;()`|'\"]*[^\s,;()`|'\".:])"  # a word that no sentence ends in
_QUOTED = r"'[^']*'(?:\"'\"'[^']*')*|\"[^\"]*\""
_PAIR = rf"(?:{_QUOTED}|[\w.@^*-]+=(?:{_QUOTED}|{_PLAIN}))"
_NUMBER = r"[+-]?(?:\d+(?:\.\d+)?(?:e-?\d+)?|N\b|M\b)"
_VALUES: Mapping[Kind, str] = {
    "flag": "(?!)",
    "number": _NUMBER,
    "text": rf"(?:{_QUOTED}|{_PLAIN})",
    "word": rf"(?:{'|'.join(WORDS)})(?![\w-])",
    "range": rf"(?:{_NUMBER}|[A-Z]+):(?:{_NUMBER}|[A-Z]+)",
    "list": rf"(?:{_QUOTED}|{_PLAIN}(?:,{_PLAIN})*)",
    "pair": rf"{_PAIR}(?: --map[ =]{_PAIR})*",
    "grade": rf"{_PAIR}(?: --grade[ =]{_PAIR})*",
    "margin": rf"(?:[\w.]+=)?{_NUMBER}(?:pt|%)?",
    "numbers": rf"{_NUMBER}(?: {_NUMBER})*",
}


def _pattern(name: str, kind: Kind) -> str:
    """The pattern of one option, which its groups name."""
    group = name.replace("-", "_")
    return rf"(?P<{group}>{name})(?![\w-])(?:[ =](?P<{group}_value>{_VALUES[kind]}))?"


_OPTION = re.compile(
    rf"(?<![\w-])--(?:{'|'.join(_pattern(name, kind) for name, kind in OPTIONS.items())}|(?P<other>[a-z][\w-]*))"
)
_PROSE = r"(?:or|and|to|first|then|shows|says|does|has|for|writes|if)\b"  # no argument of a command: a sentence goes on
_ARGUMENT = rf"(?:{_QUOTED}|[^\s,;()`'\"]*(?:{_QUOTED})?[^\s,;()`'\"]*[^\s,;()`'\".:]|\.\.)"
_COMMAND = re.compile(
    rf"(?P<tick>`?)\brichter (?P<command>(?:{'|'.join(COMMANDS)})\b(?: (?:{_SECOND})\b)?)"
    rf"(?P<arguments>(?: (?!{_PROSE})(?:{_ARGUMENT}(?:,[^\s,;()`]+)*))*)(?P=tick)"
)


def in_python(message: str) -> str:
    """A message with options as keyword arguments, and with commands as calls.

    >>> in_python("Name the column: --map score=quality, or --unpaired.")
    'Name the column: map={"score": "quality"}, or unpaired=True.'
    >>> in_python("See the one alone: richter report FILE -o page.html")
    'See the one alone: richter.open(FILE).report("page.html")'
    """
    if "--" not in message and "richter " not in message:
        return message
    return _OPTION.sub(_keyword_argument, _COMMAND.sub(_call, message))


# ---- options ---------------------------------------------------------------------------------------------------------


def _keyword_argument(found: re.Match[str]) -> str:
    name = found["other"] or next(name for name in OPTIONS if found[name.replace("-", "_")])
    keyword = KEYWORDS.get(name, name.replace("-", "_"))
    if found["other"]:
        return keyword
    kind, value = OPTIONS[name], found[f"{name.replace('-', '_')}_value"]
    if kind == "flag":
        return f"{keyword}=True"
    return keyword if value is None else f"{keyword}={_python_value(kind, value)}"


def _python_value(kind: Kind, value: str) -> str:
    """The value of an option as Python writes it."""
    if kind in ("pair", "grade"):
        return _mapping(value, _grade if kind == "grade" else _text)
    if kind == "range":
        return f"({', '.join(value.split(':'))})"
    if kind == "list":
        words = _split(value)[0].split(",")
        return "()" if words == ["all"] else f"[{', '.join(map(_text, words))}]"
    if kind == "margin":
        measure, _, size = value.rpartition("=")
        size = _number_or_text(size)
        return f"{{{_text(measure)}: {size}}}" if measure else size
    if kind == "numbers":
        several = value.split()
        return several[0] if len(several) == 1 else f"({', '.join(several)})"
    return value if kind == "number" else _text(" ".join(_split(value)))


def _mapping(value: str, spelled: Callable[[str], str]) -> str:
    """Of NAME=VALUE, with the option again before each further one, the mapping."""
    words = [re.sub("^--(?:map|grade)=?", "", word) for word in _split(value)]
    pairs = [word.partition("=") for word in words if word]
    return "{" + ", ".join(f"{_text(name)}: {spelled(given)}" for name, _, given in pairs) + "}"


def _split(value: str) -> list[str]:
    """The words of a shell's line."""
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


def _text(value: str) -> str:
    """A text between double quotes; what stands in for a name (FILE, COLUMN) too."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _number_or_text(value: str) -> str:
    return value if re.fullmatch(_NUMBER, value) else _text(value)


def _grade(value: str) -> str:
    return GRADES.get(value) or _number_or_text(value)


# ---- commands --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class _Arguments:
    """What follows a command: files, names of conditions, options by keyword, and where it writes to."""

    files: list[str] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    target: str | None = None
    is_plan: bool = False

    @property
    def data(self) -> str:
        """The files as the first argument of a function."""
        named = [file.partition("=") for file in self.files]
        if self.files and all(path for _, _, path in named):
            return "{" + ", ".join(f"{_text(name)}: {_text(path)}" for name, _, path in named) + "}"
        given = [file if file.isupper() else _text(file) for file in self.files]
        return given[0] if len(given) == 1 else f"[{', '.join(given)}]" if given else ""


def _call(found: re.Match[str]) -> str:
    """The Python call that does what a command does; a command without one is named."""
    command, tick = found["command"], found["tick"]
    given = _arguments(found["arguments"])
    if command in FUNCTIONS and given is not None:
        return f"{tick}{_function_call(command, given)}{tick}"
    if command in METHODS and given is not None:
        return f"{tick}{_method_call(METHODS[command], given)}{tick}"
    return f"the command `{command}`"


def _arguments(text: str) -> _Arguments | None:
    """The arguments of a command as data; None where one of them is nothing that Python takes."""
    found = _Arguments()
    rest = _OPTION.sub(lambda option: _take_option(option, found), text)
    if "\0" in rest:
        return None
    words = iter(_split(rest))
    for word in words:
        if word in ("-o", "--json"):
            found.target = next(words, None)
        elif word.endswith(".toml"):
            found.options["plan"] = _text(word)
        elif found.files and not re.search(r"[./=]", word):
            found.names.append(word)
        else:
            found.files.append(word)
    return found


def _take_option(option: re.Match[str], found: _Arguments) -> str:
    if option["other"] == "json":
        return " -o"
    keyword, is_given, value = _keyword_argument(option).partition("=")
    if not is_given:
        return "\0"
    found.options[keyword] = value
    return ""


def _function_call(name: str, given: _Arguments) -> str:
    if not given.files and not given.options:
        return f"richter.{name}"
    only_opened = {key: value for key, value in given.options.items() if key in READING and key not in IN_FUNCTIONS}
    own = {key: value for key, value in given.options.items() if key not in only_opened}
    data = f"richter.open({_list_of(given.data, only_opened)})" if only_opened else given.data
    if given.names:
        own = {"conditions": f"({', '.join(map(_text, given.names))})", **own}
    written = f".to_json({_text(given.target)})" if given.target else ""
    return f"richter.{name}({_list_of(data, own)}){written}"


def _method_call(name: str, given: _Arguments) -> str:
    reading = {key: value for key, value in given.options.items() if key in READING}
    own = {key: value for key, value in given.options.items() if key not in READING}
    if name == "report" and given.target and given.target.endswith(".json"):
        return f"richter.open({_list_of(given.data or 'data', reading)}).measure({_list_of('', own)}).to_json()"
    target = _text(given.target or "page.html") if name == "report" else ""
    return f"richter.open({_list_of(given.data or 'data', reading)}).{name}({_list_of(target, own)})"


def _list_of(first: str, options: Mapping[str, str]) -> str:
    return ", ".join([*([first] if first else []), *(f"{key}={value}" for key, value in options.items())])


# ---- results and errors ----------------------------------------------------------------------------------------------

INPUTS = frozenset({"data", "options", "tables", "sources"})  # fields that hold what was given
NAMES = frozenset({"conditions", "condition", "name", "item", "items"})  # fields whose texts are a user's own


def translate_result(value: T) -> T:
    """A result whose messages speak Python. A changed text keeps the one that documents have, as `written`."""
    changed: T = _translate(value)
    return changed


def _translate(value: Any) -> Any:
    if type(value) is str or isinstance(value, Note):
        text = in_python(value)
        return value if text == value else Note(text, getattr(value, "kind", ""), written=str(value))
    if type(value) is dict:
        before = list(value.values())
        after = _spoken_parts(before)
        return value if after is before else dict(zip(value, after, strict=True))
    if isinstance(value, list | tuple):
        return _spoken_parts(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _spoken_fields(value)
    return value


def _spoken_parts(value: Any) -> Any:
    parts = [_translate(each) for each in value]
    if all(map(operator.is_, parts, value)):
        return value
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def _spoken_fields(value: Any) -> Any:
    changes = dict(_changed_fields(value))
    if not changes:
        return value
    changed = copy.copy(value)
    for name, each in changes.items():
        object.__setattr__(changed, name, each)
    return changed


def _changed_fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        before = getattr(value, field.name)
        if field.name not in INPUTS and not (field.name in NAMES and _is_text(before)):
            after = _translate(before)
            if after is not before:
                yield field.name, after


def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list | tuple) and all(isinstance(each, str) for each in value))


def speaks_python(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator: results and errors of the function name keyword arguments in place of options."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return translate_result(function(*args, **kwargs))
        except RichterError as error:
            vars(error).update({name: _translate(each) for name, each in vars(error).items() if name not in INPUTS})
            error.args = (f"{error.what} {error.remedy}".strip(),)
            raise

    return call
