"""Is there enough evidence: differences with their margin, who cannot be told apart, and what was fixed and broken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from richter.claims import measure_words
from richter.report._figure import Figure, Row, figure, interval_panel, leading
from richter.report._figure_texts import describe_differences_figure, describe_flips, describe_sets
from richter.report._numbers import name
from richter.report._svg import Mark, Panel, axis, lanes

SHOWN = ("verified", "refuted")


def floors_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the floors section of a results document allows."""
    comparison = section.get("comparison") or {}
    claims = comparison.get("claims") or []
    better = {str(c.get("measure")): c.get("better") for c in claims}
    units = {(c.get("measure"), *(c.get("conditions") or ())): c.get("unit") for c in claims}
    yield from _flips(section.get("flips") or [])
    yield from _sets(section.get("sets") or [], comparison, better)
    yield from _forest([_gap(g, better, units) for g in section.get("gaps") or [] if g.get("delta") is not None])


def _gap(gap: Mapping[str, Any], better: Mapping[str, Any], units: Mapping[Any, Any]) -> Row:
    measure = str(gap.get("measure"))
    words = measure_words(measure)
    scale = 100.0 if words.suffix == " points" else 1.0
    interval = gap.get("interval") or {}

    def scaled(value: Any) -> float | None:
        return scale * value if isinstance(value, int | float) else None

    return {
        "pair": f"{name(gap['b'], limit=40)} − {name(gap['a'], limit=40)}",
        "condition": name(gap["a"]),
        "other": name(gap["b"]),
        "measure": name(words.noun) + " (points)" * (scale != 1.0),
        "better": better.get(measure) or words.better,
        "delta": scaled(gap["delta"]),
        "low": scaled(interval.get("low")),
        "high": scaled(interval.get("high")),
        "margin": scaled(gap.get("margin")),
        "visible": scaled(gap.get("smallest_visible")),
        "verdict": str(gap.get("verdict") or "untestable"),
        "labels_needed": gap.get("labels_needed"),
        "unit": name(units.get((gap.get("measure"), gap["a"], gap["b"])) or "item"),
        "n": gap.get("n"),
    }


def _colour(row: Row) -> str:
    """Good or bad for the second condition where a difference was shown; grey where it was not."""
    if row["verdict"] not in SHOWN:
        return "var(--none)"
    return "var(--good)" if (row["delta"] > 0) == (row["better"] == "higher") else "var(--bad)"


def _relative_size(row: Row) -> float:
    """A difference in widths of its interval, by which pairs are chosen where there are too many."""
    width = (row["high"] - row["low"]) if row["low"] is not None and row["high"] is not None else 0.0
    return float(abs(row["delta"]) / width if width else abs(row["delta"]))


def _leading_pairs(rows: Sequence[Row], size: Callable[[Row], float]) -> tuple[list[str], str]:
    """The pairs to draw, as given, or of too many those with the largest rows; and what is said of the others."""
    largest: dict[str, float] = {}
    for row in rows:
        largest[row["pair"]] = max(largest.get(row["pair"], 0.0), size(row))
    return leading(sorted(largest, key=lambda p: -largest[p]) if len(largest) > 30 else list(largest), "pairs")


def _forest(rows: Sequence[Row]) -> Iterator[Figure]:
    if not rows:
        return
    pairs, more = _leading_pairs(rows, _relative_size)
    measures = list(dict.fromkeys(r["measure"] for r in rows))
    yield figure(
        "floors-forest",
        title="Every difference",
        sentence=describe_differences_figure(rows) + more,
        panels=[
            interval_panel(
                [(k, r) for k, r in enumerate(rows) if r["measure"] == measure],
                "pair",
                title=f"difference in {measure}",
                heading=measure if len(measures) > 1 else "",
                value="delta",
                against=0.0,
                colour=_colour,
                most=pairs,
            )
            for measure in measures
        ],
        rows=rows,
        columns="condition: from, other: to, measure, delta: difference, low: from, high: to, margin, "
        "visible: could have shown, labels_needed: needed, unit: of these, verdict, n: items",
        docs="estimators/comparison",
        drills=True,
        folded=True,
    )


