"""`richter audit --only ask`."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from richter.cli._io import cells, grid, money, publish
from richter.errors import InputError, ModelError
from richter.records import Decoding, counted, printable
from richter.store import open_ledger
from richter_audit.bench import read_items
from richter_audit.cli._calls import Calls
from richter_audit.cli._progress import price
from richter_audit.stages import ask_run, estimate_run, name_conditions


def ask(
    run: Path,
    bench: Path,
    models: tuple[str, ...],
    temperatures: tuple[float, ...],
    systems: tuple[str, ...],
    style: str | None,
    max_tokens: int,
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
        decoding=Decoding(max_tokens=max_tokens, seed=seed, logprobs=logprobs),
        style=style,
        items=items,
    )
    if calls.dry_run:
        rows = estimate_run(run, items, conditions, draws=draws, prices=calls.prices)
        out = publish({"dry_run": rows}, json_path, inputs=[bench])
        figures = "{r.condition}|{r.model}|{r.calls:,}|{r.already:,}|{r.tokens_in:,}|{r.tokens_out_most:,}|{cost}"
        told = (cells(figures, row, cost=price(row.money_usd_most)) for row in rows)
        out.print(grid("condition|model|calls|answered already|tokens in|tokens out, at most|at most", told))
        out.print(
            "An answer that is cut off is asked again with more tokens: that is not in here, and --budget holds it."
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
    out.print(
        f"Next: richter audit --only judge {quote(str(run))} {how} && richter report {quote(str(run))}", soft_wrap=True
    )
    if failed and not given:
        raise ModelError("Nothing was answered.", remedy="See above, then run the same command again.")


def _outcome(run: Path, conditions: Sequence[str]) -> tuple[int, Counter[str]]:
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
