"""Plans: written from a table of fields, locked by hash before data are looked at, checked afterwards.

A kind of plan is a module with a table `FIELDS` (name -> PlanField), a line `HELP`, and, where fields constrain each
other, a function `faults(values)` that yields sentences. The machinery here knows nothing of any kind.

Beside `plan.toml` lies `plan.toml.lock` (JSON). It holds the hash and the values as they were locked, so that every
later change can be listed, the time and the versions, and the lock's line in the log of looks (`tables/_looks.py`). A
result is confirmatory when the plan is locked, unchanged since, and no outcomes of its candidate were shown before.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import importlib.metadata
import json
import math
import platform
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin

import msgspec

from richter import __version__
from richter.errors import PlanError
from richter.records import Claim, Result, of_kind
from richter.store import is_run, looks_of, open_ledger, write_file
from richter.tables import Log, Look, Tables, attempts, log_lock, log_use, looks_at, read_log

__all__ = [
    "Plan",
    "PlanField",
    "PlanStatus",
    "ReceiptCheck",
    "check_plan",
    "check_receipt",
    "is_receipt",
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
OPTIONAL: Any = object()  # ... of one that is left out of the values, and of their hash, unless given
RECEIPT = "richter/receipt"
CLOCKS_AGREE_S = 60.0  # a machine whose clock is further off cannot say what came before what


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanField:
    """One field: the type that msgspec checks its values by (of a table its fields), what it means, and its default.

    `many` makes it a list, or an array of tables.
    """

    type: Any
    help: str
    default: Any = MANDATORY
    many: bool = False


def asks(
    kind: Any, words: str, default: Any = MANDATORY, *, many: bool = False, choices: Sequence[str] = (), **limits: float
) -> PlanField:
    """A field of a plan: its type, what it means, its default, and its choices or limits (gt, ge, lt, le)."""
    if choices:
        kind = Literal[tuple(choices)]
    elif limits:
        kind = Annotated[kind, msgspec.Meta(**limits)]  # type: ignore[call-overload]
    return PlanField(type=kind, help=words, default=default, many=many)


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
class PlanStatus(Result):
    """Where a plan stands: `unlocked`, `locked` or `changed` since its lock, and each deviation in words.

    `confirmatory` says whether a result on the data at hand may be called so, `reasons` why not, `vouched` what speaks
    for it; `looks` are those at these data that came before the lock, `earlier` the times of former locks, `attempts`
    how many ways this machine knows to have been tried on the data. `uses` counts the sets of data that the plan was
    used on: what is compared with each other is one set. `log_faults` is what is wrong with this machine's
    log of looks. `seen` are the conditions whose outcomes were shown before the lock; `barred` says that something else
    makes every claim exploratory.
    """

    kind: str
    hash: str
    state: Literal["unlocked", "locked", "changed"]
    locked_hash: str | None = None
    locked_at: str | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    deviations: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    vouched: str = ""
    earlier: tuple[str, ...] = ()
    attempts: int | None = None
    uses: int = 0
    log_faults: tuple[str, ...] = ()
    confirmatory: bool = False
    reasons: tuple[str, ...] = ()
    barred: bool = True
    seen: tuple[str, ...] = ()

    def marked(self, claims: Iterable[Claim], *, control: str | None = None) -> tuple[Claim, ...]:
        """The claims with the plan's hash where they are confirmatory, none where they are exploratory.

        That is where something bars all of them, and where what a claim is about was shown before the lock: the one
        condition, both of a pair, or, in a pair with the control, the other.
        """
        held = set() if self.barred else {*self.seen}
        return tuple(
            dataclasses.replace(c, plan=None if self.barred or {*c.conditions} - {control} <= held else self.hash)
            for c in claims
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCheck(Result):
    """A receipt held against its plan: what it was given for, where the lock is known, and what does not fit."""

    schema: ClassVar = "richter/receipt-check"

    plan: str
    hash: str
    locked_at: str
    where: str
    faults: tuple[str, ...]


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
    faults = [fault for name in given for fault in _value(name, given[name], fields[name])[1]]
    if faults:
        raise PlanError(" ".join(faults), remedy="Give values in range.")
    lines = [f"# {about}", "# Lock it before you look at the data: richter plan lock FILE", "", f'kind = "{kind}"']
    tables: list[str] = []
    for name, field in fields.items():
        value = given.get(name, field.default)
        if isinstance(field.type, Mapping):
            tables += _table_lines(name, field, value)
            continue
        rule = _rule(field)
        lines += ["", f"# {field.help}" + (f" ({rule})" if rule else "")]
        if value is MANDATORY or value is OPTIONAL:
            lines.append(
                f"# {name} =   # {'mandatory: there is no default' if value is MANDATORY else 'may be left out'}"
            )
        else:
            lines.append(f"{name} = {_toml(value)}")
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
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PlanError(f"{path} is not TOML: {error}.", remedy="Correct this line.") from error
    found = raw.pop("kind", None)
    if not isinstance(found, str) or found not in KINDS:
        raise PlanError(
            f"{path}: kind = {found!r} is not a kind of plan.", remedy=f"Use one of {', '.join(sorted(KINDS))}."
        )
    if kind is not None and found != kind:
        raise PlanError(f"{path} is a {found} plan; this command needs a {kind} plan.", remedy="Name another plan.")
    return make_plan(found, raw, path=str(path))


def make_plan(kind: str, given: Mapping[str, Any], *, path: str = "") -> Plan:
    """A plan from its values; every unknown field and impossible value is named, all at once."""
    fields, _, cross = _kind(kind)
    values, faults = _checked(given, fields, "")
    if not faults:
        faults = list(cross(values))
    if faults:
        raise PlanError((f"{path}: " if path else "") + " ".join(faults), remedy="Correct the plan.")
    return Plan(kind=kind, values=values, hash=_hash(kind, values), path=path)


def lock_plan(path: str | Path, *, now: datetime.datetime | None = None) -> PlanStatus:
    """Lock a plan: write its hash, values, the time and the versions beside it, and a receipt to keep elsewhere.

    A changed plan may be locked anew: outcomes that were shown before the new lock are then exploratory.
    """
    plan, lock = read_plan(path), _read_lock(path)
    if lock.get("hash") != plan.hash:
        at = _stamp(now)
        logged = log_lock(plan.hash, at)
        earlier = [*lock.get("earlier", []), *([{k: lock[k] for k in ("hash", "locked_at")}] if lock else [])]
        lock = {"kind": plan.kind, "hash": plan.hash, "locked_at": at, "log": logged, "earlier": earlier}
        _write_json(_lock_path(path), lock | {"versions": versions(), "values": plan.values})
    receipt = {"schema": RECEIPT, "plan": Path(path).name} | {
        k: lock.get(k, {}) for k in ("kind", "hash", "locked_at", "log")
    }
    _write_json(Path(f"{path}.receipt"), receipt | {"seal": _seal(receipt)})
    return check_plan(path)


def check_plan(path: str | Path) -> PlanStatus:
    """Where a plan stands, with every deviation from what was locked."""
    return _standing(path, _read_lock(path), read_log(whole=True))


def _standing(path: str | Path, lock: Mapping[str, Any], log: Log) -> PlanStatus:
    plan = read_plan(path)
    uses, faults = len(_sets(log, plan.hash)), log.faults or ((log.missing,) if log.missing else ())
    found = PlanStatus(kind=plan.kind, hash=plan.hash, state="unlocked", uses=uses, log_faults=faults)
    if "hash" not in lock:
        return dataclasses.replace(found, reasons=("the plan is not locked",))
    changed = lock["hash"] != plan.hash
    return dataclasses.replace(
        found,
        state="changed" if changed else "locked",
        locked_hash=lock["hash"],
        locked_at=lock["locked_at"],
        versions=lock.get("versions", {}),
        deviations=tuple(_deviations(lock.get("values", {}), plan.values)) if changed else (),
        earlier=tuple(e["locked_at"] for e in lock.get("earlier", [])),
        confirmatory=not changed,
        barred=changed,
        reasons=("the plan was changed after it was locked",) if changed else (),
    )


def check_receipt(path: str | Path, plan: str | Path | None = None) -> ReceiptCheck:
    """Hold a receipt against the plan (beside it unless given), its lock and this machine's log of looks."""
    path = Path(path)
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
        sealed = receipt.pop("seal")
        sound = receipt["schema"] == RECEIPT and sealed == _seal(receipt)
        beside = path.with_name(Path(receipt["plan"]).name)
        hash_, locked_at, chain, machine = (
            str(part)
            for part in (receipt["hash"], receipt["locked_at"], *map(receipt["log"].get, ("chain", "machine")))
        )
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise PlanError(f"{path} is no receipt.", remedy="Give a file that `richter plan lock` wrote.") from error
    if not sound:
        raise PlanError(f"{path} was edited: it does not fit its own seal.", remedy="Use the receipt as written.")
    target = Path(plan) if plan is not None else beside
    found, lock, log = read_plan(target), _read_lock(target), read_log(whole=True)
    faults = []
    if found.hash != hash_:
        faults.append("the plan is not the one that the receipt was given for")
    if (lock.get("hash"), lock.get("locked_at")) != (hash_, locked_at):
        faults.append("the lock is not the one that the receipt was given for")
    known = log.lock_of(hash_, chain) is not None
    if not known and machine == log.machine:
        faults.append("the log of looks no longer holds the lock: it was deleted, cut or edited")
    where = "this machine's log of looks has it" if known else "it was locked on another machine"
    return ReceiptCheck(plan=str(target), hash=hash_, locked_at=locked_at, where=where, faults=tuple(faults))


