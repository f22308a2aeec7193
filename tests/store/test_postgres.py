"""What only a ledger in a database must do: share calls and budget, survive its server, keep the password."""

import asyncio
import base64
import dataclasses
import os
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.postgres import PASSWORD, QUOTED, PostgresServer, find_programs
from richter.errors import (
    InputError,
    LedgerCorrupt,
    LedgerError,
    LedgerLocked,
    LedgerNewer,
    LedgerUnreachable,
    MissingPart,
    StorageError,
)
from richter.records import Answer, Item, Rating
from richter.store import (
    Attempt,
    Call,
    Ledger,
    Limits,
    Usage,
    check_integrity,
    find_runs,
    has_ledger,
    open_ledger,
    run_folder,
    run_part,
    run_place,
    run_used,
)
from richter.store import _postgres as driver
from richter.store import _schema as schema
from richter.store import _workers as shared


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.url(f"run-{uuid.uuid4().hex[:8]}")


def call(number: int, **fields: Any) -> Call:
    answer = Answer(text=f"text {number}", item=f"i{number}", condition="c", tokens_in=3, tokens_out=2)
    return Call(key=f"key{number}", model="m", request="{}", answer=answer, **fields)


def failure(number: int, *, given_up: bool) -> Call:
    answer = Answer(text="", item=f"i{number}", condition="c", error="no luck")
    return Call(key=f"key{number}", model="m", request="{}", answer=answer, given_up=given_up)


def record(ledger: Ledger, *calls: Call) -> None:
    async def main() -> None:
        await asyncio.gather(*(ledger.record(c) for c in calls))

    asyncio.run(main())


def claim(ledger: Ledger, *numbers: int) -> list[str]:
    """Who makes each call: "ours", "theirs", or what was answered."""

    async def main() -> list[Any]:
        return await asyncio.gather(*(ledger.claim(f"key{n}", f"i{n}", "c", 0) for n in numbers))

    return [found if isinstance(found, str) else found.error or found.text for found in asyncio.run(main())]


def hold(ledger: Ledger, limits: Limits, *bounds: Usage) -> list[str]:
    """The attempts for which there was room, and "" where there was none."""
    wanted = [Attempt(uuid.uuid4().hex, "key", "m", bound, limits) for bound in bounds]

    async def main() -> list[Any]:
        return await asyncio.gather(*(ledger.hold(attempt) for attempt in wanted))

    granted = [room.granted for room in asyncio.run(main())]
    for attempt, fits in zip(wanted, granted, strict=True):
        if fits:
            ledger.mark_sent(attempt.id)
    return [attempt.id if fits else "" for attempt, fits in zip(wanted, granted, strict=True)]


def sql(url: str, statement: str) -> None:
    async def main() -> None:
        import asyncpg

        connection = await asyncpg.connect(url.partition("#")[0])
        await connection.execute(statement)
        await connection.close()

    asyncio.run(main())


# ---- calls are claimed -----------------------------------------------------------------------------------------------


def test_two_processes_never_make_the_same_call(url: str) -> None:
    with open_ledger(url, mode="write") as one:
        with open_ledger(url, mode="write") as other:
            assert claim(one, 1, 2) == ["ours", "ours"]
            assert claim(one, 1) == ["ours"]  # still
            assert claim(other, 1, 2, 3) == ["theirs", "theirs", "ours"]
            record(one, call(1))
            assert claim(other, 1, 2) == ["text 1", "theirs"]
            record(one, failure(2, given_up=False))
            assert claim(other, 2) == ["theirs"]  # it will try again
            record(one, failure(2, given_up=True))
            assert claim(other, 2) == ["no luck"]  # tried by one is tried by all
        assert claim(one, 3) == ["ours"]  # `other` has ended and let go
    with open_ledger(url, mode="write") as later:
        assert claim(later, 1, 2, 3) == ["text 1", "ours", "ours"]  # resuming asks again what failed


