"""MediaWiki markup as plain paragraphs. `_child_reader` runs this file in a child, alone: it imports no other."""

from collections.abc import Iterator
from typing import Any

LONGEST = 1 << 21  # characters of an article: MediaWiki's own limit
PIECE = 20_000  # characters that are parsed together: the time grows with the square of what is nested in them
ARTICLE_S, CHARACTER_S = 2.0, 4e-6  # of CPU that an article may take, and more for its length; an honest one takes half
ROOM = 1 << 28  # bytes of memory that the child may take
DROPPED = ("ref", "table", "gallery", "math")


def in_child(kind: str, data: bytes) -> tuple[list[tuple[str, int]], list[str]]:
    """(headings with their level and texts with level 0, titles of the article's links)."""
    import mwparserfromhell

    return _article(data.decode("utf-8", "surrogatepass"), mwparserfromhell.parse)


def _article(text: str, parse: Any) -> tuple[list[tuple[str, int]], list[str]]:
    names: list[str] = []
    blocks: list[tuple[str, int]] = []
    for piece in _pieces(text):
        code = parse(piece)
        names += [str(link.title) for link in code.filter_wikilinks(recursive=False)]
        for section in code.get_sections(flat=True, include_lead=True):
            blocks += _section_blocks(section)
    return blocks, names


def _section_blocks(section: Any) -> list[tuple[str, int]]:
    """The headings and paragraphs of a section, which loses what is no running text."""
    blocks = []
    for node in section.filter_headings(recursive=False):
        blocks.append((str(node.title.strip_code()).strip(), max(node.level - 1, 1)))
        section.remove(node)
    for link in section.filter_wikilinks():
        if str(link.title).lower().startswith(("category:", "file:", "image:")):
            section.remove(link)
    for tag in section.filter_tags():
        if str(tag.tag).lower() in DROPPED:
            _drop(section, tag)
    running = section.strip_code(normalize=True, collapse=True)
    return blocks + [(line, 0) for p in running.split("\n\n") if (line := " ".join(p.split()))]


def _pieces(text: str) -> Iterator[str]:
    """A long article in pieces, cut before a heading or between paragraphs where there is one."""
    at = 0
    while at < len(text):
        end = at + PIECE
        if end < len(text):
            cuts = (text.rfind("\n==", at + 1, end), text.rfind("\n\n", at + 1, end), text.rfind("\n", at + 1, end))
            end = next((cut for cut in cuts if cut > at + PIECE // 4), end)
        yield text[at:end]
        at = end


def _drop(section: Any, tag: Any) -> None:
    """Remove a tag, unless one around it has gone already."""
    try:
        section.remove(tag)
    except ValueError:
        return
