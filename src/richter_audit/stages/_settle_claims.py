"""Which batch of questions to ask, judge or draw next: the one that brings open claims nearest to a verdict per call.

Every claim is decided by a sequence, which holds at every look. So neither the choice of what comes next nor the moment
of stopping may depend on anything but chance to be honest: both may look at everything.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from numpy.typing import ArrayLike

from richter.errors import BudgetExhausted
from richter.floors import StopRule, decide_claim
from richter.records import DEFAULT_LEVEL, Claim, Result

__all__ = ["Goal", "Need", "Order", "SettledAudit", "closing_share", "goal_of", "settle_claims"]

Kind = Literal["ask", "judge", "draw"]
Order = Literal["choose", "stages", "rounds"]
BATCH = 25
OUT_OF_REACH = 0.01  # what a claim counts that the items there are would not settle


class Need(NamedTuple):
    """What a claim is decided from: answers of a condition, their judgements, or repeated draws."""

    kind: Kind
    condition: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A claim that an audit is to settle, and what it is decided from."""

    rule: StopRule
    needs: tuple[Need, ...]


class Collector(Protocol):
    """Whoever asks, judges and draws."""

    def extend(self, targets: Mapping[Need, int]) -> None:
        """Bring each to so many items, in one random order of items; raises `BudgetExhausted`."""

    def values(self, goal: Goal, n: int) -> tuple[ArrayLike, ArrayLike | None]:
        """The two numbers that a claim's sequence takes from each of the first n items."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SettledAudit(Result):
    """The claims as they were left, how many items each kind took, and what was done in which order."""

    claims: tuple[Claim, ...]
    counts: Mapping[str, int]
    steps: tuple[str, ...]
    stopped: BudgetExhausted | None = None


def goal_of(rule: StopRule, conditions: Sequence[str]) -> Goal:
    """What a claim is decided from: severities of judgements, calibration of draws, all else of answers."""
    kinds: dict[str, Kind] = {"severity": "judge", "confidence": "draw"}
    kind = kinds.get(rule.metric.source, "ask")
    return Goal(rule=rule, needs=tuple(Need(kind, name) for name in rule.conditions or conditions[:1]))


def closing_share(claim: Claim, threshold: float, *, n: int, more: int, available: int) -> float:
    """The share of a claim's way to a verdict that a batch is expected to cover.

    The deciding limit lies on the threshold's side of the estimate, w away from it; the threshold lies g away, and the
    claim is settled when w is g. Widths fall as 1 / sqrt(n), so `more` items are expected to take
    w (1 - sqrt(n / (n + more))) off the w - g that is to go. A claim that nothing is known of counts as one whole; one
    that would need more items than there are, hardly.
    """
    if n == 0 or claim.estimate is None or claim.interval is None:
        return 1.0
    limit = claim.interval.low if claim.estimate > threshold else claim.interval.high
    w, g = abs(claim.estimate - limit), abs(claim.estimate - threshold)
    if w <= g or w == 0:  # the running estimate has left its limits: the next look tells more
        return 1.0
    share = min(1.0, w * (1 - math.sqrt(n / (n + more))) / (w - g))
    is_in_reach = g > 0 and n * (w / g) ** 2 <= available
    return share if is_in_reach else OUT_OF_REACH * share


def settle_claims(
    goals: Sequence[Goal],
    collector: Collector,
    *,
    available: int,
    costs: Callable[[Need], float],
    batch: int = BATCH,
    level: float = DEFAULT_LEVEL,
    order: Order = "choose",
    watch: Callable[[str, Sequence[Claim]], None] | None = None,
) -> SettledAudit:
    """Collect batches until every claim is settled, the items are used up, or the budget is.

    `choose` takes, of all batches that some open claim waits for, the one with the largest sum of `closing_share` over
    the open claims per cost. For comparison, `stages` takes the claims one after the other as they stand, and `rounds`
    collects a batch of everything in every round. `costs` are of one item. All claims together are wrong with
    probability at most 1 - `level`, each at its share of it.
    """
    each = 1 - (1 - level) / len(goals)
    counts: dict[Need, int] = {need: 0 for goal in goals for need in _with_answers(goal.needs)}
    claims = [decide_claim(goal.rule, []) for goal in goals]
    steps: list[str] = []
    stopped = None
    while True:
        reached = [min(counts[need] for need in goal.needs) for goal in goals]
        is_open = [not c.decided and n < available for c, n in zip(claims, reached, strict=True)]
        if not any(is_open):
            break
        planned = _targets(goals, counts, is_open, batch, available)
        if order == "rounds":
            targets = {need: min(available, count + batch) for need, count in counts.items()}
        elif order == "stages":
            targets = planned[0]
        else:
            targets = max(
                planned, key=lambda way: _worth(way, goals, claims, counts, is_open, costs, available=available)
            )
        steps.append(", ".join(f"{need.kind} {need.condition} to {n}" for need, n in targets.items()))
        try:
            collector.extend(targets)
        except BudgetExhausted as error:
            stopped = error
            break
        counts |= targets
        for k, goal in enumerate(goals):
            n = min(counts[need] for need in goal.needs)
            if not claims[k].decided and n > reached[k]:
                claims[k] = decide_claim(goal.rule, *collector.values(goal, n), level=each)
        if watch is not None:
            watch(steps[-1], claims)
    named = {f"{need.kind} {need.condition}": n for need, n in counts.items()}
    return SettledAudit(claims=tuple(claims), counts=named, steps=tuple(steps), stopped=stopped)


def _with_answers(needs: Sequence[Need]) -> list[Need]:
    """Needs with what they rest on: what is judged was asked before."""
    return [one for need in needs for one in ([Need("ask", need.condition)] if need.kind == "judge" else []) + [need]]


def _targets(
    goals: Sequence[Goal], counts: Mapping[Need, int], is_open: Sequence[bool], batch: int, available: int
) -> list[dict[Need, int]]:
    """For each open claim, what its next batch takes."""
    ways = []
    for goal, waits in zip(goals, is_open, strict=True):
        if waits:
            n = min(available, min(counts[need] for need in goal.needs) + batch)
            ways.append({need: n for need in _with_answers(goal.needs) if counts[need] < n})
    return ways


def _worth(
    targets: Mapping[Need, int],
    goals: Sequence[Goal],
    claims: Sequence[Claim],
    counts: Mapping[Need, int],
    is_open: Sequence[bool],
    costs: Callable[[Need], float],
    *,
    available: int,
) -> float:
    """What a batch brings all open claims nearer to their verdicts, per cost."""
    gain = 0.0
    for goal, claim, waits in zip(goals, claims, is_open, strict=True):
        n = min(counts[need] for need in goal.needs)
        more = min(max(counts[need], targets.get(need, 0)) for need in goal.needs) - n
        if waits and more > 0:
            gain += closing_share(claim, goal.rule.threshold, n=n, more=more, available=available)
    return gain / max(1e-12, sum(costs(need) * (n - counts[need]) for need, n in targets.items()))
