"""`richter audit --only judge`."""

from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Console

from richter.cli._agreement_output import print_agreement, print_judges
from richter.cli._io import PLAIN, console, grid, split_names, write_json
from richter.errors import InputError
from richter.interop import RatingKind, export_table
from richter.records import printable
from richter.store import Place
from richter.tables import ReadOptions, read_tables, scores_table
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most
from richter_audit.judge import LABELS, judge_decoding
from richter_audit.stages import GradingResult, JudgingResult, estimate_judging, grade_run, judge_run, name_conditions


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
    """Rate or grade a run's answers; print and write how far the ratings can be trusted."""
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
