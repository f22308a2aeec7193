"""`richter search show`: what a search found, from its ledger, and from its base where that is at hand."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, TypeVar

import numpy as np
import polars as pl
from rich.console import Console

from richter.cli._io import cells, console, grid, listing, money, write_json
from richter.errors import InputError, TooFewErrors
from richter.interop import export_table
from richter.records import counted, printable
from richter.store import open_ledger
from richter.words import describe_base_rate, describe_note
from richter_audit import ascent
from richter_audit.ascent._summary import summarise
from richter_audit.cli._progress import price
from richter_audit.cli._search_compare_output import compare_searches
from richter_audit.knowledge import IndexInfo, KnowledgeBase, open_base

T = TypeVar("T")
TASKS_SHOWN = 8
CATEGORIES, FAILING = 10, 12  # that are shown
# what is said of a search where it has it, by its field
BESIDE = {
    "reworded": "{r.confirmed:,} of {r.reworded:,} that were asked in other words fail in at least half of them too.",
    "judged": "A judge called {r.judged_right:,} of {r.judged:,} answers right that are not the reference's words.",
    "uncorrected": "{r.uncorrected:,} wrong answers are not corrected for how likely each option is anyway: the server "
    "does not say how likely given texts are.",
    "preferred": "{r.preferred:,} answers are right once corrected for how likely each option is without the subject: "
    "as asked they are wrong by preference for a name; they count as right.",
}


def search_show(
    runs: tuple[Path, ...],
    base_path: Path | None,
    map_path: Path | None,
    level: float,
    json_path: str | None,
) -> None:
    """Print and write what a search found, or how several compare."""
    if len(runs) > 1:
        compare_searches(runs, level, json_path)
        return
    (run,), out = runs, console(json_path)
    with open_ledger(run) as ledger:
        summary, lost = summarise(ledger, level=level), ledger.describe_lost_end()
    if lost:
        out.print(describe_note(printable(lost)), soft_wrap=True)
    print_search(summary, json_path, table=True)
    folder = base_path or ascent.base_of(run)
    base = open_base(folder) if folder else None
    rows = sorted(summary.by_category.items(), key=lambda kv: -kv[1].n)[:CATEGORIES]
    if rows:
        told = ((printable(name, limit=40), str(rate.n), f"{rate.size:,}", *_rate_cells(rate)) for name, rate in rows)
        out.print(grid(f"category|asked|paragraphs|error rate|{100 * level:.4g}% interval", told))
    shown = ascent.failing_questions(run, base, confirmed=False)
    _print_failing(out, shown, FAILING)
    survey, prediction, missing = _from_base(out, run, base, map_path, summary)
    if shown.questions:
        out.print(f"Next: richter search export {quote(str(run))} -o regressions.jsonl", style="dim", soft_wrap=True)
    write_json(
        summary.to_dict()
        | {"failing": shown.questions, "prediction": prediction}
        | (survey.to_dict() if survey else {"map": None, "clusters": None})
        | {"not_computed": missing},
        json_path,
    )


def _print_failing(out: Console, found: ascent.FailingSet, most: int) -> None:
    """Failing questions by mode: some of each, the modes with the most first."""
    if not found.questions or not most:
        return
    modes = Counter(q.mode for q in found.questions)
    out.print(
        f"{len(found.questions):,} failing questions of {len(modes):,} modes; "
        "`richter search export` writes those that fail again and whose key is right:",
        soft_wrap=True,
    )
    each = max(1, most // len(modes))
    told: Counter[str] = Counter()
    rows = []
    for q in found.questions:
        if told[q.mode] < each and told.total() < most:
            told[q.mode] += 1
            again = "" if q.reworded is None else f"{q.reworded:.0%} wrong"
            named = {"mode": f"{q.mode} ({modes[q.mode]})", "again": again}
            rows.append(cells("{mode:28}|{r.item.prompt:80}|{r.item.reference:28}|{r.said:36}|{again}", q, **named))
    out.print(grid("mode|question|right|answered|in other words", rows))


def _from_base(
    out: Console, run: Path, base: KnowledgeBase | None, map_path: Path | None, summary: ascent.SearchSummary
) -> tuple[ascent.ErrorSurvey | None, ascent.FailurePrediction | None, dict[str, str]]:
    """What needs the base's vectors; where it cannot be had, the reason instead."""
    missing: dict[str, str] = {}
    if base is None:
        why = "The base of this search does not lie where it was; --kb says where."
        if map_path is not None:
            raise InputError(why)
        out.print(f"No map, clusters or prediction: {why}", style="dim")
        return None, None, dict.fromkeys(("map", "clusters", "prediction"), why)

    def tried(names: Sequence[str], work: Callable[[], T]) -> T | None:
        try:
            return work()
        except TooFewErrors as error:
            missing.update(dict.fromkeys(names, str(error)))
            out.print(f"No {', no '.join(names)}: {error}", style="dim")
            return None

    seed = summary.settings.seed
    survey = tried(("map", "clusters"), lambda: ascent.survey_errors(run, base, rng=np.random.default_rng([seed, 1])))
    if survey is not None:
        _print_clusters(out, survey)
        if map_path is not None:
            _write_map(survey, base, map_path, summary.model)
            fails = sum(point.fails for point in survey.points)
            out.print(
                f"{map_path}: {len(survey.points):,} paragraphs by {survey.placed.method}, {fails:,} of them failing; "
                "other searches of this base lie in the same plane."
            )
    failing = ascent.search_failing(run)
    vectors = base.vectors[list(failing)]
    wrong, rng = list(failing.values()), np.random.default_rng(seed)
    prediction = tried(("prediction",), lambda: ascent.predict_failures(vectors, wrong, rng=rng))
    if prediction is not None:
        out.print(
            f"Told from their vectors, failing paragraphs are named rightly in {prediction.accuracy:.0%} of "
            f"{prediction.n_test} held out (the commoner kind alone: {prediction.accuracy_of_the_majority:.0%}; "
            f"AUC {prediction.auc:.2f})."
        )
    return survey, prediction, missing


