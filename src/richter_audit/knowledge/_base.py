"""A knowledge base on disk: Parquet for texts, a memory-mapped matrix for vectors, written shard by shard."""

import dataclasses
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.engine import LocalEngine, RayEngine
from richter.errors import InputError, StorageError
from richter.records import Document, Paragraph, Question, Result
from richter.store import write_file
from richter.texts._embed import EMBEDDING, Embed, embed
from richter_audit.knowledge._chunks import NearCopies
from richter_audit.knowledge._ingest import as_documents
from richter_audit.knowledge._pipeline import prepared_blocks
from richter_audit.knowledge._prepare_documents import Prepared
from richter_audit.knowledge._stored_questions import StoredQuestion, append_stored, key_of, read_stored

__all__ = ["BaseInfo", "KnowledgeBase", "add_documents", "open_base", "write_base"]

DIM = 256
FORMAT = 1
SHARD_PARAGRAPHS = 20_000
RESIDENT_BYTES = 2 * 2**30  # vectors are held in memory as float32 up to this size, mapped from disk beyond
INFO_NAME = "base.json"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BaseInfo(Result):
    """What a base holds and what made it. `consumed` counts source documents, so that a build can go on."""

    name: str
    embedding: str
    dim: int = DIM
    documents: int = 0
    paragraphs: int = 0
    askable: int = 0  # paragraphs with at least one question
    duplicates: int = 0
    near_copies: int = 0
    empty: int = 0
    read: Mapping[str, int] = dataclasses.field(default_factory=dict)  # documents by kind
    left_out: Mapping[str, int] = dataclasses.field(default_factory=dict)  # what was no running text, by reason
    skipped: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)  # documents by the reason why
    shards: int = 0
    consumed: int = 0
    complete: bool = False
    sources: Mapping[str, str] = dataclasses.field(default_factory=dict)
    added: tuple[str, ...] = ()  # what was added after the base was finished
    format: int = FORMAT


def write_base(
    path: str | Path,
    documents: Iterable[Document],
    *,
    name: str,
    sources: Mapping[str, str] | None = None,
    embedding: str = EMBEDDING,
    vectors: Embed = embed,
    dim: int = DIM,
    engine: LocalEngine | RayEngine | None = None,
    watch: Callable[[BaseInfo], None] | None = None,
) -> BaseInfo:
    """Write documents as a base; the same call on an unfinished base goes on where it stopped.

    `documents` must come in the same order each time: the ones already taken in are skipped. A paragraph whose text
    (case and white space aside) is already there is dropped and counted, and so is an empty one; a document left
    without paragraphs is not kept. `vectors` turns texts into unit vectors of `dim` entries, and `embedding` names it.

    Documents are read and embedded in blocks, on the engine's machines; this process alone writes, in the order of the
    source, so that the engine changes no byte. After each shard what is done is on disk.
    """
    folder = Path(path)
    info = BaseInfo(name=name, embedding=embedding, dim=dim, sources=dict(sources or {}))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / INFO_NAME).exists():
            info = _continue(folder, info)
            if info.complete:
                return info
        info = _take_in(folder, info, documents, info.consumed, embedding, vectors, engine, watch)
        if not info.paragraphs:
            why = "; ".join(f"{len(names)} {reason}" for reason, names in info.skipped.items())
            raise InputError(
                f"There is no paragraph to keep{f' ({why})' if why else ''}.", remedy="Give a source with text in it."
            )
        info = dataclasses.replace(info, complete=True)
        _save(folder, info)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.",
            remedy="Make room and run the same command again, or choose another folder.",
        ) from error
    return info


