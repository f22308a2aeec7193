"""`richter audit --only draw`: repeated answers with stated confidence, grouped into classes, as a draws table."""

import asyncio
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

import polars as pl

from richter.audit._results import DRAWS_NAME
from richter.calibration import mode_is_certain
from richter.errors import InputError
from richter.records import Answer, Condition, Item, Result
from richter.store import Ledger, RunLike, Spent, open_ledger, write_file
from richter.texts import (
    cluster_questions,
    matches_reference,
    read_choice,
    remove_thoughts,
    split_confidence,
    token_probability,
)
from richter_audit.judge import Partition, judge_classes, judge_grades
from richter_audit.llm import BATCH_CONCURRENCY, Asker, Budget, CallOptions, Model, check_models, with_models
from richter_audit.stages._ask_stage import AskProgress, ask_run

__all__ = ["DRAWS_NAME", "DrawsResult", "draw_run", "tabulate_draws"]

FIRST_ROUND, LATER_ROUNDS = 8, 6  # eight draws that agree settle a question at 5%
Key = tuple[str, str]  # condition, item


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawsResult(Result):
    """What was drawn: where the table is, how many answers it holds, and how well they could be read.

    `parse_rate` is the share of answers that state a confidence, by condition. `repaired` counts the questions whose
    judged classes were no partition and had to be made one (None: no judge was asked).
    """

    path: str
    answers: int
    failed: int
    parse_rate: dict[str, float]
    classes: str
    repaired: int | None
    spent: Spent


def draw_run(
    run: RunLike,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    *,
    draws: int,
    classes: Literal["offline", "judge"] = "offline",
    judge: str | None = None,
    adaptive: bool = False,
    bench: str = "",
    watch: Callable[[AskProgress], None] | None = None,
    **calls: Unpack[CallOptions],
) -> DrawsResult:
    """Draw, group and grade: `draws` answers per item and condition through the ledger, then the table.

    With `adaptive`, questions whose most likely answer is already settled (`mode_is_certain`, on classes formed
    offline) get no more draws. Resuming is doing the same again; only missing answers are paid for, and the judge's
    replies are in the ledger too. The budget covers both.
    """
    for condition in conditions:
        if condition.decoding.temperature == 0 and draws > 1:
            raise InputError(
                f"{condition.name} has temperature 0: {draws} draws would be one answer, {draws} times.",
                remedy="Draw at the temperature the model is deployed with, above 0.",
            )
    if classes == "judge" and judge is None:
        raise InputError("Classes by a judge need a judge model.", remedy="Name one with --judge, or use offline.")
    calls["budget"] = calls.get("budget") or Budget()
    check_models([] if judge is None else [judge], calls)  # what would fail after the draws are paid for

    def ask(those: Sequence[Item], under: Sequence[Condition], up_to: int) -> None:
        ask_run(run, those, under, draws=up_to, bench=bench, watch=watch, **calls)

    if adaptive:
        _draw_adaptively(run, items, conditions, draws, ask)
    else:
        ask(items, conditions, draws)
    return tabulate_draws(run, [i.id for i in items], [c.name for c in conditions], draws, judge=judge, **calls)


def _draw_adaptively(
    run: RunLike,
    items: Sequence[Item],
    conditions: Sequence[Condition],
    draws: int,
    ask: Callable[[Sequence[Item], Sequence[Condition], int], None],
) -> None:
    """In rounds: ask, group, and go on with the questions that are not settled."""
    left = {c.name: list(items) for c in conditions}
    for size in [*range(FIRST_ROUND, draws, LATER_ROUNDS), draws]:
        for condition in conditions:
            if left[condition.name]:
                ask(left[condition.name], [condition], size)
                left[condition.name] = _undecided_items(run, left[condition.name], condition, size, draws)


def _undecided_items(run: RunLike, items: Sequence[Item], condition: Condition, size: int, draws: int) -> list[Item]:
    """The items whose most likely answer of all draws is not certain after the first ones."""
    texts: dict[str, list[str]] = defaultdict(list)
    with open_ledger(run) as ledger:
        of = {item.id: item for item in ledger.items()}
        for answer in ledger.answers(condition.name):
            if not answer.error and answer.draw < size:
                texts[answer.item].append(_read_text(of[answer.item], answer.text, chooses=condition.style == "choice"))
    there = [item for item in items if item.id in texts]
    classes = cluster_questions([texts[i.id] for i in there], [i.prompt for i in there], [_names(i) for i in there])
    settled = {
        item.id
        for item, own in zip(there, classes, strict=True)
        if mode_is_certain(list(Counter(own).values()), left=draws - len(own))
    }
    return [item for item in items if item.id not in settled]


