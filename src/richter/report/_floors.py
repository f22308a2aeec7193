"""Is there enough evidence: gaps with their margin, against their floors, and the labels that would settle them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from richter.report._figure import Figure, Row, chart, facets, figure, leading, log_ticks
from richter.report._words import among, count, name, number

MEASURES = {
    "accuracy": "accuracy (points)",
    "catastrophic_rate": "rate of severity 3 and over (points)",
    "ece": "ECE (points)",
    "mean_severity": "mean severity",
    "b_value": "slope b",
    "tail": "tail shape ξ",
}
IN_POINTS = {"accuracy", "catastrophic_rate", "ece"}
VERDICTS = {
    "verified": "var(--good)",
    "equivalent": "var(--c0)",
    "refuted": "var(--bad)",
    "undecided": "var(--wait)",
    "blocked": "var(--none)",
    "untestable": "var(--none)",
}


def floors_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the floors section of a results document allows."""
    gaps = [_gap(g) for g in section.get("gaps") or [] if g.get("delta") is not None]
    yield from _forest(gaps)
    yield from _against_floor(gaps)
    yield from _labels(gaps)
    yield from _sets(section.get("sets") or [], section.get("comparison") or {})
    yield from _flips(section.get("flips") or [])


def _gap(gap: Mapping[str, Any]) -> Row:
    measure = str(gap.get("measure"))
    scale = 100.0 if measure in IN_POINTS else 1.0
    interval = gap.get("interval") or {}

    def scaled(value: Any) -> float | None:
        return scale * value if isinstance(value, int | float) else None

    return {
        "pair": f"{name(gap['b'], limit=40)} − {name(gap['a'], limit=40)}",
        "condition": name(gap["a"]),
        "other": name(gap["b"]),
        "measure": MEASURES.get(measure, name(measure)),
        "delta": scaled(gap["delta"]),
        "low": scaled(interval.get("low")),
        "high": scaled(interval.get("high")),
        "margin": scaled(gap.get("margin")),
        "visible": scaled(gap.get("smallest_visible")),
        "verdict": str(gap.get("verdict") or "untestable"),
        "labels_needed": gap.get("labels_needed"),
        "n": gap.get("n"),
    }


def _pairs(gaps: Sequence[Row]) -> list[str]:
    """The pairs, those with the widest gap (in units of its interval) first."""

    def size(row: Row) -> float:
        width = (row["high"] - row["low"]) if row["low"] is not None and row["high"] is not None else 0.0
        return float(abs(row["delta"]) / width if width else abs(row["delta"]))

    best: dict[str, float] = {}
    for row in gaps:
        best[row["pair"]] = max(best.get(row["pair"], 0.0), size(row))
    return sorted(best, key=lambda p: -best[p]) if len(best) > 30 else list(best)


def _verdict_colour(rows: Sequence[Row]) -> alt.Color:
    present = [v for v in VERDICTS if any(r["verdict"] == v for r in rows)]
    return alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=present, range=[VERDICTS[v] for v in present]),
        legend=alt.Legend(title=None),
    )


def _forest(gaps: Sequence[Row]) -> Iterator[Figure]:
    if not gaps:
        return
    rows = [dict(g) for g in gaps]
    for row in rows:
        row["margin_low"] = None if row["margin"] is None else -row["margin"]
        row["zero"] = 0
    pairs, more = leading(_pairs(rows), "pairs")
    decided = [r for r in rows if r["verdict"] in ("verified", "refuted", "equivalent")]
    apart = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    margins = any(r["margin"] for r in rows)
    sentence = (
        "Every difference between two conditions with its interval"
        + (
            " and the margin that was said to matter, shaded"
            if margins
            else "; no margin was stated, so none is shaded"
        )
        + f". {count(len(apart), 'of the intervals', 'of the intervals')} out of {len(rows)} "
        + ("lies" if len(apart) == 1 else "lie")
        + f" wholly on one side of zero; {len(decided)} of {count(len(rows), 'claim')} "
        + ("is" if len(decided) == 1 else "are")
        + f" decided.{more}"
    )
    base = chart(height=alt.Step(20)).transform_filter(alt.FieldOneOfPredicate(field="pair", oneOf=pairs))
    y = alt.Y("pair:N", sort=pairs, title=None, axis=alt.Axis(grid=False))
    difference = "difference"  # the pair's name says of which from which
    shade = base.mark_bar(color="var(--shade)", height=alt.RelativeBandSize(band=1)).encode(
        x=alt.X("margin_low:Q", title=difference), x2="margin:Q", y=y
    )
    zero = base.mark_tick(color="var(--muted)", thickness=1, height=20).encode(x=alt.X("zero:Q", title=difference), y=y)
    bars = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title=difference), x2="high:Q", y=y, color=_verdict_colour(rows)
    )
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("delta:Q", title=difference),
        y=y,
        color=_verdict_colour(rows),
        tooltip=[
            "pair:N",
            "measure:N",
            *(alt.Tooltip(f"{k}:Q", format="+.3f") for k in ("delta", "low", "high")),
            "verdict:N",
        ],
    )
    layers = alt.layer(*([shade] if margins else []), zero, bars, dots)
    measures = [m for m in MEASURES.values() if any(r["measure"] == m for r in rows)]
    drawing: Any = layers
    if len(measures) > 1:
        drawing = facets(layers, "measure", order=measures).resolve_scale(x="independent")
    yield figure(
        "floors-forest",
        title="Differences, with the margin shaded",
        sentence=sentence,
        drawing=drawing,
        rows=rows,
        columns={
            "condition": "from",
            "other": "to",
            "measure": "measure",
            "delta": "difference",
            "low": "from",
            "high": "to",
            "margin": "margin",
            "verdict": "verdict",
            "n": "items",
        },
        docs="estimators/comparison",
        drills=True,
    )