def test_under_a_rush_each_call_is_ours_to_one_process_only(url: str) -> None:
    open_ledger(url, mode="write").close()
    made: list[int] = []

    def rush(seed: int) -> None:
        order = random.Random(seed).sample(range(120), 120)
        with open_ledger(url, mode="write") as ledger:
            while order:
                group, order = order[:12], order[12:]
                found = dict(zip(group, claim(ledger, *group), strict=True))
                ours = [n for n, who in found.items() if who == "ours"]
                made.extend(ours)
                record(ledger, *(call(n) for n in ours))  # claims are let go of while others reach for them
                order += [n for n, who in found.items() if who == "theirs"]

    threads = [threading.Thread(target=rush, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == list(range(120))


def test_an_answer_found_is_linked_to_the_item_that_asked(url: str) -> None:
    with open_ledger(url, mode="write") as ledger:
        record(ledger, call(1))
        found = asyncio.run(ledger.claim("key1", "again", "other", 4))
        assert isinstance(found, Answer)
        assert ledger.answered_draws("other") == {("again", 4)}
        asyncio.run(ledger.claim("key1", "third", "other", 0, unless=lambda answer: answer.text == "text 1"))
        assert ledger.answered_draws("other") == {("again", 4)}


def set_clock(ledger: Ledger, moment: float) -> None:
    """Make the server say that it is this time."""
    sql = (
        "CREATE OR REPLACE FUNCTION clock() RETURNS DOUBLE PRECISION LANGUAGE sql VOLATILE AS "
        f"'SELECT CAST({moment} AS DOUBLE PRECISION)'"
    )
    ledger._database.write(lambda transaction: transaction.rows(sql))


def test_no_clock_of_the_server_makes_a_run_damaged(url: str) -> None:
    rating = Rating(item="q", condition="c", rater="r", kind="human", severity=1.0)
    with open_ledger(url, mode="write") as one, open_ledger(url, mode="write") as other:
        for k, moment in enumerate((2e9, 1e9, 3e9, 1.5e9)):
            set_clock(one, moment)
            one.add_ratings([dataclasses.replace(rating, severity=1.0 + k % 2)])
            one.set_note("n", {"k": k})
        other.add_ratings([dataclasses.replace(rating, severity=3.0)])
        found = check_integrity(url)
        assert found.parts[0].damage == ()
        one._database.write(lambda transaction: transaction.rows("UPDATE ratings SET severity = 1.0"))
        assert [d.what for d in check_integrity(url).parts[0].damage] == ["was changed"]


def test_no_hash_is_added_for_answers_that_an_item_has(url: str) -> None:
    with open_ledger(url, mode="write") as one, open_ledger(url, mode="write") as other:
        record(one, call(1), call(2))
        before = other._rows("SELECT count(*) FROM hashes")
        assert claim(other, 1, 2) == ["text 1", "text 2"]
        assert other._rows("SELECT count(*) FROM hashes") == before


def lease_over(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody had been heard of for the length of a lease, nor had the server just been started."""
    sql(url, f'UPDATE "{url.partition("#")[2]}".workers SET expires_at = extract(epoch FROM clock_timestamp()) - 1')
    monkeypatch.setattr(shared, "LEASE_S", 0.0)


def test_a_dead_process_loses_its_calls_after_its_lease(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "BEAT_S", 0.05)
    dead = open_ledger(url, mode="write")
    with open_ledger(url, mode="write") as alive:
        assert claim(dead, 1) == ["ours"]
        ends = alive._rows("SELECT expires_at FROM workers")
        until = time.monotonic() + 60
        while alive._rows("SELECT expires_at FROM workers") == ends and time.monotonic() < until:
            time.sleep(0.01)
        assert alive._rows("SELECT expires_at FROM workers") > ends  # it is heard of
        assert claim(alive, 1) == ["theirs"]
        dead._database.close()  # as if killed: nothing is said or given back
        assert claim(alive, 1) == ["theirs"]
        lease_over(url, monkeypatch)
        assert claim(alive, 1) == ["ours"]


def test_clocks_that_disagree_do_no_harm(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(url, mode="write") as one, open_ledger(url, mode="write") as other:
        assert claim(one, 1) == ["ours"]
        right = time.time
        monkeypatch.setattr(time, "time", lambda: right() + 1e6)  # this process believes it is eleven days later
        assert claim(other, 1, 2) == ["theirs", "ours"]
        record(other, failure(2, given_up=True))
        monkeypatch.setattr(time, "time", lambda: right() - 1e6)
        assert claim(one, 1, 2) == ["ours", "no luck"]


def test_no_claim_passes_on_just_after_the_server_came_back(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = open_ledger(url, mode="write")
    with open_ledger(url, mode="write") as alive:
        assert claim(dead, 1) == ["ours"]
        dead._database.close()
        lease_over(url, monkeypatch)
        alive._database.reconnected_at = time.monotonic() + 60  # the other may have been cut off as well
        assert claim(alive, 1) == ["theirs"]
        alive._database.reconnected_at -= 120
        assert claim(alive, 1) == ["ours"]


# ---- the budget is held over all processes ---------------------------------------------------------------------------


def test_the_budget_is_over_all_processes(url: str) -> None:
    limits, bound = Limits(calls=5, tokens=100), Usage(calls=1, tokens=30)
    with open_ledger(url, mode="write") as one, open_ledger(url, mode="write") as other:
        first, second = hold(one, limits, bound, bound)
        third, none = hold(other, limits, bound, bound)
        assert (bool(third), none) == (True, "")  # 120 tokens would be too many
        record(one, call(1, attempt=first, cost=Usage(calls=1, tokens=2)))
        fourth, none = hold(other, limits, bound, bound)
        assert (bool(fourth), none) == (True, "")  # 2 spent, 30 and 60 held: 92
        record(other, call(2, attempt=third, cost=Usage(calls=1, tokens=1)))
        fifth, none = hold(other, limits, bound, bound)
        assert (bool(fifth), none) == (True, "")  # 3 spent, 30 and 60 held: 93
        for number, attempt in enumerate((second, fourth, fifth), 3):
            record(one if attempt == second else other, call(number, attempt=attempt, cost=Usage(calls=1)))
    with open_ledger(url, mode="write") as later:
        assert [bool(a) for a in hold(later, Limits(calls=6), *[Usage(calls=1)] * 2)] == [True, False]


def test_the_budget_is_over_a_run_and_its_parts(url: str) -> None:
    limits, bound = Limits(calls=3), Usage(calls=1)
    with open_ledger(url, mode="write") as whole, open_ledger(run_part(url, "draws"), mode="write") as part:
        assert all(hold(whole, limits, bound, bound))
        assert [bool(a) for a in hold(part, limits, bound, bound)] == [True, False]
        assert hold(whole, limits, bound) == [""]
        assert run_used(url) == run_used(run_part(url, "draws")) == Usage(calls=3)


def test_what_a_dead_process_had_in_flight_stays_counted(url: str) -> None:
    dead = open_ledger(url, mode="write")
    assert all(hold(dead, Limits(calls=2), Usage(calls=1)))
    dead._database.close()
    with open_ledger(url, mode="write") as alive:
        assert [bool(a) for a in hold(alive, Limits(calls=2), Usage(calls=1), Usage(calls=1))] == [True, False]


# ---- the server goes away --------------------------------------------------------------------------------------------


def test_a_server_that_restarts_is_waited_for(url: str, postgres: PostgresServer) -> None:
    with open_ledger(url, mode="write") as ledger:
        record(ledger, call(1))
        postgres.stop(at_once=True)
        back = threading.Timer(1.0, postgres.start)
        back.start()
        record(ledger, call(2), failure(3, given_up=True))
        back.join()
        assert ledger.spent().calls == 3
        assert [a.item for a in ledger.answers()] == ["i1", "i2", "i3"]


def test_a_server_that_stays_away_ends_the_command_and_the_run_can_be_resumed(
    url: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "RECONNECT_S", 0.5)
    try:
        ledger = open_ledger(url, mode="write")
        record(ledger, call(1))
        postgres.stop()
        with pytest.raises(LedgerUnreachable, match="run the same command again"):
            record(ledger, call(2))
        ledger.close()
        with pytest.raises(LedgerUnreachable, match="does not answer"):
            open_ledger(url)
    finally:
        postgres.start()
    with open_ledger(url, mode="write") as ledger:
        assert claim(ledger, 1, 2) == ["text 1", "ours"]


def test_a_commit_whose_confirmation_is_lost_counts_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(url, mode="write") as ledger:
        record(ledger, call(1))
        transact, lost = ledger._database._transact, []

        def commit_and_lose(work: Callable[[Any], Any]) -> Any:
            result = transact(work)
            if not lost:
                lost.append(1)
                raise ConnectionResetError("the cable was pulled")
            return result

        monkeypatch.setattr(ledger._database, "_transact", commit_and_lose)
        record(ledger, call(2), failure(3, given_up=False), failure(3, given_up=True))
        assert lost
        assert ledger.spent().calls == 4


@pytest.mark.parametrize(
    ("state", "error", "match"),
    [("53100", StorageError, "disk is full"), ("42501", LedgerError, "GRANT"), ("XX000", LedgerError, "out of luck")],
)
def test_what_the_server_refuses_is_said(url: str, state: str, error: type[Exception], match: str) -> None:
    run = run_place(url).name
    with open_ledger(url, mode="write") as ledger:
        record(ledger, call(1))
        body = f"BEGIN RAISE EXCEPTION 'out of luck' USING ERRCODE = '{state}'; END"
        sql(url, f'CREATE FUNCTION "{run}".refuse() RETURNS trigger LANGUAGE plpgsql AS $${body}$$')
        sql(url, f'CREATE TRIGGER t BEFORE INSERT ON "{run}".calls EXECUTE FUNCTION "{run}".refuse()')
        with pytest.raises(error, match=match):
            record(ledger, call(2))
        sql(url, f'DROP TRIGGER t ON "{run}".calls')
        record(ledger, call(2))
        assert [a.item for a in ledger.answers()] == ["i1", "i2"]


def test_an_answer_is_on_disk_whatever_the_servers_default(url: str) -> None:
    sql(url, "ALTER ROLE richter SET synchronous_commit = off")
    try:
        with open_ledger(url, mode="write") as ledger:
            assert ledger._database.write(lambda t: t.rows("SHOW synchronous_commit")) == [("on",)]
    finally:
        sql(url, "ALTER ROLE richter RESET synchronous_commit")


# ---- addresses, schemas, secrets -------------------------------------------------------------------------------------


def test_wrong_places_are_named_and_the_password_is_not(url: str, postgres: PostgresServer) -> None:
    def said(attempt: Callable[[], object], kind: type[Exception]) -> str:
        with pytest.raises(kind) as caught:
            attempt()
        text = f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"
        assert not any(secret in text for secret in (PASSWORD, QUOTED, "s3cret-word"))
        return str(caught.value)

    assert "is not a run" in said(lambda: open_ledger(url), InputError)
    assert not has_ledger(url)
    wrong = postgres.url("r", password="s3cret-word")
    assert "refuses the password" in said(lambda: open_ledger(wrong, mode="write"), LedgerError)
    nowhere = postgres.url("r", database="nowhere")
    assert "does not exist" in said(lambda: open_ledger(nowhere, mode="write"), LedgerError)
    closed = f"postgresql://me:{QUOTED}@127.0.0.1:9/db"
    assert "does not answer" in said(lambda: open_ledger(closed), LedgerUnreachable)
    assert "cannot be read" in said(lambda: run_place(f"postgresql://me:{QUOTED}@host:port/db"), InputError)
    assert "names no database" in said(lambda: run_place(f"postgresql://me:{QUOTED}@host/db/run"), InputError)
    assert "cannot be a run's name" in said(lambda: run_place("postgresql://me:#s3cret-word@host/db"), InputError)
    for half in ("s3cret?word", "s3cret/word", "s3cret word", "s3cret/wo?rd"):
        text = said(lambda half=half: run_place(f"postgresql://me:{half}@host/db"), InputError)
        assert "s3cret" not in text
        assert "word" not in text.replace("password", "")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://me:s3cret@host:1/db#r", "postgresql://me@host:1/db#r"),
        ("postgres://me:s3cret@host/db?password=s3cret&sslmode=require", "postgres://me@host/db?sslmode=require"),
        ("POSTGRESQL://me:s3cret@host/db", "postgresql://me@host/db"),
        ("postgresql://me@host/db?sslpassword=s3cret&password=s3cret", "postgresql://me@host/db"),
        ("postgresql://host/db", "postgresql://host/db"),
        ("postgresql:///db#a.b-c", "postgresql:///db#a.b-c"),
    ],
)
def test_an_address_prints_without_its_password(address: str, shown: str) -> None:
    place = run_place(address)
    assert str(place) == shown
    assert "s3cret" not in repr(place)
    assert "s3cret" not in str(InputError(f"{address} is wrong; see {Path(address)}."))
    assert run_folder(address) == Path(f"db.{place.name}")


def test_another_schema_and_a_newer_ledger(url: str) -> None:
    open_ledger(url, mode="write").close()
    run = run_place(url).name
    sql(url, f"INSERT INTO \"{run}\".migrations VALUES ('11', 0)")
    for mode in ("read", "write"):
        with pytest.raises(LedgerNewer, match=f"schema {schema.NEWEST + 1}"):
            open_ledger(url, mode=mode)
    sql(url, f'CREATE SCHEMA "{run}x"; CREATE TABLE "{run}x".migrations (id int)')
    for mode in ("read", "write"):
        with pytest.raises(LedgerCorrupt, match="not a Richter ledger"):
            open_ledger(f"{url}x", mode=mode)


def test_many_processes_make_the_tables_at_once(url: str) -> None:
    failed: list[BaseException] = []

    def make() -> None:
        try:
            with open_ledger(url, mode="write") as ledger:
                ledger.add_items([Item(id=str(n), prompt="p", reference="r") for n in range(20)])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_ledger(url) as ledger:
        assert [item.id for item in ledger.items()] == [str(n) for n in range(20)]


def test_one_who_must_be_alone_is(url: str) -> None:
    with open_ledger(url, mode="write", alone=True):
        with pytest.raises(LedgerLocked, match="another process"):
            open_ledger(url, mode="write")
        with pytest.raises(LedgerLocked, match="another process"):
            open_ledger(url, mode="write", alone=True)
        open_ledger(url).close()
    one, other = open_ledger(url, mode="write"), open_ledger(url, mode="write")
    with one, other, pytest.raises(LedgerLocked, match="another process"):
        open_ledger(url, mode="write", alone=True)


def test_runs_of_a_database_are_found(url: str, postgres: PostgresServer) -> None:
    open_ledger(url, mode="write").close()
    assert run_place(url) in find_runs(run_place(postgres.url()))
    assert has_ledger(url)


def test_a_text_with_nul_is_kept_with_its_picture(url: str) -> None:
    with open_ledger(url, mode="write") as ledger:
        answer = Answer(text="a\0b", item="i", condition="c")
        record(ledger, Call(key="k", model="m", request="{}", answer=answer))
        assert [a.text for a in ledger.answers()] == ["a\u2400b"]


def test_more_answers_than_one_chunk_come_in_order(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "CHUNK", 7)
    with open_ledger(url, mode="write") as ledger:
        ledger.add_items([Item(id=f"i{n}", prompt="p", reference="r") for n in range(50)])
        record(ledger, *(call(n) for n in reversed(range(50))))
        some = ledger.answers()
        assert next(some).item == "i0"
        assert [a.item for a in ledger.answers()] == [f"i{n}" for n in range(50)]  # beside the one that was left
        assert [a.item for a in some] == [f"i{n}" for n in range(1, 50)]


def test_the_driver_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, richter.store, richter.cli; print('asyncpg' in sys.modules)"
    source = Path(__file__).parents[2] / "src"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(source)})
    assert done.stdout.strip() == "False", done.stderr
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(MissingPart, match="richter\\[postgres\\]"):
        open_ledger("postgresql://host/db")


# ---- who may do what, and a disk that is really full -----------------------------------------------------------------


def test_one_who_may_only_read_reads(url: str, postgres: PostgresServer) -> None:
    with open_ledger(url, mode="write") as ledger:
        record(ledger, call(1))
    run = run_place(url).name
    sql(url, "DO $$ BEGIN CREATE ROLE reader LOGIN PASSWORD 'r'; EXCEPTION WHEN duplicate_object THEN NULL; END $$")
    reader = postgres.url(run, user="reader", password="r")
    with pytest.raises(LedgerError, match="GRANT"):
        open_ledger(reader)
    sql(url, f'GRANT USAGE ON SCHEMA "{run}" TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA "{run}" TO reader')
    with open_ledger(reader) as ledger:
        assert [a.text for a in ledger.answers()] == ["text 1"]
        assert ledger.used().calls == 1
    with pytest.raises(LedgerError, match="GRANT"), open_ledger(reader, mode="write") as ledger:
        record(ledger, call(2))
    with open_ledger(url) as ledger:
        assert ledger.spent().calls == 1


@pytest.fixture
def small_disk(postgres: PostgresServer) -> Iterator[tuple[str, Callable[[], None]]]:
    """A database on a disk of 16 MB, and what makes the disk larger. Its server is its own: it may not survive."""
    with PostgresServer(find_programs()) as server:
        folder = server.folder("disk")
        if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder]).returncode:
            pytest.skip("a small disk cannot be mounted here")
        try:
            server.own(folder)
            sql(server.url(), f"CREATE TABLESPACE small LOCATION '{folder}'")
            sql(server.url(), "CREATE DATABASE small TABLESPACE small TEMPLATE template0")
            larger = ["mount", "-o", "remount,size=64m", folder]
            yield server.url("run", database="small"), lambda: subprocess.run(larger, check=True)
        finally:
            server.stop(at_once=True)
            subprocess.run(["umount", folder], check=True)


def test_a_disk_that_is_really_full(small_disk: tuple[str, Callable[[], None]]) -> None:
    url, enlarge = small_disk
    texts = [base64.b64encode(random.Random(n).randbytes(300_000)).decode() for n in range(60)]

    def big(number: int) -> Call:
        return dataclasses.replace(call(number), answer=dataclasses.replace(call(number).answer, text=texts[number]))

    kept: list[int] = []

    def fill(ledger: Ledger) -> None:
        for number in range(60):
            record(ledger, big(number))
            kept.append(number)

    with open_ledger(url, mode="write") as ledger, pytest.raises(StorageError, match=r"disk is full.*run the command"):
        fill(ledger)
    assert 0 < len(kept) < 60
    with open_ledger(url) as ledger:
        assert [a.text for a in ledger.answers()] == [texts[n] for n in sorted(kept, key=str)]
    enlarge()
    with open_ledger(url, mode="write") as ledger:
        assert claim(ledger, 0, len(kept)) == [texts[0], "ours"]
        record(ledger, *(big(n) for n in range(len(kept), 60)))
        assert ledger.spent().calls == 60
