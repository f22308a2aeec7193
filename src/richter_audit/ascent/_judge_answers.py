"""A judge for free-form answers: what the words of a reference do not match, a model may still call right."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from richter.errors import InputError
from richter.models import model_identity
from richter.records import Answer, Condition, Grade, Item
from richter.store import Ledger, RunLike, open_ledger
from richter.texts import remove_thoughts
from richter_audit.ascent._outcome import grade
from richter_audit.judge import judge_grades
from richter_audit.llm import Asker, CallOptions, Model, at_once, check_models, with_models

__all__ = ["judge_answers"]

AT_ONCE = 32
Judged = dict[tuple[str, int], bool]  # an answer's item and draw -> whether the judge called it right


def check_judge(judge: str, condition: Condition) -> None:
    """Refuse a judge that has nothing to do, or that would judge itself."""
    if condition.style == "cloze":
        raise InputError("A cloze is an option or it is not: it needs no judge.", remedy="Leave --judge out.")
    if model_identity(judge) == model_identity(condition.model):
        raise InputError(f"{judge} would judge its own answers.", remedy="Name another model with --judge.")


def read_judged(ledger: Ledger, condition: str) -> Judged:
    """The verdicts of judges on a condition's answers."""
    return {
        (g.item, g.draw): g.correct
        for g in ledger.grades()
        if g.condition == condition and g.scorer.startswith("judge ") and g.correct is not None
    }


async def judge_wrong(
    asker: Asker, judge: Model, items: Iterable[Item], given: Iterable[Answer], condition: Condition, judged: Judged
) -> None:
    """Ask a judge about each answer that is wrong by its words and has no verdict yet; verdicts go into the ledger.

    Only free-form answers: an option is chosen or not. What the judge gives no usable reply to stays wrong. Its replies
    are in the ledger, so that doing the same again pays for nothing twice.
    """
    known = {item.id: item for item in items}
    open_to = [
        answer
        for answer in given
        if (item := known.get(answer.item)) is not None
        and (answer.item, answer.draw) not in judged
        and not (answer.error or (condition.style == "choice" and item.options))
        and grade(item, answer, condition.style) == "wrong"
    ]
    queue, ratings = iter(open_to), []

    async def work() -> None:
        for answer in queue:
            item = known[answer.item]
            names = [item.reference, *item.aliases]
            (right,) = await judge_grades(asker, judge, item.prompt, names, [remove_thoughts(answer.text).text], [0])
            if right is not None:
                ratings.append((answer, bool(right)))

    try:
        if open_to:
            await at_once(work, min(AT_ONCE, len(open_to)))
    finally:
        judged.update({(answer.item, answer.draw): right for answer, right in ratings})
        asker.ledger.add_grades(
            Grade(
                item=answer.item,
                condition=condition.name,
                draw=answer.draw,
                scorer=f"judge {judge.name}",
                value=float(right),
                correct=right,
                main=False,
            )
            for answer, right in ratings
        )


def judge_answers(
    run: RunLike, items: Sequence[Item], condition: Condition, judge: str, **calls: Unpack[CallOptions]
) -> None:
    """Let a judge look at what a run answered wrongly by its words, into the run."""
    check_judge(judge, condition)
    check_models([judge], calls)
    with open_ledger(run, mode="write") as ledger:
        answers = list(ledger.answers(condition.name))

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            await judge_wrong(asker, opened[judge], items, answers, condition, read_judged(ledger, condition.name))

        with_models(ledger, [judge], work, {**calls, "context_tokens": 4096})