def _against_floor(gaps: Sequence[Row]) -> Iterator[Figure]:
    rows = [{**g, "gap": abs(g["delta"])} for g in gaps if g["visible"] is not None]
    if not rows:
        return
    seen = [r for r in rows if r["gap"] >= r["visible"]]
    pairs, more = leading(_pairs(rows), "pairs")
    base = (
        chart(height=alt.Step(18))
        .transform_filter(alt.FieldOneOfPredicate(field="pair", oneOf=pairs))
        .encode(y=alt.Y("pair:N", sort=pairs, title=None, axis=alt.Axis(grid=False)))
    )
    bars = base.mark_bar(height=8, opacity=0.55).encode(
        x=alt.X("gap:Q", title="size of the difference", axis=alt.Axis(tickCount=4)),
        color=_verdict_colour(rows),
        tooltip=[
            "pair:N",
            "measure:N",
            *(alt.Tooltip(f"{k}:Q", format=".3f") for k in ("gap", "visible")),
            "verdict:N",
        ],
    )
    marks = base.mark_point(color="var(--ink)", shape="stroke", angle=90, size=70, strokeWidth=1.6).encode(
        x="visible:Q"
    )
    measures = [m for m in MEASURES.values() if any(r["measure"] == m for r in rows)]
    layers = alt.layer(bars, marks)
    drawing: Any = layers
    if len(measures) > 1:
        drawing = facets(layers, "measure", order=measures).resolve_scale(x="independent")
    yield figure(
        "floors-gap",
        title="Gaps against what can be seen",
        sentence=(
            "How large each difference is (bar), against the smallest that these items could have shown, 80% power "
            f"(line): {len(seen)} of {count(len(rows), 'difference')} "
            + ("reaches" if len(seen) == 1 else "reach")
            + f" the line.{more}"
        ),
        drawing=drawing,
        rows=rows,
        columns={
            "condition": "from",
            "other": "to",
            "measure": "measure",
            "gap": "size",
            "visible": "could have shown",
            "verdict": "verdict",
        },
        docs="estimators/floors",
        drills=True,
    )


def _labels(gaps: Sequence[Row]) -> Iterator[Figure]:
    rows = [g for g in gaps if isinstance(g["labels_needed"], int | float) and g["labels_needed"] > 0]
    if not rows:
        return
    pairs, more = leading(_pairs(rows), "pairs")
    most = max(rows, key=lambda r: r["labels_needed"])
    values = [float(r["labels_needed"]) for r in rows] + [float(r["n"]) for r in rows if r["n"]]
    low, high = min(values) / 1.5, max(values) * 1.5
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(format="~s", values=log_ticks(low, high))
    base = (
        chart(height=alt.Step(20))
        .transform_filter(alt.FieldOneOfPredicate(field="pair", oneOf=pairs))
        .encode(y=alt.Y("pair:N", sort=pairs, title=None, axis=alt.Axis(grid=False)))
    )
    reach = base.mark_rule(strokeWidth=2, color="var(--line)").encode(
        x=alt.X("n:Q", title="labelled items", scale=scale, axis=axis), x2="labels_needed:Q"
    )
    have = base.mark_tick(color="var(--ink)", thickness=2, height=14).encode(x=alt.X("n:Q", scale=scale, axis=axis))
    need = base.mark_point(filled=True, size=65, opacity=1).encode(
        x=alt.X("labels_needed:Q", scale=scale, axis=axis),
        color=_verdict_colour(rows),
        tooltip=["pair:N", "measure:N", "n:Q", "labels_needed:Q", "verdict:N"],
    )
    measures = [m for m in MEASURES.values() if any(r["measure"] == m for r in rows)]
    layers = alt.layer(reach, have, need)
    yield figure(
        "floors-labels",
        title="Labels needed",
        sentence=(
            f"Items that were labelled (line) and that would settle the margin (dot). The dearest is {most['pair']} on "
            f"{most['measure'].split(' (')[0]}: {number(most['labels_needed'])} items.{more}"
        ),
        drawing=layers if len(measures) == 1 else facets(layers, "measure", order=measures),
        rows=rows,
        columns={
            "condition": "from",
            "other": "to",
            "measure": "measure",
            "n": "labelled",
            "labels_needed": "needed",
            "verdict": "verdict",
        },
        docs="estimators/floors",
    )


