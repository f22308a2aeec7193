"""Batch jobs over loopback against a simulated provider that keeps a bill, fails in eight ways, while clients die."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from helpers.batch_provider import JOB_FAULTS, REQUEST_FAULTS, TOKENS_IN, TOKENS_OUT, BatchApi, simulated_text
from richter.cli import main
from richter.errors import BudgetExhausted, InputError
from richter.models import Price
from richter.models._providers import resolve
from richter.records import Decoding, Item
from richter.store import open_ledger
from richter_audit.llm import Budget
from richter_audit.llm._batch_anthropic import AnthropicBatches
from richter_audit.llm._batch_openai import OpenAIBatches
from richter_audit.llm._batch_results import BatchResults
from richter_audit.llm._model import TryAgain
from richter_audit.stages import ask_run, judge_run, name_conditions

INPUT_USD, OUTPUT_USD = 10.0, 30.0
EACH_USD = (TOKENS_IN * INPUT_USD + TOKENS_OUT * OUTPUT_USD) / 1e6 / 2  # half the price of single calls
N_REQUESTS = int(os.environ.get("RICHTER_REQUESTS", "400"))  # `make soak` asks for 10,000
WAITS = {"quiet_s": 0.1, "poll_s": 0.05}


def batch_items(n: int) -> list[Item]:
    return [Item(id=f"i{k}", prompt=f"What is {k}?", reference=str(k)) for k in range(n)]


def ask_in_batches(run: Path, model: str, n: int, **calls) -> None:
    """What the client process does; `batch_items` asked of one model through the run's ledger."""
    prices = {model: Price(input_usd=INPUT_USD, output_usd=OUTPUT_USD)}
    conditions = name_conditions([model], decoding=Decoding(max_tokens=16))
    ask_run(run, batch_items(n), conditions, batch=True, prices=prices, waits=WAITS, **calls)


def check_nothing_lost_nothing_paid_twice(run: Path, api: BatchApi, n: int) -> None:
    with open_ledger(run) as ledger:
        answers, spent = list(ledger.answers()), ledger.spent()
        left, used = ledger.unsettled(), ledger.used()
    assert {a.item: a.text for a in answers} == {i.id: simulated_text(i.prompt) for i in batch_items(n)}
    assert len(api.billed) == n
    assert api.billed.total() == n
    assert spent.money_usd == pytest.approx(n * EACH_USD)
    assert left.cut_off == 0  # nothing that is held for ever
    assert used.money_usd >= spent.money_usd - 1e-9


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("fault", ["", *JOB_FAULTS])
def test_jobs_come_back_whatever_befalls_them(form: str, fault: str, tmp_path: Path, monkeypatch) -> None:
    with BatchApi(first_job_fault=fault) as api:
        ask_in_batches(tmp_path / "run", point_to(form, api, monkeypatch), 40)
        assert len(api.jobs) == (2 if fault == "job failed" else 1)
        check_nothing_lost_nothing_paid_twice(tmp_path / "run", api, 40)


