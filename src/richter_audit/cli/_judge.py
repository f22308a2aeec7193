"""`richter judge`."""

from pathlib import Path
from shlex import quote
from typing import Any

import click
from rich.console import Console

from richter.cli._agreement_command import print_agreement, print_judges
from richter.cli._io import PLAIN, console, grid, json_option, split_names, write_json
from richter.errors import InputError
from richter.interop import RatingKind, export_table
from richter.records import printable
from richter.store import Place, run_place
from richter.tables import ReadOptions, read_tables, scores_table
from richter.texts import GRADERS
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._progress import price_at_most
from richter_audit.judge import LABELS, judge_decoding
from richter_audit.stages import GradingResult, JudgingResult, estimate_judging, grade_run, judge_run, name_conditions

EXAMPLES = """
\b
Examples:
  richter judge run1 --rules
  richter judge run1 --judges openai/gpt-4o-mini,mistral/mistral-large-latest --budget 2usd
  richter judge run1 --judges openai/gpt-4o-mini,groq/llama-3.3-70b-versatile --dry-run
  richter judge run1 --grader auto
  richter judge run1 --grader number --tolerance 0.01
  richter judge run1 --rules -o scores.csv && richter severity scores.csv
  richter judge run1 --rules --judges smollm2 --judge-system "" --judge-system "Be strict." --allow-self --limit 40
The same command again asks only what is missing.
"""


