"""A run's records over its tables. An answer is committed before it is used, so a killed process loses no paid call."""

import asyncio
import contextlib
import dataclasses
import itertools
import json
import operator
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar

from richter.errors import InputError, LedgerCorrupt, StorageError
from richter.records import Answer, Condition, Confidence, Grade, Item, Rating
from richter.store._hashes import COLUMNS, select
from richter.store._database import Database, Transaction, UnstorableValue, Values
from richter.store._grouped import Grouped
from richter.store._place import DatabaseRun, Place, RunLike, is_run, run_place, whole_run
from richter.store._postgres import PostgresDatabase, database_runs
from richter.store._schema import GRADES, JOURNAL
from richter.store._shared import Claims, Worker
from richter.store._spending import Attempt, Room, Spender, Usage
from richter.store._sqlite import HEAD_NAME, LEDGER_NAME, SPENDING_LOCK, SqliteDatabase, is_locked, take_lock

__all__ = [
    "Call",
    "Ledger",
    "ModelSpent",
    "Spent",
    "Unsettled",
    "being_written",
    "find_parts",
    "find_runs",
    "has_ledger",
    "hold_run",
    "new_run",
    "open_ledger",
    "run_used",
    "settle_run",
    "unsettled_run",
]

T = TypeVar("T")
_UNFINISHED = ".unfinished-"  # what a run that is being made lies in
_NAMED = {"items": "SELECT id, body FROM items", "conditions": "SELECT name, body FROM conditions"}
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
_ASIDE = "INSERT INTO aside VALUES (?1, ?2, clock())"
_RATED = """
    SELECT kind, count(*) FROM (
        SELECT DISTINCT condition, item, draw, kind FROM ratings WHERE severity IS NOT NULL
    ) AS rated GROUP BY kind
"""
_OF_ITEM = "(CAST(?1 AS TEXT) IS NULL OR item = ?1)"
_OF_KIND = f"{_OF_ITEM} AND (CAST(?2 AS TEXT) IS NULL OR kind = ?2)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An attempt to call a model as the ledger keeps it: who asked (item, condition, draw), what, and the answer.

    Where `answer.error` is set the attempt brought no answer; `given_up` then says that it was the last. `attempt` is
    the one that `hold` opened, which is settled at `cost`; a call made elsewhere has none, and costs what its answer
    says. `aside` is the reply as it came where it could not be kept as it is.
    """

    key: str
    model: str
    request: str
    answer: Answer
    given_up: bool = True
    attempt: str = ""
    cost: Usage | None = None
    aside: bytes = b""


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


def open_ledger(
    run: RunLike,
    *,
    mode: Literal["read", "write"] = "read",
    alone: bool = False,
    checked: bool = True,
    item: str | None = None,
) -> "Ledger":
    """Open a run's ledger to write (made if missing) or to read, beside a writer too.

    A folder has one writer at a time. A run in a database (`postgresql://...`) has as many as there are, which share
    its calls and its budget, unless one of them must be `alone`. The records of a folder are held against their hashes
    first (half a second for 100,000); not where they are not `checked`, for a look at one of them or at their number.
    With `item` the ledger gives what it holds of that item, and nothing of the others is read.
    """
    place, writable = run_place(run), mode == "write"
    database: SqliteDatabase | PostgresDatabase
    if isinstance(place, Path):
        database = SqliteDatabase(place, writable=writable)
    else:
        database = PostgresDatabase(place, writable=writable, alone=alone)
    try:
        if isinstance(database, PostgresDatabase):
            database.prepare()
        elif checked:
            database.ensure_whole()
    except BaseException:
        database.close()
        raise
    spends = Worker(database) if isinstance(database, PostgresDatabase) else Spender(database)
    return Ledger(database, place, spender=spends if writable else None, item=item)


@contextlib.contextmanager
def new_run(run: RunLike) -> "Iterator[Ledger]":
    """A ledger to fill as a new run. In a folder it is there when all of it is written, and else nothing is.

    Half of an import would be read as if it were all. What a killed one left is cleared away by the next.
    """
    place, taken = run_place(run), f"{run_place(run)} is already a run."
    if has_ledger(run):
        raise InputError(taken, remedy="Name a new one with -o.")
    if not isinstance(place, Path):
        with open_ledger(run, mode="write", alone=True) as ledger:
            yield ledger
        return
    lock = take_lock(place)
    try:
        if has_ledger(run):  # another process was faster
            raise InputError(taken, remedy="Name a new one with -o.")
        for left in place.glob(f"{_UNFINISHED}*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=place, prefix=_UNFINISHED) as scratch:
            made = Path(scratch) / "made"  # two levels down, where no part of a run is looked for
            with open_ledger(made, mode="write") as ledger:
                yield ledger
            for name in (f"{LEDGER_NAME}-wal", HEAD_NAME, LEDGER_NAME):  # the ledger last: with it there is a run
                if (made / name).exists():
                    (made / name).replace(place / name)
    except (OSError, StorageError) as error:
        why = "the disk is full, or cannot be written" if isinstance(error, StorageError) else error.strerror or error
        raise StorageError(
            f"{place} cannot be made: {why}.", remedy="Nothing was kept: free space, or choose another folder."
        ) from error
    finally:
        os.close(lock)


def find_runs(where: Place) -> list[Place]:
    """The runs in a folder, or in a database; parts of runs are not among them."""
    if isinstance(where, DatabaseRun):
        return [run for run in database_runs(where) if "/" not in run.name]
    return [path.parent for path in sorted(where.glob(f"*/{LEDGER_NAME}"))]


def find_parts(run: RunLike) -> dict[str, Place]:
    """A run's parts that have ledgers of their own (draws, searches) by name; see `run_part`."""
    place = run_place(run)
    if isinstance(place, Path):
        return {path.parent.name: path.parent for path in sorted(place.glob(f"*/{LEDGER_NAME}"))}
    prefix = f"{place.name}/"
    return {run.name.removeprefix(prefix): run for run in database_runs(place) if run.name.startswith(prefix)}


