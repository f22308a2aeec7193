"""A real HTTP server on loopback that speaks the OpenAI API, answers by rule and can be told to misbehave."""

import asyncio
import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Self

from aiohttp import web

FAULTS = (
    "429",
    "429 retry-after",
    "500",
    "503",
    "reset",
    "truncated",
    "invalid json",
    "empty choices",
    "slow body",
    "time-out",
)


def answer_for(prompt: str) -> str:
    """What the server says to a prompt: a rule, so that two runs can be compared."""
    return f"answer {hashlib.sha256(prompt.encode()).hexdigest()[:8]}"


class FakeApi:
    """Serves in a thread. `requests` counts by prompt; `answered` counts whole answers sent."""

    def __init__(
        self,
        *,
        fault_share: float = 0.0,
        delay_s: float = 0.0,
        slow_s: float = 1.5,
        seed: int = 0,
        key: str = "",
        status: int = 200,
        reply: Callable[[str], str] = answer_for,
    ) -> None:
        self.requests: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.bodies: list[dict] = []
        self.most_at_once = 0
        self._at_once = 0
        self._share, self._delay_s, self._slow_s = fault_share, delay_s, slow_s
        self._key, self._status, self._reply = key, status, reply
        self._random = random.Random(seed)
        self._ready = threading.Event()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def model(self) -> str:
        return f"{self.url}#fake"

    def _serve(self) -> None:
        asyncio.run(self._main())

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_post("/v1/completions", self._chat)
        app.router.add_post("/tokenize", self._chat)  # as llama.cpp's server has it
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._answer(request)
        finally:
            self._at_once -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
        self.requests[prompt] += 1
        self.bodies.append(body)
        if self._key and request.headers.get("Authorization") != f"Bearer {self._key}":
            sent = request.headers.get("Authorization", "")
            return web.json_response({"error": {"message": f"bad key {sent}", "code": "invalid_api_key"}}, status=401)
        if self._status != 200:
            return web.json_response({"error": {"message": f"status {self._status}"}}, status=self._status)
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        text = self._reply(prompt)
        tokens_in = len(prompt) // 4 + 1
        payload = {
            "id": "fake-1",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": tokens_in, "completion_tokens": 3, "total_tokens": tokens_in + 3},
        }
        if "prompt" in body:
            payload["choices"][0]["text"] = text
        self.extend_payload(payload, prompt)
        if self._random.random() < self._share:
            fault = self._random.choice(FAULTS)
            self.faults[fault] += 1
            return await self._misbehave(fault, request, payload)
        response = web.json_response(payload)
        await response.prepare(request)
        await response.write_eof()
        self.answered[prompt] += 1
        return response

    def extend_payload(self, payload: dict, prompt: str) -> None:
        """Add to a reply what a kind of server says besides."""

    async def _misbehave(self, fault: str, request: web.Request, payload: dict) -> web.StreamResponse:
        match fault:
            case "429":
                return web.json_response({"error": {"message": "slow down"}}, status=429)
            case "429 retry-after":
                return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": "0.05"})
            case "500":
                return web.Response(text="<html>oops</html>", status=500)
            case "503":
                return web.json_response({"error": {"message": "overloaded"}}, status=503)
            case "reset":
                request.transport.abort()
                return web.Response()
            case "truncated":
                whole = json.dumps(payload).encode()
                response = web.StreamResponse(headers={"Content-Length": str(len(whole))})
                await response.prepare(request)
                await response.write(whole[: len(whole) // 2])
                request.transport.close()
                return response
            case "invalid json":
                return web.Response(text=json.dumps(payload)[:-5], content_type="application/json")
            case "empty choices":
                return web.json_response({"choices": [], "usage": {}})
            case "slow body":
                response = web.StreamResponse()
                await response.prepare(request)
                await response.write(b'{"choices": ')
                await asyncio.sleep(self._slow_s)
                return response
            case _:
                await asyncio.sleep(self._slow_s)
                return web.json_response(payload)
