"""Where: the map of what was asked, how the search went step by step, and what failing paragraphs share."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from richter.report import _figure as draw
from richter.report._svg import Axis, Panel, axis
from richter.words._figure_texts import (
    describe_categories,
    describe_failing,
    describe_map,
    describe_steps,
)
from richter.words._spans import name

MOST_CATEGORIES = 6  # told apart on the map
OTHERS = draw.Key(name="others", colour="var(--c6)")
PASSES = draw.Key(name="passes", colour="var(--muted)")


def search_figures(section: Sequence[Mapping[str, Any]]) -> Iterator[draw.Figure]:
    """The figures that the searches of a results document allow."""
    searches = {_label(s, section): s for s in section}
    yield from _steps(searches)
    yield from _failing(searches)
    yield from _categories(searches)
    yield from _map(searches)


def _label(search: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> str:
    label = f"{search.get('strategy')}, {search.get('model')}"
    same = [s for s in every if (s.get("strategy"), s.get("model")) == (search.get("strategy"), search.get("model"))]
    return name(f"{label}, {search.get('name')}" if len(same) > 1 and search.get("name") else label)


def _steps(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {"condition": label}
        | draw.copied(step, "step paragraphs error cumulative=cumulative_error")
        | {"base": (search.get("population") or {}).get("error_rate")}
        for label, search in searches.items()
        for step in search.get("steps") or []
    ]
    if not rows:
        return
    legend_keys = draw.keys(list(dict.fromkeys(r["condition"] for r in rows)))
    marks = draw.each(
        "condition",
        legend_keys.values(),
        lambda key: draw.line("step", "cumulative", key, size=5),
        lambda key: draw.line("step", "base", key, dash=True, size=2),
        lambda key: draw.dots("step", "error", key, size=3, faint=True),
    )
    y = draw.axis_of(rows, "error cumulative base", "wrong", percent=True, zero=True)
    panel = Panel(x=draw.axis_of(rows, "step", "step"), y=y, marks=list(marks(list(enumerate(rows)))))
    yield draw.figure(
        "search-steps",
        title="How the search went",
        says=describe_steps(*next(iter(searches.items()))),
        panels=[panel] if len({r["step"] for r in rows}) > 1 else [],
        legend=list(legend_keys.values()) if len(legend_keys) > 1 else [],
        rows=rows,
        columns="condition: search, step, paragraphs, error: wrong, cumulative: wrong so far, base: wrong in the base",
        docs="estimators/error-ascent",
    )


def _failing(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {
            "condition": label,
            **{field: name(q.get(field) or "", limit=300) for field in ("mode", "question", "right", "answered")},
            "reworded": q.get("reworded"),
            "source": name(" ".join(part for part in (q.get("place"), q.get("text")) if part), limit=300),
        }
        for label, search in searches.items()
        for q in search.get("failing") or []
    ]
    if not rows:
        return
    yield draw.figure(
        "search-failing",
        title="Failing questions",
        says=describe_failing(rows, list(searches.values())),
        panels=[],
        rows=rows,
        columns="condition: search, mode, question, right, answered, reworded: wrong in other words, source",
        docs="estimators/error-ascent",
    )


def _map(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {
            "condition": label,
            "x": point["x"],
            "y": point["y"],
            "category": name(point.get("category") or "no category"),
            "question": name(point.get("question") or ""),
            "wrong": float(point["wrong"]),
            "fails": bool(point.get("fails", point["wrong"])),
        }
        for label, search in searches.items()
        for point in search.get("map") or []
    ]
    counts = Counter(row["category"] for row in rows if row["fails"])
    if not counts:
        return
    ranked = sorted(counts, key=lambda c: (-counts[c], c))
    legend_keys = draw.keys(ranked[:MOST_CATEGORIES])
    bases = {label: str((search.get("base") or {}).get("name")) for label, search in searches.items()}

    def silent(own: list[draw.Row], field: str) -> Axis:  # searches of one base share its plane
        base = bases[own[0]["condition"]]
        found = axis(r[field] for r in rows if bases[r["condition"]] == base)
        return Axis(low=found.low, high=found.high, silent=True)

    passing = len(rows) - counts.total()
    shared = len(set(bases.values())) < len({r["condition"] for r in rows})

    yield draw.figure(
        "search-map",
        title="Map of errors",
        says=describe_map(rows, ranked, has_shared_places=shared),
        panels=draw.panels_by(
            rows,
            lambda own: silent(own, "x"),
            lambda own: silent(own, "y"),
            draw.some(lambda r: not r["fails"], draw.dots("x", "y", PASSES, size=2, faint=True)),
            draw.some(
                lambda r: r["fails"], draw.dots("x", "y", lambda r: legend_keys.get(r["category"], OTHERS), size=3.5)
            ),
        ),
        legend=[
            *legend_keys.values(),
            *([OTHERS] if len(ranked) > len(legend_keys) else []),
            *([PASSES] if passing else []),
        ],
        rows=rows,
        columns="condition: search, category, question, wrong: share wrong, fails, x, y",
        docs="estimators/error-map",
        folded=True,
    )


def _categories(searches: Mapping[str, Mapping[str, Any]]) -> Iterator[draw.Figure]:
    rows: list[draw.Row] = [
        {"condition": label, "category": name(category)}
        | draw.copied(found, "error=error_rate drawn=n size")
        | draw.ends(found.get("interval"))
        for label, search in searches.items()
        for category, found in (search.get("by_category") or {}).items()
    ]
    rows = [r for r in rows if r["error"] is not None]
    if not rows:
        return
    rows.sort(key=lambda r: (-(r["drawn"] or 0), r["category"]))
    kinds, more = draw.leading(list(dict.fromkeys(r["category"] for r in rows)), "categories", most=15)
    searched = draw.apart(rows, "condition")
    yield draw.figure(
        "search-categories",
        title="Error rate of the base, by category",
        says=describe_categories(rows),
        more=more,
        panels=[
            draw.interval_panel(
                own,
                "category",
                title="wrong answers",
                heading=label if len(searched) > 1 else "",
                value="error",
                percent=True,
                most=kinds,
            )
            for label, own in searched.items()
        ],
        rows=rows,
        columns="condition: search, category, error: wrong, low: from, high: to, drawn, size: paragraphs",
        docs="estimators/population-rate",
        folded=True,
    )
