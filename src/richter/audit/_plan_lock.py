"""Locks of plans: written before data are collected, and held against the plan and the data afterwards.

Beside `plan.toml` lies `plan.toml.lock` (JSON): the hash of the plan's values, the time, and the versions. A result is
confirmatory when

- the plan is unchanged since its lock, and nothing else that changes numbers differs from it;
- no answer of a run came before the lock. A table does not say when its answers came.
"""

import dataclasses
import datetime
import json
import shlex
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from richter.audit._plan import read_plan, versions
from richter.errors import PlanError
from richter.records import Claim, Result
from richter.store import is_run, open_ledger, write_file
from richter.tables import UNPLANNED_OPTIONS, Dataset, ReadOptions

__all__ = ["PlanStatus", "check_plan", "compare_with_base", "lock_plan", "open_data"]

SETTINGS = "richter.toml"
CLOCKS_AGREE_S = 60.0  # a lock that lies further ahead of this machine's clock says nothing
VOUCHED = "unchanged since its lock; a table does not say when its answers came"
VOUCHED_BY_RUN = "locked before the first answer of the run, and unchanged since"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PlanStatus(Result):
    """Where a plan stands: `unlocked`, `locked` or `changed` since its lock.

    `confirmatory` says whether a result on the data at hand may be called so, `reasons` why not, `vouched` what speaks
    for it.
    """

    kind: str
    hash: str
    state: Literal["unlocked", "locked", "changed"]
    locked_hash: str | None = None
    locked_at: str | None = None
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    confirmatory: bool = False
    reasons: tuple[str, ...] = ()
    vouched: str = ""

    def mark_claims(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """The claims with the plan's hash where they are confirmatory, without one where they are exploratory."""
        return tuple(dataclasses.replace(claim, plan=self.hash if self.confirmatory else None) for claim in claims)

    def add_reasons(self, reasons: Sequence[str]) -> "PlanStatus":
        """The same status with further reasons why it is exploratory, which come first."""
        if not reasons:
            return self
        return dataclasses.replace(self, confirmatory=False, vouched="", reasons=(*reasons, *self.reasons))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Lock:
    """What a lock file holds."""

    kind: str
    hash: str
    locked_at: str
    versions: dict[str, str]


def lock_plan(path: str | Path) -> PlanStatus:
    """Lock a plan: its hash, the time and the versions beside it. One that is locked and unchanged stays as it is."""
    plan, lock = read_plan(path), _read_lock(path)
    if lock is None or lock.hash != plan.hash:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        row = _Lock(kind=plan.kind, hash=plan.hash, locked_at=now, versions=versions())
        text = json.dumps(dataclasses.asdict(row), indent=2, sort_keys=True) + "\n"
        write_file(_lock_path(path), text, remedy="Choose another folder.")
    return check_plan(path)


def check_plan(path: str | Path) -> PlanStatus:
    """Where a plan stands by itself."""
    plan, lock = read_plan(path), _read_lock(path)
    status = PlanStatus(kind=plan.kind, hash=plan.hash, state="unlocked", reasons=("the plan is not locked",))
    if lock is None:
        return status
    reasons = [] if lock.hash == plan.hash else ["the plan was changed after it was locked"]
    ahead_s = _lock_time(lock.locked_at) - datetime.datetime.now(datetime.UTC).timestamp()
    if ahead_s > CLOCKS_AGREE_S:
        reasons.append(f"the time of the lock, {lock.locked_at}, is still to come")
    return dataclasses.replace(
        status,
        state="locked" if lock.hash == plan.hash else "changed",
        locked_hash=lock.hash,
        locked_at=lock.locked_at,
        versions=lock.versions,
        confirmatory=not reasons,
        vouched="" if reasons else VOUCHED,
        reasons=tuple(reasons),
    )


def describe_changed_plan(path: str | Path, status: PlanStatus) -> str:
    """That a plan does not match its lock, and what to do; empty where it does or has none."""
    if status.state != "changed":
        return ""
    again = f"richter plan lock {shlex.quote(str(path))}"
    return f"The plan was changed after it was locked on {status.locked_at}: restore it, or lock it again ({again})."


def open_data(
    path: str | Path,
    tables: Dataset,
    *,
    candidates: Sequence[str] = (),
    extra: Iterable[str] = (),
    answered: Sequence[float] | None = None,
) -> PlanStatus:
    """Where a plan stands towards these data.

    `extra` are options that differ from the plan; options of reading that differ are found here. Runs that hold one of
    the `candidates` (any run, where none is named) must have been answered after the lock. A baseline may be known.
    `answered` says when the first answer came, where the sources do not.
    """
    status, plan = check_plan(path), read_plan(path)
    if differing := (*extra, *_compare_reading(plan.reading or ReadOptions(), tables.options)):
        status = status.add_reasons([f"options differ from the plan ({'; '.join(differing)})"])
    if status.locked_at is not None:
        times = _run_times(tables, candidates) if answered is None else answered
        status = status.add_reasons([why for time in times for why in late_lock(status.locked_at, time)])
        if times and status.confirmatory:
            status = dataclasses.replace(status, vouched=VOUCHED_BY_RUN)
    return status


def late_lock(locked_at: str, first_answer_s: float) -> list[str]:
    """The reasons why a lock does not come before the first answer of a run."""
    if _lock_time(locked_at) > first_answer_s:
        came = datetime.datetime.fromtimestamp(first_answer_s, datetime.UTC).isoformat(timespec="seconds")
        return [f"the plan was locked on {locked_at}, after the first answer came ({came})"]
    return []


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
    rows, absent = (one.values, other.values), "absent"
    return "; ".join(
        f"{name}: base {json.dumps(rows[0].get(name, absent))}, here {json.dumps(rows[1].get(name, absent))}"
        for name in sorted({*rows[0], *rows[1]})
        if rows[0].get(name, absent) != rows[1].get(name, absent)
    )


def _read_toml(path: Path) -> Any:
    """What a TOML file says, its text where it is not TOML; nothing where it says nothing or is not there."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return text


def _run_times(tables: Dataset, candidates: Sequence[str]) -> list[float]:
    """Of every run among the sources that holds a candidate: when its first answer came."""
    found = []
    for run in (place for place in tables.places if is_run(place)):
        with open_ledger(run) as ledger:
            names = {condition.name for condition in ledger.conditions()}
            times = ledger.times()
        for name in (name for name, place in tables.named_places.items() if place == run):
            names |= {name} | {f"{name}: {inner}" for inner in names}
        if times is not None and (not candidates or names & {*candidates}):
            found.append(times[0])
    return found


def _compare_reading(planned: ReadOptions, given: ReadOptions) -> list[str]:
    """The options of reading that differ from the plan's, in words; readings of single files are none of the plan's."""
    rows = [msgspec.to_builtins(options) for options in (planned, given)]
    return [
        f"read.{name}: plan {json.dumps(rows[0][name])}, option {json.dumps(rows[1][name])}"
        for name in rows[0]
        if name not in UNPLANNED_OPTIONS and rows[0][name] != rows[1][name]
    ] + [f"reading of {Path(source).name}: not in the plan" for source in given.saved]


def _lock_path(path: str | Path) -> Path:
    return Path(f"{path}.lock")


def _lock_time(locked_at: str) -> float:
    time = datetime.datetime.fromisoformat(locked_at)
    if time.tzinfo is None:
        raise ValueError("its time has no zone")
    return time.timestamp()


def _read_lock(path: str | Path) -> _Lock | None:
    """The lock of a plan, checked; None where there is none."""
    target = _lock_path(path)
    try:
        lock = msgspec.convert(json.loads(target.read_text(encoding="utf-8")), _Lock)
        _lock_time(lock.locked_at)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise PlanError(
            f"{target} is damaged: {error}.", remedy="Restore it, or remove it and lock the plan anew."
        ) from error
    return lock
