"""The app over runs: who may ask it, what it answers, and that nothing in an answer runs in a real Chromium."""

import asyncio
import contextlib
import html
import io
import json
import threading
import time
import zipfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from helpers.browser import open_browser
from report.simulated_report import HOSTILE, NAMES, build_run, document
from richter.audit import open_rating
from richter.errors import InputError
from richter.interop import evidence_of, write_evidence
from richter.report import RunsApp, find_runs
from richter.store import LEDGER_NAME, Ledger, open_ledger

ENTER = "\ue007"


def archive(run: str, path: Path) -> None:
    scratch = path.parent / "scratch"
    scratch.mkdir()
    write_evidence(path, evidence_of(run, scratch=scratch))


def app_of(*runs: Path) -> RunsApp:
    return RunsApp([str(r) for r in runs], measure=lambda _: document(), rating=open_rating, archive=archive)


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
    "/api/runs",
    "/api/runs/0/items",
    "/api/runs/0/item?item=item-000",
    "/runs/0/report",
    "/runs/0/export/answers.csv",
    "/runs/0/export/evidence.zip",
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
        assert [c["answered"] for c in first["conditions"]] == [40, 40, 40]
        assert "not a ledger" in second["error"]
        assert third["writing"]
        assert not (await get(client, f"{base}/api/runs"))["runs"][2]["writing"]

    ask(app_of(run, broken, other), act)


def test_items_are_filtered_by_hand(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async def found(query: str) -> list[str]:
            return [row["item"] for row in (await get(client, f"{base}/api/runs/0/items?{query}"))["rows"]]

        assert len(await found("")) == 40
        assert await found("search=QUESTION+ITEM-007") == ["item-007"]
        assert await found("domain=money&tier=2&search=item-0") == [f"item-{k:03d}" for k in (1, 11, 21, 31)]
        # beyond the hostile ones, item k is wrong for condition c where (k + c) % 3 is 0
        old, new = (name.replace(" ", "+") for name in NAMES[:2])
        differ = await found(f"condition={old}&other={new}&different=1")
        wrong_old = {k for k in range(40) if k < len(HOSTILE) or k % 3 == 0}
        wrong_new = {k for k in range(40) if (k + 1) % 3 == 0}
        assert differ == [f"item-{k:03d}" for k in sorted(wrong_old ^ wrong_new)]
        grave = await found(f"condition={old}&severity=4")
        assert grave == [f"item-{k:03d}" for k in range(40) if k < len(HOSTILE) or (k % 3 == 0 and k % 8 == 7)]
        async with client.get(f"{base}/api/runs/0/items?severity=much") as reply:
            assert reply.status == 400

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


def test_exports(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async with client.get(f"{base}/runs/0/export/answers.csv") as reply:
            assert reply.headers["Content-Disposition"].startswith("attachment")
            text = await reply.text()
        assert "'=HYPERLINK" in text  # a spreadsheet shows it and does not run it
        async with client.get(f"{base}/runs/0/export/evidence.zip") as reply:
            names = zipfile.ZipFile(io.BytesIO(await reply.read())).namelist()
        assert "records/answers.jsonl" in names
        assert "MANIFEST.sha256" in names
        assert (await get(client, f"{base}/runs/0/export/results.json"))["schema"] == "richter/results"

    ask(app_of(run), act)


def test_the_same_evidence_is_the_same_file(run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        archive(str(run), tmp_path / name / "evidence.zip")
    assert (tmp_path / "a/evidence.zip").read_bytes() == (tmp_path / "b/evidence.zip").read_bytes()


def test_runs_are_found_in_folders_and_by_name(run: Path, tmp_path: Path) -> None:
    assert find_runs([str(run)]) == [str(run)]
    assert find_runs([str(run.parent), str(run)]) == [str(run)]
    assert find_runs([str(tmp_path)]) == []
    with pytest.raises(InputError, match="no run"):
        find_runs([str(tmp_path / "nowhere")])


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("width", "dark"), [(360, True), (1440, False)])
def test_no_barriers(run: Path, tmp_path: Path, width: int, dark: bool) -> None:
    app = app_of(run)
    pages = {
        "#/": ".card",
        "#/run/0/items": "tbody tr",
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
        browser.wait("(document.querySelector('[role=status]') || {textContent: ''}).textContent.startsWith('Choose')")
        # the report cannot reach the app it is shown in
        assert browser.script("return document.querySelector('iframe').contentDocument") is None
        # what its marks send opens the answers behind them; a message from anywhere else does nothing
        browser.script("window.postMessage({type: 'richter:open', detail: {item: 'item-001'}}, '*')")
        browser.call("POST", "/frame", {"id": 0})
        detail = {"domain": "money", "condition": NAMES[0]}  # sent a little later: the frame goes with what it opens
        send = "setTimeout(() => parent.postMessage({type: 'richter:open', detail}, '*'), 300)"
        browser.script(f"const detail = arguments[0]; {send}", detail)
        browser.call("POST", "/frame", {"id": None})
        browser.wait("document.querySelectorAll('tbody tr').length === 20")
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
        browser.press("6")
        browser.press(ENTER)
        browser.wait("document.getElementById('progress').textContent.startsWith('1 of')")
        assert [line for line in browser.logged() if "favicon" not in line] == []
        assert {url.split("/")[2] for url in browser.requests()} == {base.split("/")[2]}  # no other host
    with open_ledger(run) as ledger:
        [rating] = ledger.ratings(kind="human")
    assert (rating.severity, rating.rater) == (3.0, "anna")


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

    monkeypatch.setattr("richter.report._view.render_report", slow)

    async def act(client: aiohttp.ClientSession, base: str) -> None:
        async def fetch() -> None:
            async with client.get(f"{base}/runs/0/report") as reply:
                assert await reply.text() == "<p>the page</p>"

        await asyncio.gather(*(fetch() for _ in range(6)))

    ask(app_of(run), act)
    assert (most, made) == (1, 1)