@click.command(epilog=EXAMPLES)
@click.argument("run", type=run_place)
@click.option("--rules", is_flag=True, help="Judge by rules, from the items' structured truth; no model is asked.")
@click.option(
    "--grader",
    type=click.Choice(["auto", *GRADERS]),
    help="Grade right or wrong by the references alone; auto: the grader that fits each reference.",
)
@click.option("--tolerance", type=click.FloatRange(0), help="Of numbers, relative: 0.01 is one percent.")
@click.option("--judges", "judge_names", help="Judge models, separated by commas; dealt round robin, two an answer.")
@click.option("--judge-system", "systems", multiple=True, help="More instructions; several make several conditions.")
@click.option("--gazetteer", type=click.Path(path_type=Path), help="What `richter bench build` wrote beside the items.")
@click.option("--allow-self", is_flag=True, help="Let a model judge its own answers (a trial; the report says so).")
@click.option("--limit", type=click.IntRange(1), help="Only so many answers go to the judge models.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a scores table (CSV, Parquet or JSONL).")
@call_options(engine=True, dry_run="Count and price the calls; ask nothing.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Seed of the intervals.")
@json_option
def judge(
    run: Place,
    grader: str | None,
    tolerance: float | None,
    judge_names: str | None,
    systems: tuple[str, ...],
    output: Path | None,
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> None:
    """Rate a run's answers from 0 (correct) to 4 (wholesale fabrication), and say how far the ratings can be trusted.

    Two judges rate each answer, never the audited model under any name; where they differ by more than 1.0 a third
    is asked and the median counts. Ratings go into the folder RUN. With --grader answers are graded right or wrong by
    the items' references, without any model; where the run holds other grades of the same answers (of a log, or of
    another grader) the differences are counted and shown.
    """
    out = console(json_path)
    graded = None
    if grader is not None and not calls.dry_run:
        graded = grade_run(run, grader=None if grader == "auto" else grader, tolerance=tolerance)
        print_grading(out, graded)
        if not options["rules"] and judge_names is None:
            write_json(graded, json_path)
            out.print(f"Next: richter report {quote(str(run))}", soft_wrap=True)
            return
    names = split_names(judge_names or "")
    if judge_names is not None and not names:
        raise InputError("--judges names nobody.", remedy="Give model names separated by commas.")
    judges = name_conditions(names, systems=systems or ("",), decoding=judge_decoding()) if names else []
    if calls.dry_run:
        shared = {name: options[name] for name in ("allow_self", "limit")}
        estimate = estimate_judging(run, judges=judges, prices=calls.prices, **shared)
        out.print(
            f"{estimate.n_answers:,} answers: {estimate.calls_least:,} to {estimate.calls_most:,} judge calls, about "
            f"{estimate.tokens_most:,} tokens at most, {price_at_most(estimate.money_usd_most)}."
        )
        calls.say_prices(out)
        write_json({"dry_run": estimate}, json_path)
        return
    with calls.opened("judging") as asked:
        result = judge_run(run, judges=judges, **asked, **options)
    _print(out, result)
    silent = result.failures is not None and result.failures.failed == result.failures.asked
    if output is not None and not (judges and silent):
        source: RatingKind = "judge" if judges else "rule"
        rows = scores_table(read_tables(run, options=ReadOptions(ratings=source)))
        export_table(rows, output)
        out.print(f"{output}: {len(rows):,} scores by {source}. Next: richter severity {quote(str(output))}")
    elif not (judges and silent):
        out.print(f"Next: richter report {quote(str(run))}", soft_wrap=True)
    write_json(result if graded is None else {**result.to_dict(), "grading": graded}, json_path)
    if judges and silent:
        raise InputError(
            "No judge gave a score, so no answer has a verdict.",
            remedy="Read the first reply above; use a judge that can answer in JSON, or --rules or --grader.",
        )


SHOWN = 8  # answers that two graders grade differently


def print_grading(out: Console, r: GradingResult) -> None:
    """Which grader graded what, how many are right, and where other grades differ."""
    out.print(printable(str(r.graders)), soft_wrap=True)
    for condition, n in r.graded.items():
        out.print(f"  {printable(condition, limit=40)}: {r.right[condition]:,} of {n:,} right.")
    for scorer, (both, alike) in r.others.items():
        out.print(f"  As {printable(scorer, limit=40)} grades {alike:,} of {both:,} ({alike / both:.1%}).")
    for d in r.differences[:SHOWN]:
        verdict = "right" if d.first_right else "wrong"
        out.print(
            f"    {printable(d.item, limit=30)}: {d.first} says {verdict}, {printable(d.second, limit=30)} does not; "
            f"{printable(d.answer, limit=60)!r} where {printable(d.reference, limit=40)!r} is right",
            soft_wrap=True,
        )
    if len(r.differences) > SHOWN:
        out.print(f"    and {len(r.differences) - SHOWN:,} more.")


def _print(out: Console, r: JudgingResult) -> None:
    if r.n_rule:
        parts, rows = [], []
        for condition, counts in r.rule_labels.items():
            right, invented = (counts.get(label, 0) / sum(counts.values()) for label in ("correct", "fabrication"))
            parts.append(f"{printable(condition)}: {right:.0%} right, {invented:.0%} invented")
            mean = r.mean_severity.get("rule", {}).get(condition)
            own = [f"{counts.get(label, 0):,}" for label in LABELS]
            rows.append([printable(condition, limit=30), *own, "undefined" if mean is None else f"{mean:.2f}"])
        out.print("By rules, " + "; ".join(parts) + ".")
        out.print(grid(["condition", *LABELS, "mean severity"], rows, **PLAIN))
        out.print()
    if r.failures is not None and r.failures.failed:
        out.print(printable(str(r.failures), limit=400), soft_wrap=True)
    if r.panel is not None and r.judges is not None:
        print_agreement(out, r.panel)
        print_judges(out, r.judges)
    audit = r.self_judging
    if audit is not None and audit.n_self == 0:
        out.print(f"Self-judging: none in {audit.n_judge_ratings:,} judge ratings, by model and not by name.")
    elif audit is not None:
        pairs = ", ".join(f"{printable(j)} on {printable(c)}" for j, c in audit.pairs)
        out.print(
            f"Self-judging: {audit.n_self:,} of {audit.n_judge_ratings:,} judge ratings are a model's of its own "
            f"answers ({pairs}). Do not rest a claim on them."
        )
