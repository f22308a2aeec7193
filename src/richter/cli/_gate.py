"""`richter gate`: check a plan's requirements, for continuous integration."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import click

from richter.audit import GateReport, gate_status, history_of, read_plan, run_gate
from richter.cli._output import console, json_option, write_json
from richter.cli._reading import reading_options, split_sources
from richter.errors import StorageError
from richter.records import Verdict, markdown_safe, printable
from richter.report import history_line
from richter.tables import ReadOptions, read_tables


@click.command()
@click.argument("plan_path", metavar="PLAN")
@click.argument("sources", nargs=-1, required=True, metavar="FILE|RUN | NAME=FILE ..")
@reading_options
@click.option("--junit", "junit_path", metavar="PATH", help="Write the result as JUnit XML.")
@click.option("--md", "md_path", metavar="PATH", help="Write the result in Markdown.")
@click.option("--history", metavar="SERIES", help="Put the last ten runs of this series into the Markdown.")
@json_option
@click.pass_context
def gate(
    ctx: click.Context,
    plan_path: str,
    sources: tuple[str, ...],
    reading: ReadOptions,
    junit_path: str | None,
    md_path: str | None,
    history: str | None,
    json_path: str | None,
) -> None:
    """Check a gate plan's requirements. Exit 0 met, 3 violated, 4 undecided (0 with a warning if the plan says so).

    A requirement is judged by limits that hold at the plan's level, never by single items that changed.

    \b
    richter plan new gate --set candidate=new --set baseline=old \\
        --set 'require=[{metric="accuracy", rule="no_worse", limit=0.02}]'
    richter plan lock plan.toml
    richter gate plan.toml old=main.csv new=branch.csv --junit gate.xml
    richter gate plan.toml results.csv --md gate.md
    """
    plan = read_plan(plan_path, kind="gate")
    files, _ = split_sources(sources)
    tables = read_tables(*files, options=reading, shown=[plan.values["baseline"], plan.values["candidate"]])
    report = run_gate(plan, tables, status=gate_status(plan_path, tables))
    inputs = [plan_path, *(f.partition("=")[2] or f for f in files)]
    write_json(report, json_path, inputs=inputs)
    told = markdown(report)
    if history is not None:
        told += "\n" + history_line(history_of(history, condition=plan.values["candidate"], options=reading)) + "\n"
    for path, text in ((junit_path, junit(report)), (md_path, told)):
        if path is not None:
            try:
                Path(path).write_text(text, encoding="utf-8")
            except OSError as error:
                raise StorageError(f"{path} cannot be written: {error.strerror}.", remedy="Choose another.") from error
    out = console(json_path)
    out.print(printable(report.sentence))
    for claim in report.claims:
        out.print(f"  {printable(claim.sentence)}")
        for note in claim.notes:
            if note not in claim.sentence:
                out.print(f"    {printable(note)}", soft_wrap=True)
    if report.outcome is Verdict.UNDECIDED and report.exit_code == 0:
        out.print("  warning: the plan lets undecided requirements pass (on_undecided = warn)")
    for note in report.notes:
        out.print(f"  {printable(note)}")
    out.print(f"  {small_print(report)}")
    ctx.exit(report.exit_code)


def small_print(report: GateReport) -> str:
    """Whether this counts as planned, and how often the plan has been used."""
    why = "; ".join(map(printable, report.reasons))
    text = f"planned: {printable(report.vouched)}" if report.confirmatory else f"exploratory: {why}"
    if report.tried > 1:
        text += f"; the level is shared by {report.tried} attempts"
    elif report.attempts is not None and report.attempts > 1:
        text += f"; {report.attempts} ways were tried on these data here (tried = 0 in the plan allows for them)"
    if report.uses > 1:
        text += f"; the plan has been used on {report.uses} sets of data: the more, the more a pass may be luck"
    return text


def junit(report: GateReport) -> str:
    """One test case a requirement; violated ones fail, undecided ones fail or are skipped as the plan says."""
    suite = ElementTree.Element("testsuite", name="richter gate", tests=str(len(report.claims)))
    failures = skipped = 0
    for name, claim in zip(report.requirements, report.claims, strict=True):
        case = ElementTree.SubElement(suite, "testcase", classname="richter.gate", name=printable(name))
        message = printable(claim.sentence)
        if claim.verdict is Verdict.REFUTED:
            ElementTree.SubElement(case, "failure", message=message, type="violated")
            failures += 1
        elif claim.verdict is not Verdict.VERIFIED:
            if report.on_undecided == "fail":
                ElementTree.SubElement(case, "failure", message=message, type=claim.verdict.value)
                failures += 1
            else:
                ElementTree.SubElement(case, "skipped", message=message)
                skipped += 1
        ElementTree.SubElement(case, "system-out").text = message
    suite.set("failures", str(failures))
    suite.set("errors", "0")
    suite.set("skipped", str(skipped))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def markdown(report: GateReport) -> str:
    """A short report for a pull request."""
    lines = [
        "## Gate",
        "",
        markdown_safe(report.sentence),
        "",
        "| requirement | verdict | measured | limit |",
        "|---|---|---|---|",
    ]
    for name, c in zip(report.requirements, report.claims, strict=True):
        seen, limit = "-", "-" if c.hypothesis is None else f"{c.hypothesis.value:g}"
        if c.estimate is not None and c.interval is not None:
            seen = f"{c.estimate:+.4f} ({c.interval.low:+.4f}, {c.interval.high:+.4f}), n {c.n:,}"
        lines.append(f"| {markdown_safe(name)} | {c.verdict.value} | {seen} | {limit} |")
    return "\n".join([*lines, "", markdown_safe(small_print(report))]) + "\n"
