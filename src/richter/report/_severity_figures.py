"""How badly: magnitude-frequency curves, exceedances per million, where, by which mechanism, and which law fits."""

import bisect
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from richter.report import _figure as draw
from richter.report._svg import RAMP, Axis, Mark, Panel, axis, lanes
from richter.words._figure_texts import (
    CATASTROPHIC,
    FEW_A_CELL,
    FEW_ERRORS,
    describe_curve,
    describe_distribution,
    describe_families,
    describe_heatmap,
    describe_mechanisms,
    describe_rates_figure,
)
from richter.words._spans import name, number

MOST_DOMAINS = 40
MOST_COLUMNS = 6
HEAT_ENDS = (0.25, 0.5, 1.0, 1.5, 2.5)  # of the classes of mean severity: most answers are right, so most means are low
HEAT = ("below 0.25", "0.25 to 0.5", "0.5 to 1", "1 to 1.5", "1.5 to 2.5", "2.5 to 4")


def severity_figures(section: Mapping[str, Any]) -> Iterator[draw.Figure]:
    """The figures that the severity section of a results document allows."""
    study = section.get("study") or {}
    conditions: Mapping[str, Any] = study.get("conditions") or {}
    unused = [name(str(note), limit=200) for note in section.get("unused") or ()]
    for found in (
        *_distribution(section.get("curve") or [], conditions),
        *_curve(section.get("curve") or [], conditions),
        *_heatmap(section.get("heatmap") or []),
        *_mechanisms(section.get("mechanisms") or []),
        *_per_million(conditions),
        *_families(conditions),
    ):  # draws and weights that the first screen counts, and these figures do not
        yield dataclasses.replace(found, reading=" ".join([found.reading, *unused]).strip())


def _distribution(curve: Sequence[Mapping[str, Any]], conditions: Mapping[str, Any]) -> Iterator[draw.Figure]:
    """Each condition's share of answers at every severity, as one bar."""
    rows = _severity_shares(curve, conditions)
    if sum(row["count"] or 0 for row in rows) < FEW_ERRORS:
        return
    severe = dict.fromkeys((row["condition"] for row in rows), 0.0)
    reached = dict(severe)
    for row in rows:
        reached[row["condition"]] += row["share"]
        severe[row["condition"]] += row["share"] if row["severity"] >= CATASTROPHIC else 0.0
    shown, more = draw.leading(sorted(severe, key=lambda c: severe[c]), "models")
    levels = sorted({row["severity"] for row in rows if row["count"]})
    ramp = {level: RAMP[min(5, 1 + int(level / 4 * 4.99))] for level in levels}
    marks = list(_severity_bars(rows, shown, ramp))
    marks += [
        Mark(kind="label", at=[(float("inf"), k)], text=f"{100 * severe[who]:.1f}%") for k, who in enumerate(shown)
    ]
    x = axis(reached.values(), "share of answers", percent=True, zero=True)
    yield draw.figure(
        "severity-distribution",
        title="How severe the errors are",
        says=describe_distribution(rows, severe),
        more=more,
        panels=[Panel(x=x, y=lanes(shown), marks=marks, beside=True)],
        legend=[draw.Key(name=f"severity {number(v)}", colour=ramp[v], shape="square") for v in reversed(levels)],
        rows=rows,
        columns="condition: model, severity, count: answers at it, share: share of answers, n: answers",
        docs="estimators/deployment-table",
        drills=True,
    )


def _severity_shares(curve: Sequence[Mapping[str, Any]], conditions: Mapping[str, Any]) -> list[draw.Row]:
    """The share of a condition's answers at each severity."""
    sizes = {c: found.get("n") for c, found in conditions.items()}
    return [
        {"condition": name(point["condition"]), "share": (point.get("count") or 0) / n, "n": n}
        | draw.copied(point, "severity count")
        for point in curve
        if (n := sizes.get(point["condition"])) and point["severity"] > 0
    ]


