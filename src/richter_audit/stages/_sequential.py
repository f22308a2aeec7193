"""Ask until a claim is decided."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from richter.claims import Blocked, Metric, block_claim
from richter.errors import InputError
from richter.floors import StopRule, decide_claim
from richter.records import DEFAULT_LEVEL, Claim, Result

__all__ = ["Outcome", "SequentialAudit", "ask_until"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of asking one item of one condition, at one draw; all None with `failed`.

    `score` is the main score and `scores` are all others by the name of their column or scorer.
    """

    item: str
    condition: str
    draw: int = 0
    correct: float | None = None
    score: float | None = None
    refused: bool | None = None
    confidence: float | None = None
    severity: float | None = None
    failed: bool = False
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)


IN_VAIN = 2  # batches without a single usable value after which nothing more is asked
# what an answer must have, by where a measure's values come from
NEEDED = {
    "confidence": "a grade with a confidence (stated in the answer, or of its tokens)",
    "severity": "a severity",
    "score": "a grade",
    "column": "a score",
    "answer": "an answer",
    "failure": "an answer",
}
Ask = Callable[[Sequence[str], Sequence[str]], Sequence[Outcome]]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SequentialAudit(Result):
    """How a claim was decided and what that took: items asked, of how many, and what could not be used."""

    unwritten: ClassVar = ("rule", "claim", "items")
    flat: ClassVar = ("decided",)
    derived: ClassVar = ("decided", "asked", "saved")

    rule: StopRule
    claim: Claim
    items: tuple[str, ...]
    available: int
    unusable: int
    batches: int

    @property
    def asked(self) -> int:
        """How many items were asked."""
        return len(self.items)

    @property
    def saved(self) -> int:
        """Items that did not have to be asked."""
        return self.available - self.asked

    @property
    def decided(self) -> dict[str, Any]:
        """What was asked for, and what is kept of the claim."""
        fields = ("verdict", "sentence", "estimate", "interval", "n", "notes")
        return {"claim": self.rule.text} | {name: getattr(self.claim, name) for name in fields}


def ask_until(
    claim: StopRule,
    items: Sequence[str],
    ask: Ask,
    *,
    conditions: Sequence[str],
    rng: np.random.Generator,
    groups: Mapping[str, str] | None = None,
    batch: int = 25,
    level: float = DEFAULT_LEVEL,
    on_batch: Callable[[Claim], None] | None = None,
) -> SequentialAudit:
    """Ask items in random order, a batch at a time, until the claim is verified or refuted or the items are spent.

    `ask(items, conditions)` gives the outcomes of a batch, in any order; draws of an item come together, and the item
    counts once, by their mean. Items without a usable value (a failed call, no confidence) are counted; the verdict
    must hold both without them and with them at the worse end (see `decide_claim`). The random order is what makes
    early stopping honest: a file sorted by difficulty would not do. With `groups` (the group of each item) groups come
    in random order, each whole, and the group is the unit.
    """
    wanted = _check_request(claim, items, conditions, batch)
    order, group_of, sizes = _order(items, groups or {}, rng)
    values = _Values(claim)
    decision = decide_claim(claim, [])
    asked = batches = 0
    while asked < len(order) and not decision.decided:
        part = order[asked : _batch_end(order, group_of, asked + batch)]
        values.add(part, ask(part, wanted), wanted, start=asked)
        asked += len(part)
        batches += 1
        group = None if group_of is None else [group_of[order[k]] for k in values.place]
        decision = decide_claim(
            claim, values.first, values.second, item=values.place, group=group, sizes=sizes, level=level
        )
        if on_batch is not None:
            on_batch(decision)
        if not values.usable and batches == IN_VAIN:
            break
    if not values.usable:
        why = f"none of {asked} items gave {NEEDED[claim.metric.source]}"
        blocked = Blocked(gate=None, reason=why)
        decision = block_claim(decision, blocked, sentence=f"{claim.text}: untestable, {why}.")
    return SequentialAudit(
        rule=claim,
        claim=decision,
        items=tuple(order[:asked]),
        available=len(order),
        unusable=values.unusable,
        batches=batches,
    )


