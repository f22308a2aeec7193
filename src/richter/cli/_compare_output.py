"""`richter compare`: is the difference between conditions real?"""

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from richter.audit import CompareReport, compare_tables, read_plan
from richter.audit._comparison import changed_items
from richter.audit._measure_run import RESTATED_DEFAULTS
from richter.audit._plan_tail import tail_plan
from richter.audit._series import FEWEST, date_in
from richter.claims import measure_words
from richter.cli._compare_tables import (
    condition_chart,
    condition_table,
    differing_pairs,
    faults_table,
    markdown_table,
    measures_table,
    subgroup_table,
    tier_table,
)
from richter.cli._io import (
    console,
    read_given,
    reading_from,
    split_sources,
    with_confirmed,
    write_json,
    write_text,
)
from richter.errors import without_passwords
from richter.interop import named_source, read_frame
from richter.records import Claim, Verdict, counted, markdown_safe, plain, printable, refusals
from richter.report._markdown import how_read
from richter.store import is_run
from richter.tables import ReadOptions, as_options
from richter.words import (
    NamedData,
    describe_next,
    describe_note,
    describe_pairs,
    describe_registration,
    describe_terms,
    describe_verdict,
    lines_below,
)
from richter.words._page_texts import describe_leads

ABOUT = {  # what a result is generalised to
    "new-items": "The result speaks of questions like these, for this checkpoint and this prompt.",
    "these-items": "The result speaks of these very questions: only repeats vary.",
    "new-runs": "The result speaks of runs and questions like these.",
}
NOTHING_COMPARED = 4  # the exit status where no claim could be made
MOST_NOTES = 4  # beyond, notes are counted unless --verbose asks for them


def compare(
    sources: tuple[str, ...],
    by: str | None,
    tail_path: str | None,
    family: str,
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
        tail_plan=None if tail_path is None else tail_plan(read_plan(tail_path, kind="tail")),
        one_family=family == "page",
        **options,
    )
    write_json(report, json_path, inputs=files)
    if md_path is not None:
        write_text(markdown(report), md_path)
    out = console(json_path, md_path)
    if line := _by_date(files, reading, list(report.conditions)):
        out.print(printable(line), soft_wrap=True)
    data = NamedData(
        again=" ".join([without_passwords(shlex.join(files)), *as_options(reading)]),
        names=shlex.join(names),
        options={name: options[name] for name, usual in RESTATED_DEFAULTS.items() if options[name] != usual},
        is_run=len(files) == 1 and is_run(named_source(files[0])[1]),
        has_texts=tables.has_texts,
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
    for line in summarise(document, ascii_only=out.options.ascii_only, width=out.width, after=[]):
        out.print(line, soft_wrap=True)
    again = " ".join([without_passwords(shlex.join(sources)), *as_options(reading)])
    out.print(f"All of it as a page: richter report {printable(again)} -o page.html", soft_wrap=True)


def _by_date(files: list[str], reading: ReadOptions, names: list[str]) -> str:
    """Where the conditions are dates, the command that follows them: pairs of days are many and say little each."""
    if len(names) < FEWEST or not all(map(date_in, names)):
        return ""
    reading = dataclasses.replace(reading, map={f: c for f, c in reading.map.items() if f != "condition"})
    again, place = (
        [*(without_passwords(shlex.quote(f)) for f in files), *as_options(reading)],
        named_source(files[0])[1],
    )
    if len(files) == 1 and isinstance(place, Path) and place.is_file():
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
        pairs = describe_pairs(report.of(report.primary), report.n_items, grouped=bool(report.groups))
        for line in filter(None, (leads, pairs)):
            out.print(printable(line), soft_wrap=True)
    faults_table(out, report)
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
    asked = [ABOUT[report.about]] if report.about != "new-items" else []
    asked += [f"The best of {report.tried} attempts is allowed for."] if report.tried > 1 else []
    return [*refused, *asked, *map(describe_note, shown), *left, *read]


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
    if report.tried > 1:
        text += f" The best of {report.tried} attempts is allowed for."
    return f"{text} {ABOUT[report.about]} {describe_registration(is_registered=False)} (richter plan new gate)"


def markdown(report: CompareReport) -> str:
    """A short report for a pull request: the answer, the claims, one table, the notes."""
    first, conditions = report.first_lines, report.conditions.values()
    lines = [f"## {markdown_safe(first.headline)}", ""]
    lines += map(markdown_safe, lines_below(plain(first)))
    lines += ["", *how_read(report.understood, report.notes)]
    if len(report.conditions) == 2:
        for claim in report.claims:
            lines.append(f"- **{describe_verdict(claim)}** {markdown_safe(claim.sentence)}")
            lines += [f"  - {markdown_safe(note)}" for note in _own_notes(claim)]
    else:
        pairs = describe_pairs(report.of(report.primary), report.n_items, grouped=bool(report.groups))
        lines.append(markdown_safe(pairs))
        lines += [f"- tier {k}: {', '.join(markdown_safe(m) for m in tier)}" for k, tier in enumerate(report.groups, 1)]
    lines += [f"- **not compared** {markdown_safe(line)}." for line in _refused(report)]
    lines += ["", *markdown_table(report)]
    warnings = [f"- {markdown_safe(c.name)}: {markdown_safe(text)}" for c in conditions for text in c.warnings]
    return "\n".join([*lines, *(["", *warnings] if warnings else []), "", small_print(report)]) + "\n"


def _own_notes(claim: Claim) -> list[str]:
    """The notes of a main claim that its sentence does not hold."""
    return [note for note in claim.notes if claim.primary and note not in claim.sentence]
