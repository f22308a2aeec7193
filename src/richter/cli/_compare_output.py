"""`richter compare`: is the difference between conditions real? Its answer, its tables and its picture."""

import dataclasses
import math
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console

from richter.audit import CompareReport, compare_tables, read_plan
from richter.audit._comparison import changed_items
from richter.audit._plan import RESTATED_DEFAULTS
from richter.audit._series import FEWEST
from richter.claims import Metric, claim_words, measure_words
from richter.cli._io import (
    PLAIN,
    cells,
    console,
    grid,
    read_given,
    reading_from,
    split_sources,
    with_confirmed,
    write_json,
    write_text,
)
from richter.floors import ConditionSummary
from richter.interop import named_source, read_frame
from richter.records import (
    Claim,
    Interval,
    Verdict,
    at_most,
    counted,
    distinct_names,
    markdown_safe,
    plain,
    printable,
    refusals,
)
from richter.store import is_run
from richter.tables import ReadOptions, as_options, date_in
from richter.words import (
    CORRECTED,
    CORRECTED_MEANS,
    NamedData,
    describe_next,
    describe_note,
    describe_pairs,
    describe_registration,
    describe_span,
    describe_terms,
    describe_verdict,
    lines_below,
)
from richter.words._page_texts import describe_leads
from richter.words._spans import describe_rank_span

if TYPE_CHECKING:
    from richter.tail import TailPlan

ABOUT = "The result speaks of questions like these, for this checkpoint and this prompt."
ABOUT_RUNS = "The result speaks of runs and questions like these."
NOTHING_COMPARED = 4  # the exit status where no claim could be made
MOST_NOTES = 4  # beyond, notes are counted unless --verbose asks for them


def compare(
    sources: tuple[str, ...],
    by: str | None,
    tail_path: str | None,
    reading: ReadOptions,
    md_path: str | None,
    json_path: str | None,
    verbose: bool,
    **options: Any,
) -> int:
    """Print and write a comparison; the exit status."""
    files, names = split_sources(sources)
    if by is not None and by not in ("domain", "tier", "group"):  # any other column of a table stands in for a domain
        reading, by = dataclasses.replace(reading, map={**reading.map, "domain": by}), "domain"
    tables = read_given(files, reading)
    if json_path is not None and len(names or tables.conditions) == 1:
        _summarise(sources, reading, json_path)
        return NOTHING_COMPARED
    report = compare_tables(
        tables,
        conditions=names,
        by=by,
        tail_plan=None if tail_path is None else _tail_plan(tail_path),
        **options,
    )
    write_json(report, json_path, inputs=files)
    if md_path is not None:
        write_text(markdown(report), md_path)
    out = console(json_path, md_path)
    if line := _by_date(files, reading, list(report.conditions)):
        out.print(printable(line), soft_wrap=True)
    data = NamedData(
        again=" ".join([shlex.join(files), *as_options(reading)]),
        names=shlex.join(names),
        options={name: options[name] for name, usual in RESTATED_DEFAULTS.items() if options[name] != usual},
        is_run=len(files) == 1 and is_run(named_source(files[0])[1]),
        has_texts=tables.has_texts,
        has_raters=tables.has_raters,
    )
    show(out, report, data, verbose=verbose)
    # where nothing could be said a pipeline must not take it for fine
    return NOTHING_COMPARED if all(c.verdict in (Verdict.BLOCKED, Verdict.UNTESTABLE) for c in report.claims) else 0


def look(arguments: tuple[str, ...]) -> None:
    """Say what PATH .. hold and what can be said of them: a comparison of conditions, or a summary of one."""
    from richter.cli._decide_commands import compare as command

    inner = command.make_context("compare", list(arguments), parent=click.get_current_context().parent)
    with inner:
        reading, save = reading_from(inner.params)
        with_confirmed(lambda chosen: _look(inner, chosen), reading, save=save)


def _look(inner: click.Context, reading: ReadOptions) -> None:
    """Print what the files hold, with the command that makes a page of them."""
    sources = inner.params["sources"]
    files, names = split_sources(sources)
    if len(names or read_given(files, reading).conditions) > 1:
        inner.command.invoke(inner)
    else:
        _summarise(sources, reading, inner.params.get("json_path"))