def _sets(sets: Sequence[Sequence[str]], comparison: Mapping[str, Any]) -> Iterator[Figure]:
    groups = [[name(n) for n in group] for group in sets if group]
    if not groups:
        return
    found = {name(k): v for k, v in (comparison.get("conditions") or {}).items()}
    rows: list[Row] = [
        {
            "set": k,
            "condition": member,
            "accuracy": (found.get(member) or {}).get("accuracy"),
        }
        for k, group in enumerate(groups, start=1)
        for member in group
    ]
    members = list(dict.fromkeys(r["condition"] for r in rows))
    members.sort(key=lambda m: -((found.get(m) or {}).get("accuracy") or 0))
    together = [g for g in groups if len(g) > 1]
    if together:
        sentence = (
            f"Conditions joined by a bar cannot be told apart on accuracy: {count(len(groups), 'set')} of "
            f"{count(len(members), 'condition')}; the largest holds {among(max(together, key=len))}."
        )
    else:
        sentence = f"Every one of the {count(len(members), 'condition')} can be told from every other on accuracy."
    base = chart(height=alt.Step(20)).encode(
        y=alt.Y("condition:N", sort=members, title=None),
        x=alt.X("set:O", title="set", axis=alt.Axis(labelAngle=0, grid=False)),
    )
    line = base.mark_line(strokeWidth=5, opacity=0.45, color="var(--c0)").encode(detail="set:N")
    dots = base.mark_point(filled=True, size=70, opacity=1, color="var(--c0)").encode(
        tooltip=["condition:N", "set:O", alt.Tooltip("accuracy:Q", format=".1%")]
    )
    yield figure(
        "floors-sets",
        title="Which conditions cannot be told apart",
        sentence=sentence,
        drawing=alt.layer(line, dots),
        rows=rows,
        columns={"set": "set", "condition": "condition", "accuracy": "accuracy"},
        docs="estimators/comparison",
    )


def _flips(flips: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = []
    for flip in flips:
        common = {
            "pair": f"{name(flip['a'], limit=40)} → {name(flip['b'], limit=40)}",
            "condition": name(flip["a"]),
            "other": name(flip["b"]),
        }
        rows.append({**common, "change": "fixed", "items": flip["fixed"], "drawn": flip["fixed"]})
        rows.append({**common, "change": "broken", "items": flip["broken"], "drawn": -flip["broken"]})
    if not any(r["items"] for r in rows):
        return
    most_of: dict[str, int] = {}
    for row in rows:
        most_of[row["pair"]] = max(most_of.get(row["pair"], 0), row["items"])
    order = sorted(most_of, key=lambda p: -most_of[p])
    pairs, more = leading(order if len(order) > 30 else list(dict.fromkeys(r["pair"] for r in rows)), "pairs")
    most = max(rows, key=lambda r: r["items"])
    drawing = (
        chart(height=alt.Step(22))
        .transform_filter(alt.FieldOneOfPredicate(field="pair", oneOf=pairs))
        .mark_bar(height=12)
        .encode(
            y=alt.Y("pair:N", sort=pairs, title=None, axis=alt.Axis(grid=False)),
            x=alt.X("drawn:Q", title="broken ← items → fixed", axis=alt.Axis(tickCount=5)),
            color=alt.Color(
                "change:N",
                scale=alt.Scale(domain=["fixed", "broken"], range=["var(--c0)", "var(--c1)"]),
                legend=alt.Legend(title=None),
            ),
            tooltip=["pair:N", "change:N", "items:Q"],
        )
    )
    yield figure(
        "floors-flips",
        title="Fixed and broken items",
        sentence=(
            f"Items that one condition has wrong and the other right; a small net gain may hide many of both. The most "
            f"are {count(most['items'], 'item')} {most['change']} from {most['condition']} to {most['other']}.{more}"
        ),
        drawing=drawing,
        rows=rows,
        columns={"condition": "from", "other": "to", "change": "change", "items": "items"},
        docs="estimators/comparison",
        drills=True,
    )
