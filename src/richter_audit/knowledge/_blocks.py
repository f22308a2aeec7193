"""A document's headings and texts, in order: Markdown, HTML, PDF, DOCX, reStructuredText and plain text.

Each parser is a maintained package of the extra `docs`, imported where a file of its kind is read (Markdown's comes
with Richter). What is no running text (code, tables, navigation, includes) is left out and counted. `_child_reader`
runs this file in a child process, alone: it imports no other.
"""

import dataclasses
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

LARGEST_BYTES = 50 * 2**20  # of one document; JSONL, Parquet and dumps are streamed and may have any size
UNPACKED = 200 * 2**20  # bytes of a DOCX: a zip can pack a thousand times as much
DEEPEST = 100  # elements around a text
MOST_PAGES = 5000
MOST_CHARACTERS = 20_000_000  # of text in one document: some fifty books
DOCUMENT_S, BYTE_S = 4.0, 1e-7  # of CPU that a document may take, and more for its size
ROOM = 1 << 28  # bytes of memory that its reading may take, besides the document
OVER = "takes more time or memory than a document of its size does"
_INCLUDE = re.compile(
    r"\s*(?:\{[!%{].*[!%}]\}|\.\. (?:include|literalinclude|toctree)::.*|-+8<-+.*|:::.*|!INCLUDE\b.*|@import\b.*"
    r"|\[!?(?:include|INCLUDE)\b.*|import .+ from ['\"].+['\"];?|<!--.*-->)\s*",
    re.DOTALL,
)
_FRONT_MATTER = re.compile(r"\A(?:---|\+\+\+)\s*\n.*?\n(?:---|\+\+\+|\.\.\.)\s*(?:\n|\Z)", re.DOTALL)
PROSE_WORDS = 40  # of a table's cell from which it is running text, and the table its layout
MOST_CELLS = 500  # of a table that are looked at for running text
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A heading of a level (from 1), or with level 0 a text; `place` is where it stands ("page 3")."""

    text: str
    level: int = 0
    place: str = ""


@dataclasses.dataclass(slots=True, kw_only=True)
class Page:
    """What was read of a document: its title where it states one, its blocks, and what was left out, by reason."""

    title: str = ""
    blocks: list[Block] = dataclasses.field(default_factory=list)
    left_out: Counter[str] = dataclasses.field(default_factory=Counter)
    characters: int = 0

    def add(self, text: str, level: int = 0, *, linked: int = 0, place: str = "") -> None:
        """Add a block unless it is no text; `linked` are the characters of it that stand in links."""
        plain = " ".join(text.split())
        if not plain:
            return
        if level == 0 and _INCLUDE.fullmatch(plain):
            self.left_out["includes"] += 1
        elif level == 0 and linked > 0.6 * len(plain):
            self.left_out["navigation"] += 1
        elif not _WORD.search(plain):
            self.left_out["without words"] += 1
        else:
            self.characters += len(plain)
            if self.characters > MOST_CHARACTERS:
                raise Unreadable(f"more than {MOST_CHARACTERS // 1_000_000} million characters of text")
            self.blocks.append(Block(plain, level, place))


class Unreadable(Exception):
    """Why a file cannot be read; the words go to the user."""


def parse_file(suffix: str, data: bytes) -> Page:
    """The blocks of a file; raises `Unreadable` with the reason where there is none to be had."""
    if len(data) > LARGEST_BYTES:
        raise Unreadable(f"larger than {LARGEST_BYTES >> 20} MB")
    if not data.strip():
        raise Unreadable("empty")
    page = PARSERS[suffix](data)
    if not any(block.level == 0 for block in page.blocks):
        raise Unreadable("scanned or without text" if suffix == ".pdf" else "no running text in it")
    return page


def in_child(kind: str, data: bytes) -> dict[str, Any]:
    """What was read as JSON can carry it, or why nothing was: `unreadable`."""
    try:
        page = parse_file(kind, data)
    except Unreadable as error:
        return {"unreadable": str(error)}
    except MemoryError:
        return {"unreadable": OVER}
    except Exception as error:  # somebody else's parser on somebody else's file
        return {"unreadable": f"not to be read ({type(error).__name__})"}
    blocks = [(block.text, block.level, block.place) for block in page.blocks]
    return {"title": page.title, "blocks": blocks, "left_out": page.left_out}


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise Unreadable(f"needs {name.split('.')[0]} (pip install 'richter[docs]')") from error


def _decode(data: bytes) -> str:
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"", "utf-8-sig")):
        if data.startswith(mark):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise Unreadable("not UTF-8 text") from error
            if "\0" in text:
                raise Unreadable("not a text")
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise AssertionError("every text starts with nothing")


def _text(data: bytes) -> Page:
    page = Page()
    for part in re.split(r"\n\s*\n", _decode(data)):
        page.add(part)
    return page


def _markdown(data: bytes) -> Page:
    from markdown_it import MarkdownIt

    page, text = Page(), _decode(data)
    front = _FRONT_MATTER.match(text)
    if front:
        title = re.search(r"(?m)^title\s*[:=]\s*[\"']?(.+?)[\"']?\s*$", front[0])
        page.title, text = title[1] if title else "", text[front.end() :]
    level = 0
    dropped = {"fence": "code", "code_block": "code", "html_block": "HTML"}
    depth = 0  # within a table
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type in dropped:
            page.left_out[dropped[token.type]] += 1
        elif token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type == "heading_close":
            level = 0
        elif token.type in ("table_open", "table_close"):
            depth += 1 if token.type == "table_open" else -1
            page.left_out["tables"] += token.type == "table_open"
        elif token.type == "inline" and (not depth or len(token.content.split()) >= PROSE_WORDS):
            running, linked = _inline_text(token.children or ())
            page.add(running, level, linked=linked)
    return page


def _inline_text(children: Iterable[Any]) -> tuple[str, int]:
    """The text of a Markdown block, and how many of its characters stand in links."""
    parts, linked, inside = [], 0, 0
    for child in children:
        inside += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type in ("text", "code_inline", "softbreak", "hardbreak"):
            parts.append(child.content or " ")
            linked += len(child.content) * (inside > 0)
    return "".join(parts), linked


_BLOCK = re.compile(
    r"address|article|aside|blockquote|body|br|caption|center|d[dlt]|details|dialog|div|fieldset|figcaption|figure|footer"
    r"|form|h[1-6r]|header|html|li|main|nav|[ou]l|p|pre|section|summary|table|tbody|t[dhr]|tfoot|thead"
)
_LEFT_OUT = dict.fromkeys(("script", "style", "noscript", "template", "svg", "math", "head", "title"), "")
_LEFT_OUT |= dict.fromkeys(("nav", "footer", "aside", "form", "button", "select", "header", "dialog"), "navigation")
_LEFT_OUT |= {"pre": "code", "table": "tables", "figure": "figures"}
_ROLES = frozenset(["navigation", "banner", "contentinfo", "search", "menu", "menubar", "complementary", "dialog"])
_ASIDE = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|sidebar|toc|contents|breadcrumbs?|footer|masthead|cookies?|related"
    r"|pagination|pager|share|social|advert\w*|skip|headerlink|editsection|edit-link)(?:$|[\s_-])",
    re.IGNORECASE,
)


def _html(data: bytes) -> Page:
    parser = _package("selectolax.lexbor").LexborHTMLParser
    try:
        tree = parser(data if re.search(rb"charset", data[:2048], re.I) else _decode(data))
    except (ValueError, RuntimeError, UnicodeError) as error:
        raise Unreadable("no HTML that can be read") from error
    page, title = Page(), tree.css_first("title")
    page.title = " ".join(title.text().split()) if title is not None else ""
    mains = tree.css("main, [role=main]") or tree.css("article")
    root = mains[0] if len(mains) == 1 else tree.body
    if root is None:
        return page
    known: dict[int, _Around] = {}
    parts: list[str] = []
    open_block = _Around(0, 0, False, None)
    linked, without = 0, set[tuple[str, int]]()
    for node in root.traverse(include_text=True):
        if node.tag != "-text":
            continue
        around = _around(node.parent, root, known)
        if around.left_out is not None:
            without.add(around.left_out)
            continue
        if around.block != open_block.block:
            page.add("".join(parts), open_block.heading, linked=linked)
            open_block, parts, linked = around, [], 0
        parts.append(node.text(deep=False))
        linked += len(parts[-1].strip()) * around.in_link
    page.add("".join(parts), open_block.heading, linked=linked)
    page.left_out.update(reason for reason, _ in without if reason)
    return page


class _Around(NamedTuple):
    """Of an element: its block, the level of a heading, whether in a link, and why and with what it is left out."""

    block: int
    heading: int
    in_link: bool
    left_out: tuple[str, int] | None


def _around(node: Any, root: Any, known: dict[int, _Around]) -> _Around:
    """What is known of an element around a text, from the elements around it."""
    way: list[Any] = []
    while node is not None and node.mem_id not in known and len(way) < DEEPEST:
        way.append(node)
        node = None if node.mem_id == root.mem_id else node.parent
    around = _Around(0, 0, False, None)
    block, heading, in_link, left = known.get(getattr(node, "mem_id", -1), around)
    for element in reversed(way):
        if _BLOCK.fullmatch(element.tag):
            block = element.mem_id
            heading = int(element.tag[1]) if re.fullmatch(r"h[1-6]", element.tag) else 0
        in_link = in_link or element.tag == "a"
        if left is None and element.mem_id != root.mem_id and (reason := _reason_to_leave_out(element)) is not None:
            left = reason, element.mem_id
        around = known[element.mem_id] = _Around(block, heading, in_link, left)
    return around if way else _Around(block, heading, in_link, left)


def _reason_to_leave_out(element: Any) -> str | None:
    """Why an element is no running text; None where it is."""
    if element.tag == "table" and _is_layout(element):
        return None
    attributes = element.attributes
    named = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    aside = attributes.get("role") in _ROLES or _ASIDE.search(named)
    return _LEFT_OUT.get(element.tag, "navigation" if aside else None)


def _is_layout(table: Any) -> bool:
    """Whether a table lays out a page: a cell of it holds running text."""
    cells = table.css("td")[:MOST_CELLS]
    return any(len(cell.text(deep=True, separator=" ").split()) >= PROSE_WORDS for cell in cells)


def _pdf(data: bytes) -> Page:
    pdfium = _package("pypdfium2")
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        locked = "password" in str(error).lower() or b"/Encrypt" in data
        raise Unreadable("encrypted" if locked else "no PDF that can be read") from error
    page = Page()
    try:
        page.title = (document.get_metadata_dict().get("Title") or "").strip()
        sheets = [_pdf_lines(document[number]) for number in range(min(len(document), MOST_PAGES))]
    except pdfium.PdfiumError as error:
        raise Unreadable("a PDF with damaged pages") from error
    finally:
        document.close()
    edges = Counter(_edge(line) for lines in sheets for line in {*lines[:2], *lines[-2:]})
    for number, lines in enumerate(sheets, 1):
        body_lines = [line for line in lines if len(sheets) < 3 or edges[_edge(line)] < max(3, len(sheets) // 2)]
        page.left_out["headers and footers"] += len(lines) - len(body_lines)
        body = re.sub(r"(?<=[a-z])[-\u00ad\ufffe]\n(?=[a-z])", "", "\n".join(body_lines))
        page.add(re.sub(r"[\ufffe\uffff]", "", body), place=f"page {number}")
    return page


def _pdf_lines(sheet: Any) -> list[str]:
    words = sheet.get_textpage()
    lines = [" ".join(line.split()) for line in words.get_text_range().splitlines() if line.strip()]
    words.close()
    sheet.close()
    return lines


def _edge(line: str) -> str:
    """A line at the edge of a page without its number."""
    return re.sub(r"\d+", "#", line)


def _docx(data: bytes) -> Page:
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unreadable("encrypted, or of the old Word format")
    docx = _package("docx")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            if sum(part.file_size for part in parts.infolist()) > UNPACKED:
                raise Unreadable(f"larger than {UNPACKED >> 20} MB when unpacked")
        document = docx.Document(io.BytesIO(data))
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # python-docx passes on whatever the archive or the XML raises
        raise Unreadable("no DOCX that can be read") from error
    page = Page(title=(document.core_properties.title or "").strip())
    page.left_out["tables"] += len(document.tables)
    for paragraph in document.paragraphs:
        style = (paragraph.style.name if paragraph.style is not None else "") or ""
        heading = re.fullmatch(r"(?:Heading|Überschrift|Titre) (\d)", style)
        if style == "Title" and not page.title:
            page.title = paragraph.text.strip()
        elif style.startswith("TOC"):
            page.left_out["navigation"] += 1
        else:
            page.add(paragraph.text, int(heading[1]) if heading else int(style == "Title"))
    return page


def _rst(data: bytes) -> Page:
    core, nodes = _package("docutils.core"), _package("docutils.nodes")
    settings = {
        "report_level": 5,
        "halt_level": 5,
        "file_insertion_enabled": False,  # an include would read any file of this machine
        "raw_enabled": False,
        "doctitle_xform": False,  # a lone title is a section like any other
        "warning_stream": io.StringIO(),
        "_disable_config": True,
    }
    text = re.sub(r":[\w:+-]+:`([^`<]+?)(?:\s*<[^>]*>)?`", r"\1", _decode(data))  # roles of Sphinx
    try:
        tree = core.publish_doctree(text, settings_overrides=settings)
    except MemoryError:
        raise
    except Exception as error:  # a directive of somebody else's can fail in any way
        raise Unreadable("no reStructuredText that can be read") from error
    page, aside = Page(), nodes.table | nodes.topic | nodes.sidebar | nodes.system_message | nodes.footnote
    for node in tree.findall():
        if isinstance(node, nodes.title) and isinstance(node.parent, nodes.section | nodes.document):
            page.add(node.astext(), 1 + sum(isinstance(above, nodes.section) for above in _above(node.parent)))
        elif isinstance(node, nodes.literal_block | nodes.table | nodes.figure):
            page.left_out["code" if isinstance(node, nodes.literal_block) else "tables"] += 1
        elif isinstance(node, nodes.paragraph) and not any(isinstance(above, aside) for above in _above(node)):
            page.add(node.astext(), linked=sum(len(link.astext()) for link in node.findall(nodes.reference)))
    return page


def _above(node: Any) -> Iterator[Any]:
    """The nodes around a node, from the inside out."""
    while (node := node.parent) is not None:
        yield node


def _kinds(parser: Callable[[bytes], Page], suffixes: Iterable[str]) -> dict[str, Callable[[bytes], Page]]:
    return dict.fromkeys(suffixes, parser)


PARSERS: dict[str, Callable[[bytes], Page]] = (
    _kinds(_text, (".txt", ".text"))
    | _kinds(_markdown, (".md", ".markdown", ".mdx"))
    | _kinds(_html, (".html", ".htm", ".xhtml"))
    | {".pdf": _pdf, ".docx": _docx, ".rst": _rst}
)
