"""The spending journal: what an attempt may cost is committed before it goes out, and settled with what came of it.

Every session that writes a ledger has a row in `sessions`: what it has spent, with the bounds of what it has in flight.
An attempt in flight has a row in `attempts`, which goes when it is settled. What a process left there when it was
killed may have been billed, so it counts as spent until somebody says otherwise (`Ledger.settle`).
"""

import contextlib
import dataclasses
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from richter.errors import LedgerError, StorageError
from richter.store._sqlite import SqliteDatabase, Transaction

__all__ = ["Attempt", "Limits", "Room", "RunUsage", "Usage"]

_BEGIN = "INSERT INTO sessions VALUES (?1, 0, 0, 0.0)"
_OTHERS = """
    SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(money_usd), 0.0) FROM sessions WHERE id <> ?1
"""
_OPEN = "INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, ?5, ?6, clock())"
_CLOSE = "DELETE FROM attempts WHERE id = ?1"
_USE = "UPDATE sessions SET calls = ?2, tokens = ?3, money_usd = ?4 WHERE id = ?1"
_LEFT_BEHIND = "SELECT id, key, session, tokens, money_usd FROM attempts WHERE model = ?2 AND session <> ?1"
_HAND_OVER = "UPDATE attempts SET session = ?2 WHERE id = ?1"
_USE_LESS = "UPDATE sessions SET calls = calls - 1, tokens = tokens - ?2, money_usd = money_usd - ?3 WHERE id = ?1"


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
    """This process's row in `sessions`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._id = uuid.uuid4().hex
        self._has_begun = False
        self._spent = Usage()
        self._held = Usage()
        self._open: dict[str, Usage] = {}
        self._sent: set[str] = set()
        self.elsewhere = Usage()  # in the other ledgers of the run, where nobody else can spend

    def begin(self) -> None:
        """Have a row."""
        if not self._has_begun:
            self._database.write(lambda transaction: transaction.rows(_BEGIN, (self._id,)))
            self._has_begun = True

    def _others(self, transaction: Transaction) -> Usage:
        return Usage(*transaction.rows(_OTHERS, (self._id,))[0])

    def used(self) -> RunUsage:
        """What is used by now, over the run with its parts and in this ledger."""
        own = self._database.write(self._others) + self._spent + self._held
        return RunUsage(own + self.elsewhere, own)

    def hold(self, wanted: Sequence[Attempt]) -> list[Room]:
        """Open attempts, one after the other, as far as there is room for them over the run."""
        self.begin()

        def take(transaction: Transaction) -> list[Room]:
            others = self._others(transaction)
            held, rooms, rows = self._held, [], []
            for attempt in wanted:
                own = others + self._spent + held + attempt.bound
                fits = attempt.limits.allow(own + self.elsewhere, own)
                if fits:
                    held += attempt.bound
                    bound = attempt.bound
                    rows.append((attempt.id, self._id, attempt.key, attempt.model, bound.tokens, bound.money_usd))
                own = others + self._spent + held
                rooms.append(Room(fits, own + self.elsewhere, own, len(self._open) + len(rows)))
            if rows:
                transaction.many(_OPEN, rows)
                transaction.rows(_USE, self._row(self._spent + held))
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
        self.begin()

        def take(transaction: Transaction) -> list[Any]:
            rows = transaction.rows(_LEFT_BEHIND, (self._id, model))
            for attempt, _, session, tokens, money in rows:
                transaction.rows(_HAND_OVER, (attempt, self._id))
                transaction.rows(_USE_LESS, (session, tokens, money))
            held = sum((Usage(1, tokens, money) for *_, tokens, money in rows), self._held)
            transaction.rows(_USE, self._row(self._spent + held))
            return rows

        rows = self._database.write(take)
        for attempt, _, _, tokens, money in rows:
            self._open[attempt] = Usage(1, tokens, money)
            self._held += self._open[attempt]
            self._sent.add(attempt)
        return {key: attempt for attempt, key, *_ in rows}

    def give_back(self, attempts: Sequence[str]) -> None:
        """Close attempts that never went out: they cost nothing."""
        self._database.write(lambda transaction: self.settle(transaction, attempts, Usage()))
        self.count_settled(attempts, Usage())

    def mark_sent(self, attempt: str) -> None:
        """Say that an attempt goes out now: from here on it may cost something."""
        self._sent.add(attempt)

    def _row(self, used: Usage) -> tuple[Any, ...]:
        return self._id, used.calls, used.tokens, used.money_usd

    def settle(self, transaction: Transaction, attempts: Sequence[str], cost: Usage) -> None:
        """Write this session's numbers with what came of these attempts, and close them."""
        held = self._held
        for attempt in attempts:
            held -= self._open.get(attempt, Usage())
        transaction.rows(_USE, self._row(self._spent + cost + held))
        transaction.many(_CLOSE, [(attempt,) for attempt in attempts])

    def count_settled(self, attempts: Sequence[str], cost: Usage) -> None:
        """Count attempts whose settlement is committed."""
        self._spent += cost
        for attempt in attempts:
            self._held -= self._open.pop(attempt, Usage())
            self._sent.discard(attempt)
        if not self._open:
            self._held = Usage()  # sums of bounds leave crumbs

    def end(self) -> None:
        """Take back what was never sent; what was sent and not settled stays counted."""
        if self._has_begun:
            with contextlib.suppress(LedgerError, StorageError):  # its records are kept, and the rest stays counted
                self._database.write(self._leave)

    def _leave(self, transaction: Transaction) -> None:
        unsent = [attempt for attempt in self._open if attempt not in self._sent]
        held = self._held
        for attempt in unsent:
            held -= self._open[attempt]
        transaction.many(_CLOSE, [(attempt,) for attempt in unsent])
        transaction.rows(_USE, self._row(self._spent + (held if len(unsent) < len(self._open) else Usage())))
