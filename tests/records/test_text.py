import re
import sys
import unicodedata
from html.parser import HTMLParser

import pytest

from richter.records import markdown_safe, printable

markdown_it = pytest.importorskip("markdown_it")


def test_escapes_become_visible() -> None:
    assert printable("\x1b[31mred\x07") == "\\x1b[31mred\\x07"
    assert printable("a\u202eb\u200bc") == "a\\u202eb\\u200bc"
    assert printable("a\U000e0041b\u3164") == "a\\U000e0041b\\u3164"
    assert printable("two\nlines\t.") == "two lines ."
    assert printable("naïve 東京 😀 ❤️") == "naïve 東京 😀 ❤️"


def test_cut() -> None:
    assert printable("abcdef", limit=4) == "abc…"


# signs that have a shape of their own although Unicode counts them as formats
SHAPED = {*range(0x600, 0x606), 0x6DD, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD, *range(0x13430, 0x13456)}


def test_no_control_or_format_passes_against_unicode() -> None:
    hidden = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert [hex(c) for c in hidden if c not in SHAPED and chr(c) in printable(f"a{chr(c)}b")] == []


class Texts(HTMLParser):
    """The pieces of text of a page in which a mention or a reference would be looked for: not in code, not in links."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "a"} & set(self.inside):
            self.found.append(data)


REFERENCES = re.compile(  # what GitHub and GitLab look for in rendered text
    r"@[a-z0-9]|#\d|\bgh-\d|[!$%&~](?:\d|\"|[a-z])|\b[0-9a-f]{7,40}\b|https?://|\bwww\.|[\w.]@[\w.]", re.IGNORECASE
)
HOSTILE = [
    "@someone", "@org/team", "see #12", "o/r#12", "GH-12", "gh-3", "fixes #1", "!34", "%\"1.0\"", "~bug", "$9", "&7",
    "deadbeef1234567", "1234567", "o/r@0123456789abcdef0123456789abcdef01234567", "https://github.com/o/r/issues/1",
    "www.example.org", "a@example.org", "&#64;someone", "&commat;someone", "\\@someone", "`@someone`", "[x](https://y)",
    "<a href='https://x'>@y</a>", "@\u200bsomeone", "＠someone #１２", "mailto:a@b.c",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_reference_is_left_in_the_rendered_page_against_markdown_it(text: str) -> None:
    page = Texts()
    page.feed(
        markdown_it.MarkdownIt("gfm-like", {"linkify": False}).render(f"| a |\n|---|\n| {markdown_safe(text)} |\n")
    )
    shown = "".join(page.found)
    assert not REFERENCES.search(shown), shown
    assert "href" not in "".join(page.rawdata)
