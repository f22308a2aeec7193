"""The relation graph as GraphML, for the tools that draw graphs."""

from collections.abc import Mapping
from html import escape
from pathlib import Path

from richter.store import RunLike, write_file
from richter_audit.ascent._summary import read_searched

__all__ = ["write_graphml"]

_KEYS = {"step": "int", "design": "string", "category": "string", "error": "double", "source": "boolean"}


def write_graphml(run: RunLike, path: str | Path) -> int:
    """Write a search's relation graph and return how many nodes it has.

    A node is a paragraph that was asked about, with its step, design, category, error (left out where it has none)
    and whether it is a source; an edge runs from a source to a paragraph that it retrieved.
    """
    search = read_searched(run)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines += [f'<key id="{k}" for="node" attr.name="{k}" attr.type="{t}"/>' for k, t in _KEYS.items()]
    lines.append('<graph edgedefault="directed">')
    for row, step, design in search.picks:
        outcome = search.found[row]
        data = {"step": str(step), "design": design, "category": outcome.category}
        if outcome.error is not None:
            data |= {"error": repr(outcome.error), "source": str(outcome.error > search.settings.xi).lower()}
        lines.append(f'<node id="p{row}">{_data(data)}</node>')
    lines += [f'<edge source="p{source}" target="p{target}"/>' for source, target in search.edges]
    lines += ["</graph>", "</graphml>", ""]
    write_file(path, "\n".join(lines))
    return len(search.picks)


def _data(values: Mapping[str, str]) -> str:
    return "".join(f'<data key="{k}">{escape(_plain(v))}</data>' for k, v in values.items())


def _plain(text: str) -> str:
    """Without control characters, which XML cannot hold."""
    return "".join(ch if ch.isprintable() else " " for ch in text)
