"""A seeded sample of the studies on families and on missing grades: their worlds, through the path of today."""

import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.trials import n_trials

sys.path.insert(0, str(Path(__file__).parents[2] / "studies"))
import core_family
import group_worlds
import missing_grades


def most(n: int, rate: float = 0.055) -> float:
    """The percentage that a rate exceeds in fewer than one of ten thousand samples of n."""
    return 100 * (rate + 3.72 * (rate * (1 - rate) / n) ** 0.5)


@pytest.mark.sampled(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", core_family.PAGES)
def test_each_family_of_a_page_keeps_its_level(name: str) -> None:
    row = core_family.page_row(name, 100)
    assert row["main_false_percent"] <= most(100)
    assert row["other_false_percent"] <= most(100)
    if "mean_severity" in core_family.PAGES[name]:
        assert row["other_power_percent"] > 25  # D14: 2% and 0% where other measures waited for the main one


def test_margins_cost_a_pair_nothing() -> None:
    row = core_family.margin_row("pair: at the margin 3.6", 80)
    assert row["main_false_percent"] <= most(400)
    assert row["verified_percent"] > 85


@pytest.mark.sampled(6)
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in missing_grades.WORLDS if name not in missing_grades.EXEMPT])
def test_missing_grades_show_nothing_false(name: str) -> None:
    world, n = missing_grades.WORLDS[name], n_trials(100)
    row = missing_grades.world_row(name, n)
    better, worse = row["both-ways better %"], row["both-ways worse %"]
    if world.is_gate:
        assert world.gain == 0 or better <= most(n)
    elif world.gain == 0:
        assert better + worse <= most(n)
    else:
        assert worse == 0


@pytest.mark.parametrize(
    ("part", "number"), [("crossed", 0), ("crossed", 13), ("uneven", 1), ("unpaired", 6), ("other", 1)]
)
def test_groups_and_options_show_nothing_false(part: str, number: int) -> None:
    cells, run = group_worlds.PARTS[part]
    cell, n = list(cells())[number], 200
    row = run(cell, n, np.random.default_rng(20_261_117))
    assert row["false"] <= most(n)
    assert row.get("undecided", 0.0) == 0.0


@pytest.mark.parametrize("groups", [8, 16, 20])
def test_gates_hold_where_one_in_eight_groups_fails_wholly(groups: int) -> None:
    cell = {"part": "gates", "groups": groups, "size": 20, "spread": 0.3, "loss": "whole groups"}
    row = group_worlds.run_gates(cell, 200, np.random.default_rng(20_261_117))
    assert row["false"] <= most(200)
    assert row["power"] > {8: 8, 16: 30, 20: 55}[groups]