def _check_request(claim: StopRule, items: Sequence[str], conditions: Sequence[str], batch: int) -> list[str]:
    """The conditions that a claim is about; raises where nothing would be asked, or one would have to be named."""
    if not items:
        raise InputError("There are no items to ask.", remedy="Give at least one.")
    if batch < 1:
        raise InputError(f"A batch of {batch} items asks nothing.", remedy="Give at least 1.")
    wanted = list(claim.conditions) or list(conditions)
    unknown = [c for c in wanted if c not in conditions]
    if unknown or (not claim.other and len(wanted) != 1):
        raise InputError(
            f"The claim {claim.text!r} must name {'one' if not unknown else 'known'} of the conditions.",
            remedy=f"There are {', '.join(conditions)}: write it as METRIC(CONDITION) < NUMBER.",
        )
    return wanted


def _batch_end(order: Sequence[str], group_of: Mapping[str, str] | None, end: int) -> int:
    """Where a batch ends: a group is asked whole."""
    while end < len(order) and group_of is not None and group_of[order[end]] == group_of[order[end - 1]]:
        end += 1
    return end


@dataclasses.dataclass(slots=True)
class _Values:
    """The numbers that a claim's sequence takes from answers, and the place of each one's item in the order."""

    claim: StopRule
    first: list[float] = dataclasses.field(default_factory=list)
    second: list[float] = dataclasses.field(default_factory=list)
    place: list[int] = dataclasses.field(default_factory=list)
    usable: int = 0  # answers
    unusable: int = 0  # items

    def add(self, items: Sequence[str], outcomes: Iterable[Outcome], conditions: Sequence[str], *, start: int) -> None:
        """Add the outcomes of a batch, whose items stand in the order from `start` on."""
        by_item: dict[str, dict[int, dict[str, Outcome]]] = {}
        for o in outcomes:
            by_item.setdefault(o.item, {}).setdefault(o.draw, {})[o.condition] = o
        for number, name in enumerate(items, start):
            by_draw = by_item.get(name, {0: {}})
            pairs = [_values(self.claim, [by_draw[draw].get(c) for c in conditions]) for draw in sorted(by_draw)]
            usable = sum(not any(map(math.isnan, pair)) for pair in pairs)
            self.usable, self.unusable = self.usable + usable, self.unusable + (not usable)
            self.first += [pair[0] for pair in pairs]
            self.second += [pair[1] for pair in pairs]
            self.place += [number] * len(pairs)


def _order(
    items: Sequence[str], groups: Mapping[str, str], rng: np.random.Generator
) -> tuple[list[str], dict[str, str] | None, dict[str, int] | None]:
    """Items at random, each one's group (one that names none is its own), and the groups' sizes; None without any."""
    if not any(groups.get(item) for item in items):
        return [items[i] for i in rng.permutation(len(items))], None, None
    of = {item: f"group\0{groups[item]}" if groups.get(item) else f"item\0{item}" for item in items}
    members: dict[str, list[str]] = {}
    for item in items:
        members.setdefault(of[item], []).append(item)
    names = list(members)
    order = [item for k in rng.permutation(len(names)) for item in members[names[k]]]
    return order, of, {name: len(own) for name, own in members.items()}


def _values(claim: StopRule, outcomes: Sequence[Outcome | None]) -> tuple[float, float]:
    """The two numbers that the claim's sequence takes from an answer; NaN where it has none."""
    values = [math.nan if o is None else _outcome_value(claim.metric, o) for o in outcomes]
    if claim.metric.source != "confidence":
        return values[0], values[1] if claim.other else 0.0
    stated = None if outcomes[0] is None else outcomes[0].confidence
    return values[0], math.nan if stated is None else stated


def _outcome_value(metric: Metric, outcome: Outcome) -> float:
    """What an answer has of a measure, by where the measure's values come from; `decide_claim` does the rest."""
    if metric.source == "failure":
        return float(outcome.failed)
    if outcome.failed:
        return math.nan
    value: float | None
    if metric.source == "severity":
        value = outcome.severity
    elif metric.source == "answer":
        value = getattr(outcome, metric.column)
    elif metric.source == "column":
        value = outcome.scores.get(metric.column)
    else:
        value = outcome.score if metric.source == "score" and metric.kind != "binary" else outcome.correct
    return math.nan if value is None else float(value)
