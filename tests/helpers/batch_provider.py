"""A simulated provider of batch jobs on loopback, in OpenAI's and in Anthropic's form: it keeps a bill and misbehaves.

A request is billed when its job has worked on it, once for every job that does.
"""

import asyncio
import hashlib
import json
import random
import threading
import time
from collections import Counter
from typing import Any, Self

from aiohttp import web

REQUEST_FAULTS = ("429", "500", "expired", "missing", "twice")
JOB_FAULTS = ("job failed", "reply lost", "download cut")
TOKENS_IN, TOKENS_OUT = 10, 4


def simulated_text(prompt: str) -> str:
    """What the simulated model says to a prompt."""
    return f"answer {hashlib.sha256(prompt.encode()).hexdigest()[:8]}"


class BatchApi:
    """Serves in a thread. `billed` counts by custom id, `faults` by kind; at `stop_at` it waits for a client's end."""

    def __init__(
        self, *, fault_share: float = 0.0, job_s: float = 0.2, seed: int = 0, first_job_fault: str = ""
    ) -> None:
        self.billed: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.jobs: dict[str, dict[str, Any]] = {}
        self.reached = {name: threading.Event() for name in ("upload", "create", "look", "download", "row")}
        self.stop_at = ""
        self._files: dict[str, bytes] = {}
        self._share, self._job_s, self._random = fault_share, job_s, random.Random(seed)
        self._job_faults = [first_job_fault] if first_job_fault else []
        self._ready = threading.Event()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**28)
        app.router.add_post("/v1/files", self._upload)
        app.router.add_get("/v1/files/{id}/content", self._download)
        app.router.add_post("/v1/batches", self._create)
        app.router.add_get("/v1/batches", self._list)
        app.router.add_get("/v1/batches/{id}", self._look)
        app.router.add_post("/v1/messages/batches", self._create_messages)
        app.router.add_get("/v1/messages/batches", self._list_messages)
        app.router.add_get("/v1/messages/batches/{id}", self._look_messages)
        app.router.add_get("/v1/messages/batches/{id}/results", self._download_messages)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        self._ready.set()
        await self._stop.wait()
        await runner.cleanup()

    async def _pass(self, place: str) -> None:
        """Say that a place is reached, and wait there where somebody means to kill the client."""
        if self.stop_at == place:
            self.reached[place].set()
            await asyncio.sleep(1.0)

    # -- jobs, whatever their form ---------------------------------------------------------------------------

    def _fault(self, kinds: tuple[str, ...]) -> str:
        if self._random.random() >= self._share:
            return ""
        kind = self._random.choice(kinds)
        self.faults[kind] += 1
        return kind

    def _make(self, requests: dict[str, Any], **fields: Any) -> dict[str, Any]:
        fault = self._job_faults.pop(0) if self._job_faults else self._fault(JOB_FAULTS)
        name = f"job-{len(self.jobs)}"
        job = {"id": name, "requests": requests, "at": time.time(), "fault": fault, **fields}
        self.jobs[name] = job
        return job

    def _has_ended(self, job: dict[str, Any]) -> bool:
        if time.time() < job["at"] + self._job_s:
            return False
        if "outcomes" not in job:
            job["outcomes"] = {}
            for key in job["requests"] if job["fault"] != "job failed" else ():
                fault = job["outcomes"][key] = self._fault(REQUEST_FAULTS)
                self.billed[key] += fault in ("", "twice")
        return True

    async def _lines(self, job: dict[str, Any], lines: list[dict[str, Any]]) -> web.Response:
        await self._pass("download")
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        if job["fault"] == "download cut":
            job["fault"] = ""
            content = content[: len(content) // 2] + b"\n"
        return web.Response(body=content)

    # -- OpenAI's form ---------------------------------------------------------------------------------------

    async def _upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        name = f"file-{len(self._files)}"
        self._files[name] = form["file"].file.read()
        await self._pass("upload")
        return web.json_response({"id": name})

    async def _create(self, request: web.Request) -> web.Response:
        asked = await request.json()
        rows = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines()]
        job = self._make({row["custom_id"]: row["body"] for row in rows}, metadata=asked["metadata"])
        await self._pass("create")
        if job["fault"] == "reply lost":
            return web.json_response({"error": {"message": "gateway"}}, status=502)
        return web.json_response(self._openai_job(job))

    def _openai_job(self, job: dict[str, Any]) -> dict[str, Any]:
        ended = self._has_ended(job)
        status = "in_progress" if not ended else "failed" if job["fault"] == "job failed" else "completed"
        shown = {"id": job["id"], "status": status, "created_at": job["at"], "metadata": job["metadata"]}
        if status == "failed":
            return {**shown, "errors": {"data": [{"message": "the file cannot be validated"}]}}
        files = {"output_file_id": f"out-{job['id']}", "error_file_id": f"err-{job['id']}"}
        return {**shown, **(files if ended else {})}

    async def _list(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"data": [self._openai_job(j) for j in [*self.jobs.values()][::-1]], "has_more": False}
        )

    async def _look(self, request: web.Request) -> web.Response:
        await self._pass("look")
        job = self.jobs.get(request.match_info["id"])
        return web.json_response({}, status=404) if job is None else web.json_response(self._openai_job(job))

    async def _download(self, request: web.Request) -> web.Response:
        kind, _, name = request.match_info["id"].partition("-")
        job = self.jobs[name]
        lines = []
        for key, body in job["requests"].items():
            fault = job["outcomes"].get(key, "missing")
            if kind == "out" and fault in ("", "twice"):
                lines += [self._openai_line(key, body)] * (2 if fault else 1)
            elif kind == "err" and fault in ("429", "500"):
                failed = {"status_code": int(fault), "body": {"error": {"message": "busy"}}}
                lines.append({"custom_id": key, "response": failed, "error": None})
            elif kind == "err" and fault == "expired":
                lines.append(
                    {"custom_id": key, "response": None, "error": {"code": "batch_expired", "message": "late"}}
                )
        return await self._lines(job, lines)

    @staticmethod
    def _openai_line(key: str, body: dict[str, Any]) -> dict[str, Any]:
        text = simulated_text(body["messages"][-1]["content"])
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT}
        answer = {"id": f"reply-{key}", "model": body["model"], "choices": [choice], "usage": usage}
        return {"custom_id": key, "response": {"status_code": 200, "body": answer}, "error": None}

    # -- Anthropic's form ------------------------------------------------------------------------------------

    async def _create_messages(self, request: web.Request) -> web.Response:
        asked = await request.json()
        job = self._make({row["custom_id"]: row["params"] for row in asked["requests"]})
        await self._pass("create")
        if job["fault"] == "reply lost":
            return web.json_response({"error": {"message": "gateway"}}, status=502)
        return web.json_response(self._anthropic_job(job))

    def _anthropic_job(self, job: dict[str, Any]) -> dict[str, Any]:
        ended = self._has_ended(job)
        made = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(job["at"]))
        counts = {"succeeded" if ended else "processing": len(job["requests"])}
        return {
            "id": job["id"],
            "processing_status": "ended" if ended else "in_progress",
            "created_at": made,
            "request_counts": counts,
        }

    async def _list_messages(self, request: web.Request) -> web.Response:
        jobs = [self._anthropic_job(job) for job in [*self.jobs.values()][::-1]]
        return web.json_response({"data": jobs, "has_more": False})

    async def _look_messages(self, request: web.Request) -> web.Response:
        await self._pass("look")
        job = self.jobs.get(request.match_info["id"])
        return web.json_response({}, status=404) if job is None else web.json_response(self._anthropic_job(job))

    async def _download_messages(self, request: web.Request) -> web.Response:
        job, lines = self.jobs[request.match_info["id"]], []
        for key, body in job["requests"].items():
            fault = job["outcomes"].get(key, "expired")  # a whole job that failed is one that expired here
            if fault in ("", "twice"):
                text = simulated_text(body["messages"][-1]["content"])
                usage = {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT}
                content = [{"type": "text", "text": text}]
                message = {"content": content, "stop_reason": "end_turn", "usage": usage, "model": body["model"]}
                lines += [{"custom_id": key, "result": {"type": "succeeded", "message": message}}] * (2 if fault else 1)
            elif fault in ("429", "500"):
                error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
                lines.append({"custom_id": key, "result": {"type": "errored", "error": error}})
            elif fault == "expired":
                lines.append({"custom_id": key, "result": {"type": "expired"}})
        return await self._lines(job, lines)