def _summarise(sources: tuple[str, ...], reading: ReadOptions, json_path: str | None) -> None:
    """Print what the records of one condition show, and write the document where `--json` says."""
    from richter.audit import measure_run  # only here, since comparing needs none of it
    from richter.cli._screen import summarise

    files, names = split_sources(sources)
    out = console(json_path)
    document = measure_run(*files, options=reading, conditions=names).to_dict()
    write_json(document, json_path, inputs=files)
    for line in summarise(document, ascii_only=out.options.ascii_only, width=out.width, sources=files):
        out.print(line, soft_wrap=True)
    again = " ".join([shlex.join(sources), *as_options(reading)])
    out.print(f"All of it as a page: richter report {printable(again)} -o page.html", soft_wrap=True)


def _by_date(files: list[str], reading: ReadOptions, names: list[str]) -> str:
    """Where the conditions are dates, the command that follows them: pairs of days are many and say little each."""
    if len(names) < FEWEST or not all(map(date_in, names)):
        return ""
    reading = dataclasses.replace(reading, map={f: c for f, c in reading.map.items() if f != "condition"})
    again, place = (
        [*(shlex.quote(f) for f in files), *as_options(reading)],
        named_source(files[0])[1],
    )
    if len(files) == 1 and place.is_file():
        frame = read_frame(place, text=True)
        again += [f"--date {shlex.quote(c)}" for c in frame.columns if set(frame[c].unique()) == set(names)][:1]
    return f"These {len(names)} names are dates. To see if and when it changed: richter watch {' '.join(again)}"


def show(out: Console, report: CompareReport, data: NamedData | None = None, *, verbose: bool = False) -> None:
    """Print the first screen: the answer, the counts, a picture, what to doubt, and the next step."""
    first, is_pair = report.first_lines, len(report.conditions) == 2
    leads = "" if is_pair else describe_leads(report.of(report.primary), len(report.conditions))
    above = lines_below({"others": first.others, "counts": first.counts})
    for line in (first.headline, *above):
        out.print(printable(line), soft_wrap=True)
    out.print()
    if is_pair:
        condition_chart(out, report)
        measures_table(out, report)
        subgroup_table(out, report)
    else:
        tier_table(out, report)
        pairs = describe_pairs(
            report.of(report.primary), report.n_items, grouped=bool(report.groups), ranks=report.ranks
        )
        for line in filter(None, (leads, pairs)):
            out.print(printable(line), soft_wrap=True)
    for line in filter(None, (first.sizes, first.doubt)):
        out.print(printable(line), soft_wrap=True)
    for line in _doubts(report, verbose=verbose):
        out.print(printable(line, limit=600), soft_wrap=True)
    if verbose:
        _print_details(out, report)
    if terms := describe_terms(f"{first.headline} {first.counts} {leads} {first.sizes}"):
        out.print(terms, style="dim", soft_wrap=True)
    if step := describe_next(report.claims, data or NamedData(), changed_items(report.pairs)):
        out.print(printable(step), soft_wrap=True)


def _doubts(report: CompareReport, *, verbose: bool) -> list[str]:
    """What a reader must know before believing the answer: what was not compared, notes, and how the file was read."""
    notes = _notes(report)
    shown = notes if verbose else notes[:MOST_NOTES]
    left = [f"  {counted(len(notes) - len(shown), 'more note')}: add --verbose"] if len(notes) > len(shown) else []
    is_blocked_pair = len(report.conditions) == 2 and not any(c.estimate is not None for c in report.claims)
    refused = [] if is_blocked_pair else [f"Not compared: {line}." for line in _refused(report)]
    read = [f"Read as: {report.understood}."] if report.understood else []
    asked = [ABOUT_RUNS] if _has_runs(report) else []
    return [*refused, *asked, *map(describe_note, shown), *left, *read]


def _has_runs(report: CompareReport) -> bool:
    """Whether the main claims count runs as what varies beside questions."""
    return any(c.primary and c.unit == "run" for c in report.claims)


