"""Small drawings in SVG: points, lines, bands, bars, intervals in lanes and cells, on axes that fit a phone.

A figure is made of panels of one width that flow beside each other on a wide page and under each other on a narrow
one, so that letters keep their size. Colours are CSS variables, and every mark may carry the number of its row.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, Literal

WIDTH = 340  # of a panel, in pixels
HEIGHT = 150  # of the room for marks where y is a number
SHORT = 84  # ... and where y measures nothing
LANE = 30  # height of a lane with its label at the left
ABOVE = 34  # ... and with its label above it, nearer to it than the next one's
CLOSE = 22  # height of a lane where there are many beside their names
CELL = 22  # height of a row of cells
VALUES = 50  # width of the values at the right of lanes
TIER = 7  # width of a tier's line with its room
LETTER = 6.2  # width of a letter, about
BOLD = 7.4  # ... and of a bold one beside a lane
RAMP = [f"var(--r{k})" for k in range(6)]
SHAPES = {  # on a square of -1..1
    "circle": "",
    "square": "M-.85-.85H.85V.85H-.85Z",
    "triangle": "M0-1 .95.8H-.95Z",
    "diamond": "M0-1.1 1.1 0 0 1.1-1.1 0Z",
    "cross": "M-.35-1h.7v.65H1v.7H.35V1h-.7V.35H-1v-.7h.65Z",
    "down": "M0 1 .95-.8H-.95Z",
    "bar": "M-.3-1.2H.3V1.2H-.3Z",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of numbers with ticks, or names one after another (then a mark's place is the number of its name)."""

    title: str = ""
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    percent: bool = False
    silent: bool = False  # neither ticks nor numbers
    whole: bool = False  # ticks at whole numbers only
    names: tuple[str, ...] = ()

    def share(self, value: float) -> float:
        """Where a value lies, 0 at the low end and 1 at the high one; what lies outside is put at the end."""
        low, high = (math.log(self.low), math.log(self.high)) if self.log else (self.low, self.high)
        place = math.log(max(value, 1e-300)) if self.log else value
        return min(max((place - low) / (high - low), 0.0), 1.0)

    def ticks(self) -> list[float]:
        """A few round values in the range."""
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            steps = (1, 2, 5) if last - first <= 2 else (1,)
            every = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
            return [t for t in every if self.low <= t * 1.0001 and t <= self.high * 1.0001]
        span = self.high - self.low
        unit = max(10 ** math.floor(math.log10(span / 4)), float(self.whole))
        multiples = (1, 2, 5, 10) if self.whole else (1, 2, 2.5, 5, 10)
        step = next(unit * k for k in multiples if span / (unit * k) <= 5)
        first = math.ceil(self.low / step - 1e-9)
        return [round((first + k) * step, 12) for k in range(int((self.high - first * step) / step + 1e-9) + 1)]

    def tick_text(self, value: float) -> str:
        """A tick's words."""
        if self.percent:
            return f"{100 * value:.6g}%"
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size * 10 or (self.log and abs(value) >= size):
                return f"{value / size:g}{letter}"
        return f"{value:g}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One mark. `at` holds its points: (x, y) of a dot, a line, a bar's or an interval's two ends; (x, low, high) of a
    band; (x,) of the two sides of an area as high as the panel. `row` is the figure's row that it shows. `text` stands
    in a cell, or is a label: at a point, or where its x is infinite at the panel's right end (a third number counts
    columns from there). A tier is a line beside the names of its lanes, in the column that its points' x counts from
    the right."""

    kind: Literal["dot", "line", "band", "bar", "span", "cell", "area", "label", "tier"]
    at: Sequence[tuple[float, ...]]
    colour: str = "var(--c0)"
    row: int | None = None
    shape: str = "circle"
    size: float = 4.0
    dash: bool = False
    faint: bool = False
    text: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Marks on two axes, with a heading where there are several panels.

    `beside` puts the names of lanes at the left and keeps room for `columns` of values at the right, and for tiers.
    """

    x: Axis
    y: Axis
    marks: Sequence[Mark]
    title: str = ""
    cells: bool = False  # names of y stand at the left, and the lanes touch
    beside: bool = False
    columns: int = 1
    short: bool = False  # half as high, where y is no measure


def axis(
    values: Iterable[Any], title: str = "", *, log: bool = False, percent: bool = False, zero: bool = False
) -> Axis:
    """An axis that holds the values (None among them is passed over), with a little room; `zero` takes 0 in."""
    known = [float(v) for v in values if v is not None and math.isfinite(v) and (not log or v > 0)]
    known += [0.0] if zero and not log else []
    low, high = min(known, default=0.1), max(known, default=1.0)
    if log:
        return Axis(title=title, low=low / 1.4, high=high * 1.4, log=True, percent=percent)
    size = max(abs(low), abs(high), 1e-3)
    room = 0.05 * (high - low) if high - low > 1e-6 * size else 0.5 * size
    low_end = 0.0 if low == 0 and zero else low - room
    return Axis(title=title, low=low_end, high=high + room, percent=percent)


