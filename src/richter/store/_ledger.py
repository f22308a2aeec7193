"""A run's ledger: its calls, their answers and their cost, beside its other records.

An answer is committed before it is used, so a killed process loses no call that was paid for.
"""

import asyncio
import dataclasses
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from richter.records import Answer
from richter.store._batching import Grouped
from richter.store._call_rows import Call, call_cost, call_row, failure_row, read_answer, to_failure
from richter.store._database import Database, Transaction, UnstorableValue
from richter.store._place import Place
from richter.store._record_tables import RecordTables
from richter.store._spending import Attempt, Room, Spender, Usage
from richter.store._sqlite import SPENDING_LOCK, take_lock
from richter.store._workers import Claims, Worker

__all__ = ["SERVED_NOTE", "Ledger", "ModelSpent", "Spent", "Unsettled"]

SERVED_NOTE = "served"  # by model: those that its server says it answered with

_FIND = "SELECT text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s FROM calls WHERE key = ?1"
_LINKED = "SELECT 1 FROM answers WHERE condition = ?1 AND item = ?2 AND draw = ?3"
_ALL_LINKED = """
    SELECT item, condition, draw FROM answers
    WHERE condition = ANY(CAST(?1 AS TEXT[])) AND item = ANY(CAST(?2 AS TEXT[]))
"""
_ANSWERS = """
    SELECT a.item, a.condition, a.draw, text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s
    FROM answers a JOIN calls c ON c.key = a.call LEFT JOIN items i ON i.id = a.item
    WHERE (CAST(?1 AS TEXT) IS NULL OR a.condition = ?1) AND (CAST(?2 AS TEXT) IS NULL OR a.item = ?2)
    ORDER BY a.condition, i.position NULLS FIRST, a.item, a.draw
"""
_FAILED = """
    SELECT item, condition, draw, error FROM (
        SELECT f.item, f.condition, f.draw, f.error,
        row_number() OVER (PARTITION BY f.condition, f.item, f.draw ORDER BY f.created_at DESC) AS place
        FROM failures f LEFT JOIN answers a ON a.condition = f.condition AND a.item = f.item AND a.draw = f.draw
        WHERE f.given_up AND a.call IS NULL AND f.condition <> '' AND (CAST(?1 AS TEXT) IS NULL OR f.condition = ?1)
        AND (CAST(?2 AS TEXT) IS NULL OR f.item = ?2)
    ) AS latest WHERE place = 1 ORDER BY condition, item, draw
"""
_STATE = """
    SELECT (SELECT count(*) FROM answers), (SELECT count(*) FROM failures), count(*), coalesce(sum(severity), 0.0),
    CAST(coalesce(sum(CAST(ended_at * 1000 AS BIGINT) % 1000003), 0) AS BIGINT) FROM ratings
"""
_SPENT = """
    SELECT count(*), (SELECT count(*) FROM failures),
    CAST(coalesce(sum(tokens_in), 0) + coalesce(sum(tokens_out), 0) AS BIGINT),
    coalesce(sum(money_usd), 0.0), count(*) - count(money_usd) FROM calls
"""
_USED = """
    SELECT CAST(coalesce(sum(calls), 0) AS BIGINT), CAST(coalesce(sum(tokens), 0) AS BIGINT),
    coalesce(sum(money_usd), 0.0) FROM workers
"""
# what may have been billed without an answer: attempts that nobody is making any more, and those that failed
_UNSETTLED = """
    SELECT id, key, model, tokens, money_usd FROM attempts WHERE worker NOT IN (
        SELECT id FROM workers WHERE expires_at >= clock()
    )
"""
_MAYBE_BILLED = """
    SELECT count(*), CAST(coalesce(sum(tokens), 0) AS BIGINT), coalesce(sum(money_usd), 0.0) FROM failures
    WHERE tokens > 0 OR money_usd > 0
"""
_BY_HAND = "INSERT INTO workers VALUES (?1, 'settled by hand', clock(), clock(), 0, 0, ?2, ?3, 0)"
_SPENT_BY_MODEL = """
    SELECT model, CAST(sum(answers) AS BIGINT), CAST(sum(failed) AS BIGINT), CAST(sum(tokens_in) AS BIGINT),
    CAST(sum(tokens_out) AS BIGINT), sum(money), CAST(sum(unpriced) AS BIGINT) FROM (
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


class _Wanted(NamedTuple):
    """A call that somebody wants to make, and whose answer it is."""

    key: str
    item: str
    condition: str
    draw: int
    unless: Callable[[Answer], bool] | None


class Ledger(RecordTables):
    """A run's records. Reads may run beside a writer; writes go through group commits or one at a time."""

    def __init__(
        self, database: Database, place: Place, *, spender: Spender | None = None, item: str | None = None
    ) -> None:
        super().__init__(database, item=item)
        self.place = place
        self._spender = spender
        self._worker = spender if isinstance(spender, Worker) else None
        self._lock: int | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._records: Grouped[Call, None] = Grouped(lambda calls: self._commit(calls), self._pool)
        self._claims: Grouped[_Wanted, Answer | Literal["ours", "theirs"]] = Grouped(self._claim, self._pool)
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

    @property
    def is_shared(self) -> bool:
        """Whether other processes may be writing the run too."""
        return self._worker is not None

    def _require_worker(self) -> Worker:
        assert self._worker is not None, "only a ledger in a database is shared"
        return self._worker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is pending and let go of the tables."""
        self._claims.forget()
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

    async def claim(
        self, key: str, item: str, condition: str, draw: int, *, unless: Callable[[Answer], bool] | None = None
    ) -> Answer | Literal["ours", "theirs"]:
        """The answer that was paid for under this key, now this item's too (`unless` it is not good enough for that);
        else who makes the call.

        "ours" says that this process makes it, and nobody else until it is recorded; "theirs" that another process
        is making it: ask again. An answer with `error` is a call that another process has just given up.
        """
        if self._worker is not None:
            return await self._claims.submit(_Wanted(key, item, condition, draw, unless))
        answer = self.find(key)
        if answer is None:
            return "ours"
        if condition and not (unless is not None and unless(answer)):
            self.link(item, condition, draw, key)
        return dataclasses.replace(answer, item=item, condition=condition, draw=draw)

    def _claim(self, wanted: list[_Wanted]) -> list[Answer | Literal["ours", "theirs"]]:
        claims = self._require_worker().claim([w.key for w in wanted])
        results = [_claim_result(one, claims) for one in wanted]
        links = [
            (one.item, one.condition, one.draw, one.key)
            for one, result in zip(wanted, results, strict=True)
            if isinstance(result, Answer) and one.key in claims.answers and one.condition
            if one.unless is None or not one.unless(result)
        ]
        if links:  # what another process asked for this very item is its answer already
            items, conditions, _, _ = zip(*links, strict=True)
            there = set(self._rows(_ALL_LINKED, (list(conditions), list(items))))
            links = [link for link in links if link[:3] not in there]
        if links:
            self._add("answers", links)
        return results

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
        spender = self.spender
        batch = spender.next_batch()

        def commit(transaction: Transaction) -> None:
            # not settled where the server kept it, but the connection was lost before it said so
            if spender.settle(transaction, batch, attempts, cost):
                self._add_ended(transaction, calls)

        self._database.write(commit)
        spender.count_settled(attempts, cost)

    def _add_ended(self, transaction: Transaction, calls: Sequence[Call]) -> None:
        """Add calls with what became of them."""
        paid = [c for c in calls if not c.answer.error]
        if self._worker is not None:
            self._worker.release(transaction, [c.key for c in calls if not c.answer.error or c.given_up])
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
        busy = self.being_written() and self._worker is None
        return _sum_unsettled([] if busy else self._rows(_UNSETTLED), self._rows(_MAYBE_BILLED)[0])

    def settle(self, billed_usd: float) -> Unsettled:
        """Take what is unsettled to have cost this much together: it counts as that from now on, and as failed."""

        def settle(transaction: Transaction) -> Unsettled:
            transaction.alone()
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

    def clock_ahead_s(self) -> float:
        """How far the ledger's clock is ahead of this machine's; 0 in a folder, where they are one."""
        before = time.time()
        (clock,) = self._rows("SELECT clock()")[0]
        return float(clock - (before + time.time()) / 2)

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


def _claim_result(wanted: _Wanted, claims: Claims) -> Answer | Literal["ours", "theirs"]:
    """What became of a call that was wanted: its answer, its failure, or who makes it."""
    key, item, condition, draw, _ = wanted
    if key in claims.answers:
        return read_answer(item, condition, draw, claims.answers[key])
    if key in claims.failed:
        return Answer(text="", item=item, condition=condition, draw=draw, error=claims.failed[key])
    return "ours" if key in claims.ours else "theirs"


def _sum_unsettled(rows: Sequence[Any], failed: Sequence[Any]) -> Unsettled:
    return Unsettled(
        cut_off=len(rows),
        failed=failed[0],
        tokens=failed[1] + sum(row[3] for row in rows),
        money_usd=failed[2] + sum(row[4] for row in rows),
    )
