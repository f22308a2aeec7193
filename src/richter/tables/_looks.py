"""The log of looks: when outcomes were shown on this machine, so that a plan's lock can be held against it.

One file of JSON lines in the user's state folder (`RICHTER_STATE`, else `XDG_STATE_HOME/richter`, else
`~/.local/state/richter`). Lines are only added, under a lock on the file, and each carries a hash of all before it.
A line holds no data: of every condition whose outcomes were shown it names a keyed sketch, by which the same outcomes
are known again in another order, part, format or under another name. Sketches lie beside the log, each once, under the
hash of what they hold: looking again at the same outcomes costs a short line. The key is random, and lies there too.
`RICHTER_LOOKS=off` keeps no log; nothing can then be called confirmatory, and results say so.

The sketch is a bottom-k sample: of the items with the smallest check sums, a keyed hash of the item and one of item and
outcome. Two tables sample the same items, so that the share of equal outcomes among shared ones can be read off.
"""

import base64
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
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.errors import RichterError
from richter.store import DatabaseRun, Place, add_look, is_run, looks_of
from richter.tables._tables import KEY, Tables, severity_of

__all__ = ["Log", "Look", "attempts", "log_lock", "log_use", "looks_at", "read_log", "record_look"]

K = 256  # items of a sketch
_MARK = b', "~": "'  # before the hash that ends a line
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
class Log:
    """The log as it stands: its lines, what is wrong with it, and the name of this machine (a hash of its key).

    `missing` says why there is none.
    """

    lines: tuple[Mapping[str, Any], ...] = ()
    faults: tuple[str, ...] = ()
    machine: str = ""
    missing: str = ""
    key: bytes = dataclasses.field(default=b"", repr=False)


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


def _append(folder: Path, line: dict[str, Any]) -> str:
    """Add a line under the lock on the file; a line that a killed command left unfinished is cut off first.

    The line is written before anything is shown, so a cut line is a look that did not happen.
    """
    import fcntl  # not everywhere

    handle = os.open(folder / "looks.jsonl", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        end = os.lseek(handle, 0, os.SEEK_END)
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
    finally:
        os.close(handle)
    return chain.decode()


def read_log() -> Log:
    """The whole log, checked from its first line to its last."""
    folder = _folder()
    if folder is None:
        return Log(missing="the log of looks is switched off (RICHTER_LOOKS=off)")
    try:
        key = _key(folder)
        path = folder / "looks.jsonl"
        rows = path.read_bytes().split(b"\n")[:-1] if path.exists() else []  # an unfinished line is none
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its key is damaged"
        return Log(missing=f"the log of looks in {folder} cannot be kept ({why})")
    faults, before, sound = [], b"", 0
    for row in rows:  # by its bytes: what was written is what is hashed
        chain = row[-66:-2]
        if row[-74:-66] != _MARK or chain != _chained(before, row[:-74]):
            faults.append(f"the log of looks was edited at line {sound + 1}")
            break
        before, sound = chain, sound + 1
    lines = msgspec.json.decode(b"[" + b",".join(rows[:sound]) + b"]")
    for number, (one, two) in enumerate(itertools.pairwise(lines), 1):
        if two["at"] < one["at"]:
            faults.append(f"the clock went back between lines {number} and {number + 1} of the log; its order counts")
    held = {c["sketch"] for line in lines if line["what"] == "look" for c in line["conditions"]}
    gone = len(held.difference(os.listdir(folder / "sketches"))) if (folder / "sketches").is_dir() else len(held)
    if gone:
        faults.append(f"the log of looks has lost {gone} of {len(held)} sketches: what was seen is known by name only")
    return Log(lines=tuple(lines), faults=tuple(faults), machine=_keyed(key, "machine").hex(), key=key)


def _add(line: dict[str, Any]) -> str:
    """Add a line if a log is kept; its chain, or nothing."""
    folder = _folder()
    if folder is None:
        return ""
    try:
        _key(folder)
        return _append(folder, line)
    except (OSError, ValueError):
        return ""  # a home that cannot be written: whoever needs the log is told by `read_log`


def log_lock(plan: str, at: str) -> dict[str, str]:
    """Log that a plan was locked: what the lock file keeps of it."""
    chain = _add({"what": "lock", "plan": plan, "locked_at": at})
    return {"machine": _machine(), "chain": chain} if chain else {}


def log_use(plan: str, tables: Tables) -> None:
    """Log that a plan was used on these data, here and in the runs that they are from."""
    if _add({"what": "use", "plan": plan, "set": _set_of(tables)}):
        _in_runs(tables, tables.conditions, {"plan": plan, "set": _set_of(tables)})


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
    """Keep one condition's sketch and return the name it lies under; whoever comes first writes it whole."""
    text = json.dumps(_sketch(key, rows), sort_keys=True).encode()
    name = hashlib.sha256(text).hexdigest()[:32]
    path = folder / "sketches" / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True, mode=0o700)
        made = path.with_name(f"{name}.{os.getpid()}.{secrets.token_hex(4)}")
        made.touch(mode=0o600)
        made.write_bytes(text)
        made.replace(path)
    return name