def add_documents(
    path: str | Path,
    documents: Iterable[Document],
    *,
    source: str,
    embedding: str = EMBEDDING,
    vectors: Embed = embed,
    engine: LocalEngine | RayEngine | None = None,
    watch: Callable[[BaseInfo], None] | None = None,
) -> BaseInfo:
    """Add documents to the end of a finished base. `source` names them.

    Paragraphs that the base already holds are dropped and counted, so that adding the same twice adds nothing, and
    an addition that was stopped goes on when it is made again. Rows that were there keep their numbers.
    """
    folder = Path(path)
    info = open_base(folder, embedding=embedding).info
    added = info.added if source in info.added else (*info.added, source)

    def note(grown: BaseInfo) -> BaseInfo:
        return dataclasses.replace(grown, consumed=info.consumed, added=added)

    try:
        return _take_in(folder, info, documents, 0, embedding, vectors, engine, watch, note)
    except OSError as error:
        raise StorageError(
            f"{folder} cannot be written: {error.strerror}.", remedy="Make room and run the same command again."
        ) from error


def _take_in(
    folder: Path,
    info: BaseInfo,
    documents: Iterable[Document],
    known: int,
    embedding: str,
    vectors: Embed,
    engine: LocalEngine | RayEngine | None,
    watch: Callable[[BaseInfo], None] | None,
    note: Callable[[BaseInfo], BaseInfo] = lambda grown: grown,
) -> BaseInfo:
    """Write documents at the end of a base, but for the first `known`, shard by shard; `note` is what is kept of it."""
    _trim(folder, info)
    source, seen = as_documents(documents), _known_keys(folder, info)
    near = _near(folder, info) if source.near else None
    for _ in islice(source.pieces, known):
        pass
    blocks = prepared_blocks(source, embedding=embedding, vectors=vectors, engine=engine or LocalEngine(), known=seen)
    for shard in _shards(blocks):
        info = note(_write_shard(folder, info, shard, seen, near))
        _save(folder, info)
        if watch is not None:
            watch(info)
    return info


def _write(frame: pl.DataFrame, path: Path) -> None:
    """A shard's table. Through memory: where the disk is full polars raises an error of its own, and we an OSError.

    Not by `write_file`: a shard counts once `base.json`, which is written whole, names it; half a one is made anew.
    """
    packed = io.BytesIO()
    frame.rechunk().write_parquet(packed)
    path.write_bytes(packed.getvalue())


def _continue(folder: Path, wanted: BaseInfo) -> BaseInfo:
    base = _load(folder)
    for what in ("name", "embedding", "sources"):
        if getattr(base, what) != getattr(wanted, what):
            raise InputError(
                f"{folder} already holds a base with another {what}: {getattr(base, what)}.",
                remedy="Choose another folder, or delete it.",
            )
    return base


def _trim(folder: Path, info: BaseInfo) -> None:
    """Rows of a shard that was not finished go."""
    for file, rows in (("paragraphs.f16", info.paragraphs), ("abstracts.f16", info.documents)):
        with (folder / file).open("ab") as handle:
            handle.truncate(rows * info.dim * 2)


def _shards(blocks: Iterable[Prepared]) -> Iterator[list[Prepared]]:
    """Whole blocks up to the size of a shard."""
    shard, count = [], 0
    for block in blocks:
        shard.append(block)
        count += max(block.pieces, len(block.paragraphs))
        if count >= SHARD_PARAGRAPHS:
            yield shard
            shard, count = [], 0
    if shard:
        yield shard


def _texts(folder: Path, info: BaseInfo) -> Iterator[str]:
    return (t for i in range(info.shards) for t in pl.read_parquet(_file(folder, "paragraphs", i), glob=False)["text"])


def _known_keys(folder: Path, info: BaseInfo) -> set[int]:
    return {key_of(t) for t in _texts(folder, info)}


def _near(folder: Path, info: BaseInfo) -> NearCopies:
    copies = NearCopies()
    copies.learn(_texts(folder, info))
    return copies


def _file(folder: Path, kind: str, shard: int) -> Path:
    return folder / f"{kind}-{shard:05d}.parquet"


