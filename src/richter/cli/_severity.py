"""`richter severity`: how bad the errors are, and which claims about their shape hold."""

from collections.abc import Mapping

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from richter.audit import SeverityReport, weigh_scores
from richter.cli._engine import engine_options
from richter.cli._mapper import open_mapper
from richter.cli._output import console, json_option, write_json
from richter.cli._reading import reading_options
from richter.cli._severity_analyses import analysis_lines
from richter.cli._severity_options import parse_costs, parse_pairs
from richter.records import Verdict, printable
from richter.severity import BValue, DeploymentTable, SeverityStudy
from richter.stats import in_threads
from richter.tables import ReadOptions, read_tables

__all__ = ["headlines", "severity"]

_MAX_PAIRS = 30
_FAMILY = {
    "power_law": "power law",
    "truncated_power_law": "truncated power",
    "exponential": "exponential",
    "stretched_exponential": "stretched exp.",
    "lognormal": "lognormal",
}


@click.command()
@click.argument("file")
@click.option("--paper", is_flag=True, help="Compute everything the ERRORQUAKE paper's way.")
@click.option("--full", is_flag=True, help="Run every further analysis of the paper that the columns allow.")
@click.option("--human", metavar="RATINGS", help="Ratings table with human labels: rates as people would rate.")
@click.option("--conditions", metavar="TABLE", help="Table of condition, active_params, architecture (for --full).")
@click.option(
    "--pair", "pairs", metavar="A,B", multiple=True, help="Test this pair at a shared m_min and for dominance."
)
@click.option("--plan", metavar="PLAN", help="A severity plan (richter plan new severity). Locked: confirmatory.")
@reading_options
@click.option("--traffic", metavar="MIX", help="Table of `share` by `domain` and/or `tier`: weight to your traffic.")
@click.option("--cost", "costs", metavar="LEVEL=COST", multiple=True, help="Cost of an answer at LEVEL or above.")
@click.option("--require", metavar="RULE", multiple=True, help="As 'severity>=3 below 100 per million'.")
@click.option("--reliability", type=click.FloatRange(0, 1, min_open=True), help="ICC of the scores.")
@click.option("--resamples", "n_resamples", type=click.IntRange(min=200), help="[default: 2000]")
@click.option("--level", type=click.FloatRange(0.5, 0.9999), help="[default: 0.95]")
@click.option("--seed", type=int, default=0, show_default=True, help="Without a plan; with one, its hash is the seed.")
@engine_options
@json_option
@click.pass_context
def severity(
    ctx: click.Context,
    file: str,
    paper: bool,
    full: bool,
    human: str | None,
    conditions: str | None,
    pairs: tuple[str, ...],
    plan: str | None,
    reading: ReadOptions,
    traffic: str | None,
    costs: tuple[str, ...],
    require: tuple[str, ...],
    reliability: float | None,
    n_resamples: int | None,
    level: float | None,
    seed: int,
    engine: str,
    workers: int | None,
    json_path: str | None,
) -> None:
    """How bad are the errors of FILE, and which claims about their shape hold?

    FILE is a table with item, condition and severity (0 right .. 4 worst), optionally domain, tier, judge_1, judge_2,
    judge_1_name, judge_2_name, length; a log that gives severities; or a run. With --require the exit status is 0
    (shown), 3 (violated) or 4 (undecided).

    \b
    richter severity scores.csv
    richter severity scores.csv --require "severity>=3 below 100 per million"
    richter severity scores.csv --traffic mix.csv --cost 1=5 --cost 3=2000 --json result.json
    richter severity scores.csv --human ratings.csv --full --conditions models.csv
    richter severity mqm.csv --map score=mqm --as-severity 0:-25
    """
    with open_mapper(engine, workers=workers, label="testing", local=in_threads) as mapper:
        report = weigh_scores(
            read_tables(file, options=reading),
            opened=file,
            paper=paper,
            traffic=traffic,
            costs=parse_costs(costs),
            require=require,
            human=human,
            conditions=conditions,
            pairs=parse_pairs(pairs),
            plan=plan,
            reliability=reliability,
            n_resamples=n_resamples,
            level=level,
            everything=full,
            seed=seed,
            mapper=mapper,
        )
    write_json(report, json_path, inputs=[f for f in (file, human, conditions, plan, traffic) if f])
    _print(console(json_path), report)
    verdicts = {check.verdict for check in report.requirements}
    if Verdict.REFUTED in verdicts:
        ctx.exit(3)
    if Verdict.UNDECIDED in verdicts:
        ctx.exit(4)


def _print(out: Console, report: SeverityReport) -> None:
    study = report.study
    for check in report.requirements:
        out.print(printable(check.sentence))
    for line in headlines(study, paper=report.paper):
        out.print(line)
    out.print(_conditions_table(study))
    out.print(_rates_table(study.deployment))
    if report.human:
        out.print(_rates_table(report.human))
    for note in report.notes:
        out.print(printable(note))
    for name, reason in report.human_skipped.items():
        out.print(f"{printable(name, limit=40)}: not corrected by human labels. {printable(reason)}")
    for name, loss in report.losses.items():
        limits = f"{loss.interval.low:,.4g} to {loss.interval.high:,.4g}"
        out.print(f"Expected loss of {printable(name, limit=40)}: {loss.per_answer:,.4g} an answer ({limits}).")
    _print_pairs(out, study)
    for line in analysis_lines(report.analyses):
        out.print(printable(line))
    if report.status is None or not report.status.confirmatory:
        why = "no plan" if report.status is None else "; ".join(report.status.reasons)
        out.print(f"exploratory: {why}", style="dim")
    else:
        out.print(f"confirmatory: plan {report.status.hash[:16]} locked {report.status.locked_at}", style="dim")
    for deviation in report.status.deviations if report.status is not None else ():
        out.print(f"deviation from the plan: {printable(deviation)}")


