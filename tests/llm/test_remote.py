"""Asking through workers on a real cluster of several nodes: same answers, nothing paid twice, losses survived."""

import asyncio
import json
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.local_model import need_smollm2
from helpers.ray_cluster import RayCluster, leave
from helpers.server import FakeApi
from richter.engine import RayEngine, open_engine
from richter.errors import BudgetExhausted, EngineError, InputError, MissingKey, ModelError
from richter.records import Answer, Decoding, Item
from richter.store import open_ledger
from richter_audit.llm import open_model, parse_budget
from richter_audit.llm._model import TryAgain
from richter_audit.stages import ask_run, name_conditions

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.slow]

ITEMS = [Item(id=f"i{n}", prompt=f"Question {n}?", reference="x") for n in range(400)]


@pytest.fixture
def engine(cluster: RayCluster) -> RayEngine:
    return replace(cluster.engine(), wanted=3)


def answers_of(run: Path) -> list[tuple[str, str, str]]:
    with open_ledger(run) as ledger:
        return sorted((a.item, a.condition, a.text) for a in ledger.answers() if not a.error)


def test_a_refusal_crosses_processes_whole():
    error = TryAgain("later", retry_after_s=2.0, slow_down=True, connected=False, maybe_billed=True)
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("client", [True, False], ids=["by ray://", "beside"])
def test_workers_give_what_one_process_gives(cluster: RayCluster, client: bool, tmp_path: Path):
    engine = cluster.engine(client=client)
    assert engine.remote == client
    with FakeApi(fault_share=0.1, slow_s=0.2, seed=3) as api:
        conditions = name_conditions([api.model])
        options = {"concurrency": 32, "timeout_s": 1.0}
        ask_run(tmp_path / "local", ITEMS[:100], conditions, **options)
        ask_run(tmp_path / "ray", ITEMS[:100], conditions, engine=engine, **options)
    assert len(answers_of(tmp_path / "local")) == 100
    assert answers_of(tmp_path / "ray") == answers_of(tmp_path / "local")


def test_other_versions_of_richter_are_refused(engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("richter_audit.llm._remote.own_version", lambda: "9.9")
    with FakeApi() as api, pytest.raises(EngineError, match=r"runs Richter .*this is 9\.9"):
        ask_run(tmp_path / "run", ITEMS[:2], name_conditions([api.model]), engine=engine)


@pytest.mark.sampled(0)
def test_a_machine_is_lost_while_it_asks(cluster: RayCluster, engine: RayEngine, tmp_path: Path):
    concurrency = 48
    with FakeApi(delay_s=0.1) as api:
        conditions = name_conditions([api.model])

        def kill() -> None:
            while sum(api.answered.values()) < 100:
                time.sleep(0.01)
            cluster.kill(cluster.nodes[0])

        killer = threading.Thread(target=kill)
        killer.start()
        spent = ask_run(tmp_path / "run", ITEMS, conditions, engine=engine, concurrency=concurrency)
        killer.join()
        asked = Counter(api.requests)
    with open_ledger(tmp_path / "run") as ledger:
        answers = list(ledger.answers())
    assert Counter(a.item for a in answers if not a.error) == {item.id: 1 for item in ITEMS}
    again = sum(asked.values()) - len(ITEMS)
    assert set(asked.values()) <= {1, 2}
    # a worker of three holds a third of what is in flight; one more on its way to it at the moment of its loss
    assert again <= 2 * concurrency // 3
    assert spent.calls >= sum(asked.values())  # what may have been charged for is counted


def test_the_budget_holds_over_workers(engine: RayEngine, tmp_path: Path):
    with FakeApi() as api:
        conditions = name_conditions([api.model])
        with pytest.raises(BudgetExhausted):
            ask_run(tmp_path / "run", ITEMS, conditions, engine=engine, budget=parse_budget("37calls"))
        assert sum(api.requests.values()) == 37
        ask_run(tmp_path / "run", ITEMS[:50], conditions, engine=engine)
        assert sum(api.requests.values()) == 50
        assert set(api.requests.values()) == {1}


def test_a_worker_without_the_model_or_the_key_says_so(
    engine: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "only here")  # the nodes were started without it
    with pytest.raises(MissingKey, match=r"On .*OPENAI_API_KEY"):
        ask_run(tmp_path / "key", ITEMS[:2], name_conditions(["openai/gpt-4o-mini"]), engine=engine)
    with pytest.raises(InputError, match=r"On .*nowhere\.gguf"):
        ask_run(tmp_path / "file", ITEMS[:2], name_conditions([str(tmp_path / "nowhere.gguf")]), engine=engine)


def test_a_fatal_refusal_stops_the_run(engine: RayEngine, tmp_path: Path):
    with FakeApi(status=404) as api, pytest.raises(ModelError, match="knows no model"):
        ask_run(tmp_path / "run", ITEMS[:20], name_conditions([api.model]), engine=engine)


@pytest.mark.sampled(0)
def test_a_killed_driver_goes_on_with_the_same_command(cluster: RayCluster, tmp_path: Path):
    """And though a machine is lost on the way, what it prints is what it was asked to print."""
    bench, run, concurrency = tmp_path / "bench.jsonl", tmp_path / "run", 24
    bench.write_text("".join(json.dumps({"id": i.id, "prompt": i.prompt, "reference": "x"}) + "\n" for i in ITEMS))
    with FakeApi(delay_s=0.2) as api:
        command = [
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
            api.model,
        ]
        command += ["--engine", "ray", "--workers", "3", "--concurrency", str(concurrency)]
        environment = os.environ | {"RAY_ADDRESS": cluster.address}
        first = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while sum(api.answered.values()) < 150:
            assert first.poll() is None
            time.sleep(0.01)
        first.kill()
        first.wait()
        again = subprocess.Popen([*command, "--json", "-"], env=environment, stdout=subprocess.PIPE, text=True)
        while sum(api.answered.values()) < 260:
            assert again.poll() is None
            time.sleep(0.01)
        cluster.kill(cluster.nodes[0])
        printed, _ = again.communicate(timeout=120)
        asked = Counter(api.requests)
    assert json.loads(printed)["spent"]["answers"] == len(answers_of(run)) == len(ITEMS)
    assert sum(asked.values()) - len(ITEMS) <= 2 * concurrency  # in flight at the driver's end, and at the machine's


@pytest.mark.sampled(0)
@pytest.mark.local_model
def test_the_local_model_on_workers_says_the_same(engine: RayEngine):
    need_smollm2()

    async def ask(engine: RayEngine | None) -> list[Answer]:
        model = open_model("smollm2", slots=4, context_tokens=256, engine=engine)
        try:
            asks = (
                model.ask([{"role": "user", "content": f"Name city number {n}."}], Decoding(max_tokens=8, seed=n), 0)
                for n in range(8)
            )
            return await asyncio.gather(*asks)
        finally:
            await model.aclose()

    here, there = asyncio.run(ask(None)), asyncio.run(ask(replace(engine, wanted=2)))
    assert [a.text for a in there] == [a.text for a in here]


def test_other_versions_of_ray_are_refused(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch):
    import ray

    leave()
    monkeypatch.setattr(ray, "__version__", "2.0.0")
    with pytest.raises(EngineError, match=r"runs another version: .*2\.0\.0"), open_engine(cluster.client_address):
        pass