def point_to(form: str, api: BatchApi, monkeypatch) -> str:
    """The name of a model in the form of a provider, with the environment that leads there."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    return f"{api.url}/v1#simulated" if form == "openai" else "inspect/anthropic/simulated"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_interrupted_client_takes_its_jobs_up_again(form: str, tmp_path: Path, monkeypatch) -> None:
    with BatchApi(job_s=3.0) as api:
        model = point_to(form, api, monkeypatch)
        kill_client_at("look", api, tmp_path / "run", model, 30, sent=signal.SIGINT)
        with open_ledger(tmp_path / "run") as ledger:
            assert ledger.unsettled().cut_off == 30
        ask_in_batches(tmp_path / "run", model, 30)
        assert len(api.jobs) == 1
        check_nothing_lost_nothing_paid_twice(tmp_path / "run", api, 30)


def kill_client_at(place: str, api: BatchApi, run: Path, model: str, n: int, *, sent=signal.SIGKILL) -> None:
    """Start a client process, and end it where the provider says that it has come so far."""
    api.reached[place].clear()
    api.stop_at = place
    code = (
        "import pathlib, signal, test_batch_jobs as t\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell ignores it for what runs behind it
        f"t.ask_in_batches(pathlib.Path({str(run)!r}), {model!r}, {n})"
    )
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])
    client = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.DEVNULL
    )
    try:
        assert api.reached[place].wait(60)
        client.send_signal(sent)
        client.wait(30)
    finally:
        client.kill()
        client.wait(10)
        api.stop_at = ""
        time.sleep(1.1)  # until the provider has noticed


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_many_requests_eight_faults_five_kills(form: str, tmp_path: Path, monkeypatch) -> None:
    n = N_REQUESTS
    with BatchApi(fault_share=0.1, seed=2) as api:
        model = point_to(form, api, monkeypatch)
        places = ("upload" if form == "openai" else "create", "create", "look", "download", "download")
        for place in places:
            kill_client_at(place, api, tmp_path / "run", model, n)
        ask_in_batches(tmp_path / "run", model, n)
        check_nothing_lost_nothing_paid_twice(tmp_path / "run", api, n)
        assert set(api.faults) >= set(REQUEST_FAULTS)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize(
    "fields",
    [
        {"response": "x", "result": "x"},
        {"response": {"status_code": "200"}, "result": {"type": 3}},
        {"response": {"status_code": 200, "body": [1]}, "result": {"type": "succeeded", "message": [1]}},
        {"response": [], "result": {"type": "errored", "error": "x"}},
        {"response": None, "result": None},
    ],
)
def test_results_that_the_api_does_not_promise_are_failed_attempts(form: str, fields: dict, monkeypatch) -> None:
    """A text where an object is promised ended in a traceback."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    spec = resolve("http://127.0.0.1:1/v1#m" if form == "openai" else "inspect/anthropic/m")
    provider = (OpenAIBatches if form == "openai" else AnthropicBatches)(spec, price=None, timeout_s=1.0)
    results = BatchResults({"k"})
    results.add(json.dumps({"custom_id": "k", **fields}).encode())
    with pytest.raises(TryAgain):
        provider.read(results.take("k") or b"", {"messages": []})


def test_budget_is_held_over_jobs_recovers_truth(tmp_path: Path) -> None:
    with BatchApi() as api, pytest.raises(BudgetExhausted):
        ask_in_batches(tmp_path / "run", f"{api.url}/v1#simulated", 60, budget=Budget(money_usd=20 * EACH_USD))
    assert 0 < api.billed.total() * EACH_USD <= 20 * EACH_USD


def test_judges_are_asked_by_jobs(tmp_path: Path, monkeypatch) -> None:
    """Two judges an answer, so two rounds of jobs; 20 answers and not 20 jobs."""
    with BatchApi() as api:
        model = point_to("openai", api, monkeypatch)
        ask_in_batches(tmp_path / "run", model, 20)
        judges = name_conditions([f"{api.url}/v1#judge-a", f"{api.url}/v1#judge-b"])
        judge_run(tmp_path / "run", judges=judges, batch=True, waits=WAITS)
        assert len(api.jobs) <= 1 + 2 * 2
        assert api.billed.total() == 20 + 40


def test_model_without_jobs_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "none")
    with pytest.raises(InputError, match="batch"):
        ask_in_batches(tmp_path / "run", "deepseek/deepseek-chat", 2)


def test_batch_is_an_option_of_the_command_and_halves_its_estimate(tmp_path: Path, capsys) -> None:
    bench = tmp_path / "items.jsonl"
    rows = [{"id": f"i{k}", "prompt": f"What is {k}?", "reference": str(k)} for k in range(3)]
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with BatchApi() as api:
        words = ["audit", "--only", "ask", str(tmp_path / "run"), "--bench", str(bench), "--price", "10,30"]
        words += ["--model", f"{api.url}/v1#simulated", "--json", str(tmp_path / "found.json")]
        most = []
        for more in (["--dry-run"], ["--dry-run", "--batch"], ["--batch"]):
            with pytest.raises(SystemExit) as end:
                main([*words, *more])
            assert not end.value.code
            found = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
            most += [row["money_usd_most"] for row in found.get("dry_run", [])]
        assert most[1] == pytest.approx(most[0] / 2)
        assert [len(job["requests"]) for job in api.jobs.values()] == [3]
