"""A run's tables in a schema of a PostgreSQL database, which several machines may write."""

import asyncio
import contextlib
import re
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from richter.errors import (
    InputError,
    LedgerCorrupt,
    LedgerError,
    LedgerLocked,
    LedgerUnreachable,
    MissingPart,
    RichterError,
    StorageError,
)
from richter.store._database import Stream, Transaction, UnstorableValue, Values
from richter.store._hashes import HashedTransaction
from richter.store._place import DatabaseRun, can_name, named_run
from richter.store._schema import CLOCK, MARK, NEWEST, TABLES_SQL, check_version, for_postgres

CONNECT_S = 10.0
COMMAND_S = 60.0  # a server that says nothing for so long is taken for lost
RECONNECT_S = 60.0  # how long a lost server is waited for
LONGEST_PAUSE_S = 2.0
HOLD_S = 5.0
CHUNK = 2_000  # rows fetched at a time when streaming

T = TypeVar("T")

# what the server says (SQLSTATE) -> what it means for a run
_REFUSED: dict[str, tuple[type[RichterError], str, str]] = {
    "28P01": (LedgerError, "refuses the password", "Check user and password (PGPASSWORD or ~/.pgpass)."),
    "28000": (LedgerError, "refuses this user", "Check the user's name and the server's pg_hba.conf."),
    "3D000": (LedgerError, "does not exist", "Make the database first: createdb NAME."),
    "42501": (LedgerError, "may not be used by this user", "Ask its owner to GRANT what is missing."),
    "25006": (StorageError, "is read-only", "Write to the primary server."),
    "53100": (StorageError, "has no room: the server's disk is full", "Free space there and run the command again."),
    "53200": (StorageError, "has no memory left", "What was committed is kept: run the command again later."),
    "55P03": (LedgerLocked, "is locked", "Wait for the other command to end."),
}
_LOST = {"57P01", "57P02", "57P03", "57P05", "53300"}  # shut down, crashed, starting up, idle too long, no connection


