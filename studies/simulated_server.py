"""A server on loopback for simulated models: what it replies is up to the study."""

import asyncio
import hashlib
import threading

from aiohttp import web


def uniform(*parts):
    """A number in [0, 1) that depends on the parts alone."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[:6], "big") / 2**48


class SimulatedServer:
    """Serves chat completions in a thread while it is open; a study says what `reply` a model gives to a prompt."""

    port = 0  # any free one

    def __enter__(self):
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self.thread.start()
        self.ready.wait(30)
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.stop.set)
        self.thread.join(5)

    async def serve(self):
        self.loop, self.stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        for path in ("/v1/chat/completions", "/v1/completions"):
            app.router.add_post(path, self.chat)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self.ready.set()
        await self.stop.wait()
        await runner.cleanup()

    async def chat(self, request):
        body = await request.json()
        text = self.reply(body["model"], body["messages"][-1]["content"])
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 50, "completion_tokens": 20}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
