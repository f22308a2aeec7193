"""Neighbours in a base beyond memory: an index on disk or in an object store, kept by LanceDB (extra `lance`).

The table holds each paragraph's row number and vector; its name for the base, the embedding and a hash of the first
vectors travel in its schema, so that an index is recognised wherever it lies. `index.json` in the base's folder says
where that is and how much of the exact neighbours it was measured to find.
"""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from richter.errors import InputError, MissingPart, StorageError
from richter.records import Interval, Result, printable
from richter.stats import wilson
from richter.store import write_file
from richter_audit.knowledge._base import KnowledgeBase
from richter_audit.knowledge._retrieve import SPARE, Recall, Retrieval, nearest_of
from richter_audit.knowledge._topk import top_k

__all__ = ["DiskIndex", "IndexInfo", "build_index", "open_index", "read_index_info", "usual_retrieval"]

INFO_NAME = "index.json"
FOLDER = "index.lance"  # inside the base, unless the index is to lie elsewhere
TABLE = "paragraphs"
KIND = "IVF_SQ"  # a byte a dimension: against IVF_PQ the recall that memory can pay for, against HNSW a short build
COMMITTED_ROWS = 500_000  # of one addition: what a build that is stopped loses at most
BATCH_ROWS = 50_000
CACHE_BYTES = 2**30  # index parts that LanceDB may hold; its own default is several times that
QUERIES = 100  # that choose the number of partitions read; as many others measure the recall
QUERIES_AT_ONCE = 200
MEASURED = (50, 200)  # neighbours: the paper's number, and what a search keeps for later steps
TARGET = 0.97
RETRAIN = 2  # times the rows at the last training
SAMPLED, ITERATIONS = 64, 20  # vectors a partition that it is learnt from, rounds: a tenth of LanceDB's own effort
FINGERPRINT_ROWS = 1000
REMOTE = {"connect_timeout": "5s", "timeout": "60s", "client_max_retries": "2", "client_retry_timeout": "20"}
HINTS = {
    "s3": "the credentials (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION or AWS_ENDPOINT)",
    "gs": "the credentials (GOOGLE_SERVICE_ACCOUNT)",
    "az": "the credentials (AZURE_STORAGE_ACCOUNT_NAME, AZURE_STORAGE_ACCOUNT_KEY)",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo(Result):
    """Where a base's index lies, what it covers, and how much of the exact neighbours it finds."""

    url: str
    embedding: str
    dim: int
    rows: int
    trained_rows: int
    partitions: int
    probes: int  # partitions read for a query
    recall: tuple[Recall, ...]
    kind: str = KIND

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "IndexInfo":
        """The inverse of `to_dict`."""
        recall = tuple(Recall(**(r | {"interval": Interval(**r["interval"])})) for r in row["recall"])
        return cls(**(dict(row) | {"recall": recall}))

    def sentence(self) -> str:
        """What the index finds, for people."""
        facts = ", ".join(
            f"{r.recall:.1%} of the exact {r.k} nearest ({r.interval.low:.1%} to {r.interval.high:.1%})"
            for r in self.recall
        )
        queries = max((r.queries for r in self.recall), default=0)
        return f"The disk index finds {facts}, measured on {queries} random paragraphs."


@dataclasses.dataclass(frozen=True, kw_only=True)
class DiskIndex:
    """An open index. Calling it gives candidates: the rows nearest by its rounded vectors, -1 where there are fewer."""

    table: Any
    info: IndexInfo

    def __call__(self, queries: NDArray[np.float32], count: int) -> NDArray[np.int64]:
        """For each query up to `count` rows; the rounding may put them in another order than their cosines."""
        return _candidates(self.table, self.info.url, queries, count, self.info.probes)


def _index_command(base: KnowledgeBase) -> str:
    """The command that makes the index."""
    return f"richter search --only index {quote(str(base.folder))}"


def build_index(
    base: KnowledgeBase,
    *,
    url: str | None = None,
    target: float = TARGET,
    rebuild: bool = False,
    rng: np.random.Generator,
    watch: Callable[[str], None] | None = None,
) -> IndexInfo:
    """Index a base, or bring its index up to date: rows that the index already holds are not added again.

    `url` is a folder, or an address of an object store (s3://, gs://, az://) that LanceDB reaches with the
    environment's credentials; without it the index stays where it is, or is made inside the base. Partitions are
    learnt anew when the base has doubled since. As many of them are read for a query as 100 random paragraphs need
    to find `target` of their exact 200 nearest; the recall that is kept is measured on 100 others.
    """
    if not 0 < target < 1:
        raise InputError(f"A recall of {target} cannot be aimed at.", remedy="Use a share between 0 and 1.")
    tell = watch or (lambda _: None)
    known = read_index_info(base)
    given = str(Path(url).resolve()) if url and "://" not in url else url
    address = given or (known.url if known else FOLDER)
    where, known = _place(base, address), known if known and known.url == address else None
    with _translate_errors(where):
        table = _open_table(base, where, make=True, rebuild=rebuild)
        held = table.count_rows()
        _check_rows(base, where, held)
        for start in range(held, len(base), COMMITTED_ROWS):
            stop = min(start + COMMITTED_ROWS, len(base))
            table.add(_reader(base, start, stop))
            tell(f"{stop:,} of {len(base):,} vectors")
        trained = known.trained_rows if known and not rebuild else held
        partitions = max(1, round(math.sqrt(len(base))))
        if not table.list_indices() or len(base) > RETRAIN * trained:
            tell(f"learning {partitions:,} partitions")
            _train(table, partitions)
            trained = len(base)
        else:
            partitions = known.partitions if known else max(1, round(math.sqrt(trained)))
            if held < len(base):
                table.optimize()
        _check_rows(base, where, table.count_rows())
    tell("measuring the recall")
    probes, recall = _measure(base, table, where, partitions, target, rng)
    info = IndexInfo(
        url=address,
        embedding=base.info.embedding,
        dim=base.info.dim,
        rows=len(base),
        trained_rows=trained,
        partitions=partitions,
        probes=probes,
        recall=recall,
    )
    write_file(base.folder / INFO_NAME, json.dumps(info.to_dict(), indent=2, sort_keys=True) + "\n")
    return info


def read_index_info(base: KnowledgeBase) -> IndexInfo | None:
    """What is known of a base's index without opening it; None where it has none."""
    path = base.folder / INFO_NAME
    if not path.exists():
        return None
    try:
        return IndexInfo.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} is damaged.", remedy="Delete it and run `richter search --only index` again."
        ) from error


