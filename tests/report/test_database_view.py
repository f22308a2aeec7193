"""`richter view` over the runs of a database: the same pages, several runs, and never the password."""

import asyncio
import contextlib
import html
import io
import json
import os
import signal
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from helpers.browser import open_browser
from helpers.postgres import PASSWORD, QUOTED, PostgresServer
from report.simulated_report import HOSTILE, NAMES, build_run
from report.test_view import ENTER, app_of, ask, served
from richter.records import Answer, Condition, Item
from richter.store import Call, find_runs, open_ledger, run_part, run_place

SOURCE = Path(__file__).parents[2] / "src"
SECRETS = (PASSWORD, QUOTED, quote(PASSWORD), quote(PASSWORD, safe=""), PASSWORD.partition(" ")[0])


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    """A database of its own with three runs: two of hostile answers, one of them with draws, and one that is broken."""
    name = f"view{uuid.uuid4().hex[:6]}"
    sql(postgres.url(), f"CREATE DATABASE {name}")
    base = postgres.url(database=name)
    for run in ("first", "second"):
        build_run(f"{base}#{run}", items=20)
    with open_ledger(run_part(f"{base}#first", "draws"), mode="write") as ledger:
        ledger.add_items([Item(id="item-000", prompt="Simulated question 0?", reference="Reference 0")])
        ledger.add_conditions([Condition(name="c", model="simulated")])
        ledger.add_calls(
            [
                Call(
                    key=str(k), model="m", request="", answer=Answer(text=text, item="item-000", condition="c", draw=k)
                )
                for k, text in enumerate([HOSTILE["script"], HOSTILE["script"], "other"])
            ]
        )
    open_ledger(f"{base}#third", mode="write").close()
    sql(f"{base}#third", "INSERT INTO third.migrations VALUES ('11', 0)")
    hostile = '<img src=x onerror=alert(1)>", "first'  # a schema of somebody else's that says it is a ledger
    quoted = hostile.replace('"', '""')
    sql(base, f'CREATE SCHEMA "{quoted}"')
    sql(base, f'CREATE TABLE "{quoted}".migrations (name text, applied_at float)')
    sql(base, f"COMMENT ON TABLE \"{quoted}\".migrations IS 'a Richter ledger'")
    return base


def sql(url: str, statement: str) -> None:
    async def main() -> None:
        import asyncpg

        connection = await asyncpg.connect(url.partition("#")[0])
        await connection.execute(statement)
        await connection.close()

    asyncio.run(main())


def test_only_what_can_be_a_run_is_listed(database: str) -> None:
    assert [run.name for run in find_runs(run_place(database))] == ["first", "second", "third"]


