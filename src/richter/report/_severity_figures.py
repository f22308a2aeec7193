"""How badly: magnitude-frequency curves, exceedances per million, where, by which mechanism, and which law fits."""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.report import _figure as draw
from richter.report._svg import RAMP, Axis, Mark, Panel, axis, lanes
from richter.words._figure_texts import (
    FEW_A_CELL,
    FEW_ERRORS,
    describe_curve,
    describe_families,
    describe_heatmap,
    describe_mechanisms,
    describe_rates_figure,
)
from richter.words._numbers import name, number


def severity_figures(section: Mapping[str, Any]) -> Iterator[draw.Figure]:
    """The figures that the severity section of a results document allows."""
    study = section.get("study") or {}
    conditions: Mapping[str, Any] = study.get("conditions") or {}
    unused = [name(str(note), limit=200) for note in section.get("unused") or ()]
    for found in (
        *_curve(section.get("curve") or [], conditions),
        *_heatmap(section.get("heatmap") or []),
        *_mechanisms(section.get("mechanisms") or []),
        *_per_million(conditions),
        *_families(conditions),
    ):  # draws and weights that the first screen counts, and these figures do not
        yield dataclasses.replace(found, sentence=" ".join([found.sentence, *unused]))


def _curve(curve: Sequence[Mapping[str, Any]], conditions: Mapping[str, Any]) -> Iterator[draw.Figure]:
    rows = [_curve_row(point, (conditions.get(point["condition"]) or {}).get("n")) for point in curve]
    if not rows:
        return
    legend_keys = draw.keys(list(dict.fromkeys(r["condition"] for r in rows)))
    x = Axis(title="severity of at least", low=0.4, high=4.1)
    y = draw.axis_of(rows, "exceed fitted_exceed", "share of answers", log=True, percent=True)
    seen = draw.each(
        "condition",
        legend_keys.values(),
        lambda key: draw.some(
            lambda r: bool(r["fitted_exceed"]), draw.line("severity", "fitted_exceed", key, faint=True)
        ),
        lambda key: draw.some(lambda r: bool(r["exceed"]), draw.dots("severity", "exceed", key)),
    )
    together = len(legend_keys) <= len({k.colour for k in legend_keys.values()})
    panels: Sequence[Panel] = []
    if sum(r["count"] or 0 for r in rows) >= FEW_ERRORS:
        whole = Panel(x=x, y=y, marks=list(seen(list(enumerate(rows)))))
        panels = [whole] if together else draw.panels_by(rows, x, y, seen)
    yield draw.figure(
        "severity-curve",
        title="Magnitude and frequency",
        sentence=describe_curve(rows, conditions),
        panels=panels,
        legend=list(legend_keys.values()) if together and len(legend_keys) > 1 and panels else [],
        rows=rows,
        columns="condition, severity, count: answers at it, exceed: share at or above, fitted_exceed: fitted share, "
        "n: answers",
        docs="estimators/b-value",
        drills=True,
    )


def _curve_row(point: Mapping[str, Any], n: int | None) -> draw.Row:
    """A level with shares of the answers, of which the document has counts."""
    row = draw.copied(point, "severity count exceed fitted_exceed")
    for key in ("exceed", "fitted_exceed"):
        row[key] = row[key] / n if n and row[key] is not None else None
    return row | {"condition": name(point["condition"]), "n": n}


def _per_million(conditions: Mapping[str, Any]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {"condition": name(condition), "at": f"severity {number(level['severity'])} and over"}
        | draw.ends(level.get("interval"))
        | draw.copied(level, "severity per_million upper count n")
        for condition, found in conditions.items()
        for level in (found.get("per_million") or {}).values()
    ]
    if not rows:
        return
    spans = (
        row.get("interval") or {} for found in conditions.values() for row in found.get("per_million", {}).values()
    )
    level = next((span["level"] for span in spans if span.get("level")), 0.95)
    whole = {c: [(k, r) for k, r in own if r["severity"] % 1 == 0] for c, own in draw.apart(rows, "condition").items()}
    yield draw.figure(
        "severity-per-million",
        title="Exceedances per million answers",
        sentence=describe_rates_figure(rows, level),
        panels=[
            draw.interval_panel(own, "at", title="per million answers", value="per_million", heading=c)
            for c, own in list(whole.items())[:12]
            if own
        ],
        rows=rows,
        columns="condition, severity, per_million: per million, low: from, high: to, upper: upper limit, count: seen, "
        "n: answers",
        docs="estimators/deployment-table",
        drills=True,
        folded=True,
    )