def run_used(run: RunLike) -> Usage:
    """What counts against a budget over a run and all its parts: spent, held, or never settled."""
    return sum(_over(_family(run_place(run)), Ledger.used), Usage())


def unsettled_run(run: RunLike) -> Unsettled:
    """What may have been billed without an answer, over a run and its parts."""
    return sum(_over(_family(run_place(run)), Ledger.unsettled), Unsettled())


def settle_run(run: RunLike, *, billed_usd: float = 0.0) -> Unsettled:
    """Say that what may have been billed without an answer, over a run and its parts, cost this much together."""
    bills = itertools.chain([billed_usd], itertools.repeat(0.0))
    settled = _over(_family(run_place(run)), lambda ledger: ledger.settle(next(bills)), mode="write")
    return sum(settled, Unsettled())


def _family(place: Place) -> list[Place]:
    """The ledgers whose spending is one: a run's own and its parts'."""
    root = whole_run(place)
    return [p for p in (root, *find_parts(root).values()) if has_ledger(p)]


def _over(
    places: Iterable[Place], look: "Callable[[Ledger], T]", *, mode: Literal["read", "write"] = "read"
) -> Iterator[T]:
    for place in places:
        with open_ledger(place, mode=mode) as ledger:
            yield look(ledger)


def has_ledger(run: RunLike) -> bool:
    """Whether there is a run in this place; a database is asked."""
    if isinstance(run_place(run), Path):
        return is_run(run)
    try:
        open_ledger(run).close()
    except InputError:
        return False
    return True


def being_written(run: RunLike) -> bool:
    """Whether some process writes the run now."""
    place = run_place(run)
    if isinstance(place, Path):
        return is_locked(place)
    try:
        with open_ledger(place) as ledger:
            return ledger.being_written()
    except InputError:  # no such run
        return False


@contextlib.contextmanager
def hold_run(run: RunLike, purpose: str) -> Iterator[None]:
    """Let nobody else do the same with a run in a database until the block ends. (A folder has one writer anyway.)"""
    place = run_place(run)
    if isinstance(place, Path):
        yield
        return
    database = PostgresDatabase(place, writable=False)
    try:
        database.hold(purpose)
        yield
    finally:
        database.close()


