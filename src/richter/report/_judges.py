"""Can the ratings be trusted: agreement, who is lenient, and how often a judge calls a right answer grave."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from richter.report._figure import Figure, Row, chart, facets, figure
from richter.report._words import name, number, percent, signed

GOOD_ENOUGH = 0.667  # Krippendorff's lowest alpha for tentative conclusions


def judges_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the section on judges of a results document allows."""
    judges = section.get("judges") or {}
    yield from _agreement(section.get("kinds") or {})
    yield from _leniency(section.get("leniency") or {})
    yield from _overcall(section.get("overcall") or judges.get("overcall") or {}, judges)
    yield from _screening(judges)


def _agreement(kinds: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    several = sum(len(found.get("raters") or [1, 2]) > 1 for found in kinds.values()) > 1

    def add(kind: str, statistic: str, estimate: Any, interval: Any, n: Any) -> None:
        if isinstance(estimate, int | float):
            ends = interval or {}
            low, high = ends.get("low"), ends.get("high")
            row = {"kind": kind, "statistic": statistic, "estimate": estimate, "low": low, "high": high, "n": n}
            rows.append({**row, "label": f"{kind}: {statistic}" if several else statistic})

    for kind, found in kinds.items():
        icc = found.get("icc") or {}
        add(kind, "ICC, one rater", icc.get("single"), icc.get("single_interval"), icc.get("n_items"))
        add(kind, "ICC, mean of raters", icc.get("average"), icc.get("average_interval"), icc.get("n_items"))
        for key, said in (("alpha", "Krippendorff's alpha"), ("fleiss", "Fleiss' kappa")):
            part = found.get(key) or {}
            add(kind, said, part.get("estimate"), part.get("interval"), part.get("n_items"))
        for key, said in (("kappa_linear", "kappa, linear"), ("kappa_quadratic", "kappa, quadratic")):
            for pair, part in (found.get(key) or {}).items():
                add(kind, f"{said}, {name(pair)}", part.get("estimate"), part.get("interval"), part.get("n_items"))
    if not rows:
        return
    alpha = next((r for r in rows if r["statistic"] == "Krippendorff's alpha"), rows[0])
    order = [r["label"] for r in rows]
    for row in rows:
        row["asked"] = GOOD_ENOUGH
    base = chart(height=alt.Step(22)).encode(y=alt.Y("label:N", sort=order, title=None))
    asked = base.mark_tick(color="var(--muted)", thickness=1, height=22).encode(x="asked:Q")
    bars = base.mark_rule(strokeWidth=2.5, color="var(--c0)").encode(
        x=alt.X("low:Q", title="agreement (1 is perfect)", axis=alt.Axis(tickCount=5)), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=60, opacity=1, color="var(--c0)").encode(
        x="estimate:Q",
        tooltip=[
            "kind:N",
            "statistic:N",
            *(alt.Tooltip(f"{k}:Q", format=".3f") for k in ("estimate", "low", "high")),
            "n:Q",
        ],
    )
    yield figure(
        "judges-agreement",
        title="Do raters agree?",
        sentence=(
            f"Agreement within each kind of rating, with 95% intervals: {alpha['statistic']} of the {alpha['kind']} "
            f"ratings is {number(alpha['estimate'])} [{number(alpha['low'])}, {number(alpha['high'])}]; the thin line "
            f"is {GOOD_ENOUGH}, under which Krippendorff advises against conclusions."
        ),
        drawing=alt.layer(asked, bars, dots),
        rows=rows,
        columns={
            "kind": "ratings",
            "statistic": "statistic",
            "estimate": "estimate",
            "low": "from",
            "high": "to",
            "n": "answers",
        },
        docs="estimators/agreement",
    )


def _leniency(leniency: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "judge": name(judge),
            "estimate": found["estimate"],
            "low": (found.get("interval") or {}).get("low"),
            "high": (found.get("interval") or {}).get("high"),
            "mean": found.get("mean"),
            "n": found.get("n"),
            "zero": 0,
        }
        for judge, found in leniency.items()
        if isinstance(found, Mapping) and isinstance(found.get("estimate"), int | float)
    ]
    if not rows:
        return
    strict, mild = max(rows, key=lambda r: r["estimate"]), min(rows, key=lambda r: r["estimate"])
    yield figure(
        "judges-leniency",
        title="Who is lenient?",
        sentence=(
            f"How much higher or lower each judge rates the same answers than the judges' mean: {mild['judge']} is the "
            f"most lenient ({signed(mild['estimate'])}), {strict['judge']} the strictest "
            f"({signed(strict['estimate'])})."
        ),
        drawing=_interval_plot(rows, "judge", "severity above the judges' mean", percent_axis=False, zero=True),
        rows=rows,
        columns={
            "judge": "judge",
            "estimate": "effect",
            "low": "from",
            "high": "to",
            "mean": "mean severity",
            "n": "answers",
        },
        docs="estimators/agreement",
    )


