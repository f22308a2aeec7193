"""Stop an evaluation when its claim is decided, by limits that hold at every moment at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inspect_ai.scorer import SampleScore, value_to_float
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from richter.errors import InputError
from richter.floors import decide_claim, parse_claim
from richter.records import Claim, plain

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSpec

__all__ = ["StopWhen"]

PATIENCE = 200
LOOK_EVERY = 1.02  # growth in answers between looks


class StopWhen:
    """Inspect's `EarlyStopping`, driven by Richter's confidence sequences.

    `claim` is one of `richter.floors.parse_claim`, such as `error_rate < 0.3` or `mean_severity < 1`. `scorer` names
    the score that it is about: needed where there are several. A severity counts as correct at 0, other scorers' values
    as Inspect reads them; `ece` needs a `confidence` in the score's metadata.

    Answers are taken in the order of the dataset, not in the order in which they arrive: slow answers may differ from
    quick ones. One that has not come when `PATIENCE` later ones have is taken as failed. All epochs of a sample are
    waited for and count as one, by their mean, since they are not independent. The guarantee needs a random order
    (`--sample-shuffle`, or a task that shuffles, as `richter/facts` does); the log says where it was not.
    """

    def __init__(self, claim: str, *, scorer: str | None = None, level: float = 0.95) -> None:
        self.claim = parse_claim(claim)
        if self.claim.metric == "better":
            raise InputError(f"{claim!r} compares two models.", remedy="A task has one: bound one of its metrics.")
        if self.claim.metric in ("refusal_rate", "failure_rate"):
            raise InputError(f"Scores do not tell {self.claim.metric}.", remedy="Stop on a score, or audit the log.")
        self.scorer, self.level = scorer, level
        self.decision: Claim = decide_claim(self.claim, [])
        self._order: list[str] = []
        self._arrived: dict[str, list[tuple[float, float] | None]] = {}
        self._epochs = 1
        self._taken = 0
        self._first: list[float] = []
        self._second: list[float] = []
        self._item: list[int] = []
        self._unusable = 0
        self._next_look = 1
        self._shuffled = False

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Remember the order, which is the order in which answers will count."""
        self._order = [str(s.id) for s in samples]
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
        self._arrived.setdefault(str(id), []).append(self._values(scores))
        while self._taken < len(self._order):
            name = self._order[self._taken]
            draws = self._arrived.get(name, [])
            if len(draws) < self._epochs and len(self._arrived) < PATIENCE:
                break
            self._arrived.pop(name, None)
            usable = [pair for pair in draws if pair is not None]
            self._unusable += not usable
            self._first += [pair[0] for pair in usable]
            self._second += [pair[1] for pair in usable]
            self._item += [self._taken] * len(usable)
            self._taken += 1
        if len(self._first) >= self._next_look:  # a look costs the whole path; looking less often keeps the guarantee
            self.decision = decide_claim(self.claim, self._first, self._second, item=self._item, level=self.level)
            self._next_look = max(len(self._first) + 1, int(len(self._first) * LOOK_EVERY))

    async def complete_task(self) -> dict[str, JsonValue]:
        """What was decided, on how many answers."""
        if self._first and not self.decision.decided:
            self.decision = decide_claim(self.claim, self._first, self._second, item=self._item, level=self.level)
        found = plain(self.decision)
        kept = ("verdict", "sentence", "estimate", "interval", "n", "notes")
        row: dict[str, JsonValue] = {"claim": self.claim.text} | {name: found[name] for name in kept}
        row |= {"taken": self._taken, "available": len(self._order), "unusable": self._unusable}
        if not self._shuffled:
            row["warning"] = "the samples were not shuffled: the limits hold only if their order is random"
        return row

    def _values(self, scores: dict[str, SampleScore]) -> tuple[float, float] | None:
        """The two numbers that the claim's sequence takes from an answer, or None."""
        if self.scorer is None and len(scores) > 1:
            raise InputError(
                f"The task has several scores ({', '.join(scores)}).", remedy="Name one: StopWhen(.., scorer=..)."
            )
        found = scores.get(self.scorer) if self.scorer else next(iter(scores.values()), None)
        if found is None:
            return None
        value = value_to_float()(found.score.value)
        if value != value:  # unscored
            return None
        detail = found.score.metadata or {}
        if self.claim.metric in ("mean_severity", "severity_given_error", "severity_at_least", "mean_score"):
            return value, 0.0
        correct = float(value == 0) if detail.get("kind") in ("rule", "judge") else float(value == 1)
        if self.claim.metric != "ece":
            return correct, 0.0
        confidence = detail.get("confidence")
        return None if confidence is None else (correct, float(confidence))
