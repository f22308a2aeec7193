"""Documents from files: folders of whatever people write in; JSONL, Parquet and MediaWiki dumps, streamed."""

import bz2
import dataclasses
import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nsmallest
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import polars as pl

from richter.errors import InputError, MissingPart
from richter.records import Document, Paragraph, Question, printable
from richter_audit.knowledge import _blocks, _markup
from richter_audit.knowledge._blocks import LARGEST_BYTES, PARSERS, Block
from richter_audit.knowledge._child_reader import read_limited
from richter_audit.knowledge._chunks import chunks

__all__ = ["Documents", "read_documents"]

T = TypeVar("T")
Titled = tuple[str, list[Mapping[str, Any]]]  # rows under one title
ABSTRACT_CHARACTERS = 600
LONGEST_ELEMENT = 1 << 23  # bytes of one element of a dump, or one line: MediaWiki's own limit on a page is 2 MB
MOST_ELEMENTS = 1_000_000  # of one page
DEEPEST = 50
_ARTICLES = {"read": 0, "given up": 0}  # of this process


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A part of a folder: a file's kind, its name in the folder, and its bytes, rows or article; kind "": why not."""

    kind: str
    name: str
    body: Any


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Documents(Generic[T]):
    """Documents one at a time, each read from a raw piece of its source, so that the slow part can be done elsewhere.

    `parse` is a function that can be sent to another process, `size` the characters of text in a piece, roughly.
    """

    pieces: Iterator[T]
    parse: Callable[[T], Document]
    size: Callable[[T], int]
    near: bool = False  # paragraphs that say nearly the same as an earlier one are left out

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Document:
        return self.parse(next(self.pieces))

    def first(self, count: int | None) -> Self:
        """Only so many of them; all with None."""
        return dataclasses.replace(self, pieces=islice(self.pieces, count))


def as_documents(documents: Iterable[Document]) -> Documents[Any]:
    """Documents that were made already are pieces themselves."""
    if isinstance(documents, Documents):
        return documents
    return Documents(pieces=iter(documents), parse=_same, size=_characters)


def _same(document: Document) -> Document:
    return document


def _characters(document: Document) -> int:
    return sum(len(p.text) for p in document.paragraphs)


