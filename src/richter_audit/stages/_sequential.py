"""Ask until a claim is decided."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from richter.errors import InputError
from richter.floors import StopRule, decide_claim
from richter.records import Claim, Result, Verdict

__all__ = ["Outcome", "SequentialAudit", "ask_until"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of asking one item of one condition, at one draw; all None with `failed`."""

    item: str
    condition: str
    draw: int = 0
    correct: float | None = None
    score: float | None = None
    refused: bool | None = None
    confidence: float | None = None
    severity: float | None = None
    failed: bool = False


IN_VAIN = 2  # batches without a single usable value after which nothing more is asked
NEEDED = {
    "ece": "a grade with a confidence (stated in the answer, or of its tokens)",
    "mean_score": "a score",
    "mean_severity": "a severity",
    "severity_given_error": "a severity",
    "severity_at_least": "a severity",
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
        kept = ("verdict", "sentence", "estimate", "interval", "n", "notes")
        return {"claim": self.rule.text} | {name: getattr(self.claim, name) for name in kept}


def ask_until(
    claim: StopRule,
    items: Sequence[str],
    ask: Ask,
    *,
    conditions: Sequence[str],
    rng: np.random.Generator,
    groups: Mapping[str, str] | None = None,
    batch: int = 25,
    level: float = 0.95,
    on_batch: Callable[[Claim], None] | None = None,
) -> SequentialAudit:
    """Ask items in random order, a batch at a time, until the claim is verified or refuted or the items are spent.

    `ask(items, conditions)` gives the outcomes of a batch, in any order; draws of an item come together, and the item
    counts once, by their mean. Items without a usable value (a failed call, no confidence) are counted and left out.
    The random order is what makes early stopping honest: a file sorted by difficulty would not do. With `groups` (the
    group of each item) groups come in random order, each whole, and the group is the unit.
    """
    if not items:
        raise InputError("There are no items to ask.", remedy="Give at least one.")
    if batch < 1:
        raise InputError(f"A batch of {batch} items asks nothing.", remedy="Give at least 1.")
    wanted = list(claim.conditions) or list(conditions)
    unknown = [c for c in wanted if c not in conditions]
    if unknown or (claim.metric != "better" and len(wanted) != 1):
        raise InputError(
            f"The claim {claim.text!r} must name {'one' if not unknown else 'known'} of the conditions.",
            remedy=f"There are {', '.join(conditions)}: write it as METRIC(CONDITION) < NUMBER.",
        )
    order, of, sizes = _order(items, groups or {}, rng)
    first: list[float] = []
    second: list[float] = []
    place: list[int] = []
    unusable = 0
    decision = decide_claim(claim, [])
    asked = batches = 0
    while asked < len(order) and not decision.decided:
        end = asked + batch
        while end < len(order) and of is not None and of[order[end]] == of[order[end - 1]]:
            end += 1  # a group is asked whole
        part = order[asked:end]
        found: dict[tuple[str, int], dict[str, Outcome]] = {}
        for o in ask(part, wanted):
            found.setdefault((o.item, o.draw), {})[o.condition] = o
        asked += len(part)
        batches += 1
        for number, name in enumerate(part, start=asked - len(part)):
            draws = sorted(draw for item, draw in found if item == name) or [0]
            pairs = [_values(claim, [found.get((name, draw), {}).get(c) for c in wanted]) for draw in draws]
            usable = [pair for pair in pairs if pair is not None]
            unusable += not usable
            first += [pair[0] for pair in usable]
            second += [pair[1] for pair in usable]
            place += [number] * len(usable)
        held = None if of is None else [of[order[k]] for k in place]
        decision = decide_claim(claim, first, second, item=place, group=held, sizes=sizes, level=level)
        if on_batch is not None:
            on_batch(decision)
        if not first and batches == IN_VAIN:
            break
    if not first:
        decision = dataclasses.replace(
            decision,
            verdict=Verdict.UNTESTABLE,
            sentence=f"{claim.text}: untestable, none of {asked} items gave {NEEDED.get(claim.metric, 'a grade')}.",
        )
    return SequentialAudit(
        rule=claim, claim=decision, items=tuple(order[:asked]), available=len(order), unusable=unusable, batches=batches
    )


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


def _values(claim: StopRule, outcomes: Sequence[Outcome | None]) -> tuple[float, float] | None:
    """The two numbers that the claim's sequence takes from an answer, or None."""
    if claim.metric == "failure_rate":
        one = outcomes[0]
        return None if one is None else (float(one.failed), 0.0)
    if any(o is None or o.failed for o in outcomes):
        return None
    found = [o for o in outcomes if o is not None]
    pair: tuple[float | None, float | None] = (found[0].correct, 0.0)
    if claim.metric == "better":
        pair = (found[0].correct, found[1].correct)
    elif claim.metric == "ece":
        pair = (found[0].correct, found[0].confidence)
    elif claim.metric in ("mean_severity", "severity_given_error", "severity_at_least"):
        pair = (found[0].severity, 0.0)
    elif claim.metric == "mean_score":
        pair = (found[0].score, 0.0)
    elif claim.metric == "refusal_rate":
        pair = (None if found[0].refused is None else float(found[0].refused), 0.0)
    return None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