def _heatmap(cells: Sequence[Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {
            "condition": name(c["condition"]),
            "domain": name(c.get("domain") or "any"),
            "tier": c.get("tier") if c.get("tier") is not None else "–",
        }
        | draw.copied(c, "n errors error_rate mean_severity catastrophic")
        for c in cells
        if c.get("n")
    ]
    if len({(r["domain"], r["tier"]) for r in rows}) < 2:  # all answers are of one kind
        return
    enough = [r for r in rows if r["n"] >= FEW_A_CELL and r["mean_severity"] is not None]
    has_enough = len(enough) * 2 >= len(rows)
    top = max((r["mean_severity"] or 0.0) for r in rows) or 1.0
    domains = sorted({r["domain"] for r in rows})[:40]
    tiers = sorted({str(r["tier"]) for r in rows})

    def marks(own: draw.Numbered) -> list[Mark]:
        return [
            Mark(
                kind="cell",
                at=[(tiers.index(str(r["tier"])), domains.index(r["domain"]))],
                colour=RAMP[min(5, int(6 * (r["mean_severity"] or 0.0) / top))],
                row=k,
            )
            for k, r in own
            if r["domain"] in domains
        ]

    x = Axis(title="tier", names=tuple(tiers))
    yield draw.figure(
        "severity-heatmap",
        title="Where: domain by tier",
        sentence=describe_heatmap(rows, has_enough=has_enough),
        panels=draw.panels_by(rows, x, lanes(domains), marks, cells=True) if has_enough else [],
        rows=rows,
        columns="condition, domain, tier, n: answers, errors: wrong, error_rate: error rate, "
        "mean_severity: mean severity, catastrophic: severity 3 and over",
        docs="estimators/deployment-table",
        drills=True,
    )


def _mechanisms(found: Sequence[Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {"condition": name(m["condition"]), "mechanism": name(m.get("mechanism") or "not named")}
        | draw.copied(m, "severity count")
        for m in found
        if m.get("count")
    ]
    if all(row["mechanism"] == "not named" for row in rows):
        return
    totals, most = Counter[str](), Counter[tuple[str, str]]()
    for row in rows:
        totals[row["mechanism"]] += row["count"]
        most[row["condition"], row["mechanism"]] += row["count"]
    ranked = [m for m, _ in totals.most_common()]
    levels = sorted({r["severity"] for r in rows})
    ramp = {level: RAMP[min(5, 1 + int(level / 4 * 4.99))] for level in levels}
    shown = ranked[:12]

    def marks(own: draw.Numbered) -> list[Mark]:
        reached: Counter[str] = Counter()
        made = []
        for k, row in sorted(own, key=lambda pair: pair[1]["severity"]):
            start, which = reached[row["mechanism"]], row["mechanism"]
            reached[which] += row["count"]
            if which in shown:
                y = shown.index(which)
                bar = [(start, y), (start + row["count"], y)]
                made.append(Mark(kind="bar", at=bar, colour=ramp[row["severity"]], row=k))
        return made

    x = axis(most.values(), "errors", zero=True)
    yield draw.figure(
        "severity-mechanisms",
        title="Mechanism by severity",
        sentence=describe_mechanisms(totals, ranked),
        panels=draw.panels_by(rows, x, lanes(shown), marks) if len(ranked) > 1 else [],
        legend=[draw.Key(name=f"severity {number(level)}", colour=ramp[level], shape="square") for level in levels],
        rows=rows,
        columns="condition, mechanism, severity, count: errors",
        docs="estimators/rule-judge",
        drills=True,
        folded=True,
    )


def _families(conditions: Mapping[str, Any]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = []
    for condition, found in conditions.items():
        families = found.get("families") or {}
        bics = {f: v["bic"] for f, v in (families.get("fits") or {}).items() if isinstance(v.get("bic"), int | float)}
        best = min(bics, key=lambda f: bics[f], default=None)
        rows += [
            {
                "condition": name(condition),
                "family": family.replace("_", " "),
                "bic": bic,
                "delta_bic": bic - bics[str(best)],
                "best": "best" if family == best else "",
                "decisive": bool(families.get("decisive")) if family == best else None,
            }
            for family, bic in bics.items()
        ]
    if not rows:
        return
    yield draw.figure(
        "severity-families",
        title="Which law fits",
        sentence=describe_families(rows),
        panels=[],
        rows=rows,
        columns="condition, family: law, bic: BIC, delta_bic: above the best, best, decisive",
        docs="estimators/severity-families",
        folded=True,
    )
