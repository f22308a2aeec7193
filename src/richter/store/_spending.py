"""The spending journal: what an attempt may cost is committed before it goes out, and settled with what came of it.

Every process that writes a run has a row in `workers`: what it has spent, and the bounds of what it has in flight. An
attempt in flight has a row in `attempts`, which goes when it is settled. What a process left there when it was killed
may have been billed, so it counts as spent until somebody says otherwise (`Ledger.settle`).
"""

import contextlib
import dataclasses
import os
import platform
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from richter.errors import LedgerError, StorageError
from richter.store._database import Database, Transaction

__all__ = ["Attempt", "Limits", "Room", "RunUsage", "Usage"]

_BEGIN = """
    INSERT INTO workers VALUES (?1, ?2, clock(), clock() + ?3, 0, 0, 0, 0.0, 0)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at RETURNING started_at
"""
_OTHERS = """
    SELECT CAST(coalesce(sum(calls), 0) AS BIGINT), CAST(coalesce(sum(tokens), 0) AS BIGINT),
    coalesce(sum(money_usd), 0.0), CAST(coalesce(sum(in_flight) FILTER (WHERE expires_at >= clock()), 0) AS BIGINT)
    FROM {schema}workers WHERE id <> ?1
"""
_OPEN = "INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5, ?6, clock()) ON CONFLICT DO NOTHING"
_CLOSE = "DELETE FROM attempts WHERE id = ?1"
_USE = "UPDATE workers SET calls = ?2, tokens = ?3, money_usd = ?4, in_flight = ?5 WHERE id = ?1"
_USE_AND_BATCH = """
    UPDATE workers SET calls = ?2, tokens = ?3, money_usd = ?4, in_flight = ?5, batch = ?6
    WHERE id = ?1 AND batch < ?6 RETURNING batch
"""
_LEFT_BEHIND = """
    SELECT id, key, worker, tokens, money_usd FROM attempts WHERE model = ?2 AND worker <> ?1 AND worker NOT IN (
        SELECT id FROM workers WHERE expires_at > clock()
    )
"""
_HAND_OVER = "UPDATE attempts SET worker = ?2 WHERE id = ?1"
_USE_LESS = """
    UPDATE workers SET calls = calls - 1, tokens = tokens - ?2, money_usd = money_usd - ?3, in_flight = in_flight - 1
    WHERE id = ?1
"""
_END = "UPDATE workers SET expires_at = clock() WHERE id = ?1"


@dataclasses.dataclass(slots=True)  # not frozen, which would be three times as slow: every call makes several
class Usage:
    """Calls, tokens and money, spent or held; never changed once made."""

    calls: int = 0
    tokens: int = 0
    money_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens, self.money_usd + other.money_usd)

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(self.calls - other.calls, self.tokens - other.tokens, self.money_usd - other.money_usd)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The most of each over a run with its parts, and of calls in one of its ledgers; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    money_usd: float | None = None
    own_calls: int | None = None

    def allow(self, usage: Usage, own: Usage | None = None) -> bool:
        """Whether this much over the run, and this much in the ledger itself, is within them."""
        return (
            (self.calls is None or usage.calls <= self.calls)
            and (self.tokens is None or usage.tokens <= self.tokens)
            and (self.money_usd is None or usage.money_usd <= self.money_usd)
            and (self.own_calls is None or own is None or own.calls <= self.own_calls)
        )


class Attempt(NamedTuple):
    """A call that somebody wants to make, the most it can cost, and within what."""

    id: str
    key: str
    model: str
    bound: Usage
    limits: Limits = Limits()


class Room(NamedTuple):
    """Whether there was room, what is used by now over the run and in this ledger, and what may still be settled."""

    granted: bool
    used: Usage
    own: Usage
    in_flight: int


class RunUsage(NamedTuple):
    """What is used over a run with its parts, and in one of its ledgers alone."""

    whole: Usage
    own: Usage


