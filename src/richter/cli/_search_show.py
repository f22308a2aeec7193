"""`richter search show`: what a search found, from its ledger, and from its base where that is at hand."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import click
import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from richter.ascent import (
    ErrorSurvey,
    FailingSet,
    FailurePrediction,
    Pattern,
    PopulationRate,
    SearchSummary,
    base_of,
    failing_questions,
    predict_failures,
    read_key_check,
    read_search,
    search_categories,
    search_failing,
    search_patterns,
    survey_errors,
    write_graphml,
)
from richter.cli._output import cells, console, grid, json_option, write_json
from richter.cli._progress import money
from richter.errors import InputError, TooFewErrors
from richter.interop import export_table
from richter.knowledge import IndexInfo, KnowledgeBase, open_base
from richter.records import printable
from richter.store import Place, run_place

T = TypeVar("T")
TASKS_SHOWN = 8


@click.command("show")
@click.argument("run", type=run_place)
@click.option("--categories", type=click.IntRange(0), default=10, help="Category rates shown.")
@click.option("--failing", type=click.IntRange(0), default=12, help="Failing questions shown.")
@click.option("--patterns", type=click.IntRange(0), default=8, help="Contrasts shown.")
@click.option("--over", type=click.Choice(["asked", "sample"]), default="asked", help="What contrasts cover.")
@click.option(
    "--kb", "base_path", type=click.Path(path_type=Path), help="The base that was searched, if it lies elsewhere now."
)
@click.option(
    "--map", "map_path", type=click.Path(path_type=Path), help="Write the map of errors here (.csv, .parquet)."
)
@click.option("--graphml", type=click.Path(path_type=Path), help="Write the relation graph here.")
@json_option
def show(
    run: Place,
    categories: int,
    failing: int,
    base_path: Path | None,
    patterns: int,
    over: Literal["asked", "sample"],
    map_path: Path | None,
    graphml: Path | None,
    json_path: str | None,
) -> None:
    """Show what a search found, step by step, what its errors have in common, and what it says of the whole base.

    Map, clusters and prediction come from the base's vectors: they need the base where the search found it, or --kb.

    \b
    Examples:
      richter search show run1
      richter search show run1 --failing 30 --map errors.csv
    """
    summary = read_search(run)
    print_search(summary, json_path, table=True)
    folder = base_path or base_of(run)
    rates = search_categories(run, open_base(folder)) if folder else summary.by_category
    rows = sorted(rates.items(), key=lambda kv: -kv[1].n)[:categories]
    if rows:
        told = ((printable(name, limit=40), str(rate.n), f"{rate.size:,}", *_rate_cells(rate)) for name, rate in rows)
        console(json_path).print(grid("category|asked|paragraphs|error rate|95% interval", told))
    shown = failing_questions(run, open_base(folder) if folder else None, confirmed=False)
    _print_failing(shown, failing, json_path)
    found = search_patterns(run, over=over, rng=np.random.default_rng(summary.settings.seed))
    _print_patterns(found[:patterns], over, json_path)
    survey, prediction, missing = _from_base(run, base_path, map_path, summary, json_path)
    if graphml is not None:
        nodes = write_graphml(run, graphml)
        console(json_path).print(f"{graphml}: {nodes:,} paragraphs.")
    write_json(
        summary.to_dict()
        | {"by_category": {name: rate.to_dict() for name, rate in rates.items()}}
        | {"failing": [q.to_dict() for q in shown.questions]}
        | {"patterns": {"over": over, "found": found}, "prediction": prediction}
        | (survey.to_dict() if survey else {"map": None, "clusters": None})
        | {"not_computed": missing},
        json_path,
    )


def _print_failing(found: FailingSet, most: int, json_path: str | None) -> None:
    """Failing questions by mode: some of each, the modes with the most first."""
    if not found.questions or not most:
        return
    out, modes = console(json_path), Counter(q.mode for q in found.questions)
    out.print(
        f"{len(found.questions):,} failing questions of {len(modes):,} modes; `richter export --failing` writes all:"
    )
    table = Table("mode", "question", "right", "answered", "in other words")
    each = max(1, most // len(modes))
    told: Counter[str] = Counter()
    for q in found.questions:
        if told[q.mode] < each and sum(told.values()) < most:
            told[q.mode] += 1
            again = "" if q.reworded is None else f"{q.reworded:.0%} wrong"
            table.add_row(
                printable(f"{q.mode} ({modes[q.mode]})", limit=28),
                printable(q.item.prompt, limit=80),
                printable(q.item.reference, limit=28),
                printable(q.said, limit=36),
                again,
            )
    out.print(table)


def _from_base(
    run: Place, base_path: Path | None, map_path: Path | None, summary: SearchSummary, json_path: str | None
) -> tuple[ErrorSurvey | None, FailurePrediction | None, dict[str, str]]:
    """What needs the base's vectors; where it cannot be had, the reason instead."""
    out = console(json_path)
    missing: dict[str, str] = {}
    folder = base_path or base_of(run)
    if folder is None:
        why = "The base of this search does not lie where it was; --kb says where."
        if map_path is not None:
            raise InputError(why)
        out.print(f"No map, clusters or prediction: {why}", style="dim")
        return None, None, dict.fromkeys(("map", "clusters", "prediction"), why)
    base = open_base(folder)

    def tried(names: Sequence[str], work: Callable[[], T]) -> T | None:
        try:
            return work()
        except TooFewErrors as error:
            missing.update(dict.fromkeys(names, str(error)))
            out.print(f"No {', no '.join(names)}: {error}", style="dim")
            return None

    seed = summary.settings.seed
    survey = tried(("map", "clusters"), lambda: survey_errors(run, base, rng=np.random.default_rng([seed, 1])))
    if survey is not None:
        if survey.unclustered:
            missing["clusters"] = survey.unclustered
            out.print(f"No clusters: {survey.unclustered}", style="dim")
        _print_clusters(survey, json_path)
        if map_path is not None:
            _write_map(survey, base, map_path, summary.model)
            fails = sum(point.fails for point in survey.points)
            out.print(
                f"{map_path}: {len(survey.points):,} paragraphs by {survey.placed.method}, {fails:,} of them failing; "
                "other searches of this base lie in the same plane."
            )
    failing = search_failing(run)
    vectors = base.vectors[list(failing)]
    prediction = tried(
        ("prediction",), lambda: predict_failures(vectors, list(failing.values()), rng=np.random.default_rng(seed))
    )
    if prediction is not None:
        out.print(
            f"Told from their vectors, failing paragraphs are named rightly in {prediction.accuracy:.0%} of "
            f"{prediction.n_test} held out (the commoner kind alone: {prediction.accuracy_of_the_majority:.0%}; "
            f"AUC {prediction.auc:.2f})."
        )
    return survey, prediction, missing


