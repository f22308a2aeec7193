"""A Ray cluster: one that runs already, or one on this machine that lives as long as the work."""

import dataclasses
import os
import secrets
import socket
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import urlsplit

from richter.errors import EngineError, InputError, MissingPart, RichterError, StorageError

__all__ = ["RayEngine"]

T = TypeVar("T")
R = TypeVar("R")

CONNECT_TIMEOUT_S = 5.0  # Ray itself tries for minutes
RETRIES = 5  # of a task whose node was lost
ATTEMPTS = 3
# seen now and then: the process that the head forks dies at once, or the head looks at it too early
NOT_STARTED = ("Starting Ray client server failed", "ZombieProcess")


@dataclasses.dataclass(frozen=True, slots=True)
class RayEngine:
    """A cluster that this process is connected to.

    `ray` is the package, `wanted` the number of workers the user asked for, `remote` whether the connection is by Ray's
    client protocol.
    """

    ray: Any
    wanted: int | None
    remote: bool

    @property
    def workers(self) -> int:
        """How much is done at a time: as was asked for, else what there are processors for."""
        return self.wanted or max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    @property
    def nodes(self) -> int:
        """Machines that are up and work."""
        return max(1, len([n for n in self.ray.nodes() if n["Alive"] and n["Resources"].get("CPU", 0) > 0]))

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """The results in the order of the tasks. A task whose machine is lost is done again elsewhere."""
        task = self.ray.remote(num_cpus=1, max_retries=RETRIES)(_apply)
        waiting: deque[Any] = deque()
        most = 2 * self.workers
        try:
            stored = self.ray.put(function)
            for given in tasks:
                waiting.append(task.remote(stored, given))
                if len(waiting) >= most:
                    yield self.ray.get(waiting.popleft())
            while waiting:
                yield self.ray.get(waiting.popleft())
        except self.ray.exceptions.RayError as error:
            raise self.explain(error) from error
        finally:
            for left in waiting:
                self.ray.cancel(left)

    def explain(self, error: BaseException) -> RichterError:
        """What a fault of the cluster, or one raised on it, means to the user."""
        cause = getattr(error, "cause", None)
        if isinstance(cause, RichterError):
            return cause
        text = " ".join(str(cause or error).split())
        if isinstance(error, self.ray.exceptions.OutOfDiskError) or "No space left on device" in text:
            return StorageError(
                "The disk of a machine of the cluster is full.",
                remedy="Free room there and run the same command again: it goes on where it stopped.",
            )
        if "No module named 'richter" in text:
            return EngineError(
                "Richter is not installed on a machine of the cluster.",
                remedy="Install the same version on all of them: pip install 'richter[ray]'.",
            )
        kind = type(cause or error).__name__
        return EngineError(
            f"The cluster failed: {kind}: {text[:300]}",
            remedy="What is done is kept; run the same command again when the cluster is well.",
        )


def _apply(function: Callable[[T], R], given: T) -> R:
    numba = sys.modules.get("numba")  # Ray holds OpenMP to the one processor of the task, but not numba
    if numba is not None:
        numba.set_num_threads(1)
    return function(given)


@contextmanager
def connected(spec: str, *, workers: int | None = None) -> Iterator[RayEngine]:
    """Connect to the cluster that `spec` names, and leave it at the end; a cluster started here ends with the work."""
    if find_spec("ray") is None:
        raise MissingPart("The package ray is not installed.", remedy="Install it: pip install 'richter[ray]'.")
    if workers is not None and workers < 1:
        raise InputError(f"{workers} workers cannot do anything.", remedy="Give at least 1.")
    address = os.environ.get("RAY_ADDRESS", "") if spec == "ray" else spec
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")  # it would print lost machines into our output
        if not address:
            _keep_to_this_machine()
    ray = _import_ray()
    if ray.is_initialized():  # a program that uses Ray already, and us
        yield _engine(ray, workers)
        return
    if address and address != "auto":
        _reach(address)
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # leave GPUs visible to workers that ask for none
    _init(ray, address)
    try:
        yield _engine(ray, workers)
    finally:
        ray.shutdown()


def _init(ray: Any, address: str) -> None:
    for left in reversed(range(ATTEMPTS)):
        try:
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            if address.startswith("ray://"):
                ray.init(address, **quiet)
            elif address:
                ray.init(address, job_config=_isolated(ray), **quiet)
            else:
                ray.init("local", include_dashboard=False, job_config=_isolated(ray), **quiet)
            return
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            ray.util.disconnect()  # half a connection would be in the way of the next
            if not left or not any(text in str(error) for text in NOT_STARTED):
                raise _refused(address or "this machine", error) from error


class _Nothing(list[str]):
    """What stays empty."""

    def extend(self, _: Iterable[str]) -> None:
        """Take none of them."""


def _isolated(ray: Any) -> Any:
    """A job whose workers do not look for modules in the folder we are in, which Ray would have them do first."""
    config = ray.job_config.JobConfig()
    config._py_driver_sys_path = _Nothing()
    return config


def _import_ray() -> Any:
    import ray

    return ray


def _engine(ray: Any, workers: int | None) -> RayEngine:
    return RayEngine(ray=ray, wanted=workers, remote=bool(ray.util.client.ray.is_connected()))


def _keep_to_this_machine() -> None:
    """A cluster of our own listens on loopback only, and to those who know its token; Ray would use every interface.

    Ray reads these when it is imported.
    """
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # its name aside: nodes keep to 127.0.0.1
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("PYTHONSAFEPATH", "1")  # its processes take no module from the folder we are in
    if "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _reach(address: str) -> None:
    where = urlsplit(address if "://" in address else f"ray://{address}")
    try:
        host, port = where.hostname, where.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise InputError(
            f"{address} is not the address of a cluster.", remedy="Write ray://host:port; Ray's port is 10001."
        )
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_S).close()
    except OSError as error:
        raise EngineError(
            f"No cluster answers at {address}: {error.strerror or error}.",
            remedy="Check the address and that `ray start --head` runs there, with its client port open.",
        ) from error


def _refused(address: str, error: BaseException) -> EngineError:
    text = " ".join(str(error).split())
    if "ersion mismatch" in text:
        return EngineError(
            f"The cluster at {address} runs another version: {text[:300]}",
            remedy="Install the same versions of Ray and Python here and there.",
        )
    return EngineError(
        f"The cluster at {address} lets nobody in: {text[:300]}",
        remedy="Check that a Ray head runs there, that RAY_AUTH_MODE and RAY_AUTH_TOKEN are its own, and `ray status`.",
    )
