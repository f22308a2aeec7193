"""A run's ledger: its calls, their answers and their cost, beside its other records.

An answer is committed before it is used, so a killed process loses no call that was paid for.
"""

import asyncio
import dataclasses
import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from richter.records import Answer
from richter.store._batching import Grouped
from richter.store._call_rows import Call, call_cost, call_row, failure_row, read_answer, to_failure
from richter.store._record_tables import RecordTables
from richter.store._spending import Attempt, Room, Spender, Usage
from richter.store._sqlite import SPENDING_LOCK, SqliteDatabase, Transaction, UnstorableValue, take_lock

__all__ = ["SERVED_NOTE", "Ledger", "ModelSpent", "Spent", "Unsettled"]

SERVED_NOTE = "served"  # by model: those that its server says it answered with

_FIND = "SELECT text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s FROM calls WHERE key = ?1"
_LINKED = "SELECT 1 FROM answers WHERE condition = ?1 AND item = ?2 AND draw = ?3"
_ANSWERS = """
    SELECT a.item, a.condition, a.draw, text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s
    FROM answers a JOIN calls c ON c.key = a.call LEFT JOIN items i ON i.id = a.item
    WHERE (?1 IS NULL OR a.condition = ?1) AND (?2 IS NULL OR a.item = ?2)
    ORDER BY a.condition, i.position NULLS FIRST, a.item, a.draw
"""
_FAILED = """
    SELECT item, condition, draw, error FROM (
        SELECT f.item, f.condition, f.draw, f.error,
        row_number() OVER (PARTITION BY f.condition, f.item, f.draw ORDER BY f.created_at DESC) AS place
        FROM failures f LEFT JOIN answers a ON a.condition = f.condition AND a.item = f.item AND a.draw = f.draw
        WHERE f.given_up AND a.call IS NULL AND f.condition <> '' AND (?1 IS NULL OR f.condition = ?1)
        AND (?2 IS NULL OR f.item = ?2)
    ) AS latest WHERE place = 1 ORDER BY condition, item, draw
"""
_STATE = """
    SELECT (SELECT count(*) FROM answers), (SELECT count(*) FROM failures), count(*), coalesce(sum(severity), 0.0),
    coalesce(sum(CAST(ended_at * 1000 AS INTEGER) % 1000003), 0) FROM ratings
"""
_SPENT = """
    SELECT count(*), (SELECT count(*) FROM failures),
    coalesce(sum(tokens_in), 0) + coalesce(sum(tokens_out), 0),
    coalesce(sum(money_usd), 0.0), count(*) - count(money_usd) FROM calls
"""
_USED = """
    SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0), coalesce(sum(money_usd), 0.0) FROM sessions
"""
# what may have been billed without an answer: attempts that nobody is making any more, and those that failed
_UNSETTLED = "SELECT id, key, model, tokens, money_usd FROM attempts"
_MAYBE_BILLED = """
    SELECT count(*), coalesce(sum(tokens), 0), coalesce(sum(money_usd), 0.0) FROM failures
    WHERE tokens > 0 OR money_usd > 0
"""
_BY_HAND = "INSERT INTO sessions VALUES (?1, 0, ?2, ?3)"
_SPENT_BY_MODEL = """
    SELECT model, sum(answers), sum(failed), sum(tokens_in), sum(tokens_out), sum(money), sum(unpriced) FROM (
        SELECT model, count(*) AS answers, 0 AS failed, coalesce(sum(tokens_in), 0) AS tokens_in,
        coalesce(sum(tokens_out), 0) AS tokens_out, coalesce(sum(money_usd), 0.0) AS money,
        count(*) - count(money_usd) AS unpriced FROM calls GROUP BY model
        UNION ALL SELECT model, 0, count(*), 0, 0, 0.0, 0 FROM failures GROUP BY model
    ) AS parts GROUP BY model ORDER BY model
"""
_CONFIDENCES_OF_CALL = """
    SELECT DISTINCT s.source, s.value FROM answers a JOIN confidences s
    ON s.condition = a.condition AND s.item = a.item AND s.draw = a.draw WHERE a.call = ?1
"""
_ASIDE = "INSERT INTO aside VALUES (?1, ?2, clock())"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a run has cost so far. `money_usd` counts priced calls only; `unpriced` says how many have no price."""

    calls: int  # requests that went out, retries, failures and those never settled included
    answers: int
    tokens: int
    money_usd: float
    unpriced: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpent:
    """What a run has cost at one model. `failed` requests brought no answer; they count as requests."""

    model: str
    answers: int
    failed: int
    tokens_in: int
    tokens_out: int
    money_usd: float
    unpriced: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """What may have been billed without an answer: attempts cut off, attempts that failed, and the most they cost."""

    cut_off: int = 0
    failed: int = 0
    tokens: int = 0
    money_usd: float = 0.0

    def __add__(self, other: "Unsettled") -> "Unsettled":
        return Unsettled(
            cut_off=self.cut_off + other.cut_off,
            failed=self.failed + other.failed,
            tokens=self.tokens + other.tokens,
            money_usd=self.money_usd + other.money_usd,
        )


class Ledger(RecordTables):
    """A run's records. Reads may run beside a writer; writes go through group commits or one at a time."""

    def __init__(
        self, database: SqliteDatabase, place: Path, *, spender: Spender | None = None, item: str | None = None
    ) -> None:
        super().__init__(database, item=item)
        self.place = place
        self._spender = spender
        self._lock: int | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._records: Grouped[Call, None] = Grouped(lambda calls: self._commit(calls), self._pool)
        self._holds: Grouped[Attempt, Room] = Grouped(self._hold, self._pool)

    @property
    def spender(self) -> Spender:
        """This process's row in the spending journal."""
        assert self._spender is not None, "this ledger is only read"
        return self._spender

    def lock_spending(self, root: Path) -> bool:
        """Let nobody else spend on the run in this folder until the ledger closes; False where that is so already."""
        if self._lock is not None:
            return False
        self._lock = take_lock(root, SPENDING_LOCK)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending and let go of the tables."""
        self._holds.forget()
        self._pool.shutdown(wait=True)
        try:
            self._records.finish()
            if self._spender is not None:
                self._spender.end()
        finally:
            self._database.close()
            if self._lock is not None:
                os.close(self._lock)

    def being_written(self) -> bool:
        """Whether some process writes the run now."""
        return self._database.being_written()

    def find(self, key: str) -> Answer | None:
        """The answer that was paid for under this key, if any."""
        rows = self._rows(_FIND, (key,))
        return read_answer("", "", 0, rows[0]) if rows else None

    def hold(self, attempt: Attempt) -> asyncio.Future[Room]:
        """Commit the most that an attempt can cost, if there is room for it over the run with its parts."""
        return self._holds.submit(attempt)

    def _hold(self, attempts: list[Attempt]) -> list[Room]:
        self._database.check_room()
        return self.spender.hold(attempts)

    def take_over(self, model: str) -> dict[str, str]:
        """Make the open attempts at a model that an ended process left behind this one's; their ids by key."""
        return self.spender.take_over(model)

    def give_back(self, attempts: Sequence[str]) -> None:
        """Close attempts that never went out."""
        self.spender.give_back(attempts)

    def mark_sent(self, attempt: str) -> None:
        """Say that an attempt for which there was room goes out now."""
        self.spender.mark_sent(attempt)

    def link(self, item: str, condition: str, draw: int, key: str) -> None:
        """Say that a call already in the ledger answers this item of this condition too."""
        if not self._rows(_LINKED, (condition, item, draw)):
            self._add("answers", [(item, condition, draw, key)])

    def share_confidences(self, key: str, item: str, condition: str, draw: int) -> None:
        """Say that what is known of how sure a call's answer is holds for this item of this condition too."""
        self._add("confidences", [(item, condition, draw, *row) for row in self._rows(_CONFIDENCES_OF_CALL, (key,))])

    def has_answers(self, model: str) -> bool:
        """Whether a model has answered anything in this run."""
        return bool(self._rows("SELECT 1 FROM calls WHERE model = ?1 LIMIT 1", (model,)))

    def times_given_up(self, key: str) -> int:
        """How often a call was given up."""
        return int(self._rows("SELECT count(*) FROM failures WHERE given_up AND key = ?1", (key,))[0][0])

    def answered_draws(self, condition: str) -> set[tuple[str, int]]:
        """The (item, draw) pairs of a condition that have an answer."""
        return set(self._rows("SELECT item, draw FROM answers WHERE condition = ?1", (condition,)))

    def add_calls(self, calls: Sequence[Call]) -> None:
        """Commit calls that were made elsewhere (an imported log), all or none; they count against no budget here."""
        self._commit([dataclasses.replace(call, cost=Usage()) for call in calls])

    async def record(self, call: Call) -> None:
        """Commit a call; returns when it is on disk. Calls that arrive within a few milliseconds share a commit."""
        await asyncio.shield(self.record_soon(call))

    def record_soon(self, call: Call) -> asyncio.Future[None]:
        """Commit a call within milliseconds, or when the ledger closes; the future says when it is on disk."""
        return self._records.submit(call)

    def _commit(self, calls: Sequence[Call]) -> list[None]:
        """Commit calls together; where one of them cannot be stored the others are, and it is kept as failed."""
        try:
            self._store(calls)
        except UnstorableValue as error:
            if len(calls) > 1:
                for call in calls:
                    self._commit([call])
            else:
                self._store([to_failure(calls[0], error)])
        return [None] * len(calls)

    def _store(self, calls: Sequence[Call]) -> None:
        attempts = [c.attempt for c in calls if c.attempt]
        cost = sum((call_cost(c) for c in calls), Usage())
        self.spender.begin()

        def commit(transaction: Transaction) -> None:
            self.spender.settle(transaction, attempts, cost)
            self._add_ended(transaction, calls)

        self._database.write(commit)
        self.spender.count_settled(attempts, cost)

    def _add_ended(self, transaction: Transaction, calls: Sequence[Call]) -> None:
        """Add calls with what became of them."""
        paid = [c for c in calls if not c.answer.error]
        links = [(c.answer.item, c.answer.condition, c.answer.draw, c.key) for c in paid if c.answer.condition]
        transaction.add("calls", map(call_row, paid))
        transaction.add("answers", links)
        whose = [(c.answer.item, c.answer.condition, c.answer.draw, c.confidences) for c in paid if c.answer.condition]
        transaction.add("confidences", [(*key, *pair) for *key, sure in whose for pair in sure.items()])
        transaction.add("failures", [failure_row(c) for c in calls if c.answer.error])
        transaction.many(_ASIDE, [(c.key, c.aside) for c in calls if c.aside])

    def answers(self, condition: str | None = None, *, item: str | None = None) -> Iterator[Answer]:
        """Answers in the order of items and draws, streamed; failed ones (never answered since) come with `error`."""
        item = self._item if item is None else item
        for of, name, draw, *rest in self._database.stream(_ANSWERS, (condition, item)):
            yield read_answer(of, name, draw, rest)
        for of, name, draw, error in self._rows(_FAILED, (condition, item)):
            yield Answer(text="", item=of, condition=name, draw=draw, error=error)

    def spent(self) -> Spent:
        """Requests, tokens and money so far, over everything in the run."""
        answers, failed, tokens, money, unpriced = self._rows(_SPENT)[0]
        failed += self._rows("SELECT count(*) FROM attempts")[0][0]
        return Spent(calls=answers + failed, answers=answers, tokens=tokens, money_usd=money, unpriced=unpriced)

    def used(self) -> Usage:
        """What counts against a budget: what was spent, is held, or was never settled."""
        return Usage(*self._rows(_USED)[0])

    def unsettled(self) -> Unsettled:
        """What may have been billed without an answer."""
        return _sum_unsettled([] if self.being_written() else self._rows(_UNSETTLED), self._rows(_MAYBE_BILLED)[0])

    def settle(self, billed_usd: float) -> Unsettled:
        """Take what is unsettled to have cost this much together: it counts as that from now on, and as failed."""

        def settle(transaction: Transaction) -> Unsettled:
            rows, failed = transaction.rows(_UNSETTLED), transaction.rows(_MAYBE_BILLED)[0]
            total = _sum_unsettled(rows, failed)
            reason = "cut off, and settled by hand"
            transaction.add("failures", [(key, model, "", "", 0, reason, False, 0, 0.0) for _, key, model, *_ in rows])
            transaction.many("DELETE FROM attempts WHERE id = ?1", [(row[0],) for row in rows])
            transaction.rows("UPDATE failures SET tokens = 0, money_usd = 0 WHERE tokens > 0 OR money_usd > 0")
            transaction.rows(_BY_HAND, (uuid.uuid4().hex, -total.tokens, billed_usd - total.money_usd))
            return total

        return self._database.write(settle)

    def aside(self) -> list[tuple[str, bytes]]:
        """Replies as they came, by the key of their call, where they could not be kept as they are."""
        return [(key, bytes(body)) for key, body in self._rows("SELECT key, body FROM aside ORDER BY created_at")]

    def spent_by_model(self) -> list[ModelSpent]:
        """The same for each model of the run, by name."""
        names = [field.name for field in dataclasses.fields(ModelSpent)]
        return [ModelSpent(**dict(zip(names, row, strict=True))) for row in self._rows(_SPENT_BY_MODEL)]

    def times(self) -> tuple[float, float] | None:
        """When the first and the last answer came, in seconds since 1970; None without any."""
        first, last = self._rows("SELECT min(created_at), max(created_at) FROM calls")[0]
        return None if first is None else (first, last)

    def counts(self) -> dict[str, tuple[int, int]]:
        """How many first answers (draw 0) each condition has, and how many calls of it were given up."""
        answered = dict(self._rows("SELECT condition, count(*) FROM answers WHERE draw = 0 GROUP BY condition"))
        failed: dict[str, int] = {}
        for _, condition, draw, _ in self._rows(_FAILED, (None, None)):
            failed[condition] = failed.get(condition, 0) + (draw == 0)
        return {name: (answered.get(name, 0), failed.get(name, 0)) for name in sorted({*answered, *failed})}

    def state(self) -> tuple[int | float | None, ...]:
        """Numbers that change whenever an answer, a failure or a rating is added or a rating is replaced."""
        return tuple(self._rows(_STATE)[0])


def _sum_unsettled(rows: Sequence[Any], failed: Sequence[Any]) -> Unsettled:
    return Unsettled(
        cut_off=len(rows),
        failed=failed[0],
        tokens=failed[1] + sum(row[3] for row in rows),
        money_usd=failed[2] + sum(row[4] for row in rows),
    )