class PostgresDatabase:
    """A schema of a PostgreSQL database, over asyncpg on an event loop in a thread of its own.

    A lost connection is made again and the transaction is done again from its beginning, for a minute; then the
    command ends and can be resumed.
    """

    def __init__(self, place: DatabaseRun, *, writable: bool, alone: bool = False) -> None:
        try:
            import asyncpg
        except ImportError as error:
            raise MissingPart(
                "A run in a database needs asyncpg, which is not installed.", remedy="pip install 'richter[postgres]'"
            ) from error
        self.name = str(place)
        self.reconnected_at: float | None = None  # when a lost server was last found again, by time.monotonic
        self._asyncpg = asyncpg
        self._place = place
        self._writable = writable
        self._alone = alone
        self._guard = threading.RLock()
        self._connections: dict[str, Any] = {}
        self._reading = asyncio.Lock()
        self._beats: list[asyncio.Task[None]] = []
        self._reached = False
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres", daemon=True)
        self._thread.start()

    # -- connections ---------------------------------------------------------------------------------------

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _connect(self, purpose: str) -> Any:
        """The connection for a purpose, made if there is none: reading and the lease do not wait for writing."""
        known = self._connections.get(purpose)
        if known is not None and not known.is_closed():
            return known
        settings = {"application_name": "richter", "search_path": f'"{self._place.name}"'}
        if not self._writable:
            settings["default_transaction_read_only"] = "on"
        connection = await self._asyncpg.connect(
            self._place.url, timeout=CONNECT_S, command_timeout=COMMAND_S, server_settings=settings
        )
        self._connections[purpose] = connection
        self._reached = True
        try:
            if self._writable:  # an answer that is told to be kept must survive a crash, whatever the server's default
                await connection.execute(
                    "SELECT set_config('synchronous_commit', 'on', false) "
                    "WHERE current_setting('synchronous_commit') IN ('off', 'local')"
                )
            if self._writable and purpose == "write":
                await self._enter(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection

    async def _enter(self, connection: Any) -> None:
        """Hold the run beside other writers, or alone; the server frees it when the connection ends."""
        how = "pg_try_advisory_lock" if self._alone else "pg_try_advisory_lock_shared"
        if not await connection.fetchval(f"SELECT {how}(hashtext('richter writers'), hashtext($1))", self._place.name):
            raise LedgerLocked(
                f"{self.name} is being written by another process.",
                remedy="A search writes its run alone: wait for the other command to end.",
            )

    def _is_lost(self, error: Exception) -> bool:
        state = getattr(error, "sqlstate", None) or ""
        if isinstance(error, self._asyncpg.InterfaceError):
            return "closed" in str(error) or "released" in str(error)
        return isinstance(error, OSError | TimeoutError) or state in _LOST or state.startswith("08")

    def _translate_error(self, error: Exception) -> RichterError:
        state = getattr(error, "sqlstate", None) or ""
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if self._place.password:
            reason = reason.replace(self._place.password, "***")
        if state in _REFUSED:
            kind, what, remedy = _REFUSED[state]
            return kind(f"{self.name} {what} ({reason}).", remedy=remedy)
        if self._is_lost(error):
            return LedgerUnreachable(
                f"{self.name} does not answer ({reason}).",
                remedy="What was committed is kept: check address and server, and run the same command again.",
            )
        if isinstance(error, self._asyncpg.ClientConfigurationError | ValueError) and not state:
            return InputError(f"{self.name} cannot be used as an address ({reason}).", remedy="Check its parts.")
        return LedgerError(f"{self.name}: {reason}.", remedy="Run again with --debug and report this.")

    def _persist(self, work: Callable[[], T], purpose: str, *, whole: bool = True) -> T:
        """Do `work`; again from its beginning, on a new connection, where the server was lost in the middle.

        Not where it was never reached, nor where the work is not `whole` but goes on from before.
        """
        until, pause, was_lost = time.monotonic() + RECONNECT_S, 0.05, False
        while True:
            try:
                result = work()
                if was_lost:
                    self.reconnected_at = time.monotonic()
                return result
            except RichterError:
                raise
            except self._asyncpg.DataError as error:
                message = f"{self.name} cannot hold a value ({str(error)[:200]})."
                raise UnstorableValue(message, remedy="Leave it out.") from error
            except (self._asyncpg.DeadlockDetectedError, self._asyncpg.SerializationError) as error:
                if time.monotonic() > until:
                    raise self._translate_error(error) from error
            except (self._asyncpg.PostgresError, self._asyncpg.InterfaceError, OSError, TimeoutError) as error:
                was_lost = True
                self._drop(purpose)
                if not self._may_come_back(error, whole=whole) or time.monotonic() > until:
                    self._reached = False  # one long wait is enough: what comes after it ends at once
                    raise self._translate_error(error) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _may_come_back(self, error: Exception, *, whole: bool) -> bool:
        """Whether work that failed so may be done again from its beginning."""
        starting = getattr(error, "sqlstate", None) == "57P03"
        return self._is_lost(error) and whole and (self._reached or starting) and not self._closed

    def _drop(self, purpose: str) -> None:
        connection = self._connections.pop(purpose, None)
        if connection is not None:
            self._loop.call_soon_threadsafe(connection.terminate)

    # -- the ledger's side ---------------------------------------------------------------------------------

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        """Read, beside a transaction that is writing."""

        async def read() -> list[Any]:
            async with self._reading:
                connection = await self._connect("read")
                return [
                    tuple(row) for row in await connection.fetch(_number_parameters(sql), *map(_to_storable, values))
                ]

        return self._persist(lambda: self._wait(read()), "read")

    def stream(self, sql: str, values: Values = ()) -> Iterator[Any]:
        """Read in chunks, on a connection of its own, all rows as they are at the beginning."""
        with self.snapshot() as stream:
            yield from stream(sql, values)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Stream]:
        """Read in chunks, on a connection of its own, what stands there now."""
        purpose = f"snapshot {time.monotonic_ns()}"

        async def begin() -> Any:
            connection = await self._connect(purpose)
            await connection.transaction(isolation="repeatable_read", readonly=True).start()
            await connection.execute("SELECT 1")  # the first statement takes the snapshot
            return connection

        def stream(sql: str, values: Values = ()) -> Iterator[Any]:
            asked = connection.cursor(_number_parameters(sql), *map(_to_storable, values))
            cursor = self._persist(lambda: self._wait(_start_cursor(asked)), purpose, whole=False)
            while chunk := self._persist(lambda: self._wait(cursor.fetch(CHUNK)), purpose, whole=False):
                yield from map(tuple, chunk)

        try:
            connection = self._persist(lambda: self._wait(begin()), purpose)
            yield stream
        finally:
            self._drop(purpose)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Do `work` in one transaction; it may be done again from its beginning, so it must not do anything else."""
        with self._guard:
            return self._persist(lambda: self._transact(work), "write")

    def _transact(self, work: Callable[[Transaction], T]) -> T:
        connection = self._wait(self._connect("write"))
        transaction = connection.transaction()
        self._wait(transaction.start())
        try:
            hashed = HashedTransaction(_Writing(self._wait, connection))
            result = work(hashed)
            hashed.keep_hashes()
            self._wait(transaction.commit())
        except BaseException:
            try:
                self._wait(transaction.rollback())
            except Exception:  # gone, or left in the middle of something by Ctrl-C: the server rolls back by itself
                self._drop("write")
            raise
        return result

    def keep_doing(self, sql: str, values: Values, *, every_s: float) -> None:
        """Run a statement now and then until the database is closed, on a connection of its own."""

        async def beat() -> None:
            while True:
                try:
                    connection = await self._connect("lease")
                    await connection.execute(_number_parameters(sql), *values, timeout=every_s)
                except Exception:  # the next beat tries again on a new connection; writing says what is wrong
                    self._drop("lease")
                await asyncio.sleep(every_s)

        self._loop.call_soon_threadsafe(lambda: self._beats.append(self._loop.create_task(beat())))

    def being_written(self) -> bool:
        """Whether some process has been heard of that writes it."""
        return bool(self.rows("SELECT 1 FROM workers WHERE expires_at >= clock() LIMIT 1"))

    def check_room(self) -> None:
        """Nothing: the server says so when it is asked to write."""

    def hold(self, purpose: str) -> None:
        """Keep a purpose to this process while the database is open; a connection that was lost takes it up again."""
        sql = "SELECT pg_try_advisory_lock(hashtext(?1), hashtext(?2))"
        values = (f"richter {purpose}", self._place.name)

        async def take() -> Any:
            return await (await self._connect("lease")).fetchval(_number_parameters(sql), *values)

        if not self._persist(lambda: self._wait(take()), "lease"):
            raise LedgerLocked(
                f"Another process is at an {purpose} of {self.name}.", remedy="Wait for it to end, or name another run."
            )
        self.keep_doing(sql, values, every_s=HOLD_S)

    def close(self) -> None:
        """End the connections and the thread."""

        async def end() -> None:
            for beat in self._beats:
                beat.cancel()
            await asyncio.gather(*self._beats, return_exceptions=True)
            for connection in self._connections.values():
                try:
                    await connection.close(timeout=2.0)
                except Exception:  # its server is gone, or it was left in the middle of something
                    connection.terminate()

        if self._closed:
            return
        self._closed = True
        self._wait(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # -- the schema ----------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Check the run's tables; make them where they are to be written."""
        version = self._persist(lambda: self._wait(self._version()), "read")
        if not self._writable:
            if version is None:
                raise InputError(
                    f"{self.name} is not a run: no such tables.", remedy="Make one with `richter audit --only ask`."
                )
            check_version(self.name, version, writable=False)
        elif version != NEWEST:
            self._persist(lambda: self._wait(self._make_tables()), "read")
        if self._writable:
            self._persist(lambda: self._wait(self._connect("write")), "write")

    async def _version(self) -> int | None:
        """The version of the run's tables; None where there are none."""
        connection = await self._connect("read")
        if await connection.fetchval("SHOW server_encoding") != "UTF8":
            raise LedgerError(f"{self.name} is not in UTF-8.", remedy="Make a database with ENCODING 'UTF8'.")
        name = self._place.name
        tables, usable = await connection.fetchrow(
            "SELECT count(*), bool_and(has_schema_privilege(n.oid, 'USAGE')) "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r'",
            name,
        )
        if not tables:
            return None
        if not usable:
            raise LedgerError(
                f"{self.name} may not be used by this user.",
                remedy=f'Ask its owner: GRANT USAGE ON SCHEMA "{name}", and SELECT on its tables.',
            )
        mark = await connection.fetchval("SELECT obj_description(to_regclass('migrations'), 'pg_class')")
        if mark != MARK:
            raise LedgerCorrupt(
                f"{self.name}: the schema {name} there is not a Richter ledger.",
                remedy="Name another run: postgresql://host/database#name.",
            )
        return int(await connection.fetchval("SELECT max(CAST(name AS INTEGER)) FROM migrations"))

    async def _make_tables(self) -> None:
        connection = await self._connect("read")
        async with connection.transaction():
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtext('richter schema'), hashtext($1))", self._place.name
            )
            version = await self._version()  # another process may have been quicker
            check_version(self.name, version or 0, writable=True)
            if version is None:
                if not await connection.fetchval("SELECT 1 FROM pg_namespace WHERE nspname = $1", self._place.name):
                    await connection.execute(f'CREATE SCHEMA "{self._place.name}"')
                await connection.execute(CLOCK)
                await connection.execute(for_postgres(TABLES_SQL))
                await connection.execute("INSERT INTO migrations VALUES ($1, clock())", str(NEWEST))
                await connection.execute(f"COMMENT ON TABLE migrations IS '{MARK}'")