def usual_retrieval(base: KnowledgeBase) -> Retrieval:
    """By the index where the base outgrows memory and has one, else in two levels, as the paper has it."""
    return "index" if not base.fits_memory and read_index_info(base) is not None else "two-level"


def open_index(base: KnowledgeBase) -> DiskIndex:
    """The base's index, once it is known to be of these very vectors and of all of them."""
    info = read_index_info(base)
    if info is None:
        raise InputError(f"{base.folder} has no index.", remedy=f"Make one: {_index_command(base)}.")
    where = _place(base, info.url)
    _check_embedding(base, where, info.embedding, info.dim)
    with _translate_errors(where):
        table = _open_table(base, where)
        rows = table.count_rows()
    if rows != len(base) or info.rows != len(base):
        raise InputError(
            f"The index at {printable(where)} covers {min(rows, info.rows):,} of {len(base):,} paragraphs.",
            remedy=f"Bring it up to date: {_index_command(base)}.",
        )
    return DiskIndex(table=table, info=info)


def _place(base: KnowledgeBase, url: str) -> str:
    """An address as it is; a folder from where the base lies now, so that a base can be moved with its index."""
    return url if "://" in url else str(base.folder.resolve() / url)


# -- the table -----------------------------------------------------------------------------------------------


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    """LanceDB's errors in one line with what can be done."""
    try:
        yield
    except (RuntimeError, OSError, ValueError) as error:
        scheme, _, rest = url.partition("://")
        check = f"the address, {HINTS.get(scheme, 'the credentials')} and the network" if rest else "room and rights"
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        reason = printable(re.sub(r",? *\S+\.rs:[\d:]*", "", first), limit=160)  # without places in LanceDB's source
        raise StorageError(
            f"The index at {printable(url)} cannot be read or written: {reason.rstrip('.')}.", remedy=f"Check {check}."
        ) from error


