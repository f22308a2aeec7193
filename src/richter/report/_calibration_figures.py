"""Does it know: reliability diagrams, when it may answer alone, and which questions are close races."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.report import _figure as draw
from richter.report._figure import Figure, Key, Row, axis_of, copied, ends, figure, panels_by
from richter.report._svg import Axis, Mark
from richter.words._figure_texts import (
    describe_groups,
    describe_margins,
    describe_phase,
    describe_regimes,
    describe_reliability,
)
from richter.words._spans import name

SOURCES = {
    "sem1": "all repeats (Sem1)",
    "sem2": "held-out halves (Sem2)",
    "token": "token probability",
    "verbalised": "stated",
}
ANSWERS = {
    "right": Key(name="right", colour="var(--c0)"),
    "wrong": Key(name="wrong", colour="var(--c1)", shape="cross"),
    "not graded": Key(name="not graded", colour="var(--c6)", shape="square"),
}
COUNTED = (Key(name="Sem1", colour="var(--c0)"), Key(name="Sem2", colour="var(--c1)", shape="diamond"))
REGIMES = {"large": "clear winner", "low": "close race", "jensen": "too close to call"}
FEW = 20  # answers below which a diagram shows the luck of single ones


def calibration_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the calibration section of a results document allows."""
    draws = (section.get("draws") or {}).get("conditions") or {}
    grades = (section.get("grades") or {}).get("conditions") or {}
    confidence = section.get("confidence") or {}
    stated = [(name(c), name(confidence.get(c) or "confidence"), found) for c, found in grades.items()]
    drawn = [(name(c), source, f[key]) for c, f in draws.items() for key, source in SOURCES.items() if f.get(key)]
    yield from _reliability("calibration-reliability", "Reliability of the confidence", stated, "estimators/ece")
    agreement = "Reliability of its agreement"
    yield from _reliability("calibration-agreement", agreement, drawn, "estimators/sem-ece", folded=bool(stated))
    every = {**grades, **draws}
    yield from _phase(section.get("phase") or {})
    yield from _groups(every)
    yield from _margins(draws)
    yield from _regimes(section.get("questions") or [])


def _reliability(
    figure_name: str,
    title: str,
    studies: Sequence[tuple[str, str, Mapping[str, Any]]],
    docs: str,
    *,
    folded: bool = False,
) -> Iterator[Figure]:
    """The reliability diagrams of some studies: (condition, where its confidence comes from, bins and ECE)."""
    several, sources = len({c for c, _, _ in studies}) > 1, len({source for _, source, _ in studies}) > 1
    series = {(c, s): f"{c}, {s}" if several and sources else c if several else s for c, s, _ in studies}
    rows: list[Row] = [
        {"series": series[c, source], "condition": c, "source": source}
        | copied(b, "confidence accuracy n from=low to=high")
        | {"ece": found.get("debiased"), **ends(b.get("interval"))}
        for c, source, found in studies
        for b in found.get("bins") or []
        if b.get("n")
    ]
    if not rows:
        return
    top = max(r["n"] for r in rows)
    on = ("confidence", "accuracy")
    bins = Counter(r["series"] for r in rows)
    panels = panels_by(
        rows,
        Axis(title="confidence", percent=True),
        Axis(title="answers that are right", percent=True),
        draw.against((0, 0), (1, 1)),
        draw.line(*on, size=2.5, faint=True),
        draw.spans("confidence"),
        draw.dots(*on, size=4),
        _count_columns(top),
        field="series",
    )
    panels = [p for p in panels if bins.get(p.title, 2) > 1]  # one dot is said in words, not drawn
    undrawn = [s for s, n in bins.items() if n == 1]
    drawn = [study for study in studies if series[study[:2]] not in undrawn]
    has_enough = sum(r["n"] for r in rows) >= FEW
    yield figure(
        figure_name,
        title=title,
        says=describe_reliability(drawn or studies, has_enough=has_enough, top=top, undrawn=undrawn),
        panels=panels if has_enough else [],
        rows=rows,
        columns="condition, source: confidence from, from: bin from, to, n: answers, confidence: mean confidence, "
        "accuracy, low: accuracy from, high: up to, ece: debiased ECE",
        docs=docs,
        folded=folded,
    )


def _count_columns(top: int) -> draw.Layer:
    """Columns at the foot of a diagram, as high as their bins hold answers."""

    def columns(own: draw.Numbered) -> Iterator[Mark]:
        for k, r in own:
            at = [(r["confidence"], 0.0), (r["confidence"], 0.2 * r["n"] / top)]
            yield Mark(kind="line", at=at, colour="var(--muted)", size=16, row=k, faint=True)

    return columns


