"""Which batch of questions to ask, judge or draw next: the one that brings open claims nearest to a verdict per call.

Every claim is decided by a sequence, which holds at every look. So neither the choice of what comes next nor the moment
of stopping may depend on anything but chance to be honest: both may look at everything.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

from numpy.typing import ArrayLike

from richter.errors import BudgetExhausted
from richter.floors import StopRule, decide_claim
from richter.records import DEFAULT_LEVEL, Claim, Result

__all__ = ["Goal", "Need", "Order", "SettledAudit", "closing_share", "goal_of", "settle_claims"]

Kind = Literal["ask", "judge", "draw"]
Order = Literal["choose", "stages", "turns", "rounds"]
BATCH = 25
OUT_OF_REACH = 0.01  # what a claim counts that the items there are would not settle
GIVEN_UP_FROM = 200  # items after which a claim may be given up ...
GIVEN_UP_AT = 3.0  # ... where it would take so many times the items there are


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
    return share if _items_needed(claim, threshold, n=n) <= available else OUT_OF_REACH * share


def _items_needed(claim: Claim, threshold: float, *, n: int) -> float:
    """How many items a claim would take at the estimate it has: n (w / g)^2, since widths fall as 1 / sqrt(n)."""
    if claim.estimate is None or claim.interval is None:
        return 0.0
    limit = claim.interval.low if claim.estimate > threshold else claim.interval.high
    w, g = abs(claim.estimate - limit), abs(claim.estimate - threshold)
    return n * (w / g) ** 2 if g > 0 else math.inf


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
    """Collect batches until every claim is settled or given up, the items are used up, or the budget is.

    A claim is given up that 200 items have not settled and that would take over three times the items there are.

    `choose` takes, of all batches that some open claim waits for, the one with the largest sum of `closing_share` over
    the open claims per cost. For comparison, `stages` takes the claims one after the other as they stand, `turns`
    collects a batch for every open claim in every round, and `rounds` a batch of everything. `costs` are of one item.
    All claims together are wrong with probability at most 1 - `level`, each at its share of it.
    """
    state = _Settling(goals, available=available, costs=costs, batch=batch, level=1 - (1 - level) / len(goals))
    steps: list[str] = []
    while any(state.is_open(k) for k in range(len(goals))):
        targets = state.next_targets(order)
        steps.append(", ".join(f"{need.kind} {need.condition} to {n}" for need, n in targets.items()))
        try:
            collector.extend(targets)
        except BudgetExhausted as error:
            return state.result(steps, stopped=error)
        state.take(targets, collector)
        if watch is not None:
            watch(steps[-1], state.claims)
    return state.result(steps)


class _Settling:
    """How far each claim is, and what would bring it on."""

    def __init__(
        self,
        goals: Sequence[Goal],
        *,
        available: int,
        costs: Callable[[Need], float],
        batch: int,
        level: float,
    ) -> None:
        self._goals, self._available, self._costs, self._batch, self._level = goals, available, costs, batch, level
        self._counts: dict[Need, int] = {need: 0 for goal in goals for need in _with_answers(goal.needs)}
        self.claims = [decide_claim(goal.rule, []) for goal in goals]

    def _reached(self, k: int, targets: Mapping[Need, int] = MappingProxyType({})) -> int:
        """How many items a claim is decided from, once some targets are reached."""
        return min(max(self._counts[need], targets.get(need, 0)) for need in self._goals[k].needs)

    def is_open(self, k: int) -> bool:
        """Whether a claim is not settled, and the items that are left may settle it."""
        n = self._reached(k)
        if self.claims[k].decided or n >= self._available:
            return False
        needed = _items_needed(self.claims[k], self._goals[k].rule.threshold, n=n)
        return n < GIVEN_UP_FROM or needed <= GIVEN_UP_AT * self._available

    def next_targets(self, order: Order) -> dict[Need, int]:
        """What is collected next."""
        if order == "rounds":
            return {need: min(self._available, n + self._batch) for need, n in self._counts.items()}
        ways = [self._way(k) for k in range(len(self._goals)) if self.is_open(k)]
        if order == "turns":
            return dict(sorted((need, n) for way in ways for need, n in way.items()))  # the largest number comes last
        return ways[0] if order == "stages" else max(ways, key=self._worth)

    def _way(self, k: int) -> dict[Need, int]:
        """What a claim's next batch takes."""
        n = min(self._available, self._reached(k) + self._batch)
        return {need: n for need in _with_answers(self._goals[k].needs) if self._counts[need] < n}

    def _worth(self, targets: Mapping[Need, int]) -> float:
        """How much nearer a batch brings all open claims to their verdicts, per cost."""
        gain = 0.0
        for k, goal in enumerate(self._goals):
            n = self._reached(k)
            more = self._reached(k, targets) - n
            if more > 0 and self.is_open(k):
                gain += closing_share(self.claims[k], goal.rule.threshold, n=n, more=more, available=self._available)
        cost = sum(self._costs(need) * (n - self._counts[need]) for need, n in targets.items())
        return gain / max(1e-12, cost)

    def take(self, targets: Mapping[Need, int], collector: Collector) -> None:
        """Look at what was collected: a claim that is settled stays so."""
        before = [self._reached(k) for k in range(len(self._goals))]
        self._counts |= targets
        for k, goal in enumerate(self._goals):
            n = self._reached(k)
            if not self.claims[k].decided and n > before[k]:
                self.claims[k] = decide_claim(goal.rule, *collector.values(goal, n), level=self._level)

    def result(self, steps: Sequence[str], *, stopped: BudgetExhausted | None = None) -> SettledAudit:
        """What came of it."""
        counts = {f"{need.kind} {need.condition}": n for need, n in self._counts.items()}
        return SettledAudit(claims=tuple(self.claims), counts=counts, steps=tuple(steps), stopped=stopped)


def _with_answers(needs: Sequence[Need]) -> list[Need]:
    """Needs with what they rest on: what is judged was asked before."""
    return [one for need in needs for one in ([Need("ask", need.condition)] if need.kind == "judge" else []) + [need]]
