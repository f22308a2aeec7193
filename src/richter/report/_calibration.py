"""Does it know: reliability diagrams, how Sem1 and Sem2 close in on each other, and which regime questions are in."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from richter.report._figure import Figure, Row, chart, facets, figure, shown_names
from richter.report._words import count, name, number, percent

SOURCES = {
    "sem1": "Sem1",
    "sem2": "Sem2",
    "token": "token probability",
    "verbalised": "stated",
}
ANSWERS = {"right": "var(--c0)", "wrong": "var(--c1)", "not graded": "var(--c6)"}
REGIMES = {"large": "clear winner", "low": "close race", "jensen": "too close to call"}


def calibration_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the calibration section of a results document allows."""
    draws = (section.get("draws") or {}).get("conditions") or {}
    grades = (section.get("grades") or {}).get("conditions") or {}
    confidence = section.get("confidence") or {}
    stated = [(name(c), name(confidence.get(c) or "confidence"), found) for c, found in grades.items()]
    drawn = [(name(c), said, f[key]) for c, f in draws.items() for key, said in SOURCES.items() if f.get(key)]
    yield from _reliability("calibration-reliability", "Reliability of the confidence", stated, "estimators/ece")
    yield from _reliability("calibration-agreement", "Reliability of its agreement", drawn, "estimators/sem-ece")
    yield from _phase(section.get("phase") or {})
    every = {**grades, **draws}
    yield from _coverage(every)
    yield from _groups(every)
    yield from _convergence(draws)
    yield from _margins(section.get("questions") or [])
    yield from _regimes(section.get("questions") or [])


def _reliability(
    figure_name: str, title: str, studies: Sequence[tuple[str, str, Mapping[str, Any]]], docs: str
) -> Iterator[Figure]:
    """The reliability diagrams of some studies: (condition, where its confidence comes from, bins and ECE)."""
    conditions = {condition for condition, _, _ in studies}
    sources = {said for _, said, _ in studies}
    rows: list[Row] = [
        {
            "series": said if len(conditions) == 1 else condition if len(sources) == 1 else f"{condition}, {said}",
            "condition": condition,
            "source": said,
            "confidence": b["confidence"],
            "accuracy": b["accuracy"],
            "n": b["n"],
            "from": b["low"],
            "to": b["high"],
            "low": (b.get("interval") or {}).get("low"),
            "high": (b.get("interval") or {}).get("high"),
            "ece": found.get("debiased"),
        }
        for condition, said, found in studies
        for b in found.get("bins") or []
        if b.get("n")
    ]
    if not rows:
        return
    order = list(dict.fromkeys(r["series"] for r in rows))
    known = [(c, said, f["debiased"]) for c, said, f in studies if isinstance(f.get("debiased"), int | float)]
    sentence = (
        "How often answers are right at each confidence; on the dashed line the model is calibrated, below it "
        "overconfident."
    )
    if known:
        worst = max(known, key=lambda k: k[2])
        sentence += f" The furthest off is {worst[0]} ({worst[1]}): debiased ECE {number(worst[2])}."
    base = chart(height=170).encode(
        x=alt.X("confidence:Q", title="confidence", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=3)),
    )
    top = max(r["n"] for r in rows)
    dots = base.mark_circle(opacity=0.85, color="var(--c0)").encode(
        y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=3)),
        size=alt.Size("n:Q", scale=alt.Scale(domain=[0, top], range=[12, 320]), legend=None),
        tooltip=[
            "condition:N",
            "source:N",
            alt.Tooltip("confidence:Q", format=".3f"),
            alt.Tooltip("accuracy:Q", format=".3f"),
            "n:Q",
        ],
    )
    line = base.mark_line(color="var(--c0)", strokeWidth=1.2, opacity=0.6).encode(y="accuracy:Q")
    diagonal = (
        chart(height=170)
        .transform_calculate(start="0", end="1")
        .mark_rule(strokeDash=[4, 3], strokeWidth=1)
        .encode(x=alt.X("start:Q"), x2="end:Q", y=alt.Y("start:Q"), y2="end:Q")
    )
    spans = base.mark_rule(color="var(--c0)", strokeWidth=1.4, opacity=0.7).encode(y=alt.Y("low:Q"), y2="high:Q")
    counts = base.mark_text(dy=-12, fontSize=9, color="var(--muted)").encode(y=alt.Y("high:Q"), text="n:Q")
    layers = alt.layer(diagonal, line, spans, dots, counts)
    yield figure(
        figure_name,
        title=title,
        sentence=sentence,
        drawing=layers if len(order) == 1 else facets(layers, "series", order=order),
        rows=rows,
        columns={
            "condition": "condition",
            "source": "confidence from",
            "from": "bin from",
            "to": "to",
            "n": "answers",
            "confidence": "mean confidence",
            "accuracy": "accuracy",
            "low": "accuracy from",
            "high": "up to",
            "ece": "debiased ECE",
        },
        docs=docs,
    )