def lanes(names: Iterable[str]) -> Axis:
    """The axis of y for names one under another."""
    return Axis(names=tuple(names))


def shape_svg(shape: str, x: float, y: float, size: float, more: str = "") -> str:
    """A point of some form."""
    if not SHAPES[shape]:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"{more}/>'
    return f'<path d="{SHAPES[shape]}" transform="translate({x:.1f} {y:.1f}) scale({size:.1f})"{more}/>'


def _cut(text: str, room: float) -> str:
    most = max(4, int(room / LETTER))
    return escape(text if len(text) <= most else text[: most - 1] + "…")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where a panel's axes lie, and where a value lies on them."""

    panel: Panel
    top: float
    left: float
    lane: float  # the height of a named row; 0 where y is a scale
    height: float

    @property
    def right(self) -> float:
        return WIDTH - (VALUES * self.panel.columns if self.panel.beside else 8)

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def step(self) -> float:
        """The width of a named column; 0 where x is a scale."""
        return (self.right - self.left) / len(self.panel.x.names) if self.panel.x.names else 0.0

    def across(self, value: float) -> float:
        """The place of a value of x."""
        share = self.panel.x.share(value) * (self.right - self.left)
        return self.left + ((value + 0.5) * self.step if self.panel.x.names else share)

    def down(self, value: float) -> float:
        """The place of a value of y."""
        if self.panel.y.names:
            middle = self.panel.cells or self.panel.beside
            return self.top + value * self.lane + (self.lane / 2 if middle else self.lane - 14)
        return self.bottom - self.panel.y.share(value) * self.height


def _frame_of(panel: Panel) -> _Frame:
    y = panel.y
    lane = _lane_height(panel)
    return _Frame(
        panel=panel,
        top=(20 if panel.title else 4) + (17 if y.title else 0),
        left=_room_for_names(panel) if panel.cells or panel.beside else 2 if y.names else 8 if y.silent else 38,
        lane=lane,
        height=lane * len(y.names) if y.names else SHORT if panel.short else HEIGHT,
    )


def _lane_height(panel: Panel) -> int:
    """The height of a named row; 0 where y is a scale."""
    if not panel.y.names:
        return 0
    if panel.cells:
        return CELL
    if not panel.beside:
        return ABOVE
    return CLOSE if len(panel.y.names) > 6 else LANE


def _room_for_names(panel: Panel) -> float:
    """The width of the names at the left with the lines of tiers beside them."""
    widest = max((len(n) for n in panel.y.names), default=0)
    columns = [mark.at[0][0] for mark in panel.marks if mark.kind == "tier"]
    tiers = TIER * (max(columns) + 1) + 4 if columns else 0.0
    return min(widest * (BOLD if panel.beside else LETTER) + 8, 120) + tiers


def _text(at: tuple[float, float], words: str, kind: str = "t", anchor: str = "") -> str:
    ends = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" class="{kind}"{ends}>{words}</text>'


def plot_width(panel: Panel) -> float:
    """The width between the two ends of a panel's x axis."""
    frame = _frame_of(panel)
    return frame.right - frame.left


def panel_svg(panel: Panel) -> tuple[str, int]:
    """The panel as an SVG element, and its height."""
    frame, x, y = _frame_of(panel), panel.x, panel.y
    parts = [_text((0, 12), _cut(panel.title, WIDTH), "h")] if panel.title else []
    parts += [*_draw_x(frame), *_draw_y(frame)]
    end = frame.bottom if x.silent else frame.bottom + 16
    if x.title:
        end += 15
        middle, room = (frame.left + frame.right) / 2, WIDTH - frame.left
        words = _cut(x.title, WIDTH if panel.beside else room)
        half = min(LETTER * len(words) / 2, WIDTH / 2)
        parts.append(_text((min(max(middle, half), WIDTH - half), end - 2), words, anchor="middle"))
    if y.title:
        parts.append(_text((0, frame.top - 8), _cut(y.title, WIDTH)))
    parts += [_mark(mark, frame) for mark in panel.marks]
    height = math.ceil(end + 3)
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" class="panel" aria-hidden="true" focusable="false">{body}</svg>',
        height,
    )


def _draw_x(frame: _Frame) -> Iterator[str]:
    """The names under the columns, or the ticks of a scale."""
    x, below = frame.panel.x, frame.bottom + 14
    for k, name in enumerate(x.names):
        yield _text((frame.across(k), below), _cut(name, frame.step), anchor="middle")
    for tick in [] if x.names or x.silent else x.ticks():
        place = frame.across(tick)
        yield f'<path d="M{place:.1f} {frame.top}V{frame.bottom}" class="g"/>'
        words = x.tick_text(tick)
        yield _text((place, below), words, anchor="end" if place + LETTER * len(words) / 2 > WIDTH else "middle")


