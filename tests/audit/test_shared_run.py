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
ITEMS, PROCESSES, AT_ONCE = 2000, 8, 8
# A process whose clock is `hours` off and whose lease runs for `lease` seconds.
COMMAND = """
import sys, time
right, hours, lease = time.time, float(sys.argv[1]), float(sys.argv[2])
time.time = lambda: right() + 3600 * hours
from richter.store import _workers
_workers.LEASE_S, _workers.BEAT_S = lease, lease / 5
from richter.cli import main
main(sys.argv[3:])
"""


def start(url: str, bench: Path, model: str, budget: int) -> subprocess.Popen:
    return subprocess.Popen(
        [
            *(
                sys.executable,
                "-c",
                COMMAND,
                "0",
                "10",
                "audit",
                "--only",
                "ask",
                url,
                "--bench",
                str(bench),
                "--model",
                model,
            ),
            *("--budget", f"{budget}calls", "--concurrency", str(AT_ONCE), "--timeout", "2"),
        ],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.sampled(0)
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_eight_processes_one_killed_and_the_server_restarted(tmp_path: Path, postgres: PostgresServer) -> None:
    url, bench = postgres.url(f"eight-{uuid.uuid4().hex[:6]}"), tmp_path / "bench.jsonl"
    rows = ({"id": f"i{n}", "prompt": f"question {n}", "reference": "x"} for n in range(ITEMS))
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeApi(fault_share=0.05, delay_s=0.15, slow_s=0.3) as api:
        first = 1800
        processes = [start(url, bench, api.model, first) for _ in range(PROCESSES)]
        while api.requests.total() < 400:
            assert all(p.poll() is None for p in processes), [p.communicate()[0] for p in processes if p.poll()]
            time.sleep(0.05)
        processes[0].send_signal(signal.SIGKILL)
        while api.requests.total() < 1000:
            time.sleep(0.05)
        postgres.stop(at_once=True)  # as a crash: nothing is flushed that was not promised
        time.sleep(0.5)
        postgres.start()
        outputs = [p.communicate(timeout=240)[0] for p in processes]
        # the budget is over all processes, and it is what stops them
        assert [p.returncode for p in processes[1:]] == [1] * (PROCESSES - 1), outputs
        assert all(f"budget ({first} calls) is used up" in text for text in outputs[1:]), outputs
        assert first - 2 * AT_ONCE <= api.requests.total() <= first
        with open_ledger(url) as ledger:
            held = {a.item: api.requests[f"question {a.item[1:]}"] for a in ledger.answers() if not a.error}
        processes = [start(url, bench, api.model, 5000) for _ in range(2)]  # two go on, with more to spend
        outputs += [p.communicate(timeout=240)[0] for p in processes]
        assert [p.returncode for p in processes] == [0, 0], outputs
        assert {item: api.requests[f"question {item[1:]}"] for item in held} == held  # nothing held was asked again
        with open_ledger(url) as ledger:
            answers = [(a.item, a.text) for a in ledger.answers()]
            spent, claims = ledger.spent(), ledger._rows("SELECT * FROM claims")
        assert sorted(answers) == sorted((f"i{n}", answer_for(f"question {n}")) for n in range(ITEMS))
        sentinels = sum(prompt.startswith("Reply with this word") for prompt in api.requests)
        assert 0 <= ITEMS + sentinels - spent.answers <= AT_ONCE  # a sentinel of the killed process may be lost
        assert claims == []
        # an answer was sent twice only where the first sender or its process was cut off
        twice = sum(count - 1 for count in api.answered.values())
        assert twice <= AT_ONCE
        assert api.requests.total() - AT_ONCE <= spent.calls <= api.requests.total()
    assert not any(secret in text for text in outputs for secret in (PASSWORD, QUOTED))


@pytest.mark.slow
def test_writers_whose_clocks_are_hours_apart(postgres: PostgresServer, tmp_path: Path) -> None:
    """Leases are short: one by the wrong clock would have run out before the slow API has answered."""
    url = postgres.url(f"clocks-{uuid.uuid4().hex[:8]}")
    bench = tmp_path / "bench.jsonl"
    rows = [{"id": f"i{n}", "prompt": f"question {n}", "reference": "r"} for n in range(30)]
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with FakeApi(delay_s=1.3) as api:
        asking = [
            "audit",
            "--only",
            "ask",
            url,
            "--bench",
            str(bench),
            "--model",
            api.model,
            "--concurrency",
            "5",
            "--max-tokens",
            "8",
        ]
        command = [sys.executable, "-c", COMMAND]
        env = os.environ | {"PYTHONPATH": str(SOURCE)}
        before = time.time()
        processes = [
            subprocess.Popen(
                [*command, hours, "1", *asking, "--budget", "25calls"], env=env, stderr=subprocess.PIPE, text=True
            )
            for hours in ("-7", "0", "9000")
        ]
        said = [process.communicate(timeout=120)[1] for process in processes]
        assert api.requests.total() == 25  # over all of them, and all of it
        assert all("used up" in text for text in said), said
        assert max(api.requests.values()) == 1  # nobody took a call for abandoned
        again = subprocess.run([*command, "-7", "1", *asking], env=env, capture_output=True, text=True, timeout=120)
        assert again.returncode == 0, again.stderr
        assert api.requests.total() == 30
    with open_ledger(url) as ledger:
        assert ledger.counts() == {"fake": (30, 0)}
        times = ledger._rows("SELECT created_at FROM calls UNION ALL SELECT started_at FROM workers")
        ends = ledger._rows("SELECT expires_at FROM workers")
        assert not ledger.being_written()
    assert all(before - 5 < at < time.time() + 5 for (at,) in times + ends)  # the server's clock alone