def _write_map(survey: ErrorSurvey, base: KnowledgeBase, path: Path, model: str) -> None:
    texts = [paragraph.text for paragraph in base.paragraphs([point.paragraph for point in survey.points])]
    names = ("paragraph", "x", "y", "category", "cluster", "step", "error", "fails", "question")
    columns: dict[str, Any] = {name: [getattr(point, name) for point in survey.points] for name in names}
    for name in ("category", "question"):
        columns[name] = [printable(text, limit=200) for text in columns[name]]
    columns["model"] = [printable(model)] * len(texts)
    frame = pl.DataFrame(columns | {"text": [printable(text, limit=200) for text in texts]})
    export_table(frame, path)


def _print_clusters(survey: ErrorSurvey, json_path: str | None) -> None:
    out, found = console(json_path), survey.clustering
    placed = survey.placed
    if found is None:
        pass
    elif found.near is None or found.p_value is None or found.near_at_random is None:
        out.print("The vectors of the failing paragraphs are all alike.")
    else:
        said = (
            f"{found.near:.0%} of the ten nearest asked about before them fail too, {found.near_at_random:.0%} with "
            f"errors at random, p {found.p_value:.3f}"
        )
        if found.clusters == 1 and found.p_value > 0.05:
            out.print(f"The failing paragraphs lie no closer together than errors at random would ({said}).")
        else:
            out.print(f"The failing paragraphs form {found.clusters} clusters ({said}):")
    rows = []
    for cluster in survey.clusters:
        names = ", ".join(f"{name or 'none'} {count}" for name, count in cluster.categories)
        words = printable(", ".join(term.term for term in cluster.terms), limit=60)
        rows.append([*cells("{r.cluster}|{r.paragraphs}|{r.error:.0%}", cluster), printable(names, limit=48), words])
    if rows:
        out.print(grid("cluster|paragraphs|wrong|commonest categories|words that set it apart", rows))
    chance = 10 / (len(survey.points) - 1)
    out.print(
        f"The map ({placed.method}: {placed.why}) keeps {placed.kept_neighbours:.0%} of each paragraph's ten nearest "
        f"(chance: {min(chance, 1.0):.0%}).",
        style="dim",
    )


def _print_patterns(patterns: Sequence[Pattern], over: str, json_path: str | None) -> None:
    if not patterns:
        return
    out = console(json_path)
    where = "in the random sample" if over == "sample" else "in what was asked about, which the search chose"
    out.print(f"What fails {where} (permutation tests, Benjamini-Hochberg at 5%):")
    figures = "{r.paragraphs}|{r.error:.0%}|{r.error_of_others:.0%}|{r.adjusted_p_value:.3f}"
    named = [(printable(", ".join(f"{k}: {v}" for k, v in p.attributes.items()), limit=60), p) for p in patterns]
    rows = ([name, *cells(figures, p)] for name, p in named)
    out.print(grid("group|paragraphs|wrong|others|adjusted p", rows))


