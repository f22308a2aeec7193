"""Servers with habits of their own, asked by the command: all is answered, or what is said names what to set."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.raw_server import RawApi, http, reply
from richter.cli import main

Habit = Callable[[str, dict], bytes]


def always(body: bytes) -> Habit:
    return lambda *_: http(body)


def refuses(parameter: str, message: str) -> Habit:
    def respond(_: str, body: dict) -> bytes:
        said = json.dumps({"error": {"message": message}}).encode()
        return http(said, status=400) if parameter in body else http(reply("Lima"))

    return respond


def streams(_: str, body: dict) -> bytes:
    if not body.get("stream"):
        return http(b'{"error": {"message": "only streaming is supported: set stream=true"}}', status=400)
    events = [{"choices": [{"delta": {"content": "Lima"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    return http("".join(f"data: {json.dumps(e)}\n\n" for e in events).encode() + b"data: [DONE]\n\n")


PARTS = [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "Lima"}]
ANSWERED = {
    "temperature": (
        refuses("temperature", "Unsupported value: 'temperature' does not support 0.5"),
        "temperature is left",
    ),
    "seed": (refuses("seed", "Unrecognized request argument supplied: seed"), "seed is left out"),
    "logprobs": (refuses("logprobs", "logprobs is not supported with this model"), "logprobs is left out"),
    "limit": (
        refuses("max_tokens", "Unsupported: 'max_tokens'. Use 'max_completion_tokens'."),
        "max_completion_tokens is",
    ),
    "streaming only": (streams, "taken as streams"),
    "reasoning": (always(reply("Lima", reasoning_content="2 + 2")), ""),
    "parts": (always(reply(PARTS)), ""),
}
SAID = {
    "thinks to the limit": (
        always(reply(None, finish="length", reasoning_content="so long")),
        "2 cut off at the most tokens",
        0,
    ),
    "tool calls": (always(reply(None, tool_calls=[{"id": "1"}])), "switch tools off at the server", 1),
    "empty choices": (always(b'{"choices": []}'), "its filter took them out, or --max-tokens", 1),
}


def ask(folder: Path, api: RawApi, heard: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (folder / "b.csv").write_text("id,prompt,reference\nq1,Capital of Peru?,Lima\nq2,Where is Lima?,Peru\n")
    options = ("--temperature", "0.5", "--seed", "1", "--logprobs", "--budget", "100calls")
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "audit",
                "--only",
                "ask",
                str(folder / "run"),
                "--bench",
                str(folder / "b.csv"),
                "--model",
                api.model,
                *options,
            ]
        )
    said = heard.readouterr()
    return int(ended.value.code or 0), " ".join(f"{said.out} {said.err}".split())


@pytest.mark.parametrize("habit", ANSWERED)
def test_what_is_refused_is_left_out_and_said_and_all_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    respond, said = ANSWERED[habit]
    with RawApi(respond) as api:
        code, out = ask(tmp_path, api, capsys)
    assert (code, "2 answers to 2 items" in out) == (0, True), out
    assert said in out


@pytest.mark.parametrize("habit", SAID)
def test_what_cannot_be_answered_says_what_to_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], habit: str
) -> None:
    respond, said, status = SAID[habit]
    with RawApi(respond) as api:
        code, out = ask(tmp_path, api, capsys)
    assert said in out
    assert (code != 0) == bool(status)
