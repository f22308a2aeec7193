"""What every figure shares: the colours, the type, how conditions are told apart, and the figure as a record.

Colours are CSS variables, so one drawing serves the light page, the dark page and paper; `with_colours` writes the
light ones in for files that stand alone. Hues follow Okabe and Ito (told apart by all common forms of colour
blindness), darkened or lightened until each has a contrast of 3 to 1 with its background.
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

__all__ = ["Figure"]

Row = dict[str, Any]

COLOURS = {  # CSS variable: on light, on dark
    "--paper": ("#ffffff", "#14171a"),
    "--ink": ("#1b1f23", "#e8e6e1"),
    "--muted": ("#57606a", "#a6adb5"),
    "--line": ("#e3e6ea", "#2c3238"),
    "--shade": ("#eef1f4", "#20262c"),
    "--c0": ("#0072b2", "#56b4e9"),
    "--c1": ("#d55e00", "#f08a3c"),
    "--c2": ("#00835f", "#2cc79a"),
    "--c3": ("#b0548a", "#e39bc4"),
    "--c4": ("#946200", "#e6c34a"),
    "--c5": ("#4a52b5", "#a7b0ff"),
    "--c6": ("#555b61", "#b9bec4"),
    "--good": ("#00734f", "#2cc79a"),
    "--bad": ("#b3361b", "#ff8a66"),
    "--wait": ("#7a5b00", "#e6c34a"),
    "--none": ("#656d76", "#99a1a9"),
    "--r0": ("#f7ecd3", "#2b241a"),
    "--r1": ("#f1cf8b", "#5a3f18"),
    "--r2": ("#e3a046", "#8f5b1b"),
    "--r3": ("#c06d1f", "#c98227"),
    "--r4": ("#8a430f", "#eeb24f"),
    "--r5": ("#522407", "#ffe1a1"),
}
CONDITION_COLOURS = [f"var(--c{k})" for k in range(7)]
RAMP = [f"var(--r{k})" for k in range(6)]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
MOST_COLOURED = len(CONDITION_COLOURS)  # more conditions than this are drawn beside each other, not over each other
MOST_FACETS = 24
ROWS = alt.NamedData(name="rows")

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
    "aria": False,  # the figure's own label and its table speak for it
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "gridColor": "var(--line)",
        "domain": False,
        "ticks": False,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 8,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "orient": "top",
        "labelLimit": 220,
        "symbolBaseFillColor": "var(--muted)",
        "symbolBaseStrokeColor": "var(--muted)",
    },
    "header": {"labelColor": "var(--ink)", "labelFontSize": 12, "titleColor": "var(--muted)", "labelLimit": 200},
    "mark": {"color": "var(--c0)"},
    "text": {"color": "var(--ink)"},
    "rule": {"color": "var(--muted)"},
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: the sentence that says what it shows, its drawing, its numbers, and where its estimator is explained.

    `spec` is Vega-Lite over the data named "rows", which is not in it: `rows` are at once the figure's data, its table
    and its download. `columns` names the columns for people. `docs` is a page of the documentation.
    """

    name: str
    section: str
    title: str
    sentence: str
    spec: dict[str, Any]
    rows: list[Row]
    columns: Mapping[str, str]
    docs: str
    drills: bool = False  # a mark stands for answers that the evidence table can show

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}


def figure(
    name: str,
    *,
    title: str,
    sentence: str,
    drawing: alt.TopLevelMixin,
    rows: Sequence[Row],
    columns: Mapping[str, str],
    docs: str,
    drills: bool = False,
) -> Figure:
    """A figure from an Altair chart over `chart()`; its section is the first word of its name."""
    spec = _without_data(drawing.to_dict())
    for key in ("$schema", "config", "datasets"):
        spec.pop(key, None)
    spec["data"] = {"name": "rows"}
    return Figure(
        name=name,
        section=name.split("-")[0],
        title=title,
        sentence=sentence,
        spec=spec,
        rows=list(rows),
        columns=columns,
        docs=docs,
        drills=drills,
    )


def _without_data(node: Any) -> Any:
    """The spec without any `data`: an inner one would undo the split of a facet, and each would show all rows."""
    if isinstance(node, dict):
        return {key: _without_data(value) for key, value in node.items() if key != "data"}
    return [_without_data(value) for value in node] if isinstance(node, list) else node


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten in the range; powers alone where it is wide."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
    return [t for t in ticks if low <= t * 1.0001 and t <= high * 1.0001]


def chart(*, height: int | alt.Step = 280) -> alt.Chart:
    """An empty chart over the figure's rows, as wide as the page gives it."""
    return alt.Chart(ROWS, width="container", height=height)


def facets(drawing: Any, field: str, *, order: Sequence[str] | None = None) -> alt.FacetChart:
    """The drawing once for each value of `field`, beside each other; the page sets columns and widths to its own."""
    facet = alt.Facet(f"{field}:N", title=None, sort=list(order) if order else None)
    beside: alt.FacetChart = drawing.properties(width=200).facet(facet=facet, columns=3, data=ROWS)
    return beside


def colour(names: Sequence[str], *, legend: bool = True) -> alt.Color:
    """Conditions by colour, in the order given; a single one needs no legend."""
    shown = alt.Legend(title=None) if legend and len(names) > 1 else None
    scale = alt.Scale(domain=list(names), range=[CONDITION_COLOURS[k % MOST_COLOURED] for k in range(len(names))])
    return alt.Color("condition:N", scale=scale, legend=shown)


def shape(names: Sequence[str], *, legend: bool = True) -> alt.Shape:
    """Conditions by the form of their points, beside the colour."""
    shown = alt.Legend(title=None) if legend and len(names) > 1 else None
    scale = alt.Scale(domain=list(names), range=[SHAPES[k % MOST_COLOURED] for k in range(len(names))])
    return alt.Shape("condition:N", scale=scale, legend=shown)


def shown_names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The conditions of the rows in the order they come, as many as can be drawn beside each other."""
    return list(dict.fromkeys(str(r["condition"]) for r in rows))[:MOST_FACETS]


def leading(names: Sequence[str], noun: str, *, most: int = 30) -> tuple[list[str], str]:
    """The first `most` of the names, and the words that say so where there are more."""
    drawn = list(names[:most])
    more = f" The figure shows {most} of {len(names):,} {noun}; the numbers hold all." if len(names) > most else ""
    return drawn, more


def with_colours(spec: Mapping[str, Any], rows: Sequence[Row], *, dark: bool = False) -> dict[str, Any]:
    """The spec as it stands alone: its rows inside, the colours written in."""
    text = json.dumps({**spec, "config": CONFIG})
    for variable, pair in COLOURS.items():
        text = text.replace(f"var({variable})", pair[dark])
    whole: dict[str, Any] = json.loads(text)
    whole["config"]["background"] = COLOURS["--paper"][dark]
    whole["datasets"] = {"rows": list(rows)}
    whole["$schema"] = f"https://vega.github.io/schema/vega-lite/{alt.SCHEMA_VERSION}.json"
    return whole
