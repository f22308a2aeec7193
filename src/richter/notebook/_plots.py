"""Figures of results: SVG that a notebook shows, and files."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from richter.errors import InputError
from richter.report import figure_svg, figures, png_of
from richter.store import write_file

__all__ = ["Plot", "PlotKind"]

PlotKind = Literal["forest", "tiers", "fixed", "reliability", "severity"]
# what people ask for -> the figures of a report that show it, the first that there is
_FIGURES: Mapping[PlotKind, tuple[str, ...]] = {
    "forest": ("floors-forest",),
    "tiers": ("floors-ranking",),
    "fixed": ("floors-flips",),
    "reliability": ("calibration-reliability",),
    "severity": ("severity-distribution", "severity-per-million"),
}
_NEEDS: Mapping[PlotKind, str] = {
    "forest": "two conditions that are compared",
    "tiers": "three or more conditions that are compared",
    "fixed": "right and wrong answers of two conditions, once per question",
    "reliability": "confidences beside the grades",
    "severity": "severities of the answers",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Plot:
    """A figure as SVG: a notebook shows it, `save` writes it."""

    title: str
    svg: str = dataclasses.field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the figure to `path`, as SVG or PNG by its ending, and return the path. PNG needs `richter[png]`."""
        place = Path(path)
        if place.suffix not in (".svg", ".png"):
            raise InputError(f"A figure cannot be written to {place.name}.", remedy="End its name in .svg or .png.")
        text = self.svg if place.suffix == ".svg" else png_of(self.svg)
        return write_file(place, text, into_new=True, remedy="Choose a folder that you may write to.")


def check_kind(kind: str) -> None:
    """Refuse a kind of figure that there is not."""
    if kind not in get_args(PlotKind):
        raise InputError(f"There is no figure {kind!r}.", remedy=f"There are {', '.join(get_args(PlotKind))}.")


def plot_of(document: Mapping[str, Any], kind: PlotKind) -> Plot:
    """The figure of this kind of a results document."""
    drawn = figures(document)
    for name in _FIGURES[kind]:
        if (figure := drawn.get(name)) is not None and figure.panels:
            return Plot(title=figure.title, svg=figure_svg(figure))
    raise InputError(f"These data have no {kind} figure.", remedy=f"It needs {_NEEDS[kind]}.")
