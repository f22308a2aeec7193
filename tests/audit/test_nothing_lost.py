"""Kill a real run at random moments; resume; nothing that was answered is paid for again."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.server import FakeApi, answer_for
from richter.store import LEDGER_NAME, open_ledger

SOURCE = Path(__file__).parents[2] / "src"
ITEMS = 3000
KILLS = int(os.environ.get("RICHTER_KILLS", "3"))  # `make soak` asks for more


def write_bench(path: Path, count: int) -> None:
    rows = ({"id": f"i{n}", "prompt": f"question {n}", "reference": "x"} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def command(run: Path | str, bench: Path, model: str, *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "richter",
        "audit",
        "--only",
        "ask",
        str(run),
        "--bench",
        str(bench),
        "--model",
        model,
        *more,
    ]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}


def prompts_in_ledger(run: Path) -> set[str]:
    if not (run / LEDGER_NAME).exists():
        return set()
    try:
        with open_ledger(run) as ledger:
            return {f"question {a.item[1:]}" for a in ledger.answers()}
    except Exception:
        db = sqlite3.connect(run / LEDGER_NAME)  # killed before the tables were made
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'calls'").fetchone() == (0,)
        return set()


@pytest.mark.slow
def test_sigkill_at_random_moments(tmp_path: Path) -> None:
    run, bench = tmp_path / "run", tmp_path / "bench.jsonl"
    write_bench(bench, ITEMS)
    rng = random.Random(0)
    with FakeApi(delay_s=0.25) as api:  # slow enough that no session finishes
        held: dict[str, int] = {}  # requests so far for each prompt whose answer the ledger holds
        for kill in range(KILLS):
            first = api.requests.total()
            process = subprocess.Popen(
                command(run, bench, api.model, "--concurrency", "32"),
                env=ENVIRONMENT,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            # a fifth of the kills fall while the program starts, the others at any moment of the asking
            while kill % 5 and api.requests.total() == first and process.poll() is None:
                time.sleep(0.01)
            time.sleep(rng.uniform(0.0, 1.0))
            assert process.poll() is None, process.stderr.read()
            process.send_signal(signal.SIGKILL)
            process.wait()
            process.stderr.close()
            assert {p: api.requests[p] for p in held} == held  # what was held at the last kill was not asked again
            held = {prompt: api.requests[prompt] for prompt in prompts_in_ledger(run)}
        assert 4 * KILLS < len(held) < ITEMS
        api._delay_s = 0.0
        subprocess.run(command(run, bench, api.model), env=ENVIRONMENT, check=True, capture_output=True)
        assert {p: api.requests[p] for p in held} == held
        with open_ledger(run) as ledger:
            answers = {a.item: a.text for a in ledger.answers()}
        assert answers == {f"i{n}": answer_for(f"question {n}") for n in range(ITEMS)}
        total = api.requests.total()
        subprocess.run(command(run, bench, api.model), env=ENVIRONMENT, check=True, capture_output=True)
        assert api.requests.total() == total


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("place", "sent", "code"),
    [
        ("folder", signal.SIGINT, 130),
        ("folder", signal.SIGTERM, 143),
        ("background", signal.SIGTERM, 143),
    ],
)
def test_ctrl_c_and_a_polite_kill_keep_what_arrived(
    tmp_path: Path, place: str, sent: signal.Signals, code: int
) -> None:
    run = tmp_path / "run"
    bench = tmp_path / "bench.jsonl"
    write_bench(bench, 2000)
    before = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"] if place == "background" else []  # as scripts' jobs are
    with FakeApi(delay_s=0.05) as api:
        process = subprocess.Popen(
            [*before, *command(run, bench, api.model, "--concurrency", "8")],
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the tests may be such a job themselves
        )
        while api.answered.total() < 20:
            time.sleep(0.01)
        process.send_signal(sent)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == code
        assert "run the same command again" in errors
        assert "Traceback" not in errors
        with open_ledger(run) as ledger:
            assert sum(not answer.error for answer in ledger.answers()) >= 20 - 8
            assert ledger.spent().calls >= api.requests.total()  # those in flight are counted too
            assert ledger.unsettled().cut_off == 0
