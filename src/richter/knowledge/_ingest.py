"""Documents from files: JSONL, Parquet, folders of text, and MediaWiki dumps, streamed."""

import bz2
import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import nsmallest
from importlib import import_module
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import polars as pl

from richter.errors import InputError, MissingPart
from richter.records import Document, Paragraph, Question

__all__ = ["Documents", "read_documents"]

T = TypeVar("T")
Titled = tuple[str, list[Mapping[str, Any]]]  # rows under one title
TEXT_SUFFIXES = (".txt", ".md")
SHORTEST = 40  # characters: what is shorter in a dump is a caption, a list mark or a leftover of markup
ABSTRACT_CHARACTERS = 600
LONGEST_ELEMENT = 1 << 23  # bytes of one element of a dump, or one line: MediaWiki's own limit on a page is 2 MB
PIECE = 20_000  # characters of markup that are parsed together
PAIRS = (("{{", "}}"), ("[[", "]]"), ("{|", "|}"), ("<", ">"), ("<ref", "</"), ("<div", "</"))
MOST_OPEN = 30
ARTICLE_S = 4.0  # of CPU that an article may take; a long honest one takes one
MOST_ELEMENTS = 1_000_000  # of one page
DEEPEST = 50


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Documents(Generic[T]):
    """Documents one at a time, each read from a raw piece of its source, so that the slow part can be done elsewhere.

    `parse` is a function that can be sent to another process, `size` the characters of text in a piece, roughly.
    """

    pieces: Iterator[T]
    parse: Callable[[T], Document]
    size: Callable[[T], int]

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
    title are a document), `category`, `abstract`, and `qas` (a list of `q` and `a`, the answers people gave). A folder:
    each .txt or .md file is a document, its paragraphs parted by empty lines, its category the folder it lies in. A
    MediaWiki dump (.xml, .xml.bz2): each article is a document; redirects and other name spaces are left out.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"{source} does not exist.", remedy="Give a JSONL, Parquet or MediaWiki file, or a folder.")
    if source.is_dir():
        return Documents(pieces=_files(source), parse=_file, size=_last)
    name = source.name.lower()
    if name.endswith((".jsonl", ".ndjson")):
        return Documents(pieces=_grouped(_json_lines(source), source), parse=_titled, size=_row_characters)
    if name.endswith(".parquet"):
        return Documents(pieces=_grouped(_parquet(source), source), parse=_titled, size=_row_characters)
    if name.endswith((".xml", ".xml.bz2")):
        _part("mwparserfromhell")
        return Documents(pieces=_pages(source), parse=_article, size=_last)
    raise InputError(
        f"{source} is of no kind that can be read.", remedy="Give .jsonl, .parquet, .xml, .xml.bz2 or a folder."
    )


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
        frame = pl.scan_parquet(path)
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


def _grouped(rows: Iterable[Mapping[str, Any]], path: Path) -> Iterator[Titled]:
    for title, group in groupby(rows, key=lambda row: str(row.get("title") or path.stem)):
        yield title, list(group)


def _row_characters(piece: Titled) -> int:
    return sum(len(row["text"]) for row in piece[1])


def _titled(piece: Titled) -> Document:
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
                questions=tuple(_written(q, answers, everything) for q, answers in asked),
            )
            for row, asked in zip(own, pairs, strict=True)
        ),
    )


def _pairs(qas: Any) -> list[tuple[str, list[str]]]:
    """Questions with at least one answer, as people wrote them."""
    found = []
    for qa in qas if isinstance(qas, list) else ():
        if not isinstance(qa, Mapping):
            continue
        question, answers = qa.get("q") or qa.get("question"), qa.get("a") or qa.get("answers") or qa.get("answer")
        answers = [answers] if isinstance(answers, str) else list(answers) if isinstance(answers, list) else []
        if isinstance(question, str) and question.strip() and answers and str(answers[0]).strip():
            found.append((question.strip(), [str(a).strip() for a in answers if str(a).strip()]))
    return found


def _written(question: str, answers: list[str], everything: Mapping[str, str]) -> Question:
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


