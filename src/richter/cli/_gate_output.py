"""`richter gate`: check a plan's requirements, for continuous integration."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from richter import audit
from richter.cli._io import (
    as_decoration,
    console,
    read_history,
    refuse_beside_plan,
    settle_reading,
    split_sources,
    typed_only,
    write_json,
    write_text,
)
from richter.errors import RichterError
from richter.evidence import Policy, margins_of
from richter.records import Verdict, printable
from richter.report import badge_svg, gate_comment, history_line
from richter.tables import Dataset, ReadOptions, read_tables
from richter.words import describe_gate_context, describe_note, describe_registration, describe_terms, describe_verdict


def gate(
    sources: tuple[str, ...],
    margin: dict[str, float],
    metric: str | None,
    baseline: str | None,
    page: str,
    accept_judge: bool,
    require_locked: bool,
    base: str | None,
    level: float,
    reading: ReadOptions,
    junit_path: str | None,
    badge_path: str | None,
    md_path: str | None,
    history: str | None,
    json_path: str | None,
    **vouched: Any,
) -> int:
    """Check the requirements of a plan, or a margin; print and write the outcome, and return the exit status."""
    plan_path, plan = _plan_of(sources, base, has_margin=bool(margin), require_locked=require_locked)
    if plan is not None:
        refuse_beside_plan("margin", "metric", "level")
        level = plan.values["level"]
    given = sources if plan_path is None else sources[1:]
    obstacles = () if base is None else audit.compare_with_base(base, None if plan is None else sources[0])
    stated = None
    if baseline is not None:
        stated, own = _read_baseline(baseline, plan)
        given = (*own, *given)
    if not given:
        raise click.UsageError("No data given. Use: richter gate old.csv new.csv --margin 2pt")
    files, names = split_sources(given)
    if plan is None or plan_path is None:
        tables = read_tables(*files, options=reading)
        tables = tables.select(names) if names else tables
        margins = margins_of(tables, margin, metric)
        report = _gate_by_margins(
            tables, margins, stated, level=level, accept_judge=accept_judge, vouched=vouched, obstacles=obstacles
        )
    else:
        tables = read_tables(*files, options=settle_reading(reading, plan.reading))
        policy = Policy(**vouched | typed_only({"missing": vouched["missing"]}))
        report = audit.apply_gate_plan(
            plan_path, tables, policy=policy, accept_judge=accept_judge,
            require_locked=require_locked, obstacles=obstacles,
        )  # fmt: skip
    write_json(report, json_path, inputs=[name for name in (plan_path, *files) if name is not None])
    comment = gate_comment(
        report.sentence, report.claims, report.requirements, tables, small=small_print(report), page=page,
        notes=report.notes, outcome=report.outcome, next_step=report.next_step,
    )  # fmt: skip
    if history is not None:
        candidate = tables.conditions[-1] if plan is None else plan.values["candidate"]
        comment += _describe_history(history, condition=candidate, options=reading, level=level)
    write_text(junit(report), junit_path)
    as_decoration("badge", lambda: write_text(badge_svg(report.sentence.partition(":")[0]), badge_path))
    write_text(comment, md_path)
    _print_report(console(json_path, md_path, junit_path, badge_path), report)
    return report.exit_code


def _read_baseline(baseline: str, plan: audit.Plan | None) -> tuple[tuple[int, int] | None, tuple[str, ...]]:
    """What a baseline states, right answers of how many; else its data as a source with the baseline's name."""
    stated = audit.stated_result(baseline) if plan is None else None
    if stated is not None:
        return stated, ()
    name = "" if plan is None else plan.values["baseline"]
    return None, (f"{name or 'baseline'}={baseline}",)


def _describe_history(series: str, **options: Any) -> str:
    """A line on the last runs of a series, or that it could not be read, after an empty one."""
    past = read_history(series, **options)
    return f"\n{'The history could not be read.' if past is None else history_line(past)}\n"


def _plan_of(
    sources: Sequence[str], base: str | None, *, has_margin: bool, require_locked: bool
) -> tuple[str | None, audit.Plan | None]:
    """The plan that comes before the data, with its path; none where a margin stands for it.

    With a copy of the base branch's files it is the one there, if there is one.
    """
    if has_margin and not sources[0].endswith(".toml"):
        if require_locked:
            raise click.UsageError("--require-locked needs a plan: richter plan new gate, then richter plan lock.")
        return None, None
    place = Path(sources[0])
    if base is not None and (place.is_absolute() or ".." in place.parts):
        raise click.UsageError("With --base give the plan's path from the repository's root.")
    path = sources[0] if base is None or not (Path(base) / place).is_file() else str(Path(base) / place)
    try:
        return path, audit.read_plan(path, kind="gate")
    except RichterError as fault:
        if sources[0].endswith(".toml"):
            raise
        raise click.UsageError(
            f"{printable(sources[0], limit=80)} is not a plan. Give the margin that matters to you (--margin 2pt), "
            "or a plan first (plan.toml)."
        ) from fault


