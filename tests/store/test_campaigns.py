"""A seeded sample of the campaigns on reliability: names of files, killed imports, containers, hostile runs.

The sample on keys is `llm/test_hostile_servers.py`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.containers import containers
from helpers.read_any import ended

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import soak_containers
import soak_names
import soak_runs

STUDIES = Path(__file__).parents[2] / "studies"
CONTAINERS = ("csv", "csv.gz", "csv.zst", "html", "json", "jsonl", "parquet", "tsv", "xlsx", "zip", "eval")


@pytest.mark.parametrize("command", ["compare", "gate", "import", "dry run", "named"])
def test_an_odd_name_is_read_by_every_command(command: str) -> None:
    place, number = list(soak_names.COMMANDS).index(command), len(soak_names.COMMANDS)
    assert [soak_names.attempt(place + number * seed).partition(", ")[0] for seed in (1, 2)] == [
        f"{command}: the same"
    ] * 2


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("place", [10, 45])
def test_a_killed_import_is_nothing_or_whole(place: int) -> None:
    # in a process of its own: it forks, which a process that has used polars must not
    words = [sys.executable, STUDIES / "soak_imports.py", "--batch", str(place), str(place + 1)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout.splitlines()[-1])["ends"] in ({"nothing, and made again": 1}, {"WHOLE": 1})


def test_sound_containers_are_read(tmp_path: Path) -> None:
    tables = {name: found for name, found in containers(tmp_path).items() if name in CONTAINERS}
    assert {ended(path, read) for path, read in tables.values()} == {"read"}


@pytest.mark.parametrize("name", CONTAINERS)
def test_broken_containers_are_read_or_refused(name: str) -> None:
    names = list(soak_containers.files())
    if name not in names:
        pytest.skip("its reader is not installed")
    for seed in range(3):
        ending = soak_containers.attempt(names.index(name) + seed * len(names))
        assert ending in (f"{name}: read", f"{name}: refused")


@pytest.mark.parametrize("k", range(len(soak_runs.SPOILERS)))
def test_a_strangers_run_hides_no_other(k: int) -> None:
    assert soak_runs.attempt(k).endswith(": answered")
