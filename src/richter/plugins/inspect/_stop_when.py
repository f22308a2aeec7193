"""Stop an evaluation when its claim is decided, by limits that hold at every moment at once."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from inspect_ai.scorer import SampleScore, value_to_float
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from richter.errors import InputError
from richter.floors import decide_claim, parse_claim
from richter.records import DEFAULT_LEVEL, Claim, plain

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec

__all__ = ["StopWhen"]

PATIENCE = 200
LOOK_EVERY = 1.02  # growth in answers between looks
NO_GRADE = (math.nan, math.nan)


class StopWhen:
    """Inspect's `EarlyStopping`, driven by Richter's confidence sequences.

    `claim` is one of `richter.floors.parse_claim`, such as `error_rate < 0.3` or `mean_severity < 1`. `scorer` names
    the score that it is about: needed where there are several. A severity counts as correct at 0, other scorers' values
    as Inspect reads them; `ece` needs a `confidence` in the score's metadata.

    Answers are taken in the order of the dataset, not in the order in which they arrive: slow answers may differ from
    quick ones. One that has not come when `PATIENCE` later ones have is taken as failed. All epochs of a sample are
    waited for and count as one, by their mean, since they are not independent. `group` names the entry of a sample's
    metadata that says which samples vary together (a passage, a user): such a group is the unit, taken when all of it
    has come, in the order of its member with the first id, which a shuffle puts anywhere whatever the group's size. The
    guarantee needs a random order (`--sample-shuffle`, or a task that shuffles, as `richter/facts` does); the log says
    where it was not.
    """

    def __init__(
        self, claim: str, *, scorer: str | None = None, group: str | None = None, level: float = DEFAULT_LEVEL
    ) -> None:
        self.claim = parse_claim(claim)
        if self.claim.other:
            raise InputError(f"{claim!r} compares two models.", remedy="A task has one: bound one of its metrics.")
        if self.claim.metric.source in ("answer", "failure"):
            raise InputError(
                f"Scores do not tell {self.claim.metric.name}.", remedy="Stop on a score, or audit the log."
            )
        self.scorer, self.group, self.level = scorer, group, level
        self.decision: Claim = decide_claim(self.claim, [])
        self._units: list[list[str]] = []
        self._place: dict[str, int] = {}
        self._of: dict[str, str] = {}
        self._arrived: dict[str, list[tuple[float, float]]] = {}
        self._came = 0
        self._epochs = 1
        self._taken = 0
        self._first: list[float] = []
        self._second: list[float] = []
        self._item: list[str] = []
        self._unusable = 0
        self._next_look = 1
        self._shuffled = False

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Remember the order, which is the order in which answers will count."""
        self._place = {str(s.id): place for place, s in enumerate(samples)}
        for sample in samples:
            own = (sample.metadata or {}).get(self.group) if self.group else None
            self._of[str(sample.id)] = f"item {sample.id}" if own is None else f"group {own}"
        if self.group and all(name.startswith("item ") for name in self._of.values()):
            raise InputError(
                f"No sample's metadata has {self.group!r}.", remedy="Name an entry that says the group, or leave it."
            )
        members: dict[str, list[str]] = {}
        for name in sorted(self._place):
            members.setdefault(self._of[name], []).append(name)
        self._units = sorted(members.values(), key=lambda names: self._place[names[0]])
        self._epochs = epochs
        self._shuffled = bool(task.dataset.shuffled)
        return f"richter: {self.claim.text}"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Stop what has not begun once the claim is decided."""
        return EarlyStop(id=id, epoch=epoch, reason=self.decision.sentence) if self.decision.decided else None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Take the answers that are next in order, and look at the claim again."""
        if self.decision.decided:
            return
        name = str(id)
        self._came += name not in self._arrived
        self._arrived.setdefault(name, []).append(self._values(scores))
        while self._taken < len(self._units) and all(map(self._ready, self._units[self._taken])):
            for name in self._units[self._taken]:
                self._take(name)
            self._taken += 1
        if len(self._first) >= self._next_look:  # a look costs the whole path; looking less often keeps the guarantee
            self.decision = self._decide()
            self._next_look = max(len(self._first) + 1, int(len(self._first) * LOOK_EVERY))

    def _take(self, name: str) -> None:
        """Count a sample's epochs, which stand for it together."""
        pairs = self._arrived.get(name) or [NO_GRADE]
        self._unusable += all(any(map(math.isnan, pair)) for pair in pairs)
        self._first += [pair[0] for pair in pairs]
        self._second += [pair[1] for pair in pairs]
        self._item += [name] * len(pairs)

    def _ready(self, name: str) -> bool:
        """All epochs of a sample have come, or so many later samples that it is taken as it is."""
        return len(self._arrived.get(name, [])) >= self._epochs or self._came - self._place[name] >= PATIENCE

    def _decide(self) -> Claim:
        group = [self._of[name] for name in self._item] if self.group else None
        sizes = Counter(self._of.values()) if self.group else None
        return decide_claim(
            self.claim, self._first, self._second, item=self._item, group=group, sizes=sizes, level=self.level
        )

    async def complete_task(self) -> dict[str, JsonValue]:
        """What was decided, on how many answers."""
        if self._first and not self.decision.decided:
            self.decision = self._decide()
        found = plain(self.decision)
        names = ("verdict", "sentence", "estimate", "interval", "n", "notes")
        row: dict[str, JsonValue] = {"claim": self.claim.text} | {name: found[name] for name in names}
        taken = sum(map(len, self._units[: self._taken]))
        row |= {"taken": taken, "available": len(self._place), "unusable": self._unusable}
        if not self._shuffled:
            row["warning"] = "the samples were not shuffled: the limits hold only if their order is random"
        return row

    def _values(self, scores: dict[str, SampleScore]) -> tuple[float, float]:
        """The two numbers that the claim's sequence takes from an answer; NaN where it has none."""
        if self.scorer is None and len(scores) > 1:
            raise InputError(
                f"The task has several scores ({', '.join(scores)}).", remedy="Name one: StopWhen(.., scorer=..)."
            )
        found = scores.get(self.scorer) if self.scorer else next(iter(scores.values()), None)
        if found is None:
            return NO_GRADE
        value = value_to_float()(found.score.value)
        if math.isnan(value):  # unscored
            return NO_GRADE
        detail = found.score.metadata or {}
        metric = self.claim.metric
        if metric.source in ("severity", "column") or (metric.source == "score" and metric.kind != "binary"):
            return value, 0.0
        correct = float(value == 0) if detail.get("kind") in ("rule", "judge") else float(value == 1)
        if metric.source != "confidence":
            return correct, 0.0
        confidence = detail.get("confidence")
        return NO_GRADE if confidence is None else (correct, float(confidence))
