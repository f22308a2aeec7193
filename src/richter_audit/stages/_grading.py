"""Grade a run's answers right or wrong from the items' references alone; beside grades that a log brought along."""

import dataclasses
from collections.abc import Collection, Mapping

from richter.errors import InputError
from richter.records import Grade
from richter.store import Ledger, RunLike, open_ledger
from richter.texts import Graders, choose_graders, grade_answer

__all__ = ["GradingResult", "grade_run"]

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
    foreign = any(g.main and not g.scorer.startswith(GRADED_BY) for g in before)
    found: list[Grade] = []
    texts: dict[tuple[str, str, int], str] = {}
    for answer in ledger.answers():
        if answer.item not in graders.by_item or answer.error:
            continue
        name = graders.by_item[answer.item]
        correct = grade_answer(known[answer.item], answer.text, name, tolerance=tolerance)
        texts[answer.item, answer.condition, answer.draw] = answer.text
        found.append(
            Grade(
                item=answer.item,
                condition=answer.condition,
                draw=answer.draw,
                scorer=f"{GRADED_BY}{name}",
                value=None if correct is None else float(correct),
                correct=correct,
                main=not foreign,
            )
        )
    mine = {(g.item, g.condition, g.draw): g for g in found}
    replaced = [
        dataclasses.replace(g, main=False)
        for g in before
        if g.main and not foreign and (own := mine.get((g.item, g.condition, g.draw))) and own.scorer != g.scorer
    ]
    ledger.add_grades([*replaced, *found])
    others: dict[str, tuple[int, int]] = {}
    differences: list[Difference] = []
    for g in before:
        own = mine.get((g.item, g.condition, g.draw))
        if own is None or own.scorer == g.scorer or g.correct is None or own.correct is None:
            continue
        both, alike = others.get(g.scorer, (0, 0))
        others[g.scorer] = both + 1, alike + (g.correct == own.correct)
        if g.correct != own.correct:
            differences.append(
                Difference(
                    item=g.item,
                    condition=g.condition,
                    answer=texts[g.item, g.condition, g.draw],
                    reference=known[g.item].reference,
                    first=own.scorer,
                    second=g.scorer,
                    first_right=own.correct,
                )
            )
    first = [g for g in found if g.draw == 0]
    conditions = sorted({g.condition for g in first})
    return GradingResult(
        graders=graders,
        right={c: sum(bool(g.correct) for g in first if g.condition == c) for c in conditions},
        graded={c: sum(g.condition == c for g in first) for c in conditions},
        others=others,
        differences=tuple(differences),
    )
