"""The demonstration: a real small model, real facts, two conditions."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from richter.audit._ask import AskProgress, ask_run, name_conditions
from richter.bench import build_facts, matches_reference
from richter.llm import BUILT_IN
from richter.records import Answer, Decoding, Interval, Item
from richter.stats import wilson
from richter.store import open_ledger

__all__ = ["AccuracyRow", "DemoResult", "grade_by_alias", "run_demo"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """How many of a group's answers contain the reference or an alias of it, with Wilson's interval."""

    condition: str
    group: str  # "all", a domain, or "tier 1" .. "tier 5"
    correct: int
    n: int
    interval: Interval

    @property
    def accuracy(self) -> float:
        """The share of correct answers."""
        return self.correct / self.n

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "condition": self.condition,
            "group": self.group,
            "correct": self.correct,
            "n": self.n,
            "accuracy": self.accuracy,
            "interval": self.interval.to_dict(),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """Accuracy by condition, domain and tier, and some of the wrong answers."""

    run: str
    rows: tuple[AccuracyRow, ...]
    wrong: tuple[tuple[Item, Answer], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        wrong = [{"item": i.id, "prompt": i.prompt, "reference": i.reference, "answer": a.text} for i, a in self.wrong]
        return {"run": self.run, "accuracy": [row.to_dict() for row in self.rows], "wrong": wrong}


def grade_by_alias(item: Item, answer: Answer) -> bool:
    """Whether an answer contains the reference or one of its aliases."""
    return matches_reference(answer.text, (item.reference, *item.aliases))


def run_demo(
    run: str | Path,
    *,
    items: int = 240,
    seed: int = 0,
    model: str = BUILT_IN,
    max_tokens: int = 32,
    watch: Callable[[AskProgress], None] | None = None,
    download: Callable[[int, int], None] | None = None,
) -> DemoResult:
    """Ask a model `items` facts questions, greedy and at temperature 1, and grade the answers by alias match."""
    questions = build_facts(items=items, seed=seed).items
    conditions = name_conditions(
        [model], temperatures=(0.0, 1.0), decoding=Decoding(max_tokens=max_tokens, seed=seed, logprobs=True)
    )
    ask_run(run, questions, conditions, bench=f"facts, {items} items, seed {seed}", watch=watch, download=download)
    by_id = {item.id: item for item in questions}
    with open_ledger(run) as ledger:
        graded = [(by_id[a.item], a, grade_by_alias(by_id[a.item], a)) for a in ledger.answers() if not a.error]
    rows = []
    for condition in conditions:
        own = [(item, correct) for item, answer, correct in graded if answer.condition == condition.name]
        groups = {"all": [c for _, c in own]}
        groups |= {d: [c for i, c in own if i.domain == d] for d in sorted({i.domain for i, _ in own})}
        groups |= {f"tier {t}": [c for i, c in own if i.tier == t] for t in sorted({i.tier or 0 for i, _ in own})}
        rows += [_row(condition.name, group, marks) for group, marks in groups.items()]
    wrong = [(item, answer) for item, answer, correct in graded if not correct]
    return DemoResult(run=str(run), rows=tuple(rows), wrong=tuple(wrong))


def _row(condition: str, group: str, marks: Sequence[bool]) -> AccuracyRow:
    correct = sum(marks)
    interval = wilson(correct, len(marks))
    return AccuracyRow(condition=condition, group=group, correct=correct, n=len(marks), interval=interval)
