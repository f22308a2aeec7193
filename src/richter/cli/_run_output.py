"""What `richter view --list` prints: the runs of a folder, what one of them holds, and what may have been billed."""

import dataclasses
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from richter.cli._io import cells, console, grid, money, publish, write_json
from richter.errors import RichterError
from richter.records import Condition, Item, counted, printable
from richter.store import Ledger, Spent, Unsettled, find_runs, is_run, open_ledger, settle_run, unsettled_run

SHOWN = 5  # answers of a condition, and failed calls


def list_runs(places: Sequence[Path], json_path: str | None) -> None:
    """List the runs of folders, or show what is in the only one."""
    if len(places) == 1 and not _holds_runs(places[0]):
        _show_run(places[0], json_path)
    else:
        found = [run for place in places for run in (find_runs(place) if _holds_runs(place) else [place])]
        _print_rows(found, json_path)


def _holds_runs(place: Path) -> bool:
    """Whether a place is a folder of runs."""
    return place.is_dir() and not is_run(place)


def _print_rows(places: Sequence[Path], json_path: str | None) -> None:
    """Print and write a row for each run."""
    rows: list[dict[str, Any]] = []
    told = []
    for place in places:
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
    out.print(table if rows else "There is no run here. Make one with `richter audit` or `richter import`.")


@dataclasses.dataclass(slots=True, kw_only=True)
class _Contents:
    """What a ledger holds: answers by condition as rows of JSON, counts, ratings, notes."""

    items: dict[str, Item]
    conditions: list[Condition]
    spent: Spent
    unsettled: Unsettled
    suspects: dict[str, Any] | None
    notes: list[str]
    raters: Counter[tuple[str, str]]
    answers: dict[str, list[dict[str, object]]]
    counts: dict[str, dict[str, int]]
    failed: list[dict[str, object]] = dataclasses.field(default_factory=list)


def _read_contents(place: Path, ledger: Ledger) -> _Contents:
    """What a ledger holds, with some answers of every condition."""
    conditions = ledger.conditions()
    contents = _Contents(
        items={item.id: item for item in ledger.items()},
        conditions=conditions,
        spent=ledger.spent(),
        unsettled=unsettled_run(place),
        suspects=ledger.note("suspects"),
        notes=[*filter(None, [ledger.describe_lost_end()]), *(ledger.note("servers") or {}).get("said", [])],
        raters=Counter((r.kind, r.rater) for r in ledger.ratings()),
        answers={c.name: [] for c in conditions},
        counts={c.name: {"answers": 0, "truncated": 0, "failed": 0} for c in conditions},
    )
    for answer in ledger.answers():
        own, counts = contents.answers[answer.condition], contents.counts[answer.condition]
        counts["truncated"] += answer.truncated
        row = {"item": answer.item, "draw": answer.draw, "answer": answer.text, "error": answer.error}
        if answer.error:
            counts["failed"] += 1
            contents.failed.append({"condition": answer.condition, **row})
            continue
        counts["answers"] += 1
        if len(own) < SHOWN:
            own.append({**row, "reference": contents.items[answer.item].reference})
    return contents


def _show_run(place: Path, json_path: str | None) -> None:
    """Print and write what a run holds: conditions, counts, cost, and some answers."""
    with open_ledger(place) as ledger:
        found = _read_contents(place, ledger)
    out, spent = console(json_path), found.spent
    out.print(
        f"{place}: {counted(len(found.items), 'item')}, {counted(spent.calls, 'call')}, {spent.tokens} tokens, "
        f"{money(spent.money_usd, spent.unpriced)}"
    )
    _print_doubts(out, found)
    rows = (
        cells("{r.name}|{r.model}|{answers}|{truncated}|{failed}", c, **found.counts[c.name]) for c in found.conditions
    )
    out.print(grid("condition|model|answers|cut off|failed", rows))
    for (kind, rater), count in sorted(found.raters.items()):
        out.print(f"{counted(count, 'rating')} by {printable(rater)} ({kind})")
    for name, answers in found.answers.items():
        _print_answers(out, name, answers, found.items)
    for row in found.failed[:SHOWN]:
        out.print(f"failed: {printable(str(row['condition']))} / {row['item']}: {printable(str(row['error']))}")
    document = {
        "items": len(found.items),
        "conditions": {c.name: {**c.to_dict(), **found.counts[c.name]} for c in found.conditions},
        "ratings": [{"rater": r, "kind": k, "n": n} for (k, r), n in sorted(found.raters.items())],
        "spent": {name: getattr(spent, name) for name in ("calls", "tokens", "money_usd", "unpriced")},
        "unsettled": found.unsettled,
        "suspects": found.suspects,
        "notes": found.notes,
        "answers": found.answers,
        "failed": found.failed,
    }
    write_json(document, json_path)


def _print_doubts(out: Console, found: _Contents) -> None:
    """Answers that may be those of other questions, notes of servers, and calls that may have been billed."""
    if found.suspects:
        since, until = (
            time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.suspects[k])) for k in ("since", "until")
        )
        model = printable(str(found.suspects["model"]))
        out.print(f"SUSPECT: answers of {model} from {since} to {until} may be those of other questions", style="bold")
    for text in found.notes:
        out.print(f"note: {printable(str(text))}", markup=False)
    unsettled = found.unsettled
    if unsettled.cut_off or unsettled.failed:
        most = f" up to ${unsettled.money_usd:.4f}" if unsettled.money_usd else ""
        out.print(
            f"{counted(unsettled.cut_off, 'call')} never settled and {unsettled.failed} failed may have been billed"
            f"{most}: settle them with `richter export RUN --billed`"
        )


def _print_answers(out: Console, name: str, answers: list[dict[str, object]], items: Mapping[str, Item]) -> None:
    """Some answers of a condition, with their questions and references."""
    with_text = [row for row in answers if row["answer"] or items[str(row["item"])].prompt]
    if with_text:
        out.print(f"\n{printable(name)}")
    elif answers:
        out.print(f"{printable(name)}: grades alone, no text of an answer")
    for row in with_text:
        item = items[str(row["item"])]
        out.print(f"  {printable(item.prompt, limit=100)}")
        out.print(f"    reference: {printable(item.reference, limit=100)}", style="dim")
        out.print(f"    answer:    {printable(str(row['answer']), limit=200)}")


def settle(place: Path, billed: float) -> None:
    """Settle calls without an answer in a run and its parts at what was billed for them, and print it."""
    found = settle_run(place, billed_usd=billed)
    out = console()
    if not found.cut_off and not found.failed:
        out.print(f"{place}: there is no call to settle. Every call has its answer or is settled already.")
        return
    out.print(
        f"{place}: {counted(found.cut_off, 'call')} cut off and {found.failed} failed are settled at ${billed:.4f} "
        f"together, and no longer count as ${found.money_usd:.4f} and {found.tokens} tokens. They still count as calls."
    )
