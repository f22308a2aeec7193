"""What `richter search --only retest` prints: asking again what was answered wrongly, asking others, asking why."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from rich.console import Console

from richter.cli._io import grid, publish
from richter.errors import InputError
from richter.models import resolve
from richter.records import Item, printable
from richter_audit import ascent
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most
from richter_audit.knowledge import KnowledgeBase, open_base
from richter_audit.stages import ask_run, estimate_run

Kind = Literal["open", "context", "cross", "explain"]
MOST_QUESTIONS, MOST_PARAGRAPHS = 200, 60  # unless --limit says otherwise


def retest(
    out_run: Path,
    runs: tuple[Path, ...],
    kind: Kind,
    limit: int | None,
    judge: str | None,
    model: str | None,
    base_path: Path | None,
    seed: int,
    calls: Calls,
    json_path: str | None,
) -> None:
    """Ask again what searches found answered wrongly, in the way that `kind` names; print and write the result."""
    if kind == "cross":
        _ask_others(out_run, runs, calls, json_path)
        return
    if len(runs) != 1:
        raise click.UsageError(f"--kind {kind} takes one search.")
    shared: dict[str, Any] = {"base_path": base_path, "seed": seed, "calls": calls, "json_path": json_path}
    if kind == "explain":
        if model is None:
            raise click.UsageError("--kind explain needs --model, which reads the errors.")
        _explain(out_run, runs[0], model=model, limit=limit or MOST_PARAGRAPHS, **shared)
        return
    _ask_again(out_run, runs[0], kind=kind, limit=limit or MOST_QUESTIONS, judge=judge, **shared)


def _ask_again(
    out_run: Path,
    run: Path,
    base_path: Path | None,
    kind: Literal["open", "context"],
    limit: int,
    judge: str | None,
    seed: int,
    calls: Calls,
    json_path: str | None,
) -> None:
    """Ask again what the search RUN found answered wrongly, another way, into the folder OUT."""
    rng = np.random.default_rng(seed)
    base = _base(run, base_path)
    items, condition = ascent.prepare_retest(run, base, kind=kind, limit=limit, rng=rng)
    if calls.dry_run:
        (row,) = estimate_run(out_run, items, [condition], prices=calls.prices)
        said = f"{row.calls} questions to {condition.name}"
        _dry_run(calls, json_path, said, calls=row.calls, money_usd_most=row.money_usd_most)
        return
    with calls.opened() as asked:
        ask_run(out_run, items, [condition], **asked)
        if judge is not None:
            ascent.judge_answers(out_run, items, condition, resolve(judge).name, **asked)
    found = ascent.score_retest(out_run, items, condition, kind=kind)
    limits = f"95% CI {100 * found.interval.low:.0f} to {100 * found.interval.high:.0f}"
    what = {"open": "Asked without options", "context": "Shown the paragraph"}[kind]
    out = publish(found, json_path)
    out.print(f"{what}, {found.share:.0%} of {found.n} wrong answers become right ({limits}).")


def _ask_others(out_run: Path, runs: tuple[Path, ...], calls: Calls, json_path: str | None) -> None:
    """Ask each model what the searches of the others asked (RUNS of one base), into the folder OUT."""
    subsets = [ascent.read_subset(run) for run in runs]
    names = [s.condition.name for s in subsets]
    if len(set(names)) < len(runs):
        raise InputError("Two of the searches are of the same condition.", remedy="Give one search for each model.")
    missing = _unanswered_items(out_run, runs, subsets)
    if calls.dry_run:
        _estimate_others(out_run, subsets, missing, calls, json_path)
        return
    for s in subsets:
        if items := missing[s.condition.name]:
            with calls.opened() as asked:
                ask_run(out_run, items, [s.condition], **asked)
    pairs = zip(runs, subsets, strict=True)
    matrix = ascent.cross_matrix(
        {s.condition.name: [item.id for item in s.items] for s in subsets},
        {s.condition.name: ascent.read_answers([run, out_run], s.condition) for run, s in pairs},
    )
    out = publish(matrix, json_path)
    _print_matrix(out, matrix)


def _unanswered_items(out_run: Path, runs: Sequence[Path], subsets: Sequence[ascent.Subset]) -> dict[str, list[Item]]:
    """The items of all searches that each condition has no answer to, by the condition's name."""
    everything = ascent.merge_items(subsets)
    missing = {}
    for run, s in zip(runs, subsets, strict=True):
        known = ascent.read_answers([run, out_run], s.condition)
        missing[s.condition.name] = [item for key, item in everything.items() if key not in known]
    return missing


