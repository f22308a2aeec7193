"""Plans: written from a table of fields, locked by hash before data are looked at, checked afterwards.

A kind of plan is a module with a table `FIELDS` (name -> PlanField), a line `HELP`, and, where fields constrain each
other, a function `faults(values)` that yields sentences. The machinery here knows nothing of any kind.

Beside `plan.toml` lies `plan.toml.lock` (JSON). It holds the hash and the values as they were locked, so that every
later change can be listed, the time and the versions, and which data were opened with the plan and when. A result is
confirmatory when the plan is locked, unchanged since, and its data were not opened before the lock. A run in a database
keeps a list of its own of the plans that it was opened with, which all machines see.
"""

import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import math
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from richter import __version__
from richter.errors import InputError, PlanError, StorageError
from richter.store import DatabaseRun, Place, add_plan_use, digest, open_ledger, run_place

__all__ = [
    "Plan",
    "PlanField",
    "PlanStatus",
    "check_plan",
    "lock_plan",
    "new_plan",
    "open_data",
    "parse_value",
    "read_plan",
]

# kind -> module with FIELDS, HELP and, if needed, faults(values)
KINDS = {
    "gate": "richter.audit._plan_gate",
    "severity": "richter.audit._plan_severity",
    "tail": "richter.audit._plan_tail",
}

MANDATORY: Any = object()  # the default of a field that has none
CLOCKS_AGREE_S = 60.0  # a machine whose clock is further off cannot say what came before what


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanField:
    """One field: its type, range or choices, default, and what it means.

    `above`/`below` exclude the end, `low`/`high` include it. `many` makes it a list; `fields` a table (with `many`, an
    array of tables).
    """

    type: Literal["number", "whole", "text", "flag", "table"]
    help: str
    default: Any = MANDATORY
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    fields: Mapping[str, "PlanField"] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A checked plan: its kind, its values with defaults filled in, and the hash of both."""

    kind: str
    values: Mapping[str, Any]
    hash: str
    path: str

    @property
    def seed(self) -> int:
        """A seed that nobody chose: the first 64 bits of the hash."""
        return int(self.hash[:16], 16)

    def order(self, items: Iterable[str]) -> list[str]:
        """The items in the order fixed by the plan's hash, which anyone can recompute: by SHA-256 of hash and item."""
        return sorted(items, key=lambda item: hashlib.sha256(f"{self.hash}\n{item}".encode()).digest())


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanStatus:
    """Where a plan stands: `unlocked`, `locked` or `changed` since its lock, and each deviation in words.

    `confirmatory` says whether a result on the data just opened may be called so, `reasons` why not. `uses` counts the
    sets of data that the plan was used on: what is compared with each other is one set, however many files it is in.
    """

    kind: str
    hash: str
    state: Literal["unlocked", "locked", "changed"]
    locked_hash: str | None = None
    locked_at: str | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    deviations: tuple[str, ...] = ()
    opened: tuple[Mapping[str, str], ...] = ()
    uses: int = 0
    confirmatory: bool = False
    reasons: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        row = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return row | {"opened": [dict(o) for o in self.opened], "versions": dict(self.versions)}


def new_plan(kind: str, given: Mapping[str, Any]) -> str:
    """The text of a plan of this kind: every field with its meaning, its default or the value given.

    A mandatory field without a value is written as a comment, so that checking the plan names it.
    """
    fields, about, _ = _kind(kind)
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise PlanError(
            f"A {kind} plan has no field {', '.join(unknown)}.", remedy=f"It has {', '.join(sorted(fields))}."
        )
    faults = [fault for name in given for fault in _faults_of(name, given[name], fields[name])]
    if faults:
        raise PlanError(" ".join(faults), remedy="Give values in range.")
    lines = [f"# {about}", "# Lock it before you look at the data: richter plan lock FILE", "", f'kind = "{kind}"']
    tables: list[str] = []
    for name, field in fields.items():
        value = given.get(name, field.default)
        if field.type == "table":
            tables += _table_lines(name, field, value)
            continue
        rule = _rule(field)
        lines += ["", f"# {field.help}" + (f" ({rule})" if rule else "")]
        lines.append(
            f"# {name} =   # mandatory: there is no default" if value is MANDATORY else f"{name} = {_toml(value)}"
        )
    return "\n".join([*lines, *tables]) + "\n"


