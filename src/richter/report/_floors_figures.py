"""What is better and by how much: the difference of two, the ranking of several, every difference, fixed and broken."""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from richter.claims import JUDGE_UNCHECKED, Metric, measure_words
from richter.records import DEFAULT_LEVEL
from richter.report._figure import Figure, Row, dashed, ends, figure, interval_panel, leading
from richter.report._measure_table import figures_of, leaders_on
from richter.report._svg import Axis, Mark, Panel, axis, lanes, plot_width
from richter.words._figure_texts import (
    describe_difference,
    describe_differences_figure,
    describe_drawn,
    describe_flips,
    describe_rank_heading,
    describe_ranking,
    describe_ranking_heading,
    describe_severe_axis,
    describe_with_levels,
)
from richter.words._page_texts import board_names, is_blocked
from richter.words._spans import describe_level, describe_rank_span, digits_by_width, name

SHOWN = ("verified", "refuted")
MOST_RANKED = 10  # models of a ranking; the table of measures has all
MOST_SEVERE = 4  # models whose severe errors stand under their ranking
MOST_GROUPS = 6  # groups of questions of one model alone
MOST_TIERS = 2  # lines beside each other at a ranking; where tiers overlap more, its ranks say it
MOST_ZOOM = 3  # times that a difference is drawn smaller to share a scale with its means
COLOURS = {"better": "var(--better)", "worse": "var(--worse)"}


