"""`richter compare`: is the difference between conditions real?"""

import dataclasses
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from richter.audit import CompareReport, compare_tables, read_plan
from richter.audit._plan_tail import tail_plan
from richter.audit._series import FEWEST, date_in
from richter.claims import METRICS, Metric, claim_words, measure_words
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
from richter.cli._margins import margins_on_scale
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
    printable,
    refusals,
)
from richter.report._markdown import how_read
from richter.tables import Dataset, ReadOptions, as_options
from richter.words import answer, claimed


def compare(
    sources: tuple[str, ...],
    by: str | None,
    tail_path: str | None,
    family: str,
    reading: ReadOptions,
    md_path: str | None,
    json_path: str | None,
    **options: Any,
) -> int:
    """Print and write a comparison; the exit status."""
    files, names = split_sources(sources)
    if by is not None and by not in ("domain", "tier", "group"):  # any other column of a table stands in for a domain
        reading, by = dataclasses.replace(reading, map={**reading.map, "domain": by}), "domain"
    tables = read_given(files, reading)
    options["margin"] = margins_on_scale(options["margin"], tables)
    report = compare_tables(
        tables,
        conditions=names,
        by=by,
        tail_plan=None if tail_path is None else tail_plan(read_plan(tail_path, kind="tail")),
        one_family=family == "page",
        **options,
    )
    write_json(report, json_path, inputs=files)
    write_text(markdown(report), md_path)
    out = console(json_path, md_path)
    if line := _by_date(files, reading, list(report.conditions)):
        out.print(printable(line), soft_wrap=True)
    show(out, report)
    # where nothing could be said a pipeline must not take it for fine
    return 4 if all(c.verdict in (Verdict.BLOCKED, Verdict.UNTESTABLE) for c in report.claims) else 0


def look(arguments: tuple[str, ...]) -> None:
    """Say what PATH .. hold and what can be said of them: a comparison of conditions, or a summary of one."""
    from richter.cli._decide_commands import compare as command

    inner = command.make_context("compare", list(arguments), parent=click.get_current_context().parent)
    with inner:
        reading, save = reading_from(inner.params)
        with_confirmed(lambda chosen: _look(inner, chosen), reading, save=save)


def _look(inner: click.Context, reading: ReadOptions) -> None:
    """Print what the files hold, with the command that makes a page of them."""
    sources, json_path = inner.params["sources"], inner.params.get("json_path")
    files, names = split_sources(sources)
    tables, out = read_given(files, reading), console(json_path)
    if len(names or tables.conditions) > 1:
        inner.command.invoke(inner)
    else:
        _summarise(out, tables, reading, names, json_path, files)
    again = " ".join([shlex.join(sources), *as_options(reading)])
    out.print(f"As a page: richter report {printable(again)} -o report.html", soft_wrap=True)


def _summarise(
    out: Console, tables: Dataset, reading: ReadOptions, names: list[str], json_path: str | None, files: list[str]
) -> None:
    """Print what the records of one condition show, and write the document where `--json` says."""
    from richter.audit import measure_run  # only here, since comparing needs none of it
    from richter.cli._screen import summarise

    document = measure_run(*files, options=reading, conditions=names).to_dict()
    write_json(document, json_path, inputs=files)
    for line in summarise(document, ascii_only=out.options.ascii_only, width=out.width, after=[]):
        out.print(line, soft_wrap=True)
    out.print(f"Read: {printable(tables.understood)}.", soft_wrap=True)
    for note in tables.notes:
        out.print(f"  {printable(note)}", soft_wrap=True)


def _by_date(files: list[str], reading: ReadOptions, names: list[str]) -> str:
    """Where the conditions are dates, the command that follows them: pairs of days are many and say little each."""
    if len(names) < FEWEST or not all(map(date_in, names)):
        return ""
    reading = dataclasses.replace(reading, map={f: c for f, c in reading.map.items() if f != "condition"})
    again, place = [*map(shlex.quote, files), *as_options(reading)], named_source(files[0])[1]
    if len(files) == 1 and isinstance(place, Path) and place.is_file():
        frame = read_frame(place, text=True)
        again += [f"--date {shlex.quote(c)}" for c in frame.columns if set(frame[c].unique()) == set(names)][:1]
    return (
        f"The {counted(len(names), 'condition is', 'conditions are')} dates. "
        f"Whether it changed, and when: richter watch {' '.join(again)}"
    )