def _read_sketch(folder: Path, name: str) -> Mapping[str, Any] | None:
    """None where it is gone, or is not what was written."""
    try:
        text = (folder / "sketches" / name).read_bytes()
    except OSError:
        return None
    return msgspec.json.decode(text) if hashlib.sha256(text).hexdigest()[:32] == name else None


def _sketch(key: bytes, rows: pl.DataFrame) -> dict[str, Any]:
    """One condition's sketch; `rows` begin with the items of the smallest check sums."""
    found: dict[str, Any] = {"n": len(rows)}
    kept = rows.head(K)
    found["items"] = _packed(_keyed(key, "item", i, str(d)) for i, d in kept.select("item", "draw").iter_rows())
    for kind in ("score", "severity"):
        if kept[kind].null_count() < len(kept):
            found[kind] = _packed(
                b"\0\0" if v is None else _mark(key, i, d, kind, v)
                for i, d, v in kept.select("item", "draw", kind).iter_rows()
            )
    return found


def _mark(key: bytes, item: str, draw: int, kind: str, value: float) -> bytes:
    return _keyed(key, item, str(draw), kind, f"{value + 0.0:.6g}", size=2)


def _packed(parts: Iterable[bytes]) -> str:
    return base64.b64encode(b"".join(parts)).decode()


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
        if isinstance(place, DatabaseRun) or is_run(place):
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


def looks_at(tables: Tables, log: Log, *, sample: bool = False) -> list[Look]:
    """The looks of the log and of the runs at these data, in their order, the present one among them.

    Outcomes count as the same where a look has some of the same items, all of them with equal outcomes, and these are
    no matter of course: n (1 - e) >= 3 for n shared items, e being the chance that two of the outcomes here are equal.
    Under the same name a few may have been changed (kappa of 0.95 or more), and outcomes that are all alike count too.
    A file is known again by its content whatever was read of it. With `sample` only the items of these data's own
    sketch are looked up, which is quick and may miss a look at a small part.
    """
    found = []
    present = _by_condition(tables, tables.conditions, sample=sample)
    folder = _folder()
    here = {name: _Here(log.key, part) for name, part in present.items()}
    names = {_keyed(log.key, "name", name).hex(): name for name in tables.conditions} if log.key else {}
    files = {_keyed(log.key, digest).hex() for digest in map(_file_hash, tables.places) if digest} if log.key else set()

    @functools.cache  # what was seen before is not compared again
    def same(named: str, sketch: str) -> frozenset[str]:
        """Which of the conditions at hand a condition of the log is; by its name alone where its sketch is gone."""
        name = names.get(named)
        kept = None if folder is None else _read_sketch(folder, sketch)
        if kept is None:
            return frozenset() if name is None else frozenset((name,))
        return frozenset(n for n in present if _same(kept, here[n], named=n == name))

    for place, line in enumerate(log.lines):
        if line["what"] != "look":
            continue
        shown_then = line["conditions"]
        seen = frozenset().union(*(same(c["name"], c["sketch"]) for c in shown_then))
        if files and not files.isdisjoint(line["files"]):
            alone = next(iter(present)) if len(present) == len(shown_then) == 1 else None
            seen |= {n for c in shown_then if (n := names.get(c["name"], alone)) is not None}
        if seen:
            shown = tuple(n for n in tables.conditions if n in seen)
            found.append(Look(at=line["at"], command=line["command"], conditions=shown, place=place))
    for run in tables.places:
        if isinstance(run, DatabaseRun) or is_run(run):
            for look in looks_of(run):
                shown = tuple(n for n in tables.conditions if n in look["conditions"])
                if shown and look["machine"] != log.machine:
                    found.append(Look(at=look["at"], command=look["command"], conditions=shown))
    return found


