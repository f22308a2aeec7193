"""A real Ray cluster of several nodes on this machine, on loopback only, behind a token."""

import gc
import os
import secrets
import socket
import sys
import time
import warnings
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import pytest

from richter.engine import RayEngine, open_engine

SETTINGS = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # nodes keep to 127.0.0.1
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",  # a thread that Ray Data leaves would connect once more while the cluster ends
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_health_check_initial_delay_ms": "0",  # a killed node is missed in a second, not in fifteen
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "2",
}


CROWDED = 1.8  # times the processor's time that a loop takes here: beside two busy loops on two processors it is 2


def crowding() -> float:
    """How many seconds a second of work takes."""
    wall, spent = time.perf_counter(), time.process_time()
    while time.process_time() - spent < 0.2:
        pass
    return (time.perf_counter() - wall) / 0.2


def need_ray() -> None:
    """Skip where Ray is not installed or the machine is too busy; else set what Ray reads when it is imported.

    A cluster is a dozen processes that must start and answer in time: beside two busy loops on two processors its tests
    did not end in ten minutes. RICHTER_RAY=always runs them all the same.
    """
    if find_spec("ray") is None:
        pytest.skip("ray is not installed (pip install 'richter[ray]')")
    if os.environ.get("RICHTER_RAY") != "always" and (found := min(crowding() for _ in range(3))) > CROWDED:
        pytest.skip(
            f"the machine is too busy for a Ray cluster: a second of work takes {found:.1f} (RICHTER_RAY=always)"
        )
    assert "ray" not in sys.modules or os.environ.get("RAY_AUTH_TOKEN") == SETTINGS["RAY_AUTH_TOKEN"]
    os.environ.update(SETTINGS)
    root = Path(__file__).resolve().parents[2]  # what pytest finds by itself, the cluster's processes must find too
    os.environ["PYTHONPATH"] = os.pathsep.join(str(p) for p in (root / "src", root / "tests", root / "papers", root))
    programs = str(Path(sys.executable).parent)  # Ray's client server is started as `python`
    if programs not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = os.pathsep.join([programs, os.environ["PATH"]])


class RayCluster:
    """A head without processors and `workers` nodes with `cpus` each. `address` is what RAY_ADDRESS takes."""

    def __init__(self, *, workers: int = 2, cpus: int = 1, client: bool = False, **head: Any) -> None:
        need_ray()
        from ray.cluster_utils import Cluster

        options: dict[str, Any] = {"num_cpus": 0, "node_ip_address": "127.0.0.1", "include_dashboard": False} | head
        options |= {"no_monitor": True, "include_log_monitor": False}  # nothing here scales, or reads logs
        self.client_address = ""
        if client:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                options["ray_client_server_port"] = free.getsockname()[1]
            self.client_address = f"ray://127.0.0.1:{options['ray_client_server_port']}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # Ray leaves its client server's logs open
            self._cluster = Cluster(initialize_head=True, head_node_args=options)
            gc.collect()
        self.address: str = self._cluster.address
        self.nodes: list[Any] = []
        self._connection, self._engine = ExitStack(), None
        self.complete(workers, cpus=cpus)

    def complete(self, workers: int, *, cpus: int = 1) -> None:
        """Machines that were lost are replaced."""
        while len(self.nodes) < workers:
            self.add(cpus=cpus)
        self._cluster.wait_for_nodes()  # and the lost ones are missed

    def add(self, *, cpus: int = 1, **options: Any) -> Any:
        """One more machine."""
        self.nodes.append(self._cluster.add_node(num_cpus=cpus, node_ip_address="127.0.0.1", **options))
        return self.nodes[-1]

    def kill(self, node: Any) -> None:
        """A machine is lost, at once."""
        self._cluster.remove_node(node, allow_graceful=False)
        self.nodes.remove(node)

    def engine(self, *, client: bool = False) -> RayEngine:
        """A connection that lasts while tests ask for the same: with each the machines start their processes anew.

        Without Ray's client the cluster is the one in RAY_ADDRESS.
        """
        if self._engine is None or not self._engine.ray.is_initialized() or self._engine.remote != client:
            leave()
            self._connection.close()
            self._engine = self._connection.enter_context(open_engine(self.client_address if client else "ray"))
        assert isinstance(self._engine, RayEngine)
        return self._engine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        leave()
        self._connection.close()
        self._cluster.shutdown()


def leave() -> None:
    """End the connection that there is, if any: whoever opens an engine would be given it."""
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