def headlines(study: SeverityStudy, *, paper: bool) -> list[str]:
    """What the study says of the pairs, and what it cannot say, in words."""
    found = study.discrimination
    counts = found.counts
    lines = []
    if found.n_pairs == 0:
        lines.append("One condition only: there are no pairs to compare.")
    elif counts.matched == 0:
        which = "The one pair has not" if found.n_pairs == 1 else f"None of the {found.n_pairs} pairs has"
        lines.append(f"{which} error rates within {found.max_error_gap:g} of each other: no slopes are compared.")
    else:
        lines.append(
            f"{counts.gated} of {counts.matched} pairs at matched accuracy differ in the shape of their errors and "
            f"pass every gate."
        )
        lines.append(
            f"Without gates the test of the difference finds {counts.difference_test}; the paper's rule (disjoint "
            f"intervals), which also fires on identical models, {counts.paper} ({counts.paper_min_gap} with "
            f"|delta b| > {found.min_gap:g})."
        )
    if paper:
        lines.append("Slopes and intervals are the paper's (Aki, m_min chosen once): biased on a bounded grid.")
    for name, fit in found.conditions.items():
        if not isinstance(fit, BValue):
            lines.append(f"{printable(name, limit=40)}: inconclusive. {fit.reason}")
    lines += [f"{printable(name, limit=40)}: no answer is rated." for name in study.unrated]
    if study.n_unrated_rows:
        lines.append(f"{study.n_unrated_rows:,} (item, condition) pairs have no severity and are left out.")
    return lines


def _conditions_table(study: SeverityStudy) -> Table:
    table = Table(
        title="Slope b above m_min (smaller: a heavier tail)",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    for heading in (
        "condition",
        "answers",
        "errors",
        "rate",
        "b",
        "interval",
        "aki",
        "m_min",
        "above",
        "fit p",
        "family",
    ):
        table.add_column(heading, justify="left" if heading in ("condition", "family") else "right", no_wrap=True)
    for name, fit in study.discrimination.conditions.items():
        families = study.families[name]
        family = "-" if families is None else _FAMILY[families.best] + ("" if families.gof_p > 0.05 else "*")
        row = [printable(name, limit=26), f"{fit.n:,}", f"{fit.n_errors:,}", f"{fit.error_rate:.3f}"]
        if isinstance(fit, BValue):
            row += [
                f"{fit.b:.3f}",
                f"{fit.interval.low:.2f} .. {fit.interval.high:.2f}",
                f"{fit.b_by_estimator['aki']:.2f}",
                f"{fit.m_min:g}",
                f"{fit.n_above:,}",
                ("<0.001" if fit.gof_p < 0.001 else f"{fit.gof_p:.3f}") + ("" if fit.gof_p > 0.05 else "*"),
            ]
        else:
            row += ["-"] * 6
        table.add_row(*row, family)
    table.caption = "* does not fit: where the law holds above no level, b describes nothing"
    table.caption_justify = "left"
    return table


def _rates_table(tables: Mapping[str, DeploymentTable]) -> Table:
    first = next(iter(tables.values()))
    title = f"Answers per million at or above a severity ({first.basis})"
    if first.weighted:
        title += f", weighted to the traffic; {first.uncovered:.1%} of it is covered by no item"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=0, pad_edge=False)
    table.add_column("condition", no_wrap=True)
    shown = (1.0, 2.0, 3.0, 4.0)
    for threshold in shown:
        table.add_column(f">= {threshold:g}", justify="right", no_wrap=True)
    for name, rates in tables.items():
        cells = []
        for threshold in shown:
            row = rates.at(threshold)
            if row.per_million is None:
                cells.append(f"none seen, < {row.upper:,.0f}")
            else:
                cells.append(f"{row.per_million:,.0f} (< {row.upper:,.0f})")
        table.add_row(printable(name, limit=28), *cells)
    table.caption = f"in brackets: the exact upper limit at {first.level:.0%}; all eight severities are in --json"
    table.caption_justify = "left"
    return table


def _print_pairs(out: Console, study: SeverityStudy) -> None:
    order = {v: i for i, v in enumerate((Verdict.VERIFIED, Verdict.BLOCKED, Verdict.EQUIVALENT, Verdict.UNDECIDED))}
    pairs = sorted(study.discrimination.pairs, key=lambda p: (order[p.finding.verdict], p.p if p.p is not None else 2))
    for pair in pairs[:_MAX_PAIRS]:
        out.print(printable(pair.finding.sentence))
    if len(pairs) > _MAX_PAIRS:
        out.print(f"... and {len(pairs) - _MAX_PAIRS} more pairs (all are in --json).")