SHOWN_PAIRS = 15  # pairs that differ: all of them, else those of the best condition
SHOWN_SETS, SHOWN_NAMES = 6, 8
SHOWN = (Verdict.VERIFIED, Verdict.REFUTED)


def _p(value: float | None) -> str | None:
    """A p-value; below one in ten thousand its size says nothing."""
    return None if value is None else "<0.0001" if value < 1e-4 else f"{value:.2g}"


def _rate(summary: ConditionSummary) -> str:
    """An error rate; with no error seen its upper limit, never 0."""
    if summary.error_rate is None or summary.error_rate_interval is None:
        return "-"
    low, high = summary.error_rate_interval.low, summary.error_rate_interval.high
    if summary.error_rate == 0:
        return f"< {at_most(100 * high, digits=2)}%"
    return f"{100 * summary.error_rate:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def verdict_note(claim: Claim) -> str:
    """The verdict; a refuted one with the claim that it refutes."""
    if claim.verdict is Verdict.REFUTED and claim.measure in METRICS:
        words = METRICS[claim.measure]
        return f"refuted: '{claimed(dataclasses.replace(words, better=claim.better or words.better), claim)}'"
    return claim.verdict.value


def show(out: Console, report: CompareReport) -> None:
    """Print the comparison: sentences, then numbers; what is refused where there is nothing else to say."""
    refused = [f"Not compared: {printable(line, limit=600)}." for line in _refused(report)]
    is_pair = len(report.conditions) == 2
    if is_pair:
        for line in refused if not report.claims else ():
            out.print(line)
        _print_pair(out, report)
    else:
        _print_tiers(out, report)
    out.print()
    _condition_table(out, report)
    if not is_pair:
        _board(out, report)
    for line in refused if report.claims or not is_pair else ():
        out.print(line)
    for name, summary in report.conditions.items():
        for warning in summary.warnings:
            out.print(f"  {printable(name)}: {printable(warning)}")
    for note in filter(None, (report.understood, *report.notes)):
        out.print(f"  {printable(note)}")
    out.print(small_print(report))


def _print_pair(out: Console, report: CompareReport) -> None:
    """Print the claims on two conditions, the numbers behind them, subgroups and pairs of items."""
    for claim in sorted(report.claims, key=lambda claim: not claim.primary):
        out.print(printable(f"{claim.sentence} ({verdict_note(claim)})"))
        for note in _own_notes(claim):
            out.print(printable(f"  {note}"))
    if report.claims:
        out.print()
        _claim_table(out, report.claims)
    _subgroup_table(out, report)
    _pair_lines(out, report)


def _own_notes(claim: Claim) -> list[str]:
    """The notes of a main claim that its sentence does not hold."""
    return [note for note in claim.notes if claim.primary and note not in claim.sentence]


def _print_tiers(out: Console, report: CompareReport) -> None:
    """Print the answer on several conditions, and the sets in which no pair differs."""
    out.print(printable(answer(report.of(report.primary), conditions=list(report.conditions))))
    for line in _leaderboard(report):
        out.print(printable(line))
    for number, members in enumerate(report.groups[:SHOWN_SETS], 1):
        more = f" and {len(members) - SHOWN_NAMES} more" if len(members) > SHOWN_NAMES else ""
        out.print(f"  set {number}: {', '.join(printable(m) for m in members[:SHOWN_NAMES])}{more}")
    if len(report.groups) > SHOWN_SETS:
        out.print(f"  and {len(report.groups) - SHOWN_SETS} sets more: the table has each condition's")


def _refused(report: CompareReport) -> list[str]:
    return refusals((r.conditions, r.reason) for r in report.refused)


def small_print(report: CompareReport) -> str:
    """How intervals were made, and of what they speak."""
    rule = "Holm" if all(c.family is None or c.family.method != "max t" for c in report.claims) else "largest t, Holm"
    text = f"Intervals are adjusted for multiple comparisons ({rule}, {100 * (1 - report.level):.3g}%)"
    families = {c.family.name for c in report.claims if c.family is not None}
    if "other" in families:
        noun = measure_words(report.primary).noun
        text += f": the claims on {noun} share one {100 * (1 - report.level):.3g}% error risk, all others another"
    if report.tried > 1:
        text += f", the best of {report.tried} attempts allowed for"
    about = {
        "such-items": "items like these, this checkpoint and this prompt",
        "these-items": "these very items: only draws vary",
        "such-runs": "runs and items like these",
    }[report.about]
    return f"{text}. About {about}. Exploratory: no locked plan (richter plan new gate)."