def _severity_bars(rows: Sequence[draw.Row], shown: Sequence[str], ramp: Mapping[float, str]) -> Iterator[Mark]:
    """The parts of each condition's bar, the most severe first."""
    reached: dict[str, float] = {}
    for k, row in sorted(enumerate(rows), key=lambda pair: -pair[1]["severity"]):
        who = row["condition"]
        start = reached.get(who, 0.0)
        reached[who] = start + row["share"]
        if who in shown and row["count"]:
            lane = shown.index(who)
            at = [(start, lane), (start + row["share"], lane)]
            yield Mark(kind="bar", at=at, colour=ramp[row["severity"]], row=k)


def _curve(curve: Sequence[Mapping[str, Any]], conditions: Mapping[str, Any]) -> Iterator[draw.Figure]:
    """The law of magnitude and frequency, where it describes the errors of some condition."""
    rows = [_curve_row(point, (conditions.get(point["condition"]) or {}).get("n")) for point in curve]
    is_adequate = any((found.get("slope") or {}).get("adequate") for found in conditions.values())
    if not is_adequate or sum(r["count"] or 0 for r in rows) < FEW_ERRORS:
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
    whole = Panel(x=x, y=y, marks=list(seen(list(enumerate(rows)))))
    yield draw.figure(
        "severity-curve",
        title="Magnitude and frequency",
        says=describe_curve(rows, conditions),
        panels=[whole] if together else draw.panels_by(rows, x, y, seen),
        legend=list(legend_keys.values()) if together and len(legend_keys) > 1 else [],
        rows=rows,
        columns="condition: model, severity, count: answers at it, exceed: share at or above, "
        "fitted_exceed: fitted share, n: answers",
        docs="estimators/b-value",
        drills=True,
        folded=True,
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
        says=describe_rates_figure(rows, level),
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
    domains = sorted({r["domain"] for r in rows})[:MOST_DOMAINS]
    tiers = sorted({str(r["tier"]) for r in rows})
    conditions = list(dict.fromkeys(r["condition"] for r in rows))
    is_flat = len(tiers) == 1 and 1 < len(conditions) <= MOST_COLUMNS  # one panel of domains by models
    columns = conditions if is_flat else tiers
    marks = _heat_cells(domains, columns, "condition" if is_flat else "tier")
    y, x = lanes(domains), Axis(title="" if is_flat or len(tiers) == 1 else "tier", names=tuple(columns))
    panels = (
        [Panel(x=x, y=y, marks=marks(list(enumerate(rows))), cells=True)]
        if is_flat
        else draw.panels_by(rows, x, y, marks, cells=True)
    )
    yield draw.figure(
        "severity-heatmap",
        title="Where the errors are severe",
        says=describe_heatmap(rows, has_enough=has_enough),
        panels=panels if has_enough else [],
        legend=[draw.Key(name=text, colour=RAMP[k], shape="square") for k, text in enumerate(HEAT)]
        if has_enough
        else [],
        rows=rows,
        columns="condition: model, domain, tier, n: answers, errors: wrong, error_rate: error rate, "
        "mean_severity: mean severity, catastrophic: severity 3 and over",
        docs="estimators/deployment-table",
        drills=True,
    )


def _heat_cells(domains: Sequence[str], columns: Sequence[str], field: str) -> Callable[[draw.Numbered], list[Mark]]:
    """A cell for each domain and column, with its mean severity as colour and number."""

    def marks(own: draw.Numbered) -> list[Mark]:
        return [
            Mark(
                kind="cell",
                at=[(columns.index(str(r[field])), domains.index(r["domain"]))],
                colour=RAMP[bisect.bisect_right(HEAT_ENDS, r["mean_severity"] or 0.0)],
                row=k,
                text="–" if r["mean_severity"] is None else f"{r['mean_severity']:.1f}",
            )
            for k, r in own
            if r["domain"] in domains
        ]

    return marks


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
        says=describe_mechanisms(totals, ranked),
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
        says=describe_families(rows),
        panels=[],
        rows=rows,
        columns="condition, family: law, bic: BIC, delta_bic: above the best, best, decisive",
        docs="estimators/severity-families",
        folded=True,
    )
