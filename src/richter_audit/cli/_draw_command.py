"""`richter draw`: repeated answers for calibration."""

from pathlib import Path
from shlex import quote
from typing import Any

import click

from richter.cli._io import json_option, money, publish
from richter.records import Decoding, counted, printable
from richter.store import Place, run_place
from richter.texts import CONFIDENCE_REQUEST
from richter_audit.bench import read_items
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._progress import price_at_most
from richter_audit.stages import draw_run, estimate_run, name_conditions, usual_style

JUDGE_CALLS = 3  # a question's answers are grouped, at most once again, and graded

EXAMPLES = """
\b
Examples:
  richter draw run1 --model smollm2 --bench facts.jsonl --draws 20 --limit 60 --style cloze
  richter draw run1 --model openai/gpt-4o-mini --bench facts.jsonl --draws 50 --dry-run
  richter draw run1 --model openai/gpt-4o-mini --bench facts.jsonl --draws 50 --budget 5usd
  richter draw run1 --model smollm2 --bench facts.jsonl --judge openai/gpt-4o-mini
  richter draw run1 --model smollm2 --bench facts.jsonl --draws 50 --adaptive
Then: richter calibration run1/draws.jsonl. The same command again resumes: only what is missing is asked.
"""


@click.command(epilog=EXAMPLES)
@click.argument("run", type=run_place)
@click.option("--bench", required=True, type=click.Path(path_type=Path), help="Items: JSONL, CSV or Parquet.")
@click.option("--model", "models", required=True, multiple=True, help="A model; may be given several times.")
@click.option("--draws", type=click.IntRange(1), default=50, help="Answers per item and model.")
@click.option("--temperature", type=click.FloatRange(0, 2, min_open=True), default=1.0, help="Above 0.")
@click.option("--max-tokens", type=click.IntRange(1), default=200, help="Of an answer, at first: see --most-tokens.")
@click.option("--top-p", type=click.FloatRange(0, 1), default=None)
@click.option("--seed", type=int, default=0, help="Sampling seed; draws get seeds of their own.")
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze"]),
    help="choice: with the options listed; cloze: complete a sentence by one. Default as in `richter ask`.",
)
@click.option("--plain", is_flag=True, help="Ask the question alone, without asking for a confidence.")
@click.option("--no-logprobs", is_flag=True, help="Do not ask for token log-probabilities.")
@click.option("--judge", help="A model that groups the answers by meaning. Without it: offline, by rules and vectors.")
@click.option("--adaptive", is_flag=True, help="Draw no more where the most likely answer is already settled.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only the first N items.")
@call_options(parallel=True, engine=True, dry_run="Price it and ask nothing.")
@json_option
def draw(
    run: Place,
    bench: Path,
    models: tuple[str, ...],
    draws: int,
    temperature: float,
    max_tokens: int,
    top_p: float | None,
    seed: int,
    style: str | None,
    plain: bool,
    no_logprobs: bool,
    judge: str | None,
    limit: int | None,
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> None:
    """Draw repeated answers to each item, group those that say the same, and write RUN/draws.jsonl."""
    items = read_items(bench)[:limit]
    style = style or usual_style(items)
    asks_confidence = not plain and style != "cloze"  # a cloze has no room for it
    conditions = name_conditions(
        models,
        temperatures=[temperature],
        systems=[CONFIDENCE_REQUEST if asks_confidence else ""],
        decoding=Decoding(max_tokens=max_tokens, top_p=top_p, seed=seed, logprobs=not no_logprobs),
        style=style,
    )
    if calls.dry_run:
        rows = estimate_run(run, items, conditions, draws=draws, prices=calls.prices)
        out = publish({"dry_run": rows}, json_path, inputs=[bench])
        for row in rows:
            tokens = f"{row.tokens_in:,} tokens in, at most {row.tokens_out_most:,} out"
            there = f"{printable(row.condition)}: {counted(row.calls, 'call')} missing, {row.already:,} there"
            out.print(f"{there}; about {tokens}, {price_at_most(row.money_usd_most)}.")
        if judge is not None:
            most = JUDGE_CALLS * len(items) * len(conditions)
            out.print(f"The judge {printable(judge)} comes on top: at most {counted(most, 'call')}.")
        calls.say_prices(out)
        return
    with calls.opened("drawing") as asked:
        asked |= {"judge": judge, "classes": "offline" if judge is None else "judge", "bench": str(bench)}
        result = draw_run(run, items, conditions, draws=draws, **asked, **options)
    out, spent = publish(result, json_path, inputs=[bench]), result.spent
    out.print(
        f"{result.path}: {counted(result.answers, 'answer')} to {counted(len(items), 'item')} "
        f"under {counted(len(conditions), 'condition')}; "
        f"{counted(spent.calls, 'call')}, {spent.tokens:,} tokens, {money(spent.money_usd, spent.unpriced)}."
    )
    if result.failed:
        out.print(
            f"{counted(result.failed, 'call')} failed and are not in the table; the same command asks them again."
        )
    if asks_confidence:
        for name, rate in result.parse_rate.items():
            out.print(f"{printable(name)} states a confidence in {rate:.0%} of its answers.")
    if result.repaired:
        out.print(f"The judge's groups were no partition for {counted(result.repaired, 'question')} and were repaired.")
    out.print(f"Next: richter calibration {quote(str(result.path))}", style="dim")