def is_receipt(path: str | Path) -> bool:
    """Whether a file is a receipt of a lock."""
    try:
        return f'"{RECEIPT}"' in Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def open_data(
    path: str | Path, tables: Tables, *, candidates: Sequence[str] = (), extra: Iterable[str] = ()
) -> PlanStatus:
    """Where a plan stands towards these data, whose use is noted; says whether a result on them is confirmatory.

    Four things take it away: no lock, a change since the lock, options against the plan (`extra`), and outcomes that
    were shown before the lock: of one of the `candidates`, or, where none is named, of two conditions (of the one,
    where there is one). A baseline may be known. What came before what is told by the order of this machine's log of
    looks, and by times only for a lock or a look of another machine; without a log nothing is confirmed.
    """
    lock, log = _read_lock(path), read_log()
    status = _standing(path, lock, log)
    reasons, runs = list(status.reasons), [p for p in tables.places if is_run(p)]
    vouched, before = "", list[Look]()
    kept = [look for run in runs for look in looks_of(run) if look.get("plan") == status.hash]
    looks = looks_at(tables, log)
    if status.locked_at is not None:
        vouched, why, before = _before(lock, log, looks)
        reasons += why
        for run in runs:
            with open_ledger(run) as ledger:
                times, ahead_s = ledger.times(), ledger.clock_ahead_s()
            if abs(ahead_s) > CLOCKS_AGREE_S:
                reasons.append(clocks_disagree(ahead_s))
            elif times is not None:
                first = _stamp(datetime.datetime.fromtimestamp(times[0], datetime.UTC))
                vouched += f"; its answers came {'after' if first > status.locked_at else 'before'} the lock"
    further = tuple(extra)
    if further:
        reasons.append("options were given against the plan")
    barred = bool(reasons)
    seen = [name for name in tables.conditions if any(name in look.conditions for look in before)]
    counted = [name for name in seen if name in candidates] if candidates else seen
    if len(counted) >= (1 if candidates else min(2, len(tables.conditions))):
        shown = [str(look) for look in before if set(look.conditions) & set(counted)]
        more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
        reasons.append(f"outcomes were shown before the plan was locked: {'; '.join(shown[:3])}{more}")
    sets = _sets(log, status.hash) | {log_use(status.hash, tables)} | {look["set"] for look in kept}
    return dataclasses.replace(
        status,
        looks=tuple(str(look) for look in before),
        vouched="" if reasons else vouched,
        uses=len(sets),
        attempts=attempts(tables, log=log, looks=looks, plan=status.hash),
        confirmatory=not reasons,
        reasons=tuple(reasons),
        barred=barred,
        seen=tuple(seen),
        deviations=status.deviations + further,
    )