class Spender:
    """This process's row in `workers`. Its numbers are absolute and its batches numbered, so doing a transaction
    again after a lost connection changes nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._id = uuid.uuid4().hex
        self._began_at: float | None = None
        self._batch = 0
        self._spent = Usage()
        self._held = Usage()
        self._open: dict[str, Usage] = {}
        self._sent: set[str] = set()
        self.elsewhere = Usage()  # in the other ledgers of the run, where nobody else can spend

    def _lease_s(self) -> float:
        return 0.0  # a folder has one writer: nobody need know whether it lives

    def _begin(self) -> float:
        if self._began_at is None:
            values = (self._id, f"{platform.node()}:{os.getpid()}", self._lease_s())
            self._began_at = float(self._database.write(lambda t: t.rows(_BEGIN, values))[0][0])
        return self._began_at

    def _others(self, transaction: Transaction, schema: str = "") -> tuple[Usage, int]:
        *sums, in_flight = transaction.rows(_OTHERS.format(schema=schema), (self._id,))[0]
        return Usage(*sums), in_flight

    def _elsewhere(self, transaction: Transaction) -> tuple[Usage, int]:
        """What is used in the other ledgers of the run, and what is in flight there."""
        return self.elsewhere, 0

    def used(self) -> RunUsage:
        """What is used by now, over the run with its parts and in this ledger."""

        def look(transaction: Transaction) -> RunUsage:
            own = self._others(transaction)[0] + self._spent + self._held
            return RunUsage(own + self._elsewhere(transaction)[0], own)

        return self._database.write(look)

    def hold(self, wanted: Sequence[Attempt]) -> list[Room]:
        """Open attempts, one after the other, as far as there is room for them over the run."""
        self._begin()

        def take(transaction: Transaction) -> list[Room]:
            transaction.alone()
            others, in_flight = self._others(transaction)
            elsewhere, flying = self._elsewhere(transaction)
            held, rooms, rows = self._held, [], []
            for attempt in wanted:
                own = others + self._spent + held + attempt.bound
                fits = attempt.limits.allow(own + elsewhere, own)
                if fits:
                    held += attempt.bound
                    bound = attempt.bound
                    rows.append((attempt.id, self._id, attempt.key, attempt.model, bound.tokens, bound.money_usd))
                own = others + self._spent + held
                rooms.append(Room(fits, own + elsewhere, own, in_flight + flying + len(self._open) + len(rows)))
            if rows:
                transaction.many(_OPEN, rows)
                transaction.rows(_USE, self._row(self._spent, held))
            return rooms

        rooms = self._database.write(take)
        for attempt, room in zip(wanted, rooms, strict=True):
            if room.granted:
                self._open[attempt.id] = attempt.bound
                self._held += attempt.bound
        return rooms

    def take_over(self, model: str) -> dict[str, str]:
        """Make the open attempts at a model that a process left behind when it ended ours; their ids by key.

        What the run has spent does not change by it.
        """
        self._begin()

        def take(transaction: Transaction) -> list[Any]:
            transaction.alone()
            rows = transaction.rows(_LEFT_BEHIND, (self._id, model))
            for attempt, _, worker, tokens, money in rows:
                transaction.rows(_HAND_OVER, (attempt, self._id))
                transaction.rows(_USE_LESS, (worker, tokens, money))
            held = sum((Usage(1, tokens, money) for *_, tokens, money in rows), self._held)
            transaction.rows(_USE, self._row(self._spent, held))
            return rows

        rows = self._database.write(take)
        for attempt, _, _, tokens, money in rows:
            self._open[attempt] = Usage(1, tokens, money)
            self._held += self._open[attempt]
            self._sent.add(attempt)
        return {key: attempt for attempt, key, *_ in rows}

    def give_back(self, attempts: Sequence[str]) -> None:
        """Close attempts that never went out: they cost nothing."""
        batch = self.next_batch()
        self._database.write(lambda transaction: self.settle(transaction, batch, attempts, Usage()))
        self.count_settled(attempts, Usage())

    def mark_sent(self, attempt: str) -> None:
        """Say that an attempt goes out now: from here on it may cost something."""
        self._sent.add(attempt)

    def _row(self, spent: Usage, held: Usage) -> tuple[Any, ...]:
        used = spent + held
        return self._id, used.calls, used.tokens, used.money_usd, held.calls

    def next_batch(self) -> int:
        """A number for a group of records."""
        self._begin()
        self._batch += 1
        return self._batch

    def settle(self, transaction: Transaction, batch: int, attempts: Sequence[str], cost: Usage) -> bool:
        """Write this worker's numbers with a batch of records; False where the batch is in the ledger already."""
        held = self._held
        for attempt in attempts:
            held -= self._open.get(attempt, Usage())
        if not transaction.rows(_USE_AND_BATCH, (*self._row(self._spent + cost, held), batch)):
            return False
        transaction.many(_CLOSE, [(attempt,) for attempt in attempts])
        return True

    def count_settled(self, attempts: Sequence[str], cost: Usage) -> None:
        """Count a batch that is committed."""
        self._spent += cost
        for attempt in attempts:
            self._held -= self._open.pop(attempt, Usage())
            self._sent.discard(attempt)
        if not self._open:
            self._held = Usage()  # sums of bounds leave crumbs

    def end(self) -> None:
        """Say goodbye. What was never sent is taken back; what was sent and not settled stays counted."""
        if self._began_at is not None:
            with contextlib.suppress(LedgerError, StorageError):  # its records are kept, and the rest stays counted
                self._database.write(self._leave)

    def _leave(self, transaction: Transaction) -> None:
        unsent = [attempt for attempt in self._open if attempt not in self._sent]
        held = self._held
        for attempt in unsent:
            held -= self._open[attempt]
        transaction.many(_CLOSE, [(attempt,) for attempt in unsent])
        transaction.rows(_USE, self._row(self._spent, held if len(unsent) < len(self._open) else Usage()))
        transaction.rows(_END, (self._id,))