class Ledger:
    """A run's records. Reads may run beside a writer; writes go through group commits or one at a time."""

    def __init__(
        self, database: Database, place: Place, *, spender: Spender | None = None, item: str | None = None
    ) -> None:
        self._item = item
        self.name = database.name
        self._database = database
        self.place = place
        self._spender = spender
        self._worker = spender if isinstance(spender, Worker) else None
        self._lock: int | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._records: Grouped[Call, None] = Grouped(lambda calls: self._commit(calls), self._pool)
        self._claims: Grouped[_Wanted, Answer | Literal["ours", "theirs"]] = Grouped(self._claim, self._pool)
        self._holds: Grouped[Attempt, Room] = Grouped(self._hold, self._pool)

    @property
    def shared(self) -> bool:
        """Whether other processes may be writing the run too."""
        return self._worker is not None

    def _shared(self) -> Worker:
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

    # -- items and conditions ------------------------------------------------------------------------------

    def add_items(self, items: Sequence[Item]) -> None:
        """Add items; one already there must be the same, so that an answer never changes its question."""
        self._add_named("items", [(item.id, json.dumps(item.to_dict(), ensure_ascii=False)) for item in items])

    def add_conditions(self, conditions: Sequence[Condition]) -> None:
        """Add conditions; one already there must be the same."""
        self._add_named("conditions", [(c.name, json.dumps(c.to_dict(), sort_keys=True)) for c in conditions])

    def _add_named(self, table: Literal["items", "conditions"], rows: list[tuple[str, str]]) -> None:
        def add(transaction: Transaction) -> None:
            transaction.alone()
            known = dict(transaction.rows(_NAMED[table]))
            for name, body in rows:
                if known.get(name, body) != body:
                    raise InputError(
                        f"The run already holds another {table[:-1]} named {name!r}.",
                        remedy="Give it another name, or use a new run.",
                    )
            new = {name: body for name, body in rows if name not in known}
            transaction.add(table, [(name, i, body) for i, (name, body) in enumerate(new.items(), len(known))])

        self._database.write(add)

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._database.rows(sql, values)

    def _add(self, table: str, rows: Sequence[Values]) -> None:
        self._database.write(lambda transaction: transaction.add(table, rows))

    def _add_records(self, table: str, records: Iterable[object]) -> None:
        fields = operator.attrgetter(*COLUMNS[table])
        self._add(table, [[int(v) if isinstance(v, bool) else v for v in fields(record)] for record in records])

    def _read(self, table: str, where: str, *values: object) -> Iterator[dict[str, Any]]:
        there = self._database.version >= GRADES or table == "ratings"
        rows = self._rows(select(table, where), values) if there else []
        return (dict(zip(COLUMNS[table], row, strict=True)) for row in rows)

    def items(self) -> list[Item]:
        """The run's items in the order they were added."""
        one = "SELECT body FROM items WHERE CAST(?1 AS TEXT) IS NULL OR id = ?1 ORDER BY position"
        bodies = self._rows(one, (self._item,))
        return [_read(Item.from_dict, body, "an item", self.name) for (body,) in bodies]

    def item_ids(self, *, limit: int) -> list[str]:
        """The names of the first items."""
        return [name for (name,) in self._rows("SELECT id FROM items ORDER BY position LIMIT ?1", (limit,))]

    def n_items(self) -> int:
        """How many items the run has."""
        return int(self._rows("SELECT count(*) FROM items")[0][0])

    def conditions(self) -> list[Condition]:
        """The run's conditions in the order they were added."""
        bodies = self._rows("SELECT body FROM conditions ORDER BY position")
        return [_read(Condition.from_dict, body, "a condition", self.name) for (body,) in bodies]

    # -- calls and answers ---------------------------------------------------------------------------------

    def find(self, key: str) -> Answer | None:
        """The answer that was paid for under this key, if any."""
        rows = self._rows(_FIND, (key,))
        return _answer("", "", 0, rows[0]) if rows else None

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
        found = self.find(key)
        if found is None:
            return "ours"
        if condition and not (unless is not None and unless(found)):
            self.link(item, condition, draw, key)
        return dataclasses.replace(found, item=item, condition=condition, draw=draw)

    def _claim(self, wanted: list[_Wanted]) -> list[Answer | Literal["ours", "theirs"]]:
        claims = self._shared().claim([w.key for w in wanted])
        results = [_claimed(one, claims) for one in wanted]
        links = [
            (one.item, one.condition, one.draw, one.key)
            for one, found in zip(wanted, results, strict=True)
            if isinstance(found, Answer) and one.key in claims.found and one.condition
            if one.unless is None or not one.unless(found)
        ]
        if links:  # what another process asked for this very item is its answer already
            items, conditions, _, _ = zip(*links, strict=True)
            there = set(self._rows(_ALL_LINKED, (list(conditions), list(items))))
            links = [link for link in links if link[:3] not in there]
        if links:
            self._add("answers", links)
        return results

    def start_spending(self) -> tuple[Usage, Usage]:
        """What the run with its parts, and this ledger alone, have used so far.

        In a folder nobody else may spend on the run until this closes.
        """
        root = whole_run(self.place)
        if isinstance(root, Path) and self._lock is None:
            self._lock = take_lock(root, SPENDING_LOCK)
            here = Path(str(self.place)).absolute()
            others = [p for p in _family(root) if Path(str(p)).absolute() != here]
            self._spending().elsewhere = sum(_over(others, Ledger.used), Usage())
        return self._spending().used()

    def _spending(self) -> Spender:
        assert self._spender is not None, "this ledger is only read"
        return self._spender

    def hold(self, attempt: Attempt) -> asyncio.Future[Room]:
        """Commit the most that an attempt can cost, if there is room for it over the run with its parts."""
        return self._holds.submit(attempt)

    def _hold(self, attempts: list[Attempt]) -> list[Room]:
        self._database.check_room()
        return self._spending().hold(attempts)

    def sent(self, attempt: str) -> None:
        """Say that an attempt for which there was room goes out now."""
        self._spending().sent(attempt)

    def link(self, item: str, condition: str, draw: int, key: str) -> None:
        """Say that a call already in the ledger answers this item of this condition too."""
        if not self._rows(_LINKED, (condition, item, draw)):
            self._add("answers", [(item, condition, draw, key)])

    def has_answers(self, model: str) -> bool:
        """Whether a model has answered anything in this run."""
        return bool(self._rows("SELECT 1 FROM calls WHERE model = ?1 LIMIT 1", (model,)))

    def times_given_up(self, key: str) -> int:
        """How often a call was given up."""
        return int(self._rows("SELECT count(*) FROM failures WHERE given_up AND key = ?1", (key,))[0][0])

    def answered(self, condition: str) -> set[tuple[str, int]]:
        """The (item, draw) pairs of a condition that have an answer."""
        return set(self._rows("SELECT item, draw FROM answers WHERE condition = ?1", (condition,)))

    def add_calls(self, calls: Sequence[Call]) -> None:
        """Commit calls that were made elsewhere (an imported log), all or none."""
        self._commit(calls)

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
                self._store([_failed(calls[0], error)])
        return [None] * len(calls)

    def _store(self, calls: Sequence[Call]) -> None:
        attempts = [c.attempt for c in calls if c.attempt]
        cost = sum((_cost(c) for c in calls), Usage())
        spender = self._spending()
        batch = spender.next_batch()

        def commit(transaction: Transaction) -> None:
            # not settled where the server kept it, but the connection was lost before it said so
            if spender.settle(transaction, batch, attempts, cost):
                self._add_ended(transaction, calls)

        self._database.write(commit)
        spender.settled(attempts, cost)

    def _add_ended(self, transaction: Transaction, calls: Sequence[Call]) -> None:
        """Add calls with what became of them."""
        paid = [c for c in calls if not c.answer.error]
        if self._worker is not None:
            self._worker.release(transaction, [c.key for c in calls if not c.answer.error or c.given_up])
        links = [(c.answer.item, c.answer.condition, c.answer.draw, c.key) for c in paid if c.answer.condition]
        transaction.add("calls", map(_paid, paid))
        transaction.add("answers", links)
        transaction.add("failures", [_given_up(c) for c in calls if c.answer.error])
        transaction.many(_ASIDE, [(c.key, c.aside) for c in calls if c.aside])

    def answers(self, condition: str | None = None, *, item: str | None = None) -> Iterator[Answer]:
        """Answers in the order of items and draws, streamed; failed ones (never answered since) come with `error`."""
        item = self._item if item is None else item
        for of, name, draw, *rest in self._database.stream(_ANSWERS, (condition, item)):
            yield _answer(of, name, draw, rest)
        for of, name, draw, error in self._rows(_FAILED, (condition, item)):
            yield Answer(text="", item=of, condition=name, draw=draw, error=error)

    def spent(self) -> Spent:
        """Requests, tokens and money so far, over everything in the run."""
        answers, failed, tokens, money, unpriced = self._rows(_SPENT)[0]
        if self._database.version >= JOURNAL:
            failed += self._rows("SELECT count(*) FROM attempts")[0][0]
        return Spent(calls=answers + failed, answers=answers, tokens=tokens, money_usd=money, unpriced=unpriced)

    def used(self) -> Usage:
        """What counts against a budget: what was spent, is held, or was never settled."""
        if self._database.version >= JOURNAL or isinstance(self._database, PostgresDatabase):
            return Usage(*self._rows(_USED)[0])
        spent = self.spent()
        return Usage(calls=spent.calls, tokens=spent.tokens, money_usd=spent.money_usd)

    def unsettled(self) -> Unsettled:
        """What may have been billed without an answer."""
        if self._database.version < JOURNAL:
            return Unsettled(cut_off=0, failed=0, tokens=0, money_usd=0.0)
        busy = self.being_written() and self._worker is None
        return _unsettled([] if busy else self._rows(_UNSETTLED), self._rows(_MAYBE_BILLED)[0])

    def settle(self, billed_usd: float) -> Unsettled:
        """Take what is unsettled to have cost this much together: it counts as that from now on, and as failed."""

        def settle(transaction: Transaction) -> Unsettled:
            transaction.alone()
            rows, failed = transaction.rows(_UNSETTLED), transaction.rows(_MAYBE_BILLED)[0]
            found = _unsettled(rows, failed)
            reason = "cut off, and settled by hand"
            transaction.add("failures", [(key, model, "", "", 0, reason, False, 0, 0.0) for _, key, model, *_ in rows])
            transaction.many("DELETE FROM attempts WHERE id = ?1", [(row[0],) for row in rows])
            transaction.rows("UPDATE failures SET tokens = 0, money_usd = 0 WHERE tokens > 0 OR money_usd > 0")
            transaction.rows(_BY_HAND, (uuid.uuid4().hex, -found.tokens, billed_usd - found.money_usd))
            return found

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

    # -- ratings -------------------------------------------------------------------------------------------

    def add_ratings(self, ratings: Iterable[Rating]) -> None:
        """Add ratings; a rater's newer rating of the same answer replaces the older."""
        self._add_records("ratings", ratings)

    def rated(self) -> dict[str, int]:
        """How many answers each kind of rater gave a severity."""
        return dict(self._rows(_RATED))

    def ratings(self, *, kind: Literal["human", "judge", "rule"] | None = None) -> list[Rating]:
        """Ratings in the order of condition, item, draw and rater; of one kind, or all."""
        return [Rating(**row) for row in self._read("ratings", _OF_KIND, self._item, kind)]

    # -- imported grades and confidences ---------------------------------------------------------------------

    def add_grades(self, grades: Iterable[Grade]) -> None:
        """Add grades; a scorer's newer grade of the same answer replaces the older."""
        self._add_records("grades", grades)

    def grades(self) -> list[Grade]:
        """Grades in the order of condition, item, draw and scorer."""
        found = list(self._read("grades", _OF_ITEM, self._item))
        for row in found:
            row["correct"] = None if row["correct"] is None else bool(row["correct"])
        return [Grade(**row | {"main": bool(row["main"])}) for row in found]

    def add_confidences(self, confidences: Iterable[Confidence]) -> None:
        """Add confidences; a newer one of the same answer and source replaces the older."""
        self._add_records("confidences", confidences)

    def confidences(self) -> list[Confidence]:
        """Confidences in the order of condition, item, draw and source."""
        return [Confidence(**row) for row in self._read("confidences", _OF_ITEM, self._item)]

    # -- error search --------------------------------------------------------------------------------------

    def add_step(
        self,
        step: int,
        *,
        picks: Sequence[tuple[int, str]],
        retrievals: Iterable[tuple[int, int]],
        sample: Sequence[int],
    ) -> None:
        """Keep a step of a search before it is asked.

        What it chose (paragraph, design), what retrieved it (source, target), and by which paragraphs the random
        sample has grown.
        """
        rows = [(paragraph, step, i, design) for i, (paragraph, design) in enumerate(picks)]
        edges = list(retrievals)

        def add(transaction: Transaction) -> None:
            (start,) = transaction.rows("SELECT count(*) FROM sample")[0]
            transaction.add("picks", rows)
            transaction.add("retrievals", edges)
            transaction.add("sample", enumerate(sample, start))

        self._database.write(add)

    def sample(self) -> list[int]:
        """The paragraphs of a search's simple random sample, in its random order."""
        return [row for (row,) in self._rows("SELECT paragraph FROM sample ORDER BY place")]

    def picks(self) -> list[tuple[int, int, str]]:
        """(paragraph, step, design) in the order they were chosen."""
        return self._rows("SELECT paragraph, step, design FROM picks ORDER BY step, position")

    def retrievals(self) -> list[tuple[int, int]]:
        """(source, target) pairs."""
        return self._rows("SELECT source, target FROM retrievals ORDER BY source, target")

    # -- notes ---------------------------------------------------------------------------------------------

    def set_note(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep a small fact of the run (its bench, versions, plan hash) under a name."""
        self._add("notes", [(name, json.dumps(value, sort_keys=True, ensure_ascii=False))])

    def note(self, name: str) -> dict[str, Any] | None:
        """A fact kept with `set_note`."""
        rows = self._rows("SELECT body FROM notes WHERE name = ?1", (name,))
        return _read(dict[str, Any], rows[0][0], f"the note {name!r}", self.name) if rows else None


def _claimed(wanted: _Wanted, claims: Claims) -> Answer | Literal["ours", "theirs"]:
    """What became of a call that was wanted: its answer, its failure, or who makes it."""
    key, item, condition, draw, _ = wanted
    if key in claims.found:
        return _answer(item, condition, draw, claims.found[key])
    if key in claims.failed:
        return Answer(text="", item=item, condition=condition, draw=draw, error=claims.failed[key])
    return "ours" if key in claims.ours else "theirs"


def _read(make: Callable[[Any], T], body: Any, what: str, where: str) -> T:
    """What a ledger holds as JSON; one that somebody else made may hold anything there."""
    try:
        return make(json.loads(body))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise LedgerCorrupt(
            f"{where} is damaged or was not written by Richter: {what} in it cannot be read.",
            remedy="Restore it from a copy, or use a new run folder.",
        ) from error


def _cost(call: Call) -> Usage:
    if call.cost is not None:
        return call.cost
    given = call.answer
    return Usage(1, (given.tokens_in or 0) + (given.tokens_out or 0), given.money_usd or 0.0)


def _paid(call: Call) -> Values:
    """A call as a row of `calls`."""
    given = call.answer
    tokens = json.dumps(given.tokens, ensure_ascii=False) if given.tokens else None
    logprobs = json.dumps(given.logprobs) if given.logprobs else None
    counts = (given.tokens_in, given.tokens_out, given.money_usd, given.latency_s)
    return call.key, call.model, call.request, given.text, given.finish, tokens, logprobs, *counts


def _given_up(call: Call) -> Values:
    """A call without an answer as a row of `failures`."""
    asked, cost = call.answer, call.cost or Usage()
    whose = (asked.item, asked.condition, asked.draw)
    return call.key, call.model, *whose, asked.error, call.given_up, cost.tokens, cost.money_usd


def _failed(call: Call, error: Exception) -> Call:
    """A call whose answer no table takes, as a failure that says so; the answer goes aside."""
    asked = call.answer
    reason = ascii(f"the answer cannot be stored: {error}")[1:300]
    answer = Answer(text="", item=asked.item, condition=asked.condition, draw=asked.draw, error=reason)
    cost = call.cost or Usage(calls=1)
    aside = call.aside or json.dumps(dataclasses.asdict(asked), default=repr).encode()
    return dataclasses.replace(call, answer=answer, cost=cost, aside=aside)


def _unsettled(rows: Sequence[Any], failed: Sequence[Any]) -> Unsettled:
    return Unsettled(
        cut_off=len(rows),
        failed=failed[0],
        tokens=failed[1] + sum(row[3] for row in rows),
        money_usd=failed[2] + sum(row[4] for row in rows),
    )


def _answer(item: str, condition: str, draw: int, row: Sequence[Any]) -> Answer:
    text, finish, tokens, logprobs, tokens_in, tokens_out, money_usd, latency_s = row
    return Answer(
        text=text,
        item=item,
        condition=condition,
        draw=draw,
        finish=finish,
        tokens=_read(tuple, tokens, "the tokens of an answer", "The ledger") if tokens else (),
        logprobs=_read(tuple, logprobs, "the probabilities of an answer", "The ledger") if logprobs else (),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money_usd=money_usd,
        latency_s=latency_s,
    )
