"""`richter search run|compare`; `show`, `export`, `retest`, `cross` and `explain` have files of their own."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, get_args

import click

from richter.cli._io import Group, cells, console, grid, json_option, money, progress_console, write_json
from richter.errors import InputError
from richter.models import resolve
from richter.records import Decoding, printable
from richter.store import Place, run_place
from richter.texts import open_embedder
from richter_audit import ascent
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._search_again import cross, explain, pilot, retest
from richter_audit.cli._search_export import export
from richter_audit.cli._search_show import print_search, show
from richter_audit.knowledge import Retrieval, open_base, usual_retrieval
from richter_audit.stages import name_conditions


@click.group(cls=Group)
def search() -> None:
    """Find where a model fails, under a budget, by following its errors through a knowledge base.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter search run one --model smollm2 --kb facts.kb --budget 3000calls
      richter search run rnd --model smollm2 --kb facts.kb --budget 3000calls --strategy random
      richter search show one
      richter search compare one rnd
      richter search export one --to promptfoo -o regressions.yaml
    The same `search run` again resumes, in the middle of a step too.
    """


@search.command("run")
@click.argument("run", type=run_place)
@click.option("--model", required=True, help="The model to test.")
@click.option("--kb", "base_path", required=True, type=click.Path(path_type=Path), help="The base, from `richter kb`.")
@click.option(
    "--strategy",
    type=click.Choice(ascent.STRATEGIES),
    default="modes",
    help="modes: many kinds of failure; sea: the highest error (the paper's); random: no search.",
)
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze"]),
    help="choice: options listed; chat: the question alone; cloze. Default: cloze for local models, else choice.",
)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0)
@click.option("--xi", type=click.FloatRange(0, 1, max_open=True), default=0.5, help="Source error.")
@click.option("--gamma", type=click.FloatRange(0, 1), default=0.5, help="Cumulative error to keep.")
@click.option("--no-prune", is_flag=True, help="Keep every source.")
@click.option("--neighbours", type=click.IntRange(1), default=50, help="Retrieved per source.")
@click.option("--batch", type=click.IntRange(1), default=40, help="Paragraphs per step.")
@click.option("--questions", type=click.IntRange(1), default=1, help="Per paragraph, at most.")
@click.option("--phrasings", type=click.IntRange(1), default=2, help="Wordings of each question.")
@click.option(
    "--wordings",
    type=click.Choice(["wrong", "all"]),
    default="wrong",
    help="Other wordings: only of what was answered wrongly, or of all (the paper's).",
)
@click.option("--uniform", type=click.FloatRange(0, 1), default=0.2, help="Share drawn for the base's rate.")
@click.option("--start", type=click.Choice(["categories", "random"]), default="categories")
@click.option(
    "--retrieval",
    type=click.Choice(get_args(Retrieval)),
    default=None,
    help="Default: index where the base outgrows memory and has one (`richter kb index`), else two-level.",
)
@click.option("--seed", type=click.IntRange(0), default=0)
@click.option("--steps", type=click.IntRange(1), default=None, help="Stop after this many steps.")
@click.option("--max-tokens", type=click.IntRange(1), default=256, help="Of an answer, at first: see --most-tokens.")
@click.option("--generator", help="A model that writes questions where the base has none, and tasks; its calls count.")
@click.option("--judge", help="A model that may call a free-form answer right whose words are others; its calls count.")
@click.option(
    "--embedding",
    "embedding_path",
    type=click.Path(path_type=Path),
    help="For --strategy tasks: the folder of the model that made the base's vectors, unless that was WordLlama.",
)
@call_options("3000calls, 2Mtok or 5usd, over the whole run.", required=True, parallel=True, engine=True)
@json_option
def run_command(
    run: Place,
    model: str,
    base_path: Path,
    calls: Calls,
    style: str | None,
    temperature: float,
    no_prune: bool,
    retrieval: str | None,
    steps: int | None,
    max_tokens: int,
    generator: str | None,
    judge: str | None,
    embedding_path: Path | None,
    json_path: str | None,
    **settled: Any,
) -> None:
    """Search the base KB for errors of a model; everything goes into the folder RUN.

    \b
    Examples:
      richter search run run1 --kb facts.kb --model smollm2 --budget 300calls
      richter search run run1 --kb wiki.kb --model openai/gpt-4o-mini --budget 5usd
    """
    base = open_base(base_path)
    settled["gamma"] = None if no_prune else settled["gamma"]
    settings = ascent.SearchSettings.from_dict(settled | {"retrieval": retrieval or usual_retrieval(base)})
    writer, judge = (resolve(name).name if name else None for name in (generator, judge))
    style = style or ("cloze" if resolve(model).backend == "local" else "choice")
    decoding = Decoding(max_tokens=max_tokens)
    (condition,) = name_conditions([model], temperatures=[temperature], decoding=decoding, style=style)
    out = console(json_path)
    if calls.dry_run:
        budget = calls.budget
        plan = ascent.estimate_search(
            base, condition, settings, budget=budget, prices=calls.prices, generator=writer, judge=judge
        )
        out.print(str(plan), soft_wrap=True)
        calls.say_prices(out)
        write_json({"dry_run": plan.to_dict() | {"budget": str(budget)}}, json_path)
        return
    progress = progress_console()
    line = progress.status("asking")

    def watch(step: ascent.StepSummary) -> None:
        progress.print(f"step {_step_line(step)}", soft_wrap=True)

    def within(step: int, answered: int, asked: int) -> None:
        line.update(f"step {step}: {answered:,} of {asked:,} answers")

    with calls.opened(None) as asked, line:
        asked |= {"context_tokens": 4096 if generator or judge else 1024, "watch": watch, "progress": within}
        embedder = open_embedder(embedding_path) if embedding_path else None
        asked |= {"steps": steps, "generator": writer, "judge": judge, "embedder": embedder}
        summary = ascent.run_search(run, base, condition, settings, **asked)
    print_search(summary, json_path, table=False)
    out.print(f"Next: richter search show {quote(str(run))}", style="dim")
    write_json(summary, json_path)


@search.command("compare")
@click.argument("runs", nargs=-1, required=True, type=run_place)
@json_option
def compare(runs: tuple[Place, ...], json_path: str | None) -> None:
    """Compare searches: wrong questions per question asked, categories (and as if all were alike large) and cost.

    One run of each says nothing of chance: wordings of a question and neighbours of a paragraph fail together. Compare
    several seeds: with at least two searches of a strategy and two random ones the ratio has an interval.

    \b
    Examples:
      richter search compare first second
      richter search compare first second third --json -
    """
    found = [(path, ascent.read_search(path)) for path in runs]
    out, alike = console(json_path), len({(s.model, s.base["name"]) for _, s in found}) == 1
    if not alike:
        out.print("These runs differ in model or base as well as in strategy: the ratios compare both.")
    told, rows = [], []
    columns = "{name:24}|{r.strategy}|{r.answers:,}|{r.errors_found:,}|{rate:.3f}|{r.distinct_categories}|"
    for path, s in found:
        if not s.answers:
            raise InputError(f"{path} has no answers yet.", remedy="Run it first.")
        rate = s.errors_found / s.answers
        cost, effective = money(s.spent.money_usd, s.spent.unpriced), s.effective_categories or 0.0
        told.append(cells(columns + f"{effective:.1f}|{cost}", s, name=path.name, rate=rate))
        rows.append({"run": str(path), "errors_per_answer": rate, **s.to_dict()})
    out.print(grid("run|strategy|answers|wrong|per answer|categories|effective|cost", told))
    base = next((r for r in rows if r["strategy"] == "random"), None)
    if base is not None and len(rows) > 1 and base["errors_per_answer"]:
        for row in rows:
            if row is not base:
                row["ratio_to_random"] = row["errors_per_answer"] / base["errors_per_answer"]
                name = printable(row["run"].rpartition("/")[2], limit=24)
                out.print(f"{name} ({row['strategy']}) finds {row['ratio_to_random']:.2f} x the errors per answer.")
    ratios = _ratios(rows) if alike else {}
    for strategy, ratio in ratios.items():
        limits = f"{ratio.interval.low:.2f} to {ratio.interval.high:.2f}"
        out.print(
            f"Over {ratio.n} searches {strategy} finds {ratio.ratio:.2f} x the errors per answer of "
            f"{ratio.n_baseline} random ones (95%: {limits})."
        )
    for keys in dict.fromkeys(str(s.keys) for _, s in found if s.keys is not None):
        out.print(keys)
    write_json({"runs": rows, "ratios_to_random": ratios}, json_path)


def _ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, ascent.RateRatio]:
    """Each strategy against random, where there are at least two searches of both."""
    rates: dict[str, list[float]] = {}
    for row in rows:
        rates.setdefault(row["strategy"], []).append(row["errors_per_answer"])
    baseline = rates.pop("random", [])
    if len(baseline) < 2 or not any(baseline):
        return {}
    return {s: ascent.rate_ratio(values, baseline) for s, values in rates.items() if len(values) > 1 and any(values)}


def _step_line(step: ascent.StepSummary) -> str:
    cells = [f"{step.step}: {step.paragraphs} paragraphs"]
    if step.error is not None and step.cumulative_error is not None:
        cells.append(f"{step.error:.0%} wrong, {step.cumulative_error:.0%} so far")
    return ", ".join([*cells, f"{step.sources} sources, {step.pruned} pruned"])


for command in (show, export, pilot, retest, cross, explain):
    search.add_command(command)
