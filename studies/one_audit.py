"""How many calls an audit saves that chooses what to ask, judge or draw next, and how often its claims are false.

Simulated audits of two simulated models with known truth. Every audit settles seven claims by sequences, all of them
together at 95%. All orders stop by the same rule: every claim is settled or given up as out of reach, the items are
used up, or the budget is. Each runs with calls for all items, and with fewer.

    choose     the batch that brings open claims nearest to a verdict per call
    stages     the claims one after the other, the cheapest kind first
    backwards  the same from the last on
    shuffled   the same in an order that is drawn for each audit
    turns      a batch for every open claim in every round
    rounds     a batch of everything in every round
"""

import dataclasses

import numpy as np
from driver import Cell, run_study

from richter.errors import BudgetExhausted
from richter.floors import parse_claim
from richter.records import Verdict
from richter_audit.stages._settle_claims import Goal, Need, Order, goal_of, settle_claims

CLAIMS = (
    "A better than B",
    "error_rate(A) < 0.3",
    "error_rate(B) < 0.3",
    "catastrophic_rate(A) < 0.1",
    "catastrophic_rate(B) < 0.1",
    "ece(A) < 0.15",
    "ece(B) < 0.15",
)
COSTS = {"ask": 1.0, "judge": 2.0, "draw": 8.0}  # calls an item: an answer, two judges, eight draws
ITEMS = 1000
BUDGETS = (22_000, 8_000, 5_000)  # calls: all there is to collect, and less
BINS = 10
ORDERS: dict[str, Order] = {
    "rounds": "rounds",
    "turns": "turns",
    "backwards": "stages",
    "shuffled": "stages",
    "stages": "stages",
    "choose": "choose",
}


@dataclasses.dataclass
class SimulatedModel:
    """A model with known rates: its accuracy, its share of catastrophic errors, how far its confidence is off."""

    accuracy: float
    catastrophic: float
    overconfidence: float

    def draw(self, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Grades, severities and confidences of n items."""
        right = rng.random(n) < self.accuracy
        worst = rng.random(n) < self.catastrophic / (1 - self.accuracy)
        chance = rng.beta(4, 2, n)
        sure = np.clip(chance + self.overconfidence, 0, 1)
        return {
            "correct": right.astype(float),
            "severity": np.where(right, 0.0, np.where(worst, 4.0, 1.0)),
            "confidence": sure,
            "drawn": (rng.random(n) < chance).astype(float),
        }

    def ece(self) -> float:
        """The true calibration error over ten bins, by a large sample."""
        own = self.draw(100_000, np.random.default_rng(1))
        place = np.minimum((own["confidence"] * BINS).astype(int), BINS - 1)
        gaps = np.bincount(place, weights=own["confidence"] - own["drawn"], minlength=BINS)
        return float(np.abs(gaps).sum() / len(place))


class SimulatedCollector:
    """Counts calls instead of making them."""

    def __init__(self, data: dict[str, dict[str, np.ndarray]], most_calls: float) -> None:
        self.data, self.calls, self.most_calls = data, 0.0, most_calls
        self.counts: dict[Need, int] = {}

    def extend(self, targets) -> None:
        """Count what a batch costs."""
        cost = sum(COSTS[need.kind] * (n - self.counts.get(need, 0)) for need, n in targets.items())
        if self.calls + cost > self.most_calls:
            raise BudgetExhausted("The simulated budget is used up.", remedy="None.")
        self.calls += cost
        self.counts |= targets

    def values(self, goal: Goal, n: int):
        """The numbers that a claim's sequence takes."""
        own = [self.data[need.condition] for need in goal.needs]
        if goal.needs[0].kind == "draw":
            return own[0]["drawn"][:n], own[0]["confidence"][:n]
        column = "severity" if goal.needs[0].kind == "judge" else "correct"
        return own[0][column][:n], own[1][column][:n] if goal.rule.other else None


def is_true(text: str, models: dict[str, SimulatedModel], errors: dict[str, float]) -> bool:
    """Whether a claim holds of the simulated models."""
    a, b = models["A"], models["B"]
    if text == "A better than B":
        return a.accuracy > b.accuracy
    rule = parse_claim(text)
    model = models[rule.condition]
    truth = {"error_rate": 1 - model.accuracy, "catastrophic_rate": model.catastrophic, "ece": errors[rule.condition]}
    return truth[rule.metric.name] < rule.threshold


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """The calls of one simulated audit, how many claims it settles, and whether any of them is false."""
    models = {}
    for name in "AB":
        accuracy = rng.uniform(0.55, 0.9)
        models[name] = SimulatedModel(accuracy, rng.uniform(0.02, 0.3) * (1 - accuracy) / 0.45, rng.uniform(0.0, 0.3))
    errors, order = {name: model.ece() for name, model in models.items()}, cell["order"]
    collector = SimulatedCollector({name: model.draw(ITEMS, rng) for name, model in models.items()}, cell["budget"])
    texts = {"backwards": list(CLAIMS[::-1]), "shuffled": [str(c) for c in rng.permutation(CLAIMS)]}.get(order, CLAIMS)
    goals = [goal_of(parse_claim(text), "AB") for text in texts]
    found = settle_claims(
        goals, collector, available=ITEMS, costs=lambda need: COSTS[need.kind], batch=50, order=ORDERS[order]
    )
    settled = [(text, claim) for text, claim in zip(texts, found.claims, strict=True) if claim.decided]
    false = any((claim.verdict is Verdict.VERIFIED) != is_true(text, models, errors) for text, claim in settled)
    return {"calls": collector.calls, "claims settled": len(settled), "a false claim %": false}


if __name__ == "__main__":
    cells = [{"budget": budget, "order": order} for budget in BUDGETS for order in ORDERS]
    run_study(__file__, cells, trial, trials=200)