def read_plan(path: str | Path, *, kind: str | None = None) -> Plan:
    """Read and check a plan; every unknown field and impossible value is named, all at once."""
    path = Path(path)
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise PlanError(f"{path}: no such plan.", remedy="Write one with: richter plan new KIND") from error
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError(f"{path} cannot be read: {error}.", remedy="Check the path.") from error
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"{path} is not TOML: {error}.", remedy="Correct this line.") from error
    found = raw.pop("kind", None)
    if not isinstance(found, str) or found not in KINDS:
        raise PlanError(
            f"{path}: kind = {found!r} is not a kind of plan.", remedy=f"Use one of {', '.join(sorted(KINDS))}."
        )
    if kind is not None and found != kind:
        raise PlanError(f"{path} is a {found} plan; this command needs a {kind} plan.", remedy="Name another plan.")
    fields, _, cross = _kind(found)
    values, faults = _checked(raw, fields, "")
    if not faults:
        faults = list(cross(values))
    if faults:
        raise PlanError(f"{path}: " + " ".join(faults), remedy="Correct the plan.")
    return Plan(kind=found, values=values, hash=_hash(found, values), path=str(path))


def lock_plan(path: str | Path, *, now: datetime.datetime | None = None) -> PlanStatus:
    """Lock a plan: write its hash, values, the time and the versions beside it.

    A locked plan may be locked anew after a change as long as no data were opened with it; afterwards this is
    refused, since the change may have been made for what the data showed.
    """
    plan, lock = read_plan(path), _read_lock(path)
    if lock.get("hash") not in (None, plan.hash) and lock.get("opened"):
        opened = lock["opened"][0]
        raise PlanError(
            f"{path} was changed after data were opened with it ({opened['data']}, {opened['at']}): "
            + "; ".join(_deviations(lock["values"], plan.values))
            + ".",
            remedy="Results with the changed plan are exploratory. Write a new plan for new data.",
        )
    if lock.get("hash") != plan.hash:
        _write_lock(
            path,
            {
                "kind": plan.kind,
                "hash": plan.hash,
                "locked_at": _stamp(now),
                "versions": versions(),
                "values": plan.values,
                "opened": lock.get("opened", []),
                "sets": _sets(lock),
            },
        )
    return check_plan(path)


def check_plan(path: str | Path) -> PlanStatus:
    """Where a plan stands, with every deviation from what was locked."""
    plan, lock = read_plan(path), _read_lock(path)
    opened = tuple(lock.get("opened", ()))
    if "hash" not in lock:
        return PlanStatus(
            kind=plan.kind,
            hash=plan.hash,
            state="unlocked",
            opened=opened,
            uses=len(_sets(lock)),
            reasons=("the plan is not locked",),
        )
    changed = lock["hash"] != plan.hash
    return PlanStatus(
        kind=plan.kind,
        hash=plan.hash,
        state="changed" if changed else "locked",
        locked_hash=lock["hash"],
        locked_at=lock["locked_at"],
        versions=lock.get("versions", {}),
        deviations=tuple(_deviations(lock.get("values", {}), plan.values)) if changed else (),
        opened=opened,
        uses=len(_sets(lock)),
        confirmatory=not changed,
        reasons=("the plan was changed after it was locked",) if changed else (),
    )


def open_data(
    path: str | Path, *data: str | Place, now: datetime.datetime | None = None, extra: Iterable[str] = ()
) -> PlanStatus:
    """Record that data, one set of them, are opened with a plan; says whether a result on them is confirmatory.

    `data` are files or runs in a database. Three things take it away: no lock, a change since the lock, and data that
    were opened before the lock; a run in a database also says whether it was opened before with another plan or by
    another machine. `extra` are deviations the caller knows of (a command-line option against the plan); they take it
    away too.
    """
    status, lock, stamp = check_plan(path), _read_lock(path), _stamp(now)
    places = [run_place(d) for d in data]
    shas = [_digest(place) for place in places]
    sets, opened, reasons = _sets(lock), list(status.opened), list(status.reasons)
    together = sorted(set(shas))
    uses = [*sets, together]
    for place, sha in zip(places, shas, strict=True):
        at, before = stamp, [o["at"] for o in opened if o["sha256"] == sha]
        if isinstance(place, DatabaseRun):
            at, earlier, used, ahead_s = _use_database(place, {"plan": status.hash, "sha256": sha, "set": together})
            before, uses = before + earlier, uses + used
            if status.locked_at is not None and abs(ahead_s) > CLOCKS_AGREE_S:
                reasons.append(clocks_disagree(ahead_s))
        if status.locked_at is not None and (early := [b for b in before if b < status.locked_at]):
            why = f"these data were opened on {min(early)}, before the plan was locked"
            reasons += [] if why in reasons else [why]
        if all(o["sha256"] != sha for o in opened):
            opened.append({"data": place.name if isinstance(place, Path) else str(place), "sha256": sha, "at": at})
    further = tuple(extra)
    if further:
        reasons.append("options were given against the plan")
    if together not in sets or len(opened) > len(status.opened):
        sets = sets if together in sets else [*sets, together]
        _write_lock(path, lock | {"opened": opened, "sets": sets})
    return dataclasses.replace(
        status,
        opened=tuple(opened),
        uses=len({tuple(use) for use in uses}),
        confirmatory=not reasons,
        reasons=tuple(reasons),
        deviations=status.deviations + further,
    )


