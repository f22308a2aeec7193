"""Is there enough evidence: differences with their margin, who cannot be told apart, and what was fixed and broken."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.claims import measure_words
from richter.report._figure import Figure, Row, figure, interval_panel, leading
from richter.report._numbers import among, count, name
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


def _forest(rows: Sequence[Row]) -> Iterator[Figure]:
    if not rows:
        return

    def size(row: Row) -> float:
        width = (row["high"] - row["low"]) if row["low"] is not None and row["high"] is not None else 0.0
        return float(abs(row["delta"]) / width if width else abs(row["delta"]))

    widest: dict[str, float] = {}
    for row in rows:
        widest[row["pair"]] = max(widest.get(row["pair"], 0.0), size(row))
    pairs, more = leading(sorted(widest, key=lambda p: -widest[p]) if len(widest) > 30 else list(widest), "pairs")
    apart = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    seen = [r for r in rows if r["visible"] is not None and abs(r["delta"]) >= r["visible"]]
    needed = [r for r in rows if isinstance(r["labels_needed"], int | float) and r["labels_needed"] > 0]
    sentence = (
        f"Every difference between two conditions with its interval, green where the first named is better, red where "
        f"it is worse, grey where neither was shown. {count(len(apart), 'of the intervals', 'of the intervals')} out "
        f"of {len(rows)} {'lies' if len(apart) == 1 else 'lie'} wholly on one side of zero; {len(seen)} "
        f"{'is' if len(seen) == 1 else 'are'} as large as these items can show with 80% power."
    )
    if needed:
        most = max(needed, key=lambda r: r["labels_needed"])
        sentence += (
            f" The dearest to settle is {most['pair']} on {most['measure'].split(' (')[0]}: "
            f"{count(most['labels_needed'], most['unit'])}."
        )
    measures = list(dict.fromkeys(r["measure"] for r in rows))
    yield figure(
        "floors-forest",
        title="Every difference",
        sentence=sentence + more,
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
    words, own = measure_words(primary), (comparison.get("measures") or {}).get(primary) or {}
    found = {name(k): v for k, v in own.items()}
    if primary == "accuracy" and not found:
        found = {name(k): v.get("accuracy") for k, v in (comparison.get("conditions") or {}).items()}
    sign = 1 if (better.get(primary) or words.better) == "lower" else -1
    rows: list[Row] = [
        {"set": k, "condition": member, "value": found.get(member)}
        for k, group in enumerate(groups, start=1)
        for member in group
    ]
    members = sorted(dict.fromkeys(r["condition"] for r in rows), key=lambda m: sign * (found.get(m) or 0.0))
    together = [g for g in groups if len(g) > 1]
    if together:
        sentence = (
            f"Conditions joined by a bar cannot be told apart on {words.noun}: {count(len(groups), 'set')} of "
            f"{count(len(members), 'condition')}; the largest holds {among(max(together, key=len))}."
        )
    else:
        sentence = f"Every one of the {count(len(members), 'condition')} can be told from every other on {words.noun}."
    drawn, more = leading(members, "conditions, the best ones")
    lane = {member: k for k, member in enumerate(drawn)}
    marks = []
    for k, group in enumerate(groups, start=1):
        places = [lane[m] for m in group if m in lane]
        if places:
            marks.append(Mark(kind="line", at=[(k, min(places)), (k, max(places))], size=8, faint=True))
    marks += [
        Mark(kind="dot", at=[(r["set"], lane[r["condition"]])], row=k)
        for k, r in enumerate(rows)
        if r["condition"] in lane
    ]
    x = axis([0.0, 1 + max((r["set"] for r in rows if r["condition"] in lane), default=0)], "set")
    yield figure(
        "floors-sets",
        title="Which conditions cannot be told apart",
        sentence=sentence + more,
        panels=[Panel(x=x, y=lanes(drawn), marks=marks)] if len(members) > 2 else [],
        rows=rows,
        columns=f"set, condition, value: {words.noun}",
        docs="estimators/comparison",
    )


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
    most_of: dict[str, int] = {}
    for row in rows:
        most_of[row["pair"]] = max(most_of.get(row["pair"], 0), row["items"])
    pairs, more = leading(sorted(most_of, key=lambda p: -most_of[p]) if len(most_of) > 30 else list(most_of), "pairs")
    most = max(rows, key=lambda r: r["items"])
    signed = {k: r["items"] if r["change"] == "fixed" else -r["items"] for k, r in enumerate(rows)}
    lane = {pair: k for k, pair in enumerate(pairs)}
    marks = [
        Mark(kind="bar", at=[(0, lane[r["pair"]]), (signed[k], lane[r["pair"]])], colour=changes[r["change"]], row=k)
        for k, r in enumerate(rows)
        if r["pair"] in lane and r["items"]
    ]
    if len(most_of) == 1:
        fixed, broken = (r["items"] for r in rows)
        sentence = (
            f"{count(fixed, 'item')} got right and {count(broken, 'item')} got wrong from {rows[0]['condition']} to "
            f"{rows[0]['other']}; a small net change may hide many of both."
        )
    else:
        sentence = (
            f"Items that one condition has wrong and the other right; a small net gain may hide many of both. The most "
            f"are {count(most['items'], 'item')} {most['change']} from {most['condition']} to {most['other']}.{more}"
        )
    yield figure(
        "floors-flips",
        title="Fixed and broken items",
        sentence=sentence,
        panels=[Panel(x=axis(signed.values(), "broken ← items → fixed", zero=True), y=lanes(pairs), marks=marks)],
        rows=rows,
        columns="condition: from, other: to, change, items",
        docs="estimators/comparison",
        drills=True,
    )
