"""The tail: which gates each pair passed, whether the shape holds still, and whether the fitted law is the data's."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from richter.report._figure import MOST_COLOURED, Figure, Row, chart, colour, facets, figure, leading, shown_names
from richter.report._words import count, name, number

GATES = {
    "G1": "equal mean",
    "G2": "equal tail mean",
    "G3": "enough exceedances",
    "G4": "the law fits",
    "G5": "the shape is stable",
    "P1": "intervals apart",
    "P2": "difference worth a claim",
}
OUTCOMES = {
    "passed": ("var(--good)", "circle"),
    "failed": ("var(--bad)", "cross"),
    "not run": ("var(--none)", "diamond"),
}


def tail_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the tail section of a results document allows."""
    study = section.get("study") or {}
    yield from _ladder(study)
    yield from _stability(section, study)
    yield from _qq(section)


def _ladder(study: Mapping[str, Any]) -> Iterator[Figure]:
    pairs = study.get("claims") or []
    rows: list[Row] = []
    for pair in pairs:
        first, second = pair["conditions"]
        both = f"{name(first, limit=40)} / {name(second, limit=40)}"
        for outcome in pair.get("gates") or []:
            gate = outcome["name"]
            passed = outcome.get("passed")
            rows.append(
                {
                    "pair": both,
                    "condition": name(first),
                    "other": name(second),
                    "gate": gate,
                    "asks": GATES.get(gate, gate),
                    "outcome": "passed" if passed else "failed" if passed is False else "not run",
                    "detail": name(outcome.get("detail") or "", limit=200),
                    "rule": name(outcome.get("rule") or "", limit=200),
                    "verdict": pair.get("verdict"),
                }
            )
    if not rows:
        return
    verified = [p for p in pairs if p.get("verdict") == "verified"]
    blocked = [p["blocked_by"] for p in pairs if p.get("blocked_by")]
    sentence = f"Which gates each pair passed on the way to a claim about its tails: {len(verified)} of {len(pairs)} "
    sentence += (
        "pair is verified" if len(verified) == len(pairs) == 1 else "are verified" if len(pairs) > 1 else "is verified"
    )
    if blocked:
        often = max(sorted(set(blocked)), key=blocked.count)
        sentence += f"; most often the first gate to fail is {often} ({GATES.get(often, often)})"
    order = list(dict.fromkeys(r["pair"] for r in rows))
    drawn, more = leading(order, "pairs")
    gates = [g for g in GATES if any(r["gate"] == g for r in rows)]
    meaning = "; ".join(f"{g} {GATES[g]}" for g in gates)
    outcomes = [o for o in OUTCOMES if any(r["outcome"] == o for r in rows)]
    base = (
        chart(height=alt.Step(24))
        .transform_filter(alt.FieldOneOfPredicate(field="pair", oneOf=drawn))
        .encode(
            x=alt.X("gate:N", sort=gates, title=None, axis=alt.Axis(orient="top", labelAngle=0, grid=False)),
            y=alt.Y("pair:N", sort=drawn, title=None, axis=alt.Axis(grid=True)),
            tooltip=["pair:N", "gate:N", "asks:N", "outcome:N", "detail:N"],
        )
    )
    points = base.mark_point(filled=True, size=130, opacity=1).encode(
        color=alt.Color(
            "outcome:N",
            scale=alt.Scale(domain=outcomes, range=[OUTCOMES[o][0] for o in outcomes]),
            legend=alt.Legend(title=None),
        ),
        shape=alt.Shape(
            "outcome:N",
            scale=alt.Scale(domain=outcomes, range=[OUTCOMES[o][1] for o in outcomes]),
            legend=alt.Legend(title=None),
        ),
    )
    yield figure(
        "tail-gates",
        title="The gates",
        sentence=f"{sentence}. {meaning}.{more}",
        drawing=points,
        rows=rows,
        columns={
            "condition": "condition",
            "other": "and",
            "gate": "gate",
            "asks": "asks for",
            "outcome": "outcome",
            "detail": "seen",
            "rule": "rule",
            "verdict": "the pair's verdict",
        },
        docs="estimators/tail-protocol",
    )


def _stability(section: Mapping[str, Any], study: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "condition": name(s["condition"]),
            **{key: s.get(key) for key in ("q", "threshold", "n_exc", "xi", "low", "high")},
        }
        for s in section.get("stability") or []
        if s.get("xi") is not None
    ]
    if not rows:
        return
    names = shown_names(rows)
    q = study.get("q")
    at = f" The protocol's threshold is at q = {number(q)}." if q else ""
    base = chart(height=200).encode(
        x=alt.X("q:Q", title="threshold quantile", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
        color=colour(names, legend=len(names) <= MOST_COLOURED),
    )
    band = base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="shape ξ"), y2="high:Q")
    line = base.mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=18)).encode(
        y=alt.Y("xi:Q", title="shape ξ"),
        tooltip=["condition:N", alt.Tooltip("q:Q"), "n_exc:Q", alt.Tooltip("xi:Q", format=".3f")],
    )
    layers = alt.layer(band, line)
    column = name(section.get("column") or "the score")
    yield figure(
        "tail-stability",
        title="Does the shape hold still?",
        sentence=(
            f"The fitted shape ξ of {column} as the threshold rises, with its 95% interval: a tail that follows "
            f"the law keeps its shape.{at}"
        ),
        drawing=layers if len(names) == 1 else facets(layers.properties(height=140), "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "q": "quantile",
            "threshold": "threshold",
            "n_exc": "exceedances",
            "xi": "shape ξ",
            "low": "from",
            "high": "to",
        },
        docs="estimators/gpd",
    )


def _qq(section: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"condition": name(p["condition"]), "model": p["model"], "observed": p["observed"]}
        for p in section.get("qq") or []
    ]
    if not rows:
        return
    names = shown_names(rows)
    for row in rows:  # the line of a perfect fit runs through the same rows
        row["perfect"] = row["model"]
    base = chart(height=180).encode(
        x=alt.X("model:Q", title="excess by the fitted law", axis=alt.Axis(tickCount=4)),
    )
    line = base.mark_line(color="var(--muted)", strokeDash=[4, 3], strokeWidth=1).encode(
        y=alt.Y("perfect:Q", title="excess observed")
    )
    points = base.mark_point(filled=True, size=22, opacity=0.8).encode(
        y=alt.Y("observed:Q", title="excess observed", axis=alt.Axis(tickCount=4)),
        tooltip=["condition:N", alt.Tooltip("model:Q", format=".3f"), alt.Tooltip("observed:Q", format=".3f")],
    )
    layers = alt.layer(line, points)
    drawing: Any = layers if len(names) == 1 else facets(layers, "condition", order=names)
    if len(names) > 1:
        drawing = drawing.resolve_scale(x="independent", y="independent")
    off = max(rows, key=lambda r: abs(r["observed"] - r["model"]))
    yield figure(
        "tail-qq",
        title="Is it the right law?",
        sentence=(
            f"Excesses over the threshold against those of the fitted law, {count(len(rows), 'point')}: on the dashed "
            f"line the law is right. The furthest from it is {off['condition']}, {number(off['observed'])} where the "
            f"law expects {number(off['model'])}."
        ),
        drawing=drawing,
        rows=rows,
        columns={"condition": "condition", "model": "by the law", "observed": "observed"},
        docs="estimators/gpd-gof",
    )
