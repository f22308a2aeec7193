"""Can the ratings be trusted: agreement, who is lenient, and how often a judge calls a right answer grave."""

from collections.abc import Iterator, Mapping
from typing import Any

from richter.report import _figure as draw
from richter.report._figure import Figure, Row, copied, ends, figure, interval_panel, keys, panels_by
from richter.report._numbers import name, number, percent, signed
from richter.report._svg import Axis

GOOD_ENOUGH = 0.667  # Krippendorff's lowest alpha for tentative conclusions
SCREENING = {"sensitivity": "finds (sensitivity)", "specificity": "clears (specificity)", "ppv": "is right (precision)"}


def judges_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the section on judges of a results document allows."""
    judges = section.get("judges") or {}
    yield from _agreement(section.get("kinds") or {})
    yield from _overcall(section.get("overcall") or judges.get("overcall") or {}, judges)
    yield from _leniency(section.get("leniency") or {})
    yield from _screening(judges)


def _known(found: Any) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("estimate"), int | float)


def _agreement(kinds: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = []
    several = sum(len(found.get("raters") or [1, 2]) > 1 for found in kinds.values()) > 1

    def add(kind: str, statistic: str, estimate: Any, interval: Any, n: Any) -> None:
        if isinstance(estimate, int | float):
            row = {"kind": kind, "statistic": statistic, "estimate": estimate, "n": n} | ends(interval)
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
    yield figure(
        "judges-agreement",
        title="Do raters agree?",
        sentence=(
            f"Agreement within each kind of rating, with 95% intervals: {alpha['statistic']} of the {alpha['kind']} "
            f"ratings is {number(alpha['estimate'])} [{number(alpha['low'])}, {number(alpha['high'])}]; the dashed "
            f"line is {GOOD_ENOUGH}, under which Krippendorff advises against conclusions."
        ),
        panels=[interval_panel(list(enumerate(rows)), "label", title="agreement (1 is perfect)", against=GOOD_ENOUGH)],
        rows=rows,
        columns="kind: ratings, statistic, estimate, low: from, high: to, n: answers",
        docs="estimators/agreement",
    )


def _leniency(leniency: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"judge": name(judge)} | ends(found.get("interval")) | copied(found, "estimate mean n")
        for judge, found in leniency.items()
        if _known(found)
    ]
    if len(rows) < 2:
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
        panels=[interval_panel(list(enumerate(rows)), "judge", title="severity above the judges' mean", against=0.0)],
        rows=rows,
        columns="judge, estimate: effect, low: from, high: to, mean: mean severity, n: answers",
        docs="estimators/agreement",
        folded=True,
    )


def _share(judge: str, found: Mapping[str, Any]) -> Row:
    return {"judge": judge} | ends(found.get("interval")) | copied(found, "estimate k n")


def _overcall(overcall: Mapping[str, Any], judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows = [_share(name(judge), found) for judge, found in overcall.items() if _known(found)]
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
        panels=[interval_panel(list(enumerate(rows)), "judge", title="overcalled", percent=True)]
        if len(rows) > 1
        else [],
        rows=rows,
        columns="judge, estimate: overcalled, low: from, high: to, k: overcalled (count), n: of",
        docs="estimators/judge-panel",
    )


def _screening(judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {**_share(name(judge), at[key]), "threshold": at["threshold"], "measure": said}
        for judge, found in (judges.get("screening") or {}).items()
        for at in found.get("rows") or []
        for key, said in SCREENING.items()
        if _known(at.get(key))
    ]
    if not rows:
        return
    rows.sort(key=lambda r: list(SCREENING.values()).index(r["measure"]))
    told = keys(list(dict.fromkeys(r["judge"] for r in rows)))

    on = ("threshold", "estimate")
    first = next((r for r in rows if r["threshold"] == 3 and r["measure"] == SCREENING["sensitivity"]), rows[0])
    yield figure(
        "judges-screening",
        title="What judges find and miss",
        sentence=(
            f"At each severity: the share of such answers that a judge finds, of the others that it clears, and of its "
            f"calls that are right. {first['judge']} finds {percent(first['estimate'])} of {number(first['n'])} at "
            f"severity {number(first['threshold'])} and over."
        ),
        panels=panels_by(
            rows,
            Axis(title="severity of at least", low=0.3, high=4.2),
            Axis(low=0.0, high=1.0, percent=True),
            draw.each(
                "judge",
                told.values(),
                lambda key: draw.line(*on, key, size=3, faint=True),
                lambda key: draw.dots(*on, key, size=3.5),
            ),
            field="measure",
        ),
        legend=list(told.values()) if len(told) > 1 else [],
        rows=rows,
        columns="judge, measure, threshold: severity, estimate: share, low: from, high: to, k: count, n: of",
        docs="estimators/judge-panel",
        folded=True,
    )