def read_documents(path: str | Path) -> Documents[Any]:
    """The documents of a file or folder, one at a time, always in the same order.

    JSONL and Parquet: one paragraph a row with `text`, and optionally `title` (rows that follow each other under one
    title are a document), `category`, `abstract`, and `qas` (a list of `q` and `a`, the answers people gave). A
    MediaWiki dump (.xml, .xml.bz2): each article is a document; redirects and other name spaces are left out. Any other
    kind that `PARSERS` names: the file is a document, in paragraphs of 60 to 300 words with the title path, the file
    and the page they stand on. A folder: all of these in it; a file that cannot be read gives a document that says why.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"{source} does not exist.", remedy="Give a folder, or a file of a kind that is read.")
    if source.is_dir():
        return Documents(pieces=_files(source), parse=_read_piece, size=_piece_size, near=True)
    kind = _kind(source)
    if kind in STREAMED:
        return Documents(pieces=_streams(source, kind), parse=STREAMED[kind], size=SIZES[kind])
    if kind in PARSERS:
        one = Piece(kind=kind, name=source.name, body=source.read_bytes())
        document = _read_piece(one)
        if document.skipped:
            raise InputError(f"{source} cannot be read: {document.skipped}.", remedy="Give another file.")
        return Documents(pieces=iter([one]), parse=_read_piece, size=_piece_size, near=True)
    raise InputError(
        f"{source} is not a kind of file that Richter reads.",
        remedy=f"It reads {', '.join((*PARSERS, *STREAMED))}, and folders.",
    )


def _kind(path: Path) -> str:
    """How a file is read, by the end of its name; empty where it is not."""
    name = path.name.lower()
    return next((end for end in (*STREAMED, *PARSERS) if name.endswith(end)), "")


def _streams(path: Path, kind: str) -> Iterator[Any]:
    """The rows or articles of a file that may be larger than memory."""
    if kind in (".jsonl", ".ndjson"):
        return _group_by_title(_json_lines(path), path)
    if kind == ".parquet":
        return _group_by_title(_parquet(path), path)
    _part("mwparserfromhell")
    return _pages(path)


def _piece_size(piece: Piece) -> int:
    return SIZES[piece.kind](piece.body) if piece.kind in SIZES else len(piece.body)


def _json_lines(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open("rb") as lines:
        for number in itertools.count(1):
            line = lines.readline(LONGEST_ELEMENT)
            if not line:
                return
            if not line.strip():
                continue
            try:
                if len(line) == LONGEST_ELEMENT:
                    raise ValueError(f"it has more than {LONGEST_ELEMENT >> 20} MB")
                row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{path}, line {number} is not JSON: {str(error)[:200]}.", remedy="Mend the line."
                ) from error
            if not isinstance(row, dict) or not isinstance(row.get("text"), str):
                raise InputError(f"{path}, line {number} has no `text`.", remedy="Give each row a text.")
            yield row


def _parquet(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = frame.collect_schema().names()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{path} is not a Parquet file: {str(error)[:200]}.", remedy="Check the file.") from error
    if "text" not in columns:
        raise InputError(f"{path} has no column `text`.", remedy="Give each row a text.")
    if frame.collect_schema()["text"] != pl.String:
        raise InputError(f"{path}: its column `text` is not of text.", remedy="Give each row a text.")
    offset, step = 0, 10_000
    while True:
        try:
            rows = frame.slice(offset, step).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise InputError(
                f"{path} is damaged: {str(error)[:200]}.", remedy="Get it from its source again."
            ) from error
        if not len(rows):
            return
        for row in rows.iter_rows(named=True):
            yield row | {"text": row["text"] or ""}
        offset += step


def _group_by_title(rows: Iterable[Mapping[str, Any]], path: Path) -> Iterator[Titled]:
    for title, group in groupby(rows, key=lambda row: str(row.get("title") or path.stem)):
        yield title, list(group)


def _row_characters(piece: Titled) -> int:
    return sum(len(row["text"]) for row in piece[1])


def _rows_document(piece: Titled) -> Document:
    title, own = piece
    pairs = [_pairs(row.get("qas")) for row in own]
    everything = {answers[0]: answers[0].casefold() for row in pairs for _, answers in row}
    return Document(
        title=title.replace("_", " "),
        abstract=str(own[0].get("abstract") or own[0]["text"])[:ABSTRACT_CHARACTERS],
        paragraphs=tuple(
            Paragraph(
                text=row["text"],
                category=str(row.get("category") or title).replace("_", " "),
                questions=tuple(_written_question(q, answers, everything) for q, answers in asked),
            )
            for row, asked in zip(own, pairs, strict=True)
        ),
    )


def _pairs(qas: Any) -> list[tuple[str, list[str]]]:
    """Questions with at least one answer, as people wrote them."""
    rows = [qa for qa in qas if isinstance(qa, Mapping)] if isinstance(qas, list) else []
    return [pair for qa in rows if (pair := _pair(qa)) is not None]


def _pair(qa: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """A question and its answers, under the names that they have; None without both."""
    question, answers = qa.get("q") or qa.get("question"), qa.get("a") or qa.get("answers") or qa.get("answer")
    answers = [answers] if isinstance(answers, str) else list(answers) if isinstance(answers, list) else []
    if not isinstance(question, str) or not question.strip() or not answers or not str(answers[0]).strip():
        return None
    return question.strip(), [str(a).strip() for a in answers if str(a).strip()]


def _written_question(question: str, answers: list[str], everything: Mapping[str, str]) -> Question:
    """A question that somebody wrote; its wrong options are answers to other questions of the document.

    They are those most alike in form (figures with figures, capitals with capitals, about as long), so that the form
    does not give the answer away. Where the document has no three others, the question can only be asked openly.
    """
    right = {a.casefold() for a in answers}
    others = [a for a, folded in everything.items() if not any(folded in r or r in folded for r in right)]
    form, length = _form(answers[0]), len(answers[0])
    wrong = nsmallest(3, others, key=lambda a: (_form(a) != form, abs(len(a) - length), a))
    return Question(
        answer=answers[0],
        aliases=tuple(dict.fromkeys(answers[1:])),
        wordings=(question,),
        wrong=tuple(wrong) if len(wrong) == 3 else (),
    )


def _form(text: str) -> tuple[bool, bool]:
    return not text.isalpha() and any(ch.isdigit() for ch in text), text[:1].isupper()


def _files(folder: Path) -> Iterator[Piece]:
    """A piece for every file of a folder, in order: its bytes, its rows or articles, or why it is not read."""
    readable = 0
    for path in sorted(_below(folder)):
        name = path.relative_to(folder).as_posix()
        try:
            yield from _file_pieces(path, name)
        except (InputError, MissingPart) as error:  # of one file: the others are still read
            yield Piece(kind="", name=name, body=str(error))
        except OSError as error:
            yield Piece(kind="", name=name, body=f"cannot be read ({error.strerror})")
        readable += bool(_kind(path))
    if not readable:
        raise InputError(
            f"{folder} holds no file that Richter reads.", remedy=f"It reads {', '.join((*PARSERS, *STREAMED))}."
        )


def _file_pieces(path: Path, name: str) -> Iterator[Piece]:
    kind = _kind(path)
    if kind in STREAMED:
        yield from (Piece(kind=kind, name=name, body=body) for body in _streams(path, kind))
        return
    if not kind:
        raise InputError(f"not a kind that is read ({path.suffix.lower() or 'no suffix'})")
    if path.stat().st_size > LARGEST_BYTES:
        raise InputError(f"larger than {LARGEST_BYTES >> 20} MB")
    yield Piece(kind=kind, name=name, body=path.read_bytes())


def _below(folder: Path) -> Iterator[Path]:
    """The files below a folder; hidden ones and links are left alone."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place, name) for name in names if not name.startswith("."))
        yield from (path for path in paths if path.is_file() and not path.is_symlink())


