"""Servers that send gigabytes in kilobytes, echo the key in disguise, or answer as another model."""

import asyncio
import base64
import gzip
import json
import os
import subprocess
import sys
import urllib.parse
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from helpers.batch_provider import BatchApi
from helpers.raw_server import RawApi, http, reply
from llm.test_http import ask_prompts
from richter.errors import ModelError
from richter.records import of_kind
from richter.store import open_ledger
from richter.tables import read_tables
from richter_audit.llm._batch_openai import JobsClient

KEY = "sk-very/secret+0123456789abcdef"


def split_stream(text: str) -> bytes:
    """A stream with three letters of the text in each piece."""
    pieces = [text[k : k + 3] for k in range(0, len(text), 3)]
    rows = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    rows.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + json.dumps(row).encode() + b"\n\n" for row in rows) + b"data: [DONE]\n\n"


def unicode_escapes(text: str) -> str:
    return "".join(f"\\u{ord(letter):04X}" for letter in text)


def in_tokens(text: str) -> bytes:
    scored = [{"token": text[k : k + 4], "logprob": -0.1} for k in range(0, len(text), 4)]
    return reply("fine", logprobs={"content": scored})


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "as it is": reply,
    "JSON escapes": lambda key: reply("KEY").replace(b"KEY", unicode_escapes(key).encode()),
    "some letters escaped": lambda key: reply("KEY").replace(b"KEY", (unicode_escapes(key[:3]) + key[3:]).encode()),
    "escaped slashes": lambda key: reply("KEY").replace(b"KEY", key.replace("/", "\\/").encode()),
    "JSON in JSON": lambda key: reply(json.dumps({"echo": f"{unicode_escapes(key)}"})),
    "split over a stream": split_stream,
    "split over tokens": in_tokens,
    "base64": lambda key: reply(base64.b64encode(key.encode()).decode()),
    "base64 of a header": lambda key: reply(base64.b64encode(f"Bearer {key}".encode()).decode()),
    "base64 for addresses": lambda key: reply(base64.urlsafe_b64encode(f"x:{key}".encode()).decode()),
    "hexadecimal": lambda key: reply(key.encode().hex()),
    "percent": lambda key: reply("".join(f"%{byte:02X}" for byte in key.encode()) + urllib.parse.quote(key, safe="")),
    "HTML": lambda key: reply("".join(f"&#{ord(letter)};" for letter in key)),
    "invisible letters between": lambda key: reply("\u00ad".join(key[:20]) + "\u034f" + "\ufe0f".join(key[20:])),
    "letters apart": lambda key: reply(" ".join(key) + "\n".join(key)),
}


def traces(key: str) -> list[bytes]:
    """What must not be found on disk or screen: the key in the forms that anybody decodes at a glance."""
    raw = key.encode()
    shifted = [base64.b64encode(bytes(k) + raw)[4:-4] for k in (0, 1, 2)]
    apart = [mark.join(key[:8]).encode() for mark in (" ", "\u00ad")]
    return [raw, raw[4:-4], *shifted, raw.hex().encode(), *apart, unicode_escapes(key).encode()]


@pytest.mark.parametrize("how", ENCODINGS)
@pytest.mark.parametrize("kind", ["answer", "error", "broken"])
def test_a_key_in_disguise_is_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], how: str, kind: str
) -> None:
    """As an answer, as the message of an error, and in a reply that cannot be read and is kept aside."""
    monkeypatch.setenv("RICHTER_API_KEY", KEY)
    body = ENCODINGS[how](KEY)
    sent = {"answer": http(body), "error": http(body, status=500), "broken": http(body[:-20] + b"\xff" * 20)}[kind]
    with RawApi(lambda *_: sent) as api:
        asker, answers = ask_prompts(tmp_path, api.model, ["q"], max_attempts=1)
    shown = repr(asker.tally) + repr(answers) + capsys.readouterr().err
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir()) + shown.encode()
    assert not [trace for trace in traces(KEY) if trace in kept]


@pytest.mark.parametrize("where", ["Content-Encoding", "Location", "Retry-After", "Content-Type"])
def test_a_key_in_a_header_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """20 letters of the key stood in the reason why a reply packed in an unknown way was refused."""
    monkeypatch.setenv("RICHTER_API_KEY", KEY)
    for status in (200, 302, 429):
        sent = http(reply("fine"), status=status, headers=f"{where}: {KEY}\r\n")
        with RawApi(lambda *_, sent=sent: sent) as api:
            asker, answers = ask_prompts(tmp_path / str(status), api.model, ["q"], max_attempts=1)
        kept = b"".join(path.read_bytes() for path in (tmp_path / str(status)).iterdir())
        assert KEY[:12] not in repr(asker.tally) + repr(answers) + kept.decode("latin-1")


def test_ordinary_answers_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICHTER_API_KEY", KEY)
    said = "50% of &#115; are \\u0073 é 日本 c2stdmVyeQ== 736b2d76"
    with RawApi(lambda *_: http(reply(said))) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"])
    assert answers["q"].text == said


@pytest.mark.parametrize(
    ("packed", "encoding", "text"),
    [
        (gzip.compress(reply("fine")), "gzip", "fine"),
        (zlib.compress(reply("fine")), "deflate", "fine"),
        (gzip.compress(b" " * (9 << 20)), "gzip", ""),
        (b"not packed", "gzip", ""),
        (reply("fine"), "br", ""),
    ],
    ids=["gzip", "deflate", "too large", "not packed", "unknown"],
)
def test_packed_replies_are_unpacked_within_limits(tmp_path: Path, packed: bytes, encoding: str, text: str) -> None:
    with RawApi(lambda *_: http(packed, headers=f"Content-Encoding: {encoding}\r\n")) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["q"], max_attempts=1)
    assert answers["q"].text == text
    assert bool(answers["q"].error) == (not text)


