"""How badly: magnitude-frequency curves, exceedances per million, where, by which mechanism, and which law fits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from richter.report._figure import (
    MOST_COLOURED,
    RAMP,
    Figure,
    Row,
    chart,
    colour,
    facets,
    figure,
    log_ticks,
    shape,
    shown_names,
)
from richter.report._words import among, name, number, percent

CATASTROPHIC = 3.0
SEVERITY_AXIS = alt.Axis(values=[0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], format=".1f")


def severity_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the severity section of a results document allows."""
    study = section.get("study") or {}
    conditions: Mapping[str, Any] = study.get("conditions") or {}
    yield from _curve(section.get("curve") or [], conditions)
    yield from _per_million(conditions)
    yield from _heatmap(section.get("heatmap") or [])
    yield from _mechanisms(section.get("mechanisms") or [])
    yield from _families(conditions)


def _curve(curve: Sequence[Mapping[str, Any]], conditions: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    for point in curve:
        n = (conditions.get(point["condition"]) or {}).get("n")
        row: Row = {key: point.get(key) for key in ("condition", "severity", "count", "exceed", "fitted_exceed")}
        row["condition"] = name(row["condition"])
        row["n"] = n
        for key in ("exceed", "fitted_exceed"):
            row[key] = row[key] / n if n and row[key] is not None else None  # the document counts answers
            row[f"drawn_{key}"] = row[key] or None  # a logarithm has no place for 0
        rows.append(row)
    if not rows:
        return
    names = shown_names(rows)
    x = alt.X("severity:Q", title="severity of at least", scale=alt.Scale(domain=[0.4, 4.1]), axis=SEVERITY_AXIS)
    shares = [r[key] for r in rows for key in ("drawn_exceed", "drawn_fitted_exceed") if r[key]]
    bottom = min(shares, default=0.01) / 1.5
    y_scale = alt.Scale(type="log", domain=[bottom, 1.0], nice=False)
    y_axis = alt.Axis(format="~%", values=log_ticks(bottom, 1.0))
    base = chart().encode(x=x, color=colour(names, legend=len(names) <= MOST_COLOURED))
    seen = base.transform_filter(alt.FieldValidPredicate(field="drawn_exceed", valid=True)).mark_point(
        filled=True, size=55, opacity=0.95
    )
    seen = seen.encode(
        y=alt.Y("drawn_exceed:Q", title="share of answers", scale=y_scale, axis=y_axis),
        tooltip=["condition:N", "severity:Q", "count:Q", alt.Tooltip("exceed:Q", format=".3~%")],
        shape=shape(names, legend=len(names) <= MOST_COLOURED),
    )
    fit = base.transform_filter(alt.FieldValidPredicate(field="drawn_fitted_exceed", valid=True)).mark_line(
        strokeWidth=1.5, opacity=0.8
    )
    fit = fit.encode(y=alt.Y("drawn_fitted_exceed:Q", title="share of answers", scale=y_scale, axis=y_axis))
    layers = alt.layer(fit, seen)
    drawing = layers if len(names) <= MOST_COLOURED else facets(layers.properties(height=160), "condition", order=names)
    known = {
        c: found["slope"]["b"]
        for c, found in conditions.items()
        if isinstance((found.get("slope") or {}).get("b"), int | float) and found["slope"].get("adequate")
    }
    sentence = "Points are the share of answers at least that severe, lines the fitted law above its m_min."
    if known:
        flattest = min(known, key=lambda c: known[c])
        few = f"{len(known)} of {len(conditions)} conditions" if len(conditions) > 1 else "this condition"
        sentence += (
            f" It describes the errors of {few}: the flatter, the heavier. {name(flattest)} has the flattest, with a "
            f"slope b of {number(known[flattest])}"
            + (f" against {number(max(known.values()))} for the steepest." if len(known) > 1 else ".")
        )
    else:
        sentence += " It is adequate for no condition, or there are too few errors to say: read the points."
    yield figure(
        "severity-curve",
        title="Magnitude and frequency",
        sentence=sentence,
        drawing=drawing,
        rows=rows,
        columns={
            "condition": "condition",
            "severity": "severity",
            "count": "answers at it",
            "exceed": "share at or above",
            "fitted_exceed": "fitted share",
            "n": "answers",
        },
        docs="estimators/b-value",
        drills=True,
    )


def _per_million(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    for condition, found in conditions.items():
        for level in (found.get("per_million") or {}).values():
            span = level.get("interval") or {}
            low, high = span.get("low"), span.get("high")
            rows.append(
                {
                    "condition": name(condition),
                    "severity": level["severity"],
                    "per_million": level["per_million"],
                    "low": low,
                    "high": high,
                    "upper": level.get("upper"),
                    "count": level["count"],
                    "n": level["n"],
                }
            )
    if not rows:
        return
    names = shown_names(rows)
    worst = [r for r in rows if r["severity"] == CATASTROPHIC]
    sentence = "How often an answer of at least each severity is to be expected in a million, with 95% intervals."
    if worst:
        top = max(worst, key=lambda r: r["per_million"] or 0.0)  # None where none was seen
        sentence += (
            f" At severity {CATASTROPHIC:g} and above the most is {number(top['per_million'])} for {top['condition']}"
            f" [{number(top['low'])}, {number(top['high'])}]."
        )
    many = len(names) > MOST_COLOURED
    y = alt.Y("severity:O", title="severity of at least", sort="ascending")
    ends = [float(r[key]) for r in rows for key in ("low", "high", "per_million") if r[key]]
    bottom, most = max(min(ends, default=1.0) / 2, 0.1), max(ends, default=1e6) * 1.2
    for row in rows:  # a logarithm has no place for 0: an interval that starts there is drawn from the left edge
        row["drawn_from"] = None if row["low"] is None else max(row["low"], bottom)
        row["drawn_at"] = row["per_million"] or None
    scale = alt.Scale(type="log", domain=[bottom, most], nice=False)
    axis = alt.Axis(format="~s", values=log_ticks(bottom, most))
    x = alt.X("drawn_from:Q", title="per million answers", scale=scale, axis=axis)
    encode: dict[str, Any] = {"y": y, "color": colour(names, legend=not many)}
    if not many and len(names) > 1:
        encode["yOffset"] = alt.YOffset("condition:N", scale=alt.Scale(domain=names))
    base = chart(height=alt.Step(9 if not many else 12)).encode(**encode)
    bars = base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q")
    dots = base.transform_filter(alt.FieldValidPredicate(field="drawn_at", valid=True))
    dots = dots.mark_point(filled=True, size=45, opacity=1).encode(
        x=alt.X("drawn_at:Q", title="per million answers", scale=scale, axis=axis),
        tooltip=["condition:N", "severity:O", "per_million:Q", "low:Q", "high:Q", "count:Q", "n:Q"],
    )
    layers = alt.layer(bars, dots)
    yield figure(
        "severity-per-million",
        title="Exceedances per million answers",
        sentence=sentence,
        drawing=facets(layers, "condition", order=names) if many else layers,
        rows=rows,
        columns={
            "condition": "condition",
            "severity": "severity",
            "per_million": "per million",
            "low": "from",
            "high": "to",
            "upper": "upper limit",
            "count": "seen",
            "n": "answers",
        },
        docs="estimators/deployment-table",
        drills=True,
    )


def _heatmap(cells: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "condition": name(c["condition"]),
            "domain": name(c.get("domain") or "any"),
            "tier": c.get("tier") if c.get("tier") is not None else "–",
            "n": c.get("n"),
            "errors": c.get("errors"),
            "error_rate": c.get("error_rate"),
            "mean_severity": c.get("mean_severity"),
            "catastrophic": c.get("catastrophic"),
        }
        for c in cells
    ]
    rows = [r for r in rows if r["n"]]
    if not rows:
        return
    names = shown_names(rows)
    enough = [r for r in rows if r["n"] >= 5 and r["mean_severity"] is not None] or rows
    worst = max(enough, key=lambda r: r["mean_severity"] or 0.0)
    sentence = (
        f"Mean severity by domain and tier (1 easy, 5 hard); darker on white, brighter on black, is worse. The worst "
        f"cell is {worst['domain']}, tier {worst['tier']}, of {worst['condition']}: mean severity "
        f"{number(worst['mean_severity'])}, {percent(worst['error_rate'])} of {number(worst['n'])} answers wrong."
    )
    top = max((r["mean_severity"] or 0.0) for r in rows) or 1.0
    base = chart(height=alt.Step(22)).mark_rect(stroke="var(--paper)", strokeWidth=1.5)
    base = base.encode(
        x=alt.X("tier:O", title="tier", axis=alt.Axis(labelAngle=0, orient="bottom", grid=False)),
        y=alt.Y("domain:N", title=None, axis=alt.Axis(grid=False)),
        color=alt.Color(
            "mean_severity:Q",
            scale=alt.Scale(type="quantize", domain=[0, top], range=RAMP),
            legend=alt.Legend(title="mean severity", format=".1f"),
        ),
        tooltip=[
            "condition:N",
            "domain:N",
            "tier:O",
            alt.Tooltip("mean_severity:Q", format=".2f"),
            alt.Tooltip("error_rate:Q", format=".1%"),
            "errors:Q",
            "n:Q",
        ],
    )
    yield figure(
        "severity-heatmap",
        title="Where: domain by tier",
        sentence=sentence,
        drawing=facets(base, "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "domain": "domain",
            "tier": "tier",
            "n": "answers",
            "errors": "wrong",
            "error_rate": "error rate",
            "mean_severity": "mean severity",
            "catastrophic": "severity 3 and over",
        },
        docs="estimators/deployment-table",
        drills=True,
    )


def _mechanisms(found: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    rows = [
        {
            "condition": name(m["condition"]),
            "mechanism": name(m.get("mechanism") or "not named"),
            "severity": m["severity"],
            "count": m["count"],
        }
        for m in found
        if m.get("count")
    ]
    if not rows:
        return
    names = shown_names(rows)
    totals: dict[str, float] = {}
    for row in rows:
        totals[row["mechanism"]] = totals.get(row["mechanism"], 0) + row["count"]
    ranked = sorted(totals, key=lambda m: -totals[m])
    sentence = (
        f"Errors by what went wrong, coloured by severity: {ranked[0]} accounts for "
        f"{percent(totals[ranked[0]] / sum(totals.values()))} of {number(sum(totals.values()))} errors"
        + (f", then {among(ranked[1:])}." if len(ranked) > 1 else ".")
    )
    levels = sorted({r["severity"] for r in rows})
    ramp = [RAMP[min(5, 1 + int(level / 4 * 4.99))] for level in levels]
    drawing = (
        chart(height=alt.Step(20))
        .mark_bar()
        .encode(
            y=alt.Y("mechanism:N", title=None, sort=ranked, axis=alt.Axis(grid=False)),
            x=alt.X("count:Q", title="errors", axis=alt.Axis(tickCount=4)),
            color=alt.Color(
                "severity:O", scale=alt.Scale(domain=levels, range=ramp), legend=alt.Legend(title="severity", columns=4)
            ),
            order=alt.Order("severity:Q"),
            tooltip=["condition:N", "mechanism:N", "severity:O", "count:Q"],
        )
    )
    yield figure(
        "severity-mechanisms",
        title="Mechanism by severity",
        sentence=sentence,
        drawing=facets(drawing, "condition", order=names) if len(names) > 1 else drawing,
        rows=rows,
        columns={"condition": "condition", "mechanism": "mechanism", "severity": "severity", "count": "errors"},
        docs="estimators/rule-judge",
        drills=True,
    )


def _families(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    for condition, found in conditions.items():
        families = found.get("families") or {}
        fits: Mapping[str, Any] = families.get("fits") or {}
        bics = {f: v["bic"] for f, v in fits.items() if isinstance(v.get("bic"), int | float)}
        if not bics:
            continue
        best = min(bics, key=lambda f: bics[f])
        decisive = families.get("decisive")
        rows += [
            {
                "condition": name(condition),
                "family": family.replace("_", " "),
                "bic": bic,
                "delta_bic": bic - bics[best],
                "best": "best" if family == best else "",
                "decisive": bool(decisive) if family == best else None,
            }
            for family, bic in bics.items()
        ]
    if not rows:
        return
    best_rows = [r for r in rows if r["best"]]
    decided = [r for r in best_rows if r["decisive"]]
    sentence = (
        f"How much worse each law fits than the best, by BIC (0 is best, over 10 is strong). The best law is decisive, "
        f"and describes the errors, for {len(decided)} of {len(best_rows)} "
        + ("condition" if len(best_rows) == 1 else "conditions")
        + f"; most often best: {Counter(r['family'] for r in best_rows).most_common(1)[0][0]}."
    )
    names = shown_names(rows)
    drawing = (
        chart(height=alt.Step(26))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            y=alt.Y("condition:N", title=None, sort=names),
            x=alt.X(
                "delta_bic:Q",
                title="BIC above the best law",
                scale=alt.Scale(type="symlog", constant=2),
                axis=alt.Axis(values=[0, 2, 6, 10, 30, 100, 300, 1000, 3000, 10000, 100000]),
            ),
            color=alt.Color(
                "family:N",
                scale=alt.Scale(range=[f"var(--c{k})" for k in (0, 1, 2, 3, 4)]),
                legend=alt.Legend(title=None),
            ),
            shape=alt.Shape("family:N", legend=alt.Legend(title=None)),
            tooltip=[
                "condition:N",
                "family:N",
                alt.Tooltip("bic:Q", format=".1f"),
                alt.Tooltip("delta_bic:Q", format=".1f"),
            ],
        )
    )
    yield figure(
        "severity-families",
        title="Which law fits",
        sentence=sentence,
        drawing=drawing,
        rows=rows,
        columns={
            "condition": "condition",
            "family": "law",
            "bic": "BIC",
            "delta_bic": "above the best",
            "best": "",
            "decisive": "decisive",
        },
        docs="estimators/severity-families",
    )
