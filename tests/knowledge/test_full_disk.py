"""A disk that is full, here or on a machine of the cluster, ends a build with a message; it goes on later."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import richter
from helpers.ray_cluster import RayCluster, leave
from helpers.small_base import DIM, small_documents, vectors_of
from richter.cli import main
from richter.engine import open_engine
from richter.errors import StorageError
from richter_audit.knowledge import _base, _prepare_documents, write_base

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),  # it sets its own settings
]
WRITE: dict[str, Any] = {"name": "small", "embedding": "by hand", "dim": DIM}


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_full_disk_on_a_machine_of_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(_base, "SHARD_PARAGRAPHS", 50)
    monkeypatch.setattr(_prepare_documents, "BLOCK_CHARACTERS", 1_000)
    driver = os.getpid()

    def embed(texts: list[str]) -> np.ndarray:
        """For the tenth document 100 MB of result, for which that machine has no room in memory or on disk."""
        if os.getpid() != driver and any(text.startswith("D9 ") for text in texts):
            return np.zeros((len(texts), 50_000_000 // len(texts)), dtype=np.float32)
        return vectors_of(texts)

    leave()
    full = {"local_fs_capacity_threshold": 0.0}  # to Ray, every disk is full
    with RayCluster(workers=0, _system_config=full) as cluster:
        cluster.add(object_store_memory=80 * 2**20)
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        with (
            open_engine("ray") as engine,
            pytest.raises(StorageError, match="disk of a machine of the cluster is full"),
        ):
            write_base(tmp_path / "kb", small_documents(), vectors=embed, engine=engine, **WRITE)
    assert 0 < _base._load(tmp_path / "kb").consumed <= 8
    write_base(tmp_path / "kb", small_documents(), vectors=vectors_of, **WRITE)
    write_base(tmp_path / "other", small_documents(), vectors=vectors_of, **WRITE)
    assert files(tmp_path / "kb") == files(tmp_path / "other")


FULL = """
import resource, signal, sys
from richter.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))
main(["search", "--only", "base", sys.argv[1], "-o", sys.argv[2]])
"""


def test_a_base_that_can_no_longer_be_written_goes_on_later(tmp_path: Path):
    """Where files may not outgrow 8,000 bytes (a quota), the base cannot be written."""
    pytest.importorskip("wordllama")
    notes = tmp_path / "notes"
    notes.mkdir()
    text = (" ".join(f"word{n}of{k}" for k in range(80)) for n in range(160))  # none like another
    (notes / "a.txt").write_text("\n\n".join(text))
    command = [sys.executable, "-c", FULL, str(notes), str(tmp_path / "kb")]
    path = os.environ | {"PYTHONPATH": str(Path(richter.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=path)  # else compiled code is cut
    assert found.returncode == 1
    assert "cannot be written: File too large" in found.stderr
    assert "Traceback" not in found.stderr
    for folder in ("kb", "other"):
        with pytest.raises(SystemExit) as stop:
            main(["search", "--only", "base", str(notes), "-o", str(tmp_path / folder)])
        assert stop.value.code == 0
    assert files(tmp_path / "kb") == files(tmp_path / "other")
