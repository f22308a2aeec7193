"""Can the ratings be trusted: agreement with labels and among raters, leniency, and right answers called grave."""

from collections.abc import Iterator, Mapping
from typing import Any

from richter.ratings import ACCEPTED_ALPHA
from richter.report import _figure as draw
from richter.report._figure import Figure, Row, copied, ends, figure, interval_panel, keys, panels_by
from richter.report._svg import Axis
from richter.words._figure_texts import (
    describe_against_labels,
    describe_agreement,
    describe_biases,
    describe_leniency,
    describe_overcall,
    describe_screening,
)
from richter.words._spans import name

SCREENING = {"sensitivity": "finds (sensitivity)", "specificity": "clears (specificity)", "ppv": "is right (precision)"}


def judges_figures(section: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures that the section on judges of a results document allows."""
    judges = section.get("judges") or {}
    yield from _against_labels(section.get("trust") or {})
    yield from _agreement(section.get("kinds") or {})
    yield from _overcall(section.get("overcall") or judges.get("overcall") or {}, judges)
    yield from _leniency(section.get("leniency") or {})
    yield from _screening(judges)
    yield from _biases(section.get("trust") or {})


def _known(found: Any) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("estimate"), int | float)


def _agreement(kinds: Mapping[str, Any]) -> Iterator[Figure]:
    several = sum(len(found.get("raters") or [1, 2]) > 1 for found in kinds.values()) > 1
    rows: list[Row] = [
        {"kind": kind, "statistic": statistic, **values, "label": f"{kind}: {statistic}" if several else statistic}
        for kind, found in kinds.items()
        for statistic, values in _statistics(found)
        if isinstance(values["estimate"], int | float)
    ]
    if not rows:
        return
    yield figure(
        "judges-agreement",
        title="Do raters agree?",
        says=describe_agreement(rows, ACCEPTED_ALPHA),
        panels=[
            interval_panel(list(enumerate(rows)), "label", title="agreement (1 is perfect)", against=ACCEPTED_ALPHA)
        ],
        rows=rows,
        columns="kind: ratings, statistic, estimate, low: from, high: to, n: answers",
        docs="estimators/agreement",
    )


def _statistics(found: Mapping[str, Any]) -> Iterator[tuple[str, Row]]:
    """Every measure of agreement within a kind of rating, by its name."""
    icc = found.get("icc") or {}
    for key, statistic in (("single", "ICC, one rater"), ("average", "ICC, mean of raters")):
        yield statistic, {"estimate": icc.get(key), "n": icc.get("n_items")} | ends(icc.get(f"{key}_interval"))
    named = [("Krippendorff's alpha", found.get("alpha")), ("Fleiss' kappa", found.get("fleiss"))]
    named += [(f"kappa, linear, {name(pair)}", part) for pair, part in (found.get("kappa_linear") or {}).items()]
    named += [(f"kappa, quadratic, {name(pair)}", part) for pair, part in (found.get("kappa_quadratic") or {}).items()]
    for statistic, part in named:
        own = part or {}
        yield statistic, {"estimate": own.get("estimate"), "n": own.get("n_items")} | ends(own.get("interval"))


def _against_labels(trust: Mapping[str, Any]) -> Iterator[Figure]:
    """Each judge's right and wrong against people's, where there are labels enough."""
    studies = [s for s in trust.get("judges") or () if s.get("agreement")]
    rows: list[Row] = [
        {"judge": name(study["judge"]), "statistic": statistic, "n": part.get("n"), "estimate": part["estimate"]}
        | ends(part.get("interval"))
        | {"label": f"{name(study['judge'])}: {statistic}" if len(studies) > 1 else statistic}
        for study in studies
        for statistic, part in _label_statistics(study)
        if _known(part)
    ]
    if not rows:
        return
    yield figure(
        "judges-labels",
        title="Does the judge agree with people?",
        says=describe_against_labels(rows),
        panels=[interval_panel(list(enumerate(rows)), "label", title="1 is perfect", against=1.0)],
        rows=rows,
        columns="judge, statistic, estimate, low: from, high: to, n: labels",
        docs="estimators/judge-panel",
    )


def _label_statistics(study: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What says how far a judge agrees with people, by its name."""
    found = study["agreement"]
    for key, statistic in (("agreement", "agreement"), ("kappa", "kappa"), ("ac1", "Gwet's AC1")):
        yield statistic, {"estimate": found.get(key), "interval": found.get(f"{key}_interval"), "n": found.get("n")}
    for key in ("sensitivity", "specificity"):
        yield key, study.get(key) or {}


def _leniency(leniency: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {"judge": name(judge)} | ends(found.get("interval")) | copied(found, "estimate mean n")
        for judge, found in leniency.items()
        if _known(found)
    ]
    if len(rows) < 2:
        return
    yield figure(
        "judges-leniency",
        title="Who is lenient?",
        says=describe_leniency(rows),
        panels=[interval_panel(list(enumerate(rows)), "judge", title="severity above the judges' mean", against=0.0)],
        rows=rows,
        columns="judge, estimate: effect, low: from, high: to, mean: mean severity, n: answers",
        docs="estimators/agreement",
        folded=True,
    )


def _biases(trust: Mapping[str, Any]) -> Iterator[Figure]:
    """What each judge's grades depend on besides correctness."""
    several = len(trust.get("judges") or ()) > 1
    rows: list[Row] = [
        {"judge": name(study["judge"]), "kind": bias["kind"],
         "label": f"{name(study['judge'])}: {bias['kind']}" if several else bias["kind"],
         "reference": name(study["reference"])}
        | {key: 100 * value for key, value in ends(bias["claim"].get("plain_interval")).items()}
        | {"estimate": 100 * bias["claim"]["estimate"]}
        for study in trust.get("judges") or ()
        for bias in study["biases"]
        if isinstance(bias["claim"].get("estimate"), int | float)
    ]  # fmt: skip
    if not rows:
        return
    yield figure(
        "judges-biases",
        title="Can I trust the judge?",
        says=describe_biases(rows),
        panels=[
            interval_panel(list(enumerate(rows)), "label", title="points, given the same correctness", against=0.0)
        ],
        rows=rows,
        columns="judge, kind: depends on, estimate: points, low: from, high: to, reference: correctness by",
        docs="estimators/judge-panel",
    )


def _share(judge: str, found: Mapping[str, Any]) -> Row:
    return {"judge": judge} | ends(found.get("interval")) | copied(found, "estimate k n")


def _overcall(overcall: Mapping[str, Any], judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows = [_share(name(judge), found) for judge, found in overcall.items() if _known(found)]
    if not rows:
        return
    yield figure(
        "judges-overcall",
        title="Overcall",
        says=describe_overcall(rows, judges.get("reference")),
        panels=[interval_panel(list(enumerate(rows)), "judge", title="overcalled", percent=True)]
        if len(rows) > 1
        else [],
        rows=rows,
        columns="judge, estimate: overcalled, low: from, high: to, k: overcalled (count), n: of",
        docs="estimators/judge-panel",
    )


def _screening(judges: Mapping[str, Any]) -> Iterator[Figure]:
    rows: list[Row] = [
        {**_share(name(judge), at[key]), "threshold": at["threshold"], "measure": statistic}
        for judge, found in (judges.get("screening") or {}).items()
        for at in found.get("rows") or []
        for key, statistic in SCREENING.items()
        if _known(at.get(key))
    ]
    if not rows:
        return
    rows.sort(key=lambda r: list(SCREENING.values()).index(r["measure"]))
    legend_keys = keys(list(dict.fromkeys(r["judge"] for r in rows)))

    on = ("threshold", "estimate")
    first = next((r for r in rows if r["threshold"] == 3 and r["measure"] == SCREENING["sensitivity"]), rows[0])
    yield figure(
        "judges-screening",
        title="What judges find and miss",
        says=describe_screening(first),
        panels=panels_by(
            rows,
            Axis(title="severity of at least", low=0.3, high=4.2),
            Axis(low=0.0, high=1.0, percent=True),
            draw.each(
                "judge",
                legend_keys.values(),
                lambda key: draw.line(*on, key, size=3, faint=True),
                lambda key: draw.dots(*on, key, size=3.5),
            ),
            field="measure",
        ),
        legend=list(legend_keys.values()) if len(legend_keys) > 1 else [],
        rows=rows,
        columns="judge, measure, threshold: severity, estimate: share, low: from, high: to, k: count, n: of",
        docs="estimators/judge-panel",
        folded=True,
    )