def floors_figures(document: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures on which model is better that a results document allows."""
    section = (document.get("sections") or {}).get("floors") or {}
    comparison = section.get("comparison") or {}
    claims, pairs = comparison.get("claims") or [], comparison.get("pairs") or []
    order = {tuple(pair["conditions"]): k for k, pair in enumerate(pairs)}
    gaps = [c for c in claims if c["measure"] not in ("b", "xi") and tuple(c["conditions"]) in order]
    gaps.sort(key=lambda c: order[tuple(c["conditions"])])
    rows = [_gap(c) for c in gaps if c.get("estimate") is not None]
    main = [_gap(c) for c in gaps if c.get("estimate") is not None and _is_main(c, comparison)]
    yield from _lead(document, comparison, main)
    yield from _flips([pair for pair in pairs if pair.get("fixed") is not None])
    yield from _forest(rows)


def _is_main(claim: Mapping[str, Any], comparison: Mapping[str, Any]) -> bool:
    """Whether a claim is on the main measure, also in a document that marks none as primary."""
    return bool(claim.get("primary")) or (
        "primary" not in claim and claim["measure"] == (comparison.get("primary") or "accuracy")
    )


def _lead(document: Mapping[str, Any], comparison: Mapping[str, Any], main: Sequence[Row]) -> Iterator[Figure]:
    """The figure of the first screen: the difference of two that were compared, else the ranking of all."""
    names = {row[key] for row in main for key in ("condition", "other")}
    if len(main) == 1 and len(names) == 2 and len(comparison.get("conditions") or names) == 2:
        yield from _difference(main[0], _both_panel(document, comparison))
    else:
        yield from _ranking(document, comparison)


def _both_panel(document: Mapping[str, Any], comparison: Mapping[str, Any]) -> list[Panel]:
    """The two on the main measure, as given; none where one was not measured by itself."""
    primary, figures = _main_figures(document, comparison)
    words = measure_words(primary or "accuracy")
    rows = _ranked_rows(figures, words, [])
    if len(rows) != 2 or any(row["low"] is None for row in rows):
        return []
    marks = [mark for k, row in enumerate(rows) for mark in _ranked_marks(k, row, is_leader=True)]
    return [Panel(x=_measure_axis(rows, words), y=lanes([r["condition"] for r in rows]), marks=marks, beside=True)]


def _measure_axis(rows: Sequence[Row], words: Metric) -> Axis:
    """The axis of a measure that holds the intervals of all rows; its title says their level."""
    rates = words.suffix == " points"
    levels = sorted({describe_level(row["level"]) for row in rows if row["level"]})
    reach = [row[key] for row in rows for key in ("low", "value", "high")]
    title = describe_with_levels(words.noun, levels)
    return axis([0.0, 1.0] if rates and len(rows) == 1 else reach, title, percent=rates)


def _difference(row: Row, panels: Sequence[Panel]) -> Iterator[Figure]:
    """The main difference of two with its interval, its margin, and which side is whose."""
    if row["low"] is None or row["high"] is None:
        return
    margin = row["margin"] or 0.0
    reach = max(abs(v) for v in (row["low"], row["high"], row["delta"], 1.3 * margin) if math.isfinite(v)) * 1.2
    good = 1 if row["better"] == "higher" else -1
    sides = {good: row["other"], -good: row["condition"]}
    colour, middle = "var(--open)" if row["is_unchecked"] else _colour(row), 0.36
    marks = [Mark(kind="area", at=[(-margin,), (margin,)], colour="var(--shade)")] if margin else []
    marks += [
        dashed((0, 0), (0, 1)),
        Mark(kind="span", at=[(row["low"], middle), (row["high"], middle)], colour=colour, size=10, row=0),
        Mark(kind="dot", at=[(row["delta"], middle)], colour=colour, size=7, row=0),
        Mark(kind="label", at=[(row["delta"], 0.56)], text=row["shown"]),
    ]
    level = describe_level(row["level"])
    title = describe_with_levels(f"difference in {row['measure']}", [level])
    x, panels = _at_one_zoom(Axis(low=-reach or -1.0, high=reach or 1.0, title=title), panels, row["scale"])
    whose = {x.low: f"← {name(sides[-1], limit=20)} better", x.high: f"{name(sides[1], limit=20)} better →"}
    marks += [Mark(kind="label", at=[(at, 0.92)], text=text, faint=True) for at, text in whose.items()]
    yield figure(
        "floors-difference",
        title="The difference",
        says=describe_difference(row, level),
        panels=[Panel(x=x, y=Axis(silent=True), marks=marks, short=True), *panels],
        rows=[row],
        columns="condition: from, other: to, measure, delta: difference, low: from, high: to, margin, n: questions",
        docs="estimators/comparison",
        drills=True,
    )


def _at_one_zoom(x: Axis, panels: Sequence[Panel], scale: float | None) -> tuple[Axis, Sequence[Panel]]:
    """The axis of a difference and the panels of its two means, a point as wide on all of them.

    Where the means would make the difference too small to read, all stay as they are.
    """
    if scale is None:
        return x, panels
    wide = plot_width(Panel(x=x, y=Axis(silent=True), marks=()))
    own = (x.high - x.low) / wide
    zoom = max([own, *((p.x.high - p.x.low) * scale / plot_width(p) for p in panels)])
    if zoom > MOST_ZOOM * own:
        return x, panels
    found = []
    for panel in panels:
        span = zoom * plot_width(panel) / scale
        low = (panel.x.low + panel.x.high - span) / 2
        low = min(low, max(1.02, panel.x.high) - span) if panel.x.percent else low
        found.append(dataclasses.replace(panel, x=dataclasses.replace(panel.x, low=low, high=low + span)))
    return dataclasses.replace(x, low=-zoom * wide / 2, high=zoom * wide / 2), found


def _ranking(document: Mapping[str, Any], comparison: Mapping[str, Any]) -> Iterator[Figure]:
    """Every condition on the main measure with its interval, best first; lines join those that no claim tells apart."""
    groups = [[name(n) for n in group] for group in comparison.get("groups") or [] if group]
    primary, figures = _main_figures(document, comparison)
    words = measure_words(primary or "accuracy")
    rows = _ranked_rows(figures, words, groups)
    if not rows:
        return
    control = (comparison.get("options") or {}).get("control")
    names = [row["condition"] for row in rows]
    parts = _group_rows(document, words) if len(rows) == 1 else []
    drawn = [*_drawn_rows(rows, [*map(name, board_names(document)), control]), *parts]
    lane_names = [row["condition"] for row in drawn]
    leaders = _leaders(document, groups, names)
    ranks = _rank_marks(comparison, rows, drawn)
    tiers = _tier_lines(groups, {who: k for k, who in enumerate(lane_names)})
    severe = [] if primary == "catastrophic_rate" else _severe_panel(document, rows)
    yield figure(
        "floors-ranking",
        title="The ranking",
        says=describe_ranking(groups, names, words.noun, control=control, has_bars=bool(tiers), n_leaders=len(leaders)),
        more=describe_drawn(lane_names, names, most=MOST_RANKED),
        panels=[
            Panel(
                title=_ranking_heading(document, words, names)
                or " " * bool(ranks),  # the ranks' heading is in its line
                x=_measure_axis(drawn, words),
                y=lanes(lane_names),
                marks=[*_ranking_marks([*rows, *parts], drawn, leaders, control), *tiers, *ranks],
                beside=True,
                columns=2 if ranks else 1,
            ),
            *severe,
        ],
        rows=[*rows, *parts],
        columns=f"condition: model, value: {words.noun}, low: from, high: to, n: questions, tiers"
        + ", rank" * bool(ranks)
        + ", severe: severity 3 or more" * bool(severe),
        docs="estimators/comparison",
    )


def _leaders(document: Mapping[str, Any], groups: Sequence[Sequence[str]], names: Sequence[str]) -> set[str]:
    """Those that a ranking draws in colour: the first tier, all of a single one, none that are not compared."""
    if is_blocked(document):
        return set()
    return set(groups[0] if len(groups) > 1 else names)


def _ranking_heading(document: Mapping[str, Any], words: Metric, names: Sequence[str]) -> str:
    pairs = [c for c in document.get("claims") or () if len(c.get("conditions") or ()) == 2]
    blocked_by = {c.get("blocked_by") for c in pairs} if is_blocked(document) else None
    return describe_ranking_heading(words.noun, len(names), most=MOST_RANKED, blocked_by=blocked_by)


def _rank_marks(comparison: Mapping[str, Any], rows: Sequence[Row], drawn: Sequence[Row]) -> list[Mark]:
    """The ranks that each of several may have, as a column beside the values; none where not all were compared.

    The ranks are added to the rows. The values move one column to the left.
    """
    ranks = {name(who): span for who, span in (comparison.get("ranks") or {}).items()}
    if len(ranks) < 3 or any(row["condition"] not in ranks for row in rows):
        return []
    for row in rows:
        row["rank"] = describe_rank_span(*ranks[row["condition"]])
    head = Mark(kind="label", at=[(math.inf, -1.0)], text=describe_rank_heading(), faint=True)
    labels = [
        Mark(kind="label", at=[(math.inf, place)], text=row["rank"], faint=True) for place, row in enumerate(drawn)
    ]
    return [head, *labels]


def _severe_panel(document: Mapping[str, Any], rows: Sequence[Row]) -> list[Panel]:
    """How often each of a few is severely wrong, in the order of the ranking; none where that was not measured. The
    shares are added to the rows."""
    found = {name(c.get("name")): c.get("how_badly") or {} for c in document.get("conditions") or []}
    words = measure_words("catastrophic_rate")
    severe = [
        row for own in rows for row in _ranked_rows({own["condition"]: found.get(own["condition"]) or {}}, words, [])
    ]
    if not 1 < len(rows) == len(severe) <= MOST_SEVERE or any(row["low"] is None for row in severe):
        return []
    for own, row in zip(rows, severe, strict=True):
        own["severe"] = row["value"]
    names = [row["condition"] for row in severe]
    leaders = leaders_on(document, "catastrophic_rate")
    marks = [
        mark
        for k, row in enumerate(severe)
        for mark in _ranked_marks(k, row, is_leader=row["condition"] in leaders, number=k)
    ]
    x = axis([0.0, *(row["high"] for row in severe)], describe_severe_axis(severe[0]["level"]), percent=True)
    return [Panel(x=x, y=lanes(names), marks=marks, beside=True)]


def _drawn_rows(rows: Sequence[Row], named: Sequence[str | None]) -> list[Row]:
    """The best ones, and of the others those that the first screen names."""
    return [row for place, row in enumerate(rows) if place < MOST_RANKED or row["condition"] in named]


def _group_rows(document: Mapping[str, Any], words: Metric) -> list[Row]:
    """Of one condition alone how often it is right in each group of questions, the worst first."""
    conditions: Sequence[Mapping[str, Any]] = document.get("conditions") or ()
    found = conditions[0].get("where") if conditions and words.name == "accuracy" else None
    rows = []
    for group in (found or ())[:MOST_GROUPS]:
        wrong, span = group.get("error_rate"), group.get("interval")
        if isinstance(wrong, int | float) and span:
            right = {"estimate": 1 - wrong, "interval": {**span, "low": 1 - span["high"], "high": 1 - span["low"]}}
            rows += _ranked_rows(
                {f"in {name(group.get('group'), limit=40)}": {**right, "n": group.get("n")}}, words, []
            )
    return rows


def _ranking_marks(
    rows: Sequence[Row],
    drawn: Sequence[Row],
    leaders: set[str],
    control: str | None,
) -> list[Mark]:
    """The lanes of those of the rows that are drawn, and a line at the baseline."""
    marks = [dashed((r["value"], 0), (r["value"], len(drawn) - 1)) for r in drawn if r["condition"] == control]
    for k, row in enumerate(drawn):
        who, number = row["condition"], next(n for n, own in enumerate(rows) if own is row)
        marks += _ranked_marks(k, row, is_leader=who in leaders, is_control=who == control, number=number)
    return marks


def _ranked_marks(
    place: int, row: Row, *, is_leader: bool, is_control: bool = False, number: int | None = None
) -> Iterator[Mark]:
    """A condition's lane: its interval, its mean and the mean as a number; `number`: its row among the figure's."""
    look: dict[str, Any] = {"colour": "var(--accent)" if is_leader else "var(--muted)", "row": number}
    if row["low"] is not None and row["high"] is not None:
        yield Mark(kind="span", at=[(row["low"], place), (row["high"], place)], size=6, **look)
    yield Mark(kind="dot", at=[(row["value"], place)], size=5.5, shape="diamond" if is_control else "circle", **look)
    yield Mark(kind="label", at=[(math.inf, place, int("rank" in row))], text=row["shown"])


def _main_figures(
    document: Mapping[str, Any], comparison: Mapping[str, Any]
) -> tuple[str, dict[str, Mapping[str, Any]]]:
    """The main measure, and each condition's figure of it."""
    measured = {name(c.get("name")): figures_of(c) for c in document.get("conditions") or []}
    first = next((measure for figures in measured.values() for measure in figures), "")
    primary = str(comparison.get("primary") or first)
    found = {who: figures[primary] for who, figures in measured.items() if primary in figures}
    return primary, found or _compared_figures(comparison, primary)


def _ranked_rows(figures: Mapping[str, Mapping[str, Any]], words: Metric, tiers: Sequence[Sequence[str]]) -> list[Row]:
    """Each condition's mean with its interval and its tiers, the best first."""
    better = next((f["better"] for f in figures.values() if f.get("better")), words.better)
    rows: list[Row] = [
        {
            "condition": who,
            "value": figure["estimate"],
            **ends(figure.get("interval")),
            "level": (figure.get("interval") or {}).get("level"),
            "n": figure.get("n"),
            "tiers": ", ".join(str(k) for k, tier in enumerate(tiers, start=1) if who in tier),
            "shown": _amount(words, figure),
        }
        for who, figure in figures.items()
        if isinstance(figure.get("estimate"), int | float)
    ]
    if len(rows) == 2 and not tiers:  # two that were not compared have no rank
        return rows
    return sorted(rows, key=lambda r: -r["value"] if better == "higher" else r["value"])


def _compared_figures(comparison: Mapping[str, Any], primary: str) -> dict[str, Mapping[str, Any]]:
    """Each condition's mean of the main measure as a comparison has it; of right and wrong with its interval."""
    found: dict[str, Mapping[str, Any]] = {}
    values = (comparison.get("measures") or {}).get(primary) or {}
    for who, own in (comparison.get("conditions") or {}).items():
        span = own.get("error_rate_interval") if primary == "accuracy" else None
        interval = span and {**span, "low": 1 - span["high"], "high": 1 - span["low"]}
        found[name(who)] = {"estimate": values.get(who, own.get(primary)), "interval": interval, "n": own.get("n")}
    return found


def _amount(words: Metric, figure: Mapping[str, Any]) -> str:
    """A mean as people read it, with the digits that its interval deserves."""
    span = figure.get("interval") or {}
    known = [e for e in (span.get("low"), span.get("high")) if isinstance(e, int | float)]
    shown = digits_by_width(words, *known) if len(known) == 2 else words
    return f"{shown.amount(figure['estimate'])}{words.unit}"


def _tier_lines(groups: Sequence[Sequence[str]], lane: Mapping[str, int]) -> list[Mark]:
    """A line beside the lanes of every tier of two or more, those that overlap in columns of their own; none where
    that takes too many columns."""
    spans = []
    for group in groups:
        places = [lane[m] for m in group if m in lane]
        if len(places) > 1 and (min(places), max(places)) not in spans:
            spans.append((min(places), max(places)))
    ends_by_column: list[int] = []
    lines = []
    for first, last in sorted(spans):
        column = next((k for k, end in enumerate(ends_by_column) if end < first), len(ends_by_column))
        ends_by_column[column : column + 1] = [last]
        lines.append(Mark(kind="tier", at=[(column, first), (column, last)], colour="var(--muted)"))
    return lines if len(ends_by_column) <= MOST_TIERS else []


def _gap(claim: Mapping[str, Any]) -> Row:
    """A claim on a difference of means as a row, in points where it is one of rates."""
    words, (first, second) = measure_words(str(claim["measure"])), claim["conditions"]
    scale = 100.0 if words.suffix == " points" else 1.0
    interval = claim.get("interval") or claim.get("plain_interval") or {}

    def scaled(value: Any) -> float | None:
        return scale * value if isinstance(value, int | float) else None

    row: Row = {
        "pair": f"{name(second, limit=40)} − {name(first, limit=40)}",
        "condition": name(first),
        "other": name(second),
        "measure": name(words.noun) + " (points)" * (scale != 1.0),
        "better": claim.get("better") or words.better,
        "level": interval.get("level") or DEFAULT_LEVEL,
        "scale": None if words.suffix == "%" else scale,
        "shown": f"{_difference_words(words, claim, interval)}",
        "delta": scaled(claim["estimate"]),
        "low": scaled(interval.get("low")),
        "high": scaled(interval.get("high")),
        "margin": scaled(claim.get("margin")),
        "visible": scaled(claim.get("min_detectable_difference")),
        "verdict": str(claim.get("verdict") or "untestable"),
        "labels_needed": claim.get("needed"),
        "unit": name(claim.get("unit") or "item"),
        "n": claim.get("n"),
        "is_unchecked": claim.get("basis") == JUDGE_UNCHECKED,
    }
    return row | {"side": _side(row)}


def _difference_words(words: Metric, claim: Mapping[str, Any], interval: Mapping[str, Any]) -> str:
    """The difference with its sign and unit, and the digits that its interval deserves."""
    known = [e for e in (interval.get("low"), interval.get("high")) if isinstance(e, int | float)]
    shown = digits_by_width(words, *known) if len(known) == 2 else words
    return f"{shown.amount(claim['estimate'], sign=True)}{words.suffix}"


def _side(row: Row) -> str:
    """Better or worse for the second condition where a difference was shown; alike, or open."""
    if row["verdict"] not in SHOWN:
        return "alike" if row["verdict"] == "equivalent" else "open"
    return "better" if (row["delta"] > 0) == (row["better"] == "higher") else "worse"


def _colour(row: Row) -> str:
    return COLOURS.get(row["side"], "var(--muted)")


def _relative_size(row: Row) -> float:
    """A difference in widths of its interval, by which pairs are chosen where there are too many."""
    width = (row["high"] - row["low"]) if row["low"] is not None and row["high"] is not None else 0.0
    return float(abs(row["delta"]) / width if width else abs(row["delta"]))


def _leading_pairs(rows: Sequence[Row], size: Callable[[Row], float]) -> tuple[list[str], str]:
    """The pairs to draw, as given, or of too many those with the largest rows; and what is said of the others."""
    largest: dict[str, float] = {}
    for row in rows:
        largest[row["pair"]] = max(largest.get(row["pair"], 0.0), size(row))
    return leading(sorted(largest, key=lambda p: -largest[p]) if len(largest) > 30 else list(largest), "pairs")


def _forest(rows: Sequence[Row]) -> Iterator[Figure]:
    if not rows:
        return
    pairs, more = _leading_pairs(rows, _relative_size)
    measures = list(dict.fromkeys(r["measure"] for r in rows))
    yield figure(
        "floors-forest",
        title="Every difference",
        says=describe_differences_figure(rows),
        more=more,
        panels=[
            interval_panel(
                [(k, r) for k, r in enumerate(rows) if r["measure"] == measure],
                "pair",
                title=f"difference in {measure}",
                heading=measure if len(measures) > 1 else "",
                value="delta",
                against=0.0,
                colour=_colour,
                most=pairs,
            )
            for measure in measures
        ],
        rows=rows,
        columns="condition: from, other: to, measure, delta: difference, low: from, high: to, margin, "
        "visible: detectable (80% power), labels_needed: needed, unit: of these, verdict, n: questions",
        docs="estimators/comparison",
        drills=True,
        folded=True,
    )


def _flips(flips: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    changes = {"fixed": "var(--better)", "broken": "var(--worse)"}
    rows: list[Row] = [
        {
            "pair": f"{name(flip['conditions'][0], limit=40)} → {name(flip['conditions'][1], limit=40)}",
            "condition": name(flip["conditions"][0]),
            "other": name(flip["conditions"][1]),
            "change": change,
            "items": flip[change],
        }
        for flip in flips
        for change in changes
    ]
    if not any(r["items"] for r in rows):
        return
    pairs, more = _leading_pairs(rows, lambda row: float(row["items"]))
    signed = {k: r["items"] if r["change"] == "fixed" else -r["items"] for k, r in enumerate(rows)}
    lane = {pair: k for k, pair in enumerate(pairs)}
    marks = [
        Mark(kind="bar", at=[(0, lane[r["pair"]]), (signed[k], lane[r["pair"]])], colour=changes[r["change"]], row=k)
        for k, r in enumerate(rows)
        if r["pair"] in lane and r["items"]
    ]
    yield figure(
        "floors-flips",
        title="Fixed and broken",
        says=describe_flips(rows, more),
        panels=[Panel(x=axis(signed.values(), "questions broken ← → fixed", zero=True), y=lanes(pairs), marks=marks)],
        rows=rows,
        columns="condition: from, other: to, change, items: questions",
        docs="estimators/comparison",
        drills=True,
    )
