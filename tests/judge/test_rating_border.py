"""What a rating page is sent: malformed bodies, and the cookies of another page."""

from pathlib import Path

import aiohttp
from aiohttp import web

from judge.test_rating import good, run, serve
from richter.ratings import LoopbackGuard, RatingPage
from richter.store import open_ledger

__all__ = ["run"]  # the fixture

BODIES = [
    *("", "[]", "1", "null", '{"task": 0}', '{"task": 0, "severity": 1e999}', '{"task": 0, "severity": NaN}'),
    *('{"task": 1e30, "severity": 1}', f'{{"task": 0, "severity": {"9" * 400}}}', "[" * 9_000, "\ud800"),
    *('{"task": 0, "severity": 1, "mechanism": {"a": []}}', '{"task": 0, "severity": "\\ud800"}', '{"task": true}'),
    *('{"task": 0, "severity": 1, "mechanism": "\\ud800"}', '{"task": -1, "severity": 1}'),
]


def test_a_malformed_rating_is_refused_and_no_fault_of_the_server(run: Path) -> None:
    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        await (await client.get(f"{base}/?token={page.guard.token}")).read()
        for body in BODIES:
            data = body.encode("utf-8", "surrogatepass")
            async with client.post(f"{base}/api/rate", data=data, headers=good(base)) as reply:
                assert 400 <= reply.status < 500, f"{body[:60]}: {reply.status}"
        odd = f'{{"task": 0, "severity": 1, "started_at": {"9" * 400}}}'
        async with client.post(f"{base}/api/rate", data=odd, headers=good(base)) as reply:
            assert reply.status == 200

    serve(run, act)
    with open_ledger(run) as ledger:
        assert [r.started_at for r in ledger.ratings(kind="human")] == [None]


def test_a_second_page_does_not_lock_out_the_first(run: Path) -> None:
    """A browser keeps one set of cookies for all ports of a machine."""

    async def act(client: aiohttp.ClientSession, base: str, page: RatingPage) -> None:
        await (await client.get(f"{base}/?token={page.guard.token}")).read()
        guard = LoopbackGuard(cookie="richter-rate", command="richter label")
        runner = web.AppRunner(web.Application(middlewares=[guard.middleware]))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        second = f"http://127.0.0.1:{runner.addresses[0][1]}"
        await (await client.get(f"{second}/?token={guard.token}")).read()
        async with client.get(f"{base}/api/next") as reply:
            assert reply.status == 200
        await runner.cleanup()

    serve(run, act)