def _before(lock: Mapping[str, Any], log: Log, looks: Sequence[Look]) -> tuple[str, list[str], list[Look]]:
    """In words what vouches for a lock, the reasons why nothing does, and the looks that came before it."""
    if log.missing:
        return "", [f"{log.missing}, so nothing shows what was seen before the lock"], []
    if lock.get("log") == {}:
        return "", ["no log of looks was kept when the plan was locked"], []
    own = lock.get("log", {})
    clock, cut = of_kind(log.faults, "clock"), of_kind(log.faults, "cut")
    doubts = [fault for fault in log.faults if fault not in clock]  # order counts
    line = log.lock_of(lock.get("hash", ""), own.get("chain", ""))
    if own.get("machine") != log.machine:
        early = [look for look in looks if look.at < lock["locked_at"]]
        said = "locked on another machine, of whose looks nothing is known here; on this one none came before"
        return said, doubts, early
    if line is not None:  # what was cut off came after it
        doubts = [fault for fault in doubts if fault not in cut]
    elif doubts == cut:
        doubts = ["the log of looks no longer holds this lock: it was deleted or cut"]
    early = [
        look for look in looks if (look.at < lock["locked_at"] if look.place < 0 or line is None else look.place < line)
    ]
    return "locked before the first look on this machine", doubts, early


