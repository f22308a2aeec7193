"""`richter search retest|cross`: ask again what was answered wrongly, another way or of another model."""

from pathlib import Path
from typing import Literal

import click
import numpy as np
from rich.table import Table

from richter.ascent import cross_matrix, prepare_retest, read_answers, read_failures, score_retest
from richter.audit import ask_run
from richter.cli._output import console, json_option, write_json
from richter.cli._progress import asking, downloading
from richter.errors import InputError
from richter.knowledge import open_base
from richter.llm import parse_budget, read_prices
from richter.records import printable

__all__ = ["cross", "retest"]


@click.command("retest")
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


@click.command("cross")
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
