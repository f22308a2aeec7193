"""Missing grades both ways: how often a claim or a gate is falsely met, and the power that this costs.

Two conditions, 1,500 questions, right or wrong, with a shared difficulty. A grade is lost as an absent row, as a row
without a grade, or as a failed call, one in three each. Claims go through the checks, the estimators and `decide`; the
gate is `run_gate`. "At random" is the same with `--missing at-random`.
"""

import dataclasses
from typing import Literal

import numpy as np
from driver import Cell, run_study
from scipy.special import ndtr, ndtri

from helpers.memory_tables import memory_tables
from richter.audit import margin_plan, page_questions, run_gate
from richter.claims import decide
from richter.evidence import MissingPolicy, Policy, evidence
from richter.records import Verdict
from richter.tables import Dataset

ITEMS = 1500
SPREAD = 1.8  # of the questions' difficulty: where one condition is right, the other mostly is
NAMES = ("old", "new")
MARGIN = 0.02  # of the gate
Side = Literal["new", "old", "both"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The true gain of `new`, and the share of a condition's answers that lose their grade, and among which answers."""

    gain: float
    share: float
    side: Side = "new"
    among: Literal["wrong", "right", "all"] = "all"
    is_gate: bool = False
    spread: float = SPREAD


EFFECT = 0.036  # a gain that is shown in 85% where nothing is missing
WORLDS = {
    "equal; none missing": World(gain=0, share=0),
    "equal; 2% of new's answers lost, all wrong": World(gain=0, share=0.02, among="wrong"),
    "equal; 10% of new's answers lost, all wrong": World(gain=0, share=0.10, among="wrong"),
    "equal; 2% of both lost at random": World(gain=0, share=0.02, side="both"),
    "equal; 5% of new's lost at random": World(gain=0, share=0.05),
    "equal; 5% of old's answers lost, all right": World(gain=0, share=0.05, side="old", among="right"),
    "equal; 5% of old's answers lost, all right; models nearly alike": World(
        gain=0, share=0.05, side="old", among="right", spread=5.0
    ),
    "better; none missing": World(gain=EFFECT, share=0),
    "better; 0.5% of both lost at random": World(gain=EFFECT, share=0.005, side="both"),
    "better; 1% of both lost at random": World(gain=EFFECT, share=0.01, side="both"),
    "better; 2% of both lost at random": World(gain=EFFECT, share=0.02, side="both"),
    "better; 5% of both lost at random": World(gain=EFFECT, share=0.05, side="both"),
    "better; 2% of new's lost at random": World(gain=EFFECT, share=0.02),
    "better; 5% of new's lost at random": World(gain=EFFECT, share=0.05),
    "gate, 6 points worse, margin 2; none missing": World(gain=-0.06, share=0, is_gate=True),
    "gate, 6 points worse, margin 2; 10% of new's lost, all wrong": World(
        gain=-0.06, share=0.10, among="wrong", is_gate=True
    ),
    "gate, 2 points worse, margin 2; 6% of new's lost, all wrong": World(
        gain=-0.02, share=0.06, among="wrong", is_gate=True
    ),
    "gate, 2 points worse, margin 2; 5% of old's lost at random": World(
        gain=-0.02, share=0.05, side="old", is_gate=True
    ),
    "gate, no loss, margin 2; none missing": World(gain=0, share=0, is_gate=True),
    "gate, no loss, margin 2; 2% of both lost at random": World(gain=0, share=0.02, side="both", is_gate=True),
    "gate, 2 points worse, margin 2; 2% of both lost at random": World(
        gain=-0.02, share=0.02, side="both", is_gate=True
    ),
}
# the baseline's right answers lost: what both ways do not bound (5.4-7% are expected where models are nearly alike)
EXEMPT = tuple(name for name in WORLDS if "old's answers lost, all right" in name)


def draw_tables(world: World, rng: np.random.Generator) -> Dataset:
    """Grades of two conditions, of which some are lost."""
    hard = world.spread * rng.normal(size=(ITEMS, 1))
    cut = np.sqrt(1 + world.spread**2) * ndtri([0.7, 0.7 + world.gain])
    chance = ndtr(cut - hard)
    right = (rng.random((ITEMS, 2)) < chance).astype(float)
    lost = np.zeros(right.shape, dtype=bool)
    for k, name in enumerate(NAMES):
        if world.side in (name, "both"):
            pool = {"wrong": right[:, k] == 0, "right": right[:, k] == 1, "all": right[:, k] >= 0}[world.among]
            places = np.flatnonzero(pool)
            number = min(round(world.share * ITEMS), len(places))
            lost[rng.choice(places, number, replace=False), k] = True
    kind = np.where(lost, rng.integers(1, 4, size=lost.shape), 0)
    return memory_tables(
        {"accuracy": np.where(kind >= 2, np.nan, right)}, conditions=NAMES, is_there=kind != 1, failed=kind == 3
    )


def shown_side(world: World, tables: Dataset, missing: MissingPolicy) -> Literal["better", "worse", ""]:
    """Whether `new` is shown to be better (its gate: met) or worse (violated), or neither."""
    policy = Policy(missing=missing)
    if world.is_gate:
        outcome = run_gate(margin_plan(tables, MARGIN), tables, policy=policy).outcome
        return "better" if outcome is Verdict.VERIFIED else "worse" if outcome is Verdict.REFUTED else ""
    (question,) = page_questions(tables).questions
    (claim,) = decide([evidence(tables, question, policy)])
    if claim.verdict is not Verdict.VERIFIED:
        return ""
    return "better" if (claim.estimate or 0.0) > 0 else "worse"


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether `new` is shown better and worse, both ways and ignoring what is missing."""
    world = WORLDS[cell["world"]]
    ways: tuple[MissingPolicy, ...] = ("both-ways", "at-random")
    tables = draw_tables(world, rng)
    found = {way: shown_side(world, tables, way) for way in ways}
    return {f"{way} {side} %": found[way] == side for way in ways for side in ("better", "worse")}


if __name__ == "__main__":
    run_study(__file__, [{"world": name} for name in WORLDS], trial, trials=2000)