class _Writing:
    """The transaction that `write` has begun."""

    def __init__(self, wait: Callable[[Coroutine[Any, Any, Any]], Any], connection: Any) -> None:
        self._wait = wait
        self._connection = connection

    def rows(self, sql: str, values: Values = ()) -> list[Any]:
        rows = self._wait(self._connection.fetch(_number_parameters(sql), *map(_to_storable, values)))
        return [tuple(row) for row in rows]

    def many(self, sql: str, rows: Sequence[Values]) -> None:
        if rows:
            self._wait(
                self._connection.executemany(_number_parameters(sql), [[_to_storable(v) for v in row] for row in rows])
            )

    def alone(self) -> None:
        """Wait for the others' transactions in the run and its parts that have passed here to end."""
        run = "split_part(CAST(current_schema() AS TEXT), '/', 1)"
        self.rows(f"SELECT pg_advisory_xact_lock(hashtext('richter turn'), hashtext({run}))")


def database_runs(place: DatabaseRun) -> list[DatabaseRun]:
    """The runs in a database, and their parts; a schema of somebody else's with a name that no run can have is none."""
    database = PostgresDatabase(place, writable=False)
    try:
        names = database.rows(
            "SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relname = 'migrations' AND obj_description(c.oid, 'pg_class') = ?1 ORDER BY 1",
            (MARK,),
        )
    finally:
        database.close()
    return [named_run(place, name) for (name,) in names if can_name(name)]


