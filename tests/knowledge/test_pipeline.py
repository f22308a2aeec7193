"""A base built on a cluster is the base that one process builds, byte for byte, whatever is lost on the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import richter
from helpers.ray_cluster import RayCluster
from helpers.small_base import DIM, small_documents, vectors_of
from helpers.tiny_model import make_tiny_model
from richter.cli import main
from richter.engine import RayEngine
from richter.errors import EngineError, InputError
from richter.records import Document, Paragraph
from richter.texts import open_embedder
from richter_audit.knowledge import Documents, _base, _prepare_documents, add_documents, read_documents, write_base
from richter_audit.knowledge._ingest import as_documents
from richter_audit.knowledge._pipeline import Conductor, Known

pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray.data.context"),  # it sets its own settings
]
WRITE: dict[str, Any] = {"name": "small", "embedding": "by hand", "dim": DIM}
SHARD, BLOCK = 100, 1_000  # small, so that there are many: five shards of five blocks or so


@pytest.fixture(autouse=True, scope="module")
def small_blocks() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_base, "SHARD_PARAGRAPHS", SHARD)
        patch.setattr(_prepare_documents, "BLOCK_CHARACTERS", BLOCK)
        yield


def documents() -> Iterator[Document]:
    """With empty paragraphs, repeated ones, and a document of nothing else."""
    for i, document in enumerate(small_documents(documents=30)):
        more = [Paragraph(text=" "), Paragraph(text=f"d{max(0, i - 9)}  HOLDS fact number {i % 20}")]
        yield Document(title=document.title, abstract=document.abstract, paragraphs=(*document.paragraphs, *more))
        if i % 10 == 3:
            yield Document(title="none", abstract="", paragraphs=tuple(more))


def together(texts: list[str]) -> np.ndarray:
    """Vectors that depend on what is embedded with them, as a sentence-transformers model's last bits do."""
    found = vectors_of(texts)
    return found + np.float32(0.01) * found.sum(axis=0) if len(texts) else found


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def by_one_process(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("one") / "kb"
    info = write_base(folder, documents(), vectors=together, **WRITE)
    assert (info.paragraphs, info.documents, info.duplicates, info.empty) == (600, 30, 33, 33)
    assert info.shards >= 5
    assert {"base.json", "paragraphs.f16", "abstracts.f16", "paragraphs-00000.parquet"} <= set(files(folder))
    return files(folder)


@given(sizes=st.lists(st.integers(0, 3_000), max_size=60), block=st.integers(0, 60))
def test_a_source_is_cut_alike_from_the_end_of_any_block(sizes: list[int], block: int):
    def blocks(given: list[int]) -> list[list[int]]:
        return list(_prepare_documents.cut(Documents(pieces=iter(given), parse=_none, size=int)))

    whole = blocks(sizes)
    assert [size for one in whole for size in one] == sizes
    assert blocks(sizes[sum(map(len, whole[:block])) :]) == whole[block:]
    assert all(sum(one[:-1]) < BLOCK for one in whole)  # one more document would never have fitted


def _none(_: int) -> Document:
    return Document(title="", abstract="", paragraphs=())


def test_what_was_there_is_not_embedded_again(tmp_path: Path):
    write_base(tmp_path / "kb", small_documents(), vectors=together, **WRITE)
    asked: list[str] = []

    def watched(texts: list[str]) -> np.ndarray:
        asked.extend(texts)
        return together(texts)

    extra = [*small_documents(), Document(title="T", abstract="A", paragraphs=(Paragraph(text="New."),))]
    info = add_documents(tmp_path / "kb", extra, source="more", embedding="by hand", vectors=watched)
    assert info.paragraphs == 241
    assert "New." in asked
    assert len(asked) < 50  # its own block, and no other
    again = add_documents(tmp_path / "kb", extra, source="more", embedding="by hand", vectors=together)
    assert (again.paragraphs, again.shards) == (info.paragraphs, info.shards)


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_cluster_does_not_embed_what_is_there(tmp_path: Path, engine: RayEngine):
    write_base(tmp_path / "kb", documents(), vectors=together, **WRITE)
    before = files(tmp_path / "kb")

    def refused(texts: list[str]) -> np.ndarray:
        if len(texts) > 1:  # one is the probe, that machines embed alike
            raise InputError("Embedded again.", remedy="None.")
        return together(texts)

    more: dict[str, Any] = {"source": "again", "embedding": "by hand", "vectors": refused, "engine": engine}
    info = add_documents(tmp_path / "kb", documents(), **more)
    after = files(tmp_path / "kb")
    assert all(after[name] == before[name] for name in before if name.endswith(".f16"))
    assert info.paragraphs == _base._load(tmp_path / "kb").paragraphs


def test_known_keys_by_hand():
    known = Known(np.sort(np.array([5, 2**63 + 1, 9], dtype=np.uint64)))
    assert all(key in known for key in (5, 9, 2**63 + 1))
    assert not any(key in known for key in (0, 6, 2**63, 2**64 - 1))
    assert 1 not in Known(np.empty(0, dtype=np.uint64))


def _text(folder: Path, text: str) -> Path:
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text(text)
    return folder / "notes"


def _with(given: Any, parse: Callable[[Any], Document]) -> Any:
    return type(given)(pieces=given.pieces, parse=parse, size=given.size)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_any_number_of_workers_gives_the_same_bytes(
    tmp_path: Path, engine: RayEngine, by_one_process: dict[str, bytes], workers: int
):
    engine = replace(engine, wanted=workers)
    write_base(tmp_path / "kb", documents(), vectors=together, engine=engine, **WRITE)
    assert files(tmp_path / "kb") == by_one_process


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_machine_lost_during_embedding_changes_nothing(
    tmp_path: Path, cluster: RayCluster, engine: RayEngine, by_one_process: dict[str, bytes]
):
    lost = cluster.nodes[-1]
    marks, name = tmp_path / "marks", lost.node_id
    marks.mkdir()

    def embed(texts: list[str]) -> np.ndarray:
        """On the machine that is to be lost the third block never ends; the others wait for its first."""
        import ray

        if len(texts) > 20 and ray.get_runtime_context().get_node_id() == name:
            (marks / str(time.time_ns())).touch()
            if len(list(marks.iterdir())) == 3:
                time.sleep(600)
        elif len(texts) > 20:
            while not list(marks.iterdir()):
                time.sleep(0.01)
        time.sleep(0.1)
        return together(texts)

    def kill() -> None:
        deadline = time.monotonic() + 60
        while len(list(marks.iterdir())) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        cluster.kill(lost)

    with ThreadPoolExecutor(1) as other:
        killed = other.submit(kill)
        write_base(tmp_path / "kb", documents(), vectors=embed, engine=engine, **WRITE)
        killed.result(timeout=1)
    assert len(list(marks.iterdir())) == 3
    assert files(tmp_path / "kb") == by_one_process


DRIVER = """
import sys, time
from pathlib import Path
from richter.engine import open_engine
from richter_audit.knowledge import _base, _prepare_documents, write_base
from tests.knowledge import test_pipeline as here
_base.SHARD_PARAGRAPHS, _prepare_documents.BLOCK_CHARACTERS = here.SHARD, here.BLOCK
def slow(texts):
    time.sleep(0.1)
    return here.together(texts)
with open_engine("ray", workers=2) as engine:
    write_base(sys.argv[1], here.documents(), vectors=slow, engine=engine, **here.WRITE)
"""


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_driver_that_was_killed_goes_on_and_ends_the_same(
    tmp_path: Path, cluster: RayCluster, engine: RayEngine, by_one_process: dict[str, bytes]
):
    folder = tmp_path / "kb"
    address = os.environ | {"RAY_ADDRESS": cluster.address}
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(folder)], stderr=subprocess.PIPE, env=address)
    deadline = time.monotonic() + 60
    while not (folder / "base.json").exists() and time.monotonic() < deadline and driver.poll() is None:
        time.sleep(0.01)
    driver.send_signal(signal.SIGKILL)
    _, complaint = driver.communicate()
    assert driver.returncode == -signal.SIGKILL, complaint
    before = _base._load(folder)
    assert 0 < before.consumed < 33
    assert not before.complete
    seen: list[int] = []
    write_base(folder, documents(), vectors=together, engine=engine, watch=lambda i: seen.append(i.shards), **WRITE)
    assert seen[0] == before.shards + 1  # what was done was not done again
    assert files(folder) == by_one_process