def _read_piece(piece: Piece) -> Document:
    if not piece.kind:
        return Document(title=piece.name, abstract="", paragraphs=(), skipped=piece.body)
    if piece.kind in STREAMED:
        return dataclasses.replace(STREAMED[piece.kind](piece.body), kind=piece.kind)
    stem = Path(piece.name).stem.replace("_", " ")
    page = _parse_limited(piece.kind, piece.body)
    if "unreadable" in page:
        return Document(title=piece.name, abstract="", paragraphs=(), kind=piece.kind, skipped=page["unreadable"])
    blocks = [Block(*block) for block in page["blocks"]]
    title = page["title"] or (blocks[0].text if blocks[0].level == 1 else "") or stem
    folder = Path(piece.name).parent.as_posix()
    paragraphs = chunks(blocks)
    return Document(
        title=title,
        abstract=paragraphs[0][2][:ABSTRACT_CHARACTERS] if paragraphs else title,
        paragraphs=tuple(
            Paragraph(
                text=text,
                category=title if folder == "." else folder,
                attributes={
                    "section": " > ".join(path or (title,)),
                    "source": ", ".join(filter(None, (piece.name, at))),
                },
            )
            for path, at, text in paragraphs
        ),
        kind=piece.kind,
        left_out=Counter(page["left_out"]),
        skipped="" if paragraphs else "too short",
    )


def _parse_limited(kind: str, data: bytes) -> Mapping[str, Any]:
    """A document's title, blocks and what was left out, read by a child with limits; or why it is `unreadable`."""
    if len(data) > LARGEST_BYTES:
        return {"unreadable": f"larger than {LARGEST_BYTES >> 20} MB"}
    page = read_limited(
        _blocks.__file__,
        kind,
        data,
        folder=_folder("markdown_it"),
        seconds=_blocks.DOCUMENT_S + _blocks.BYTE_S * len(data),
        room=_blocks.ROOM + 4 * len(data),
    )
    return page or {"unreadable": _blocks.OVER}


def _folder(package: str) -> str:
    """Where a package lies that is installed."""
    spec = find_spec(package)
    return "" if spec is None or spec.origin is None else str(Path(spec.origin).parents[1])


def _last(piece: tuple[str, str]) -> int:
    return len(piece[-1])