def _draw_y(frame: _Frame) -> Iterator[str]:
    """The names of the rows, beside cells or above lanes, or the ticks of a scale."""
    y = frame.panel.y
    for k, name in enumerate(y.names):
        if frame.panel.cells:
            yield _text((frame.left - 6, frame.down(k) + 4), _cut(name, frame.left), anchor="end")
        elif frame.panel.beside:
            yield _text((0, frame.down(k) + 4), _cut(name, min(frame.left, 120) * LETTER / BOLD), "h")
        else:
            yield _text((0, frame.top + k * frame.lane + 11), _cut(name, WIDTH))
    for tick in [] if y.names or y.silent else y.ticks():
        yield f'<path d="M{frame.left} {frame.down(tick):.1f}H{frame.right}" class="g"/>'
        yield _text((frame.left - 4, frame.down(tick) + 4), y.tick_text(tick), anchor="end")


def _mark(mark: Mark, frame: _Frame) -> str:
    across, down = frame.across, frame.down
    row = "" if mark.row is None else f' data-row="{mark.row}"'
    faint = ' opacity=".55"' if mark.faint else ""
    if mark.kind in ("cell", "area", "label", "tier"):
        return _placed_mark(mark, frame, row)
    if mark.kind == "dot":
        x, y = mark.at[0]
        return shape_svg(mark.shape, across(x), down(y), mark.size, f' fill="{mark.colour}"{row}{faint}')
    if mark.kind == "band":
        upper = [f"{across(x):.1f} {down(high):.1f}" for x, _, high in mark.at]
        lower = [f"{across(x):.1f} {down(low):.1f}" for x, low, _ in reversed(mark.at)]
        return f'<path d="M{"L".join([*upper, *lower])}Z" fill="{mark.colour}" opacity=".18"/>'
    if mark.kind == "bar":
        (x0, y), (x1, _) = mark.at
        low, high = sorted((across(x0), across(x1)))
        place = f'x="{low:.1f}" y="{down(y) - 6:.1f}" width="{max(high - low, 0.5):.1f}" height="11"'
        return f'<rect {place} fill="{mark.colour}"{row}{faint}/>'
    path = "L".join(f"{across(x):.1f} {down(y):.1f}" for x, y in mark.at)
    dash = ' stroke-dasharray="4 3"' if mark.dash else ""
    return (
        f'<path d="M{path}" stroke="{mark.colour}" stroke-width="{mark.size / 2:.1f}" fill="none"{dash}{row}{faint}/>'
    )


def _placed_mark(mark: Mark, frame: _Frame, row: str) -> str:
    """A mark that fills a cell or a part of the panel, stands beside its lanes, or is a text."""
    first, step, lane = mark.at[0], frame.step, frame.lane
    if mark.kind == "cell":
        x, y = frame.across(first[0]), frame.down(first[1])
        place = f'x="{x - step / 2 + 0.7:.1f}" y="{y - lane / 2 + 0.7:.1f}"'
        cell = f'<rect {place} width="{step - 1.4:.1f}" height="{lane - 1.4:.1f}" fill="{mark.colour}"{row}/>'
        kind = "c on" if mark.colour in RAMP[3:] else "c"  # paper-coloured letters on the strong half of the ramp
        return cell + (_text((x, y + 4), escape(mark.text), kind, "middle") if mark.text else "")
    if mark.kind == "area":
        low, high = sorted(frame.across(x) for (x,) in mark.at)
        place = f'x="{low:.1f}" y="{frame.top}" width="{high - low:.1f}" height="{frame.height:.1f}"'
        return f'<rect {place} fill="{mark.colour}"{row}/>'
    if mark.kind == "tier":
        x = frame.left - 4 - TIER * first[0]
        path = f"M{x:.1f} {frame.down(first[1]) - 7:.1f}V{frame.down(mark.at[1][1]) + 7:.1f}"
        return f'<path d="{path}" stroke="{mark.colour}" stroke-width="3" stroke-linecap="round" fill="none"{row}/>'
    if math.isinf(first[0]):
        x = WIDTH - VALUES * (first[2] if len(first) > 2 else 0)
        return _text((x, frame.down(first[1]) + 4), escape(mark.text), "t" if mark.faint else "v", "end")
    anchor = {frame.panel.x.low: "start", frame.panel.x.high: "end"}.get(first[0], "middle")
    kind = "t" if mark.faint else "v"
    return _text((frame.across(first[0]), frame.down(first[1])), escape(mark.text), kind, anchor)
