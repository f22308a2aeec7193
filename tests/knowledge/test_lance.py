import json
from collections import Counter

import numpy as np
import pytest

from helpers.object_store import ObjectStore
from helpers.small_base import DIM, Killed, small_base, small_documents, vectors_of
from richter.cli import main
from richter.errors import InputError, MissingPart, StorageError
from richter.records import Document, Paragraph
from richter_audit.knowledge import (
    _base,
    _lance,
    _prepare_documents,
    add_documents,
    build_index,
    find_similar,
    open_base,
    open_index,
    read_index_info,
    usual_retrieval,
    write_base,
)
from richter_audit.knowledge._retrieve import nearest_of

pytest.importorskip("lancedb")
ADD = {"source": "more", "embedding": "by hand", "vectors": vectors_of}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory):
    base = small_base(tmp_path_factory.mktemp("lance") / "kb", documents=40, paragraphs=50, questions=1)
    return base, build_index(base, rng=np.random.default_rng(3))


def more(count, *, first=0):
    texts = [f"E{i // 50} holds fact number {i}" for i in range(first, first + count)]
    return [Document(title="more", abstract="more", paragraphs=tuple(Paragraph(text=t) for t in texts))]


def by_sorting(base, row, k):
    """The k nearest of a row, itself aside: every product, a stable sort."""
    vectors = np.asarray(base.vectors_on_disk, dtype=np.float32)
    order = np.argsort(-(vectors @ vectors[row]), kind="stable")
    return order[order != row][:k]


def rows_held(base):
    return Counter(open_index(base).table.to_arrow()["row"].to_pylist())


def test_the_recall_that_is_kept_is_that_of_its_queries_by_sorting(indexed):
    base, info = indexed
    index = open_index(base)
    drawn = np.random.default_rng(3).permutation(len(base))[:200]
    for recall in info.recall:
        shares = []
        for row in drawn[1::2]:
            query = np.asarray(base.vectors_on_disk[[row]], dtype=np.float32)
            given = [r for r in index(query, 2 * (recall.k + 1))[0] if r not in (-1, row)]
            cosines = np.asarray(base.vectors_on_disk[given], dtype=np.float32) @ query[0]
            found = np.asarray(given)[np.argsort(-cosines)][: recall.k]
            shares.append(len(set(found) & set(by_sorting(base, row, recall.k))) / recall.k)
        assert recall.recall == pytest.approx(np.mean(shares), abs=1e-12)
        assert recall.recall in recall.interval
        assert recall.queries == 100
    assert [r.k for r in info.recall] == [50, 200]
    assert info.recall[0].recall > 0.9  # the target is 0.97 of 200, chosen on other queries
    assert read_index_info(base) == info