def _overcall(overcall: Mapping[str, Any], judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows = [_share(name(judge), found) for judge, found in overcall.items() if _is_share(found)]
    if not rows:
        return
    worst = max(rows, key=lambda r: r["estimate"])
    yield figure(
        "judges-overcall",
        title="Overcall",
        sentence=(
            f"Of the answers that a judge scored 2, the share that the {name(judges.get('reference') or 'reference')} "
            f"ratings score 0.5 or less: most for {worst['judge']}, {percent(worst['estimate'])} of "
            f"{number(worst['n'])} [{percent(worst['low'])}, {percent(worst['high'])}]."
        ),
        drawing=_interval_plot(rows, "judge", "overcalled", percent_axis=True),
        rows=rows,
        columns={
            "judge": "judge",
            "estimate": "overcalled",
            "low": "from",
            "high": "to",
            "k": "overcalled (count)",
            "n": "of",
        },
        docs="estimators/judge-panel",
    )


def _screening(judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    for judge, found in (judges.get("screening") or {}).items():
        for at in found.get("rows") or []:
            rows += [
                {**_share(name(judge), at[key]), "threshold": at["threshold"], "measure": key}
                for key in ("sensitivity", "specificity", "ppv")
                if _is_share(at.get(key))
            ]
    if not rows:
        return
    said = {"sensitivity": "finds (sensitivity)", "specificity": "clears (specificity)", "ppv": "is right (precision)"}
    for row in rows:
        row["measure"] = said[row["measure"]]
    names = list(dict.fromkeys(r["judge"] for r in rows))
    colours = [f"var(--c{k % 7})" for k in range(len(names))]
    drawing = (
        chart(height=170)
        .mark_line(point=alt.OverlayMarkDef(size=35, filled=True), strokeWidth=1.6)
        .encode(
            x=alt.X("threshold:Q", title="severity of at least", axis=alt.Axis(values=[1, 2, 3, 4])),
            y=alt.Y("estimate:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="~%", tickCount=4)),
            color=alt.Color("judge:N", scale=alt.Scale(domain=names, range=colours), legend=alt.Legend(title=None)),
            tooltip=["judge:N", "measure:N", "threshold:Q", alt.Tooltip("estimate:Q", format=".1%"), "k:Q", "n:Q"],
        )
    )
    first = next((r for r in rows if r["threshold"] == 3 and r["measure"] == said["sensitivity"]), rows[0])
    yield figure(
        "judges-screening",
        title="What judges find and miss",
        sentence=(
            f"At each severity: the share of such answers that a judge finds, of the others that it clears, and of its "
            f"calls that are right. {first['judge']} finds {percent(first['estimate'])} of {number(first['n'])} at "
            f"severity {number(first['threshold'])} and over."
        ),
        drawing=facets(drawing, "measure", order=list(said.values())),
        rows=rows,
        columns={
            "judge": "judge",
            "measure": "measure",
            "threshold": "severity",
            "estimate": "share",
            "low": "from",
            "high": "to",
            "k": "count",
            "n": "of",
        },
        docs="estimators/judge-panel",
    )


def _is_share(found: Any) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("estimate"), int | float)


def _share(judge: str, found: Mapping[str, Any]) -> Row:
    interval = found.get("interval") or {}
    return {
        "judge": judge,
        "estimate": found["estimate"],
        "low": interval.get("low"),
        "high": interval.get("high"),
        "k": found.get("k"),
        "n": found.get("n"),
    }


def _interval_plot(
    rows: list[Row], field: str, title: str, *, percent_axis: bool, zero: bool = False
) -> alt.TopLevelMixin:
    """One dot with its interval a line."""
    axis = alt.Axis(format="~%", tickCount=5) if percent_axis else alt.Axis(tickCount=5)
    order = [r[field] for r in rows]
    base = chart(height=alt.Step(24)).encode(y=alt.Y(f"{field}:N", sort=order, title=None))
    bars = base.mark_rule(strokeWidth=2.5, color="var(--c0)").encode(
        x=alt.X("low:Q", title=title, axis=axis), x2="high:Q"
    )
    dots = base.mark_point(filled=True, size=60, opacity=1, color="var(--c0)").encode(
        x=alt.X("estimate:Q", axis=axis), tooltip=[f"{field}:N", "estimate:Q", "low:Q", "high:Q", "n:Q"]
    )
    line = [base.mark_tick(color="var(--muted)", thickness=1, height=24).encode(x="zero:Q")] if zero else []
    return alt.layer(*line, bars, dots)
