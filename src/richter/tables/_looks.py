"""The log of looks: when outcomes were shown on this machine, so that a plan's lock can be held against it.

One file of JSON lines in the user's state folder (`RICHTER_STATE`, else `XDG_STATE_HOME/richter`, else
`~/.local/state/richter`). Lines are only added, under a lock on the file, and each carries a hash of all before it.
A line holds no data: of every condition whose outcomes were shown it names a keyed sketch, by which the same outcomes
are known again in another order, part, format or under another name. Sketches lie beside the log, each once, under the
hash of what they hold: looking again at the same outcomes costs a short line. The key is random, and lies there too.
`RICHTER_LOOKS=off` keeps no log; nothing can then be called confirmatory, and results say so.

The sketch is a bottom-k sample: of the items with the smallest check sums, a keyed hash of the item and one of item and
outcome. Two tables sample the same items, so that the share of equal outcomes among shared ones can be read off.

So that its cost does not grow with the looks, `looks.index` repeats the log's different lines, the times and the
sketches up to some byte, and `looks.seal` says how both files were left: their inodes, sizes and times of change, which
a file's owner cannot set, under a keyed hash. Where the seal fits only what came since the index is read and checked;
where it does not (anything else touched the log, or a command was killed) the whole log is, line by line, as `plan
lock` and `plan check` always do. A log in which a fault was found is not sealed again.
"""

import contextlib
import dataclasses
import datetime
import functools
import hashlib
import itertools
import json
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import RichterError
from richter.records import Note
from richter.store import Place, add_look, is_run, looks_of
from richter.tables._tables import KEY, Tables, severity_of

__all__ = ["Log", "Look", "attempts", "log_lock", "log_use", "looks_at", "read_log", "record_look"]

K = 256  # items of a sketch
_MARK = b', "~": "'  # before the hash that ends a line
_AT = slice(8, 34)  # the time of a line, which begins {"at": ".., without +00:00
_INDEX = 64  # so many lines, or a fiftieth of all, have the index made anew
_TIME = np.dtype("datetime64[us]")
_SKETCH = np.dtype([("items", "<u8", K), ("score", "<u2", K), ("severity", "<u2", K)])  # 0: none, or unknown
_FILE_PART = 1 << 26  # of a larger file the beginning and the size stand for it
_CLAIMING = ("look", "compare", "severity", "calibration measure", "tail test")  # commands that make claims
_QUIET = ("json_path", "md_path", "junit_path", "output", "tried", "sources", "paths", "debug", "engine", "workers")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Outcomes were shown: when, by which command, and of which of the conditions now at hand.

    `place` is its line in this machine's log, -1 for one that only the run itself has kept.
    """

    at: str
    command: str
    conditions: tuple[str, ...]
    place: int = -1

    def __str__(self) -> str:
        who = f"`richter {self.command}`" if self.command != "python" else "a Python session"
        return f"{self.at[:19].replace('T', ' ')} UTC by {who} ({', '.join(self.conditions)})"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A condition whose outcomes were shown: its keyed name, and the name of its sketch."""

    name: str
    sketch: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What a line of the log says, but for its time: a `look`, the `lock` of a plan, or its `use` on a set of data."""

    what: str
    command: str = ""
    options: str = ""
    planned: bool = False
    files: tuple[str, ...] = ()
    conditions: tuple[Shown, ...] = ()
    plan: str = ""
    set: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """The log as it stands: its lines, what is wrong with it, and the name of this machine (a hash of its key).

    `lines` are the different ones; of each row of the log `of` says which of them it is, and `at` when it was written.
    `locks` has the place of each lock of a plan by its hash in the chain, `sketches` those that are as they were
    written. `missing` says why there is no log.
    """

    lines: tuple[Line, ...] = ()
    of: NDArray[np.int32] = dataclasses.field(default_factory=lambda: np.empty(0, np.int32), repr=False)
    at: NDArray[np.datetime64] = dataclasses.field(default_factory=lambda: np.empty(0, _TIME), repr=False)
    locks: Mapping[str, int] = dataclasses.field(default_factory=dict)
    sketches: Mapping[str, np.void] = dataclasses.field(default_factory=dict, repr=False)
    faults: tuple[str, ...] = ()
    machine: str = ""
    missing: str = ""
    key: bytes = dataclasses.field(default=b"", repr=False)

    def lock_of(self, plan: str, chain: str) -> int | None:
        """The place of the lock with this hash in the chain, if it is one of this plan (by its hash)."""
        place = self.locks.get(chain)
        return None if place is None or self.lines[self.of[place]].plan != plan else place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """The log up to byte `end`, where its hash is `head`: the different lines, the sketches' names, and the locks.

    After it the file has `of`, `at` and the sketches themselves.
    """

    end: int = 0
    head: str = ""
    n: int = 0
    bodies: tuple[str, ...] = ()
    sketches: tuple[str, ...] = ()
    locks: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Seal:
    """How the log (of `n` lines, with the hash `head`) and its index were left: inode, size and time of change."""

    log: tuple[int, int, int]
    n: int
    head: str
    index: tuple[int, int, int] | None = None


# ------------------------------------------------------------------ the file


def _folder() -> Path | None:
    if os.environ.get("RICHTER_LOOKS", "").lower() in ("off", "0", "no"):
        return None
    given = os.environ.get("RICHTER_STATE")
    base = os.environ.get("XDG_STATE_HOME")
    return Path(given) if given else (Path(base) if base else Path(os.path.expanduser("~/.local/state"))) / "richter"


def _key(folder: Path) -> bytes:
    """This user's key, made once: whoever comes first writes it whole, the others read it."""
    path = folder / "key"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = folder / f"key.{os.getpid()}.{secrets.token_hex(4)}"
        made.touch(mode=0o600)
        made.write_text(secrets.token_hex(32))
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
        made.unlink()
    return bytes.fromhex(path.read_text())


