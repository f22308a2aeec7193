"""Where: the map of what was asked, how the search went step by step, and what failing paragraphs share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from richter.report._figure import SHAPES, Figure, Row, chart, colour, facets, figure, leading, shown_names
from richter.report._words import among, count, name, number, percent

MOST_CATEGORIES = 6  # told apart on the map
OTHERS = "others"


def search_figures(section: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """The figures that the searches of a results document allow."""
    searches = {_label(s, section): s for s in section}
    yield from _steps(searches)
    yield from _map(searches)
    yield from _patterns(searches)
    yield from _categories(searches)


def _label(search: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> str:
    said = f"{search.get('strategy')}, {search.get('model')}"
    same = [s for s in every if (s.get("strategy"), s.get("model")) == (search.get("strategy"), search.get("model"))]
    return name(f"{said}, {search.get('name')}" if len(same) > 1 and search.get("name") else said)


def _steps(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "condition": label,
            "step": step["step"],
            "paragraphs": step.get("paragraphs"),
            "error": step.get("error"),
            "cumulative": step.get("cumulative_error"),
            "base": (search.get("population") or {}).get("error_rate"),
        }
        for label, search in searches.items()
        for step in search.get("steps") or []
    ]
    if not rows:
        return
    names = shown_names(rows)
    first = next(iter(searches.values()))
    population = first.get("population") or {}
    sentence = (
        f"The share of wrong answers at each step (thin) and over all steps (thick). {names[0]} found "
        f"{count(first.get('errors_found'), 'error')} in {count(first.get('answers'), 'answer')}"
    )
    if population.get("error_rate") is not None:
        sentence += (
            f"; of the whole base {percent(population['error_rate'])} is wrong by its random sample "
            f"(dashed, n = {number(population.get('n'))}), of which the steps say nothing"
        )
    for recall in ((first.get("base") or {}).get("index") or {}).get("recall", ())[:1]:
        sentence += (
            f". Neighbours come from a disk index that finds {percent(recall['recall'])} of the exact "
            f"{number(recall['k'])}, measured on {number(recall['queries'])} random paragraphs"
        )
    base = chart(height=220).encode(x=alt.X("step:Q", title="step", axis=alt.Axis(tickMinStep=1)), color=colour(names))
    share = alt.Axis(format="~%", tickCount=5)
    each = base.mark_line(strokeWidth=1, opacity=0.6, point=True).encode(
        y=alt.Y("error:Q", title="wrong answers", axis=share),
        tooltip=[
            "condition:N",
            "step:Q",
            alt.Tooltip("error:Q", format=".1%"),
            alt.Tooltip("cumulative:Q", format=".1%"),
        ],
    )
    whole = base.mark_line(strokeWidth=3).encode(y=alt.Y("cumulative:Q", title="wrong answers", axis=share))
    dashed = base.mark_line(strokeDash=[5, 4], strokeWidth=1.2).encode(
        y=alt.Y("base:Q", title="wrong answers", axis=share)
    )
    yield figure(
        "search-steps",
        title="How the search went",
        sentence=sentence + ".",
        drawing=alt.layer(dashed, each, whole),
        rows=rows,
        columns={
            "condition": "search",
            "step": "step",
            "paragraphs": "paragraphs",
            "error": "wrong",
            "cumulative": "wrong so far",
            "base": "wrong in the base",
        },
        docs="estimators/error-ascent",
    )


def _map(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "condition": label,
            "x": point["x"],
            "y": point["y"],
            "category": name(point.get("category") or "no category"),
            "wrong": float(point["wrong"]),
        }
        for label, search in searches.items()
        for point in search.get("map") or []
        if point["wrong"]
    ]
    if not rows:
        return
    names = shown_names(rows)
    counts = Counter(row["category"] for row in rows)
    ranked = sorted(counts, key=lambda c: (-counts[c], c))
    coloured = ranked[:MOST_CATEGORIES]
    for row in rows:
        row["group"] = row["category"] if row["category"] in coloured else OTHERS
    groups = [*coloured, OTHERS] if len(ranked) > len(coloured) else coloured
    colours = [f"var(--c{k})" for k in range(len(coloured))] + ["var(--c6)"]
    shapes = [*SHAPES[: len(coloured)], "circle"]
    silent = alt.Axis(labels=False, grid=False, title=None)
    drawing = (
        chart(height=320)
        .mark_point(filled=True, opacity=0.85, size=45)
        .encode(
            x=alt.X("x:Q", axis=silent, scale=alt.Scale(zero=False)),
            y=alt.Y("y:Q", axis=silent, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "group:N", scale=alt.Scale(domain=groups, range=colours[: len(groups)]), legend=alt.Legend(title=None)
            ),
            shape=alt.Shape(
                "group:N", scale=alt.Scale(domain=groups, range=shapes[: len(groups)]), legend=alt.Legend(title=None)
            ),
            tooltip=["category:N", alt.Tooltip("wrong:Q", format=".0%")],
        )
    )
    yield figure(
        "search-map",
        title="Map of errors",
        sentence=(
            f"{count(len(rows), 'failing paragraph')}, near each other where they are near in meaning; the axes have "
            f"no unit. Most are on {ranked[0]} ({number(counts[ranked[0]])})"
            + (f", then {among(ranked[1:])}." if len(ranked) > 1 else ".")
        ),
        drawing=drawing if len(names) == 1 else facets(drawing, "condition", order=names),
        rows=rows,
        columns={"condition": "search", "category": "category", "wrong": "share wrong", "x": "x", "y": "y"},
        docs="estimators/error-map",
    )


def _patterns(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = []
    for label, search in searches.items():
        found = search.get("patterns") or []
        for pattern in found.get("found") or [] if isinstance(found, Mapping) else found:
            group = ", ".join(f"{k}: {v}" for k, v in (pattern.get("attributes") or {}).items())
            rows.append(
                {
                    "condition": label,
                    "group": name(group),
                    "paragraphs": pattern.get("paragraphs"),
                    "error": pattern.get("error"),
                    "others": pattern.get("error_of_others"),
                    "p": pattern.get("adjusted_p_value"),
                }
            )
    rows = [r for r in rows if r["error"] is not None]
    if not rows:
        return
    groups, more = leading(list(dict.fromkeys(r["group"] for r in rows)), "groups", most=15)
    top = rows[0]
    base = (
        chart(height=alt.Step(22))
        .transform_filter(alt.FieldOneOfPredicate(field="group", oneOf=groups))
        .encode(y=alt.Y("group:N", sort=groups, title=None))
    )
    axis = alt.Axis(format="~%", tickCount=5)
    join = base.mark_rule(strokeWidth=2, color="var(--line)").encode(
        x=alt.X("others:Q", title="wrong answers", axis=axis), x2="error:Q"
    )
    others = base.mark_point(shape="stroke", size=90, angle=90, color="var(--muted)").encode(x="others:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1, color="var(--c1)").encode(
        x="error:Q",
        tooltip=[
            "group:N",
            "paragraphs:Q",
            alt.Tooltip("error:Q", format=".1%"),
            alt.Tooltip("others:Q", format=".1%"),
            alt.Tooltip("p:Q", format=".2g"),
        ],
    )
    yield figure(
        "search-patterns",
        title="What failing paragraphs share",
        sentence=(
            f"Groups that fail more often (dot) than the rest (line) in what was asked about: {top['group']} is wrong "
            f"in {percent(top['error'])} of {count(top['paragraphs'], 'paragraph')} against "
            f"{percent(top['others'])}.{more}"
        ),
        drawing=alt.layer(join, others, dots),
        rows=rows,
        columns={
            "condition": "search",
            "group": "group",
            "paragraphs": "paragraphs",
            "error": "wrong",
            "others": "others wrong",
            "p": "adjusted p",
        },
        docs="estimators/error-ascent",
    )


def _categories(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[Figure]:
    rows: list[Row] = [
        {
            "condition": label,
            "category": name(category),
            "error": found.get("error_rate"),
            "low": (found.get("interval") or {}).get("low"),
            "high": (found.get("interval") or {}).get("high"),
            "drawn": found.get("n"),
            "size": found.get("size"),
        }
        for label, search in searches.items()
        for category, found in (search.get("by_category") or {}).items()
    ]
    rows = [r for r in rows if r["error"] is not None]
    if not rows:
        return
    rows.sort(key=lambda r: (-(r["drawn"] or 0), r["category"]))
    kinds, more = leading(list(dict.fromkeys(r["category"] for r in rows)), "categories", most=15)
    names = shown_names(rows)
    base = (
        chart(height=alt.Step(20))
        .transform_filter(alt.FieldOneOfPredicate(field="category", oneOf=kinds))
        .encode(y=alt.Y("category:N", sort=kinds, title=None), color=colour(names))
    )
    axis = alt.Axis(format="~%", tickCount=5)
    bars = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="wrong answers", axis=axis), x2="high:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(
        x="error:Q", tooltip=["category:N", alt.Tooltip("error:Q", format=".1%"), "drawn:Q", "size:Q"]
    )
    yield figure(
        "search-categories",
        title="Error rate of the base, by category",
        sentence=(
            f"From the random sample alone, with 95% intervals, the most sampled first: {rows[0]['category']} "
            f"{percent(rows[0]['error'])} [{percent(rows[0]['low'])}, {percent(rows[0]['high'])}] from "
            f"{count(rows[0]['drawn'], 'paragraph')}.{more}"
        ),
        drawing=alt.layer(bars, dots),
        rows=rows,
        columns={
            "condition": "search",
            "category": "category",
            "error": "wrong",
            "low": "from",
            "high": "to",
            "drawn": "drawn",
            "size": "paragraphs",
        },
        docs="estimators/population-rate",
    )