def _rate_cells(rate: PopulationRate) -> tuple[str, str]:
    if rate.error_rate is None or rate.interval is None:
        return "unknown", ""
    return f"{rate.error_rate:.1%}", f"{rate.interval.low:.1%} to {rate.interval.high:.1%}"


def say_keys(out: Console, folder: Path | str | None) -> None:
    """Say what people found of a base's generated keys, under what rests on them."""
    checked = read_key_check(folder) if folder else None
    if checked is not None:
        out.print(str(checked))


def print_search(summary: SearchSummary, json_path: str | None, *, table: bool) -> None:
    """What was found in sentences, and with `table` step by step and by cost."""
    out = console(json_path)
    s = summary
    share = f" ({s.errors_found / s.answers:.0%} of {s.answers:,})" if s.answers else ""
    effective = f", as diverse as {s.effective_categories:.1f} equally large ones" if s.effective_categories else ""
    out.print(
        f"{s.strategy} found {s.errors_found:,} different questions that {printable(s.model)} answers wrongly{share}, "
        f"in {s.distinct_categories:,} categories{effective}."
    )
    if s.reworded:
        out.print(
            f"{s.confirmed:,} of {s.reworded:,} that were asked in other words fail in at least half of them too."
        )
    if s.judged:
        out.print(
            f"A judge called {s.judged_right:,} of {s.judged:,} answers right that are not the reference's words.",
            soft_wrap=True,
        )
    if s.uncorrected:
        out.print(
            f"{s.uncorrected:,} wrong answers are not corrected for how likely each option is anyway: the server does "
            "not say how likely given texts are.",
            soft_wrap=True,
        )
    if s.preferred:
        out.print(
            f"{s.preferred:,} answers are right once corrected for how likely each option is without the subject: as "
            "asked they are wrong by preference for a name; they count as right."
        )
    if s.keys is not None:
        out.print(str(s.keys))
    rate, limits = _rate_cells(s.population)
    if s.population.error_rate is None:
        drawn = (
            "no paragraph is drawn at random (--uniform 0)" if s.settings.uniform == 0 else "none drawn has an answer"
        )
        out.print(f"The error rate of the whole base is unknown: {drawn}.")
    else:
        out.print(
            f"The whole base: {rate} wrong (95%: {limits}), from {s.population.n:,} of {s.population.size:,} "
            "paragraphs drawn at random; the steps' errors say nothing of it."
        )
    if "index" in s.base:
        out.print(IndexInfo.from_dict(s.base["index"]).sentence())
    cost = money(s.spent.money_usd, s.spent.unpriced)
    each = f" ({s.spent.calls / s.errors_found:.1f} calls for each wrong question)" if s.errors_found else ""
    out.print(f"Spent {s.spent.calls:,} calls{each}, {s.spent.tokens:,} tokens, {cost} of {s.budget}.")
    aside = {
        "refused": s.refused,
        "cut off": s.truncated,
        "empty": s.empty,
        "failed calls": s.failed,
        "paragraphs unfinished": s.unfinished,
    }
    if any(aside.values()):
        out.print(f"Neither right nor wrong: {', '.join(f'{n:,} {what}' for what, n in aside.items() if n)}.")
    dropped = {reason: count for reason, count in s.dropped.items() if count}
    if dropped:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        out.print(f"Dropped of what the generator wrote, and never scored: {reasons}.")
    if not table:
        return
    steps = []
    for step in s.steps:
        wrong = ["" if e is None else f"{e:.1%}" for e in (step.error, step.cumulative_error)]
        steps.append([str(step.step), str(step.paragraphs), *wrong, str(step.sources), str(step.pruned)])
    out.print(grid("step|paragraphs|wrong|wrong so far|sources|pruned", steps))
    if s.tasks:
        worst = sorted(s.tasks, key=lambda task: -(task.error if task.error is not None else -1))[:TASKS_SHOWN]
        tasks = Table("task that a model proposed", "step", "paragraphs", "wrong")
        for task in worst:
            wrong_share = "" if task.error is None else f"{task.error:.0%}"
            tasks.add_row(printable(task.text, limit=80), str(task.step), str(len(task.paragraphs)), wrong_share)
        out.print(tasks)
    costs = Table("model", "role", "calls", "failed", "tokens in", "tokens out", "cost")
    for row in s.costs:
        price = "price unknown" if row.money_usd is None else money(row.money_usd)
        counts = (f"{n:,}" for n in (row.calls, row.failed, row.tokens_in, row.tokens_out))
        costs.add_row(printable(row.model, limit=40), row.role, *counts, price)
    if s.costs:
        out.print(costs)
