"""The runs before this one: a line and a table for the page, and a line of characters for a pull request."""

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from richter.claims import measure_words
from richter.records import markdown_safe, printable, sparkline

__all__ = ["history_line", "history_section"]

WIDTH, HEIGHT, EDGE = 640, 120, 8
LAST = 10  # runs in a pull request's line, and rows of the page's table


def history_section(history: Mapping[str, Any] | None) -> Markup:
    """A picture of the first metric over all runs with its alarm, and the last runs' values in a table; empty without.

    `history` is what a watch makes (`WatchReport.history`). Everything is escaped; the picture has no script.
    """
    if not history or not history["series"] or len(history["series"][0]["values"]) < 2:
        return Markup()
    lead = history["series"][0]
    values, days = lead["values"], lead["days"]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (WIDTH - 2 * EDGE) / (len(values) - 1)
    spots = [(EDGE + k * step, HEIGHT - EDGE - (v - low) / span * (HEIGHT - 2 * EDGE)) for k, v in enumerate(values)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5"><title>{escape(printable(day))}: {v:.4g}</title></circle>'
        for (x, y), day, v in zip(spots, days, values, strict=True)
    )
    cut = ""
    if lead["changed"] in days:
        x = spots[days.index(lead["changed"])][0]
        cut = f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT}" stroke="currentColor" stroke-dasharray="4 3"/>'
    heads = "".join(f"<th>{escape(s['metric'].replace('_', ' '))}</th>" for s in history["series"])
    by_day = [dict(zip(s["days"], s["values"], strict=True)) for s in history["series"]]
    rows = "".join(
        f"<tr><th>{escape(printable(day))}</th>"
        + "".join(f"<td>{values[day]:.4g}</td>" if day in values else "<td>–</td>" for values in by_day)
        + "</tr>"
        for day in days[-LAST:]
    )
    title = escape(f"{lead['metric'].replace('_', ' ')} of {printable(history['condition'])} over {len(values)} runs")
    return Markup(  # noqa: S704 (every value is escaped or a number)
        f'<section id="history" aria-labelledby="history-title"><h2 id="history-title">History</h2>'
        f"<p>{escape(printable(history['sentence']))}</p>"
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" height="{HEIGHT}">'
        f'<polyline points="{line}" fill="none" stroke="currentColor" stroke-width="1.5"/>{cut}{dots}</svg>'
        f"<table><thead><tr><th>run</th>{heads}</tr></thead><tbody>{rows}</tbody></table></section>"
    )


def history_line(history: Mapping[str, Any]) -> str:
    """The last ten runs as one line of Markdown."""
    if not history["series"]:
        return ""
    lead = history["series"][0]
    values = lead["values"][-LAST:]
    words = measure_words(str(lead["metric"]))
    first, last = (f"{words.amount(v)}{words.unit}" for v in (values[0], values[-1]))
    return (
        f"Last {len(values)} runs, {markdown_safe(words.noun)}: {sparkline(values)} ({first} to {last}). "
        f"{markdown_safe(history['sentence'])}"
    )