def _phase(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    """The share of parts of n labels that show miscalibration, against n times the error rate."""
    rows: list[Row] = [
        {"condition": name(c)} | copied(p, "n errors shown half_width floor")
        for c, points in conditions.items()
        for p in points
        if p["errors"] > 0
    ]
    if not rows:
        return
    yield figure(
        "calibration-phase",
        title="How many labels it takes",
        says=describe_phase(rows),
        panels=panels_by(
            rows,
            axis_of(rows, "errors", "labels times the error rate", log=True),
            Axis(title="parts that show it"),
            draw.line("errors", "shown", size=3),
            draw.dots("errors", "shown", size=3),
        ),
        rows=rows,
        columns="condition, n: labels, errors: errors among them, shown: parts that show it, "
        "half_width: ECE half-width, floor",
        docs="estimators/miscalibration",
        folded=True,
    )


def _groups(conditions: Mapping[str, Any]) -> Iterator[Figure]:
    """ECE by group against the size of the group, alone and pooled (the paper's fairness figure on data)."""
    rows: list[Row] = [
        {"condition": name(condition), "group": name(row["group"])}
        | copied(row, "n ece pooled=pooled_ece error=error_rate pooled_error=pooled_error_rate")
        | ends(row["ece_interval"])
        for condition, found in conditions.items()
        for row in (found.get("by_group") or {}).get("rows") or []
    ]
    if not rows:
        return
    alone, pooled = Key(name="alone", colour="var(--c0)"), Key(name="pooled", colour="var(--c1)", shape="diamond")
    yield figure(
        "calibration-groups",
        title="Calibration by group",
        says=describe_groups(rows),
        panels=panels_by(
            rows,
            axis_of(rows, "n", "items of the group", log=True),
            axis_of(rows, "low high", "ECE", zero=True),
            draw.spans("n", numbered=False),
            draw.dots("n", "ece", alone, size=3.5),
            draw.dots("n", "pooled", pooled, size=3.5),
        ),
        legend=[alone, pooled],
        rows=rows,
        columns="condition, group, n: items, error: wrong, pooled_error: wrong (pooled), ece: ECE, low: from, "
        "high: to, pooled: ECE (pooled)",
        docs="estimators/selective",
        folded=True,
    )


def _margins(draws: Mapping[str, Any]) -> Iterator[Figure]:
    """Both calibration errors over the margin of the questions (the paper's figures 3 and 5 to 9)."""
    rows: list[Row] = [
        {"condition": name(condition), "estimator": source, "margin": (s["low"] + s["high"]) / 2}
        | copied(s, f"from=low to=high n ece={key}")
        for condition, found in draws.items()
        for s in found.get("strata") or []
        for key, source in (("sem1_ece", "Sem1"), ("sem2_ece", "Sem2"))
        if s.get(key) is not None
    ]
    if not rows:
        return
    yield figure(
        "calibration-margins",
        title="Where the two ways of counting agree",
        says=describe_margins(rows),
        panels=panels_by(
            rows,
            axis_of(rows, "margin", "lead of the commonest answer"),
            axis_of(rows, "ece", "ECE"),
            draw.each(
                "estimator",
                COUNTED,
                lambda key: draw.line("margin", "ece", key, size=3),
                lambda key: draw.dots("margin", "ece", key, size=3),
            ),
        ),
        legend=COUNTED,
        rows=rows,
        columns="condition, estimator, from, to, n: questions, ece: ECE",
        docs="estimators/sem-ece",
        folded=True,
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
    most = max(places.values())

    def size(row: Row) -> float:
        return float(2.5 + 6 * (row["questions"] / most) ** 0.5)

    yield figure(
        "calibration-regimes",
        title="Which questions are close races",
        says=describe_regimes(rows, REGIMES["large"]),
        panels=panels_by(
            rows,
            Axis(title="lead of the first answer"),
            Axis(title="its share"),
            draw.dots("margin", "top_share", lambda r: ANSWERS[r["answer"]], size=size, faint=True),
        ),
        legend=[key for key in ANSWERS.values() if any(r["answer"] == key.name for r in rows)],
        rows=rows,
        columns="condition, margin: lead, top_share: share of the first, regime, answer: the first is, questions",
        docs="estimators/sem-ece",
        folded=True,
    )
