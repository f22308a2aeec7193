"""The app over runs: who may ask it, what it answers, and that nothing in an answer runs in a real Chromium."""

import asyncio
import base64
import contextlib
import gzip
import html
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp import web

from helpers.browser import open_browser
from judge.test_rating import judged_run
from report.simulated_report import HOSTILE, NAMES, build_run, document
from richter.audit import label_page, shared_sample
from richter.errors import InputError
from richter.ratings import serve_loopback
from richter.records import Item, Rating
from richter.report import RunsApp, read_evidence, write_report
from richter.report._index import EvidenceIndex
from richter.store import LEDGER_NAME, Ledger, open_ledger

ENTER = "\ue007"


def app_of(*runs: Path) -> RunsApp:
    return RunsApp([str(r) for r in runs], measure=lambda _: document(), rating=label_page)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_run(tmp_path_factory.mktemp("view") / "run")


@contextlib.contextmanager
def served(app: RunsApp) -> Iterator[str]:
    """The app on a thread of its own; yields its address."""
    ready, stop = threading.Event(), threading.Event()
    where: list[str] = []

    async def serve() -> None:
        runner = web.AppRunner(app.app())
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        where.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        ready.set()
        while not stop.is_set():
            await asyncio.sleep(0.02)
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        yield where[0]
    finally:
        stop.set()
        thread.join(10)


Act = Callable[[aiohttp.ClientSession, str], Awaitable[None]]


def ask(app: RunsApp, act: Act, *, enter: bool = True) -> None:
    async def main(base: str) -> None:
        jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address without a name
        async with aiohttp.ClientSession(cookie_jar=jar) as client:
            if enter:
                async with client.get(f"{base}/?token={app.guard.token}") as reply:
                    assert reply.status == 200
            await act(client, base)

    with served(app) as base:
        asyncio.run(main(base))


async def get(client: aiohttp.ClientSession, url: str) -> dict:
    async with client.get(url) as reply:
        body = await reply.json()
        assert reply.status == 200, body
        return body


PATHS = (
    "/",
    "/view.js",
    "/runs_table.js",
    "/app_frame.css",
    "/api/runs",
    "/api/runs/0",
    "/evidence.js",
    "/api/runs/0/evidence",
    "/api/runs/0/item?item=item-000",
    "/runs/0/report",
    "/runs/0/export/answers.csv",
    "/runs/0/export/results.json",
    "/runs/0/rate/api/next",
)


def test_without_the_token_nothing_opens(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        for path in (*PATHS, "/?token=guess", "/?token="):
            async with client.get(base + path) as reply:
                assert reply.status == 403, path
                assert "Simulated question" not in await reply.text()

    ask(app_of(run), act, enter=False)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:1", "127.0.0.1.evil.example"])
def test_another_host_is_refused_even_with_the_cookie(run: Path, host: str) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        for path in PATHS:
            async with client.get(base + path, headers={"Host": host}) as reply:
                assert reply.status == 403, path

    ask(app_of(run), act)


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "null"}, {"X-Richter": ""}, {"Content-Type": "text/plain"}],
)
def test_changes_from_elsewhere_are_refused(run: Path, headers: dict[str, str]) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        good = {"Origin": base, "X-Richter": "1", "Content-Type": "application/json"}
        body = json.dumps({"rater": "anna"})
        async with client.post(f"{base}/api/runs/0/rate", data=body, headers={**good, **headers}) as reply:
            assert reply.status == 403

    ask(app_of(run), act)


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/runs/0/export/..%2f..%2fetc%2fpasswd",
        "/runs/0/export/%2e%2e",
        "/runs/0/export/answers.exe",
        "/runs/0/rate/..%2f..%2fpage.css",
        "/runs/7/report",
        "/runs/99999999999999999999/report",
        "/api/runs/0/item?item=../../etc/passwd",
        "/view/view.js",
    ],
)
def test_paths_that_lead_elsewhere(run: Path, path: str) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        from yarl import URL

        async with client.get(URL(base + path, encoded=True)) as reply:
            assert reply.status == 404
            assert "root:" not in await reply.text()

    ask(app_of(run), act)


