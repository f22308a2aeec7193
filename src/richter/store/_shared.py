"""One process among several that write a run: its lease, the calls it has claimed, and its part of the budget.

Times are the database's own, so clocks that disagree between machines do no harm.
"""

import contextlib
import dataclasses
import os
import platform
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from richter.errors import LedgerUnreachable
from richter.store._database import Transaction
from richter.store._postgres import PostgresDatabase

__all__ = ["Hold", "Limits", "Room", "Usage", "Worker"]

LEASE_S = 30.0  # a worker that has not been heard of for so long is taken for dead
BEAT_S = 5.0

_BEGIN = """
    INSERT INTO workers VALUES (?1, ?2, clock(), clock() + ?3, 0, 0, 0, 0.0, 0)
    ON CONFLICT (id) DO UPDATE SET expires_at = excluded.expires_at RETURNING started_at
"""
_BEAT = "UPDATE workers SET expires_at = clock() + ?2 WHERE id = ?1"
# what nobody holds, what is ours already, and what a worker held that is dead. After a restart of the server every
# worker has the length of a lease to be heard of again
_CLAIM = """
    INSERT INTO claims SELECT wanted.key, ?1 FROM unnest(CAST(?2 AS TEXT[])) AS wanted (key)
    WHERE NOT EXISTS (
        SELECT 1 FROM claims c JOIN workers w ON w.id = c.worker
        WHERE c.key = wanted.key AND c.worker <> ?1 AND NOT (?4 AND w.expires_at < clock() AND
        extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) > ?3)
    ) ORDER BY wanted.key
    ON CONFLICT (key) DO UPDATE SET worker = excluded.worker WHERE claims.worker = excluded.worker OR (?4 AND
    extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) > ?3 AND
    EXISTS (SELECT 1 FROM workers w WHERE w.id = claims.worker AND w.expires_at < clock()))
    RETURNING key
"""
_FOUND = """
    SELECT key, text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s FROM calls
    WHERE key = ANY(CAST(?1 AS TEXT[]))
"""
_GIVEN_UP = """
    SELECT key, max(error) FROM failures WHERE given_up AND key = ANY(CAST(?1 AS TEXT[])) AND created_at >= ?2
    GROUP BY key
"""
_RELEASE = """
    DELETE FROM claims WHERE key IN (
        SELECT key FROM claims WHERE worker = ?1 AND key = ANY(CAST(?2 AS TEXT[])) ORDER BY key FOR UPDATE
    )
"""
_OTHERS = """
    SELECT CAST(coalesce(sum(calls), 0) AS BIGINT), CAST(coalesce(sum(tokens), 0) AS BIGINT),
    coalesce(sum(money_usd), 0.0), CAST(coalesce(sum(in_flight) FILTER (WHERE expires_at >= clock()), 0) AS BIGINT)
    FROM workers WHERE id <> ?1
"""
_USE = "UPDATE workers SET calls = ?2, tokens = ?3, money_usd = ?4, in_flight = ?5 WHERE id = ?1"
_USE_AND_BATCH = """
    UPDATE workers SET calls = ?2, tokens = ?3, money_usd = ?4, in_flight = ?5, batch = ?6
    WHERE id = ?1 AND batch < ?6 RETURNING batch
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
    """The most of each; None is no limit."""

    calls: int | None = None
    tokens: int | None = None
    money_usd: float | None = None

    def allow(self, usage: Usage) -> bool:
        """Whether this much is within them."""
        return (
            (self.calls is None or usage.calls <= self.calls)
            and (self.tokens is None or usage.tokens <= self.tokens)
            and (self.money_usd is None or usage.money_usd <= self.money_usd)
        )


class Hold(NamedTuple):
    """Room that somebody wants for an attempt, and within what."""

    bound: Usage
    limits: Limits


class Room(NamedTuple):
    """Whether there was room, what all the other processes have spent or hold, and how many calls they have out."""

    granted: bool
    others: Usage
    others_in_flight: int


class Claims(NamedTuple):
    """What became of the keys that were wanted: the rest is being made by other processes."""

    ours: frozenset[str]
    found: Mapping[str, Sequence[Any]]
    failed: Mapping[str, str]


class Worker:
    """This process's row in `workers`. Its numbers are absolute and its batches numbered, so doing a transaction
    again after a lost connection changes nothing.
    """

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._id = uuid.uuid4().hex
        self._began_at: float | None = None
        self._batch = 0
        self._spent = Usage()
        self._held = Usage()  # for the calls in flight
        self._state = threading.Lock()  # settling happens in the event loop's thread, the rest in the ledger's

    def _begin(self) -> float:
        if self._began_at is None:
            name = f"{platform.node()}:{os.getpid()}"
            values = (self._id, name, LEASE_S)
            self._began_at = float(self._database.write(lambda t: t.rows(_BEGIN, values))[0][0])
            self._database.keep_doing(_BEAT, (self._id, LEASE_S), every_s=BEAT_S)
        return self._began_at

    def claim(self, keys: Sequence[str]) -> Claims:
        """Take the calls that nobody has made or is making. One that another process has given up since this one
        began comes back as failed, so that each is tried by one process.
        """
        began_at, wanted = self._begin(), sorted(set(keys))
        back = self._database.reconnected_at
        may_inherit = back is None or time.monotonic() - back > LEASE_S  # the others were cut off too: let them return

        def claim(transaction: Transaction) -> Claims:
            ours = {key for (key,) in transaction.rows(_CLAIM, (self._id, wanted, LEASE_S, may_inherit))}
            # only now: what was paid for by whoever held a claim until a moment ago is seen
            found = {key: row for key, *row in transaction.rows(_FOUND, (wanted,))}
            failed = {key: error for key, error in transaction.rows(_GIVEN_UP, (wanted, began_at)) if key in ours}
            self.release(transaction, [key for key in ours if key in found or key in failed])
            return Claims(frozenset(ours - found.keys() - failed.keys()), found, failed)

        return self._database.write(claim)

    def release(self, transaction: Transaction, keys: Sequence[str]) -> None:
        """Let go of claims."""
        if keys:
            transaction.rows(_RELEASE, (self._id, list(keys)))

    def hold(self, holds: Sequence[Hold]) -> list[Room]:
        """Hold room for attempts, one after the other, within the budget over all processes."""
        self._begin()

        def take(transaction: Transaction) -> tuple[list[bool], Usage, int]:
            transaction.alone()
            *sums, in_flight = transaction.rows(_OTHERS, (self._id,))[0]
            others = Usage(calls=sums[0], tokens=sums[1], money_usd=sums[2])
            spent, held = self._now()
            granted = []
            for hold in holds:
                fits = hold.limits.allow(others + spent + held + hold.bound)
                granted.append(fits)
                if fits:
                    held += hold.bound
            transaction.rows(_USE, self._row(spent, held))
            return granted, others, in_flight

        granted, others, in_flight = self._database.write(take)
        for hold, fits in zip(holds, granted, strict=True):
            if fits:
                self.change(held=hold.bound)
        return [Room(fits, others, in_flight) for fits in granted]

    def change(self, *, held: Usage, spent: Usage | None = None) -> None:
        """Count what is held or was spent, more or less; the next transaction writes it."""
        with self._state:
            self._held += held
            self._spent += spent or Usage()

    def _now(self) -> tuple[Usage, Usage]:
        with self._state:
            return self._spent, self._held

    def _row(self, spent: Usage, held: Usage) -> tuple[Any, ...]:
        used = spent + held
        return self._id, used.calls, used.tokens, used.money_usd, held.calls

    def next_batch(self) -> int:
        """A number for a group of records."""
        self._begin()
        self._batch += 1
        return self._batch

    def is_new(self, transaction: Transaction, batch: int) -> bool:
        """Write this worker's numbers with a batch; False where the batch is in the ledger already."""
        return bool(transaction.rows(_USE_AND_BATCH, (*self._row(*self._now()), batch)))

    def end(self) -> None:
        """Give back what is claimed and say goodbye; what was spent stays counted."""
        if self._began_at is None:
            return

        def end(transaction: Transaction) -> None:
            transaction.rows("DELETE FROM claims WHERE worker = ?1", (self._id,))
            transaction.rows(_USE, self._row(self._now()[0], Usage()))  # what is held still was never sent
            transaction.rows(_END, (self._id,))

        with contextlib.suppress(LedgerUnreachable):  # its records are kept; without a goodbye its lease runs out
            self._database.write(end)
