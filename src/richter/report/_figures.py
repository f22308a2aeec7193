"""All figures of a results document, and each as a file of its own."""

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from richter.errors import InputError, MissingPart, RichterWarning
from richter.report._calibration_figures import calibration_figures
from richter.report._figure import FAMILIES, Figure, figure_svg
from richter.report._floors_figures import floors_figures
from richter.report._judges_figures import judges_figures
from richter.report._search_figures import search_figures
from richter.report._severity_figures import severity_figures
from richter.report._tail_figures import tail_figures
from richter.store import write_file

__all__ = ["figures", "png_of", "write_figures"]

Drawer = Callable[[Any], Iterator[Figure]]
SECTIONS: dict[str, Drawer] = {
    "severity": severity_figures,
    "tail": tail_figures,
    "calibration": calibration_figures,
    "search": search_figures,
    "judges": judges_figures,
}


def figures(document: Mapping[str, Any]) -> dict[str, Figure]:
    """The figures that a results document allows, by name, in the order of the report.

    A section that failed has no figures; it never keeps the others from being drawn.
    """
    sections = document.get("sections") or {}
    found = _drawn(floors_figures, document)
    for name, draw in SECTIONS.items():
        section = sections.get(name)
        if section and not (isinstance(section, Mapping) and "missing" in section):
            found |= _drawn(draw, section)
    return found


def _drawn(draw: Drawer, content: Any) -> dict[str, Figure]:
    """The figures of a part of a document by name; none where it is of a form that cannot be drawn."""
    with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError, IndexError):  # it is from outside
        return {f.name: f for f in draw(content)}
    return {}


def write_figures(
    document: Mapping[str, Any],
    folder: str | Path,
    format: Literal["svg", "png"] = "svg",  # noqa: A002 (the word users know)
) -> list[Path]:
    """Write each figure of a results document to `folder` as `<name>.svg` or `.png`, on white; the paths written.

    PNG needs the extra `richter[png]`.
    """
    if format not in ("svg", "png"):
        raise InputError(f"Figures cannot be written as {format!r}.", remedy="Use svg or png.")
    texts = {name: figure_svg(drawn) for name, drawn in figures(document).items() if drawn.panels}
    return [
        write_file(
            Path(folder) / f"{name}.{format}",
            text if format == "svg" else png_of(text),
            into_new=True,
            remedy="Choose a folder that you may write to.",
        )
        for name, text in texts.items()
    ]


def png_of(text: str) -> bytes:
    """An SVG as PNG, at twice its size; where no font is found for its texts, it warns that they are missing."""
    try:
        import resvg_py
    except ImportError as error:
        raise MissingPart(
            "Figures as PNG need the package resvg-py.", remedy="pip install 'richter[png]', or save them as SVG."
        ) from error
    if not has_font(FAMILIES):
        warnings.warn(
            "No font was found on this machine: the PNG has no text. Save the figure as SVG, or install DejaVu Sans.",
            RichterWarning,
            stacklevel=3,
        )
    return bytes(resvg_py.svg_to_bytes(svg_string=text, zoom=2))


@functools.cache
def has_font(families: str) -> bool:
    """Whether a letter leaves a mark in a PNG, in one of these font families."""
    import resvg_py

    def draw(letter: str) -> bytes:
        svg = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">'
        svg += f'<text x="2" y="16" font-family="{families}">{letter}</text></svg>'
        return bytes(resvg_py.svg_to_bytes(svg_string=svg))

    return draw("x") != draw(" ")
