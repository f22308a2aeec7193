"""Eight processes write one run in a real PostgreSQL server; one is killed, and the server crashes in the middle."""

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from helpers.postgres import PASSWORD, QUOTED, PostgresServer
from helpers.server import FakeApi, answer_for
from richter.store import open_ledger

SOURCE = Path(__file__).parents[2] / "src"
ITEMS, PROCESSES, AT_ONCE = 5000, 8, 8


def start(url: str, bench: Path, model: str, budget: int) -> subprocess.Popen:
    return subprocess.Popen(
        [
            *(sys.executable, "-m", "richter", "ask", url, "--bench", str(bench), "--model", model),
            *("--budget", f"{budget}calls", "--concurrency", str(AT_ONCE), "--timeout", "2"),
        ],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.timeout(500)
def test_eight_processes_one_killed_and_the_server_restarted(tmp_path: Path, postgres: PostgresServer) -> None:
    url, bench = postgres.url(f"eight-{uuid.uuid4().hex[:6]}"), tmp_path / "bench.jsonl"
    rows = ({"id": f"i{n}", "prompt": f"question {n}", "reference": "x"} for n in range(ITEMS))
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeApi(fault_share=0.05, delay_s=0.15, slow_s=0.3) as api:
        first = 4500
        processes = [start(url, bench, api.model, first) for _ in range(PROCESSES)]
        while api.requests.total() < 1000:
            assert all(p.poll() is None for p in processes), [p.communicate()[0] for p in processes if p.poll()]
            time.sleep(0.05)
        processes[0].send_signal(signal.SIGKILL)
        while api.requests.total() < 2500:
            time.sleep(0.05)
        postgres.stop(at_once=True)  # as a crash: nothing is flushed that was not promised
        time.sleep(1.5)
        postgres.start()
        outputs = [p.communicate(timeout=240)[0] for p in processes]
        # the budget is over all processes, and it is what stops them
        assert [p.returncode for p in processes[1:]] == [1] * (PROCESSES - 1), outputs
        assert all(f"budget ({first} calls) is used up" in text for text in outputs[1:]), outputs
        assert first - 2 * AT_ONCE <= api.requests.total() <= first
        with open_ledger(url) as ledger:
            held = {a.item: api.requests[f"question {a.item[1:]}"] for a in ledger.answers() if not a.error}
        processes = [start(url, bench, api.model, 8000) for _ in range(2)]  # two go on, with more to spend
        outputs += [p.communicate(timeout=240)[0] for p in processes]
        assert [p.returncode for p in processes] == [0, 0], outputs
        assert {item: api.requests[f"question {item[1:]}"] for item in held} == held  # nothing held was asked again
        with open_ledger(url) as ledger:
            answers = [(a.item, a.text) for a in ledger.answers()]
            spent, claims = ledger.spent(), ledger._rows("SELECT * FROM claims")
        assert sorted(answers) == sorted((f"i{n}", answer_for(f"question {n}")) for n in range(ITEMS))
        assert (spent.answers, claims) == (ITEMS, [])
        # an answer was sent twice only where the first sender or its process was cut off
        twice = sum(count - 1 for count in api.answered.values())
        assert twice <= AT_ONCE
        assert api.requests.total() - AT_ONCE <= spent.calls <= api.requests.total()
    assert not any(secret in text for text in outputs for secret in (PASSWORD, QUOTED))