def _write_map(survey: ascent.ErrorSurvey, base: KnowledgeBase, path: Path, model: str) -> None:
    texts = [paragraph.text for paragraph in base.paragraphs([point.paragraph for point in survey.points])]
    names = ("paragraph", "x", "y", "category", "cluster", "step", "error", "fails", "question")
    columns: dict[str, Any] = {name: [getattr(point, name) for point in survey.points] for name in names}
    for name in ("category", "question"):
        columns[name] = [printable(text, limit=200) for text in columns[name]]
    columns["model"] = [printable(model)] * len(texts)
    frame = pl.DataFrame(columns | {"text": [printable(text, limit=200) for text in texts]})
    export_table(frame, path)


def _print_clusters(out: Console, survey: ascent.ErrorSurvey) -> None:
    placed, n = survey.placed, len(survey.clusters)
    tested = f"Fisher's exact test, adjusted for {survey.groups_tested:,} groups"
    if not n:
        out.print(f"No group of paragraphs fails more often than the rest of what was asked about ({tested}).")
    else:
        out.print(f"{counted(n, 'cluster')} of paragraphs fail{'s' * (n == 1)} more often than the rest ({tested}):")
        rows = [_cluster_cells(cluster) for cluster in survey.clusters]
        out.print(grid("what they share|asked|failing|adjusted p|words that set them apart", rows))
        out.print(f"{survey.scattered:,} failing paragraphs lie in no cluster.", style="dim")
    chance = 10 / (len(survey.points) - 1)
    out.print(
        f"The map ({placed.method}: {placed.why}) keeps {placed.kept_neighbours:.0%} of each paragraph's ten nearest "
        f"(chance: {min(chance, 1.0):.0%}).",
        style="dim",
    )


def _cluster_cells(cluster: ascent.ErrorCluster) -> list[str]:
    shared = {"place": cluster.name, "word": f"the word “{cluster.name}”", "neighbours": "similar texts"}[cluster.kind]
    words = printable(", ".join(term.term for term in cluster.terms), limit=60)
    return [printable(shared, limit=48), *cells("{r.asked}|{r.paragraphs}|{r.p_value:.2g}", cluster), words]


