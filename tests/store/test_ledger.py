import asyncio
import dataclasses
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from richter.errors import InputError, LedgerCorrupt, LedgerLocked, LedgerNewer, StorageError
from richter.records import Answer, Condition, Confidence, Decoding, Grade, Item, Rating
from richter.store import LEDGER_NAME, Call, Usage, open_ledger


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that is not there yet."""
    return tmp_path / "run"


def call(number: int, **fields) -> Call:
    answer = Answer(text=f"text {number}", item=f"i{number}", condition="c", tokens_in=3, tokens_out=2, **fields)
    return Call(key=f"key{number}", model="m", request="{}", answer=answer)


def record(ledger, *calls: Call) -> None:
    async def main() -> None:
        await asyncio.gather(*(ledger.record(c) for c in calls))

    asyncio.run(main())


def test_items_conditions_and_answers_come_back(run: Path) -> None:
    items = [
        Item(
            id="i1", prompt="p", reference="r", aliases=("x",), options=("r", "s"), tier=4, form="trap", truth={"a": 1}
        ),
        Item(id="i0", prompt="q", reference="é"),
    ]
    condition = Condition(name="c", model="m", decoding=Decoding(temperature=1, seed=3), system="be brief")
    with open_ledger(run, mode="write") as ledger:
        ledger.add_items(items)
        ledger.add_items(items)
        ledger.add_conditions([condition])
        answer = call(1, logprobs=(-0.5, -1.0), tokens=("a", "b"), money_usd=0.25, latency_s=0.1)
        record(ledger, answer, call(0))
        assert ledger.items() == items
        assert ledger.conditions() == [condition]
    with open_ledger(run) as ledger:
        back = list(ledger.answers())
        assert [a.item for a in back] == ["i1", "i0"]  # the items' order
        assert back[0] == answer.answer
        assert back[1].money_usd is None
        spent = ledger.spent()
        assert (spent.calls, spent.answers, spent.tokens, spent.money_usd, spent.unpriced) == (2, 2, 10, 0.25, 1)


def test_an_answer_never_changes_its_question(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        ledger.add_items([Item(id="1", prompt="p", reference="r")])
        with pytest.raises(InputError, match="another item named '1'"):
            ledger.add_items([Item(id="1", prompt="changed", reference="r")])
        ledger.add_conditions([Condition(name="c", model="m")])
        with pytest.raises(InputError, match="another condition named 'c'"):
            ledger.add_conditions([Condition(name="c", model="other")])


def test_a_failed_call_shows_until_it_is_answered(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        failed = Answer(text="", item="i1", condition="c", error="no luck")
        record(ledger, Call(key="key1", model="m", request="{}", answer=failed, given_up=False))
        assert list(ledger.answers()) == []
        record(ledger, *[Call(key="key1", model="m", request="{}", answer=failed)] * 3)
        assert [a.error for a in ledger.answers()] == ["no luck"]
        assert ledger.spent().calls == 4
        record(ledger, call(1))
        assert [a.error for a in ledger.answers()] == [""]
        assert ledger.spent().calls == 5


def test_readers_beside_a_writer(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        record(ledger, call(1))
        code = (
            "import sys; from richter.store import open_ledger\n"
            "with open_ledger(sys.argv[1]) as ledger: print(len(list(ledger.answers())))"
        )
        source = Path(__file__).parents[2] / "src"
        result = subprocess.run(
            [sys.executable, "-c", code, run], capture_output=True, text=True, env={"PYTHONPATH": str(source)}
        )
        assert result.stdout.strip() == "1", result.stderr


@pytest.mark.timeout(60)
def test_closing_while_a_commit_is_on_its_way_neither_hangs_nor_loses_it(run: Path) -> None:
    async def fail_while_committing() -> None:
        with open_ledger(run, mode="write") as ledger:
            commit, began = ledger._commit, threading.Event()

            def late(calls: Sequence[Call]) -> list[None]:
                began.set()
                time.sleep(0.2)  # `close` is reached before the commit asks for its turn
                return commit(calls)

            ledger._commit = late  # type: ignore[method-assign]  # a commit that is slow to begin
            ledger.record_soon(call(1))
            while not began.is_set():
                await asyncio.sleep(0.001)
            ledger.record_soon(call(2))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(fail_while_committing())
    with open_ledger(run) as ledger:
        assert sorted(answer.item for answer in ledger.answers()) == ["i1", "i2"]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with open_ledger(tmp_path, mode="write"), pytest.raises(LedgerLocked, match="another process"):
        open_ledger(tmp_path, mode="write")
    open_ledger(tmp_path, mode="write").close()


def test_locked_by_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("richter.store._sqlite.BUSY_TIMEOUT_S", 0.1)
    with open_ledger(tmp_path, mode="write") as ledger:
        other = sqlite3.connect(tmp_path / LEDGER_NAME, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerLocked, match="another program"):
            ledger.add_items([Item(id="1", prompt="p", reference="r")])
        other.close()


def test_newer_corrupt_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run"):
        open_ledger(tmp_path / "none")
    newer = tmp_path / "newer"
    open_ledger(newer, mode="write").close()
    db = sqlite3.connect(newer / LEDGER_NAME)
    db.execute("PRAGMA user_version=99")
    db.close()
    for mode in ("read", "write"):
        with pytest.raises(LedgerNewer, match="schema 99"):
            open_ledger(newer, mode=mode)
    for name, content in (("text", b"not a database at all, but long enough to look like one" * 100), ("cut", None)):
        folder = tmp_path / name
        folder.mkdir()
        if content is None:
            open_ledger(folder, mode="write").close()
            whole = (folder / LEDGER_NAME).read_bytes()
            content = whole[:4096] + b"\xff" * (len(whole) - 4096)
        (folder / LEDGER_NAME).write_bytes(content)
        with pytest.raises(LedgerCorrupt), open_ledger(folder) as ledger:
            ledger.spent()
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    db = sqlite3.connect(foreign / LEDGER_NAME)
    db.execute("CREATE TABLE t (x)")
    db.close()
    with pytest.raises(LedgerCorrupt, match="not a Richter ledger"):
        open_ledger(foreign, mode="write")


def test_a_place_that_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="cannot be written"):
        open_ledger(tmp_path / "file" / "run", mode="write")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a place where nobody may write")
def test_a_place_where_nobody_may_write() -> None:
    with pytest.raises(StorageError, match="cannot be written"):
        open_ledger("/proc/richter-run", mode="write")


def test_full_disk(tmp_path: Path) -> None:
    with open_ledger(tmp_path, mode="write") as ledger:
        record(ledger, call(1))
        ledger._database._db.execute("PRAGMA max_page_count=1")  # SQLite then says what it says when the disk is full
        with pytest.raises(StorageError, match="disk is full"):
            record(ledger, *(call(n, error="") for n in range(2, 400)))
        ledger._database._db.execute("PRAGMA max_page_count=1000000")
        assert len(list(ledger.answers())) == 1
        record(ledger, call(2))
        assert len(list(ledger.answers())) == 2


def test_ratings_replace_the_same_raters_older_one(run: Path) -> None:
    rating = Rating(item="1", condition="c", rater="ann", kind="human", severity=2.0)
    newer = Rating(item="1", condition="c", rater="ann", kind="human", severity=None, reason="unsure")
    judge = Rating(item="1", condition="c", rater="m", kind="judge", severity=3.5, mechanism="retrieval")
    with open_ledger(run, mode="write") as ledger:
        ledger.add_ratings([rating, judge])
        ledger.add_ratings([newer])
        assert ledger.ratings(kind="human") == [newer]
        assert ledger.ratings() == [newer, judge]


def test_grades_confidences_steps_and_notes_come_back(run: Path) -> None:
    grade = Grade(item="1", condition="c", scorer="s", value=0.5, correct=None)
    sure = Confidence(item="1", condition="c", source="stated", value=0.9)
    with open_ledger(run, mode="write") as ledger:
        assert ledger.times() is None
        ledger.add_calls([call(1), call(2)])
        ledger.add_grades([grade, dataclasses.replace(grade, item="0", correct=True)])
        ledger.add_grades([dataclasses.replace(grade, value=0.75, correct=False)])
        ledger.add_confidences([sure, dataclasses.replace(sure, value=0.8)])
        ledger.add_step(1, picks=[(7, "start"), (3, "uniform")], retrievals=[], sample=[3])
        ledger.add_step(2, picks=[(9, "ascent")], retrievals=[(7, 9)], sample=[5, 4])
        ledger.set_note("n", {"a": 1})
        ledger.set_note("n", {"é": [1, None]})
        before = ledger.state()
        ledger.add_ratings([Rating(item="i1", condition="c", rater="r", kind="rule", severity=1.0)])
        assert ledger.state() != before
    with open_ledger(run) as ledger:
        assert [(g.item, g.value, g.correct) for g in ledger.grades()] == [("0", 0.5, True), ("1", 0.75, False)]
        assert [c.value for c in ledger.confidences()] == [0.8]
        assert ledger.picks() == [(7, 1, "start"), (3, 1, "uniform"), (9, 2, "ascent")]
        assert ledger.retrievals() == [(7, 9)]
        assert ledger.sample() == [3, 5, 4]
        assert ledger.note("n") == {"é": [1, None]}
        assert ledger.note("other") is None
        assert ledger.counts() == {"c": (2, 0)}
        assert [a.text for a in ledger.answers(item="i2")] == ["text 2"]
        first, last = ledger.times()
        assert 0 <= last - first < 10
        assert abs(last - time.time()) < 100


def test_what_each_model_cost_adds_up_to_what_the_run_cost(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        priced = Answer(text="a", tokens_in=10, tokens_out=2, money_usd=0.5)
        calls = [
            Call(key="1", model="one", request="{}", answer=priced),
            Call(key="2", model="one", request="{}", answer=Answer(text="b", tokens_in=7, tokens_out=1)),
            Call(key="3", model="two", request="{}", answer=Answer(text="", error="broken")),
        ]
        ledger._commit(calls)
        one, two = ledger.spent_by_model()
        spent = ledger.spent()
    assert (one.model, one.answers, one.failed, one.tokens_in, one.tokens_out) == ("one", 2, 0, 17, 3)
    assert (one.money_usd, one.unpriced) == (0.5, 1)
    assert (two.model, two.answers, two.failed, two.money_usd) == ("two", 0, 1, 0.0)
    assert one.answers + one.failed + two.answers + two.failed == spent.calls
    assert one.tokens_in + one.tokens_out == spent.tokens


def test_calls_made_elsewhere_and_what_is_known_of_them(run: Path) -> None:
    before = time.time()
    with open_ledger(run, mode="write") as ledger:
        assert ledger.times() is None
        ledger.add_items([Item(id=f"i{n}", prompt="p", reference="r") for n in range(3)])
        ledger.add_conditions([Condition(name="c", model="m")])
        lost = Answer(text="", item="i2", condition="c", error="no luck")
        ledger.add_calls([call(0), call(1), Call(key="key2", model="m", request="{}", answer=lost)])
        assert ledger.find("key0").text == "text 0"
        assert ledger.find("key2") is None
        assert ledger.answered_draws("c") == {("i0", 0), ("i1", 0)}
        assert ledger.counts() == {"c": (2, 1)}
        ledger.link("i0", "other", 3, "key1")
        assert [(a.condition, a.draw, a.text) for a in ledger.answers(item="i0")] == [
            ("c", 0, "text 0"),
            ("other", 3, "text 1"),
        ]
        first, last = ledger.times()
        assert before - 5 < first <= last < time.time() + 5
        used, spent = ledger.used(), ledger.spent()
        assert (spent.calls, spent.tokens) == (3, 10)
        assert used == Usage()  # somebody else paid for them


def test_a_rating_that_replaces_another_shows_whatever_its_raters_clock_says(run: Path) -> None:
    def rate(mechanism: str, ended_at: float) -> tuple:
        with open_ledger(run, mode="write") as ledger:
            where = {"item": "i", "condition": "c", "rater": "r", "kind": "human", "severity": 2.0}
            other = {**where, "rater": "s"}
            ledger.add_ratings([Rating(**where, mechanism=mechanism, ended_at=ended_at), Rating(**other, ended_at=2e9)])
            return ledger.state()

    first = rate("retrieval", 1.7e9)
    assert rate("retrieval", 1.7e9) == first
    assert rate("fabrication", 1.6e9) != first  # a clock that is years behind


@pytest.mark.parametrize(
    "script",
    [
        "CREATE VIEW v AS WITH RECURSIVE n(x) AS (VALUES (1) UNION ALL SELECT x FROM n) SELECT * FROM n",
        "CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END",
        "CREATE VIRTUAL TABLE f USING fts5(x)",
    ],
    ids=["endless view", "trigger", "virtual table"],
)
@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_ledger_that_computes_is_not_opened(tmp_path: Path, script: str, mode: str) -> None:
    """Somebody else's: it held whoever read it for ever, or rewrote what was paid for."""
    open_ledger(tmp_path, mode="write").close()
    db = sqlite3.connect(tmp_path / LEDGER_NAME)
    db.executescript(script)
    db.close()
    with pytest.raises(LedgerCorrupt, match="which no ledger has"):
        open_ledger(tmp_path, mode=mode)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "body", ["", "[1]", "{}", "7", '{"a":' * 200_000 + "1" + "}" * 200_000], ids=lambda text: text[:9]
)
@pytest.mark.parametrize("table", ["items", "conditions", "notes"])
def test_a_ledger_that_others_made_is_read_or_refused_in_words(tmp_path: Path, table: str, body: str) -> None:
    open_ledger(tmp_path, mode="write").close()
    db = sqlite3.connect(tmp_path / LEDGER_NAME)
    names = {"items": "(position, id, body)", "conditions": "(position, name, body)", "notes": "(name, body)"}[table]
    values = ("x", body) if table == "notes" else (1, "x", body)
    db.execute(f"INSERT INTO {table} {names} VALUES ({', '.join('?' * len(values))})", values)
    db.commit()
    db.close()
    with open_ledger(tmp_path, checked=False) as ledger:
        read = {"items": ledger.items, "conditions": ledger.conditions, "notes": lambda: ledger.note("x")}[table]
        if table == "notes" and body == "{}":
            assert read() == {}
            return
        with pytest.raises(LedgerCorrupt, match="cannot be read"):
            read()


def test_a_file_that_is_no_database_leaves_no_connection_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, connect = [], sqlite3.connect

    def remember(*args: Any, **kwargs: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **kwargs))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remember)
    (tmp_path / LEDGER_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerCorrupt):
        open_ledger(tmp_path)
    assert opened
    for db in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            db.execute("SELECT 1")