PAGE = """<page><title>Hill {n}</title><ns>0</ns><revision><text>'''Hill {n}''' is a [[hill|made-up hill]] with
{n} mills on it, built long ago.

Its second paragraph tells of the miller and of his {n} daughters.
== History ==
The mill burnt down and was built again, so the story goes, {n} times. [[Category:Hills]]</text></revision></page>
"""


@pytest.mark.slow
def test_commands_give_the_same_bytes_with_either_engine(
    tmp_path: Path, engine: RayEngine, capsys: pytest.CaptureFixture[str]
):
    pytest.importorskip("mwparserfromhell")
    pytest.importorskip("wordllama")
    assert engine.ray.is_initialized()  # a command uses the connection that is there
    dump, more = tmp_path / "dump.xml", tmp_path / "more.jsonl"
    dump.write_text("<mediawiki>" + "".join(PAGE.format(n=n) for n in range(150)) + "</mediawiki>")
    more.write_text('{"title": "T", "text": "One fact.", "qas": [{"q": "Which?", "a": ["One"]}]}\n' * 3)
    for name, options in (("local", ()), ("ray", ("--engine", "ray", "--workers", "2"))):
        for command in ([dump, "-o", tmp_path / name], [tmp_path / name, more]):
            with pytest.raises(SystemExit) as stop:
                main([str(word) for word in ("search", "--only", "base", *command, *options)])
            assert stop.value.code == 0, capsys.readouterr().err
    found = files(tmp_path / "ray")
    assert found == files(tmp_path / "local")
    assert _base._load(tmp_path / "ray").paragraphs == 151  # each article is short: one paragraph
    assert "T" in _base.open_base(tmp_path / "ray").titles()