def _sets(sets: Sequence[Sequence[str]], comparison: Mapping[str, Any], better: Mapping[str, Any]) -> Iterator[Figure]:
    groups = [[name(n) for n in group] for group in sets if group]
    if not groups:
        return
    primary = str(comparison.get("primary") or "accuracy")
    words, found = measure_words(primary), _main_means(comparison, primary)
    sign = 1 if (better.get(primary) or words.better) == "lower" else -1
    rows: list[Row] = [
        {"set": k, "condition": member, "value": found.get(member)}
        for k, group in enumerate(groups, start=1)
        for member in group
    ]
    members = sorted(dict.fromkeys(r["condition"] for r in rows), key=lambda m: sign * (found.get(m) or 0.0))
    drawn, more = leading(members, "conditions, the best ones")
    lane = {member: k for k, member in enumerate(drawn)}
    marks = [*_set_bars(groups, lane), *_set_dots(rows, lane)]
    x = axis([0.0, 1 + max((r["set"] for r in rows if r["condition"] in lane), default=0)], "set")
    yield figure(
        "floors-sets",
        title="Which conditions cannot be told apart",
        sentence=describe_sets(groups, len(members), words.noun) + more,
        panels=[Panel(x=x, y=lanes(drawn), marks=marks)] if len(members) > 2 else [],
        rows=rows,
        columns=f"set, condition, value: {words.noun}",
        docs="estimators/comparison",
    )


def _main_means(comparison: Mapping[str, Any], primary: str) -> dict[str, Any]:
    """Each condition's mean of the main measure."""
    own = (comparison.get("measures") or {}).get(primary) or {}
    if own or primary != "accuracy":
        return {name(k): v for k, v in own.items()}
    return {name(k): v.get("accuracy") for k, v in (comparison.get("conditions") or {}).items()}


def _set_bars(groups: Sequence[Sequence[str]], lane: Mapping[str, int]) -> Iterator[Mark]:
    """A bar over the conditions of each set that are drawn."""
    for k, group in enumerate(groups, start=1):
        places = [lane[m] for m in group if m in lane]
        if places:
            yield Mark(kind="line", at=[(k, min(places)), (k, max(places))], size=8, faint=True)


def _set_dots(rows: Sequence[Row], lane: Mapping[str, int]) -> Iterator[Mark]:
    """A dot for each condition of a set that is drawn."""
    for k, row in enumerate(rows):
        if row["condition"] in lane:
            yield Mark(kind="dot", at=[(row["set"], lane[row["condition"]])], row=k)


def _flips(flips: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    changes = {"fixed": "var(--good)", "broken": "var(--bad)"}
    rows: list[Row] = [
        {
            "pair": f"{name(flip['a'], limit=40)} → {name(flip['b'], limit=40)}",
            "condition": name(flip["a"]),
            "other": name(flip["b"]),
            "change": change,
            "items": flip[change],
        }
        for flip in flips
        for change in changes
    ]
    if not any(r["items"] for r in rows):
        return
    pairs, more = _leading_pairs(rows, lambda row: float(row["items"]))
    signed = {k: r["items"] if r["change"] == "fixed" else -r["items"] for k, r in enumerate(rows)}
    lane = {pair: k for k, pair in enumerate(pairs)}
    marks = [
        Mark(kind="bar", at=[(0, lane[r["pair"]]), (signed[k], lane[r["pair"]])], colour=changes[r["change"]], row=k)
        for k, r in enumerate(rows)
        if r["pair"] in lane and r["items"]
    ]
    yield figure(
        "floors-flips",
        title="Fixed and broken items",
        sentence=describe_flips(rows, more),
        panels=[Panel(x=axis(signed.values(), "broken ← items → fixed", zero=True), y=lanes(pairs), marks=marks)],
        rows=rows,
        columns="condition: from, other: to, change, items",
        docs="estimators/comparison",
        drills=True,
    )
