"""`richter audit --only draw`: repeated answers for calibration."""

from pathlib import Path
from shlex import quote
from typing import Any

from richter.cli._io import money, publish
from richter.records import Decoding, counted, printable
from richter.texts import CONFIDENCE_REQUEST
from richter_audit.bench import read_items
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price_at_most
from richter_audit.stages import draw_run, estimate_run, name_conditions, usual_style

JUDGE_CALLS = 3  # a question's answers are grouped, at most once again, and graded


def draw(
    run: Path,
    bench: Path,
    models: tuple[str, ...],
    draws: int,
    temperatures: tuple[float, ...],
    max_tokens: int,
    seed: int,
    style: str | None,
    judge: str | None,
    limit: int | None,
    calls: Calls,
    json_path: str | None,
    **options: Any,
) -> None:
    """Draw repeated answers to each item, group those that say the same, and write RUN/draws.jsonl."""
    items = read_items(bench)[:limit]
    style = style or usual_style(items)
    asks_confidence = style != "cloze"  # a cloze has no room for it
    conditions = name_conditions(
        models,
        temperatures=temperatures,
        systems=[CONFIDENCE_REQUEST if asks_confidence else ""],
        decoding=Decoding(max_tokens=max_tokens, seed=seed, logprobs=True),
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