def _leaderboard(report: CompareReport) -> list[str]:
    """How many pairs are told apart by the first measure, and into how many sets the conditions fall."""
    claims = [c for c in report.of(report.primary) if c.estimate is not None]
    apart = sum(c.verdict in SHOWN for c in claims)
    same = sum(c.verdict is Verdict.EQUIVALENT for c in claims)
    noun = measure_words(report.primary).noun
    text = (
        f"{counted(len(report.conditions), 'condition')} on {counted(report.n_items, 'item')}: "
        f"{apart} of {len(claims)} pairs differ in "
        f"{noun}, {same} equivalent, {len(claims) - apart - same} undecided"
    )
    number = len(report.conditions)
    refused = number * (number - 1) // 2 - len(claims) if report.groups else len(report.refused)
    if refused:
        text += f", {refused} refused"
    apart_too = "; those that were not compared stand apart too" if refused else ""
    sets = f"Sets in which no pair is told apart (they may overlap, and are not ranks{apart_too}):"
    return [f"{text}.", *([sets] if report.groups else [])]


def _claim_table(out: Console, claims: tuple[Claim, ...]) -> None:
    """The numbers behind the sentences, in the sentences' units: rates in points."""
    columns = "{measure}|{by}|[{low}, {high}]|{level:.4g}%|{p}|{could}|{r.needed:,} for {aim}"
    rows = [cells(columns, claim, **_claim_cells(claim)) for claim in claims if claim.estimate is not None]
    out.print(grid("|second - first|interval|level|p, adjusted|could have shown|needed", rows, **PLAIN))


def _claim_cells(claim: Claim) -> dict[str, Any]:
    """The numbers of a claim by their place in the table, in the unit of its measure."""
    span = claim.interval or claim.plain_interval
    ends = () if span is None else (span.low, span.high)
    name, _, part = claim.measure.partition(":")
    words = claim_words(claim)
    if " and " in name:  # not worse in one and better in the other: the numbers are of the first
        words = dataclasses.replace(measure_words(name.split(" and ")[0]), noun=name)
    words = words.telling(*ends)
    by, low, high = (None if x is None else _amount(words, x) for x in (claim.estimate, *(ends or (None, None))))
    could = None if claim.min_detectable_difference is None else words.amount(claim.min_detectable_difference)
    return {
        "measure": words.noun + _unit(words) + (f" ({printable(part, limit=30)})" if part else ""),
        "by": by,
        "low": low,
        "high": high,
        "level": None if span is None else 100 * span.level,
        "p": _p(claim.p_adjusted),
        "could": could,
        "aim": None if claim.needed_for is None else f"{words.scale * claim.needed_for:g}",
    }


def _unit(words: Metric) -> str:
    """What the numbers of a difference are, where its noun does not say it."""
    return {" points": ", points", "%": ", %"}.get(words.suffix, "")


def _amount(words: Metric, value: float) -> str:
    return words.amount(value, sign=True) if math.isfinite(value) else f"{value:+}"


def _lead_words(report: CompareReport) -> Metric:
    """The words of the differences on the primary measure."""
    return next((claim_words(c) for c in report.of(report.primary)), measure_words(report.primary))


def _subgroup_table(out: Console, report: CompareReport) -> None:
    """Each subgroup's difference by itself and partly pooled."""
    lead = _lead_words(report)

    def shown(value: float | None, interval: Interval | None) -> list[str]:
        if value is None or interval is None:
            return ["-", "-"]
        words = lead.telling(interval.low, interval.high)
        return [_amount(words, value), f"[{_amount(words, interval.low)}, {_amount(words, interval.high)}]"]

    for found in report.subgroups:
        rows = (
            [*cells("{r.name:30}|{r.n:,}", s), *shown(s.estimate, s.interval), *shown(s.pooled, s.pooled_interval)]
            for s in found.subgroups
        )
        out.print(grid(f"subgroup|items|second - first{_unit(lead)}|interval, plain|pooled|interval", rows, box=None))


