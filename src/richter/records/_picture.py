"""A small figure of intervals, as a notebook shows it: inline SVG, no script, nothing loaded from anywhere."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any, Protocol

from richter.records._plain import Result, as_pandas, printable

__all__ = ["Mark", "Shown", "picture"]

_LABEL, _PLOT, _VALUE, _ROW = 230, 300, 190, 22  # pixels
_MAX_LABEL = 40  # characters of a label; the whole text is in the mark's tooltip
_MAX_MARKS = 60  # marks in one figure
# what an `interval` is of, where a result does not call it so: the first of these that it has
_ESTIMATES = ("estimate", "debiased", "delta", "delta_b", "delta_xi", "b", "xi", "per_million", "per_answer", "slope")


class Span(Protocol):
    """Whatever has two ends, as `Interval` has."""

    @property
    def low(self) -> float:
        """The lower end."""
        ...

    @property
    def high(self) -> float:
        """The upper end."""
        ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One line of a figure: an estimate with its interval. Marks of one `panel` share an axis.

    `against` is what the interval is read against (0 for a difference); None draws no line.
    """

    panel: str
    label: str
    estimate: float | None
    interval: Span | None
    against: float | None = None


def picture(sentences: Iterable[str], marks: Sequence[Mark]) -> str:
    """Sentences, then one panel of intervals for each quantity. All texts are untrusted, and escaped."""
    parts = [f"<p>{escape(printable(sentence, limit=600))}</p>" for sentence in sentences]
    panels = dict.fromkeys(mark.panel for mark in marks[:_MAX_MARKS])
    parts += [_panel(name, [mark for mark in marks[:_MAX_MARKS] if mark.panel == name]) for name in panels]
    if len(marks) > _MAX_MARKS:
        parts.append(f"<p>{len(marks) - _MAX_MARKS} more are in <code>to_frame()</code>.</p>")
    return f'<div class="richter">{"".join(parts)}</div>'


class Shown(Result):
    """A result that shows itself: in a notebook as a figure, printed as text, and as a frame of its intervals.

    It shows its sentence if it has one, and every interval in it with its estimate. By the house's names: `interval`
    belongs to `estimate` (or what stands for it), `x_interval` to `x`. Results inside, alone, in a tuple or by name,
    are shown too.
    """

    __slots__ = ()

    def _shown(self) -> tuple[list[str], list[Mark]]:
        """The sentences, and the intervals with their estimates."""
        sentence = getattr(self, "sentence", None) or getattr(getattr(self, "finding", None), "sentence", None)
        return [str(sentence)] if sentence else [], _marks(self, getattr(self, "name", ""))

    def _repr_html_(self) -> str:
        return picture(*self._shown())

    def __repr__(self) -> str:
        """One short line, of results that are too large for all of their fields (`repr=False`)."""
        first = next((line.splitlines()[0] for line in self._shown()[0] if line), "")
        return f"<{type(self).__name__}{f': {printable(first, limit=100)}' if first else ''}>"

    def __str__(self) -> str:
        sentences, marks = self._shown()
        cells = [(m.panel, printable(m.label, limit=_MAX_LABEL), *_describe_numbers(m)) for m in marks[:_MAX_MARKS]]
        wide = [max(len(row[k]) for row in cells) for k in range(4)] if cells else []
        lines = ["  ".join(text.ljust(w) for text, w in zip(row, wide, strict=True)).rstrip() for row in cells]
        more = [f"{len(marks) - _MAX_MARKS} more are in to_frame()."] if len(marks) > _MAX_MARKS else []
        return "\n".join([*(printable(s, limit=600) for s in sentences), *lines, *more]) or repr(self)

    def to_frame(self, *, pandas: bool = False) -> Any:
        """One row an interval: what is estimated, of what, the estimate and the interval's ends.

        A polars frame, or with `pandas` one of pandas.
        """
        rows = [
            {
                "measure": mark.panel,
                "of": mark.label,
                "estimate": mark.estimate,
                "low": None if mark.interval is None else mark.interval.low,
                "high": None if mark.interval is None else mark.interval.high,
            }
            for mark in self._shown()[1]
        ]
        polars = import_module("polars")  # when it is asked for: what measures does not need it
        kinds = {"measure": polars.String, "of": polars.String}
        frame = polars.DataFrame(rows, schema=kinds | dict.fromkeys(("estimate", "low", "high"), polars.Float64))
        return as_pandas(frame) if pandas else frame


def _describe_interval(interval: Span) -> str:
    """An interval with its level."""
    level = getattr(interval, "level", None)  # ends of a figure may come without one
    return f"{'' if level is None else f'{100 * level:.4g}% CI '}{interval.low:.4g} to {interval.high:.4g}"


