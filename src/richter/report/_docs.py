"""The documentation of the estimators, carried in the page so that its links work where there is no network."""

import dataclasses
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>', re.S)
_HEADING = re.compile(r"<(/?)h([1-6])>")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DocsPage:
    """One page: its id in the report, its title and its body as HTML."""

    id: str
    title: str
    html: Markup


def docs_id(page: str) -> str:
    """The id of a documentation page (`estimators/ece`) in the report."""
    return page.replace("/", "-")


def docs_pages(names: Iterable[str]) -> list[DocsPage]:
    """The named pages in the order of their titles; those that the installation lacks are left out."""
    wanted = sorted(set(names))
    texts = {name: text for name in wanted if (text := _read(name)) is not None}
    pages = [_page(name, text, frozenset(texts)) for name, text in texts.items()]
    return sorted(pages, key=lambda p: p.title.lower())


@cache
def _read(name: str) -> str | None:
    """The Markdown of a page: beside the package where it is installed, in `docs/` where it is run from its source."""
    inside = resources.files("richter.report").joinpath("docs", f"{name}.md")
    source = Path(__file__).parents[3] / "docs" / f"{name}.md"
    for place in (inside, source):
        if place.is_file():
            return place.read_text(encoding="utf-8")
    return None


@cache
def _page(name: str, text: str, known: frozenset[str]) -> DocsPage:
    first, _, body = text.partition("\n")
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(body)
    html = _HEADING.sub(lambda m: f"<{m[1]}h{min(6, int(m[2]) + 2)}>", html)  # under the page's own headings

    def link(match: re.Match[str]) -> str:
        target = f"{name.rpartition('/')[0]}/{match[1].split('#')[0].removesuffix('.md')}"
        return f'<a href="#docs-{docs_id(target)}">{match[2]}</a>' if target in known else match[2]

    # our own text, rendered with raw HTML switched off
    return DocsPage(id=docs_id(name), title=first.lstrip("# ").strip(), html=Markup(_LINK.sub(link, html)))  # noqa: S704