class _Here:
    """One condition at hand, to be held against sketches: its items' hashes in order, values, and marks when needed."""

    def __init__(self, key: bytes, part: pl.DataFrame) -> None:
        self.key = key
        self.rows = part.select("item", "draw").rows()
        hashes = b"".join(_keyed(key, "item", item, str(draw)) for item, draw in self.rows)
        found = np.frombuffer(hashes, dtype="<u8")
        self.order = np.argsort(found)
        self.items = found[self.order]
        self.values = {kind: part[kind].cast(pl.Float64).fill_null(np.nan).to_numpy() for kind in ("score", "severity")}
        self._marks = {kind: np.zeros(len(self.rows), dtype="<u2") for kind in self.values}
        self._made = {kind: np.zeros(len(self.rows), dtype=bool) for kind in self.values}

    def marks(self, kind: str, rows: NDArray[np.intp]) -> NDArray[np.uint16]:
        marks, made = self._marks[kind], self._made[kind]
        for row in rows[~made[rows]].tolist():
            item, draw = self.rows[row]
            mark = _mark(self.key, item, draw, kind, float(self.values[kind][row]))
            marks[row] = int.from_bytes(mark, "little")
        made[rows] = True
        return marks[rows]


def _same(sketch: Mapping[str, Any], here: _Here, *, named: bool) -> bool:
    items = np.frombuffer(base64.b64decode(sketch["items"]), dtype="<u8")
    if not len(here.items):
        return False
    at = np.minimum(np.searchsorted(here.items, items), len(here.items) - 1)
    hit, rows = here.items[at] == items, here.order[at]
    for kind in ("score", "severity"):
        if kind not in sketch or not hit.any():
            continue
        there = np.frombuffer(base64.b64decode(sketch[kind]), dtype="<u2")
        both = np.flatnonzero(hit & (there != 0) & ~np.isnan(here.values[kind][rows]))
        n = len(both)
        if not n:
            continue
        equal = int(np.sum(here.marks(kind, rows[both]) == there[both]))
        if equal < 0.9 * n:
            continue
        _, counts = np.unique(here.values[kind][rows[both]], return_counts=True)
        apart = 1 - float(np.sum((counts / n) ** 2))  # 1 - e
        if equal == n and n * apart >= 3:
            return True
        if named and n >= min(3, len(here.items)) and n - equal <= 0.05 * apart * n:
            return True
    return False


def attempts(tables: Tables) -> int | None:
    """How many ways were tried on these data on this machine: other commands or options, and other plans; at least 1.

    A repeated command is one. Only looks that showed at least two of the conditions (the one, if there is one) count.
    None where no log is kept.
    """
    log = read_log()
    if log.missing:
        return None
    looks = looks_at(tables, log, sample=True)
    many = min(2, len(tables.conditions))
    lines = [log.lines[look.place] for look in looks if look.place >= 0 and len(look.conditions) >= many]
    tried = {line["options"] for line in lines if not line["planned"] and line["command"] in _CLAIMING}
    data = _set_of(tables)
    plans = {line["plan"] for line in log.lines if line["what"] == "use" and line["set"] == data}
    return max(1, len(tried) + len(plans))