def _estimate_others(
    out_run: Path,
    subsets: Sequence[ascent.Subset],
    missing: Mapping[str, list[Item]],
    calls: Calls,
    json_path: str | None,
) -> None:
    """Print and write how many calls asking the others takes, and their price."""
    asks = {name: len(items) for name, items in missing.items()}
    each = (estimate_run(out_run, missing[s.condition.name], [s.condition], prices=calls.prices) for s in subsets)
    usd = [row.money_usd_most for (row,) in each]
    most = None if None in usd else sum(filter(None, usd))
    said = f"{sum(asks.values())} calls to {len(asks)} models"
    _dry_run(calls, json_path, said, calls=asks, money_usd_most=most)


def _dry_run(limits: Calls, json_path: str | None, said: str, *, calls: Any, money_usd_most: float | None) -> None:
    """What would be asked, and at which price."""
    told = {"budget": str(limits.budget), "calls": calls, "money_usd_most": money_usd_most}
    out = publish({"dry_run": told}, json_path)
    out.print(f"{said}, {price_at_most(money_usd_most)}, within {limits.budget}.")
    limits.say_prices(out)


def _print_matrix(out: Console, matrix: ascent.CrossMatrix) -> None:
    columns = [printable(name, limit=24) for name in matrix.conditions]
    for title, form, cells in (
        ("Accuracy of each model (columns) on what each search asked about (rows):", "{:.0%}", matrix.accuracy),
        ("Correlation of right and wrong with the model that was searched:", "{:.2f}", matrix.correlation),
    ):
        told = [["none" if v is None else form.format(v) for v in row] for row in cells]
        rows = ([name, str(n), *row] for name, n, row in zip(columns, matrix.items, told, strict=True))
        out.print(title)
        out.print(grid(["search of", "items", *columns], rows))
    out.print("A row was chosen by its own model's errors: its accuracy there is low by selection.", style="dim")


def _explain(
    out_run: Path,
    run: Path,
    model: str,
    base_path: Path | None,
    limit: int,
    seed: int,
    calls: Calls,
    json_path: str | None,
) -> None:
    """Let a model put into words what the errors of the search RUN have in common, into the folder OUT."""
    rng, budget = np.random.default_rng(seed), calls.budget
    if calls.dry_run:
        wrong = ascent.wrong_answers(run, limit=limit, rng=rng)
        most = sum(len(answers) + (len(answers) > 1) for answers in wrong.values()) + -(-len(wrong) // 40) + 1
        out = publish({"dry_run": {"budget": str(budget), "calls": most, "paragraphs": len(wrong)}}, json_path)
        out.print(f"At most {most} calls about {len(wrong)} failing paragraphs, until {budget} is used.")
        return
    base, reader = _base(run, base_path), resolve(model).name
    found = ascent.explain_errors(out_run, run, base, reader, limit=limit, rng=rng, budget=budget, prices=calls.prices)
    out = publish(found, json_path)
    reads = f"{found.answers} wrong answers of {found.paragraphs} paragraphs"
    out.print(f"What was lacking, as {printable(found.model)} reads {reads}:")
    counts = [(printable(pattern.pattern, limit=90), len(pattern.paragraphs)) for pattern in found.patterns]
    out.print(grid("pattern|paragraphs|share", ([p, str(n), f"{n / found.paragraphs:.0%}"] for p, n in counts)))
    faults = ", ".join(f"{count} of {what}" for what, count in found.dropped.items() if count)
    out.print(f"In no pattern: {found.unsorted} paragraphs." + (f" Replies not used: {faults}." if faults else ""))
    out.print("A reading by a model, not a test.", style="dim")


def _base(run: Path, given: Path | None) -> KnowledgeBase:
    """The base of a search: where it was told to be, or where the search found it."""
    folder = given or ascent.base_of(run)
    if folder is None:
        raise InputError(f"The base of {run} does not lie where it was.", remedy="Say where it is with --kb.")
    return open_base(folder)