def _open_table(base: KnowledgeBase, url: str, *, make: bool = False, rebuild: bool = False) -> Any:
    if find_spec("lancedb") is None:
        raise MissingPart(
            "The package lancedb, which keeps indexes on disk, is not installed.",
            remedy="Install it: pip install 'richter[lance]'.",
        )
    import lancedb

    session = lancedb.Session(index_cache_size_bytes=CACHE_BYTES, metadata_cache_size_bytes=2**27)
    database = lancedb.connect(url, session=session, storage_options=REMOTE if "://" in url else None)
    there = TABLE in database.list_tables().tables
    if there and rebuild:
        database.drop_table(TABLE)
        there = False
    if not there and make:
        return database.create_table(TABLE, schema=_schema(base))
    if not there:
        raise InputError(
            f"There is no index at {printable(url)} any more.",
            remedy=f"Make it again: {_index_command(base)}.",
        )
    table = database.open_table(TABLE)
    _check_identity(base, url, {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()})
    return table


def _schema(base: KnowledgeBase) -> Any:
    import pyarrow as pa

    rows = min(len(base), FINGERPRINT_ROWS)
    about = {
        "richter.embedding": base.info.embedding,
        "richter.dim": str(base.info.dim),
        "richter.first": f"{rows} {_fingerprint(base, rows)}",
    }
    # float32: without half-precision arithmetic in the processor an index of float16 takes five times as long to learn
    return pa.schema([("row", pa.int64()), ("vector", pa.list_(pa.float32(), base.info.dim))], metadata=about)


def _fingerprint(base: KnowledgeBase, rows: int) -> str:
    return hashlib.blake2b(np.ascontiguousarray(base.vectors_on_disk[:rows]).tobytes(), digest_size=16).hexdigest()


def _check_embedding(base: KnowledgeBase, url: str, embedding: str | None, dim: int) -> None:
    if embedding != base.info.embedding or dim != base.info.dim:
        raise InputError(
            f"The index at {printable(url)} holds vectors of {printable(str(embedding))} ({dim} dimensions), the base "
            f"{base.folder} those of {base.info.embedding} ({base.info.dim}): they cannot be compared.",
            remedy=f"Make it again: {_index_command(base)} --rebuild.",
        )


def _check_identity(base: KnowledgeBase, url: str, about: Mapping[str, str]) -> None:
    """Refuse a table of other vectors. A base only grows at its end, so that its first vectors name it for good."""
    _check_embedding(base, url, about.get("richter.embedding"), int(about.get("richter.dim", 0)))
    rows, _, first = about["richter.first"].partition(" ")
    if int(rows) > len(base) or _fingerprint(base, int(rows)) != first:
        raise InputError(
            f"The index at {printable(url)} is of another base than {base.folder}: their first vectors differ.",
            remedy="Give another address with --at, or replace it with --rebuild.",
        )


def _check_rows(base: KnowledgeBase, url: str, rows: int) -> None:
    if rows > len(base):
        raise InputError(
            f"The index at {printable(url)} holds {rows:,} vectors, the base {base.folder} only {len(base):,}: two "
            "processes added to it at once, or the base is an older copy.",
            remedy=f"Make it again: {_index_command(base)} --rebuild.",
        )


def _train(table: Any, partitions: int) -> None:
    from lancedb.index import IvfSq

    settings = IvfSq(distance_type="l2", num_partitions=partitions, sample_rate=SAMPLED, max_iterations=ITERATIONS)
    table.create_index("vector", config=settings, replace=True)


