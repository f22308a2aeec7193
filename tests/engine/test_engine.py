"""Work in this process and on a real cluster of several nodes gives the same results in the same order."""

import os
import pickle
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import richter
from helpers.ray_cluster import RayCluster, leave, need_ray
from richter.engine import RayEngine, open_engine
from richter.engine._ray import _init
from richter.errors import EngineError, InputError, RichterError, TooFewErrors

pytestmark = pytest.mark.xdist_group("ray")


def draw(seed: np.random.SeedSequence) -> float:
    return float(np.random.default_rng(seed).normal(size=1_000).sum())


def fail(n: int) -> int:
    if n == 3:
        raise TooFewErrors("Three is too few.", n=3, needed=4)
    return n


def test_local_maps_in_order():
    with open_engine() as engine:
        assert list(engine.map(abs, [-3, 2, -1])) == [3, 2, 1]


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_in_the_same_order(engine: RayEngine):
    seeds = np.random.SeedSequence(7).spawn(40)
    with open_engine("local") as local:
        expected = list(local.map(draw, seeds))
    assert list(engine.map(draw, seeds)) == expected
    assert engine.workers == 3


@pytest.mark.slow
def test_an_error_on_a_worker_arrives_whole(engine: RayEngine):
    with pytest.raises(TooFewErrors, match="Three is too few") as caught:
        list(engine.map(fail, range(10)))
    assert (caught.value.n, caught.value.needed) == (3, 4)


@pytest.mark.slow
def test_a_task_whose_machine_is_lost_is_done_again(cluster: RayCluster, engine: RayEngine):
    def slow(n: int) -> int:
        time.sleep(0.1)
        return n * n

    results = []
    for found in engine.map(slow, range(20)):
        results.append(found)
        if len(results) == 4:
            cluster.kill(cluster.nodes[-1])
    assert results == [n * n for n in range(20)]


def test_a_client_server_that_did_not_start_is_asked_for_again(monkeypatch: pytest.MonkeyPatch):
    need_ray()
    import ray

    said = ["Starting Ray client server failed. See its log.", "Starting Ray client server failed. See its log."]

    def init(*_: object, **__: object) -> None:
        if said:
            raise ConnectionAbortedError(said.pop(0))

    monkeypatch.setattr(ray, "init", init)
    _init(ray, "ray://head:10001")
    assert not said
    said[:] = ["Something else is wrong."] * 2
    with pytest.raises(EngineError, match="Something else is wrong"):
        _init(ray, "ray://head:10001")
    assert len(said) == 1  # and it was not asked again


def test_unreachable_clusters_are_named_at_once():
    need_ray()
    leave()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(EngineError, match="No cluster answers"), open_engine(f"ray://127.0.0.1:{port}"):
        pass
    with pytest.raises(InputError, match="not the address"), open_engine("ray://nowhere"):
        pass
    with pytest.raises(InputError, match="not an engine"), open_engine("spark"):
        pass


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_cluster_of_our_own_keeps_to_loopback_asks_for_a_token_and_takes_no_module_from_where_we_are(tmp_path: Path):
    """Ray would listen on every interface, runs what anyone sends it, and looks for modules in the folder we are in."""
    need_ray()
    for name in ("zoneinfo", "colorsys", "sitecustomize", "usercustomize", "numba"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').write(__name__)")
    script = """
import os, subprocess, sys
from richter.engine import open_engine

def look(_):
    import zoneinfo
    return zoneinfo.__file__

with open_engine("ray", workers=2) as engine:
    assert list(engine.map(abs, [-1, 2])) == [1, 2]
    print("module", *engine.map(look, [1]))
    address = engine.ray.get_runtime_context().gcs_address
    host = address.rpartition(":")[0]
    print(address)
    pids = [p for p in os.listdir("/proc") if p.isdigit()]
    mine = {str(os.getpid())}
    for _ in range(6):
        for p in pids:
            try:
                stat = open(f"/proc/{p}/stat").read().rpartition(")")[2].split()
            except OSError:
                continue
            if stat[1] in mine:
                mine.add(p)
    inodes = set()
    for p in mine:
        try:
            for fd in os.listdir(f"/proc/{p}/fd"):
                link = os.readlink(f"/proc/{p}/fd/{fd}")
                if link.startswith("socket:["):
                    inodes.add(link[8:-1])
        except OSError:
            continue
    for name in ("tcp", "tcp6"):
        for row in open(f"/proc/net/{name}").read().splitlines()[1:]:
            cells = row.split()
            if cells[3] == "0A" and cells[9] in inodes:
                print("listens", cells[1])
    other = subprocess.run(
        [sys.executable, "-P", "-c", f"import ray; ray.init('{address}', log_to_driver=False)"],
        env={k: v for k, v in os.environ.items() if not k.startswith("RAY_AUTH")} | {"HOME": "/nonexistent"},
        capture_output=True, text=True, timeout=100,
    )
    print("stranger", other.returncode)
"""
    source = str(Path(richter.__file__).parents[1])
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")} | {"PYTHONPATH": source}
    command = [sys.executable, "-P", "-c", script]
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=200)
    assert not (tmp_path / "ran").exists()
    assert found.returncode == 0, found.stderr
    assert "module " in found.stdout
    assert str(tmp_path) not in found.stdout
    lines = found.stdout.split("\n")
    heard = [line.split()[1].rpartition(":")[0] for line in lines if line.startswith("listens")]
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    assert heard
    assert set(heard) <= loopback
    assert "stranger 1" in lines


@pytest.mark.parametrize("error", [EngineError("A.", remedy="B."), TooFewErrors("A.", n=1, needed=2)])
def test_errors_cross_processes_whole(error: RichterError):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)
