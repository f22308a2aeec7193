"""A server that keeps a bill, and schedules of commands, faults and kills that try to make the bill exceed a budget.

The bill counts every request that was worked on, whether its answer arrived or not.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from pathlib import Path
from typing import Self

from aiohttp import web

INPUT_USD, OUTPUT_USD = 10.0, 30.0  # per million tokens


@dataclasses.dataclass(slots=True)
class Bill:
    calls: int = 0
    money_usd: float = 0.0


class _Server:
    """Models are named `SEED-FAULTS-EXCESS`: each has a bill, a share of faults, and how far it ignores max_tokens."""

    def __init__(self) -> None:
        self.bills: dict[str, Bill] = defaultdict(Bill)
        self.random = random.Random(0)

    async def bill(self, request: web.Request) -> web.Response:
        return web.json_response(dataclasses.asdict(self.bills[request.query["model"]]))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        _, faults, excess = body["model"].split("-")
        bill = self.bills[body["model"]]
        bill.calls += 1
        fault = self.random.random() < int(faults) / 100 and self.random.choice(
            ("429", "503", "truncated", "reset", "json", "empty", "late", "no usage", "500")
        )
        await asyncio.sleep(self.random.choice((0.0, 0.002, 0.01, 0.03)))
        if fault in ("429", "503"):
            return web.json_response({"error": "later"}, status=int(fault), headers={"Retry-After": "0.01"})
        tokens_in = len(json.dumps(body["messages"])) // 3
        tokens_out = self.random.randrange(1, body["max_tokens"] + 1) if excess == "1" else 0
        tokens_out = tokens_out or body["max_tokens"] * int(excess)
        bill.money_usd += (tokens_in * INPUT_USD + tokens_out * OUTPUT_USD) / 1e6
        text = '{"severity": 1, "mechanism": "none", "reason": "x"}'
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out}
        whole = json.dumps({"id": "x", "choices": [choice], "usage": usage}).encode()
        if fault == "500":
            return web.Response(status=500)
        if fault == "json":
            whole = whole[:-9]
        if fault == "empty":
            whole = b'{"choices": []}'
        if fault == "no usage":
            whole = json.dumps({"choices": [choice]}).encode()
        if fault == "late":
            await asyncio.sleep(0.5)
        if fault == "reset":
            request.transport.abort()
        if fault == "truncated":
            response = web.StreamResponse(headers={"Content-Length": str(len(whole))})
            await response.prepare(request)
            await response.write(whole[: len(whole) // 2])
            request.transport.close()
            return response
        return web.Response(body=whole, content_type="application/json")


class BillingServer:
    """The server in a process of its own, which no kill reaches."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(10)
        self._process.stdout.close()

    def bill(self, model: str) -> Bill:
        with urllib.request.urlopen(f"{self.url}/bill?model={model}") as response:
            return Bill(**json.load(response))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a schedule ended: what was billed, of what budget."""

    seed: int
    commands: int
    kills: int
    billed_calls: int
    billed_usd: float
    budget_calls: int | None
    budget_usd: float | None
    answers: int

    @property
    def held(self) -> bool:
        return (self.budget_calls is None or self.billed_calls <= self.budget_calls) and (
            self.budget_usd is None or self.billed_usd <= self.budget_usd * (1 + 1e-9)
        )


def run_schedule(server: BillingServer, folder: Path, seed: int, *, excess: int = 1) -> Outcome:
    """Commands one after the other on one run with one budget: asking, drawing into a part, judging; some are killed.

    Each is a forked process, so that it can be killed at any moment.
    """
    from richter.errors import RichterError
    from richter.records import Decoding, Item
    from richter.store import find_parts, open_ledger
    from richter_audit.llm import Budget
    from richter_audit.stages import ask_run, judge_run, name_conditions

    rng = random.Random(seed)
    model = f"{seed}-{rng.choice((0, 30, 60))}-{excess}"
    name = f"{server.url}#{model}"
    prices = folder / f"prices-{seed}.toml"
    prices.write_text(f'["{name}"]\ninput_usd = {INPUT_USD}\noutput_usd = {OUTPUT_USD}\n')
    calls = rng.choice((None, rng.randrange(20, 250)))
    usd = rng.uniform(0.005, 0.06) if calls is None or rng.random() < 0.5 else None
    items = [Item(id=f"i{n}", prompt=f"What is {n}?", reference=str(n)) for n in range(rng.randrange(30, 200))]
    place = folder / f"run-{seed}"
    cold = name_conditions([name], decoding=Decoding(max_tokens=16))
    warm = name_conditions([name], temperatures=[1.0], decoding=Decoding(max_tokens=16))
    judge = [dataclasses.replace(c, name="judge") for c in cold]

    def command(kind: str) -> None:
        budget = Budget(calls=calls, money_usd=usd)
        asking = {"budget": budget, "concurrency": 64, "timeout_s": 0.3}
        if kind == "ask":
            ask_run(place, items, cold, max_attempts=3, **asking)
        elif kind == "draw":
            ask_run(place / "draws", items, warm, draws=3, max_attempts=3, **asking)
        else:
            judge_run(place, judges=judge, allow_self=True, **asking)

    kills = 0
    commands = rng.randrange(3, 8)
    for kind in ["ask", *rng.choices(("ask", "draw", "judge"), k=commands - 1)]:
        wait_s = rng.choice((None, None, 0.1, 0.2, 0.4, 0.8))
        sent = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT))
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(RichterError, KeyboardInterrupt):
                sys.stderr = open(os.devnull, "w")  # noqa: SIM115
                os.environ["RICHTER_PRICES"] = str(prices)
                command(kind)
                code = 0
            os._exit(code)
        if wait_s is not None:
            time.sleep(wait_s)
            if os.waitpid(child, os.WNOHANG) == (0, 0):
                os.kill(child, sent)
                os.waitpid(child, 0)
                kills += 1
        else:
            os.waitpid(child, 0)
    time.sleep(0.6)  # what is late is billed by now
    bill, answers = server.bill(model), 0
    for ledger_place in (place, *find_parts(place).values()):
        with contextlib.suppress(RichterError), open_ledger(ledger_place) as ledger:
            answers += ledger.spent().answers
    return Outcome(
        seed=seed,
        commands=commands,
        kills=kills,
        billed_calls=bill.calls,
        billed_usd=bill.money_usd,
        budget_calls=calls,
        budget_usd=usd,
        answers=answers,
    )


async def _serve() -> None:
    server = _Server()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_get("/v1/bill", server.bill)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())