def _notes(report: CompareReport) -> list[str]:
    """The notes of the main claims, of conditions, of pairs and of the data, each once."""
    main = [note for c in report.claims if c.primary for note in c.notes]
    own = [f"{name}: {warning}" for name, summary in report.conditions.items() for warning in summary.warnings]
    flags = [f"{' and '.join(pair.conditions)}: {flag}" for pair in report.pairs for flag in pair.flags]
    return list(dict.fromkeys([*main, *own, *flags, *report.notes]))


def _print_details(out: Console, report: CompareReport) -> None:
    """Print every claim with its sentence, the pairs, each condition's figures and how intervals were made."""
    out.print()
    for claim in sorted(report.claims, key=lambda claim: not claim.primary):
        out.print(printable(f"{describe_verdict(claim)}: {claim.sentence}"), soft_wrap=True)
    for pair in report.pairs if len(report.conditions) == 2 else ():
        shared = f"{counted(pair.n_paired, 'question')} in both"
        out.print(printable(f"{shared}; {pair.first_only:,} only in {pair.conditions[0]}, "
                            f"{pair.second_only:,} only in {pair.conditions[1]}"))  # fmt: skip
    if len(report.conditions) > 2:
        differing_pairs(out, report)
    condition_table(out, report)
    out.print(small_print(report), soft_wrap=True)


def _tail_plan(path: str) -> "TailPlan":
    from richter.audit._plan_tail import tail_plan

    return tail_plan(read_plan(path, kind="tail"))


def _refused(report: CompareReport) -> list[str]:
    return refusals((r.conditions, r.reason) for r in report.refused)


def small_print(report: CompareReport) -> str:
    """How intervals were made, and of what they speak."""
    rule = "Holm" if all(c.family is None or c.family.method != "max t" for c in report.claims) else "largest t, Holm"
    risk = f"{100 * (1 - report.level):.3g}%"
    text = f"Intervals are adjusted for multiple comparisons ({rule}, {risk})."
    families = {c.family.name for c in report.claims if c.family is not None}
    if "other" in families:
        text += f" {measure_words(report.primary).noun.capitalize()} has {risk} of its own, all other measures another."
    about = ABOUT_RUNS if _has_runs(report) else ABOUT
    return f"{text} {about} {describe_registration(is_registered=False)} (richter plan new gate)"


def markdown(report: CompareReport) -> str:
    """A short report for a pull request: the answer, the claims, one table, the notes."""
    from richter.report._markdown import how_read

    first, conditions = report.first_lines, report.conditions.values()
    lines = [f"## {markdown_safe(first.headline)}", ""]
    lines += map(markdown_safe, lines_below(plain(first)))
    lines += ["", *how_read(report.understood, report.notes)]
    if len(report.conditions) == 2:
        for claim in report.claims:
            lines.append(f"- **{describe_verdict(claim)}** {markdown_safe(claim.sentence)}")
            lines += [f"  - {markdown_safe(note)}" for note in _own_notes(claim)]
    else:
        pairs = describe_pairs(
            report.of(report.primary), report.n_items, grouped=bool(report.groups), ranks=report.ranks
        )
        lines.append(markdown_safe(pairs))
        lines += [f"- tier {k}: {', '.join(markdown_safe(m) for m in tier)}" for k, tier in enumerate(report.groups, 1)]
    lines += [f"- **not compared** {markdown_safe(line)}." for line in _refused(report)]
    lines += ["", *markdown_table(report)]
    warnings = [f"- {markdown_safe(c.name)}: {markdown_safe(text)}" for c in conditions for text in c.warnings]
    return "\n".join([*lines, *(["", *warnings] if warnings else []), "", small_print(report)]) + "\n"


def _own_notes(claim: Claim) -> list[str]:
    """The notes of a main claim that its sentence does not hold."""
    return [note for note in claim.notes if claim.primary and note not in claim.sentence]


SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)
SHOWN_PAIRS = 15  # pairs that differ: all of them, else those of the best condition
SHOWN_MODELS = 24  # of a board; beyond, the best
CHART = 28  # cells of a bar
BAR = {False: ("─", "●"), True: ("-", "o")}