def _gate_by_margins(
    tables: Dataset,
    margins: Mapping[str, float],
    stated: tuple[int, int] | None,
    *,
    level: float,
    accept_judge: bool,
    vouched: Mapping[str, Any],
    obstacles: Sequence[str],
) -> audit.GateReport:
    """The gate by margins: against the baseline's answers, or against its stated result where there is one."""
    asked: dict[str, Any] = {"policy": Policy(**vouched), "accept_judge": accept_judge, "obstacles": obstacles}
    if stated is not None:
        return _against_stated(tables, margins, stated, level=level, **asked)
    return audit.run_gate(audit.margin_plan(tables, margins, level=level), tables, **asked)


def _against_stated(
    tables: Dataset, margins: Mapping[str, float], stated: tuple[int, int], **options: Any
) -> audit.GateReport:
    """The gate against a results document, which states right answers of how many."""
    if list(margins) != ["accuracy"]:
        raise click.UsageError("A results document is a baseline for accuracy alone; give the old answers.")
    right, n = stated
    return audit.stated_gate(tables, margins["accuracy"], right=right, n=n, **options)


def _print_report(out: Console, report: audit.GateReport) -> None:
    """Print the outcome, each of several requirements, what they do not show, and what to know of the data."""
    status = "" if report.exit_code in (0, 3) else f" Exit status {report.exit_code}."
    out.print(printable(f"{report.sentence}{status}"), soft_wrap=True)
    if len(report.claims) > 1 or report.claims[0].sentence.lower() not in report.sentence.lower():
        for claim in report.claims:
            out.print(printable(f"  {describe_verdict(claim)}: {claim.sentence}"), soft_wrap=True)
    for text in filter(None, map(describe_gate_context, report.claims)):
        out.print(printable(text), soft_wrap=True)
    if report.outcome is Verdict.UNDECIDED and report.exit_code == 0:
        out.print(describe_note("the plan lets inconclusive requirements pass (on_undecided = warn)"))
    own = [note for claim in report.claims for note in claim.notes if note not in claim.sentence]
    for note in dict.fromkeys((*own, *report.notes)):
        out.print(describe_note(printable(note)), soft_wrap=True)
    if report.understood:
        out.print(f"Read as: {printable(report.understood)}.", soft_wrap=True)
    out.print(small_print(report), soft_wrap=True)
    context = " ".join(map(describe_gate_context, report.claims))
    if terms := describe_terms(f"{report.sentence} {context}"):
        out.print(terms, style="dim", soft_wrap=True)
    out.print(printable(report.next_step), soft_wrap=True)


def small_print(report: audit.GateReport) -> str:
    """A line on whether the result is confirmatory, and on how many attempts share its level."""
    text = describe_registration(
        is_registered=report.confirmatory,
        vouched=printable(report.vouched),
        reasons=[printable(reason) for reason in report.reasons],
    )
    if report.tried > 1:
        text += f" The level is shared by {report.tried} attempts."
    return text


def junit(report: audit.GateReport) -> str:
    """One test case a requirement; violated ones fail, undecided ones fail or are skipped as the plan says."""
    suite = ElementTree.Element("testsuite", name="richter gate", tests=str(len(report.claims) + len(report.obstacles)))
    failures = skipped = 0
    for name, claim in zip(report.requirements, report.claims, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname="richter.gate", name=printable(name))
        message, violated = printable(claim.sentence), claim.verdict is Verdict.REFUTED
        if violated or (claim.verdict is not Verdict.VERIFIED and report.on_undecided == "fail"):
            why = "violated" if violated else claim.verdict.value
            ElementTree.SubElement(case, "failure", message=message, type=why)
            failures += 1
        elif claim.verdict is not Verdict.VERIFIED:
            ElementTree.SubElement(case, "skipped", message=message)
            skipped += 1
        lines = (claim.sentence, *claim.notes, report.understood, *report.notes)
        ElementTree.SubElement(case, "system-out").text = "\n".join(map(printable, dict.fromkeys(filter(None, lines))))
    for obstacle in report.obstacles:
        case = ElementTree.SubElement(suite, "testcase", classname="richter.gate", name="the plan")
        ElementTree.SubElement(case, "failure", message=printable(obstacle), type="plan")
        failures += 1
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    suite.set("skipped", str(skipped))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"
