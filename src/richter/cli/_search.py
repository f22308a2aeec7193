"""`richter search run|show|compare|cross|retest`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click
import numpy as np
from rich.table import Table

from richter.ascent import (
    STRATEGIES,
    Pattern,
    SearchSettings,
    SearchSummary,
    StepSummary,
    cross_matrix,
    predict_failures,
    prepare_retest,
    read_answers,
    read_failures,
    read_search,
    run_search,
    score_retest,
    search_failing,
    search_patterns,
    write_graphml,
)
from richter.audit import ask_run, name_conditions
from richter.cli._output import console, json_option, progress_console, write_json
from richter.cli._progress import asking, downloading, money
from richter.errors import InputError
from richter.knowledge import open_base
from richter.llm import parse_budget, read_prices, resolve
from richter.records import Decoding, printable

__all__ = ["search"]


@click.group()
def search() -> None:
    """Find where a model fails, under a budget, by following its errors through a knowledge base.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter search run sea1 --model smollm2 --kb facts.kb --budget 3000calls --questions 1 --phrasings 3
      richter search run rnd1 --model smollm2 --kb facts.kb --budget 3000calls --questions 1 --phrasings 3 \\
          --strategy random
      richter search show sea1
      richter search compare sea1 rnd1
    The same `search run` again resumes, in the middle of a step too.
    """


@search.command("run")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--model", required=True, help="The model to test.")
@click.option("--kb", "base_path", required=True, type=click.Path(path_type=Path), help="The base, from `richter kb`.")
@click.option("--budget", "budget_text", required=True, help="3000calls, 2Mtok or 5usd, over the whole run.")
@click.option("--strategy", type=click.Choice(STRATEGIES), default="sea", show_default=True)
@click.option("--style", type=click.Choice(["chat", "cloze"]), default=None, help="Default: cloze for local models.")
@click.option("--xi", type=click.FloatRange(0, 1, max_open=True), default=0.5, show_default=True, help="Source error.")
@click.option("--gamma", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Cumulative error to keep.")
@click.option("--no-prune", is_flag=True, help="Keep every source.")
@click.option("--neighbours", type=click.IntRange(1), default=50, show_default=True, help="Retrieved per source.")
@click.option("--batch", type=click.IntRange(1), default=40, show_default=True, help="Paragraphs per step.")
@click.option("--questions", type=click.IntRange(1), default=5, show_default=True, help="Per paragraph, at most.")
@click.option("--phrasings", type=click.IntRange(1), default=5, show_default=True, help="Wordings of each question.")
@click.option(
    "--uniform", type=click.FloatRange(0, 1), default=0.2, show_default=True, help="Share drawn for the base's rate."
)
@click.option("--start", type=click.Choice(["categories", "random"]), default="categories", show_default=True)
@click.option("--retrieval", type=click.Choice(["two-level", "exact"]), default="two-level", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--steps", type=click.IntRange(1), default=None, help="Stop after this many steps.")
@click.option("--max-tokens", type=click.IntRange(1), default=64, show_default=True, help="Of an answer.")
@click.option("--generator", help="A model that writes questions where the base has none; its calls count too.")
@click.option("--prices", "prices_path", type=click.Path(path_type=Path), help="TOML with your own prices.")
@click.option("--concurrency", type=click.IntRange(1), default=64, show_default=True, help="Calls in flight at most.")
@click.option("--slots", type=click.IntRange(1), default=16, show_default=True, help="Local models: parallel answers.")
@click.option("--dry-run", is_flag=True, help="Say what it would ask, and ask nothing.")
@json_option
def run_command(
    run: Path,
    model: str,
    base_path: Path,
    budget_text: str,
    strategy: str,
    style: str | None,
    xi: float,
    gamma: float,
    no_prune: bool,
    neighbours: int,
    batch: int,
    questions: int,
    phrasings: int,
    uniform: float,
    start: str,
    retrieval: str,
    seed: int,
    steps: int | None,
    max_tokens: int,
    generator: str | None,
    prices_path: Path | None,
    concurrency: int,
    slots: int,
    dry_run: bool,
    json_path: str | None,
) -> None:
    """Search the base KB for errors of a model; everything goes into the folder RUN."""
    settings = SearchSettings.from_dict(
        {
            "strategy": strategy,
            "xi": xi,
            "gamma": None if no_prune else gamma,
            "neighbours": neighbours,
            "batch": batch,
            "questions": questions,
            "phrasings": phrasings,
            "uniform": uniform,
            "start": start,
            "retrieval": retrieval,
            "seed": seed,
        }
    )
    budget = parse_budget(budget_text)
    base = open_base(base_path)
    style = style or ("cloze" if resolve(model).backend == "local" else "chat")
    (condition,) = name_conditions([model], decoding=Decoding(max_tokens=max_tokens), style=style)
    out = console(json_path)
    if dry_run:
        per = questions * phrasings
        out.print(
            f"At most {per} calls for each of {int(base.askable.sum()):,} paragraphs, {batch} paragraphs a step, "
            f"until {budget} is used."
        )
        write_json({"dry_run": {"budget": str(budget), "calls_per_paragraph": per}}, json_path)
        return
    progress = progress_console()

    def watch(step: StepSummary) -> None:
        progress.print(f"step {_step_line(step)}", soft_wrap=True)

    with downloading("fetching SmolLM2") as download:
        summary = run_search(
            run,
            base,
            condition,
            settings,
            budget=budget,
            prices=read_prices(prices_path),
            concurrency=concurrency,
            slots=slots,
            steps=steps,
            generator=resolve(generator).name if generator else None,
            context_tokens=4096 if generator else 1024,
            watch=watch,
            download=download,
        )
    _print(summary, json_path, table=False)
    out.print(f"Next: richter search show {run}", style="dim")
    write_json(summary, json_path)


@search.command("show")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--categories", type=click.IntRange(0), default=10, show_default=True, help="Category rates shown.")
@click.option("--patterns", type=click.IntRange(0), default=8, show_default=True, help="Contrasts shown.")
@click.option(
    "--over", type=click.Choice(["asked", "sample"]), default="asked", show_default=True, help="What contrasts cover."
)
@click.option("--kb", "base_path", type=click.Path(path_type=Path), help="Also: can failures be told from the vectors?")
@click.option("--graphml", type=click.Path(path_type=Path), help="Write the relation graph here.")
@json_option
def show(
    run: Path,
    categories: int,
    base_path: Path | None,
    patterns: int,
    over: Literal["asked", "sample"],
    graphml: Path | None,
    json_path: str | None,
) -> None:
    """Show what a search found, step by step, and what it says of the whole base."""
    summary = read_search(run)
    _print(summary, json_path, table=True)
    rows = sorted(summary.by_category.items(), key=lambda kv: -kv[1].n)[:categories]
    if rows:
        table = Table("category", "drawn", "paragraphs", "error rate", "95% interval")
        for name, rate in rows:
            table.add_row(printable(name, limit=40), str(rate.n), f"{rate.size:,}", *_rate_cells(rate))
        console(json_path).print(table)
    found = search_patterns(run, over=over, rng=np.random.default_rng(summary.settings.seed))
    _print_patterns(found[:patterns], over, json_path)
    prediction = None
    if base_path is not None:
        failing = search_failing(run)
        vectors = open_base(base_path).vectors[list(failing)]
        rng = np.random.default_rng(summary.settings.seed)
        prediction = predict_failures(vectors, list(failing.values()), rng=rng)
        console(json_path).print(
            f"Told from their vectors, failing paragraphs are named rightly in {prediction.accuracy:.0%} of "
            f"{prediction.n_test} held out (the commoner kind alone: {prediction.accuracy_of_the_majority:.0%}; "
            f"AUC {prediction.auc:.2f})."
        )
    if graphml is not None:
        nodes = write_graphml(run, graphml)
        console(json_path).print(f"{graphml}: {nodes:,} paragraphs.")
    write_json(summary.to_dict() | {"patterns": {"over": over, "found": found}, "prediction": prediction}, json_path)


@search.command("compare")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@json_option
def compare(runs: tuple[Path, ...], json_path: str | None) -> None:
    """Compare searches: errors per answer, sources, categories and cost, side by side.

    One run of each says nothing of chance: wordings of a question and neighbours of a paragraph fail together. Compare
    several seeds.
    """
    found = [(path, read_search(path)) for path in runs]
    out = console(json_path)
    if len({(s.model, s.base["name"]) for _, s in found}) > 1:
        out.print("These runs differ in model or base as well as in strategy: the ratios compare both.")
    table = Table("run", "strategy", "answers", "wrong", "per answer", "sources", "categories", "cost")
    rows = []
    for path, s in found:
        if not s.answers:
            raise InputError(f"{path} has no answers yet.", remedy="Run it first.")
        rate = s.errors_found / s.answers
        cost = money(s.spent.money_usd, s.spent.unpriced)
        table.add_row(
            *(printable(path.name, limit=24), s.strategy, f"{s.answers:,}", f"{s.errors_found:,}", f"{rate:.3f}"),
            *(str(s.sources_found), str(s.distinct_categories), cost),
        )
        rows.append({"run": str(path), "errors_per_answer": rate, **s.to_dict()})
    out.print(table)
    base = next((r for r in rows if r["strategy"] == "random"), None)
    if base is not None and len(rows) > 1 and base["errors_per_answer"]:
        for row in rows:
            if row is not base:
                row["ratio_to_random"] = row["errors_per_answer"] / base["errors_per_answer"]
                name = printable(Path(row["run"]).name, limit=24)
                out.print(f"{name} ({row['strategy']}) finds {row['ratio_to_random']:.2f} x the errors per answer.")
    write_json({"runs": rows}, json_path)


@search.command("retest")
@click.argument("out_run", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.option("--kb", "base_path", required=True, type=click.Path(path_type=Path), help="The base that was searched.")
@click.option("--kind", type=click.Choice(["open", "context"]), required=True, help="No options, or the text in view.")
@click.option("--limit", type=click.IntRange(1), default=200, show_default=True, help="Questions at most.")
@click.option("--budget", "budget_text", required=True, help="Over all that OUT asks.")
@click.option("--prices", "prices_path", type=click.Path(path_type=Path), help="TOML with your own prices.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@json_option
def retest(
    out_run: Path,
    run: Path,
    base_path: Path,
    kind: Literal["open", "context"],
    limit: int,
    budget_text: str,
    prices_path: Path | None,
    seed: int,
    json_path: str | None,
) -> None:
    """Ask again what the search RUN found answered wrongly, another way, into the folder OUT.

    `--kind open` asks without options: does the model state something false when left to itself? `--kind context`
    shows it the paragraph: does it use what it is told?
    """
    items, condition = prepare_retest(
        run, open_base(base_path), kind=kind, limit=limit, rng=np.random.default_rng(seed)
    )
    budget, prices = parse_budget(budget_text), read_prices(prices_path)
    with downloading("fetching SmolLM2") as download, asking() as watch:
        ask_run(out_run, items, [condition], budget=budget, prices=prices, watch=watch, download=download)
    found = score_retest(out_run, items, condition, kind=kind)
    limits = f"{found.interval.low:.0%} to {found.interval.high:.0%}"
    what = {"open": "asked without options", "context": "shown the paragraph"}[kind]
    out = console(json_path)
    out.print(f"{what.capitalize()}, {found.share:.0%} (95%: {limits}) of {found.n} wrong answers become right.")
    write_json(found, json_path)


def _print_patterns(patterns: Sequence[Pattern], over: str, json_path: str | None) -> None:
    if not patterns:
        return
    out = console(json_path)
    where = "in the random sample" if over == "sample" else "in what was asked about, which the search chose"
    out.print(f"What fails {where} (permutation tests, Benjamini-Hochberg at 5%):")
    table = Table("group", "paragraphs", "wrong", "others", "adjusted p")
    for p in patterns:
        name = printable(", ".join(f"{k}: {v}" for k, v in p.attributes.items()), limit=60)
        table.add_row(
            name, str(p.paragraphs), f"{p.error:.0%}", f"{p.error_of_others:.0%}", f"{p.adjusted_p_value:.3f}"
        )
    out.print(table)


@search.command("cross")
@click.argument("out_run", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--budget", "budget_text", required=True, help="Over all that OUT asks.")
@click.option("--prices", "prices_path", type=click.Path(path_type=Path), help="TOML with your own prices.")
@json_option
def cross(
    out_run: Path, runs: tuple[Path, ...], budget_text: str, prices_path: Path | None, json_path: str | None
) -> None:
    """Ask each model about the paragraphs that the others failed on (searches RUNS of one base), into the folder OUT.

    What a model answered in its own search is not asked again.
    """
    failures = [read_failures(run) for run in runs]
    if len({f.condition.name for f in failures}) < len(runs):
        raise InputError("Two of the searches are of the same condition.", remedy="Give one search for each model.")
    everything = {item.id: item for f in failures for item in f.items}
    prices = read_prices(prices_path)
    for run, f in zip(runs, failures, strict=True):
        known = read_answers([run], f.condition)
        missing = [item for key, item in everything.items() if key not in known]
        if missing:
            budget = parse_budget(budget_text)
            with downloading("fetching SmolLM2") as download, asking() as watch:
                ask_run(out_run, missing, [f.condition], budget=budget, prices=prices, watch=watch, download=download)
    subsets = {f.condition.name: [item.id for item in f.items] for f in failures}
    pairs = zip(runs, failures, strict=True)
    matrix = cross_matrix(subsets, {f.condition.name: read_answers([run, out_run], f.condition) for run, f in pairs})
    out = console(json_path)
    out.print("Accuracy of each model (columns) on the paragraphs that each search found failing (rows):")
    table = Table("search of", "items", *(printable(name, limit=24) for name in matrix.conditions))
    for name, count, row in zip(matrix.conditions, matrix.items, matrix.accuracy, strict=True):
        table.add_row(printable(name, limit=24), str(count), *("" if v is None else f"{v:.0%}" for v in row))
    out.print(table)
    out.print("A model's accuracy on its own failures is low by selection.", style="dim")
    write_json(matrix, json_path)


def _step_line(step: StepSummary) -> str:
    cells = [f"{step.step}: {step.paragraphs} paragraphs"]
    if step.error is not None and step.cumulative_error is not None:
        cells.append(f"{step.error:.0%} wrong, {step.cumulative_error:.0%} so far")
    return ", ".join([*cells, f"{step.sources} sources, {step.pruned} pruned"])


def _rate_cells(rate: object) -> tuple[str, str]:
    value, interval = getattr(rate, "error_rate", None), getattr(rate, "interval", None)
    if value is None or interval is None:
        return "unknown", ""
    return f"{value:.1%}", f"{interval.low:.1%} to {interval.high:.1%}"


def _print(summary: SearchSummary, json_path: str | None, *, table: bool) -> None:
    out = console(json_path)
    s = summary
    share = f" ({s.errors_found / s.answers:.0%} of {s.answers:,} answers)" if s.answers else ""
    out.print(
        f"{s.strategy} found {s.errors_found:,} errors of {printable(s.model)}{share} in {s.sources_found:,} failing "
        f"paragraphs of {s.distinct_categories:,} categories."
    )
    rate, limits = _rate_cells(s.population)
    if s.population.error_rate is None:
        out.print("The error rate of the whole base is unknown: no paragraph was drawn at random (--uniform 0).")
    else:
        out.print(
            f"The whole base: {rate} wrong (95%: {limits}), from {s.population.n:,} of {s.population.size:,} "
            "paragraphs drawn at random; the steps' errors say nothing of it."
        )
    cost = money(s.spent.money_usd, s.spent.unpriced)
    out.print(f"Spent {s.spent.calls:,} calls, {s.spent.tokens:,} tokens, {cost} of {s.budget}.")
    if s.failed or s.unfinished or s.refused:
        out.print(f"{s.failed} calls failed, {s.refused} refusals, {s.unfinished} paragraphs unfinished.")
    if not table:
        return
    rows = Table("step", "paragraphs", "wrong", "wrong so far", "sources", "pruned")
    for step in s.steps:
        wrong = ["" if e is None else f"{e:.1%}" for e in (step.error, step.cumulative_error)]
        rows.add_row(str(step.step), str(step.paragraphs), *wrong, str(step.sources), str(step.pruned))
    out.print(rows)
