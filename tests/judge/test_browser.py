"""The rating page in a real Chromium, driven over the WebDriver protocol; skipped where there is none."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from helpers.browser import Browser, open_browser
from judge.test_rating import EVIL, page_of, run  # noqa: F401 (a fixture)
from richter.store import open_ledger

pytestmark = pytest.mark.browser

ENTER = "\ue007"


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Browser]:
    with open_browser(tmp_path) as browser:
        yield browser


def test_rating_by_keyboard(run: Path, driver: Browser) -> None:  # noqa: F811
    ready, stop = threading.Event(), threading.Event()
    served: dict = {}

    async def serve() -> None:
        with open_ledger(run, mode="write") as ledger:
            page = page_of(ledger, n=60)
            # the hostile answer comes first
            hostile = next(i for i, n in enumerate(page.order) if page.answers[page.sample.chosen[n]].text == EVIL)
            page.order.insert(0, page.order.pop(hostile))
            runner = web.AppRunner(page.app())
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            served["url"] = f"http://127.0.0.1:{runner.addresses[0][1]}/?token={page.guard.token}"
            ready.set()
            while not stop.is_set():
                await asyncio.sleep(0.05)
            await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(10)
        driver.go(served["url"])
        driver.wait("document.querySelectorAll('#levels button').length === 9")
        driver.wait("!document.getElementById('task').hidden")
        # what the answer holds is text: no element of it, nothing ran, and the token has left the address
        assert driver.script("return document.getElementById('answer').textContent") == EVIL
        assert driver.script("return document.querySelectorAll('#answer *, img, body script').length") == 0
        assert driver.script("return location.search") == ""
        assert driver.script("return document.cookie") == ""  # the session cookie is out of scripts' reach
        driver.press("2")
        driver.press(".")  # 2.5
        driver.press("r")
        driver.wait("document.querySelector('#mechanisms [aria-checked=true]')")
        # closing the tab before Enter keeps what was chosen
        driver.call("POST", "/refresh", {})
        driver.wait("document.querySelector('#levels [aria-checked=true]')")
        driver.press(ENTER)
        driver.wait("document.getElementById('progress').textContent.startsWith('1 of')")
        driver.press("u")
        driver.wait("document.querySelector('#levels [aria-checked=true]')")
        driver.press("4")
        driver.press(ENTER)
        driver.wait("document.querySelector('#levels [aria-checked=true]') === null")
        assert driver.script("return document.getElementById('trouble').textContent") == ""
    finally:
        stop.set()
        thread.join(10)
    with open_ledger(run) as ledger:
        [rating] = ledger.ratings(kind="human")
    assert (rating.severity, rating.mechanism) == (4.0, "retrieval")