def test_every_reply_carries_the_policy(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        for path in (*PATHS, "/nowhere"):
            async with client.get(base + path) as reply:
                policy = reply.headers["Content-Security-Policy"]
                assert "unsafe" not in policy
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert reply.headers["Cache-Control"] == "no-store"
                if path == "/runs/0/report":  # its own strict policy is in the page; here it loses its origin
                    assert policy.startswith("sandbox allow-scripts")
                    assert "allow-same-origin" not in policy
                    assert "frame-ancestors 'self'" in policy
                    assert "default-src 'none'" in html.unescape(await reply.text())
                else:
                    assert "default-src 'none'" in policy
                    assert "frame-ancestors 'none'" in policy

    ask(app_of(run), act)


def test_the_list_tells_progress_and_survives_a_broken_run(run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / LEDGER_NAME).write_bytes(b"not a ledger at all, but long enough to be read as one")
    other = build_run(tmp_path / "going", items=3, hostile=False)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        with open_ledger(other, mode="write"):
            first, second, third = (await get(client, f"{base}/api/runs"))["runs"]
        assert (first["items"], first["writing"]) == (40, False)
        assert (first["conditions"], first["answered"], first["expected"]) == (list(NAMES), 120, 120)
        assert "not a ledger" in second["error"]
        assert third["writing"]
        assert not (await get(client, f"{base}/api/runs"))["runs"][2]["writing"]

    ask(app_of(run, broken, other), act)


def test_evidence_is_filtered_and_paged_by_hand(run: Path) -> None:
    """Beyond the hostile ones (severity 4 for old), item k is wrong for condition c where (k + c) % 3 is 0."""

    def bad(c: int, k: int) -> float:
        return 4.0 if c == 0 and k < len(HOSTILE) else ((k + c) % 8 + 1) / 2 if (k + c) % 3 == 0 else 0.0

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async def found(query: str) -> dict:
            return await get(client, f"{base}/api/runs/0/evidence?limit=100&{query}")

        async def ids(query: str) -> set[int]:
            return {int(row["item"][5:]) for row in (await found(query))["rows"]}

        whole = await found("show=all")
        assert whole["total"] == 40
        assert whole["state"] == {"first": NAMES[0], "second": NAMES[1], "show": "all"}
        assert await ids("show=all&search=QUESTION+ITEM-007") == {7}
        assert await ids("show=all&domain=money&tier=2&search=item-0") == {1, 11, 21, 31}
        worse = {k for k in range(40) if bad(1, k) > bad(0, k)}
        better = {k for k in range(40) if bad(1, k) < bad(0, k)}
        assert await ids("show=worse") == worse
        assert await ids("show=better") == better
        assert whole["counts"]["changed"] == len(worse | better)
        assert await ids("show=severe") == {k for k in range(40) if bad(0, k) >= 3 or bad(1, k) >= 3}
        alone = f"first={NAMES[0].replace(' ', '+')}&second="
        assert await ids(f"{alone}&show=all&severity=4") == {k for k in range(40) if bad(0, k) >= 4}
        assert await ids(f"{alone}&show=wrong") == {k for k in range(40) if bad(0, k) > 0}
        first = await found("")  # what matters most: the largest differences first
        apart = [abs(row["answers"][1]["bad"] - row["answers"][0]["bad"]) for row in first["rows"]]
        assert (first["state"]["show"], apart) == ("changed", sorted(apart, reverse=True))
        pages = [
            await get(client, f"{base}/api/runs/0/evidence?show=all&sort=item&limit=15&offset={o}") for o in (0, 15, 30)
        ]
        assert [int(row["item"][5:]) for page in pages for row in page["rows"]] == list(range(40))
        async with client.get(f"{base}/api/runs/0/evidence?severity=much") as reply:
            assert reply.status == 400

    ask(app_of(run), act)


def test_app_and_page_find_the_same_items(run: Path) -> None:
    """One rule in two places: SQL over the run, and the script over what a page carries (here as Python reads it)."""
    index = EvidenceIndex(run)
    try:
        table = json.loads(gzip.decompress(base64.b64decode(read_evidence(run).packed)))
        rows = {row["item"]: row for row in table["rows"]}
        for row in index.find({"show": "all", "limit": "100"})["rows"]:
            assert row == rows[row["item"]]
        states = [tuple(answer["state"] for answer in row["answers"][:2]) for row in rows.values()]
        counts = index.find({"show": "broken"})["counts"]
        assert counts["broken"] == states.count(("right", "wrong")) > 0
        assert counts["fixed"] == states.count(("wrong", "right")) > 0
    finally:
        index.close()


def test_a_first_page_comes_while_the_run_is_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first items with their answers and how far it is; then what matters most, and filters, when all is read."""
    go_on = threading.Event()

    def slowly(place: str, tell: Callable[[float], None]) -> EvidenceIndex:
        tell(0.25)
        assert go_on.wait(20)
        return EvidenceIndex(place, tell)

    monkeypatch.setattr("richter.report._runs_app.EvidenceIndex", slowly)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        url = f"{base}/api/runs/0/evidence?sort=matters&offset=0&limit=10&show="
        early = await get(client, url)
        assert (early["reading"], early["total"]) == (0.25, 40)
        assert [row["item"] for row in early["rows"]] == [f"item-{k:03d}" for k in range(10)]
        narrowed = asyncio.create_task(
            get(client, f"{base}/api/runs/0/evidence?search=item-007")
        )  # waits for all of it
        await asyncio.sleep(0.1)
        go_on.set()
        assert [row["item"] for row in (await narrowed)["rows"]] == ["item-007"]
        whole = await get(client, f"{base}/api/runs/0/evidence?show=all&sort=item&limit=10")
        assert "reading" not in whole
        assert whole["rows"] == early["rows"]

    ask(app_of(run), act)


@pytest.mark.parametrize(
    "summary",
    [
        "[" * 4000 + "]" * 4000,
        '{"answer": ' + "[" * 3000 + "]" * 3000 + "}",
        '{"answer": "ok", "more": ' + "9" * 3000 + "}",
        '{"answer": "ok", "bars": [{"name": "a", "amount": "1", "words": "", "low": 0, "at": NaN, "high": 1}]}',
        '{"answer": "ok", "bars": [{"name": "a", "amount": "1", "words": "", "low": -5, "at": 0, "high": 1e308}]}',
        '{"answer": 7, "side": {"a": 1}}',
        "",
    ],
)
def test_a_hostile_page_hides_no_run(run: Path, tmp_path: Path, summary: str) -> None:
    other = build_run(tmp_path / "other", items=3, hostile=False)
    (other / "report.html").write_text(f'<meta name="richter-summary" content="{html.escape(summary)}">')

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        first, second = (await get(client, f"{base}/api/runs"))["runs"]
        assert (first["items"], second["items"]) == (40, 3)
        assert second["summary"].get("bars", []) == []

    ask(app_of(run, other), act)


def test_a_line_of_the_list_follows_its_run(tmp_path: Path) -> None:
    """A line is remembered while no file of its run changes: each change shows in the next list all the same."""
    run = build_run(tmp_path / "run", items=3, hostile=False)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async def line() -> dict:
            return (await get(client, f"{base}/api/runs"))["runs"][0]

        assert (await line())["summary"] == {}
        write_report(document(NAMES[:2]), run, run / "report.html")
        assert (await line())["summary"]["answer"] == document()["answer"]
        with open_ledger(run, mode="write") as ledger:
            assert (await line())["writing"]
            ledger.add_items([Item(id="more", prompt="?", reference="!")])
            assert (await line())["items"] == 4
        found = await line()
        assert (found["items"], found["writing"], found["expected"], found["answered"]) == (4, False, 12, 9)

    ask(app_of(run), act)


def test_an_item_comes_whole_and_visible(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        names = list(HOSTILE)
        long = await get(client, f"{base}/api/runs/0/item?item=item-{names.index('line'):03d}")
        assert long["answers"][0]["answer"] == HOSTILE["line"]
        bidi = await get(client, f"{base}/api/runs/0/item?item=item-{names.index('bidi'):03d}")
        assert "\u202e" not in bidi["answers"][0]["answer"]
        assert "\\u202e" in bidi["answers"][0]["answer"]
        assert bidi["answers"][0]["ratings"][0]["kind"] == "rule"

    ask(app_of(run), act)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_no_barriers(run: Path, tmp_path: Path, width: int, dark: bool) -> None:
    app = app_of(run)
    pages = {
        "#/": ".card",
        "#/run/0/items": ".items article",
        "#/run/0/item?item=item-014": ".side + .side",
        "#/run/0/rate": "input[name=rater]",
    }
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.size(width, 900)
        browser.dark(dark)
        browser.go(f"{base}/?token={app.guard.token}")
        for address, part in pages.items():
            browser.script("location.hash = arguments[0]", address)
            browser.wait(f"document.querySelector('{part}')")
            assert browser.script("return document.documentElement.scrollWidth") <= width, address
            assert browser.barriers() == [], address
            if address == "#/run/0/items":  # nothing is measured yet: a check may block the comparison
                shows = browser.script("return document.querySelector('.shows').textContent")
                assert "graded differently" in shows
                assert "fixed" not in shows
            if address.startswith("#/run/0/item?"):
                assert browser.script("return document.querySelector('.side .known').textContent") != ""


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_in_a_browser(tmp_path: Path) -> None:
    """List, report in its frame, drill-down by a message, side by side, hostile answers, rating by keyboard."""
    run = build_run(tmp_path / "run")
    app = app_of(run)
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelectorAll('.card').length === 1")
        assert browser.script("return location.search") == ""
        browser.script("location.hash = '#/run/0'")
        browser.wait("document.querySelector('iframe[data-loaded]')")
        # the report cannot reach the app it is shown in
        assert browser.script("return document.querySelector('iframe').contentDocument") is None
        # what its marks send opens the answers behind them; a message from anywhere else does nothing
        browser.script("window.postMessage({type: 'richter:open', detail: {item: 'item-001'}}, '*')")
        browser.call("POST", "/frame", {"id": 0})
        detail = {"domain": "money", "condition": NAMES[0]}  # sent a little later: the frame goes with what it opens
        send = "setTimeout(() => parent.postMessage({type: 'richter:open', detail}, '*'), 300)"
        browser.script(f"const detail = arguments[0]; {send}", detail)
        browser.call("POST", "/frame", {"id": None})
        # 20 items are of money; the first condition has the hostile odd ones and every third wrong
        wrong = len([k for k in range(1, 40, 2) if k < len(HOSTILE) or k % 3 == 0])
        browser.wait(f"(document.querySelector('[data-show=wrong]') || {{}}).textContent === 'wrong {wrong}'")
        assert "domain=money" in browser.script("return location.hash")
        for width in (360, 1440):
            browser.size(width, 800)
            assert browser.script("return document.documentElement.scrollWidth <= window.innerWidth")
        for k, text in enumerate(HOSTILE.values()):
            browser.script(f"location.hash = '#/run/0/item?item=item-{k:03d}'")
            browser.wait(f"document.title.startsWith('item-{k:03d}') && document.querySelector('.side + .side')")
            alive = "main :is(img, script, iframe, svg, style, link, base), .side a"
            assert browser.script("return document.querySelectorAll(arguments[0]).length", alive) == 0
            assert browser.script("return window.hacked === undefined")
            if text.isascii() and text.isprintable():
                assert browser.script("return document.querySelector('.text').textContent") == text
            assert browser.script("return document.documentElement.scrollWidth <= window.innerWidth")
        browser.script("location.hash = '#/run/0/rate'")
        browser.wait("document.querySelector('input[name=rater]')")
        browser.script("document.querySelector('input[name=rater]').value = 'anna'")
        browser.script("document.querySelector('form').requestSubmit()")
        browser.wait("document.querySelectorAll('#levels button').length === 9")
        browser.wait("!document.getElementById('task').hidden")
        browser.press("3")
        browser.press(ENTER)
        browser.wait("document.getElementById('progress').textContent.startsWith('1 of')")
        assert [line for line in browser.logged() if "favicon" not in line] == []
        assert {url.split("/")[2] for url in browser.requests()} == {base.split("/")[2]}  # no other host
    with open_ledger(run) as ledger:
        [rating] = ledger.ratings(kind="human")
    assert (rating.severity, rating.rater) == (3.0, "anna")


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_what_cannot_be_shown_says_why_and_leaves_nothing_behind(run: Path, tmp_path: Path) -> None:
    """A run that is not there, and one that cannot be measured, was a frame in which the browser refused to connect."""

    def measure(*_: str) -> dict:
        raise InputError("Nothing here is graded.", remedy="Grade it.")

    app = RunsApp([str(run)], measure=measure, rating=label_page)
    said = {
        "#/run/99": "There is no run 99 here; 1 run can be opened.",
        "#/run/99/rate": "There is no run 99 here; 1 run can be opened.",
        "#/two/0/7": "There is no run 7 here; 1 run can be opened.",
        "#/run/0": "Nothing here is graded. Grade it.",
        "#/run/0/item?item=nowhere": "The run has no such item.",
    }
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelector('.card')")
        for address, words in said.items():
            browser.script("location.hash = arguments[0]", address)
            browser.wait(f"document.getElementById('trouble').textContent === {json.dumps(words)}")
            assert (
                browser.script("return document.querySelector('main').innerText") == "This cannot be shown\n\nAll runs"
            )
            assert browser.script("return document.querySelectorAll('iframe').length") == 0
        browser.script("history.back()")
        browser.wait("document.getElementById('trouble').textContent.startsWith('Nothing here')")
        browser.script("document.querySelector('main a').click()")
        browser.wait("document.querySelector('.card') && !document.getElementById('trouble').textContent")


def test_one_item_is_opened_without_reading_the_others(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = Ledger.answers

    def counted(self: Ledger, *given: object, **more: object) -> Iterator[object]:
        found = list(whole(self, *given, **more))
        read.append(len(found))
        return iter(found)

    monkeypatch.setattr(Ledger, "answers", counted)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        found = await get(client, f"{base}/api/runs/0/item?item=item-000")
        assert found["answers"]

    ask(app_of(run), act)
    assert sum(read) < 20


def test_a_page_is_rendered_once_and_one_at_a_time(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most, made = 0, 0, 0

    def slow(*_: object) -> str:
        nonlocal at_once, most, made
        at_once, made = at_once + 1, made + 1
        most = max(most, at_once)
        time.sleep(0.3)
        at_once -= 1
        return "<p>the page</p>"

    monkeypatch.setattr("richter.report._runs_app.render_report", slow)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async def fetch() -> None:
            async with client.get(f"{base}/runs/0/report") as reply:
                assert await reply.text() == "<p>the page</p>"

        await asyncio.gather(*(fetch() for _ in range(6)))

    ask(app_of(run), act)
    assert (most, made) == (1, 1)


@pytest.mark.parametrize("slow_part", ["measure", "render"])
def test_a_page_under_way_stops_when_its_reader_goes(
    run: Path, monkeypatch: pytest.MonkeyPatch, slow_part: str
) -> None:
    steps, stopped = 0, threading.Event()

    def endless(*_: object) -> str:
        nonlocal steps
        try:
            for _step in range(600):
                steps += 1
                try:
                    time.sleep(0.05)
                except Exception:  # as a section that guards itself does
                    continue
            return "<p>made for nobody</p>"
        finally:
            stopped.set()

    app = app_of(run)
    if slow_part == "measure":
        app.measure = endless  # type: ignore[assignment]
    else:
        monkeypatch.setattr("richter.report._runs_app.render_report", endless)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await client.get(f"{base}/runs/0/report", timeout=aiohttp.ClientTimeout(total=0.5))
        assert await asyncio.to_thread(stopped.wait, 5)
        assert steps < 200
        app.measure = lambda _: document()
        monkeypatch.setattr("richter.report._runs_app.render_report", lambda *_: "<p>the next</p>")
        async with client.get(f"{base}/runs/0/report") as reply:
            assert await reply.text() == "<p>the next</p>"

    ask(app, act)


@pytest.mark.parametrize("path", ["/runs/0/report", "/api/runs/0/evidence", "/runs/0/export/answers.csv"])
def test_the_app_ends_while_it_reads(run: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """It waited for what nobody would see: 30 to 67 s for a run of 200,000 answers."""

    def endless(*_: object) -> Any:
        for _step in range(1200):
            time.sleep(0.05)

    app = app_of(run)
    app.measure = app.archive = endless
    monkeypatch.setattr("richter.report._runs_app.EvidenceIndex", endless)

    async def serve_and_end() -> None:
        where: list[str] = []
        serving = asyncio.create_task(serve_loopback(app.app(), port=0, ready=where.append))
        while not where:
            await asyncio.sleep(0.01)
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            await (await client.get(f"{where[0]}/?token={app.guard.token}")).read()
            asking = asyncio.create_task(client.get(where[0] + path))
            await asyncio.sleep(0.7)
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)

    began = time.monotonic()
    asyncio.run(serve_and_end())
    assert time.monotonic() - began < 20  # of 60


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: \x00\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
    ids=["version", "long", "header", "address", "chunk"],
)
def test_what_is_not_http_is_answered_and_not_printed(
    run: Path, caplog: pytest.LogCaptureFixture, request_bytes: bytes
) -> None:
    async def send() -> bytes:
        where: list[str] = []
        serving = asyncio.create_task(serve_loopback(app_of(run).app(), port=0, ready=where.append))
        while not where:
            await asyncio.sleep(0.01)
        reader, writer = await asyncio.open_connection("127.0.0.1", int(where[0].rpartition(":")[2]))
        writer.write(request_bytes)
        answer = await reader.readline()
        writer.close()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await serving
        return answer

    assert b" 400 " in asyncio.run(send())
    assert not caplog.records


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_keys_record_what_they_say_and_the_interval_narrows(tmp_path: Path) -> None:
    """A simulated rater labels with the keyboard alone, from the list of runs on: every key is in the ledger as it was
    pressed, and the interval of the claim narrows on the rail it began on."""
    run, truth = judged_run(tmp_path / "run", np.random.default_rng(5), gap=0.2)
    first = ["0", "1", "2", "3", "4", "0.", "1.", "2.", "3.", "2f", "3r", "1s", "2m", "4a", "1t"]
    names = {
        "f": "fabrication",
        "r": "retrieval",
        "s": "reasoning",
        "m": "metacognitive",
        "a": "amplification",
        "t": "format",
    }
    wanted: dict[tuple[str, str], tuple[float, str]] = {}
    begun = None  # the first interval
    app = app_of(run)
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelector('.card .run-name')")
        browser.script("document.querySelector('.card .run-name').click()")
        browser.wait("document.querySelector('#tabs a[href$=rate]')")
        browser.script("document.querySelector('#tabs a[href$=rate]').click()")
        browser.wait("document.querySelector('input[name=rater]')")
        browser.script("document.querySelector('input[name=rater]').value = 'simulated rater'")
        browser.script("document.querySelector('form').requestSubmit()")
        for k in range(50):
            browser.wait(
                f"document.querySelector('#progress') && document.querySelector('#progress').textContent"
                f".startsWith('{k} of') && !document.getElementById('task').hidden"
            )
            _, item, condition = browser.script("return document.getElementById('answer').textContent").split()
            item = f"q{item}"
            keys = first[k] if k < len(first) else f"{truth[item, condition, 0]:.0f}"
            wanted[item, condition] = (float(keys[0]) + 0.5 * ("." in keys), names.get(keys[-1], ""))
            browser.press(keys)
            browser.press(ENTER)
            if begun is None and k >= 5:
                browser.wait(f"document.querySelector('#progress').textContent.startsWith('{k + 1} of')")
                begun = browser.promise("fetch('api/next').then((reply) => reply.json())")["span"]
        browser.wait("document.querySelector('#progress').textContent.startsWith('50 of')")
        claim = browser.script("return document.getElementById('claim').textContent")
        ended = browser.promise("fetch('api/next').then((reply) => reply.json())")
        drawn = browser.script(
            "return ['before', 'now'].map((c) => ['x1', 'x2'].map((x) => "
            "Number(document.querySelector(`#span .reach.${c}`).getAttribute(x))))"
        )
        effect = browser.script("return document.getElementById('effect').textContent")
        assert browser.barriers() == []
    assert "new minus old" in claim
    assert "95% CI" in claim
    assert effect.startswith("Your last label ")
    first_width, last_width = (span["high"] - span["low"] for span in (begun, ended["span"]))
    assert last_width < 0.7 * first_width
    before = ended["effect"]["before"]
    assert begun is not None
    # both intervals lie on one rail: their drawn widths are as their own
    assert (drawn[0][1] - drawn[0][0]) / (drawn[1][1] - drawn[1][0]) == pytest.approx(
        (before["high"] - before["low"]) / last_width, rel=0.01
    )
    with open_ledger(run) as ledger:
        found = {(r.item, r.condition): (r.severity, r.mechanism) for r in ledger.ratings(kind="human")}
    assert found == wanted


def a_disputed_run(folder: Path) -> Path:
    """Of ten answers that anna and ben both labelled, they differ in the first two."""
    run, truth = judged_run(folder, np.random.default_rng(5), gap=0.2)
    with open_ledger(run, mode="write") as ledger:
        chosen = shared_sample(ledger, n=60, seed=0).chosen
        ledger.add_ratings(
            Rating(
                item=key[0],
                condition=key[1],
                draw=key[2],
                rater=rater,
                kind="human",
                severity=truth[key] if rater == "anna" or k > 1 else 1.0 + truth[key] / 3,
                ended_at=1.0,
            )
            for rater, labels in (("anna", 20), ("ben", 10))
            for k, key in enumerate(chosen[::3][:labels])  # of both models
        )
    return run


@pytest.mark.sampled(1)
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(390, True), (1440, False)])
def test_a_third_person_settles_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    run = a_disputed_run(tmp_path / "run")
    app = app_of(run)
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.size(width, 900)
        browser.dark(dark)
        browser.go(f"{base}/?token={app.guard.token}")
        browser.script("location.hash = '#/run/0/rate'")
        browser.wait("document.querySelector('input[name=rater]')")
        browser.script("document.querySelector('input[name=rater]').value = 'carl'")
        browser.script("document.querySelector('form').requestSubmit()")
        browser.wait("document.querySelector('#raters li + li + li')")
        rows = "[...document.querySelectorAll('#raters li')].map((li) => li.innerText.replace(/\\s+/g, ' ').trim())"
        assert browser.script(f"return {rows}") == ["carl (you) 0 of 60", "anna 20 of 60", "ben 10 of 60"]
        assert browser.barriers() == []
        browser.script("document.getElementById('to-settle').click()")
        browser.wait("document.querySelectorAll('#disputes > li').length === 2")
        assert browser.script("return document.documentElement.scrollWidth") <= width
        assert browser.barriers() == []
        browser.press("4")  # keys label the answer on the other page only
        browser.script("document.querySelector('#disputes .choices button').click()")
        browser.wait("document.querySelectorAll('#disputes .settled').length === 1")
        assert browser.script("return document.getElementById('to-settle').textContent") == "Disagreements (1)"
        browser.wait("document.getElementById('effect').textContent.startsWith('Your last label')")
        browser.script("document.getElementById('to-label').click()")
        browser.wait("document.getElementById('progress').textContent === '1 of 60 labelled'")
        assert [line for line in browser.logged() if "favicon" not in line] == []
    with open_ledger(run) as ledger:
        own = [r for r in ledger.ratings(kind="human") if r.rater == "carl"]
    assert len(own) == 1


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.slow
def test_the_list_is_searched_filtered_sorted_and_compared_in_a_browser(tmp_path: Path) -> None:
    """Three runs and one that cannot be read; what each of them is found by was written here."""
    runs = [build_run(tmp_path / name, items=3 + k, hostile=False) for k, name in enumerate(("beta", "alpha", "gamma"))]
    for run, (answer, side) in zip(runs, (("New is better.", "better"), ("Nothing is shown.", "open")), strict=False):
        found = document(NAMES[:2])
        found["answer"] = answer
        found["claims"][0]["side"] = side
        write_report(found, run, run / "report.html")
    broken = tmp_path / "<b>broken"
    broken.mkdir()
    (broken / LEDGER_NAME).write_bytes(b"not a ledger at all, but long enough to be read as one")
    app = app_of(*runs, broken)
    names = "return [...document.querySelectorAll('.card .run-name')].map((a) => a.textContent)"
    with served(app) as base, open_browser(tmp_path) as browser:
        browser.size(390, 800)
        browser.go(f"{base}/?token={app.guard.token}")
        browser.wait("document.querySelectorAll('.card').length === 4")
        assert browser.script("return document.documentElement.scrollWidth") <= 390
        browser.size(1440, 900)
        browser.script("document.querySelector('[data-sort=name] button').click()")
        assert browser.script(names) == ["<b>broken", "alpha", "beta", "gamma"]
        browser.script("document.querySelector('[data-sort=name] button').click()")
        assert browser.script(names) == ["gamma", "beta", "alpha", "<b>broken"]
        assert browser.script("return document.querySelector('[aria-sort]').ariaSort") == "descending"
        assert browser.script("return document.querySelectorAll('main b b, .card img').length") == 0

        def show(key: str) -> list[str]:
            browser.script(
                "const s = document.querySelector('select[name=show]'); s.value = arguments[0];"
                "s.dispatchEvent(new Event('change'))",
                key,
            )
            return browser.script(names)

        assert show("shown") == ["beta"]
        assert show("open") == ["alpha"]
        assert show("unmeasured") == ["gamma"]
        assert show("attention") == ["<b>broken"]
        assert show("running") == []
        assert show("all") == ["gamma", "beta", "alpha", "<b>broken"]
        search = "s = document.querySelector('input[type=search]'); s.value = arguments[0]"
        search = f"const {search}; s.dispatchEvent(new Event('input'))"
        browser.script(search, "NOTHING shown")
        assert browser.script(names) == ["alpha"]
        assert "search=NOTHING" in browser.script("return location.hash")
        browser.script(search, "")
        for k in (0, 1):
            browser.script("document.querySelectorAll('.card input')[arguments[0]].click()", k)
        assert browser.script("return document.querySelector('#compare a').textContent") == "Compare gamma with beta"
        assert browser.script("return document.querySelector('#compare a').hash") == "#/two/2/0"
        with open_ledger(runs[1], mode="write") as ledger:  # a line follows its run
            ledger.add_items([Item(id="more", prompt="?", reference="!")])
            browser.wait("document.querySelector('[data-run=\"1\"] progress')")
        browser.wait("document.querySelector('[data-run=\"1\"] .pill').textContent === '80% answered'")
        assert browser.script("return document.querySelector('#compare a').textContent") == "Compare gamma with beta"
        assert browser.barriers() == []
        assert [line for line in browser.logged() if "favicon" not in line] == []
