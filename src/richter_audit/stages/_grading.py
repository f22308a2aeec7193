"""Grade a run's answers right or wrong from the items' references alone; beside grades that a log brought along."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from richter.errors import InputError
from richter.records import Grade, Item
from richter.store import Ledger, RunLike, open_ledger
from richter.texts import Graders, choose_graders, grade_answer

__all__ = ["GradingResult", "grade_run"]

Key = tuple[str, str, int]  # item, condition, draw
GRADED_BY = "grader:"  # how the scorers that are ours begin


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """An answer that two graders grade differently: what it says, and who called it right."""

    item: str
    condition: str
    answer: str
    reference: str
    first: str
    second: str
    first_right: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradingResult:
    """Which grader graded how many items, how many answers are right, and where grades by another way differ.

    `others` counts, for every other scorer of the same answers, how many both graded and how many alike.
    """

    graders: Graders
    right: Mapping[str, int]  # by condition
    graded: Mapping[str, int]
    others: Mapping[str, tuple[int, int]]
    differences: tuple[Difference, ...]


def grade_run(run: RunLike, *, grader: str | None = None, tolerance: float | None = None) -> GradingResult:
    """Grade every answer of a run: by `grader`, or by the one that fits each item's reference."""
    with open_ledger(run, mode="write") as ledger:
        return grade_ledger(ledger, grader=grader, tolerance=tolerance)


def grade_ledger(
    ledger: Ledger, *, grader: str | None = None, tolerance: float | None = None, items: Collection[str] | None = None
) -> GradingResult:
    """`grade_run` in an open ledger, of all items or of some.

    The grades of a log that was imported stay the ones that count; in other runs the newest grading does.
    """
    known = {item.id: item for item in ledger.items() if items is None or item.id in items}
    graders = choose_graders(list(known.values()), grader, tolerance=tolerance)
    if not graders.by_item:
        raise InputError(
            f"None of {len(known):,} items has a reference.", remedy="Add a reference column, or name judge models."
        )
    before = ledger.grades()
    imported = any(g.main and not g.scorer.startswith(GRADED_BY) for g in before)
    texts = {
        (a.item, a.condition, a.draw): a.text for a in ledger.answers() if a.item in graders.by_item and not a.error
    }
    grades = {
        key: _grade(key, known[key[0]], text, graders.by_item[key[0]], tolerance, main=not imported)
        for key, text in texts.items()
    }
    rivals = [(g, own) for g in before if (own := grades.get(_key(g))) and own.scorer != g.scorer]
    ledger.add_grades([*_replaced_grades(rivals), *grades.values()])
    return _summarise_grades(graders, list(grades.values()), rivals, known, texts)


def _replaced_grades(rivals: Iterable[tuple[Grade, Grade]]) -> list[Grade]:
    """The grades that no longer count, now that ours do (`rivals`: theirs, ours)."""
    return [dataclasses.replace(other, main=False) for other, own in rivals if other.main and own.main]


def _summarise_grades(
    graders: Graders,
    grades: Sequence[Grade],
    rivals: Sequence[tuple[Grade, Grade]],
    known: Mapping[str, Item],
    texts: Mapping[Key, str],
) -> GradingResult:
    """Count what is right, and compare with the grades of other scorers (`rivals`: theirs, ours)."""
    both = [(g, own) for g, own in rivals if g.correct is not None and own.correct is not None]
    differing = [(g, own) for g, own in both if g.correct != own.correct]
    compared, unlike = Counter(g.scorer for g, _ in both), Counter(g.scorer for g, _ in differing)
    first = [g for g in grades if g.draw == 0]
    graded = Counter(sorted(g.condition for g in first))
    right = Counter(g.condition for g in first if g.correct)
    return GradingResult(
        graders=graders,
        right={condition: right[condition] for condition in graded},
        graded=dict(graded),
        others={scorer: (n, n - unlike[scorer]) for scorer, n in compared.items()},
        differences=tuple(_difference(g, own, known[g.item], texts[_key(g)]) for g, own in differing),
    )


def _key(grade: Grade) -> Key:
    return grade.item, grade.condition, grade.draw


def _grade(key: Key, item: Item, text: str, grader: str, tolerance: float | None, *, main: bool) -> Grade:
    _, condition, draw = key
    correct = grade_answer(item, text, grader, tolerance=tolerance)
    return Grade(
        item=item.id,
        condition=condition,
        draw=draw,
        scorer=f"{GRADED_BY}{grader}",
        value=None if correct is None else float(correct),
        correct=correct,
        main=main,
    )


def _difference(other: Grade, own: Grade, item: Item, answer: str) -> Difference:
    return Difference(
        item=item.id,
        condition=own.condition,
        answer=answer,
        reference=item.reference,
        first=own.scorer,
        second=other.scorer,
        first_right=bool(own.correct),
    )
