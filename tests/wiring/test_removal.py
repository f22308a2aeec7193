"""Losing rows of a condition never makes its gate pass: absent, without a grade, or as failed calls."""

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.memory_tables import memory_tables
from richter.audit import margin_plan, run_gate
from richter.audit._plan import make_plan
from richter.errors import InputError
from richter.evidence import Policy
from richter.records import Verdict
from richter.tables import Dataset

NAMES = ("old", "new")
SHARED = Policy(missing="shared")
KINDS = ("absent", "ungraded", "failed")


def is_met(tables: Dataset, margin: float, rule: str) -> bool:
    """Whether the gate on `new` passes: no worse than `old` by the margin, or wrong at most as often as it says."""
    plan = margin_plan(tables, margin)
    if rule == "below":
        required = [{"metric": "error_rate", "rule": "below", "limit": margin}]
        plan = make_plan("gate", {"candidate": "new", "baseline": "old", "require": required})
    return run_gate(plan, tables).outcome is Verdict.VERIFIED


@st.composite
def worlds(draw: st.DrawFn, *, draws: int = 1, groups: bool = False, weights: bool = False) -> dict[str, Any]:
    """Grades of two conditions, what is missing already, and what is lost besides, of `new`."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items = draw(st.sampled_from((12, 40, 150)))
    shape = (items, 2, draws)
    rates = draw(st.tuples(st.floats(0.3, 1), st.floats(0.3, 1)))
    right = (rng.random(shape) < np.asarray(rates)[None, :, None]).astype(float)
    before = np.where(rng.random(shape) < draw(st.sampled_from((0.0, 0.03, 0.15))), rng.integers(1, 4, size=shape), 0)
    wrong_first = draw(st.sampled_from((0.0, 0.5, 1.0)))  # among the wrong answers, as what hides a loss
    chance = draw(st.floats(0, 1)) * np.where(right == 0, 1.0, 1 - wrong_first)
    lost = np.where(rng.random(shape) < chance, draw(st.integers(1, 3)), 0)
    lost[:, 0] = 0
    if draws > 1 and draw(st.booleans()):  # whole draws, of which nothing is left that tells of them
        lost[:, 1, np.argsort(right[:, 1].mean(axis=0))[: draw(st.integers(1, draws - 1))]] = 1
    return {
        "right": right,
        "before": before,
        "after": np.where((before > 0) & (before != 1), np.where(lost == 1, 1, before), np.maximum(before, lost)),
        "rule": draw(st.sampled_from(("no_worse", "no_worse", "below"))),
        "margin": draw(st.sampled_from((0.02, 0.05, 0.2, 0.5))),
        "more": {
            "group": np.arange(items) // 3 if groups else None,
            "weight": 1.0 + np.arange(items) % 4 if weights else None,
        },
    }


def tables_of(world: dict[str, Any], state: str) -> Dataset:
    """The tables before or after rows were lost."""
    kind, right = world[state], world["right"]
    return memory_tables(
        {"accuracy": np.where(kind >= 2, np.nan, right)},
        conditions=NAMES,
        is_there=kind != 1,
        failed=kind == 3,
        **world["more"],
    )


def never_met_by_losing(world: dict[str, Any]) -> None:
    """The gate that is not met with a row is not met without it."""
    try:
        after = tables_of(world, "after")
        is_met_after = is_met(after, world["margin"], world["rule"])
    except InputError:  # nothing of a condition is left: there is no gate
        return
    if is_met_after:
        assert is_met(tables_of(world, "before"), world["margin"], world["rule"])


@given(worlds())
@settings(max_examples=120)
def test_losing_rows_never_makes_a_gate_pass(world: dict[str, Any]) -> None:
    never_met_by_losing(world)


@given(worlds(draws=3))
@settings(max_examples=100)
def test_losing_draws_never_makes_a_gate_pass(world: dict[str, Any]) -> None:
    never_met_by_losing(world)


@given(worlds(groups=True))
@settings(max_examples=80)
def test_losing_rows_of_groups_never_makes_a_gate_pass(world: dict[str, Any]) -> None:
    never_met_by_losing(world)


@given(worlds(weights=True))
@settings(max_examples=80)
def test_losing_weighted_rows_never_makes_a_gate_pass(world: dict[str, Any]) -> None:
    never_met_by_losing(world)


def test_dropping_the_draws_that_went_badly_does_not_make_a_gate_pass(rng: np.random.Generator) -> None:
    right = (rng.random((150, 2, 3)) < np.array([[0.7, 0.7, 0.7], [0.85, 0.3, 0.3]])).astype(float)
    world = {"right": right, "before": np.zeros(right.shape), "after": np.zeros(right.shape), "more": {}}
    world["after"][:, 1, 1:] = 1
    assert not is_met(tables_of(world, "before"), 0.05, "no_worse")
    after = tables_of(world, "after")
    assert not is_met(after, 0.05, "no_worse")
    assert run_gate(margin_plan(after, 0.05), after, policy=SHARED).outcome is Verdict.VERIFIED
