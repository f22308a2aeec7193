"""From a paragraph to its items, and from their answers to its error."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence

from richter.ascent._settings import SearchSettings
from richter.bench import is_refusal, matches_reference, word
from richter.records import Answer, Condition, Item, Paragraph

__all__ = ["Outcome", "is_wrong", "outcomes", "paragraph_items"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a paragraph.

    `error` is T of eq. (2) for the paragraph alone: the mean over its questions of the share of their wordings that
    were answered wrongly, so that a question whose rephrasings get different verdicts counts by its average. It is
    None while an item is still to be asked (`missing`), and where every call failed. A refusal is a wrong answer.
    """

    category: str
    error: float | None
    questions: int  # with at least one answer
    answered: int
    wrong: int
    refused: int
    failed: int
    missing: int


def paragraph_items(row: int, paragraph: Paragraph, settings: SearchSettings) -> list[Item]:
    """The items that a search asks about a paragraph; their ids are row, question and wording, with dots."""
    return [
        item
        for q, question in enumerate(paragraph.questions[: settings.questions])
        for item in word(
            question,
            identity=f"{row}.{q}",
            phrasings=settings.phrasings,
            domain=paragraph.category,
            attributes=paragraph.attributes,
        )
    ]


def row_of(item: str) -> int:
    """The paragraph that an item asks about."""
    return int(item.split(".", 1)[0])


def is_wrong(item: Item, text: str, style: str) -> bool:
    """Whether an answer is wrong: another option (cloze), or a text that does not name the reference (chat)."""
    if style == "cloze":
        return text.strip() != item.reference
    return not matches_reference(text, [item.reference, *item.aliases])


def outcomes(items: Sequence[Item], answers: Iterable[Answer], condition: Condition) -> dict[int, Outcome]:
    """The outcome of every paragraph that has items, from the answers that a ledger holds."""
    given = {answer.item: answer for answer in answers}
    by_row: dict[int, dict[str, list[Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        by_row[row_of(item.id)][item.id.rsplit(".", 1)[0]].append(item)
    found = {}
    for row, questions in by_row.items():
        shares, answered, wrong, refused, failed, missing = [], 0, 0, 0, 0, 0
        for wordings in questions.values():
            verdicts = []
            for item in wordings:
                answer = given.get(item.id)
                if answer is None:
                    missing += 1
                elif answer.error:
                    failed += 1
                else:
                    verdicts.append(is_wrong(item, answer.text, condition.style))
                    refused += condition.style == "chat" and is_refusal(answer.text)
            if verdicts:
                shares.append(sum(verdicts) / len(verdicts))
            answered += len(verdicts)
            wrong += sum(verdicts)
        found[row] = Outcome(
            category=next(iter(questions.values()))[0].domain,
            error=sum(shares) / len(shares) if shares and not missing else None,
            questions=len(shares),
            answered=answered,
            wrong=wrong,
            refused=refused,
            failed=failed,
            missing=missing,
        )
    return found