@pytest.mark.slow
def test_a_sentence_transformers_model_is_opened_on_each_machine(tmp_path: Path, engine: RayEngine):
    folder = make_tiny_model(tmp_path)
    model = open_embedder(folder)
    made: dict[str, Any] = {"name": "st", "embedding": model.name, "vectors": model.embed, "dim": model.dim}
    write_base(tmp_path / "local", documents(), **made)
    write_base(tmp_path / "ray", documents(), engine=engine, **made)
    assert files(tmp_path / "ray") == files(tmp_path / "local")
    (folder / "note.txt").write_text("trained on")
    for complaint in (f"embeds with st:tiny@.*, not {model.name}", "cannot embed: .* is not a folder with a sentence-"):
        other = _with(as_documents(documents()), lambda d, _=complaint: d)  # other work: machines look at it anew
        with pytest.raises(EngineError, match=complaint):
            write_base(tmp_path / "other", other, engine=engine, **made)
        if folder.exists():
            folder.rename(tmp_path / "elsewhere")


class Absent:
    """An embedding whose model is on this machine only."""

    def __call__(self, texts: list[str]) -> np.ndarray:
        return vectors_of(texts)

    def __reduce__(self) -> Any:
        return _open_absent, ()


def _open_absent() -> Absent:
    raise InputError("/models/minilm is not a folder with a model.", remedy="Give the folder.")


@pytest.mark.slow
def test_machines_that_would_embed_otherwise_are_refused(
    tmp_path: Path, engine: RayEngine, monkeypatch: pytest.MonkeyPatch
):
    driver = os.getpid()

    def other(texts: list[str]) -> np.ndarray:
        return vectors_of(texts) * (1 if os.getpid() == driver else -1)

    for vectors, complaint in (
        (Absent(), "cannot embed: /models/minilm is not a folder"),
        (other, "gives other vectors for by hand"),
    ):
        with pytest.raises(EngineError, match=complaint):
            write_base(tmp_path / "kb", documents(), vectors=vectors, engine=engine, **WRITE)
    here = richter.__version__
    monkeypatch.setattr(richter, "__version__", "9.9.9")
    with pytest.raises(EngineError, match=f"runs Richter {here}, not 9.9.9"):
        write_base(tmp_path / "kb", documents(), vectors=vectors_of, engine=engine, **WRITE)
    monkeypatch.undo()
    write_base(tmp_path / "kb", small_documents(), vectors=vectors_of, **WRITE)
    with pytest.raises(InputError, match="another embedding"):
        write_base(tmp_path / "kb", [], vectors=vectors_of, engine=engine, **WRITE | {"embedding": "another"})
    with pytest.raises(InputError, match="cannot be compared"):
        add_documents(tmp_path / "kb", [], source="s", embedding="another", vectors=vectors_of, engine=engine)


@pytest.mark.slow
def test_what_ends_early_ends_rays_work_at_once(tmp_path: Path, engine: RayEngine, monkeypatch: pytest.MonkeyPatch):
    begun, begin = [], Conductor.begin

    def seen(self: Conductor, *window: bytes) -> None:
        begin(self, *window)
        begun.append(self.results)  # held here: no garbage collection ends it

    monkeypatch.setattr(Conductor, "begin", seen)
    with pytest.raises(EngineError, match="cannot embed"):
        write_base(tmp_path / "kb", documents(), vectors=Absent(), engine=engine, **WRITE)
    (left,) = begun
    assert left.gi_frame is None


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_rays_client_gives_the_same_bytes(tmp_path: Path, cluster: RayCluster):
    some = list(documents())[:6]  # two blocks: what is slow is to start
    write_base(tmp_path / "here", some, vectors=together, **WRITE)
    engine = replace(cluster.engine(client=True), wanted=1)
    assert engine.remote
    write_base(tmp_path / "kb", some, vectors=together, engine=engine, **WRITE)
    assert files(tmp_path / "kb") == files(tmp_path / "here")

    def refused(_: Document) -> Document:
        raise InputError("No.", remedy="None.")

    given = read_documents(_text(tmp_path, "A text."))
    with pytest.raises(InputError, match="No"):
        write_base(tmp_path / "no", _with(given, refused), vectors=together, engine=engine, **WRITE)