def test_few_partitions_find_less_and_the_target_buys_more(indexed):
    base, info = indexed
    table = open_index(base).table
    drawn = np.arange(0, len(base), 40)
    queries = np.asarray(base.vectors_on_disk[drawn], dtype=np.float32)
    exact = find_similar(queries, base.vectors_on_disk, 200)

    def recall(probes):
        given = _lance._candidates(table, info.url, queries, 400, probes)
        near = [
            nearest_of(q, base.vectors_on_disk, rows[rows >= 0], 200) for q, rows in zip(queries, given, strict=True)
        ]
        return np.mean([len(set(a) & set(b)) / 200 for a, b in zip(near, exact, strict=True)])

    assert recall(1) < recall(info.probes // 2) < recall(info.probes)
    assert recall(info.partitions) > 0.999  # all partitions: what is left is the rounding, twice over-asked


def test_rows_left_out_are_not_found_and_most_left_out_is_exact(indexed):
    base, _ = indexed
    index, rng = open_index(base), np.random.default_rng(0)
    queries = np.asarray(base.vectors_on_disk[:6], dtype=np.float32)
    few = rng.random(len(base)) < 0.2
    near = find_similar(queries, base.vectors_on_disk, 50, index=index, exclude=few)
    assert not few[near].any()
    most = rng.random(len(base)) < 0.95
    near = find_similar(queries, base.vectors_on_disk, 50, index=index, exclude=most)
    np.testing.assert_array_equal(near, find_similar(queries, base.vectors_on_disk, 50, exclude=most))


def test_candidates_are_ordered_by_their_cosines_whatever_the_index_gives():
    rng = np.random.default_rng(1)
    vectors = rng.integers(-2, 3, size=(60, 3)).astype(np.float32)  # exact products, many ties
    queries = vectors[:5]

    def shuffled(asked, count):
        return np.stack([rng.permutation(60)[:count] if count < 60 else rng.permutation(60) for _ in asked])

    everything = find_similar(queries, vectors, 40, index=shuffled)
    np.testing.assert_array_equal(everything, find_similar(queries, vectors, 40))
    assert (find_similar(queries, vectors, 70, index=shuffled)[:, 60:] == -1).all()


def test_additions_are_made_once(tmp_path):
    base = small_base(tmp_path / "kb", documents=20, paragraphs=40, questions=0)
    first = build_index(base, rng=np.random.default_rng(0))
    info = add_documents(tmp_path / "kb", more(300), **ADD)
    assert (info.paragraphs, info.duplicates, info.added) == (1100, 0, ("more",))
    grown = open_base(tmp_path / "kb")
    with pytest.raises(InputError, match="covers 800 of 1,100"):
        open_index(grown)
    second = build_index(grown, rng=np.random.default_rng(0))
    assert (first.rows, second.rows, second.trained_rows) == (800, 1100, 800)
    assert rows_held(grown) == Counter(range(1100))
    # once more: the same texts and the same vectors are not added again
    assert add_documents(tmp_path / "kb", more(300), **ADD).paragraphs == 1100
    assert build_index(open_base(tmp_path / "kb"), rng=np.random.default_rng(0)) == second
    assert rows_held(grown) == Counter(range(1100))
    query = np.asarray(grown.vectors_on_disk[[1000]], dtype=np.float32)
    assert set(find_similar(query, grown.vectors_on_disk, 20, index=open_index(grown))[0]) & set(range(800, 1100))
    # a base that has doubled is partitioned anew
    add_documents(tmp_path / "kb", more(900, first=300), **ADD)
    third = build_index(open_base(tmp_path / "kb"), rng=np.random.default_rng(0))
    assert (third.rows, third.trained_rows, third.partitions) == (2000, 2000, 45)


def test_a_build_that_was_killed_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(_lance, "COMMITTED_ROWS", 100)
    base = small_base(tmp_path / "kb", questions=0)

    def stop(line):
        if line.startswith("200 of"):
            raise Killed

    with pytest.raises(Killed):
        build_index(base, rng=np.random.default_rng(0), watch=stop)
    told = []
    build_index(base, rng=np.random.default_rng(0), watch=told.append)
    assert told[0] == "240 of 240 vectors"
    assert rows_held(base) == Counter(range(240))


def test_an_addition_that_was_killed_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(_base, "SHARD_PARAGRAPHS", 50)
    monkeypatch.setattr(_prepare_documents, "BLOCK_CHARACTERS", 1)
    small_base(tmp_path / "kb", questions=0)
    extra = list(small_documents(documents=20, questions=0))

    def broken():
        yield from extra[:16]
        raise Killed

    with pytest.raises(Killed):
        add_documents(tmp_path / "kb", broken(), **ADD)
    with (tmp_path / "kb" / "paragraphs.f16").open("ab") as handle:
        handle.write(b"torn")
    assert len(open_base(tmp_path / "kb").vectors) == len(open_base(tmp_path / "kb"))
    add_documents(tmp_path / "kb", extra, **ADD)
    whole = small_base(tmp_path / "whole", documents=20, questions=0)
    found = open_base(tmp_path / "kb")
    assert (tmp_path / "kb" / "paragraphs.f16").read_bytes() == (tmp_path / "whole" / "paragraphs.f16").read_bytes()
    assert found.paragraphs(range(400)) == whole.paragraphs(range(400))
    assert found.titles() == whole.titles()


def test_an_index_of_other_vectors_is_refused(tmp_path):
    base = small_base(tmp_path / "kb", questions=0)
    store = str(tmp_path / "elsewhere")
    build_index(base, url=store, rng=np.random.default_rng(0))
    path = tmp_path / "kb" / "base.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"embedding": "another"}))
    for use in (open_index, lambda b: build_index(b, rng=np.random.default_rng(0))):
        with pytest.raises(InputError, match=r"holds vectors of by hand .*of another .*cannot be compared"):
            use(open_base(tmp_path / "kb"))
    info = write_base(tmp_path / "b2", more(240), name="two", embedding="by hand", vectors=vectors_of, dim=DIM)
    other = open_base(tmp_path / "b2")
    assert info.paragraphs == len(base)
    with pytest.raises(InputError, match="another base"):
        build_index(other, url=store, rng=np.random.default_rng(0))
    assert build_index(other, url=store, rebuild=True, rng=np.random.default_rng(0)).rows == 240
    assert rows_held(other) == Counter(range(240))


def simulated_store(monkeypatch, address):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "simulated")
    monkeypatch.setenv("AWS_REGION", "nowhere")
    monkeypatch.setenv("AWS_ENDPOINT", address)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")


