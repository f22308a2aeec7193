"""Locks of plans: written before data are collected, and held against the plan, its log and the data afterwards.

Beside `plan.toml` lie `plan.toml.lock`, `plan.toml.receipt` and `plan.toml.log`. The lock (JSON) holds the hash and the
values as they were locked, so that every later change can be listed, the time, the versions, the hash of its line in
the log, and the hash of the last line that the log had when a command wrote to it. A result is confirmatory when

- the lock and its line in the log agree, and the log is whole;
- the plan is unchanged since, and nothing else that changes numbers differs from it;
- no evaluation with the plan came before the lock, and no answer of a run did. A table does not say when its answers
  came: that the lock came before the first use is then all that is known.
"""

import contextlib
import dataclasses
import datetime
import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from richter.audit._plan import hash_values, read_plan, versions
from richter.audit._plan_log import (
    LogLine,
    PlanLog,
    append_line,
    count_attempts,
    current_command,
    describe_use,
    format_time,
    log_path,
    on_success,
    parse_time,
    read_log,
)
from richter.errors import PlanError, StorageError
from richter.records import Claim, Result
from richter.store import is_run, open_ledger, write_file
from richter.tables import UNPLANNED_OPTIONS, Dataset, ReadOptions

__all__ = [
    "PlanStatus",
    "ReceiptCheck",
    "check_plan",
    "check_receipt",
    "compare_with_base",
    "is_receipt",
    "lock_plan",
    "open_data",
    "record_use",
]