def _keyed(key: bytes, *parts: str, size: int = 8) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), key=key, digest_size=size).digest()


def _machine() -> str:
    folder = _folder()
    return "" if folder is None else _keyed(_key(folder), "machine").hex()


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")


def _chained(before: bytes, body: bytes) -> bytes:
    return hashlib.sha256(before + body).hexdigest().encode()


@contextlib.contextmanager
def _held(folder: Path, flags: int) -> Iterator[int]:
    """The log, open and locked: shared to read, alone to write."""
    import fcntl  # not everywhere

    handle = os.open(folder / "looks.jsonl", flags, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH if flags == os.O_RDONLY else fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _left(file: int | Path) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_ino, found.st_size, found.st_ctime_ns


def _read_seal(folder: Path, key: bytes) -> _Seal | None:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        text, _, mac = (folder / "looks.seal").read_text().partition("\n")
        if mac == _keyed(key, "seal", text, size=16).hex():
            return msgspec.json.decode(text, type=_Seal)
    return None


def _write_seal(folder: Path, key: bytes, seal: _Seal) -> None:
    text = msgspec.json.encode(seal).decode()
    with contextlib.suppress(OSError):
        _write_whole(folder / "looks.seal", f"{text}\n{_keyed(key, 'seal', text, size=16).hex()}".encode())


def _append(folder: Path, key: bytes, line: dict[str, Any]) -> str:
    """Add a line under the lock on the file; a line that a killed command left unfinished is cut off first.

    The line is written before anything is shown, so a cut line is a look that did not happen. Where the log was as it
    was left (or is new) it is sealed as it is left now.
    """
    with _held(folder, os.O_RDWR | os.O_CREAT) as handle:
        seal = _read_seal(folder, key)
        end = os.lseek(handle, 0, os.SEEK_END)
        sealed = _left(handle) == seal.log if seal is not None else end == 0
        if end and os.pread(handle, 1, end - 1) != b"\n":
            end = os.pread(handle, end, 0).rfind(b"\n") + 1
            os.ftruncate(handle, end)
        last = os.pread(handle, 67, max(end - 67, 0))[:64] if end else b""  # 64 hex, "}\n
        body = json.dumps({"at": _now(), **line}, sort_keys=True).encode()[:-1]
        chain = _chained(last, body)
        text = body + _MARK + chain + b'"}\n'
        os.lseek(handle, end, os.SEEK_SET)
        while text:
            text = text[os.write(handle, text) :]
        if sealed:
            n, index = (seal.n, seal.index) if seal is not None else (0, None)
            _write_seal(folder, key, _Seal(log=_left(handle), n=n + 1, head=chain.decode(), index=index))
    return chain.decode()


def _sound(rows: Sequence[bytes], before: bytes) -> int:
    """How many of the rows are as they were written, the hash before them being this one."""
    for number, row in enumerate(rows):  # by its bytes: what was written is what is hashed
        chain = row[-66:-2]
        if row[-74:-66] != _MARK or chain != _chained(before, row[:-74]):
            return number
        before = chain
    return len(rows)


def _decoded(bodies: Iterable[bytes]) -> tuple[Line, ...]:
    return msgspec.json.decode(b"[" + b",".join(b"{" + body + b"}" for body in bodies) + b"]", type=tuple[Line, ...])


def _body(row: bytes) -> bytes:
    """A line without its time and hash."""
    return row[43:-74]


def read_log(*, whole: bool = False) -> Log:
    """The log, checked from its first line to its last; of what is sealed that is done again only by `whole`."""
    folder = _folder()
    if folder is None:
        return Log(missing="the log of looks is switched off (RICHTER_LOOKS=off)")
    text, left, seal, index, kept = b"", (0, 0, 0), None, _Index(), b""
    try:
        key = _key(folder)
        seal = _read_seal(folder, key)
        with contextlib.suppress(FileNotFoundError), _held(folder, os.O_RDONLY) as handle:
            seal, left = _read_seal(folder, key), _left(handle)
            if not whole and seal is not None and seal.log == left:
                index, kept = _read_index(folder, seal)
            text = os.pread(handle, left[1] - index.end, index.end)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its key is damaged"
        return Log(missing=f"the log of looks in {folder} cannot be kept ({why})")
    rows = text.split(b"\n")[:-1]  # an unfinished line is none
    sound = _sound(rows, index.head.encode())
    bodies = {body.encode(): place for place, body in enumerate(index.bodies)}
    new = [bodies.setdefault(_body(row), len(bodies)) for row in rows[:sound]]
    try:
        lines = _decoded(bodies)
        times = np.array([row[_AT] for row in rows[:sound]], dtype="S26").astype(_TIME)
    except ValueError:  # the hashes fit, and it is none of ours
        if index.n:
            return read_log(whole=True)
        lines, bodies, new, times, sound = (), {}, [], np.empty(0, _TIME), 0
    of = np.r_[np.frombuffer(kept, np.int32, index.n), np.array(new, np.int32)]
    at = np.r_[np.frombuffer(kept, _TIME, index.n, of.itemsize * index.n), times]
    stack = np.frombuffer(kept, _SKETCH, len(index.sketches), 12 * index.n)
    ends = [row[-66:-2].decode() for row in rows[:sound]]
    locks = index.locks | {ends[k]: index.n + k for k, line in enumerate(new) if lines[line].what == "lock"}
    faults: list[str] = []
    if sound < len(rows):
        faults.append(f"the log of looks was edited at line {index.n + sound + 1}")
    elif seal is not None and not index.n and sound < seal.n:
        faults.append(Note(f"the log of looks was cut: it had {seal.n:,} lines or more, and has {sound:,}", "cut"))
    elif seal is not None and not index.n and ends[seal.n - 1] != seal.head:
        faults.append(Note(f"the log of looks was cut: line {seal.n:,} is not the one that it had there", "cut"))
    sketches, gone = _sketches(folder, lines, dict(zip(index.sketches, stack, strict=True)))
    due = len(rows) >= max(_INDEX, len(of) // 50)
    if ends and not faults and text.endswith(b"\n") and (due or seal is None or seal.log != left):
        made = _Index(
            end=index.end + len(text), head=ends[-1], n=len(of), locks=locks,
            bodies=tuple(map(bytes.decode, bodies)), sketches=tuple(sketches),
        )  # fmt: skip
        parts = (of.tobytes(), at.tobytes(), *(found.tobytes() for found in sketches.values()))
        _keep(folder, key, made, parts if due else None, left)
    faults += [
        Note(f"the clock went back between lines {number} and {number + 1} of the log; its order counts", "clock")
        for number in (np.flatnonzero(np.diff(at) < np.timedelta64(0)) + 1).tolist()
    ]
    if gone:
        had = gone + len(sketches)
        faults.append(f"the log of looks has lost {gone} of {had} sketches: what was seen is known by name only")
    return Log(
        lines=lines,
        of=of,
        at=at,
        locks=locks,
        sketches=sketches,
        faults=tuple(faults),
        machine=_keyed(key, "machine").hex(),
        key=key,
    )


def _read_index(folder: Path, seal: _Seal) -> tuple[_Index, bytes]:
    """The index that the seal speaks of, and what follows it; an empty one where there is none."""
    with contextlib.suppress(OSError, msgspec.DecodeError), (folder / "looks.index").open("rb") as file:
        if _left(file.fileno()) == seal.index:
            return msgspec.json.decode(file.readline(), type=_Index), file.read()
    return _Index(), b""


def _keep(folder: Path, key: bytes, index: _Index, parts: Sequence[bytes] | None, left: tuple[int, int, int]) -> None:
    """Seal a log that was found sound, with its index if that is due (`parts`).

    Not where anything but a command has touched it since it was read (`left`).
    """
    path = folder / "looks.index"
    with contextlib.suppress(OSError), _held(folder, os.O_RDWR) as handle:
        seal, now = _read_seal(folder, key), _left(handle)
        if seal is None or seal.log != now:
            if now != left:
                return
            seal = _Seal(log=now, n=index.n, head=index.head)
        if parts is not None:
            _write_whole(path, b"".join((msgspec.json.encode(index), b"\n", *parts)))
            seal = dataclasses.replace(seal, index=_left(path))
        _write_seal(folder, key, seal)


def _write_whole(path: Path, text: bytes) -> None:
    """Whoever reads it finds all of it, or what was there before; not by `write_file`, as nobody else may read it."""
    made = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    made.touch(mode=0o600)
    made.write_bytes(text)
    made.replace(path)


def _add(line: dict[str, Any]) -> str:
    """Add a line if a log is kept; its chain, or nothing."""
    folder = _folder()
    if folder is None:
        return ""
    try:
        return _append(folder, _key(folder), line)
    except (OSError, ValueError):
        return ""  # a home that cannot be written: whoever needs the log is told by `read_log`


def log_lock(plan: str, at: str) -> dict[str, str]:
    """Log that a plan was locked: what the lock file keeps of it."""
    chain = _add({"what": "lock", "plan": plan, "locked_at": at})
    return {"machine": _machine(), "chain": chain} if chain else {}


def log_use(plan: str, tables: Tables) -> str:
    """Log that a plan was used on these data, here and in the runs that they are from; the name of the data."""
    data = _set_of(tables)
    if _add({"what": "use", "plan": plan, "set": data}):
        _in_runs(tables, tables.conditions, {"plan": plan, "set": data})
    return data


def _set_of(tables: Tables) -> str:
    """A plain hash of all the data would serve; a second hash keeps it from being matched against a published one."""
    return hashlib.sha256(f"set {tables.data_hash}".encode()).hexdigest()[:16]


# ------------------------------------------------------------------ sketches


def _by_condition(tables: Tables, shown: Sequence[str], *, sample: bool = True) -> dict[str, pl.DataFrame]:
    """Of each condition the answers that have an outcome, in the order of their items' check sums: `item` (spelled one
    way), `draw`, `score`, `severity`. A sample has at least the first K, where there are as many.
    """
    items = pl.Series("item", tables.item_ids, dtype=pl.String)
    plain = items.str.strip_chars().str.to_lowercase()  # a sheet writes 007 as 7 or 7.0
    plain = plain.str.replace(r"^0+(\d)", "$1").str.replace(r"^(\d+)\.0+$", "$1").alias("plain")
    sums = np.fromiter(map(zlib.crc32, map(str.encode, plain)), np.uint32, len(plain))
    known = pl.DataFrame([items, plain, pl.Series("order", sums)])
    sample &= len(items) > 4 * K
    rows = _outcomes(tables, shown, known.bottom_k(4 * K, by="order") if sample else None)
    counts = rows["condition"].value_counts()["count"]
    if sample and (len(counts) < len(shown) or (counts < K).any()):
        rows = _outcomes(tables, shown, None)  # a condition that has few of the items
    rows = rows.join(known, on="item").drop("item").rename({"plain": "item"}).sort("order", "item", "draw")
    return {str(name): part for (name,), part in rows.group_by("condition", maintain_order=True)}


def _outcomes(tables: Tables, shown: Sequence[str], items: pl.DataFrame | None) -> pl.DataFrame:
    wanted = pl.col("condition").is_in(list(shown))
    if items is not None:
        wanted &= pl.col("item").is_in(items["item"].implode())
    rows = tables.scores.filter(wanted, metric=tables.metric or "").drop_nulls("value")
    rows = rows.select(*KEY, pl.col("value").alias("score"))
    if tables.counting is None:
        return rows.with_columns(pl.lit(None, dtype=pl.Float64).alias("severity"))
    part = dataclasses.replace(tables, ratings=tables.ratings.filter(wanted))
    return rows.join(severity_of(part).select(*KEY, "severity"), on=KEY, how="full", coalesce=True)


def _kept_sketch(folder: Path, key: bytes, rows: pl.DataFrame) -> str:
    """Keep one condition's sketch and return the name it lies under: the hash of what it holds."""
    text = _sketch(key, rows).tobytes()
    path = folder / "sketches" / hashlib.sha256(text).hexdigest()[:32]
    if not path.exists():
        path.parent.mkdir(exist_ok=True, mode=0o700)
        _write_whole(path, text)
    return path.name


def _sketches(folder: Path, lines: Iterable[Line], kept: Mapping[str, np.void]) -> tuple[dict[str, np.void], int]:
    """The sketches that lines name, those at hand (`kept`) not read again, and how many are gone."""
    named = {c.sketch: None for line in lines for c in line.conditions}
    found = {name: kept[name] if name in kept else _read_sketch(folder, name) for name in named}
    held = {name: sketch for name, sketch in found.items() if sketch is not None}
    return held, len(named) - len(held)


def _read_sketch(folder: Path, name: str) -> np.void | None:
    """None where it is gone, or is not what was written."""
    try:
        text = (folder / "sketches" / name).read_bytes()
    except OSError:
        return None
    if len(text) != _SKETCH.itemsize or hashlib.sha256(text).hexdigest()[:32] != name:
        return None
    found: np.void = np.frombuffer(text, _SKETCH)[0]
    return found


def _sketch(key: bytes, rows: pl.DataFrame) -> NDArray[np.void]:
    """One condition's sketch, by its items' hashes; `rows` begin with the items of the smallest check sums."""
    found = np.zeros((), _SKETCH)
    kept = rows.head(K)
    n = len(kept)
    items = np.frombuffer(b"".join(_item_hash(key, *row) for row in kept.select("item", "draw").iter_rows()), "<u8")
    order = np.argsort(items)
    found["items"][:n] = items[order]
    for kind in ("score", "severity"):
        marks = [
            b"\0\0" if v is None else _mark(key, i, d, kind, v)
            for i, d, v in kept.select("item", "draw", kind).iter_rows()
        ]
        found[kind][:n] = np.frombuffer(b"".join(marks), "<u2")[order]
    return found


def _item_hash(key: bytes, item: str, draw: int) -> bytes:
    return _keyed(key, "item", item, str(draw))


def _mark(key: bytes, item: str, draw: int, kind: str, value: float) -> bytes:
    return _keyed(key, item, str(draw), kind, f"{value + 0.0:.6g}", size=2)


# ------------------------------------------------------------------ looks


def record_look(tables: Tables, *, shown: Sequence[str] | None = None) -> None:
    """Log that the outcomes of these conditions (all, if not said) are about to be shown.

    A run keeps the look too, without any sketch: another machine that opens it sees that it was looked at.
    """
    names = tables.conditions if shown is None else tuple(n for n in shown if n in tables.conditions)
    folder = _folder()
    if folder is None or not names or tables.metric is None:
        return
    try:
        key = _key(folder)
    except (OSError, ValueError):
        return
    command, options, planned = _asked()
    parts = _by_condition(tables, names)
    with contextlib.suppress(OSError):
        shown_now = [
            {"name": _keyed(key, "name", n).hex(), "sketch": _kept_sketch(folder, key, part)}
            for n, part in parts.items()
        ]
        line = {
            "what": "look",
            "command": command,
            "options": _keyed(key, options).hex(),
            "planned": planned,
            "files": [_keyed(key, digest).hex() for digest in map(_file_hash, tables.places) if digest],
            "conditions": shown_now,
        }
        _add(line)
    _in_runs(tables, sorted(parts), {})


def _in_runs(tables: Tables, shown: Sequence[str], more: Mapping[str, str]) -> None:
    """Have the runs themselves keep the look, which other machines then see."""
    for place in tables.places:
        if is_run(place):
            machine = _machine()
            with contextlib.suppress(OSError, RichterError):  # a run that may only be read; the log has it
                add_look(place, {"command": _asked()[0], "machine": machine, "conditions": [*shown], **more})


def _asked() -> tuple[str, str, bool]:
    """The command now running, its options that may change a claim, and whether it follows a plan."""
    click = sys.modules.get("click")
    context = click.get_current_context(silent=True) if click is not None else None
    if context is None:
        return "python", "", False
    command = context.command_path.partition(" ")[2] or "look"
    given = {k: v for k, v in context.params.items() if k not in _QUIET}
    planned = any(given.get(name) for name in ("plan", "plan_path"))
    return command, repr((command, sorted(given.items(), key=lambda pair: pair[0]))), planned


def _file_hash(place: Place) -> str:
    if not isinstance(place, Path) or not place.is_file():
        return ""
    with place.open("rb") as file:
        return hashlib.sha256(file.read(_FILE_PART) + str(place.stat().st_size).encode()).hexdigest()


def looks_at(tables: Tables, log: Log) -> list[Look]:
    """The looks of the log and of the runs at these data, in their order, the present one among them.

    Outcomes count as the same where a look has some of the same items, all of them with equal outcomes, and these are
    no matter of course: n (1 - e) >= 3 for n shared items, e being the chance that two of the outcomes here are equal.
    Under the same name a few may have been changed (kappa of 0.95 or more), and outcomes that are all alike count too.
    A file is known again by its content whatever was read of it.
    """
    found = []
    seen = _seen(tables, log.lines, log.sketches, log.key)
    places = np.flatnonzero(np.array([bool(shown) for shown in seen], dtype=bool)[log.of])
    times = np.datetime_as_string(log.at[places], unit="us").tolist()
    for place, of, at in zip(places.tolist(), log.of[places].tolist(), times, strict=True):
        found.append(Look(at=f"{at}+00:00", command=log.lines[of].command, conditions=seen[of], place=place))
    for run in tables.places:
        if is_run(run):
            for look in looks_of(run):
                shown = tuple(n for n in tables.conditions if n in look["conditions"])
                if shown and look["machine"] != log.machine:
                    found.append(Look(at=look["at"], command=look["command"], conditions=shown))
    return found


def _seen(
    tables: Tables, lines: Sequence[Line], sketches: Mapping[str, np.void], key: bytes, *, sample: bool = False
) -> list[tuple[str, ...]]:
    """Of each line, which of the conditions at hand it showed.

    With `sample` only the items of these data's own sketch are looked up, which is quick and may miss a look at a small
    part.
    """
    if not lines:
        return []
    present = _by_condition(tables, tables.conditions, sample=sample)
    names = {_keyed(key, "name", name).hex(): name for name in tables.conditions}
    files = {_keyed(key, digest).hex() for digest in map(_file_hash, tables.places) if digest}
    stack, named = np.array(list(sketches.values()), dtype=_SKETCH), list(sketches)
    hashed = functools.cache(functools.partial(_item_hash, key))  # conditions share their items
    same: dict[str, tuple[set[str], set[str]]] = {}  # of a sketch: what it is under another name, under the same
    placed: dict[bytes, tuple[NDArray[np.intp], NDArray[np.bool_]]] = {}
    for name, part in present.items():
        here = _Here(key, part.head(K) if sample else part, hashed)
        if here.items.tobytes() not in placed:
            placed[here.items.tobytes()] = _placed(here.items, stack["items"])
        for side, at in np.argwhere(_same(stack, here, *placed[here.items.tobytes()])).tolist():
            same.setdefault(named[at], (set(), set()))[side].add(name)
    out = []
    for line in lines:
        seen = set[str]()
        for shown in line.conditions:
            under = {n for n in (names.get(shown.name),) if n is not None}
            if shown.sketch in same:
                other, own = same[shown.sketch]
                seen |= other | (own & under)
            elif shown.sketch not in sketches:
                seen |= under  # its sketch is gone
        if files and not files.isdisjoint(line.files):
            alone = next(iter(present)) if len(present) == len(line.conditions) == 1 else None
            seen |= {n for c in line.conditions if (n := names.get(c.name, alone)) is not None}
        out.append(tuple(n for n in tables.conditions if n in seen))
    return out


class _Here:
    """One condition at hand, to be held against sketches: its items' hashes in order, values, and marks when needed."""

    def __init__(self, key: bytes, part: pl.DataFrame, hashed: Callable[[str, int], bytes]) -> None:
        self.key = key
        found = np.frombuffer(b"".join(itertools.starmap(hashed, part.select("item", "draw").iter_rows())), "<u8")
        order = np.argsort(found)
        self.items = found[order]
        self.rows = part.select("item", "draw")[order].rows()
        self.values = {k: part[k].cast(pl.Float64).fill_null(np.nan).to_numpy()[order] for k in ("score", "severity")}

    def marks(self, kind: str, wanted: NDArray[np.bool_]) -> NDArray[np.uint16]:
        """The marks of the wanted items; 0 elsewhere, and where there is no value."""
        marks = np.zeros(len(self.rows), dtype="<u2")
        for row in np.flatnonzero(wanted & ~np.isnan(self.values[kind])).tolist():
            item, draw = self.rows[row]
            marks[row] = int.from_bytes(_mark(self.key, item, draw, kind, float(self.values[kind][row])), "little")
        return marks


def _placed(items: NDArray[np.uint64], sought: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Where among the items, which are in order and are some, each of the sought would stand, and whether it does."""
    at = np.minimum(np.searchsorted(items, sought), len(items) - 1)
    return at, items[at] == sought


def _same(stack: NDArray[np.void], here: _Here, at: NDArray[np.intp], hit: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Of each sketch whether it is of these outcomes: first where it has another name, then where it has the same.

    `at` and `hit` say where its items stand among those here.
    """
    found = np.zeros((2, len(stack)), dtype=bool)
    shared = np.zeros(len(here.items), dtype=bool)
    shared[at[hit]] = True
    for kind in ("score", "severity"):
        if np.isnan(here.values[kind]).all():
            continue
        there, now = stack[kind], here.marks(kind, shared)[at]
        both = hit & (there != 0) & (now != 0)
        n = np.count_nonzero(both, axis=1)
        equal = np.count_nonzero(both & (there == now), axis=1)
        for one in np.flatnonzero((n > 0) & (equal >= 0.9 * n)):
            _, counts = np.unique(here.values[kind][at[one, both[one]]], return_counts=True)
            apart = 1 - float(np.sum((counts / n[one]) ** 2))  # 1 - e
            found[:, one] |= equal[one] == n[one] and n[one] * apart >= 3
            found[1, one] |= n[one] >= min(3, len(here.items)) and n[one] - equal[one] <= 0.05 * apart * n[one]
    return found


def attempts(tables: Tables, *, log: Log | None = None, looks: Sequence[Look] = (), plan: str = "") -> int | None:
    """How many ways were tried on these data on this machine: other commands or options, and other plans; at least 1.

    A repeated command is one. Only looks that showed at least two of the conditions (the one, if there is one) count.
    A log that was read, the looks at the data that it holds, and a plan that is being used may be given. None where no
    log is kept.
    """
    if log is None:
        log = read_log()
        seen = _seen(tables, log.lines, log.sketches, log.key, sample=True)
    else:
        shown = {int(log.of[look.place]): look.conditions for look in looks if look.place >= 0}
        seen = [shown.get(k, ()) for k in range(len(log.lines))]
    if log.missing:
        return None
    many, used = min(2, len(tables.conditions)), [line for line in log.lines if line.what == "use"]
    data = _set_of(tables) if used else ""
    plans = {line.plan for line in used if line.set == data} | ({plan} if plan else set())
    tried = {
        line.options for line, conditions in zip(log.lines, seen, strict=True)
        if len(conditions) >= many and not line.planned and line.command in _CLAIMING
    }  # fmt: skip
    return max(1, len(tried) + len(plans))