def _describe_numbers(mark: Mark) -> tuple[str, str]:
    if mark.estimate is None:
        return "undefined", ""
    return (
        f"{mark.estimate:.4g}",
        "" if mark.interval is None else _describe_interval(mark.interval),
    )


def _marks(result: object, label: str) -> list[Mark]:
    assert dataclasses.is_dataclass(result)
    marks: list[Mark] = []
    for field in dataclasses.fields(result):
        value = getattr(result, field.name)
        if hasattr(value, "low") and hasattr(value, "high") and hasattr(value, "method"):
            marks += _mark_of(result, field.name, value, label)
        else:
            for name, part in _shown_parts(field.name, value):
                marks += _marks(part, f"{label} {name}".strip())
    return marks


def _mark_of(result: object, field: str, interval: Span, label: str) -> list[Mark]:
    """An interval with what it is of; nothing where the result has no such number."""
    stem = field.removesuffix("_interval")
    names = _ESTIMATES if field == "interval" else (stem, f"{stem}_rate")
    of = next((name for name in names if isinstance(getattr(result, name, None), float | int)), None)
    if of is None:
        return []
    return [Mark(panel=of.replace("_", " "), label=label, estimate=getattr(result, of), interval=interval)]


def _shown_parts(field: str, value: object) -> list[tuple[str, Shown]]:
    """The results inside a field that show themselves, with their names."""
    inside: Iterable[tuple[str, object]] = [(field, value)]
    if isinstance(value, Mapping):
        inside = [(str(key), v) for key, v in value.items()]
    elif isinstance(value, tuple):
        inside = [(_name_part(v, i), v) for i, v in enumerate(value, start=1)]
    return [(name, part) for name, part in inside if isinstance(part, Shown)]


def _name_part(part: object, place: int) -> str:
    """A part by its own name, by the two conditions it is of, or by its place."""
    a, b = getattr(part, "a", None), getattr(part, "b", None)
    pair = f"{a}, {b}" if isinstance(a, str) and isinstance(b, str) else place
    return str(getattr(part, "name", pair))


def _panel(name: str, marks: Sequence[Mark]) -> str:
    ends = [e for mark in marks for e in _ends(mark)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    pad = (high - low) * 0.05
    low, high = low - pad, high + pad
    width, height = _LABEL + _PLOT + _VALUE, _ROW * (len(marks) + 1) + 8

    def at(value: float) -> str:
        return f"{_LABEL + _PLOT * (value - low) / (high - low):.1f}"

    title = escape(printable(name, limit=80))
    lines = [f'<text x="0" y="{_ROW - 7}" font-weight="bold">{title}</text>']
    lines += [
        f'<line x1="{at(value)}" x2="{at(value)}" y1="{_ROW}" y2="{height - 6}" '
        'stroke="currentColor" stroke-dasharray="3 3" opacity="0.6"/>'
        for value in dict.fromkeys(m.against for m in marks if m.against is not None)
    ]
    for row, mark in enumerate(marks, start=1):
        y = row * _ROW + _ROW // 2
        label = escape(printable(mark.label, limit=_MAX_LABEL))
        lines.append(
            f'<g><title>{escape(printable(mark.label, limit=300))}</title><text x="0" y="{y + 4}">{label}</text>'
        )
        if mark.interval is not None and all(map(math.isfinite, (mark.interval.low, mark.interval.high))):
            ends_at = f'x1="{at(mark.interval.low)}" x2="{at(mark.interval.high)}"'
            lines.append(f'<line {ends_at} y1="{y}" y2="{y}" stroke="#3b6fb6" stroke-width="3"/>')
        if mark.estimate is not None and math.isfinite(mark.estimate):
            lines.append(f'<circle cx="{at(mark.estimate)}" cy="{y}" r="4.5" fill="#3b6fb6"/>')
        lines.append(f'<text x="{_LABEL + _PLOT + 10}" y="{y + 4}">{escape(_value(mark))}</text></g>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12" fill="currentColor">'
        f"{''.join(lines)}</svg>"
    )


def _ends(mark: Mark) -> list[float]:
    given = [mark.estimate, mark.against]
    given += [mark.interval.low, mark.interval.high] if mark.interval is not None else []
    return [value for value in given if value is not None and math.isfinite(value)]


def _value(mark: Mark) -> str:
    if mark.estimate is None:
        return "undefined"
    text = f"{mark.estimate:.4g}"
    if mark.interval is not None:
        text += f" ({_describe_interval(mark.interval)})"
    return text
