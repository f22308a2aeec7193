"""A server of raw HTTP on loopback that sends whatever bytes it is told to, and replies that try to break a reader."""

import asyncio
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Self

Sent = bytes | tuple[bytes, ...]  # one response, or several on one connection


def http(body: bytes, *, status: int = 200, headers: str = "") -> bytes:
    """A whole response."""
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
    return head.encode() + body


def reply(text: Any, *, finish: Any = "stop", usage: Any = None, logprobs: Any = None, **message: Any) -> bytes:
    """A well-formed reply with any values in it."""
    said = {"role": "assistant", "content": text, **message}
    choice = {"index": 0, "finish_reason": finish, "message": said, "logprobs": logprobs}
    counts = {"prompt_tokens": 4, "completion_tokens": 3} if usage is None else usage
    return json.dumps({"id": "x", "choices": [choice], "usage": counts}).encode()


class RawApi:
    """Serves in a thread. `respond(prompt, body)` gives the bytes to send; None closes the connection."""

    def __init__(
        self, respond: Callable[[str, dict], Sent | None], *, delay_s: Callable[[], float] | None = None
    ) -> None:
        self.requests: Counter[str] = Counter()
        self.bodies: list[dict] = []
        self._respond, self._delay_s = respond, delay_s
        self._ready = threading.Event()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def model(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#raw"

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        late: set[asyncio.Task] = set()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                size = int(head.split("content-length:")[1].split("\r\n")[0])
                body = json.loads(await reader.readexactly(size))
                prompt = body["prompt"] if "prompt" in body else body["messages"][-1]["content"]
                self.requests[prompt] += 1
                self.bodies.append(body)
                sent = self._respond(prompt, body)
                if self._delay_s:
                    await asyncio.sleep(self._delay_s())
                if sent is None:
                    return
                first, *more = (sent,) if isinstance(sent, bytes) else sent
                writer.write(first)
                await writer.drain()
                if not more and "connection: close" in head:
                    return
                for again in more:  # now, or when the connection may carry another question
                    task = asyncio.create_task(self._later(writer, again))
                    late.add(task)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for task in late:
                task.cancel()
            writer.close()

    async def _later(self, writer: asyncio.StreamWriter, sent: bytes) -> None:
        if self._delay_s:
            await asyncio.sleep(self._delay_s())
        writer.write(sent)


_SURROGATES = ("\ud800", "a\udfffb", "\ud83d", "\udc80\ud800", "x" * 50 + "\udbff")
_NUMBERS = (
    *(2**63, 2**64, -1, -(2**63), 10**400, -(10**400), 1.5, True, None, "7", "0x" + "f" * 300, [], {}),
    *(1e308, -1e308, float("nan"), float("inf"), float("-inf"), "NaN", 10**18),
)
_ODD: tuple[Any, ...] = (
    None,
    3,
    1.5,
    True,
    [],
    {},
    [[]],
    ["a", "b"],
    {"text": "x"},
    [None],
    [{"type": "text"}],
    "\0",
    "",
)


def hostile_reply(rng: random.Random) -> bytes:
    """A response with status 200 that tries to break whoever reads or stores it."""
    odd, number, half = rng.choice(_ODD), rng.choice(_NUMBERS), rng.choice(_SURROGATES)
    token = {"token": rng.choice((half, "a", 3, None)), "logprob": rng.choice((*_NUMBERS, -0.5))}
    kinds: list[Callable[[], bytes]] = [
        lambda: reply(half),
        lambda: reply("fine", finish=rng.choice((half, odd, "x" * 10_000))),
        lambda: reply("fine", logprobs={"content": [token] * rng.randrange(1, 4)}),
        lambda: reply("fine", logprobs=odd),
        lambda: reply("fine", usage={"prompt_tokens": number, "completion_tokens": rng.choice(_NUMBERS)}),
        lambda: reply("fine", usage={"prompt_tokens": 3, "completion_tokens": 2, "cost": number}),
        lambda: reply("fine", usage=odd or [1]),
        lambda: reply(odd),
        lambda: reply(None, reasoning_content=half, tool_calls=odd, refusal=odd),
        lambda: reply([{"type": "text", "text": half}, {"type": "text", "text": odd}, half]),
        lambda: json.dumps({"choices": odd, "usage": odd}).encode(),
        lambda: json.dumps({"choices": [{"message": odd, "finish_reason": half}]}).encode(),
        lambda: json.dumps(odd).encode(),
        lambda: json.dumps({"error": rng.choice((odd, half, {"message": half}))}).encode(),
        lambda: b"[" * 50_000,
        lambda: b'{"choices":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
        lambda: b"1" * 10_000,
        lambda: b'{"choices":[{"message":{"content":"\xff\xfe"}}]}',
        lambda: b"\xef\xbb\xbf" + reply("fine"),
        lambda: rng.randbytes(rng.randrange(200)),
        lambda: b"",
        lambda: reply("y" * rng.choice((10, 100_000))),
        lambda: b"data: " + json.dumps({"choices": [{"delta": {"content": half}, "finish_reason": odd}]}).encode(),
        lambda: b"data: {}\n\ndata: [DONE]\n\n",
    ]
    return http(rng.choice(kinds)())
