"""MediaWiki markup as plain paragraphs, read by a child process: the parser's time and memory have no bound of its own.

The child is this file, run alone and isolated, so it imports nothing of Richter. It takes one article a line and gives
one line back. An article over its limits ends the child, and the next one gets another.
"""

import atexit
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

LONGEST = 1 << 21  # characters of an article: MediaWiki's own limit
PIECE = 20_000  # characters that are parsed together: the time grows with the square of what is nested in them
ARTICLE_S, CHARACTER_S = 2.0, 4e-6  # of CPU that an article may take, and more for its length; an honest one takes half
ROOM = 1 << 28  # bytes of memory that the child may take
DROPPED = ("ref", "table", "gallery", "math")

_guard = threading.Lock()
_child: "subprocess.Popen[str] | None" = None


def read_markup(text: str, parser: str) -> tuple[list[tuple[str, int]], list[str]] | None:
    """(headings with their level and texts with level 0, titles of the article's links); None if over the limits.

    `parser` is the folder that mwparserfromhell lies in.
    """
    global _child
    if len(text) > LONGEST:
        return None
    with _guard:
        if _child is None:
            _child = subprocess.Popen(  # noqa: S603  (no shell, our own file; -I: nothing from the folder we are in)
                [sys.executable, "-I", __file__, parser],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="ascii",
            )
            atexit.register(_end, _child)
        to, back = _child.stdin, _child.stdout
        try:
            if to is None or back is None:
                return None
            to.write(json.dumps(text) + "\n")
            to.flush()
            blocks, names = json.loads(back.readline())
        except (OSError, ValueError):  # it has ended
            _end(_child)
            _child = None
            return None
        return [(line, level) for line, level in blocks], names


def _end(child: "subprocess.Popen[str]") -> None:
    atexit.unregister(_end)  # of the one child there is
    child.kill()
    child.wait()
    for stream in (child.stdin, child.stdout):
        try:
            if stream is not None:
                stream.close()
        except OSError:  # what was still to be written
            continue


# ---- the child -------------------------------------------------------------------------------------------------------


def _serve(folder: str) -> None:
    sys.path.append(folder)
    import mwparserfromhell

    try:
        import resource
        import signal

        resource.setrlimit(resource.RLIMIT_DATA, (ROOM, ROOM))
        limit = signal.setitimer
    except (ImportError, ValueError, AttributeError):
        limit = None  # a system without such limits
    for line in sys.stdin:
        text = json.loads(line)
        if limit is not None:  # which ends this process, wherever it is
            limit(signal.ITIMER_PROF, ARTICLE_S + CHARACTER_S * len(text))
        sys.stdout.write(json.dumps(_article(text, mwparserfromhell.parse)) + "\n")
        sys.stdout.flush()


def _article(text: str, parse: Any) -> tuple[list[tuple[str, int]], list[str]]:
    names: list[str] = []
    blocks: list[tuple[str, int]] = []
    for piece in _pieces(text):
        code = parse(piece)
        names += [str(link.title) for link in code.filter_wikilinks(recursive=False)]
        for section in code.get_sections(flat=True, include_lead=True):
            for node in section.filter_headings(recursive=False):
                blocks.append((str(node.title.strip_code()).strip(), max(node.level - 1, 1)))
                section.remove(node)
            for link in section.filter_wikilinks():
                if str(link.title).lower().startswith(("category:", "file:", "image:")):
                    section.remove(link)
            for tag in section.filter_tags():
                if str(tag.tag).lower() in DROPPED:
                    _drop(section, tag)
            plain = section.strip_code(normalize=True, collapse=True)
            blocks += [(line, 0) for p in plain.split("\n\n") if (line := " ".join(p.split()))]
    return blocks, names


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


if __name__ == "__main__":
    _serve(sys.argv[1])