def tabulate_draws(
    run: RunLike,
    items: Sequence[str],
    conditions: Sequence[str],
    draws: int,
    *,
    judge: str | None = None,
    **calls: Unpack[CallOptions],
) -> DrawsResult:
    """Write the answers of a run as a draws table: confidence parsed, classes formed, answers graded.

    Without a judge, offline classes and a rule's grade per answer; with one, its classes and its grade per class.
    """
    wanted = set(items)
    with open_ledger(run, mode="write") as ledger:
        known = {i.id: i for i in ledger.items() if i.id in wanted}
        answers = [a for a in ledger.answers() if a.item in known and a.condition in conditions and a.draw < draws]
        given = [a for a in answers if not a.error]
        if not given:
            raise InputError(
                f"{ledger.name} holds no answers to these items.",
                remedy="Run `richter audit --only draw` or `richter audit --only ask`.",
            )
        groups: dict[Key, list[Answer]] = defaultdict(list)
        for answer in given:
            groups[answer.condition, answer.item].append(answer)
        chooses = {c.name for c in ledger.conditions() if c.style == "choice"}
        texts = {
            key: [_read_text(known[key[1]], a.text, chooses=key[0] in chooses) for a in group]
            for key, group in groups.items()
        }
        graded = _group_offline(known, texts) if judge is None else _group_by_judge(ledger, judge, known, texts, calls)
        spent = ledger.spent()
    how = "offline" if judge is None else f"judge {judge}"
    rows = [
        _row(known[key[1]], answer, text, cluster, grade, how)
        for key, group in groups.items()
        for answer, text, cluster, grade in zip(group, texts[key], graded[key][0].classes, graded[key][1], strict=True)
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    path = write_file(
        Path(run) / DRAWS_NAME, frame.write_ndjson().encode(), into_new=True, remedy="Choose another folder."
    )
    stated = frame.group_by("condition", maintain_order=True).agg(pl.col("confidence").is_not_null().mean())
    return DrawsResult(
        path=str(path),
        answers=len(given),
        failed=len(answers) - len(given),
        parse_rate=dict(stated.iter_rows()),
        classes=how,
        repaired=None if judge is None else sum(part.repaired for part, _ in graded.values()),
        spent=spent,
    )


Graded = dict[Key, tuple[Partition, list[int | None]]]  # the classes of a question's answers, and their grades


def _group_offline(known: Mapping[str, Item], texts: Mapping[Key, list[str]]) -> Graded:
    """Groups by the words of answers, and grades by the reference; ungraded where there is none."""
    items = [known[item] for _, item in texts]
    classes = cluster_questions(list(texts.values()), [i.prompt for i in items], [_names(i) for i in items])
    parts = [Partition(classes=tuple(own), attempts=0, repaired=False) for own in classes]
    grades = [
        [int(matches_reference(text, _names(item))) if item.reference else None for text in own]
        for item, own in zip(items, texts.values(), strict=True)
    ]
    return dict(zip(texts, zip(parts, grades, strict=True), strict=True))


def _read_text(item: Item, text: str, *, chooses: bool) -> str:
    """What an answer says without its thoughts and its stated confidence; the option where it chooses one by letter."""
    answer = split_confidence(remove_thoughts(text).text)[0]
    return (read_choice(item, answer) if chooses else None) or answer


def _names(item: Item) -> list[str]:
    return [item.reference, *item.aliases]


def _row(item: Item, answer: Answer, text: str, cluster: int, grade: int | None, how: str) -> dict[str, Any]:
    confidence = split_confidence(answer.text)[1]
    return {
        "item": item.id,
        "condition": answer.condition,
        "draw": answer.draw,
        "question": item.prompt,
        "answer": text,
        "cluster": cluster,
        "clustered_by": how,
        "correct": grade,
        "confidence": confidence,
        "token_probability": token_probability(answer.text, answer.tokens, answer.logprobs),
        "reference": "|".join(_names(item)),
        "money_usd": answer.money_usd,
    }


def _group_by_judge(
    ledger: Ledger, judge: str, known: Mapping[str, Item], texts: Mapping[Key, list[str]], calls: CallOptions
) -> Graded:
    """Groups by the judge, and its grade of each; ungraded where the item has no reference."""
    limit = asyncio.Semaphore(BATCH_CONCURRENCY if calls.get("batch") else 32)

    async def work(asker: Asker, opened: Mapping[str, Model]) -> Graded:
        async def one(key: Key) -> tuple[Key, tuple[Partition, list[int | None]]]:
            item, answers = known[key[1]], texts[key]
            async with limit:
                part = await judge_classes(asker, opened[judge], item.prompt, answers)
                if not item.reference:
                    return key, (part, [None] * len(answers))
                names = _names(item)
                return key, (part, await judge_grades(asker, opened[judge], item.prompt, names, answers, part.classes))

        return dict(await asyncio.gather(*(one(key) for key in texts)))

    return with_models(ledger, [judge], work, {**calls, "context_tokens": 4096})
