"""The tail: which gates each pair passed, whether the shape holds still, and whether the fitted law is the data's."""

from collections.abc import Iterator, Mapping
from typing import Any

from richter.report import _figure as draw
from richter.report._figure import Figure, Key, Row, axis_of, copied, figure, leading, panels_by
from richter.report._svg import Axis, Mark, Panel, lanes
from richter.words._figure_texts import GATES, describe_excesses, describe_gates, describe_stability
from richter.words._spans import name

OUTCOMES = {
    "passed": Key(name="passed", colour="var(--better)"),
    "failed": Key(name="failed", colour="var(--worse)", shape="cross"),
    "not run": Key(name="not run", colour="var(--muted)", shape="diamond"),
}


def tail_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the tail section of a results document allows."""
    study = section.get("study") or {}
    yield from _ladder(study)
    yield from _stability(section, study)
    yield from _qq(section)


def _ladder(study: Mapping[str, Any]) -> Iterator[Figure]:
    pairs = study.get("claims") or []
    rows = [_gate_row(pair, outcome) for pair in pairs for outcome in pair.get("gates") or []]
    if not rows:
        return
    drawn, more = leading(list(dict.fromkeys(r["pair"] for r in rows)), "pairs")
    gates = [g for g in GATES if any(r["gate"] == g for r in rows)]
    marks = [
        Mark(
            kind="dot",
            at=[(gates.index(row["gate"]), drawn.index(row["pair"]))],
            colour=OUTCOMES[row["outcome"]].colour,
            shape=OUTCOMES[row["outcome"]].shape,
            size=5,
            row=k,
        )
        for k, row in enumerate(rows)
        if row["pair"] in drawn and row["gate"] in gates
    ]
    yield figure(
        "tail-gates",
        title="The gates",
        says=describe_gates(pairs, gates),
        more=more,
        panels=[Panel(x=Axis(names=tuple(gates)), y=lanes(drawn), marks=marks)] if len(drawn) > 1 else [],
        legend=[key for key in OUTCOMES.values() if any(r["outcome"] == key.name for r in rows)],
        rows=rows,
        columns="condition, other: and, gate, asks: asks for, outcome, detail: seen, rule, verdict: the pair's verdict",
        docs="estimators/tail-protocol",
    )


def _gate_row(pair: Mapping[str, Any], outcome: Mapping[str, Any]) -> Row:
    """One gate of a pair: what it asks for and how it came out."""
    first, second = pair["conditions"]
    gate, passed = outcome["name"], outcome.get("passed")
    return {
        "pair": f"{name(first, limit=40)} / {name(second, limit=40)}",
        "condition": name(first),
        "other": name(second),
        "gate": gate,
        "asks": GATES.get(gate, gate),
        "outcome": "passed" if passed else "failed" if passed is False else "not run",
        "detail": name(outcome.get("detail") or "", limit=200),
        "rule": name(outcome.get("rule") or "", limit=200),
        "verdict": pair.get("verdict"),
    }


def _stability(section: Mapping[str, Any], study: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"condition": name(s["condition"])} | copied(s, "q threshold n_exc xi low high")
        for s in section.get("stability") or []
        if s.get("xi") is not None
    ]
    if not rows:
        return
    yield figure(
        "tail-stability",
        title="Does the shape hold still?",
        says=describe_stability(section.get("column"), study.get("q")),
        panels=panels_by(
            rows,
            axis_of(rows, "q", "threshold quantile"),
            axis_of(rows, "xi low high", "shape ξ"),
            draw.band("q"),
            draw.line("q", "xi"),
            draw.dots("q", "xi", size=2.5),
        ),
        rows=rows,
        columns="condition, q: quantile, threshold, n_exc: exceedances, xi: shape ξ, low: from, high: to",
        docs="estimators/gpd",
        folded=True,
    )


def _qq(section: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"condition": name(p["condition"])} | copied(p, "model observed") for p in section.get("qq") or []
    ]
    if not rows:
        return

    def law(own: draw.Numbered) -> list[Mark]:
        top = max(r["model"] for _, r in own)
        return [draw.dashed((0, 0), (top, top))]

    yield figure(
        "tail-qq",
        title="Is it the right law?",
        says=describe_excesses(rows),
        panels=panels_by(
            rows,
            lambda own: axis_of(own, "model", "excess by the fitted law", zero=True),
            lambda own: axis_of(own, "observed model", "observed", zero=True),
            law,
            draw.dots("model", "observed", size=2.5),
        ),
        rows=rows,
        columns="condition, model: by the law, observed",
        docs="estimators/gpd-gof",
        folded=True,
    )
