"""The log of a plan: `plan.toml.log`, beside the plan, with a line for each lock and for each successful evaluation.

JSON lines, only ever added, under a lock on the file. Each line holds the hash of the line before and, as `hash`, the
hash of its own fields: an edit, a swap or a gap shows at that line. A line that a killed command left unfinished, which
has no end of line, is none, and is cut off before the next is added.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from richter.errors import StorageError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A lock of a plan, with the versions then installed, or an evaluation with it.

    `plan` is the plan's hash, `data` the hash of all data, `candidate` that of the candidate's own, `options` what
    differed from the plan. `before` is the hash of the line before, `hash` that of this line.
    """

    what: Literal["lock", "use"]
    at: str
    plan: str
    hash: str
    before: str = ""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    command: str = ""
    data: str = ""
    candidate: str = ""
    options: tuple[str, ...] = ()

    @property
    def use(self) -> tuple[str, str, str, tuple[str, ...]]:
        """What makes two evaluations the same one: plan, data, candidate's data and options."""
        return self.plan, self.data, self.candidate, self.options

    @property
    def attempt(self) -> tuple[str, str, tuple[str, ...]]:
        """What makes two evaluations the same attempt: plan, candidate's data and options."""
        return self.plan, self.candidate, self.options


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanLog:
    """The lines of a log up to the first that is not as it was written, which `fault` names."""

    lines: tuple[LogLine, ...] = ()
    fault: str = ""

    @property
    def uses(self) -> tuple[LogLine, ...]:
        """The evaluations."""
        return tuple(line for line in self.lines if line.what == "use")


def log_path(path: str | Path) -> Path:
    """Where the log of a plan lies."""
    return Path(f"{path}.log")


def read_log(path: str | Path) -> PlanLog:
    """The log of the plan at `path`, every line checked; empty where there is none."""
    target = log_path(path)
    try:
        content = target.read_bytes()
    except FileNotFoundError:
        return PlanLog()
    except OSError as error:
        return PlanLog(fault=f"{target.name} cannot be read ({error.strerror})")
    return _parse(content, target.name)


def append_line(path: str | Path, what: Literal["lock", "use"], at: str, **fields: Any) -> str | None:
    """Add a line to the log of the plan at `path`; its hash, or None where the log has a fault and is left as it is.

    A use that the log has already is not added again: the hash is then that of the log's last line.
    """
    target = log_path(path)
    try:
        with target.open("a+b") as file:
            with contextlib.suppress(ImportError):  # Windows has no such locks
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            content = file.read()
            log = _parse(content, target.name)
            if log.fault:
                return None
            last = log.lines[-1].hash if log.lines else ""
            line = _make_line({"what": what, "at": at, "before": last, **fields})
            if what == "use" and line.use in {known.use for known in log.uses}:
                return last
            file.truncate(content.rfind(b"\n") + 1)
            file.write(_encode(line) + b"\n")
            return line.hash
    except OSError as error:
        raise StorageError(
            f"{target} cannot be written: {error.strerror or error}.", remedy="Choose another folder."
        ) from error


def count_attempts(log: PlanLog, present: LogLine) -> int:
    """How many different attempts the log holds, the present one included."""
    return len({line.attempt for line in (*log.uses, present)})


def describe_use(**fields: Any) -> LogLine:
    """The line that an evaluation would have, to be held against those of the log."""
    return _make_line({"what": "use", "at": "", **fields})


def current_command() -> str:
    """The command that is running, as `gate`; `python` where there is none."""
    context = _click_context()
    return "python" if context is None else context.command_path.partition(" ")[2] or "look"


def on_success(write: Callable[[], None]) -> None:
    """Run `write` when the command that is running ends well; at once where there is no command."""
    context = _click_context()
    waiting = None if context is None else (context.find_root().obj or {}).get("on_success")
    if waiting is None:
        write()
    else:
        waiting.append(write)


def format_time(now: datetime.datetime | None = None) -> str:
    """A time, now unless given, as locks and logs have it."""
    return (now or datetime.datetime.now(datetime.UTC)).astimezone(datetime.UTC).isoformat(timespec="microseconds")


def parse_time(text: str) -> datetime.datetime | None:
    """A time as locks and logs have it; None where the text is not one."""
    with contextlib.suppress(ValueError, OverflowError):
        found = datetime.datetime.fromisoformat(text)
        if found.tzinfo is not None and format_time(found) == text:
            return found
    return None


def _click_context() -> Any:
    click = sys.modules.get("click")
    return None if click is None else click.get_current_context(silent=True)


def _make_line(fields: dict[str, Any]) -> LogLine:
    line = msgspec.convert({**fields, "hash": ""}, LogLine)
    return dataclasses.replace(line, hash=_hash_line(line))


def _hash_line(line: LogLine) -> str:
    return hashlib.sha256(_encode(dataclasses.replace(line, hash=""))).hexdigest()


def _encode(line: LogLine) -> bytes:
    """A line as it is written: its fields that are not empty, by name."""
    row = {name: value for name, value in msgspec.to_builtins(line).items() if value}
    return json.dumps(row, sort_keys=True).encode()


def _parse(content: bytes, name: str) -> PlanLog:
    lines: list[LogLine] = []
    for number, row in enumerate(content.split(b"\n")[:-1], 1):
        try:
            line = msgspec.json.decode(row, type=LogLine)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            line = None
        before = lines[-1].hash if lines else ""
        as_written = line is not None and row.rstrip(b"\r") == _encode(line) and line.hash == _hash_line(line)
        if line is None or not as_written or line.before != before or parse_time(line.at) is None:
            return PlanLog(lines=tuple(lines), fault=f"{name} was edited at line {number}")
        lines.append(line)
    return PlanLog(lines=tuple(lines))