def _reader(base: KnowledgeBase, start: int, stop: int) -> Any:
    import pyarrow as pa

    schema = _schema(base)

    def batches() -> Iterator[Any]:
        for first in range(start, stop, BATCH_ROWS):
            block = np.array(base.vectors_on_disk[first : min(first + BATCH_ROWS, stop)], dtype=np.float32)
            rows = pa.array(np.arange(first, first + len(block), dtype=np.int64))
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), base.info.dim)
            yield pa.record_batch([rows, vectors], schema=schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


# -- searching and measuring -----------------------------------------------------------------------------------


def _candidates(table: Any, url: str, queries: NDArray[np.float32], count: int, probes: int) -> NDArray[np.int64]:
    places = np.full((len(queries), count), -1, dtype=np.int64)
    with _translate_errors(url):
        for start in range(0, len(queries), QUERIES_AT_ONCE):
            some = np.ascontiguousarray(queries[start : start + QUERIES_AT_ONCE], dtype=np.float32)
            asked = table.search(list(some) if len(some) > 1 else some[0]).distance_type("l2")
            answer = asked.nprobes(probes).limit(count).select(["row", "_distance"]).to_arrow()
            rows = answer["row"].to_numpy()
            of = answer["query_index"].to_numpy() if len(some) > 1 else np.zeros(len(rows), dtype=np.int64)
            for q in range(len(some)):
                own = rows[of == q]
                places[start + q, : len(own)] = own
    return places


def _measure(
    base: KnowledgeBase, table: Any, url: str, partitions: int, target: float, rng: np.random.Generator
) -> tuple[int, tuple[Recall, ...]]:
    """The fewest partitions, to a quarter, that reach the target, and the recall on queries not used for that."""
    drawn = rng.permutation(len(base))[: 2 * QUERIES]
    widest = min(max(MEASURED), len(base) - 1)
    if widest < 1:
        return partitions, ()
    vectors = np.asarray(base.vectors_on_disk[drawn], dtype=np.float32)
    exact = _others(top_k(vectors, base.vectors_on_disk, widest + 1)[0], drawn)
    chooses, tells = slice(0, len(drawn), 2), slice(1, len(drawn), 2)

    def shares(part: slice, probes: int, k: int) -> NDArray[np.float64]:
        """Of the index alone: exact search, where candidates run short, would hide what it misses."""
        given = _candidates(table, url, vectors[part], SPARE * (k + 1), probes)
        shares_found = []
        for row, query, rows, wanted in zip(drawn[part], vectors[part], given, exact[part], strict=True):
            near = nearest_of(query, base.vectors_on_disk, rows[(rows >= 0) & (rows != row)], k)
            shares_found.append(len(np.intersect1d(near, wanted[:k])) / k)
        return np.asarray(shares_found)

    probes = min(partitions, 4)
    while probes < partitions and shares(chooses, probes, widest).mean() < target:
        probes = min(math.ceil(1.25 * probes), partitions)
    sizes = dict.fromkeys(min(k, widest) for k in MEASURED)
    return probes, tuple(_recall(k, shares(tells, probes, k)) for k in sizes)


def _others(places: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each query's neighbours without itself (or, where ties pushed it out, without the last)."""
    width = places.shape[1] - 1
    return np.stack([line[line != row][:width] for line, row in zip(places, rows, strict=True)])


def _recall(k: int, shares: NDArray[np.float64]) -> Recall:
    """With Wilson's interval on the effective number of queries n p (1 - p) / s^2: a recall of 1 keeps a width."""
    n, p = len(shares), float(shares.mean())
    effect = max(float(shares.var(ddof=1)) / (p * (1 - p)), 1 / n) if 0 < p < 1 and n > 1 else 1.0
    return Recall(k=k, recall=p, queries=n, interval=wilson(p * n / effect, n / effect))