def _rate_cells(rate: ascent.PopulationRate) -> tuple[str, str]:
    if rate.error_rate is None or rate.interval is None:
        return "unknown", ""
    return f"{rate.error_rate:.1%}", f"{rate.interval.low:.1%} to {rate.interval.high:.1%}"


def print_search(summary: ascent.SearchSummary, json_path: str | None, *, table: bool) -> None:
    """What was found in sentences, and with `table` step by step and by cost."""
    out, s = console(json_path), summary
    share = f" ({s.errors_found / s.answers:.0%} of {s.answers:,})" if s.answers else ""
    effective = f", as diverse as {s.effective_categories:.1f} equally large ones" if s.effective_categories else ""
    out.print(
        f"{s.strategy} found {s.errors_found:,} different questions that {printable(s.model)} answers wrongly{share}, "
        f"in {s.distinct_categories:,} categories{effective}."
    )
    for field, line in BESIDE.items():
        if getattr(s, field):
            out.print(line.format(r=s), soft_wrap=True)
    if s.errors_found and not s.reworded and s.settings.wordings == "wrong":
        out.print("None of them was asked in other words: the base has one wording of each. Add --generator.")
    _print_base_rate(out, s)
    if "index" in s.base:
        out.print(IndexInfo.from_dict(s.base["index"]).sentence())
    cost = money(s.spent.money_usd, s.spent.unpriced)
    each = f" ({s.spent.calls / s.errors_found:.1f} calls for each wrong question)" if s.errors_found else ""
    out.print(f"Spent {s.spent.calls:,} calls{each}, {s.spent.tokens:,} tokens, {cost} of {s.budget}.")
    aside = {
        "refused": s.refused,
        "unreadable": s.unreadable,
        "cut off": s.truncated,
        "empty": s.empty,
        "failed calls": s.failed,
    }
    aside["paragraphs unfinished"] = s.unfinished
    for said, counts in (
        ("Neither right nor wrong", aside),
        ("Dropped of what the generator wrote, and never scored", s.dropped),
    ):
        if any(counts.values()):
            out.print(f"{said}: {', '.join(f'{n:,} {what}' for what, n in counts.items() if n)}.")
    if table:
        _print_steps_and_costs(out, s)


def _print_base_rate(out: Console, s: ascent.SearchSummary) -> None:
    """Print the error rate of the paragraphs that could be drawn, or why it is unknown."""
    whole = sum(step.paragraphs for step in s.steps) >= s.frame.size and not s.unfinished
    for sentence in describe_base_rate(s.frame, s.population, drawn=bool(s.settings.uniform), whole=whole):
        out.print(sentence, soft_wrap=True)


def _print_steps_and_costs(out: Console, s: ascent.SearchSummary) -> None:
    """Print the tables of steps, of the worst proposed tasks, and of costs by model."""
    steps = "step: {r.step}|paragraphs: {r.paragraphs}|wrong: {r.error:.1%}|wrong so far: {r.cumulative_error:.1%}|"
    out.print(listing(steps + "sources: {r.sources}|pruned: {r.pruned}", s.steps))
    if s.tasks:
        worst = sorted(s.tasks, key=lambda task: -(task.error if task.error is not None else -1))[:TASKS_SHOWN]
        tasks = (cells("{r.text:80}|{r.step}|{n}|{r.error:.0%}", task, n=len(task.paragraphs)) for task in worst)
        out.print(grid("task that a model proposed|step|paragraphs|wrong", tasks))
    figures = "{r.model:40}|{r.role}|{r.calls:,}|{r.failed:,}|{r.tokens_in:,}|{r.tokens_out:,}|{cost}"
    costs = (cells(figures, r, cost=price(r.money_usd)) for r in s.costs)
    if s.costs:
        out.print(grid("model|role|calls|failed|tokens in|tokens out|cost", costs))
