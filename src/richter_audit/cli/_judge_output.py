"""`richter audit --only judge`."""

from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Console

from richter.cli._agreement_output import print_agreement, print_judges
from richter.cli._io import PLAIN, console, grid, split_names, write_json
from richter.errors import InputError
from richter.interop import export_table
from richter.ratings import SelfJudging
from richter.records import Condition, RatingKind, counted, printable
from richter.tables import ReadOptions, read_tables, scores_table
from richter_audit.ascent import failing_items
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most
from richter_audit.judge import LABELS, judge_decoding
from richter_audit.stages import (
    GradingResult,
    JudgingEstimate,
    JudgingResult,
    estimate_judging,
    grade_run,
    judge_run,
    name_conditions,
)


def judge(
    run: Path,
    grader: str | None,
    tolerance: float | None,
    judge_names: str | None,
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
    judges = _named_judges(judge_names)
    options["items"] = _items_to_judge(out, run) if judges else None
    if calls.dry_run:
        shared = {name: options[name] for name in ("allow_self", "limit", "items")}
        estimate = estimate_judging(run, judges=judges, prices=calls.prices, **shared)
        _print_estimate(out, estimate, calls)
        write_json({"dry_run": estimate}, json_path)
        return
    with calls.opened("judging") as asked:
        result = judge_run(run, judges=judges, **asked, **options)
    _print(out, result)
    failures = result.failures
    no_scores = bool(judges) and failures is not None and failures.failed == failures.asked
    if not no_scores:
        _offer_scores(out, run, output, kind="judge" if judges else "rule")
    write_json(result if graded is None else {**result.to_dict(), "grading": graded}, json_path)
    if no_scores:
        raise InputError(
            "No judge gave a score, so no answer has a verdict.",
            remedy="Read the first reply above; use a judge that can answer in JSON, or --rules or --grader.",
        )


SHOWN = 8  # answers that two graders grade differently


def _named_judges(judge_names: str | None) -> list[Condition]:
    """The conditions that `--judges` names; none without it."""
    names = split_names(judge_names or "")
    if judge_names is not None and not names:
        raise InputError("--judges names nobody.", remedy="Give model names separated by commas.")
    return name_conditions(names, decoding=judge_decoding()) if names else []


def _items_to_judge(out: Console, run: Path) -> set[str] | None:
    """The failing questions of a search; None where all answers of a run are judged."""
    failing = failing_items(run)
    if failing is not None:
        if not failing:
            raise InputError("This search has no failing question to judge.", remedy="Search on: richter search.")
        out.print(f"This is a search: the judges rate its {counted(len(failing), 'failing question')} only.")
    return failing


def _print_estimate(out: Console, estimate: JudgingEstimate, calls: Calls) -> None:
    """Print how many calls judging takes, and their price."""
    out.print(
        f"{estimate.n_answers:,} answers: {estimate.calls_least:,} to {estimate.calls_most:,} judge calls, about "
        f"{estimate.tokens_most:,} tokens at most, {price_at_most(estimate.money_usd_most)}."
    )
    calls.say_prices(out)


def _offer_scores(out: Console, run: Path, output: Path | None, *, kind: RatingKind) -> None:
    """Write the scores where a file is asked for, and print the next command."""
    if output is None:
        out.print(f"Next: richter report {quote(str(run))}", soft_wrap=True)
        return
    rows = scores_table(read_tables(run, options=ReadOptions(ratings=kind)))
    export_table(rows, output)
    out.print(f"{output}: {len(rows):,} scores by {kind}. Next: richter severity {quote(str(output))}")


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
        _print_rule_labels(out, r)
    if r.failures is not None and r.failures.failed:
        out.print(printable(str(r.failures), limit=400), soft_wrap=True)
    if r.panel is not None and r.judges is not None:
        print_agreement(out, r.panel)
        print_judges(out, r.judges)
    if r.self_judging is not None:
        _print_self_judging(out, r.self_judging)


def _print_rule_labels(out: Console, r: JudgingResult) -> None:
    """Print each condition's labels by rules: a sentence, then a table with the mean severity."""
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


def _print_self_judging(out: Console, audit: SelfJudging) -> None:
    """Print how many ratings are a model's of its own answers."""
    if audit.n_self == 0:
        out.print(f"Self-judging: none in {audit.n_judge_ratings:,} judge ratings, by model and not by name.")
        return
    pairs = ", ".join(f"{printable(j)} on {printable(c)}" for j, c in audit.pairs)
    out.print(
        f"Self-judging: {audit.n_self:,} of {audit.n_judge_ratings:,} judge ratings are a model's of its own "
        f"answers ({pairs}). Do not rest a claim on them."
    )
