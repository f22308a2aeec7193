"""What all tests share: where the public data lie, a seeded generator, and which files are the core's."""

import functools
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

# before numpy reads it. Threads that wait for each other in a loop triple the time of products of small matrices where
# two of these processes share two processors; what is computed is the same
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from helpers.ray_cluster import RayCluster
from helpers.trials import RUNS_ALL
from richter.engine import RayEngine

# no test asserts a time: on a busy machine examples come slowly, which says nothing about what is tested. The same
# examples every time, so that a commit passes or fails alike everywhere; `make soak` draws new ones
for name, is_seeded, n_examples in (("seeded", True, 30), ("random", False, 100)):
    settings.register_profile(
        name,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=is_seeded,
        max_examples=n_examples,
    )
settings.load_profile(os.environ.get("RICHTER_EXAMPLES", "seeded"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--core", action="store_true", help="only tests of the core, which need no extra")


# what needs the extra `audit`: the package, a server that stands for a provider, the app
NEEDS_AUDIT = r"richter_audit|aiohttp|helpers\.raw_server|richter\.report\._runs_app"


@functools.cache
def asks_models(path: Path) -> bool:
    """Whether a file of tests, or a helper that it imports, uses the package that asks models or what only it needs."""
    text = path.read_text(encoding="utf-8")
    if re.search(rf"^\s*(?:from|import) (?:{NEEDS_AUDIT})\b", text, re.MULTILINE):
        return True
    folder = Path(__file__).parent
    others = re.findall(r"^\s*from (helpers|\w+)\.(\w+) import", text, re.MULTILINE)
    files = [folder / room / f"{name}.py" for room, name in others if room == "helpers" or name.startswith("test_")]
    return any(asks_models(file) for file in files)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_file = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return True if config.getoption("--core") and is_file and asks_models(collection_path) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = [item for item in items if not (config.getoption("--core") and item.get_closest_marker("audit"))]
    if not RUNS_ALL:
        kept = sample_cases(kept)
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def sample_cases(items: list[pytest.Item]) -> list[pytest.Item]:
    """The items, of each test with the mark `sampled(n)` only a seeded n of its cases."""
    cases: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            cases.setdefault((item.path, getattr(item, "originalname", item.name)), []).append(item)
    left_out: set[pytest.Item] = set()
    for (_, name), of_test in cases.items():
        mark = of_test[0].get_closest_marker("sampled")
        assert mark is not None
        left_out |= set(of_test) - set(random.Random(name).sample(of_test, min(mark.args[0], len(of_test))))
    return [item for item in items if item not in left_out]


def pytest_configure() -> None:
    """Put what tests write into memory where there is room: a ledger waits for the disk at every commit."""
    memory = Path("/dev/shm")
    if "PYTEST_DEBUG_TEMPROOT" not in os.environ and os.access(memory, os.W_OK | os.X_OK):
        room = os.statvfs(memory)
        if room.f_bavail * room.f_frsize > 4e9 and not room.f_flag & os.ST_NOEXEC:
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(memory)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data files; tests that use it carry the mark `real_data`."""
    root = Path(__file__).resolve().parents[2]
    folder = Path(os.environ.get("RICHTER_SHARED_DATA", root / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the public data are not here ({folder})")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_260_101)


@pytest.fixture(scope="session")
def _ray_cluster() -> Iterator[RayCluster]:
    with RayCluster(workers=3, client=True) as found:
        yield found


@pytest.fixture
def cluster(_ray_cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """The one cluster of all tests in the group `ray`, with its three machines, which RAY_ADDRESS names."""
    _ray_cluster.complete(3)
    monkeypatch.setenv("RAY_ADDRESS", _ray_cluster.address)
    return _ray_cluster


@pytest.fixture
def engine(cluster: RayCluster) -> RayEngine:
    """The one connection to it."""
    return cluster.engine()
