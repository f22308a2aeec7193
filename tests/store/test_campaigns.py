"""A seeded sample of the campaigns on reliability: names of files, killed imports, containers, hostile runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.containers import containers
from helpers.read_any import ended
from soak import names, runs, small

CONTAINERS = ("csv", "csv.gz", "csv.zst", "json", "jsonl", "parquet", "tsv", "xlsx", "zip", "eval")


@pytest.mark.parametrize("command", ["compare", "gate", "import", "dry run", "named"])
def test_an_odd_name_is_read_by_every_command(command: str) -> None:
    place, number = list(names.COMMANDS).index(command), len(names.COMMANDS)
    assert [names.attempt(place + number * seed).partition(", ")[0] for seed in (1, 2)] == [f"{command}: the same"] * 2


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("place", [10, 45])
def test_a_killed_import_is_nothing_or_whole(place: int) -> None:
    # in a process of its own: it forks, which a process that has used polars must not
    words = [sys.executable, Path(__file__).parents[1] / "soak", "--batch", "imports", str(place), str(place + 1)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(done.stdout.splitlines()[-1])["ends"] in ({"nothing, and made again": 1}, {"WHOLE": 1})


def test_sound_containers_are_read(tmp_path: Path) -> None:
    tables = {name: found for name, found in containers(tmp_path).items() if name in CONTAINERS}
    assert {ended(path, read) for path, read in tables.values()} == {"read"}


@pytest.mark.parametrize("name", CONTAINERS)
def test_broken_containers_are_read_or_refused(name: str) -> None:
    found = list(small.sound_containers())
    if name not in found:
        pytest.skip("its reader is not installed")
    for seed in range(3):
        ending = small.broken_container(found.index(name) + seed * len(found))
        assert ending in (f"{name}: read", f"{name}: refused")


@pytest.mark.parametrize("k", range(len(runs.SPOILERS)))
def test_a_strangers_run_hides_no_other(k: int) -> None:
    assert runs.attempt(k).endswith(": answered")