def _pair_lines(out: Console, report: CompareReport) -> None:
    for pair in report.pairs:
        text = f"{counted(pair.n_paired, 'item')} paired"
        if pair.fixed is not None:
            text += f": {pair.fixed} fixed, {pair.broken} broken"
        out.print(f"  {text}")
        if pair.first_only or pair.second_only:
            first, second = (printable(name) for name in pair.conditions)
            out.print(f"  not shared: {pair.first_only} items of {first}, {pair.second_only} of {second}")
        for flag in pair.flags:
            out.print(f"  flag: {printable(flag)}")


def _short(report: CompareReport) -> dict[str, str]:
    """Names in few characters that stay distinct."""
    names = [printable(name) for name in report.conditions]
    return dict(zip(report.conditions, distinct_names(names), strict=True))


def _board(out: Console, report: CompareReport) -> None:
    """The pairs that differ, the best condition first and of many pairs only its own; what others could have shown."""
    claims = report.of(report.primary)
    pairs = _differing(claims, report.measures.get(report.primary, {}))
    shown = pairs
    if len(pairs) > SHOWN_PAIRS:
        shown = [row for row in pairs if row[0] == pairs[0][0]]
    short = _short(report)
    rows = [_board_row(short[better], short[worse], better, claim) for better, worse, claim in shown[:SHOWN_PAIRS]]
    if rows:
        unit = ", %" * (_lead_words(report).suffix == "%")
        out.print()
        out.print(grid(f"differ, best first|by{unit}|interval|p, adjusted", rows, **PLAIN))
    if len(pairs) > len(rows):
        out.print(f"  … and {counted(len(pairs) - len(rows), 'pair')} more (--json has all)")
    _print_undecided(out, report, claims)
    for measure in dict.fromkeys(c.measure for c in report.claims if c.measure != report.primary):
        own = report.of(measure)
        text = f"{sum(c.verdict in SHOWN for c in own)} of {len(own)} pairs differ (--json has all)"
        out.print(printable(f"{measure.replace('_', ' ')}: {text}"))
    for pair in report.pairs:
        for flag in pair.flags:
            out.print(f"  flag: {' and '.join(printable(name) for name in pair.conditions)}: {printable(flag)}")


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


def _board_row(better_name: str, worse_name: str, better: str, claim: Claim) -> list[str]:
    """A row of the board: the better condition minus the other, or over it."""
    words, interval = claim_words(claim), claim.interval or claim.plain_interval
    gap, ends = claim.estimate or 0.0, [] if interval is None else [interval.low, interval.high]
    if better != claim.conditions[1]:
        gap, *ends = [-x / (1 + x) if words.suffix == "%" else -x for x in (gap, *ends[::-1])]
    words = words.telling(*ends)
    span = f"[{', '.join(_amount(words, x) for x in ends)}]" if ends else "-"
    return [f"{better_name} better than {worse_name}", _amount(words, gap), span, _p(claim.p_adjusted) or "-"]


def _print_undecided(out: Console, report: CompareReport, claims: Sequence[Claim]) -> None:
    """Print what undecided pairs could have shown, what would settle them, and why others have no such size."""
    lead = _lead_words(report)
    undecided = [c for c in claims if c.verdict is Verdict.UNDECIDED]
    waiting = [c for c in undecided if c.min_detectable_difference is not None]
    if waiting:
        shown = _describe_detectable(lead, [c.min_detectable_difference or 0.0 for c in waiting])
        out.print(f"  {len(waiting)} undecided: a difference of {shown} would have been seen 4 times in 5")
    wanted = [c for c in waiting if c.needed is not None]
    if wanted:
        worst = max(wanted, key=lambda c: c.needed or 0)
        aim = f"{lead.scale * (worst.needed_for or 0.0):g}{lead.suffix}"
        out.print(f"  {worst.needed:,} {worst.unit}s at most would settle a difference of {aim}")
    reasons = Counter(c.notes[-1] for c in undecided if c.min_detectable_difference is None and c.notes)
    for reason, number in reasons.items():
        out.print(f"  {number} undecided: {printable(reason)}")


def _describe_detectable(lead: Metric, differences: Sequence[float]) -> str:
    """The least and the most of detectable differences, in the unit of the measure."""
    least, most = min(differences), max(differences)
    words = lead.telling(0.0, least)
    low, high = words.amount(least), words.amount(most)
    return low + (f" to {high}" if high != low else "") + words.suffix