def _sets(lock: Mapping[str, Any]) -> list[list[str]]:
    """The sets of data that a plan was used on, as hashes; in a lock without them every file was one."""
    return list(lock.get("sets", [[o["sha256"]] for o in lock.get("opened", [])]))


def _digest(place: Place) -> str:
    if isinstance(place, Path):
        return _file_hash(place)
    with open_ledger(place) as ledger:
        return digest(ledger)


def _use_database(place: DatabaseRun, use: dict[str, Any]) -> tuple[str, list[str], list[list[str]], float]:
    """Have a database note the use of its run: when that was, when it was opened at all, on which sets this plan was
    used, and how far the database's clock is ahead of this machine's.
    """
    with open_ledger(place, mode="write") as ledger:
        uses = add_plan_use(ledger, use)
        ahead_s = ledger.clock_ahead_s()
    times = [_stamp(datetime.datetime.fromtimestamp(u["at"], datetime.UTC)) for u in uses]
    return times[-1], times, [u["set"] for u in uses if u["plan"] == use["plan"]], ahead_s


def clocks_disagree(ahead_s: float) -> str:
    """Why times on this machine cannot be held against a database's."""
    how = f"{abs(ahead_s) / 3600:.1f} h" if abs(ahead_s) >= 3600 else f"{abs(ahead_s) / 60:.0f} min"
    where = "behind" if ahead_s > 0 else "ahead of"
    return f"this machine's clock is {how} {where} the database's, so its times prove nothing about what came first"


def plan_file(source: object, opened: str | Place | None = None) -> str | Place:
    """What a plan records as opened: the source itself, or the file or run that a frame was made from."""
    file = source if isinstance(source, str | Path | DatabaseRun) else opened
    if file is None:
        raise PlanError(
            "A plan records which file was opened, and a frame in memory is none.",
            remedy="Write it to a file first, or leave the plan out: the finding is then exploratory.",
        )
    return file


def parse_value(kind: str, name: str, text: str) -> Any:
    """The value of `--set name=text`: TOML if it parses, else the text itself."""
    if name not in _kind(kind)[0]:
        raise PlanError(f"A {kind} plan has no field {name}.", remedy=f"It has {', '.join(sorted(_kind(kind)[0]))}.")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


# ------------------------------------------------------------------ checking


def _kind(kind: str) -> tuple[Mapping[str, PlanField], str, Callable[[Mapping[str, Any]], Iterable[str]]]:
    if kind not in KINDS:
        raise PlanError(f"{kind!r} is not a kind of plan.", remedy=f"Use one of {', '.join(sorted(KINDS))}.")
    module = import_module(KINDS[kind])
    return module.FIELDS, module.HELP, getattr(module, "faults", lambda values: ())


def _checked(raw: Mapping[str, Any], fields: Mapping[str, PlanField], where: str) -> tuple[dict[str, Any], list[str]]:
    faults = [f"{where}{name} is not a field." for name in raw if name not in fields]
    values: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in raw:
            if field.default is MANDATORY:
                faults.append(f"{where}{name} is missing and has no default ({field.help})")
            else:
                values[name] = field.default
            continue
        faults += [where + fault for fault in _faults_of(name, raw[name], field)]
        values[name] = _normal(raw[name], field)
    return values, faults