def _phase(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    """The share of parts of n labels that show miscalibration, against n times the error rate."""
    rows: list[Row] = [
        {"condition": name(c), **{k: p[k] for k in ("n", "errors", "shown", "half_width", "floor")}}
        for c, points in conditions.items()
        for p in points
        if p["errors"] > 0
    ]
    if not rows:
        return
    names = shown_names(rows)
    drawing = (
        chart(height=180)
        .mark_line(color="var(--c0)", point=alt.OverlayMarkDef(size=30, filled=True))
        .encode(
            x=alt.X("errors:Q", title="labels times the error rate", scale=alt.Scale(type="log", nice=False)),
            y=alt.Y("shown:Q", title="parts that show it", scale=alt.Scale(domain=[0, 1])),
            tooltip=["condition:N", "n:Q", "errors:Q", "shown:Q"],
        )
    )
    reached = [r for r in rows if r["shown"] >= 0.8]
    least = min(reached, key=lambda r: r["n"]) if reached else None
    yield figure(
        "calibration-phase",
        title="How many labels it takes",
        sentence="How often parts of the grades show that the model is miscalibrated."
        + (f" For {least['condition']} {count(least['n'], 'label')} show it in four of five parts." if least else ""),
        drawing=drawing if len(names) == 1 else facets(drawing, "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "n": "labels",
            "errors": "errors among them",
            "shown": "parts that show it",
            "half_width": "ECE half-width",
            "floor": "floor",
        },
        docs="estimators/miscalibration",
    )


def _coverage(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    """The risk-coverage curve of every condition, with the threshold that is safe."""
    rows: list[Row] = [
        {
            "condition": name(condition),
            "coverage": point["coverage"],
            "error": point["error"],
            "low": point["interval"]["low"],
            "high": point["interval"]["high"],
            "threshold": point["threshold"],
        }
        for condition, found in conditions.items()
        for point in found.get("curve") or []
    ]
    if not rows:
        return
    names = shown_names(rows)
    base = chart(height=170).encode(
        x=alt.X("coverage:Q", title="share of answers given alone", scale=alt.Scale(domain=[0, 1]))
    )
    error = alt.Y("low:Q", title="share of them wrong")
    band = base.mark_area(color="var(--c0)", opacity=0.2).encode(y=error, y2="high:Q")
    line = base.mark_line(color="var(--c0)", strokeWidth=1.6).encode(
        y="error:Q", tooltip=["condition:N", "threshold:Q", "coverage:Q", "error:Q"]
    )
    layers = alt.layer(band, line)
    safe = [(name(c), f["safe"]) for c, f in conditions.items() if (f.get("safe") or {}).get("threshold") is not None]
    sentence = "How often answers are wrong when only the most confident are given alone."
    if safe:
        first, found = safe[0]
        sentence += (
            f" {first} may answer alone from a confidence of {number(found['threshold'])} on, with under "
            f"{percent(found['target'])} wrong."
        )
    yield figure(
        "calibration-coverage",
        title="When may it answer alone?",
        sentence=sentence,
        drawing=layers if len(names) == 1 else facets(layers, "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "threshold": "from confidence",
            "coverage": "share given",
            "error": "wrong",
            "low": "from",
            "high": "to",
        },
        docs="estimators/selective",
    )


def _groups(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    """ECE by group against the size of the group, alone and pooled (the paper's fairness figure on data)."""
    rows: list[Row] = [
        {
            "condition": name(condition),
            "group": name(row["group"]),
            "n": row["n"],
            "ece": row["ece"],
            "low": row["ece_interval"]["low"],
            "high": row["ece_interval"]["high"],
            "pooled": row["pooled_ece"],
            "error": row["error_rate"],
            "pooled_error": row["pooled_error_rate"],
        }
        for condition, found in conditions.items()
        for row in (found.get("by_group") or {}).get("rows") or []
    ]
    if not rows:
        return
    names = shown_names(rows)
    base = chart(height=190).encode(
        x=alt.X("n:Q", title="items of the group", scale=alt.Scale(type="log", nice=False, padding=12))
    )
    spans = base.mark_rule(color="var(--c0)", opacity=0.5).encode(y=alt.Y("low:Q", title="ECE"), y2="high:Q")
    own = base.mark_point(color="var(--c0)").encode(
        y="ece:Q", tooltip=["condition:N", "group:N", "n:Q", alt.Tooltip("ece:Q", format=".3f")]
    )
    pooled = base.mark_point(color="var(--c1)", filled=True, size=45).encode(
        y="pooled:Q", tooltip=["condition:N", "group:N", "n:Q", alt.Tooltip("pooled:Q", format=".3f")]
    )
    layers = alt.layer(spans, own, pooled)
    widest = max(rows, key=lambda r: r["high"] - r["low"])
    yield figure(
        "calibration-groups",
        title="Calibration by group",
        sentence=(
            f"Calibration error of each group with its interval (open), and drawn towards the others as far as noise "
            f"explains (filled). Least is known of {widest['group']}: {count(widest['n'], 'item')}."
        ),
        drawing=layers if len(names) == 1 else facets(layers, "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "group": "group",
            "n": "items",
            "error": "wrong",
            "pooled_error": "wrong, pooled",
            "ece": "ECE",
            "low": "from",
            "high": "to",
            "pooled": "ECE, pooled",
        },
        docs="estimators/selective",
    )


def _margins(questions: list[Mapping[str, Any]]) -> Iterator[Figure]:
    """How far the first answer leads, as a histogram in ten steps."""
    places = Counter(
        (name(q["condition"]), min(int(q["margin"] * 10 + 1e-9), 9) / 10)
        for q in questions
        if q.get("margin") is not None
    )
    if not places:
        return
    rows: list[Row] = [
        {"condition": c, "margin": m, "to": round(m + 0.1, 1), "questions": n} for (c, m), n in sorted(places.items())
    ]
    names = shown_names(rows)
    total, close = sum(places.values()), sum(n for (_, m), n in places.items() if m < 0.2)
    drawing = (
        chart(height=150)
        .mark_bar(color="var(--c0)")
        .encode(
            x=alt.X("margin:Q", title="lead of the first answer", scale=alt.Scale(domain=[0, 1])),
            x2="to:Q",
            y=alt.Y("questions:Q", title="questions"),
            tooltip=["condition:N", "margin:Q", "questions:Q"],
        )
    )
    yield figure(
        "calibration-margins",
        title="How far the first answer leads",
        sentence=f"On {percent(close / total)} of {count(total, 'question')} the first answer leads by under a fifth.",
        drawing=drawing if len(names) == 1 else facets(drawing, "condition", order=names),
        rows=rows,
        columns={"condition": "condition", "margin": "lead from", "to": "to", "questions": "questions"},
        docs="estimators/sem-ece",
    )


def _convergence(draws: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    for condition, found in draws.items():
        for point in (found.get("convergence") or {}).get("points") or []:
            for key, said in (("sem1_ece", "Sem1"), ("sem2_ece", "Sem2")):
                if point.get(key) is not None:
                    rows.append(
                        {"condition": name(condition), "draws": point["n"], "estimator": said, "ece": point[key]}
                    )
    if not rows:
        return
    if len(draws) > 1:  # and all conditions together, where they have the same numbers of draws
        pooled: dict[tuple[int, str], list[float]] = {}
        for row in rows:
            pooled.setdefault((row["draws"], row["estimator"]), []).append(row["ece"])
        rows += [
            {"condition": "all together", "draws": n, "estimator": said, "ece": sum(values) / len(values)}
            for (n, said), values in pooled.items()
            if len(values) == len(draws)
        ]
    names = shown_names(rows)
    last = [r for r in rows if r["draws"] == max(x["draws"] for x in rows if x["condition"] == r["condition"])]
    gaps: dict[str, list[float]] = {}
    for row in last:
        gaps.setdefault(row["condition"], []).append(row["ece"])
    widest = max(gaps, key=lambda c: max(gaps[c]) - min(gaps[c]))
    gap = max(gaps[widest]) - min(gaps[widest])
    drawing = (
        chart(height=180)
        .mark_line(point=alt.OverlayMarkDef(size=40, filled=True), strokeWidth=1.8)
        .encode(
            x=alt.X("draws:Q", title="draws a question", scale=alt.Scale(type="log", base=2, nice=False)),
            y=alt.Y("ece:Q", title="ECE", scale=alt.Scale(zero=False)),
            color=alt.Color(
                "estimator:N",
                scale=alt.Scale(domain=["Sem1", "Sem2"], range=["var(--c0)", "var(--c1)"]),
                legend=alt.Legend(title=None),
            ),
            strokeDash=alt.StrokeDash(
                "estimator:N",
                scale=alt.Scale(domain=["Sem1", "Sem2"], range=[[1, 0], [5, 3]]),
                legend=alt.Legend(title=None),
            ),
            tooltip=["condition:N", "estimator:N", "draws:Q", alt.Tooltip("ece:Q", format=".3f")],
        )
    )
    yield figure(
        "calibration-convergence",
        title="Are there enough draws?",
        sentence=(
            f"The calibration error by all draws (Sem1) and by held-out halves (Sem2) as draws grow: where they meet, "
            f"there are enough. At the most draws they differ by {number(gap)} for {widest}."
        ),
        drawing=drawing if len(names) == 1 else facets(drawing, "condition", order=names),
        rows=rows,
        columns={"condition": "condition", "estimator": "estimator", "draws": "draws", "ece": "ECE"},
        docs="estimators/sem-ece",
    )


def _regimes(questions: list[Mapping[str, Any]]) -> Iterator[Figure]:
    """Draws lie on a grid, so questions at one place are counted, not drawn over each other."""
    places = Counter(
        (
            name(q["condition"]),
            round(q["margin"], 4),
            round(q["top_share"], 4),
            REGIMES.get(q["regime"], name(q["regime"])),
            "not graded" if q.get("correct") is None else "right" if q["correct"] else "wrong",
        )
        for q in questions
        if q.get("margin") is not None and q.get("top_share") is not None
    )
    if not places:
        return
    rows: list[Row] = [
        {"condition": c, "margin": m, "top_share": t, "regime": r, "answer": a, "questions": n}
        for (c, m, t, r, a), n in sorted(places.items())
    ]
    names = shown_names(rows)
    total = sum(places.values())
    close = sum(n for (_, _, _, r, _), n in places.items() if r != REGIMES["large"])
    sure_wrong = sum(r["questions"] for r in rows if r["answer"] == "wrong" and r["regime"] == REGIMES["large"])
    regimes = [r for r in REGIMES.values() if any(row["regime"] == r for row in rows)]
    graded = [a for a in ANSWERS if any(row["answer"] == a for row in rows)]
    drawing = (
        chart(height=200)
        .mark_point(filled=True, opacity=0.75)
        .encode(
            x=alt.X("margin:Q", title="lead of the first answer", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("top_share:Q", title="share of the first answer", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "answer:N",
                scale=alt.Scale(domain=graded, range=[ANSWERS[a] for a in graded]),
                legend=alt.Legend(title=None),
            ),
            shape=alt.Shape(
                "regime:N",
                scale=alt.Scale(domain=regimes, range=["circle", "triangle-up", "cross"][: len(regimes)]),
                legend=alt.Legend(title=None),
            ),
            size=alt.Size("questions:Q", scale=alt.Scale(range=[35, 400]), legend=None),
            tooltip=["condition:N", "margin:Q", "top_share:Q", "regime:N", "answer:N", "questions:Q"],
        )
    )
    yield figure(
        "calibration-regimes",
        title="Which questions are close races",
        sentence=(
            f"Each question by how far its commonest answer leads: {percent(close / total)} of "
            f"{count(total, 'question')} are close, where agreement with itself flatters the model; "
            f"{number(sure_wrong)} " + ("is" if sure_wrong == 1 else "are") + " wrong though one answer clearly leads."
        ),
        drawing=drawing if len(names) == 1 else facets(drawing.properties(height=150), "condition", order=names),
        rows=rows,
        columns={
            "condition": "condition",
            "margin": "lead",
            "top_share": "share of the first",
            "regime": "regime",
            "answer": "the first is",
            "questions": "questions",
        },
        docs="estimators/sem-ece",
    )
