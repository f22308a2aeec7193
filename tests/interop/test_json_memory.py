"""The memory of decoded JSON is counted beforehand, near what it is, and nothing of the process is limited for it."""

import json
import random
import resource
import tracemalloc

import msgspec
import pytest

from richter.interop._json_memory import decoded_bytes
from richter.interop._safe import ROOM, ROOM_RATIO, SMALL, Unreadable, decode

WORDS = ("alpha", "beta", "the", "quick", "brown")


def documents() -> dict[str, object]:
    rng = random.Random(0)
    return {
        "rows": [{"id": i, "ok": i % 2} for i in range(20_000)],
        "texts": [{"id": f"q{i}", "text": " ".join(rng.choices(WORDS, k=40))} for i in range(4_000)],
        "numbers": [rng.random() for _ in range(50_000)],
        "log-probabilities": [
            {"token": rng.choice(WORDS), "logprob": -rng.random(), "bytes": [97]} for _ in range(9_000)
        ],
        "empty lists": [[] for _ in range(50_000)],
        "empty objects": [{} for _ in range(50_000)],
        "own keys": [{f"k{i}": 0} for i in range(20_000)],
        "many keys": {f"k{i}": 1 for i in range(40_000)},
        "wide rows": [{f"c{j}": j for j in range(30)} for _ in range(2_000)],
        "short words": [rng.choice("abc") * 3 for _ in range(40_000)],
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", documents())
def test_the_count_against_what_python_takes(name: str) -> None:
    data = json.dumps(documents()[name]).encode()
    tracemalloc.start()
    msgspec.json.decode(data)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken / 2 < decoded_bytes(data, 0) < 2 * taken
    assert decoded_bytes(data, 1 << 50) > taken / 2  # a bound that needs no look at strings


@pytest.mark.parametrize("name", ["rows", "texts", "numbers", "many keys"])
def test_the_count_of_values_that_are_kept_as_text(name: str) -> None:
    value = documents()[name]
    data, kind = json.dumps(value).encode(), dict[str, msgspec.Raw] if isinstance(value, dict) else list[msgspec.Raw]
    tracemalloc.start()
    msgspec.json.decode(data, type=kind)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < decoded_bytes(data, 0, kind) < 3 * taken


def test_what_stands_in_strings_is_not_built() -> None:
    data = json.dumps(["{[,:" * 500_000]).encode()
    assert decoded_bytes(data, 0) < 3 * len(data) < decoded_bytes(data, 1 << 50)
    assert decode(data) == ["{[,:" * 500_000]


def test_no_limit_of_the_process_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a limit of the process was set")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    rows = [{"item": i, "text": "x" * 50} for i in range(20_000)]
    data = json.dumps(rows).encode()
    assert len(data) > SMALL
    assert decode(data) == rows
    bomb = b"[" + b"[]," * 3_000_000 + b"1]"
    assert decoded_bytes(bomb, 0) > ROOM + ROOM_RATIO * len(bomb)
    with pytest.raises(Unreadable):
        decode(bomb)