def _write_shard(
    folder: Path, info: BaseInfo, shard: Sequence[Prepared], seen: set[int], near: NearCopies | None
) -> BaseInfo:
    """Write what is new in a shard; `seen` and `near` grow by it."""
    fresh = [_fresh(block.paragraphs["key"].to_list(), seen) for block in shard]
    duplicates = sum(int(np.sum(~new)) for new in fresh)
    if near is not None:
        _drop_near_copies(shard, fresh, near)
    counts = [
        np.bincount(block.paragraphs["document"].to_numpy()[new], minlength=len(block.documents))
        for block, new in zip(shard, fresh, strict=True)
    ]
    count, new = np.concatenate(counts), np.concatenate(fresh)
    info = dataclasses.replace(
        info,
        duplicates=info.duplicates + duplicates,
        near_copies=info.near_copies + int(np.sum(~new)) - duplicates,
        read=sum((block.read for block in shard), Counter(info.read)),
        left_out=sum((block.left_out for block in shard), Counter(info.left_out)),
        skipped=_add_skipped(info.skipped, (pair for block in shard for pair in block.skipped)),
        empty=info.empty + sum(block.empty for block in shard),
        consumed=info.consumed + sum(block.pieces for block in shard),
    )
    if not new.any() and info.shards:
        return info
    count = count[count > 0]
    paragraphs = pl.concat([block.paragraphs for block in shard]).filter(new)
    number = np.repeat(np.arange(info.documents, info.documents + len(count), dtype=np.int32), count)
    _write(paragraphs.drop("key").with_columns(document=number), _file(folder, "paragraphs", info.shards))
    documents = pl.concat([b.documents.filter(c > 0) for b, c in zip(shard, counts, strict=True)])
    _write(documents.with_columns(paragraphs=count.astype(np.int32)), _file(folder, "documents", info.shards))
    _append(folder / "paragraphs.f16", [b.vectors[n] for b, n in zip(shard, fresh, strict=True) if n.any()], info)
    _append(folder / "abstracts.f16", [b.abstracts[c > 0] for b, c in zip(shard, counts, strict=True) if c.any()], info)
    return dataclasses.replace(
        info,
        documents=info.documents + len(count),
        paragraphs=info.paragraphs + len(paragraphs),
        askable=info.askable + int((paragraphs["asks"] > 0).sum()),
        shards=info.shards + 1,
    )


def _drop_near_copies(shard: Sequence[Prepared], fresh: Sequence[NDArray[np.bool_]], near: NearCopies) -> None:
    """Mark as not fresh what says nearly the same as an earlier paragraph."""
    for block, new in zip(shard, fresh, strict=True):
        for i in np.flatnonzero(new):
            new[i] = not near.is_copy(block.paragraphs["text"][int(i)])


