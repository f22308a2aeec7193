"""Is there enough evidence: differences with their margin, who cannot be told apart, and what was fixed and broken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from richter.claims import measure_words
from richter.report._figure import Figure, Row, figure, interval_panel, leading
from richter.report._svg import Mark, Panel, axis, lanes
from richter.words._figure_texts import describe_differences_figure, describe_flips, describe_sets
from richter.words._numbers import name

SHOWN = ("verified", "refuted")


def floors_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the floors section of a results document allows."""
    comparison = section.get("comparison") or {}
    claims, pairs = comparison.get("claims") or [], comparison.get("pairs") or []
    order = {tuple(pair["conditions"]): k for k, pair in enumerate(pairs)}
    gaps = [c for c in claims if c["measure"] not in ("b", "xi") and tuple(c["conditions"]) in order]
    gaps.sort(key=lambda c: order[tuple(c["conditions"])])
    yield from _flips([pair for pair in pairs if pair.get("fixed") is not None])
    yield from _sets(comparison.get("groups") or [], comparison)
    yield from _forest([_gap(c) for c in gaps if c.get("estimate") is not None])


def _gap(claim: Mapping[str, Any]) -> Row:
    """A claim on a difference of means as a row, in points where it is one of rates."""
    words, (first, second) = measure_words(str(claim["measure"])), claim["conditions"]
    scale = 100.0 if words.suffix == " points" else 1.0
    interval = claim.get("interval") or claim.get("plain_interval") or {}

    def scaled(value: Any) -> float | None:
        return scale * value if isinstance(value, int | float) else None

    return {
        "pair": f"{name(second, limit=40)} − {name(first, limit=40)}",
        "condition": name(first),
        "other": name(second),
        "measure": name(words.noun) + " (points)" * (scale != 1.0),
        "better": claim.get("better") or words.better,
        "delta": scaled(claim["estimate"]),
        "low": scaled(interval.get("low")),
        "high": scaled(interval.get("high")),
        "margin": scaled(claim.get("margin")),
        "visible": scaled(claim.get("min_detectable_difference")),
        "verdict": str(claim.get("verdict") or "untestable"),
        "labels_needed": claim.get("needed"),
        "unit": name(claim.get("unit") or "item"),
        "n": claim.get("n"),
    }


def _colour(row: Row) -> str:
    """Good or bad for the second condition where a difference was shown; grey where it was not."""
    if row["verdict"] not in SHOWN:
        return "var(--muted)"
    return "var(--better)" if (row["delta"] > 0) == (row["better"] == "higher") else "var(--worse)"


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


def _sets(sets: Sequence[Sequence[str]], comparison: Mapping[str, Any]) -> Iterator[Figure]:
    groups = [[name(n) for n in group] for group in sets if group]
    if not groups:
        return
    primary = str(comparison.get("primary") or "accuracy")
    words, found = measure_words(primary), _main_means(comparison, primary)
    better = next((c.get("better") for c in comparison.get("claims") or [] if c["measure"] == primary), None)
    sign = 1 if (better or words.better) == "lower" else -1
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
    changes = {"fixed": "var(--better)", "broken": "var(--worse)"}
    rows: list[Row] = [
        {
            "pair": f"{name(flip['conditions'][0], limit=40)} → {name(flip['conditions'][1], limit=40)}",
            "condition": name(flip["conditions"][0]),
            "other": name(flip["conditions"][1]),
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