def _sets(log: Log, plan: str) -> set[str]:
    """The sets of data that a plan was used on."""
    return {line.set for line in log.lines if line.what == "use" and line.plan == plan}


def clocks_disagree(ahead_s: float) -> str:
    """Why times on this machine cannot be held against a database's."""
    how = f"{abs(ahead_s) / 3600:.1f} h" if abs(ahead_s) >= 3600 else f"{abs(ahead_s) / 60:.0f} min"
    where = "behind" if ahead_s > 0 else "ahead of"
    return f"this machine's clock is {how} {where} the database's, so its times prove nothing about what came first"


def parse_value(kind: str, name: str, text: str) -> Any:
    """The value of `--set name=text`: TOML if it parses, else the text itself."""
    if name not in _kind(kind)[0]:
        raise PlanError(f"A {kind} plan has no field {name}.", remedy=f"It has {', '.join(sorted(_kind(kind)[0]))}.")
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
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
            if field.default is OPTIONAL:
                continue
            if field.default is MANDATORY:
                faults.append(f"{where}{name} is missing and has no default ({field.help.rstrip('.')}).")
            else:
                values[name] = field.default
            continue
        values[name], found = _value(name, raw[name], field)
        faults += [where + fault for fault in found]
    return values, faults


def _value(name: str, value: Any, field: PlanField) -> tuple[Any, list[str]]:
    """A value as its type has it, so that 1 and 1.0 have one hash, and what is wrong with it."""
    if field.many:
        if not isinstance(value, list | tuple):
            return value, [f"{name} = {value!r} is not a list."]
        single = dataclasses.replace(field, many=False)
        parts = [_value(f"{name}[{i}]", v, single) for i, v in enumerate(value, 1)]
        return [v for v, _ in parts], [fault for _, faults in parts for fault in faults]
    if isinstance(field.type, Mapping):
        if not isinstance(value, Mapping):
            return value, [f"{name} is not a table."]
        return _checked(value, field.type, f"{name}.")
    words = {float: "number", int: "whole number", str: "text", bool: "flag"}
    chosen = get_args(field.type) if get_origin(field.type) is Literal else ()
    kind = str if chosen else next(k for k in words if k in (field.type, *get_args(field.type)))
    try:
        typed: Any = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return value, [f"{name} = {value!r} is not a {words[kind]}."]
    with contextlib.suppress(msgspec.ValidationError):
        msgspec.convert(value, field.type)
        if kind is not float or math.isfinite(typed):
            return typed, []
    rule = f"not one of {', '.join(chosen)}" if chosen else f"out of range ({_rule(field) or 'it must be finite'})"
    return value, [f"{name} = {value!r} is {rule}."]


def _rule(field: PlanField) -> str:
    if get_origin(field.type) is Literal:
        return ("any of " if field.many else "one of ") + ", ".join(get_args(field.type))
    limits = next((x for x in get_args(field.type) if isinstance(x, msgspec.Meta)), msgspec.Meta())
    words = [("above", limits.gt), ("at least", limits.ge), ("below", limits.lt), ("at most", limits.le)]
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
            for key, sub in field.type.items()
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
    sound = isinstance(lock, dict) and isinstance(lock.get("log", {}), dict)
    if not sound or ("hash" in lock and _hash(lock.get("kind", ""), lock.get("values", {})) != lock["hash"]):
        raise PlanError(f"{target} does not fit its own hash: it was edited.", remedy="Restore it as it was written.")
    return dict(lock)


def _write_json(target: Path, row: Mapping[str, Any]) -> None:
    write_file(target, json.dumps(row, indent=2, sort_keys=True) + "\n", remedy="Choose another folder.")


def _seal(receipt: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(receipt, sort_keys=True).encode()).hexdigest()


def _stamp(now: datetime.datetime | None) -> str:
    return (now or datetime.datetime.now(datetime.UTC)).astimezone(datetime.UTC).isoformat(timespec="microseconds")


def versions() -> dict[str, str]:
    """What a result was computed with: Python, Richter and the packages that decide its digits."""
    versions = {"python": platform.python_version(), "richter": __version__}
    for package in ("numba", "numpy", "polars", "scipy"):
        versions[package] = importlib.metadata.version(package)
    return versions