def test_news_of_a_batch_job_is_unpacked_within_limits() -> None:
    """A packed reply of 1 MB took 2 GB."""
    packed = http(gzip.compress(bytes(1 << 24)), headers="Content-Encoding: gzip\r\n")
    with RawApi(lambda *_: packed) as api:

        async def download() -> None:
            client = JobsClient(api.model.partition("#")[0], "", {}, timeout_s=5)
            try:
                await client.send("POST", "files", json={"messages": [{"content": "q"}]})
            finally:
                await client.aclose()

        with pytest.raises(ModelError, match="over 8388608 bytes"):
            asyncio.run(download())


ASK_IN_BATCHES = """
import sys
from pathlib import Path
from llm.test_batch_jobs import ask_in_batches
ask_in_batches(Path(sys.argv[1]), sys.argv[2], 3)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""
FILLERS = {
    "other lines": b'{"custom_id": "x", "response": "%b"}\n' % (b"a" * (1 << 20)),
    "one line": b"a" * (1 << 20),
    "lines again": b"",  # of the requests themselves
}


class LargeResults(BatchApi):
    """Sends results of 160 MB, before the lines that were asked for where that can be."""

    filler: bytes

    async def _lines(self, job: dict[str, Any], lines: list[dict[str, Any]]) -> web.StreamResponse:
        own = b"\n" + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        filler = self.filler or own * ((1 << 20) // len(own))
        response = web.StreamResponse()
        await response.prepare(self.request)
        for _ in range(160):
            await response.write(filler)
        await response.write(own)
        return response

    async def _download(self, request: web.Request) -> web.StreamResponse:
        self.request = request
        return await super()._download(request)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@pytest.mark.parametrize("kind", FILLERS)
def test_results_of_a_batch_job_are_never_in_memory_together(tmp_path: Path, kind: str) -> None:
    """Results of 160 MB took more than 500 MB."""
    root = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root.parent / 'src'}"}
    with LargeResults() as api:
        api.filler = FILLERS[kind]
        done = subprocess.run(
            [sys.executable, "-c", ASK_IN_BATCHES, str(tmp_path / "run"), f"{api.url}/v1#simulated"],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert int(done.stdout.split()[-1]) < 300_000, done.stdout
    with open_ledger(tmp_path / "run") as ledger:
        answers = list(ledger.answers())
    assert [bool(answer.text) for answer in answers] == [True] * 3


ASK_64 = """
import sys
from pathlib import Path
from llm.test_http import ask_prompts
try:
    ask_prompts(Path(sys.argv[1]), sys.argv[2], [f"q{k}" for k in range(64)], max_attempts=1)
except Exception as error:
    print(type(error).__name__)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def bomb(kind: str) -> bytes:
    """A reply that takes memory: 256 MB in 256 KB, many megabytes, or a million lists."""
    if kind == "packed":
        return http(gzip.compress(bytes(1 << 28), 9), headers="Content-Encoding: gzip\r\n")
    if kind == "long":
        return http(b'{"choices": [{"message": {"content": "' + b"a" * (4 << 20))
    return http(b'{"choices": [' + b"[]," * 1_000_000 + b"[]]}")


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
@pytest.mark.parametrize("kind", ["packed", "long", "values"])
def test_64_bombs_at_once_take_little_memory(tmp_path: Path, kind: str) -> None:
    """The most that the process which asks ever took: gigabytes before."""
    root, sent = Path(__file__).parents[1], bomb(kind)
    environment = {**os.environ, "PYTHONPATH": f"{root}:{root.parent / 'src'}"}
    with RawApi(lambda *_: sent) as api:
        done = subprocess.run(
            [sys.executable, "-c", ASK_64, str(tmp_path), api.model],
            env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert int(done.stdout.split()[-1]) < 300_000, done.stdout


def test_only_the_choice_of_index_0_is_the_answer(tmp_path: Path) -> None:
    def choice(index: int, text: str) -> dict[str, object]:
        return {"index": index, "finish_reason": "stop", "message": {"content": text}}

    def respond(prompt: str, _: dict) -> bytes:
        rows = [choice(1, "second"), choice(0, "first")] if prompt == "both" else [choice(1, "second")]
        return http(json.dumps({"choices": rows}).encode())

    with RawApi(respond) as api:
        _, answers = ask_prompts(tmp_path, api.model, ["both", "other"], max_attempts=1)
    assert answers["both"].text == "first"
    assert answers["other"].error


def test_another_model_that_answers_is_recorded_and_said(tmp_path: Path) -> None:
    def respond(prompt: str, _: dict) -> bytes:
        return http(json.dumps({**json.loads(reply("fine")), "model": f"small-{int(prompt[1:]) // 5}"}).encode())

    with RawApi(respond) as api:
        asker, _ = ask_prompts(tmp_path, api.model, [f"q{k}" for k in range(10)], concurrency=1)
    assert any("several models: small-0, small-1" in note for note in asker.tally.server_notes)
    with open_ledger(tmp_path) as ledger:
        rows = ledger._rows("SELECT request FROM calls")
    assert sorted(json.loads(row[0])["served"] for row in rows) == ["small-0"] * 5 + ["small-1"] * 5
    assert of_kind(read_tables(tmp_path).notes, "served")
