"""`richter run list|show|settle`."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from richter.cli._io import Group, cells, console, grid, json_option, money, publish, write_json
from richter.errors import InputError, RichterError
from richter.records import counted, printable
from richter.store import Place, find_runs, open_ledger, run_place, settle_run, unsettled_run


@click.group(cls=Group)
def run() -> None:
    """Read runs back, and settle what may have been billed without an answer.

    \b
    Examples:
      richter run list
      richter run show run1 --errors
      richter run settle run1 --billed 0.12
    """


@run.command("list")
@click.argument("folder", type=run_place, default=".")
@json_option
def list_runs(folder: Place, json_path: str | None) -> None:
    """List the runs in FOLDER (default: here), or in a database (postgresql://host/database).

    \b
    Examples:
      richter run list
      richter run list runs/
    """
    if isinstance(folder, Path) and not folder.is_dir():
        raise InputError(f"{folder} is not a folder.", remedy="Name a folder that holds runs.")
    rows: list[dict[str, Any]] = []
    told = []
    for place in find_runs(folder):
        row: dict[str, Any] = {"run": place.name}
        try:
            with open_ledger(place) as ledger:
                spent, names = ledger.spent(), [c.name for c in ledger.conditions()]
                row |= {"items": len(ledger.items()), "conditions": names, "answers": spent.answers}
                row |= {"calls": spent.calls, "money_usd": spent.money_usd}
            told.append(cells("{run}|{items}|{names:60}|{answers}|{calls}", **row, names=", ".join(names)))
        except RichterError as error:
            row["error"] = str(error)
            told.append(cells("{run}||{error}||", **row))
        rows.append(row)
    out = publish({"runs": rows}, json_path)
    table = grid("run|items|conditions|answers|calls", told)
    out.print(table if rows else f"No runs in {folder}. Make one with `richter ask`.")


@run.command("show")
@click.argument("place", metavar="RUN", type=run_place)
@click.option("--item", "item_id", help="Every answer to one item.")
@click.option("--errors", is_flag=True, help="The calls that failed, with the reason.")
@click.option("--head", type=click.IntRange(0), default=5, help="Answers shown per condition.")
@json_option
def show_run(place: Place, item_id: str | None, errors: bool, head: int, json_path: str | None) -> None:
    """Show what a run holds: conditions, counts, cost, and some answers.

    \b
    Examples:
      richter run show run1
      richter run show run1 --errors
    """
    out = console(json_path)
    with open_ledger(place) as ledger:
        items = {item.id: item for item in ledger.items()}
        conditions = ledger.conditions()
        if item_id is not None and item_id not in items:
            raise InputError(f"{place} has no item {item_id!r}.", remedy="`richter export` lists the items.")
        spent = ledger.spent()
        unsettled = ledger.unsettled()
        counts: Counter[tuple[str, bool]] = Counter()
        cut_off: Counter[str] = Counter()  # at the most tokens allowed
        shown: dict[str, list[dict[str, object]]] = {c.name: [] for c in conditions}
        failed: list[dict[str, object]] = []
        for answer in ledger.answers():
            counts[answer.condition, bool(answer.error)] += 1
            cut_off[answer.condition] += answer.truncated
            row = {"item": answer.item, "draw": answer.draw, "answer": answer.text, "error": answer.error}
            if answer.error:
                failed.append({"condition": answer.condition, **row})
            elif answer.item == item_id or (item_id is None and len(shown[answer.condition]) < head):
                shown[answer.condition].append({**row, "reference": items[answer.item].reference})
        suspects = ledger.note("suspects")
        said = (ledger.note("servers") or {}).get("said", [])
        raters = Counter((r.kind, r.rater) for r in ledger.ratings())
    of = {c.name: {"answers": counts[c.name, False], "truncated": cut_off[c.name], "failed": counts[c.name, True]}
          for c in conditions}  # fmt: skip
    out.print(
        f"{place}: {counted(len(items), 'item')}, {counted(spent.calls, 'call')}, {spent.tokens} tokens, "
        f"{money(spent.money_usd, spent.unpriced)}"
    )
    if suspects:
        since, until = (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(suspects[k])) for k in ("since", "until"))
        model = printable(str(suspects["model"]))
        out.print(f"SUSPECT: answers of {model} from {since} to {until} may be those of other questions", style="bold")
    for text in said:
        out.print(f"note: {printable(str(text))}", markup=False)
    if unsettled.cut_off or unsettled.failed:
        most = f" up to ${unsettled.money_usd:.4f}" if unsettled.money_usd else ""
        out.print(
            f"{counted(unsettled.cut_off, 'call')} never settled and {unsettled.failed} "
            f"failed may have been billed{most}: "
            "see `richter run settle`"
        )
    told = (cells("{r.name}|{r.model}|{answers}|{truncated}|{failed}", c, **of[c.name]) for c in conditions)
    out.print(grid("condition|model|answers|cut off|failed", told))
    for (kind, rater), count in sorted(raters.items()):
        out.print(f"{counted(count, 'rating')} by {printable(rater)} ({kind})")
    for name, rows in shown.items():
        told_of = [row for row in rows if row["answer"] or items[str(row["item"])].prompt]
        if told_of:
            out.print(f"\n{printable(name)}")
        elif rows:
            out.print(f"{printable(name)}: grades alone, no text of an answer")
        for row in told_of:
            item = items[str(row["item"])]
            out.print(f"  {printable(item.prompt, limit=100)}")
            out.print(f"    reference: {printable(item.reference, limit=100)}", style="dim")
            out.print(f"    answer:    {printable(str(row['answer']), limit=200)}")
    if errors:
        for row in failed:
            out.print(f"failed: {printable(str(row['condition']))} / {row['item']}: {printable(str(row['error']))}")
    write_json(
        {
            "items": len(items),
            "conditions": {c.name: {**c.to_dict(), **of[c.name]} for c in conditions},
            "ratings": [{"rater": r, "kind": k, "n": n} for (k, r), n in sorted(raters.items())],
            "spent": {name: getattr(spent, name) for name in ("calls", "tokens", "money_usd", "unpriced")},
            "unsettled": unsettled,
            "suspects": suspects,
            "notes": said,
            "answers": shown,
            "failed": failed,
        },
        json_path,
    )


@run.command("settle")
@click.argument("place", metavar="RUN", type=run_place)
@click.option(
    "--billed", type=click.FloatRange(0), help="What the provider's bill says these attempts cost, in dollars."
)
@json_option
def settle(place: Place, billed: float | None, json_path: str | None) -> None:
    """Settle attempts without an answer, which count against the budget at the most they can have cost.

    A call that was cut off or failed after it was sent may have been billed. Without --billed this shows what is open
    in RUN and its parts; with it, all of that counts as this much from now on.

    \b
    Examples:
      richter run settle run1
      richter run settle run1 --billed 1.25
    """
    if billed is None:
        found = unsettled_run(place)
        told = "count against the budget as"
    else:
        found = settle_run(place, billed_usd=billed)
        told = f"are settled at ${billed:.4f} together, and no longer count as"
    out = publish({"run": str(place), "settled": billed is not None, "unsettled": found}, json_path)
    out.print(
        f"{place}: {counted(found.cut_off, 'call')} cut off and {found.failed} "
        f"failed {told} ${found.money_usd:.4f} and "
        f"{found.tokens} tokens. They stay counted as calls."
    )