def condition_chart(out: Console, report: CompareReport) -> None:
    """Print two conditions' accuracy as bars on one scale, each with its interval."""
    rows = _charted(report)
    if not rows:
        return
    spans = [_right_span(c) for c in rows]
    low, high = min(s.low for s in spans), max(s.high for s in spans)
    names = [printable(name) for name in _short(report).values()]
    wide = max(map(cell_len, names))
    line, point = BAR[out.options.ascii_only]
    is_marked = any(row.labels for row in rows)
    for name, row, span in zip(names, rows, spans, strict=True):
        reach = (CHART - 1) / ((high - low) or 1.0)
        first, at, last = (round((v - low) * reach) for v in (span.low, row.accuracy or 0.0, span.high))
        bar = " " * first + line * (at - first) + point + line * (last - at)
        right = f"{100 * (row.accuracy or 0.0):.1f}%"
        ends = f"{100 * span.level:.3g}% CI {100 * span.low:.1f} to {100 * span.high:.1f}"
        right += CORRECTED * bool(row.labels)
        out.print(f"  {set_cell_size(name, wide)}  {right:>{6 + is_marked}}  {bar:<{CHART}}  {ends}", soft_wrap=True)
    _print_mark(out, rows)
    out.print()


def _print_mark(out: Console, rows: Iterable[ConditionSummary]) -> None:
    """Print what the mark means where a figure has it."""
    if any(row.labels for row in rows):
        out.print(f"  {CORRECTED_MEANS}")


def _charted(report: CompareReport) -> list[ConditionSummary]:
    """The conditions of a chart: all of them, or none where one has no share of right answers to draw."""
    if report.primary not in ("accuracy", "error_rate"):
        return []
    lacking = any(pair.first_only or pair.second_only for pair in report.pairs)
    if lacking and not any(c.apart for c in report.claims if c.primary):  # bars of other questions than the headline's
        return []
    rows = [c for c in report.conditions.values() if c.accuracy is not None and c.error_rate_interval is not None]
    return rows if len(rows) == len(report.conditions) else []


def _right_span(summary: ConditionSummary) -> Interval:
    """The interval of the share of right answers."""
    span = summary.error_rate_interval
    assert span is not None
    return Interval(low=1 - span.high, high=1 - span.low, level=span.level, method=span.method)


def measures_table(out: Console, report: CompareReport) -> None:
    """Print each measure of two conditions where there are several: values, difference and result."""
    first, second = (printable(name, limit=24) for name in report.conditions)
    claims = [c for c in report.claims if c.estimate is not None and ":" not in c.measure]
    if len(claims) < 2:
        return
    rows = []
    for claim in sorted(claims, key=lambda c: not c.primary):
        words = measure_words(claim.measure)
        values = [_value(words, v) for v in claim.values] if len(claim.values) == 2 else ["-", "-"]
        rows.append([printable(words.noun, limit=40), *values, _difference(claim), describe_verdict(claim)])
    out.print(grid(["measure", first, second, f"{second} - {first}", "result"], rows, **PLAIN))
    out.print()


def _difference(claim: Claim) -> str:
    """A claim's estimate with its interval and level."""
    span = claim.interval or claim.plain_interval
    if span is None or claim.estimate is None:
        return "-"
    return describe_span(claim_words(claim), claim.estimate, span, is_difference=True)


def tier_table(out: Console, report: CompareReport) -> None:
    """Print each condition with its possible ranks, its share of right answers and other measures, the best first."""
    short, graded = _short(report), [c for c in report.conditions.values() if c.error_rate is not None]
    heads, values = _other_measures(report)
    ranked = [c.name for c in sorted(graded, key=lambda c: c.error_rate or 0.0)] if graded else list(values)
    level = next((c.error_rate_interval.level for c in graded if c.error_rate_interval is not None), report.level)
    rows = []
    for name in ranked[:SHOWN_MODELS]:
        summary = report.conditions[name]
        right = "-" if summary.accuracy is None else _right(summary)
        rows.append([_rank(report.ranks.get(name)), short[name], right, *values[name]])
    if rows:
        out.print(grid(["rank", "name", f"right ({100 * level:.3g}% CI)", *heads], rows, **PLAIN))
    if len(ranked) > SHOWN_MODELS:
        out.print(f"  and {len(ranked) - SHOWN_MODELS} more (--json has all)")
    _print_mark(out, (report.conditions[name] for name in ranked[:SHOWN_MODELS]))
    out.print()


