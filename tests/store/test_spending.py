"""The spending journal: what may have been billed counts until somebody settles it."""

import asyncio
import collections
import contextlib
import dataclasses
import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from helpers.billing import BillingServer, run_schedule
from helpers.raw_server import RawApi, http, reply
from llm.test_http import ask_prompts
from richter.errors import BudgetExhausted, LedgerError, LedgerLocked, StorageError
from richter.models import Price
from richter.records import Answer
from richter.store import (
    Attempt,
    Call,
    Ledger,
    Limits,
    Room,
    Usage,
    open_ledger,
    run_used,
    settle_run,
    start_spending,
)
from richter.store import _sqlite as files

BOUND = Usage(calls=1, tokens=100, money_usd=0.5)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that is not there yet."""
    return tmp_path / "run"


def hold(ledger: Ledger, *names: str, limits: Limits | None = None) -> list[Room]:
    async def main() -> list[Room]:
        wanted = [Attempt(name, f"key {name}", "m", BOUND, limits or Limits()) for name in names]
        return list(await asyncio.gather(*(ledger.hold(attempt) for attempt in wanted)))

    rooms = asyncio.run(main())
    for name, room in zip(names, rooms, strict=True):
        if room.granted:
            ledger.mark_sent(name)
    return rooms


def record(ledger: Ledger, attempt: str, cost: Usage, *, error: str = "") -> None:
    answer = Answer(text="" if error else "yes", item=attempt, condition="c", error=error, money_usd=cost.money_usd)
    call = Call(key=f"key {attempt}", model="m", request="{}", answer=answer, attempt=attempt, cost=cost)

    async def main() -> None:
        await ledger.record(call)

    asyncio.run(main())


def killed(ledger: Ledger) -> None:
    """As if the process had been killed: nothing is settled or said."""
    ledger._pool.shutdown(wait=True)
    ledger._database.close()
    if ledger._lock is not None:
        ledger._lock = files.os.close(ledger._lock)


def test_what_is_settled_what_failed_and_what_was_cut_off_by_hand(run: Path) -> None:
    ledger = open_ledger(run, mode="write")
    assert all(room.granted for room in hold(ledger, "a", "b", "c", "d"))
    record(ledger, "a", Usage(1, 7, 0.1))
    record(ledger, "b", BOUND, error="the connection broke")  # it may have been billed
    record(ledger, "c", Usage(1, 0, 0.0), error="429")  # it was not
    killed(ledger)
    with open_ledger(run) as reader:
        used, left = reader.used(), reader.unsettled()
        assert (used.calls, used.tokens, used.money_usd) == (4, 207, pytest.approx(1.1))
        assert reader.spent().calls == 4
        assert reader.spent().money_usd == pytest.approx(0.1)
        assert (left.cut_off, left.failed, left.tokens, left.money_usd) == (1, 1, 200, pytest.approx(1.0))
    found = settle_run(run, billed_usd=0.25)
    assert dataclasses.astuple(found) == (1, 1, 200, pytest.approx(1.0))
    after = run_used(run)
    assert (after.calls, after.tokens, after.money_usd) == (4, 7, pytest.approx(0.35))
    with open_ledger(run) as reader:
        assert reader.unsettled().money_usd == 0
        assert reader.spent().calls == 4


def test_a_budget_counts_what_a_killed_process_had_out(run: Path) -> None:
    ledger = open_ledger(run, mode="write")
    hold(ledger, "a", "b")
    killed(ledger)
    with open_ledger(run, mode="write") as later:
        assert [r.granted for r in hold(later, "c", "d", limits=Limits(money_usd=1.5))] == [True, False]


def test_what_was_never_sent_is_taken_back(run: Path) -> None:
    async def main(ledger: Ledger) -> None:
        await ledger.hold(Attempt("a", "key", "m", BOUND))  # and cancelled before it went out

    with open_ledger(run, mode="write") as ledger:
        asyncio.run(main(ledger))
        assert run_used(run).calls == 1
    assert run_used(run) == Usage()


def test_a_run_and_its_parts_are_asked_for_by_one_process(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with open_ledger(run, mode="write") as whole, open_ledger(run / "draws", mode="write") as part:
        start_spending(whole)
        with pytest.raises(LedgerLocked, match="being asked for"):
            start_spending(part)
        hold(whole, "a")
        record(whole, "a", BOUND)
    with open_ledger(run / "draws", mode="write") as part:
        assert start_spending(part) == (BOUND, Usage())
        assert [r.granted for r in hold(part, "b", limits=Limits(money_usd=0.9))] == [False]
        assert [r.granted for r in hold(part, "c", limits=Limits(money_usd=1.0, own_calls=1))] == [True]
        assert [r.granted for r in hold(part, "d", limits=Limits(money_usd=9.0, own_calls=1))] == [False]


@pytest.mark.parametrize("version", [1, 9])
def test_a_run_with_older_tables_is_refused(tmp_path: Path, version: int) -> None:
    open_ledger(tmp_path, mode="write").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as db:
        db.execute(f"PRAGMA user_version={version}")
    for mode in ("read", "write"):
        with pytest.raises(LedgerError, match=f"schema {version}; this Richter knows"):
            open_ledger(tmp_path, mode=mode)


def test_no_call_is_paid_for_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(2**40, 2**40 - 2**20, 2**20))
    with RawApi(lambda *_: http(reply("yes"))) as api:
        for _ in range(3):
            with pytest.raises(StorageError, match="1 MB left"):
                ask_prompts(tmp_path, api.model, [f"q{n}" for n in range(100)], concurrency=64)
        assert api.requests.total() == 0


# ---- what the server bills -------------------------------------------------------------------------------------------


def test_the_same_command_six_times_with_half_of_the_replies_cut_off(tmp_path: Path) -> None:
    rng, billed = random.Random(5), [0.0]

    def half(prompt: str, _: dict) -> bytes:
        billed[0] += 10 * 1e-3 + 8 * 1e-3
        whole = http(reply("yes", usage={"prompt_tokens": 10, "completion_tokens": 8}))
        return whole if rng.random() < 0.5 else whole[:-30] + b"x" * 5

    with RawApi(half, delay_s=lambda: 0.001) as api:
        price = {api.model: Price(input_usd=1e3, output_usd=1e3)}
        for _ in range(6):
            with pytest.raises(BudgetExhausted):
                ask_prompts(
                    *(tmp_path, api.model, [f"question {n}" for n in range(400)]),
                    budget="2usd",
                    prices=price,
                    timeout_s=0.2,
                    max_attempts=3,
                )
    assert 0.02 < billed[0] <= 2.0


def test_a_server_that_ignores_its_token_limit_is_seen_at_the_first_reply(tmp_path: Path) -> None:
    billed, each = [0], 4000  # of 8 allowed

    def long(prompt: str, _: dict) -> bytes:
        billed[0] += each
        return http(reply("yes " * 9, usage={"prompt_tokens": 10, "completion_tokens": each - 10}))

    with RawApi(long, delay_s=lambda: 0.005) as api, pytest.raises(BudgetExhausted):
        ask_prompts(tmp_path / "large", api.model, [f"q{n}" for n in range(300)], budget="60ktok", concurrency=64)
    assert billed[0] <= 60_000
    with RawApi(long, delay_s=lambda: 0.005) as api, pytest.raises(BudgetExhausted):
        ask_prompts(
            tmp_path.parent / f"{tmp_path.name}-small",
            api.model,
            [f"q{n}" for n in range(300)],
            budget="1ktok",
            concurrency=64,
        )
    assert api.requests.total() == 1  # the one that was in flight when it was first seen
    with RawApi(long) as api:
        model = api.model
        with pytest.raises(BudgetExhausted):
            ask_prompts(tmp_path / "again", model, ["q"] + [f"q{n}" for n in range(9)], budget="6ktok")
        with pytest.raises(BudgetExhausted):  # 4,000 are spent; the next session knows that 2,000 will not do
            ask_prompts(tmp_path / "again", model, [f"r{n}" for n in range(9)], budget="6ktok")
        assert api.requests.total() == 1


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 3, 5, 7])  # the code before the journal exceeds each of these budgets
def test_random_schedules_of_commands_faults_and_kills_hold_the_budget(tmp_path: Path, seed: int) -> None:
    with BillingServer() as server:
        outcome = run_schedule(server, tmp_path, seed)
    assert outcome.held, outcome