@pytest.mark.slow
def test_an_index_in_an_object_store_is_made_added_to_and_searched(tmp_path, monkeypatch):
    base = small_base(tmp_path / "kb", questions=0)
    with ObjectStore() as store:
        simulated_store(monkeypatch, store.url)
        build_index(base, url="s3://bucket/kb", rng=np.random.default_rng(0))
        assert store.objects
        assert not (tmp_path / "kb" / "index.lance").exists()
        add_documents(tmp_path / "kb", more(100), **ADD)
        grown = open_base(tmp_path / "kb")
        info = build_index(grown, rng=np.random.default_rng(0))
        assert (info.url, info.rows) == ("s3://bucket/kb", 340)
        assert rows_held(grown) == Counter(range(340))
        queries = np.asarray(grown.vectors_on_disk[:5], dtype=np.float32)
        near = find_similar(queries, grown.vectors_on_disk, 10, index=open_index(grown))
        np.testing.assert_array_equal(near[:, 0], find_similar(queries, grown.vectors_on_disk, 1)[:, 0])


@pytest.mark.slow
def test_a_store_that_does_not_answer_is_one_line(tmp_path, monkeypatch):
    base = small_base(tmp_path / "kb", questions=0)
    simulated_store(monkeypatch, "http://127.0.0.1:9")  # nothing listens there
    with pytest.raises(StorageError, match="AWS_ACCESS_KEY_ID") as failed:
        build_index(base, url="s3://bucket/kb", rng=np.random.default_rng(0))
    assert "\n" not in str(failed.value)
    assert ".rs" not in str(failed.value)  # no place in LanceDB's own source
    assert read_index_info(base) is None


def test_a_base_can_be_moved_with_its_index(tmp_path):
    info = build_index(small_base(tmp_path / "kb", questions=0), rng=np.random.default_rng(0))
    (tmp_path / "kb").rename(tmp_path / "moved")
    assert open_index(open_base(tmp_path / "moved")).info == info


def test_without_lancedb_the_extra_is_named(tmp_path, monkeypatch):
    base = small_base(tmp_path / "kb", questions=0)
    monkeypatch.setattr(_lance, "find_spec", lambda name: None)
    with pytest.raises(MissingPart, match=r"richter\[lance\]"):
        build_index(base, rng=np.random.default_rng(0))


def test_a_base_that_outgrows_memory_is_searched_by_its_index(tmp_path, monkeypatch):
    base = small_base(tmp_path / "kb", questions=0)
    assert usual_retrieval(base) == "two-level"
    build_index(base, rng=np.random.default_rng(0))
    assert usual_retrieval(base) == "two-level"
    monkeypatch.setattr(_base, "RESIDENT_BYTES", 1000)
    assert usual_retrieval(base) == "index"


def call(*args):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in args])
    return stop.value.code


def test_index_add_and_show_commands(tmp_path, capsys):
    pytest.importorskip("wordllama")
    lines = [json.dumps({"text": f"Fact {i} is about {i % 7} cats.", "title": f"T{i // 20}"}) for i in range(600)]
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:400]))
    (tmp_path / "b.jsonl").write_text("\n".join(lines[300:]))
    base = tmp_path / "kb"
    assert call("search", "--only", "base", tmp_path / "a.jsonl", "-o", base) == 0
    assert call("search", "--only", "index", base, "--at", "ftp://somewhere") == 1
    assert call("search", "--only", "index", base) == 0
    text = capsys.readouterr().out
    assert "of the exact 50 nearest" in text
    assert "400 vectors in 20 partitions" in text
    assert call("search", "--only", "base", base, tmp_path / "b.jsonl") == 0
    assert "Added 200 paragraphs." in capsys.readouterr().out
    assert call("search", "--only", "base", base, "--json", "-") == 0
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["paragraphs"], found["added"], found["index"]["rows"]) == (600, ["b.jsonl"], 600)
    assert found["index"]["recall"][0]["k"] == 50
    assert "The disk index finds" in shown.err