def _right(summary: ConditionSummary) -> str:
    """The share of right answers with its interval; with no error seen its lower limit."""
    if summary.error_rate_interval is None:
        return f"{100 * (summary.accuracy or 0.0):.1f}%"
    span, mark = _right_span(summary), CORRECTED * bool(summary.labels)
    return f"{100 * (summary.accuracy or 0.0):.1f}%{mark} ({100 * span.low:.0f} to {100 * span.high:.0f})"


def _rate(summary: ConditionSummary) -> str:
    """An error rate; with no error seen its upper limit, never 0."""
    if summary.error_rate is None or summary.error_rate_interval is None:
        return "-"
    span = summary.error_rate_interval
    if summary.error_rate == 0:
        return f"< {at_most(100 * span.high, digits=2)}%"
    level, mark = f"{100 * span.level:.3g}% CI", CORRECTED * bool(summary.labels)
    return f"{100 * summary.error_rate:.1f}%{mark} ({level} {100 * span.low:.1f} to {100 * span.high:.1f})"


def _rank(span: tuple[int, int] | None) -> str:
    """The ranks that a condition may have."""
    if span is None:
        return "-"
    return describe_rank_span(*span)


def subgroup_table(out: Console, report: CompareReport) -> None:
    """Print each subgroup's difference by itself and partly pooled."""
    lead = _lead_words(report)

    def shown(value: float | None, interval: Interval | None) -> str:
        if value is None or interval is None:
            return "-"
        return describe_span(lead, value, interval, is_difference=True)

    for found in report.subgroups:
        rows = (
            [*cells("{r.name:30}|{r.n:,}", s), shown(s.estimate, s.interval), shown(s.pooled, s.pooled_interval)]
            for s in found.subgroups
        )
        first, second = (printable(name, limit=24) for name in found.conditions)
        out.print(grid(["subgroup", "questions", f"{second} - {first}, unadjusted", "partly pooled"], rows, box=None))


def condition_table(out: Console, report: CompareReport) -> None:
    """Print each condition's error rate and calibration."""
    graded = [c for c in report.conditions.values() if c.error_rate is not None]
    short, columns = _short(report), "{rate}|{r.ece:.3f} ({r.ece_debiased:.3f})"
    rows = [
        [short[c.name], f"{c.n:,}", *cells(columns, c, rate=_rate(c)), _ece_interval(c)]
        for c in sorted(graded, key=lambda c: c.error_rate or 0.0)
    ]
    if rows:
        out.print(grid("name|n|error rate|ECE (debiased)|ECE interval", rows, box=None))
    _print_mark(out, graded)


def _ece_interval(summary: ConditionSummary) -> str:
    span = summary.ece_interval
    return "-" if span is None else f"{100 * span.level:.3g}% CI {span.low:.3f} to {span.high:.3f}"


def differing_pairs(out: Console, report: CompareReport) -> None:
    """Print the pairs that differ, the best condition first and of many pairs only its own."""
    pairs = _differing(report.of(report.primary), report.measures.get(report.primary, {}))
    shown = pairs if len(pairs) <= SHOWN_PAIRS else [row for row in pairs if row[0] == pairs[0][0]]
    short = _short(report)
    rows = [_pair_row(short[better], short[worse], better, claim) for better, worse, claim in shown[:SHOWN_PAIRS]]
    if rows:
        out.print()
        out.print(grid("pairs that differ, best first|by|p, adjusted", rows, **PLAIN))
    if len(pairs) > len(rows):
        out.print(f"  … and {counted(len(pairs) - len(rows), 'pair')} more (--json has all)")
    for measure in dict.fromkeys(c.measure for c in report.claims if c.measure != report.primary):
        own = report.of(measure)
        text = f"{sum(c.verdict in SHOWN for c in own):,} of {len(own):,} pairs differ (--json has all)"
        out.print(printable(f"{measure.replace('_', ' ')}: {text}"))