def _files(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Of each file its title, category and text."""
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in TEXT_SUFFIXES and p.is_file())
    if not files:
        raise InputError(f"{folder} holds no .txt or .md file.", remedy="Give a folder with text files.")
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise InputError(f"{file} is not UTF-8 text: {error.reason}.", remedy="Convert or remove it.") from error
        yield file.stem.replace("_", " "), file.parent.name if file.parent != folder else folder.name, text


def _last(piece: tuple[str, ...]) -> int:
    return len(piece[-1])


def _file(piece: tuple[str, str, str]) -> Document:
    title, category, text = piece
    paragraphs = [" ".join(p.split()) for p in text.replace("\r\n", "\n").split("\n\n")]
    paragraphs = [p for p in paragraphs if p]
    return Document(
        title=title,
        abstract=paragraphs[0][:ABSTRACT_CHARACTERS] if paragraphs else title,
        paragraphs=tuple(Paragraph(text=p, category=category) for p in paragraphs),
    )


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
        found: bytes = self._file.read(size)
        self.since += len(found)
        if self.since > LONGEST_ELEMENT:
            raise ValueError(f"one element has more than {LONGEST_ELEMENT >> 20} MB")
        return found


def _pages(path: Path) -> Iterator[tuple[str, str]]:
    """The articles of a dump as they were written: title and markup."""
    events = _part("defusedxml.ElementTree").iterparse  # a dump is somebody else's file: this refuses entity bombs
    with (bz2.open if path.suffix == ".bz2" else open)(path, "rb") as file:
        stream = _Bounded(file)
        page: dict[str, str] = {}
        root: Any = None
        kept = depth = 0
        try:
            for event, element in events(stream, events=("start", "end")):
                stream.since = 0
                tag = element.tag.rsplit("}", 1)[-1]
                if event == "start":
                    root = element if root is None else root
                    page = {} if tag == "page" else page
                    kept, depth = kept + 1, depth + 1
                    if kept > MOST_ELEMENTS or depth > DEEPEST:
                        raise ValueError("it nests or lists more than a dump does")
                    continue
                depth -= 1
                if tag == "page":
                    if page.get("ns") == "0" and "redirect" not in page:
                        yield page.get("title", ""), page.get("text", "")
                    root.clear()  # the pages read so far: a dump never lies in memory whole
                    kept = 0
                elif tag in ("title", "ns", "text", "redirect"):
                    page[tag] = element.text or ""
                    element.clear()
        except (SyntaxError, OSError, EOFError, ValueError) as error:
            raise InputError(f"{path} is not a whole MediaWiki dump: {error}.", remedy="Fetch it again.") from error


def _article(page: tuple[str, str]) -> Document:
    """An article's paragraphs without markup, each under the section it stands in; its lead is its abstract."""
    title, text = page
    names: list[str] = []
    found: list[tuple[str, str]] = []
    heading = ""
    for section in _sections(text, names):
        headings = section.filter_headings(recursive=False)
        heading = str(headings[0].title.strip_code()).strip() if headings else heading
        for node in headings:
            section.remove(node)
        for link in section.filter_wikilinks():
            if str(link.title).lower().startswith(("category:", "file:", "image:")):
                section.remove(link)
        for tag in section.filter_tags():
            if str(tag.tag).lower() in ("ref", "table", "gallery", "math"):
                _drop(section, tag)
        plain = section.strip_code(normalize=True, collapse=True)
        lines = (" ".join(p.split()) for p in plain.split("\n\n"))
        found += [(heading, p) for p in lines if len(p) >= SHORTEST]
    categories = [n.split(":", 1)[1].split("|")[0].strip() for n in names if n.lower().startswith("category:")]
    lead = [p for heading, p in found if not heading]
    return Document(
        title=title,
        abstract=(lead[0] if lead else found[0][1] if found else title)[:ABSTRACT_CHARACTERS],
        paragraphs=tuple(
            Paragraph(text=p, category=categories[0] if categories else "", attributes={"section": heading})
            for heading, p in found
        ),
    )


def _sections(text: str, names: list[str]) -> Iterator[Any]:
    """The parsed sections of an article, with the titles of its links added to `names`.

    The parser's time grows with the square of what is nested in its text, so a long article is parsed in pieces, cut
    before a heading or between paragraphs where there is one, and no further than it takes an honest one.
    """
    parse = _part("mwparserfromhell").parse
    at, until = 0, time.thread_time() + ARTICLE_S
    while at < len(text) and time.thread_time() < until:
        end = at + PIECE
        if end < len(text):
            cuts = (text.rfind("\n==", at + 1, end), text.rfind("\n\n", at + 1, end), text.rfind("\n", at + 1, end))
            end = next((cut for cut in cuts if cut > at + PIECE // 4), end)
        piece, at = text[at:end], end
        if any(piece.count(a) - piece.count(b) > MOST_OPEN for a, b in PAIRS):
            continue  # nothing that MediaWiki would show, and what the parser never ends with
        code = parse(piece)
        names += [str(link.title) for link in code.filter_wikilinks(recursive=False)]
        yield from code.get_sections(flat=True, include_lead=True)


def _drop(section: Any, tag: Any) -> None:
    """Remove a tag, unless one around it has gone already."""
    try:
        section.remove(tag)
    except ValueError:
        return