@contextlib.contextmanager
def viewing(*runs: str, folder: Path) -> Iterator[tuple[str, list[str]]]:
    """`richter view` in a process of its own: its address, and afterwards all that it said."""
    command = [sys.executable, "-m", "richter", "view", *runs, "--no-browser"]
    env = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1", "COLUMNS": "300"}
    said: list[str] = []
    with (folder / "stderr").open("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder, env=env)
        try:
            assert process.stdout is not None
            said += [process.stdout.readline(), process.stdout.readline()]
            yield said[1].strip(), said
        finally:
            process.send_signal(signal.SIGTERM)  # Ctrl-C is ignored where a shell put the tests into the background
            said.append(process.communicate(timeout=60)[0])
            errors.seek(0)
            said.append(errors.read())


@pytest.mark.slow
def test_every_page_of_every_run(database: str, tmp_path: Path) -> None:
    async def look(address: str) -> dict[str, bytes]:
        base = address.partition("/?")[0]
        found: dict[str, bytes] = {}
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            async with client.get(f"{base}/api/runs") as reply:
                assert reply.status == 403  # not without the token

            async def get(path: str, expect: int = 200) -> bytes:
                async with client.get(base + path) as reply:
                    assert reply.status == expect, (path, await reply.text())
                    found[path] = await reply.read() + str(reply.headers).encode()
                    return await reply.read()

            await get(address.removeprefix(base))
            for path in ("/", "/view.js", "/view.css", "/api/runs"):
                await get(path)
            for run in (0, 1):
                await get(f"/api/runs/{run}/evidence")
                for k in range(len(HOSTILE)):
                    await get(f"/api/runs/{run}/item?item=item-{k:03d}")
            for name in ("results.json", "evidence.zip", "answers.csv", "ratings.parquet"):
                await get(f"/runs/0/export/{name}")
            await get("/runs/0/report")
            await get("/api/runs/2/evidence", 400)  # written by a newer Richter: said, not served
            headers = {"X-Richter": "1", "Origin": base}
            async with client.post(f"{base}/api/runs/1/rate", json={"rater": "anna"}, headers=headers) as reply:
                assert reply.status == 200
            await get("/runs/1/rate/")
            await get("/runs/1/rate/api/next")
            async with client.post(f"{base}/api/runs/1/rate/close", json={}, headers=headers) as reply:
                assert reply.status == 200
        return found

    with viewing(database, folder=tmp_path) as (address, said):
        found = asyncio.run(look(address))
    assert said[0].startswith("3 runs, on this machine only")
    assert "Traceback" not in said[-1]
    pages = {**found, "output": "".join(said).encode()}
    with zipfile.ZipFile(io.BytesIO(found["/runs/0/export/evidence.zip"].partition(b"<CIMultiDict")[0])) as archive:
        assert "records/draws/answers.jsonl" in archive.namelist()
        pages |= {name: archive.read(name) for name in archive.namelist()}
    leaks = [name for name, body in pages.items() if any(secret.encode() in body for secret in SECRETS)]
    assert leaks == []
    listed = json.loads(found["/api/runs"].partition(b"<CIMultiDict")[0])["runs"]
    assert [run["name"] for run in listed] == ["first", "second", "third"]
    assert listed[0]["n_conditions"] == 3
    assert "this Richter knows" in listed[2]["error"]
    item = json.loads(found["/api/runs/0/item?item=item-000"].partition(b"<CIMultiDict")[0])
    assert [(d["times"], d["answer"]) for d in item["draws"]] == [(2, HOSTILE["script"]), (1, "other")]
    assert b"<script>window.hacked" not in found["/runs/0/report"]
    assert NAMES[2].encode() not in found["/runs/0/report"]  # its markup is text there
    assert html.escape(NAMES[2]).encode() in found["/runs/0/report"]
    assert not any(path.name == "ledger.sqlite" for path in tmp_path.rglob("*"))


def test_a_server_that_is_away_is_a_line_in_the_list(database: str) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async with client.get(f"{base}/api/runs") as reply:
            text = await reply.text()
        away, there = json.loads(text)["runs"]
        assert "does not answer" in away["error"]
        assert there["items"] == 20
        assert not any(secret in text for secret in SECRETS)

    ask(app_of(f"postgresql://me:{QUOTED}@127.0.0.1:9/db#run", f"{database}#second"), act)


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_in_a_browser(database: str, tmp_path: Path) -> None:
    """The list, two runs' items, what a model wrote, and a rating by keyboard, in a real Chromium."""
    app = app_of(*(f"{database}#{name}" for name in ("first", "second")))
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelectorAll('.card').length === 2")
        text = browser.script("return document.documentElement.outerHTML")
        assert "first" in text
        assert not any(secret in text for secret in SECRETS)
        for k in range(3):
            browser.script(f"location.hash = '#/run/0/item?item=item-{k:03d}'")
            browser.wait(f"document.title.startsWith('item-{k:03d}') && document.querySelector('.side + .side')")
            alive = "main :is(img, script, iframe, svg, style, link, base), .side a"
            assert browser.script("return document.querySelectorAll(arguments[0]).length", alive) == 0
            assert browser.script("return window.hacked === undefined")
        browser.script("location.hash = '#/run/0/rate'")
        browser.wait("document.querySelector('input[name=rater]')")
        browser.script("document.querySelector('input[name=rater]').value = 'bea'")
        browser.script("document.querySelector('form').requestSubmit()")
        browser.wait("document.querySelectorAll('#levels button').length === 9")
        browser.wait("!document.getElementById('task').hidden")
        browser.press("3")
        browser.press(ENTER)
        browser.wait("document.getElementById('progress').textContent.startsWith('1 of')")
        assert [line for line in browser.logged() if "favicon" not in line] == []
        assert {url.split("/")[2] for url in browser.requests()} == {base.split("/")[2]}  # no other host
    with open_ledger(f"{database}#first") as ledger:
        [rating] = [r for r in ledger.ratings(kind="human") if r.rater == "bea"]
    assert rating.severity == 3.0