def scratch_run(place: DatabaseRun) -> DatabaseRun:
    """Where a run that is being made lies: a schema whose name no run can have, so that nobody takes it for one.

    What killed processes left of the same run is dropped.
    """
    prefix = f"{place.name[:40]}:"
    with _statements(place) as (rows, run):
        for (name,) in rows("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, ?1)", (prefix,)):
            held = rows("SELECT pg_try_advisory_lock(hashtext('richter writers'), hashtext(?1))", (name,))
            if held[0][0]:  # nobody writes it any more; the lock goes with the connection
                run(f'DROP SCHEMA "{name}" CASCADE')
    return named_run(place, f"{prefix}{secrets.token_hex(8)}")


def publish_run(scratch: DatabaseRun, place: DatabaseRun) -> bool:
    """Give a run that was made its name; False where another has it."""
    sql = "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ?1"
    with _statements(place) as (rows, run):
        if rows(sql, (place.name,)):
            return False
        run(f'DROP SCHEMA IF EXISTS "{place.name}"; ALTER SCHEMA "{scratch.name}" RENAME TO "{place.name}"')
    return True


def drop_run(scratch: DatabaseRun) -> None:
    """Drop what there is of a run that was not made."""
    with _statements(scratch) as (_, run):
        run(f'DROP SCHEMA IF EXISTS "{scratch.name}" CASCADE')


@contextlib.contextmanager
def _statements(place: DatabaseRun) -> Iterator[tuple[Callable[..., list[Any]], Callable[[str], None]]]:
    """How to read from a database, and to run statements as one transaction, on one connection."""
    database = PostgresDatabase(place, writable=True)

    async def execute(sql: str) -> None:
        await (await database._connect("read")).execute(sql)

    try:
        yield database.rows, lambda sql: database._persist(lambda: database._wait(execute(sql)), "read")
    finally:
        database.close()


async def _start_cursor(cursor: Any) -> Any:
    """A cursor of asyncpg, ready to fetch."""
    return await cursor


def _number_parameters(sql: str) -> str:
    """?1 as PostgreSQL writes it."""
    return re.sub(r"\?(\d)", r"$\1", sql)


def _to_storable(value: Any) -> Any:
    """PostgreSQL's text has no NUL; its picture (U+2400) stands for one."""
    return value.replace("\0", "\u2400") if isinstance(value, str) else value