def _add_skipped(before: Mapping[str, Sequence[str]], documents: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The names of the documents that were not read, by reason."""
    names = {reason: list(own) for reason, own in before.items()}
    for name, reason in documents:
        names.setdefault(reason, []).append(name)
    return names


def _fresh(keys: Sequence[int], seen: set[int]) -> NDArray[np.bool_]:
    """Which keys were not seen before; now they are."""
    fresh = np.zeros(len(keys), dtype=np.bool_)
    for i, key in enumerate(keys):
        if key not in seen:
            seen.add(key)
            fresh[i] = True
    return fresh


def _append(path: Path, blocks: Sequence[NDArray[np.float16]], info: BaseInfo) -> None:
    with path.open("ab") as handle:
        for rows in blocks:
            if rows.shape[1] != info.dim:
                raise InputError(
                    f"{info.embedding} gave vectors of {rows.shape[1]} dimensions, not {info.dim}.",
                    remedy="Use one embedding for the whole base.",
                )
            handle.write(rows.tobytes())


def _save(folder: Path, info: BaseInfo) -> None:
    text = json.dumps(info.to_dict(), indent=2, sort_keys=True) + "\n"
    write_file(folder / INFO_NAME, text, remedy="Make room and run the same command again.")


def _load(folder: Path) -> BaseInfo:
    try:
        row = json.loads((folder / INFO_NAME).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} is not a knowledge base: it holds no {INFO_NAME}.",
            remedy="Make one with `richter search --only base`.",
        ) from error
    except ValueError as error:
        raise InputError(f"{folder / INFO_NAME} is damaged.", remedy="Build the base again.") from error
    if row.get("format") != FORMAT:
        raise InputError(
            f"{folder} has the format {row.get('format')}; this Richter reads {FORMAT}.",
            remedy="Build the base again with this version.",
        )
    return BaseInfo(**(row | {"added": tuple(row.get("added", ()))}))


def open_base(path: str | Path, *, embedding: str | None = None) -> "KnowledgeBase":
    """Open a finished base; with `embedding`, only one whose vectors that model made."""
    folder = Path(path)
    info = _load(folder)
    if not info.complete:
        raise InputError(
            f"{folder} is not finished: {info.paragraphs} paragraphs so far.",
            remedy="Run the same `richter search --only base` again.",
        )
    if embedding is not None and embedding != info.embedding:
        raise InputError(
            f"{folder} was embedded with {info.embedding}, not {embedding}: their vectors cannot be compared.",
            remedy=f"Use {info.embedding}, or build the base again.",
        )
    return KnowledgeBase(folder=folder, info=info)


@dataclasses.dataclass(frozen=True, kw_only=True)
class KnowledgeBase:
    """A finished base. Paragraphs are known by their row number, documents by theirs.

    `lines` holds it to the first so many of the questions that were written for it since it was built.
    """

    folder: Path
    info: BaseInfo
    lines: int | None = None

    def __len__(self) -> int:
        return self.info.paragraphs

    def _map_file(self, file: str, rows: int) -> NDArray[np.float16]:
        path, dim = self.folder / file, self.info.dim
        if path.stat().st_size < rows * dim * 2:  # more is an addition that was stopped, or is under way
            raise InputError(f"{path} does not hold {rows} vectors of {dim}.", remedy="Build the base again.")
        return np.memmap(path, dtype=np.float16, mode="r", shape=(rows, dim))

    @property
    def fits_memory(self) -> bool:
        """Whether the paragraphs' vectors are held in memory, all of them."""
        return self.info.paragraphs * self.info.dim * 4 <= RESIDENT_BYTES

    @cached_property
    def vectors_on_disk(self) -> NDArray[np.float16]:
        """The paragraphs' unit vectors as they lie on disk."""
        return self._map_file("paragraphs.f16", self.info.paragraphs)

    @cached_property
    def vectors(self) -> NDArray[np.floating]:
        """The paragraphs' unit vectors: in memory as float32 where they fit, else mapped from disk."""
        return np.asarray(self.vectors_on_disk, dtype=np.float32) if self.fits_memory else self.vectors_on_disk

    @cached_property
    def abstracts(self) -> NDArray[np.floating]:
        """The documents' unit vectors, in memory where they fit."""
        mapped = self._map_file("abstracts.f16", self.info.documents)
        return mapped if mapped.size * 4 > RESIDENT_BYTES else np.asarray(mapped, dtype=np.float32)

    def _table(self, kind: str, *columns: str) -> pl.DataFrame:
        files = [_file(self.folder, kind, i) for i in range(self.info.shards)]
        return pl.read_parquet(files, columns=list(columns), glob=False)

    @cached_property
    def first_rows(self) -> NDArray[np.int64]:
        """For each document the row of its first paragraph, and the number of rows at the end."""
        counts = self._table("documents", "paragraphs")["paragraphs"].to_numpy()
        return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    @cached_property
    def categories(self) -> tuple[list[str], NDArray[np.int64]]:
        """The names of the categories and each paragraph's number among them."""
        column = self._table("paragraphs", "category")["category"]
        names, codes = np.unique(column.to_numpy().astype(str), return_inverse=True)
        return [str(name) for name in names], codes.astype(np.int64)

    @cached_property
    def askable(self) -> NDArray[np.bool_]:
        """Which paragraphs have a question, their own or one that was written for them as they stand."""
        has_question = np.asarray(self._table("paragraphs", "asks")["asks"].to_numpy() > 0).copy()
        written = [q for q in self.stored if not q.rejected]
        if written:
            texts = dict(self._rows([q.row for q in written], "text").iter_rows())
            has_question[[q.row for q in written if q.row in texts and q.fits(texts[q.row])]] = True
        return has_question

    @cached_property
    def stored(self) -> list[StoredQuestion]:
        """The questions that were written for it, rejected ones too."""
        return read_stored(self.folder, self.lines)

    @cached_property
    def _by_row(self) -> dict[int, list[StoredQuestion]]:
        questions: dict[int, list[StoredQuestion]] = {}
        for question in self.stored:
            questions.setdefault(question.row, []).append(question)
        return questions

    def question_writers(self, rows: Sequence[int]) -> dict[int, list[str | None]]:
        """The model that wrote each question of some paragraphs; None for those that came with the base."""
        writers: dict[int, list[str | None]] = {}
        for row, text, own in self._rows(rows, "text", "asks").iter_rows():
            written = (q.generator for q in self._by_row.get(row, ()) if not q.rejected and q.fits(text))
            writers[row] = [*[None] * own, *written]
        return writers

    def rejected_rows(self, generator: str, lines: int) -> list[int]:
        """The paragraphs without a question of which all that a generator wrote was rejected, by the first `lines`."""
        written = [q for q in self.stored[:lines] if q.row < len(self)]
        texts = dict(self._rows(sorted({q.row for q in written}), "text").iter_rows())
        fresh = [q for q in written if q.fits(texts[q.row])]
        usable = {q.row for q in fresh if not q.rejected}
        own = self._table("paragraphs", "asks")["asks"].to_numpy() > 0
        return sorted({q.row for q in fresh if q.generator == generator and not own[q.row]} - usable)

    def add_questions(self, questions: Sequence[StoredQuestion]) -> None:
        """Keep questions that were written for it, for every search to come."""
        append_stored(self.folder, questions)
        for question in questions:
            self.stored.append(question)
            own = self._by_row.setdefault(question.row, [])
            if question not in own:
                own.append(question)
            self.askable[question.row] |= not question.rejected

    def paragraphs(self, rows: Sequence[int]) -> list[Paragraph]:
        """Whole paragraphs by row number."""
        texts = self._rows(rows, "text", "category", "attributes", "questions")
        table = {row["row"]: row for row in texts.iter_rows(named=True)}
        return [_paragraph(table[int(row)], self._by_row.get(int(row), ())) for row in rows]

    def _rows(self, rows: Sequence[int], *columns: str) -> pl.DataFrame:
        frame = pl.scan_parquet([_file(self.folder, "paragraphs", i) for i in range(self.info.shards)], glob=False)
        wanted = pl.DataFrame({"row": list(rows)}, schema={"row": pl.UInt32})
        numbered = frame.select(columns).with_row_index("row")
        return numbered.join(wanted.lazy().unique(), on="row", how="semi").collect()

    def titles(self) -> list[str]:
        """The titles of the documents."""
        return self._table("documents", "title")["title"].to_list()

    def document_of(self, row: int) -> int:
        """The document that a paragraph belongs to."""
        return int(np.searchsorted(self.first_rows, row, side="right")) - 1


def _paragraph(row: Mapping[str, Any], stored: Sequence[StoredQuestion]) -> Paragraph:
    return Paragraph(
        text=row["text"],
        category=row["category"],
        attributes=json.loads(row["attributes"]),
        questions=(
            *(Question.from_dict(q) for q in json.loads(row["questions"])),
            *(q.question for q in stored if not q.rejected and q.fits(row["text"])),
        ),
    )