def _part(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPart(
            f"MediaWiki dumps need the package {package.split('.')[0]}, which is not installed.",
            remedy="Run: pip install 'richter[wiki]'",
        ) from error


class _Bounded:
    """A stream of which no more than `LONGEST_ELEMENT` bytes are read without an element beginning or ending."""

    def __init__(self, file: Any) -> None:
        self._file, self.since = file, 0

    def read(self, size: int) -> bytes:
        data: bytes = self._file.read(size)
        self.since += len(data)
        if self.since > LONGEST_ELEMENT:
            raise ValueError(f"one element has more than {LONGEST_ELEMENT >> 20} MB")
        return data


def _pages(path: Path) -> Iterator[tuple[str, str]]:
    """The articles of a dump as they were written: title and markup."""
    with (bz2.open if path.suffix == ".bz2" else open)(path, "rb") as file:
        try:
            for page in _page_fields(_Bounded(file)):
                if page.get("ns") == "0" and "redirect" not in page:
                    yield page.get("title", ""), page.get("text", "")
        except (SyntaxError, OSError, EOFError, ValueError) as error:
            raise InputError(f"{path} is not a whole MediaWiki dump: {error}.", remedy="Fetch it again.") from error


def _page_fields(stream: _Bounded) -> Iterator[dict[str, str]]:
    """Of each page of a dump the texts of the elements that count."""
    events = _part("defusedxml.ElementTree").iterparse  # a dump is somebody else's file: this refuses entity bombs
    page: dict[str, str] = {}
    root: Any = None
    elements = depth = 0
    for event, element in events(stream, events=("start", "end")):
        stream.since = 0
        tag = element.tag.rsplit("}", 1)[-1]
        if event == "start":
            root = element if root is None else root
            page = {} if tag == "page" else page
            elements, depth = elements + 1, depth + 1
            if elements > MOST_ELEMENTS or depth > DEEPEST:
                raise ValueError("it nests or lists more than a dump does")
            continue
        depth -= 1
        if tag == "page":
            yield page
            root.clear()  # the pages read so far: a dump never lies in memory whole
            elements = 0
        elif tag in ("title", "ns", "text", "redirect"):
            page[tag] = element.text or ""
            element.clear()


def _article(page: tuple[str, str]) -> Document:
    """An article's paragraphs without markup, each under the section it stands in; its lead is its abstract.

    What cannot be read within its limits has one empty paragraph, which is dropped and counted like any.
    """
    title, text = page
    read = None
    if len(text) <= _markup.LONGEST:
        read = read_limited(
            _markup.__file__,
            "wiki",
            text.encode("utf-8", "surrogatepass"),
            folder=_folder("mwparserfromhell"),
            seconds=_markup.ARTICLE_S + _markup.CHARACTER_S * len(text),
            room=_markup.ROOM,
        )
    _ARTICLES["read" if read else "given up"] += 1
    if read is None:
        if _ARTICLES["given up"] > 1 + _ARTICLES["read"] / 100:
            raise InputError(
                f"{_ARTICLES['given up']:,} articles of the dump, {printable(title, limit=60)!r} the last, take more "
                "time or memory than an article does.",
                remedy="It was made to exhaust a machine, or is damaged: fetch it again.",
            )
        return Document(title=title, abstract=title, paragraphs=(Paragraph(text=""),))
    blocks, names = read
    paragraphs = chunks([Block(*block) for block in blocks])
    categories = [n.split(":", 1)[1].split("|")[0].strip() for n in names if n.lower().startswith("category:")]
    return Document(
        title=title,
        abstract=(paragraphs[0][2] if paragraphs else title)[:ABSTRACT_CHARACTERS],
        paragraphs=tuple(
            Paragraph(text=p, category=categories[0] if categories else "", attributes={"section": " > ".join(path)})
            for path, _, p in paragraphs
        ),
    )


STREAMED: dict[str, Callable[[Any], Document]] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".parquet"), _rows_document),
    **dict.fromkeys((".xml.bz2", ".xml"), _article),
}
SIZES: dict[str, Callable[[Any], int]] = {
    kind: _row_characters if parse is _rows_document else _last for kind, parse in STREAMED.items()
}