RECEIPT = "richter/receipt"
SETTINGS = "richter.toml"
CLOCKS_AGREE_S = 60.0  # a machine whose clock is further off cannot say what came before what
VOUCHED = "locked before its first use; a table does not say when its answers came"
VOUCHED_BY_RUN = "locked before its first use and before the first answer of the run"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanStatus(Result):
    """Where a plan stands: `unlocked`, `locked` or `changed` since its lock.

    `confirmatory` says whether a result on the data at hand may be called so, `reasons` why not, `vouched` what speaks
    for it. `deviations` lists what differs from the plan: fields changed since the lock, options, settings.
    `attempts` counts the different attempts in the plan's log, the present one included, and `uses` the sets of data.
    `earlier` has the times of former locks, `data` and `candidate_data` the hashes of the data at hand.
    """

    kind: str
    hash: str
    state: Literal["unlocked", "locked", "changed"]
    locked_hash: str | None = None
    locked_at: str | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    confirmatory: bool = False
    reasons: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    vouched: str = ""
    earlier: tuple[str, ...] = ()
    attempts: int = 0
    uses: int = 0
    data: str = ""
    candidate_data: str = ""

    def mark_claims(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """The claims with the plan's hash where they are confirmatory, without one where they are exploratory."""
        return tuple(dataclasses.replace(claim, plan=self.hash if self.confirmatory else None) for claim in claims)

    def add_reasons(self, reasons: Sequence[str]) -> "PlanStatus":
        """The same status with further reasons why it is exploratory, which come first."""
        if not reasons:
            return self
        return dataclasses.replace(self, confirmatory=False, vouched="", reasons=(*reasons, *self.reasons))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptCheck(Result):
    """A receipt held against its plan: what it was given for, and what does not fit."""

    schema: ClassVar = "richter/receipt-check"

    plan: str
    hash: str
    locked_at: str
    faults: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _EarlierLock:
    hash: str
    locked_at: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Lock:
    """What a lock file holds. `log` is the hash of the lock's line in the log."""

    kind: str
    hash: str
    locked_at: str
    versions: dict[str, str]
    values: dict[str, Any]
    log: str = ""
    head: str = ""
    seal: str = ""
    earlier: tuple[_EarlierLock, ...] = ()


def lock_plan(path: str | Path, *, now: datetime.datetime | None = None) -> PlanStatus:
    """Lock a plan: a line in its log, its hash, values, time and versions beside it, and a receipt to keep elsewhere.

    A plan that is locked and unchanged stays as it is. A changed plan may be locked anew, which is confirmatory only
    where no evaluation came before.
    """
    plan, lock, log = read_plan(path), _read_lock(path), read_log(path)
    if fault := log.fault or _find_cut(path, lock, log):
        raise PlanError(f"{fault}.", remedy="Restore the log, or copy the plan to another name and lock the copy.")
    if lock is None or lock.hash != plan.hash or _find_line(lock, log) is None:
        earlier = () if lock is None else (*lock.earlier, _EarlierLock(hash=lock.hash, locked_at=lock.locked_at))
        at, installed = format_time(now), versions()
        line = append_line(path, "lock", at, plan=plan.hash, versions=installed) or ""
        lock = _Lock(
            kind=plan.kind, hash=plan.hash, locked_at=at, versions=installed, values=dict(plan.values), log=line,
            head=line, earlier=earlier,
        )  # fmt: skip
        _write_lock(path, lock)
    receipt = {
        "schema": RECEIPT, "plan": Path(path).name, "kind": lock.kind, "hash": lock.hash, "locked_at": lock.locked_at,
        "log": lock.log,
    }  # fmt: skip
    _write_json(Path(f"{path}.receipt"), receipt | {"seal": _seal(receipt)})
    return check_plan(path)


def check_plan(path: str | Path) -> PlanStatus:
    """Where a plan stands by itself: its lock, every deviation from what was locked, and its log, line by line."""
    plan, lock, log = read_plan(path), _read_lock(path), read_log(path)
    status = PlanStatus(
        kind=plan.kind, hash=plan.hash, state="unlocked", attempts=len({line.attempt for line in log.uses}),
        uses=len({line.data for line in log.uses if line.plan == plan.hash}),
    )  # fmt: skip
    if lock is None:
        return dataclasses.replace(status, reasons=("the plan is not locked",))
    changed = lock.hash != plan.hash
    reasons = (*(("the plan was changed after it was locked",) if changed else ()), *_lock_faults(path, lock, log))
    return dataclasses.replace(
        status,
        state="changed" if changed else "locked",
        locked_hash=lock.hash,
        locked_at=lock.locked_at,
        versions=lock.versions,
        deviations=tuple(_compare_values(lock.values, plan.values)) if changed else (),
        earlier=tuple(earlier.locked_at for earlier in lock.earlier),
        confirmatory=not reasons,
        vouched="" if reasons else VOUCHED,
        reasons=reasons,
    )


def open_data(
    path: str | Path,
    tables: Dataset,
    *,
    candidates: Sequence[str] = (),
    extra: Iterable[str] = (),
    answered: Sequence[tuple[float, float]] | None = None,
) -> PlanStatus:
    """Where a plan stands towards these data; `record_use` notes the evaluation once it has succeeded.

    `extra` are options that differ from the plan; options of reading that differ are found here. Runs that hold one of
    the `candidates` (any run, where none is named) must have been answered after the lock. A baseline may be known.
    `answered` says when the first answer came and how far that clock is ahead, where the sources do not.
    """
    status, plan, log = check_plan(path), read_plan(path), read_log(path)
    own = [name for name in candidates if name in tables.conditions]
    further = (*extra, *_compare_reading(plan.reading or ReadOptions(), tables.options))
    deviations = (*status.deviations, *further)
    present = describe_use(
        plan=status.hash,
        data=tables.data_hash,
        candidate=tables.select(own).data_hash if own else tables.data_hash,
        options=deviations,
    )
    status = dataclasses.replace(
        status,
        deviations=deviations,
        attempts=count_attempts(log, present),
        uses=len({line.data for line in (*log.uses, present) if line.plan == status.hash}),
        data=present.data,
        candidate_data=present.candidate,
    )
    if further:
        status = status.add_reasons([f"options differ from the plan ({'; '.join(further)})"])
    if status.locked_at is not None:
        times = _run_times(tables, candidates) if answered is None else answered
        status = status.add_reasons([why for time in times for why in late_lock(status.locked_at, *time)])
        if times and status.confirmatory:
            status = dataclasses.replace(status, vouched=VOUCHED_BY_RUN)
    if status.confirmatory and not _is_recordable(path, log, present):
        status = dataclasses.replace(status, vouched=f"{status.vouched}; this use cannot be recorded beside the plan")
    return status


def record_use(path: str | Path, status: PlanStatus) -> None:
    """Note an evaluation that has succeeded in the plan's log; in a command, when the command ends well.

    The same data and options again are the same evaluation and are not noted twice. A folder that cannot be written is
    no error: `open_data` has said so.
    """
    fields = {
        "plan": status.hash, "data": status.data, "candidate": status.candidate_data, "options": status.deviations,
        "command": current_command(),
    }  # fmt: skip

    def write() -> None:
        with contextlib.suppress(StorageError, PlanError):
            lock = _read_lock(path)
            if _find_cut(path, lock, read_log(path)):
                return  # a further line would hide it
            line = append_line(path, "use", format_time(), **fields)
            if line is not None and lock is not None and lock.head not in ("", line):
                _write_lock(path, dataclasses.replace(lock, head=line))

    on_success(write)


def late_lock(locked_at: str, first_answer_s: float, ahead_s: float) -> list[str]:
    """The reasons why a lock does not come before the first answer of a run, whose clock is `ahead_s` ahead."""
    reasons = []
    lock_time = parse_time(locked_at)
    if lock_time is None or lock_time.timestamp() > first_answer_s:
        came = datetime.datetime.fromtimestamp(first_answer_s, datetime.UTC).isoformat(timespec="seconds")
        reasons.append(f"the plan was locked on {locked_at}, after the first answer came ({came})")
    if abs(ahead_s) > CLOCKS_AGREE_S:
        off = f"{abs(ahead_s) / 3600:.1f} h" if abs(ahead_s) >= 3600 else f"{abs(ahead_s) / 60:.0f} min"
        side = "behind" if ahead_s > 0 else "ahead of"
        reasons.append(f"this machine's clock is {off} {side} the database's, so its times prove nothing")
    return reasons


def check_receipt(path: str | Path, plan: str | Path | None = None) -> ReceiptCheck:
    """A receipt held against the plan (beside it unless given), its lock and its log."""
    path = Path(path)
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
        seal = receipt.pop("seal")
        is_sound = receipt["schema"] == RECEIPT and seal == _seal(receipt)
        beside = path.with_name(Path(receipt["plan"]).name)
        hash_, locked_at, line = (str(receipt[name]) for name in ("hash", "locked_at", "log"))
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise PlanError(f"{path} is not a receipt.", remedy="Give a file that `richter plan lock` wrote.") from error
    if not is_sound:
        raise PlanError(f"{path} was edited: it does not fit its own seal.", remedy="Use the receipt as written.")
    target = Path(plan) if plan is not None else beside
    lock, log = _read_lock(target), read_log(target)
    faults = [log.fault] if log.fault else []
    if read_plan(target).hash != hash_:
        faults.append("the plan is not the one that the receipt was given for")
    if lock is None or (lock.hash, lock.locked_at) != (hash_, locked_at):
        faults.append("the lock is not the one that the receipt was given for")
    if not any((known.hash, known.plan, known.at) == (line, hash_, locked_at) for known in log.lines):
        faults.append(f"{log_path(target).name} does not hold the lock that the receipt was given for")
    return ReceiptCheck(plan=str(target), hash=hash_, locked_at=locked_at, faults=tuple(faults))


def compare_with_base(base: str | Path, plan: str | None) -> tuple[str, ...]:
    """Sentences on how the plan and the settings in this folder differ from the base branch's, copied to `base`."""
    found = []
    if plan is not None and not (Path(base) / plan).is_file():
        found.append(f"The base branch has no {plan}: this branch brings its own.")
    elif plan is not None and (differs := _compare_plans(Path(base) / plan, Path(plan))):
        found.append(f"This branch changes {plan} ({differs}). The base branch's plan is used.")
    if _read_toml(Path(base) / SETTINGS) != _read_toml(Path(SETTINGS)):
        found.append(f"This branch changes {SETTINGS}. The base branch's settings are used.")
    return tuple(found)


def _compare_plans(base: Path, own: Path) -> str:
    """How a plan differs from the base branch's, in words; empty where it does not."""
    try:
        one, other = read_plan(base), read_plan(own)
    except PlanError as error:
        return "it is missing" if not own.exists() else str(error.what)
    if one.kind != other.kind:
        return f"kind: base {one.kind}, here {other.kind}"
    return "; ".join(_compare_values(one.values, other.values, ("base", "here")))


def _read_toml(path: Path) -> Any:
    """What a TOML file says, its text where it is not TOML; nothing where it says nothing or is not there."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return text


def is_receipt(path: str | Path) -> bool:
    """Whether a file is a receipt of a lock."""
    try:
        return f'"{RECEIPT}"' in Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


# ------------------------------------------------------------------ checks


def _find_line(lock: _Lock, log: PlanLog) -> int | None:
    """The place of the lock's line in the log; None where the log has none that agrees with the lock."""
    for place, line in enumerate(log.lines):
        if line.what == "lock" and line.hash == lock.log:
            same = (line.plan, line.at, line.versions) == (lock.hash, lock.locked_at, lock.versions)
            return place if same else None
    return None


def _find_cut(path: str | Path, lock: _Lock | None, log: PlanLog) -> str:
    """In words that the log has lost lines that it had; empty where it has not, or where no lock knows."""
    if lock is None or lock.head == "" or lock.head in {line.hash for line in log.lines}:
        return ""
    name = log_path(path).name
    return f"{name} was cut: lines are missing at its end" if log.lines else f"{name} is missing or empty"


def _lock_faults(path: str | Path, lock: _Lock, log: PlanLog) -> tuple[str, ...]:
    """The reasons why a lock confirms nothing whatever the data."""
    name, place = log_path(path).name, _find_line(lock, log)
    lock_time = parse_time(lock.locked_at)
    if fault := log.fault or _find_cut(path, lock, log):
        return (fault,)
    if place is None:
        return (f"{name} does not hold this lock; lock the plan anew",)
    reasons = []
    before = sum(line.what == "use" for line in log.lines[:place])
    if before:
        times = "once" if before == 1 else f"{before} times"
        reasons.append(f"the plan was used {times} before this lock; for new data lock a copy under another name")
    if lock_time is None or lock_time > datetime.datetime.now(datetime.UTC) + datetime.timedelta(
        seconds=CLOCKS_AGREE_S
    ):
        reasons.append(f"the time of the lock, {lock.locked_at}, is still to come")
    return tuple(reasons)


def _run_times(tables: Dataset, candidates: Sequence[str]) -> list[tuple[float, float]]:
    """Of every run among the sources that holds a candidate: when its first answer came, how far its clock is ahead."""
    found = []
    for run in (place for place in tables.places if is_run(place)):
        with open_ledger(run) as ledger:
            names = {condition.name for condition in ledger.conditions()}
            times, ahead_s = ledger.times(), ledger.clock_ahead_s()
        for name in (name for name, place in tables.named_places.items() if place == run):
            names |= {name} | {f"{name}: {inner}" for inner in names}
        if times is not None and (not candidates or names & {*candidates}):
            found.append((times[0], ahead_s))
    return found


def _is_recordable(path: str | Path, log: PlanLog, present: LogLine) -> bool:
    if present.use in {line.use for line in log.uses}:
        return True
    target = log_path(path)
    return os.access(target if target.exists() else target.parent, os.W_OK)


def _compare_values(
    locked: Mapping[str, Any], now: Mapping[str, Any], words: tuple[str, str] = ("locked", "now")
) -> list[str]:
    """The fields that differ, each with both values; `words` say which is which."""
    absent, (one, other) = "absent", words
    return [
        f"{name}: {one} {json.dumps(locked.get(name, absent))}, {other} {json.dumps(now.get(name, absent))}"
        for name in sorted({*locked, *now})
        if locked.get(name, absent) != now.get(name, absent)
    ]


def _compare_reading(planned: ReadOptions, given: ReadOptions) -> list[str]:
    """The options of reading that differ from the plan's, in words; readings of single files are none of the plan's."""
    rows = [msgspec.to_builtins(options) for options in (planned, given)]
    return [
        f"read.{name}: plan {json.dumps(rows[0][name])}, option {json.dumps(rows[1][name])}"
        for name in rows[0]
        if name not in UNPLANNED_OPTIONS and rows[0][name] != rows[1][name]
    ] + [f"reading of {Path(source).name}: not in the plan" for source in given.saved]


# ------------------------------------------------------------------ files


def _lock_path(path: str | Path) -> Path:
    return Path(f"{path}.lock")


def _read_lock(path: str | Path) -> _Lock | None:
    """The lock of a plan, checked; None where there is none."""
    target = _lock_path(path)
    try:
        lock = msgspec.convert(json.loads(target.read_text(encoding="utf-8")), _Lock)
        is_sound = hash_values(lock.kind, lock.values) == lock.hash
        is_sound &= lock.seal == _seal_lock(lock)
        is_sound &= all(parse_time(at) is not None for at in (lock.locked_at, *(e.locked_at for e in lock.earlier)))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise PlanError(
            f"{target} is damaged: {error}.", remedy="Restore it, or remove it and lock the plan anew."
        ) from error
    if not is_sound:
        raise PlanError(
            f"{target} does not fit its own hashes, or has a wrong time: it was edited.",
            remedy="Restore it as it was written.",
        )
    return lock


def _write_lock(path: str | Path, lock: _Lock) -> None:
    _write_json(_lock_path(path), msgspec.to_builtins(dataclasses.replace(lock, seal=_seal_lock(lock))))


def _seal_lock(lock: _Lock) -> str:
    return _seal({name: value for name, value in msgspec.to_builtins(lock).items() if name != "seal"})


def _write_json(target: Path, row: Mapping[str, Any]) -> None:
    write_file(target, json.dumps(row, indent=2, sort_keys=True) + "\n", remedy="Choose another folder.")


def _seal(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()