def _faults_of(name: str, value: Any, field: PlanField) -> list[str]:
    if field.many:
        if not isinstance(value, list | tuple):
            return [f"{name} = {value!r} is not a list."]
        single = dataclasses.replace(field, many=False)
        return [fault for i, v in enumerate(value, 1) for fault in _faults_of(f"{name}[{i}]", v, single)]
    if field.type == "table":
        if not isinstance(value, Mapping):
            return [f"{name} is not a table."]
        return _checked(value, field.fields, f"{name}.")[1]
    kinds: dict[str, tuple[type, ...]] = {"number": (int, float), "whole": (int,), "text": (str,), "flag": (bool,)}
    if not isinstance(value, kinds[field.type]) or (isinstance(value, bool) and field.type != "flag"):
        return [f"{name} = {value!r} is not a {field.type}{' number' if field.type == 'whole' else ''}."]
    if field.choices and value not in field.choices:
        return [f"{name} = {value!r} is not one of {', '.join(field.choices)}."]
    if isinstance(value, int | float) and field.type in ("number", "whole"):
        out = (
            not math.isfinite(value)
            or (field.low is not None and value < field.low)
            or (field.high is not None and value > field.high)
            or (field.above is not None and value <= field.above)
            or (field.below is not None and value >= field.below)
        )
        if out:
            return [f"{name} = {value} is out of range ({_rule(field) or 'it must be finite'})."]
    return []


def _normal(value: Any, field: PlanField) -> Any:
    """One spelling per value, so that 1 and 1.0 have one hash."""
    if field.many:
        return [_normal(v, dataclasses.replace(field, many=False)) for v in value] if isinstance(value, list) else value
    if field.type == "table" and isinstance(value, Mapping):
        return _checked(value, field.fields, "")[0]
    if field.type == "number" and isinstance(value, int):
        return float(value)
    return value


def _rule(field: PlanField) -> str:
    if field.choices:
        return ("any of " if field.many else "one of ") + ", ".join(field.choices)
    words = [("above", field.above), ("at least", field.low), ("below", field.below), ("at most", field.high)]
    return ", ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)


def _hash(kind: str, values: Mapping[str, Any]) -> str:
    text = json.dumps({"kind": kind, "values": values}, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _deviations(locked: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    absent = "absent"
    return [
        f"{name}: locked {json.dumps(locked.get(name, absent))}, now {json.dumps(now.get(name, absent))}"
        for name in sorted({*locked, *now})
        if locked.get(name, absent) != now.get(name, absent)
    ]


# ------------------------------------------------------------------ files


def _toml(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=True)  # TOML's basic strings are JSON's
    return json.dumps(value)


def _table_lines(name: str, field: PlanField, value: Any) -> list[str]:
    lines = ["", f"# {field.help}"]
    heading = f"[[{name}]]" if field.many else f"[{name}]"
    filled = list(value) if field.many and value is not MANDATORY else [] if value is MANDATORY else [value]
    for table in filled:
        lines += [heading, *(f"{key} = {_toml(v)}" for key, v in table.items())]
    if not filled:
        lines.append(f"# {heading}")
        lines += [
            f"# {key} = {'' if sub.default is MANDATORY else _toml(sub.default)}   # {sub.help}"
            for key, sub in field.fields.items()
        ]
    return lines


def _lock_path(path: str | Path) -> Path:
    return Path(f"{path}.lock")


def _read_lock(path: str | Path) -> dict[str, Any]:
    target = _lock_path(path)
    if not target.exists():
        return {}
    try:
        lock = json.loads(target.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(
            f"{target} is damaged: {error}.", remedy="Restore it; without it nothing is confirmed."
        ) from error
    sound = isinstance(lock, dict) and isinstance(lock.get("opened", []), list)
    if not sound or ("hash" in lock and _hash(lock.get("kind", ""), lock.get("values", {})) != lock["hash"]):
        raise PlanError(f"{target} does not fit its own hash: it was edited.", remedy="Restore it as it was written.")
    return dict(lock)


def _write_lock(path: str | Path, lock: Mapping[str, Any]) -> None:
    target = _lock_path(path)
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_text(json.dumps(lock, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(target)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy="Choose another folder.") from error


def _stamp(now: datetime.datetime | None) -> str:
    return (now or datetime.datetime.now(datetime.UTC)).astimezone(datetime.UTC).isoformat(timespec="microseconds")


def versions() -> dict[str, str]:
    """What a result was computed with: Python, Richter and the packages that decide its digits."""
    versions = {"python": platform.python_version(), "richter": __version__}
    for package in ("numba", "numpy", "polars", "scipy"):
        versions[package] = importlib.metadata.version(package)
    return versions


def _file_hash(path: str | Path) -> str:
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from error
