"""The tail: which gates each pair passed, whether the shape holds still, and whether the fitted law is the data's."""

from collections.abc import Iterator, Mapping
from typing import Any

from richter.report import _figure as draw
from richter.report._figure import Figure, Key, Row, axis_of, copied, figure, leading, panels_by
from richter.report._numbers import count, name, number
from richter.report._svg import Axis, Mark, Panel, lanes

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
    "passed": Key(name="passed", colour="var(--good)"),
    "failed": Key(name="failed", colour="var(--bad)", shape="cross"),
    "not run": Key(name="not run", colour="var(--none)", shape="diamond"),
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
        for outcome in pair.get("gates") or []:
            gate, passed = outcome["name"], outcome.get("passed")
            rows.append(
                {
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
    drawn, more = leading(list(dict.fromkeys(r["pair"] for r in rows)), "pairs")
    gates = [g for g in GATES if any(r["gate"] == g for r in rows)]
    marks = []
    for k, row in enumerate(rows):
        if row["pair"] in drawn and row["gate"] in gates:
            key, place = OUTCOMES[row["outcome"]], (gates.index(row["gate"]), drawn.index(row["pair"]))
            marks.append(Mark(kind="dot", at=[place], colour=key.colour, shape=key.shape, size=5, row=k))
    yield figure(
        "tail-gates",
        title="The gates",
        sentence=f"{sentence}. {'; '.join(f'{g} {GATES[g]}' for g in gates)}.{more}",
        panels=[Panel(x=Axis(names=tuple(gates)), y=lanes(drawn), marks=marks)] if len(drawn) > 1 else [],
        legend=[key for key in OUTCOMES.values() if any(r["outcome"] == key.name for r in rows)],
        rows=rows,
        columns="condition, other: and, gate, asks: asks for, outcome, detail: seen, rule, verdict: the pair's verdict",
        docs="estimators/tail-protocol",
    )


def _stability(section: Mapping[str, Any], study: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"condition": name(s["condition"])} | copied(s, "q threshold n_exc xi low high")
        for s in section.get("stability") or []
        if s.get("xi") is not None
    ]
    if not rows:
        return
    q = study.get("q")

    yield figure(
        "tail-stability",
        title="Does the shape hold still?",
        sentence=(
            f"The fitted shape ξ of {name(section.get('column') or 'the score')} as the threshold rises, with its 95% "
            "interval: a tail that follows the law keeps its shape."
            + (f" The protocol's threshold is at q = {number(q)}." if q else "")
        ),
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
    off = max(rows, key=lambda r: abs(r["observed"] - r["model"]))

    def law(own: draw.Numbered) -> list[Mark]:
        top = max(r["model"] for _, r in own)
        return [draw.dashed((0, 0), (top, top))]

    yield figure(
        "tail-qq",
        title="Is it the right law?",
        sentence=(
            f"Excesses over the threshold against those of the fitted law, {count(len(rows), 'point')}: on the dashed "
            f"line the law is right. The furthest from it is {off['condition']}, {number(off['observed'])} where the "
            f"law expects {number(off['model'])}."
        ),
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
