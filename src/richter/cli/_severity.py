"""`richter severity`: how bad the errors are, and which claims about their shape hold."""

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from richter.cli._output import console, json_option, write_json
from richter.cli._severity_input import parse_costs, parse_scale, read_traffic
from richter.interop import read_scores
from richter.records import Verdict, printable
from richter.severity import (
    DEFAULT,
    PAPER,
    BValue,
    SeverityStudy,
    check_requirement,
    expected_loss,
    parse_requirement,
    study_severity,
)

__all__ = ["severity"]

_MAX_PAIRS = 30


@click.command()
@click.argument("file")
@click.option("--paper", is_flag=True, help="Compute everything the ERRORQUAKE paper's way.")
@click.option("--scale", metavar="LOW:HIGH", help="The scores run from LOW (correct) to HIGH (worst), not 0..4.")
@click.option(
    "--traffic", metavar="MIX", help="Table of domain and/or tier with `share`: weight items to your traffic."
)
@click.option("--cost", "costs", metavar="LEVEL=COST", multiple=True, help="Cost of an answer at or above LEVEL.")
@click.option(
    "--require", "requirements", metavar="RULE", multiple=True, help="As 'severity>=3 below 100 per million'."
)
@click.option("--reliability", type=float, help="ICC of the scores, for the resolution bound.")
@click.option("--resamples", "n_resamples", type=click.IntRange(min=200), default=2000, show_default=True)
@click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@json_option
@click.pass_context
def severity(
    ctx: click.Context,
    file: str,
    paper: bool,
    scale: str | None,
    traffic: str | None,
    costs: tuple[str, ...],
    requirements: tuple[str, ...],
    reliability: float | None,
    n_resamples: int,
    level: float,
    seed: int,
    json_path: str | None,
) -> None:
    """How bad are the errors of FILE, and which claims about their shape hold?

    FILE is a scores table: item, condition, severity (0 correct .. 4 worst), optionally domain, tier, judge_1, judge_2.

    \b
    richter severity scores.csv
    richter severity scores.csv --require "severity>=3 below 100 per million"
    richter severity scores.csv --traffic mix.csv --cost 1=5 --cost 3=2000 --json result.json
    richter severity mqm.csv --scale 0:-25
    """
    rules = [parse_requirement(text) for text in requirements]
    prices = parse_costs(costs)
    scores = read_scores(file, scale=parse_scale(scale))
    mix = read_traffic(traffic, scores) if traffic else None
    study = study_severity(
        scores,
        recipe=PAPER if paper else DEFAULT,
        traffic=mix,
        reliability=reliability,
        n_resamples=n_resamples,
        level=level,
        rng=np.random.default_rng(seed),
    )
    columns = scores.columns()
    losses = (
        {n: expected_loss(columns[n], prices, traffic=mix, level=level) for n in study.deployment} if prices else {}
    )
    checks = [check_requirement(name, table, rule) for rule in rules for name, table in study.deployment.items()]
    payload = study.to_dict() | {"seed": seed, "paper": paper, "requirements": [c.to_dict() for c in checks]}
    for name, loss in losses.items():
        payload["conditions"][name]["expected_loss"] = loss.to_dict()
    write_json(payload, json_path, inputs=[file, *([traffic] if traffic else [])])

    out = console(json_path)
    for check in checks:
        out.print(printable(check.sentence))
    for line in _headlines(study, paper=paper):
        out.print(line)
    out.print(_conditions_table(study))
    out.print(_rates_table(study))
    for name, loss in losses.items():
        limits = f"{loss.interval.low:,.4g} to {loss.interval.high:,.4g}"
        out.print(f"Expected loss of {printable(name, limit=40)}: {loss.per_answer:,.4g} an answer ({limits}).")
    _print_pairs(out, study)
    verdicts = {check.verdict for check in checks}
    if Verdict.REFUTED in verdicts:
        ctx.exit(3)
    if Verdict.UNDECIDED in verdicts:
        ctx.exit(4)


def _headlines(study: SeverityStudy, *, paper: bool) -> list[str]:
    found = study.discrimination
    counts = found.counts
    lines = []
    if found.n_pairs == 0:
        lines.append("One condition only: there are no pairs to compare.")
    elif counts.matched == 0:
        lines.append(f"None of the {found.n_pairs} pairs has error rates within {found.max_error_gap:g} of each other.")
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
    table = Table(title="Slope b above m_min (smaller: a heavier tail)", title_justify="left")
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
        family = "-" if families is None else families.best + ("" if families.gof_p > 0.05 else " (bad fit)")
        row = [printable(name, limit=28), f"{fit.n:,}", f"{fit.n_errors:,}", f"{fit.error_rate:.3f}"]
        if isinstance(fit, BValue):
            row += [
                f"{fit.b:.3f}",
                f"{fit.interval.low:.2f} .. {fit.interval.high:.2f}",
                f"{fit.b_by_estimator['aki']:.2f}",
                f"{fit.m_min:g}",
                f"{fit.n_above:,}",
                f"{fit.gof_p:.3f}" + ("*" if fit.gof_p <= 0.05 else ""),
            ]
        else:
            row += ["-"] * 6
        table.add_row(*row, family)
    table.caption = "* the law does not hold above any level: b describes nothing"
    table.caption_justify = "left"
    return table


def _rates_table(study: SeverityStudy) -> Table:
    first = next(iter(study.deployment.values()))
    title = f"Answers per million at or above a severity ({first.basis})"
    if first.weighted:
        title += f", weighted to the traffic; {first.uncovered:.1%} of it is covered by no item"
    table = Table(title=title, title_justify="left")
    table.add_column("condition", no_wrap=True)
    shown = (1.0, 2.0, 3.0, 4.0)
    for threshold in shown:
        table.add_column(f">= {threshold:g}", justify="right", no_wrap=True)
    for name, rates in study.deployment.items():
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