def _differing(claims: Iterable[Claim], values: Mapping[str, float | None]) -> list[tuple[str, str, Claim]]:
    """The better and the worse condition of each pair that differs, with its claim, the best condition first."""
    rows = []
    for claim in claims:
        if claim.verdict not in SHOWN or claim.estimate is None:
            continue
        is_gain = (claim.estimate > 0) == (claim.better == "higher")
        worse, better = claim.conditions if is_gain else claim.conditions[::-1]
        place = values.get(better) or 0.0
        rows.append(((-place if claim.better == "higher" else place, -abs(claim.estimate)), (better, worse, claim)))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _pair_row(better_name: str, worse_name: str, better: str, claim: Claim) -> list[str]:
    """A row of pairs: the better condition minus the other, or over it."""
    words, span = claim_words(claim), claim.interval or claim.plain_interval
    assert span is not None
    gap, ends = claim.estimate or 0.0, [span.low, span.high]
    if better != claim.conditions[1]:
        gap, *ends = [-x / (1 + x) if words.suffix == "%" and math.isfinite(x) else -x for x in (gap, *ends[::-1])]
    turned = Interval(low=ends[0], high=ends[1], level=span.level, method=span.method)
    by = describe_span(words, gap, turned, is_difference=True)
    return [f"{better_name} better than {worse_name}", by, _p(claim.p_adjusted) or "-"]


def _p(value: float | None) -> str | None:
    """A p-value; below one in ten thousand its size says nothing."""
    return None if value is None else "<0.0001" if value < 1e-4 else f"{value:.2g}"


def _lead_words(report: CompareReport) -> Metric:
    """The words of the differences on the primary measure."""
    return next((claim_words(c) for c in report.of(report.primary)), measure_words(report.primary))


def _short(report: CompareReport) -> dict[str, str]:
    """Names in few characters that stay distinct."""
    names = [printable(name) for name in report.conditions]
    return dict(zip(report.conditions, distinct_names(names), strict=True))


def _other_measures(report: CompareReport) -> tuple[list[str], dict[str, list[str]]]:
    """The measures that have no columns of their own, and each condition's values in them."""
    others = {m: row for m, row in report.measures.items() if m not in ("accuracy", "error_rate")}
    known = {m: [x for x in row.values() if x is not None] or [0.0] for m, row in others.items()}
    words = {m: measure_words(m).telling(min(row), max(row)) for m, row in known.items()}
    lead = others.get(report.primary, {})  # best first where the claims are on one of these
    better = next((c.better for c in report.of(report.primary)), "higher")
    ranked = sorted(report.conditions, key=lambda n: (lead.get(n) or 0.0) * (1 if better == "lower" else -1))
    values = {name: [_value(words[m], row.get(name)) for m, row in others.items()] for name in ranked}
    return [measure_words(m).noun for m in others], values


def _value(words: Metric, value: float | None) -> str:
    """One condition's value, in the unit of the sentences."""
    return "-" if value is None else f"{words.amount(value)}{words.unit}"


def markdown_table(report: CompareReport) -> list[str]:
    """The lines of a Markdown table of the conditions: accuracy and error rate where graded, and other measures."""
    conditions = report.conditions.values()
    heads, values = _other_measures(report)
    graded = any(c.error_rate is not None for c in conditions)
    heads = ["name", *(["n", "accuracy", "error rate"] if graded else []), *heads]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for c in conditions:
        right = "-" if c.accuracy is None else f"{c.accuracy:.1%}{CORRECTED * bool(c.labels)}"
        own = [text.replace(CORRECTED, f"\\{CORRECTED}") for text in (right, _rate(c))]
        row = [*([f"{c.n:,}", *own] if graded else []), *values[c.name]]
        lines.append(f"| {' | '.join([markdown_safe(c.name), *row])} |")
    return [*lines, *(["", f"\\{CORRECTED_MEANS}"] if any(c.labels for c in conditions) else [])]
