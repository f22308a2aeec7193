"""What every figure shares: how conditions are told apart, and the figure as a record and as a file.

Colours are CSS variables (`page/tokens.css`), so one drawing serves the light page, the dark page and paper;
`figure_svg` writes the light ones in for files that stand alone.
"""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from richter.report._svg import SHAPES, WIDTH, Axis, Mark, Panel, axis, lanes, panel_svg, shape_svg
from richter.report._tokens import light_colours
from richter.words._spans import percent as percent_words

__all__ = ["Figure", "figure_svg"]

Row = dict[str, Any]
Numbered = Sequence[tuple[int, Row]]
Layer = Callable[[Numbered], Iterable[Mark]]  # of a panel: the marks for its rows, which are numbered

MOST_PANELS = 24
MOST_BESIDE = 16  # letters of names that stand at the left of their lanes, with values at the right
# resvg reads neither system-ui nor the system's choice of sans-serif: it needs families by name
FAMILIES = (
    "system-ui,Segoe UI,Roboto,Helvetica Neue,Helvetica,Arial,Liberation Sans,DejaVu Sans,Noto Sans,Open Sans,Ubuntu,"
    "Cantarell,FreeSans,sans-serif"
)
TEXT = (  # of a file that stands alone
    f"text{{font:11px {FAMILIES};fill:var(--muted)}}"
    ".h{font-size:12px;fill:var(--ink);font-weight:600}"
    ".g{stroke:var(--line);fill:none}.v,.c{fill:var(--ink)}.c.on{fill:var(--paper)}"
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """How one thing is drawn wherever it occurs: a line of the legend."""

    name: str
    colour: str
    shape: str = "circle"


PLAIN = Key(name="", colour="var(--c0)")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure: the sentence that says what it shows, its panels, its numbers, and where its estimator is explained.

    `finding` is what the figure shows, a sentence that heads it; `reading` says how to read it; `title` is its name.
    `rows` are at once what the marks stand for, the figure's table and its download; `columns` names the columns for
    people. `docs` is a page of the documentation. Without panels the finding is all there is to show at this n.
    """

    name: str
    section: str
    title: str
    finding: str
    reading: str = ""
    panels: Sequence[Panel]
    rows: Sequence[Row]
    columns: Mapping[str, str]
    docs: str
    legend: Sequence[Key] = ()
    drills: bool = False  # a mark stands for answers that the evidence can show
    folded: bool = False  # detail for those who ask

    @property
    def sentence(self) -> str:
        """The finding and how to read it."""
        return " ".join(filter(None, (self.finding, self.reading)))


def figure(name: str, *, columns: str, says: tuple[str, str], more: str = "", **parts: Any) -> Figure:
    """A figure; its section is the first word of its name. `columns`: "field, field: words for people, ...".

    `says`: its finding, and how to read it, to which `more` is added.
    """
    parts |= {"finding": says[0], "reading": f"{says[1]}{more}".strip()}
    pairs = [(field, words or field) for field, _, words in (c.partition(": ") for c in columns.split(", "))]
    return Figure(name=name, section=name.split("-")[0], columns=dict(pairs), **parts)


def ends(interval: Mapping[str, Any] | None) -> Row:
    """The two ends of an interval as columns; None where there is none."""
    return {end: (interval or {}).get(end) for end in ("low", "high")}


def copied(found: Mapping[str, Any], fields: str) -> Row:
    """Some fields, each under its own name or as `name=field`; None where one is missing."""
    pairs = (field.partition("=") for field in fields.split())
    return {name: found.get(field or name) for name, _, field in pairs}


def dots(
    x: str,
    y: str,
    key: Key | Callable[[Row], Key] = PLAIN,
    *,
    size: float | Callable[[Row], float] = 4.0,
    faint: bool = False,
) -> Layer:
    """A dot for every row that has both values."""

    def draw(own: Numbered) -> Iterator[Mark]:
        for k, r in own:
            if r[x] is not None and r[y] is not None:
                look, wide = key(r) if callable(key) else key, size(r) if callable(size) else size
                at = [(r[x], r[y])]
                yield Mark(kind="dot", at=at, colour=look.colour, shape=look.shape, size=wide, row=k, faint=faint)

    return draw


def line(x: str, y: str, key: Key = PLAIN, **look: Any) -> Layer:
    """A line through the rows that have both values."""

    def draw(own: Numbered) -> list[Mark]:
        at = [(r[x], r[y]) for _, r in own if r[x] is not None and r[y] is not None]
        return [Mark(kind="line", at=at, colour=key.colour, **look)] if len(at) > 1 else []

    return draw


def spans(x: str, *, numbered: bool = True) -> Layer:
    """An upright interval for every row that has one."""
    return lambda own: [
        Mark(kind="span", at=[(r[x], r["low"]), (r[x], r["high"])], size=3, row=k if numbered else None, faint=True)
        for k, r in own
        if r["low"] is not None and r["high"] is not None
    ]


def band(x: str) -> Layer:
    """The room between the ends of the rows' intervals."""

    def draw(own: Numbered) -> list[Mark]:
        known = [(r[x], r["low"], r["high"]) for _, r in own if r["low"] is not None and r["high"] is not None]
        return [Mark(kind="band", at=known)] if len(known) > 1 else []

    return draw


def dashed(*at: tuple[float, float]) -> Mark:
    """What a figure is read against."""
    return Mark(kind="line", at=at, colour="var(--muted)", dash=True, size=2)


def against(*at: tuple[float, float]) -> Layer:
    """The same under every panel's marks."""
    return lambda _: [dashed(*at)]


def some(test: Callable[[Row], bool], layer: Layer) -> Layer:
    """A layer of those rows alone that pass a test."""
    return lambda own: layer([(k, r) for k, r in own if test(r)])


def each(field: str, legend_keys: Iterable[Key], *layers: Callable[[Key], Layer]) -> Layer:
    """Layers for the rows of each of some names, one after the other."""
    return lambda own: [
        mark
        for key in legend_keys
        for layer in layers
        for mark in layer(key)([(k, r) for k, r in own if r[field] == key.name])
    ]


def keys(names: Sequence[str]) -> dict[str, Key]:
    """A colour and a form for each of some names, in their order."""
    shapes = list(SHAPES)
    return {n: Key(name=n, colour=f"var(--c{k % 7})", shape=shapes[k % len(shapes)]) for k, n in enumerate(names)}


def leading(names: Sequence[str], noun: str, *, most: int = 30) -> tuple[list[str], str]:
    """The first `most` of the names, and the words that say so where there are more."""
    drawn = list(names[:most])
    more = f" The figure shows {most} of {len(names):,} {noun}; the numbers hold all." if len(names) > most else ""
    return drawn, more


def apart(rows: Sequence[Row], field: str) -> dict[str, list[tuple[int, Row]]]:
    """The rows with their numbers, by the values of a field."""
    groups: dict[str, list[tuple[int, Row]]] = defaultdict(list)
    for k, row in enumerate(rows):
        groups[str(row[field])].append((k, row))
    return groups


def panels_by(
    rows: Sequence[Row],
    x: Axis | Callable[[list[Row]], Axis],
    y: Axis | Callable[[list[Row]], Axis],
    *layers: Layer,
    field: str = "condition",
    cells: bool = False,
) -> list[Panel]:
    """One panel of these layers for each value of `field`, with a heading where there are several."""
    groups = apart(rows, field)
    made = []
    for name, own in list(groups.items())[:MOST_PANELS]:
        at = [axis if isinstance(axis, Axis) else axis([row for _, row in own]) for axis in (x, y)]
        marks = [mark for layer in layers for mark in layer(own)]
        made.append(Panel(title=name if len(groups) > 1 else "", x=at[0], y=at[1], marks=marks, cells=cells))
    return made


def axis_of(rows: Sequence[Row], fields: str, title: str = "", **look: bool) -> Axis:
    """An axis that holds some fields of the rows."""
    return axis((row[field] for row in rows for field in fields.split()), title, **look)


def interval_panel(
    rows: Sequence[tuple[int, Row]],
    label: str,
    *,
    title: str,
    heading: str = "",
    value: str = "estimate",
    percent: bool = False,
    against: float | None = None,
    colour: Callable[[Row], str] = lambda row: "var(--c0)",
    most: Sequence[str] | None = None,
) -> Panel:
    """One lane for each label: a dot for the estimate, a line for its interval, dashed what it is read against."""
    names = [n for n in (most or dict.fromkeys(str(r[label]) for _, r in rows)) if any(r[label] == n for _, r in rows)]
    place = {name: k for k, name in enumerate(names)}
    shown = [(k, r) for k, r in rows if r[label] in place and r[value] is not None]
    reach = [v for _, r in shown for v in (r["low"], r["high"], r[value])] + ([] if against is None else [against])
    marks = [] if against is None else [dashed((against, -0.4), (against, len(names) - 0.6))]
    for k, row in shown:
        y = place[row[label]]
        if row["low"] is not None and row["high"] is not None:
            marks.append(Mark(kind="span", at=[(row["low"], y), (row["high"], y)], colour=colour(row), row=k, size=5))
        marks.append(Mark(kind="dot", at=[(row[value], y)], colour=colour(row), row=k, size=4.5))
    beside = max(map(len, names), default=0) <= MOST_BESIDE and len(shown) == len(names)
    if beside:
        digits = _digits_for(reach)
        marks += [
            Mark(
                kind="label",
                at=[(math.inf, place[row[label]])],
                text=percent_words(row[value]) if percent else f"{row[value]:,.{digits}f}",
            )
            for _, row in shown
        ]
    return Panel(title=heading, x=axis(reach, title, percent=percent), y=lanes(names), marks=marks, beside=beside)


def _digits_for(reach: Sequence[float | None]) -> int:
    """The decimals of values that are read on an axis with this reach."""
    known = [v for v in reach if v is not None and math.isfinite(v)]
    width = max(known, default=1.0) - min(known, default=0.0)
    return 0 if width >= 100 else 1 if width >= 5 else 2


def figure_svg(drawn: Figure, *, width: int = 3 * WIDTH + 80) -> str:
    """The figure as a file of its own, on white: title, legend and panels."""
    columns = max(1, min(len(drawn.panels), (width - 20) // (WIDTH + 20)))
    body = [f'<text x="10" y="22" class="h">{escape(drawn.title)}</text>']
    y = 34
    for key in drawn.legend:
        body.append(shape_svg(key.shape, 17, y + 6, 5, f' fill="{key.colour}"'))
        body.append(f'<text x="30" y="{y + 10}">{escape(key.name)}</text>')
        y += 18
    for first in range(0, len(drawn.panels), columns):
        made = [panel_svg(p) for p in drawn.panels[first : first + columns]]
        for k, (text, height) in enumerate(made):
            place = f'<svg x="{10 + k * (WIDTH + 20)}" y="{y}" width="{WIDTH}" height="{height}"'
            body.append(text.replace("<svg", place, 1))
        y += max(height for _, height in made) + 14
    whole = 20 + columns * (WIDTH + 20)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{y}" viewBox="0 0 {whole} {y}">'
        f'<style>{TEXT}</style><rect width="100%" height="100%" fill="var(--paper)"/>{"".join(body)}</svg>\n'
    )
    for variable, colour in light_colours().items():
        text = text.replace(f"var({variable})", colour)
    return text
