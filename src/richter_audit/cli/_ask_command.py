"""`richter ask`."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.cli._io import cells, grid, json_option, money, publish
from richter.errors import InputError, ModelError
from richter.records import Decoding, counted, printable
from richter.store import Place, open_ledger, run_place
from richter_audit.bench import read_items
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._progress import price
from richter_audit.stages import ask_run, estimate_run, name_conditions

EXAMPLES = """
\b
Examples:
  richter bench build facts --items 1000 -o facts.jsonl
  richter ask run1 --bench facts.jsonl --model smollm2 --limit 50 --max-tokens 32
  richter ask run1 --bench facts.jsonl --model smollm2 --style cloze --shots 0 --shots 2
  richter ask run1 --bench facts.jsonl --model openai/gpt-4o-mini --dry-run
  richter ask run1 --bench facts.jsonl --model openai/gpt-4o-mini --budget 5usd
  richter ask run1 --bench facts.jsonl --model http://localhost:8000/v1#my-model --temperature 0 --temperature 1
The same command again resumes: only what is missing is asked.
"""


@click.command(epilog=EXAMPLES)
@click.argument("run", type=run_place)
@click.option("--bench", required=True, type=click.Path(path_type=Path), help="Items: JSONL, CSV or Parquet.")
@click.option("--model", "models", required=True, multiple=True, help="A model; may be given several times.")
@click.option("--temperature", "temperatures", multiple=True, type=click.FloatRange(0, 2), help="Default 0 (greedy).")
@click.option("--system", "systems", multiple=True, help="A system prompt, or @FILE; several make several conditions.")
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze"]),
    help="chat: the question alone; choice: with its options, shuffled; cloze: complete a sentence by an option. "
    "Default: choice where items have options and no sentence, else chat.",
)
@click.option(
    "--shots",
    multiple=True,
    type=click.IntRange(0),
    help="cloze: solved examples before the sentence. Default: all of the item's; several make several conditions.",
)
@click.option("--max-tokens", type=click.IntRange(1), default=500, help="Of an answer, at first: see --most-tokens.")
@click.option("--top-p", type=click.FloatRange(0, 1), default=None)
@click.option("--seed", type=int, default=None, help="Sampling seed, sent to the model; draws get seeds of their own.")
@click.option("--logprobs", is_flag=True, help="Keep the log-probabilities of the answer's tokens.")
@click.option("--draws", type=click.IntRange(1), default=1, help="Answers per item and condition.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only the first N items.")
@call_options(parallel=True, engine=True, dry_run="Price it and ask nothing.")
@click.option("--context-tokens", type=click.IntRange(64), default=None, help="Local models: tokens per slot.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.1), default=120.0, help="Seconds.")
@json_option
def ask(
    run: Place,
    bench: Path,
    models: tuple[str, ...],
    temperatures: tuple[float, ...],
    systems: tuple[str, ...],
    style: str | None,
    shots: tuple[int, ...],
    max_tokens: int,
    top_p: float | None,
    seed: int | None,
    logprobs: bool,
    draws: int,
    limit: int | None,
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> None:
    """Ask models the items of a benchmark; answers go into the folder RUN as they arrive."""
    items = read_items(bench)[:limit]
    conditions = name_conditions(
        models,
        temperatures=temperatures or (0.0,),
        systems=[read_system(text) for text in systems] or [""],
        decoding=Decoding(max_tokens=max_tokens, top_p=top_p, seed=seed, logprobs=logprobs),
        style=style,
        shots=shots or (None,),
        items=items,
    )
    if calls.dry_run:
        rows = estimate_run(run, items, conditions, draws=draws, prices=calls.prices)
        out = publish({"dry_run": rows}, json_path, inputs=[bench])
        figures = "{r.condition}|{r.model}|{r.calls:,}|{r.already:,}|{r.tokens_in:,}|{r.tokens_out_most:,}|{cost}"
        told = (cells(figures, row, cost=price(row.money_usd_most)) for row in rows)
        out.print(grid("condition|model|calls|answered already|tokens in|tokens out, at most|at most", told))
        out.print(
            "An answer that is cut off is asked again (--most-tokens): that is not in here, and --budget holds it."
        )
        calls.say_prices(out)
        return
    with calls.opened() as asked:
        spent = ask_run(run, items, conditions, draws=draws, bench=str(bench), **asked, **options)
    given, failed = _outcome(run, [c.name for c in conditions])
    out = publish({"run": str(run), "spent": dataclasses.asdict(spent)}, json_path, inputs=[bench])
    out.print(
        f"{run}: {counted(given, 'answer')} to {counted(len(items), 'item')} "
        f"under {counted(len(conditions), 'condition')}; "
        f"{counted(spent.calls, 'call')}, {spent.tokens} tokens, {money(spent.money_usd, spent.unpriced)}."
    )
    for reason, count in failed.most_common(3):
        out.print(f"{count} not answered: {printable(reason, limit=400)}", soft_wrap=True)
    how = "--grader auto" if any(item.reference for item in items) else "--judges MODEL,MODEL"
    out.print(f"Next: richter judge {quote(str(run))} {how} && richter report {quote(str(run))}", soft_wrap=True)
    if failed and not given:
        raise ModelError("Nothing was answered.", remedy="See above, then run the same command again.")


def _outcome(run: Place, conditions: Sequence[str]) -> tuple[int, Counter[str]]:
    """How many answers there are, why calls were given up, and how many for each reason."""
    with open_ledger(run, checked=False) as ledger:
        given = sum(len(ledger.answered_draws(name)) for name in conditions)
        if not any(failed for _, failed in ledger.counts().values()):
            return given, Counter()
        return given, Counter(a.error for name in conditions for a in ledger.answers(name) if a.error)


def read_system(text: str) -> str:
    """A system prompt as given, or the file that @FILE names."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--system {text}: the file cannot be read ({error}).", remedy="Check the path.") from error