def _condition_table(out: Console, report: CompareReport) -> None:
    graded = [c for c in report.conditions.values() if c.error_rate is not None]
    short, rows = _short(report), []
    columns = "{r.accuracy:.1%}|{rate}|{r.ece:.3f} ({r.ece_debiased:.3f})|"
    columns += "[{r.ece_interval.low:.3f}, {r.ece_interval.high:.3f}]"
    for c in sorted(graded, key=lambda c: c.error_rate or 0.0):
        sets = _set_numbers(c.name, report.groups) if len(graded) > 2 else "-"
        rows.append([short[c.name], sets, f"{c.n:,}", *cells(columns, c, rate=_rate(c))])
    if rows:
        out.print(grid("condition|sets|n|accuracy|error rate|ECE (debiased)|ECE interval", rows, box=None))
    heads, values = _other_measures(report)
    if heads:
        rows = [[short[name], *row] for name, row in values.items()]
        out.print(grid(["condition", *heads], rows, box=None))


def _set_numbers(name: str, groups: Sequence[Sequence[str]]) -> str:
    """The numbers of the sets that a condition is in, as a range where they follow each other."""
    own = [k for k, members in enumerate(groups, 1) if name in members]
    is_range = len(own) > 2 and own[-1] - own[0] == len(own) - 1
    return f"{own[0]}-{own[-1]}" if is_range else " ".join(map(str, own)) or "-"


def _other_measures(report: CompareReport) -> tuple[list[str], dict[str, list[str]]]:
    """The measures that have no columns of their own, and each condition's values in them."""
    others = {m: row for m, row in report.measures.items() if m not in ("accuracy", "error_rate")}
    known = {m: [x for x in row.values() if x is not None] or [0.0] for m, row in others.items()}
    words = {m: measure_words(m).telling(min(row), max(row)) for m, row in known.items()}
    lead = others.get(report.primary, {})  # best first where the claims are on one of these
    better = next((c.better for c in report.of(report.primary)), "higher")
    ranked = sorted(report.conditions, key=lambda n: (lead.get(n) or 0.0) * (1 if better == "lower" else -1))
    told = {name: [_value(words[m], row.get(name)) for m, row in others.items()] for name in ranked}
    return [m.replace("_", " ") for m in others], told


def _value(words: Metric, value: float | None) -> str:
    """One condition's value, in the unit of the sentences."""
    return "-" if value is None else f"{words.amount(value)}{words.unit}"


def markdown(report: CompareReport) -> str:
    """A short report for a pull request: the sentences, one table, the warnings."""
    lines, conditions = ["## Comparison", ""], report.conditions.values()
    lines += how_read(report.understood, report.notes)
    if len(report.conditions) == 2:
        for claim in report.claims:
            lines.append(f"- **{markdown_safe(verdict_note(claim))}** {markdown_safe(claim.sentence)}")
            lines += [f"  - {markdown_safe(note)}" for note in _own_notes(claim)]
    else:
        lines.append(markdown_safe(" ".join(_leaderboard(report))))
        lines += [f"- {', '.join(markdown_safe(m) for m in members)}" for members in report.groups]
    lines += [f"- **not compared** {markdown_safe(line)}." for line in _refused(report)]
    lines += ["", *_markdown_table(report)]
    warnings = [f"- {markdown_safe(c.name)}: {markdown_safe(text)}" for c in conditions for text in c.warnings]
    return "\n".join([*lines, *(["", *warnings] if warnings else []), "", small_print(report)]) + "\n"


def _markdown_table(report: CompareReport) -> list[str]:
    """The lines of a Markdown table of the conditions: accuracy and error rate where graded, and other measures."""
    conditions = report.conditions.values()
    heads, values = _other_measures(report)
    graded = any(c.error_rate is not None for c in conditions)
    heads = ["condition", *(["n", "accuracy", "error rate"] if graded else []), *heads]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for c in conditions:
        right = "-" if c.accuracy is None else f"{c.accuracy:.1%}"
        row = [*([f"{c.n:,}", right, _rate(c)] if graded else []), *values[c.name]]
        lines.append(f"| {' | '.join([markdown_safe(c.name), *row])} |")
    return lines
