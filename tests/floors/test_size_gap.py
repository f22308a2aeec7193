"""`richter size gap` from data of two conditions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct
from scipy.stats import t as student

from helpers.outcomes import outcomes
from richter.claims import Shares, compare_outcomes, units_for
from richter.cli import main
from richter.records import Verdict


def test_size_gap_from_a_pilot_says_what_is_cheaper(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ["item,condition,draw,correct"]
    for i in range(200):
        for k, name in enumerate(("old", "new")):
            rows += [f"q{i},{name},{d},{int(rng.random() < 0.6 + 0.1 * k)}" for d in range(2)]
    path = tmp_path / "pilot.csv"
    path.write_text("\n".join(rows))
    with pytest.raises(SystemExit) as stop:
        main(["size", "gap", str(path), "old", "new", "--margin", "5pt", "--cost-item", "9"])
    assert not stop.value.code
    out = capsys.readouterr().out
    # draws alone vary: 2 x 0.24 / 2 an item, at (2.80 / 0.05)^2
    items = int(out.split(" items", 1)[0].replace(",", ""))
    assert items == pytest.approx(0.23 * (2.8016 / 0.05) ** 2, rel=0.15)
    assert "of the variance" in out
    assert "more draws" in out  # an item costs nine draws, and items hardly vary


def size(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, int]:
    with pytest.raises(SystemExit) as stop:
        main(["size", *words, "--json", "-"])
    assert not stop.value.code
    found: dict[str, int] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(("discordance", "gap"), [("0.2", 0.0), ("0.2", 0.05)])
def test_a_gap_is_settled_either_way_with_the_power_said_recovers_truth(
    rng: np.random.Generator, capsys: pytest.CaptureFixture[str], discordance: str, gap: float
) -> None:
    """`labels` by the verdict itself: equivalence where there is no gap, a difference where it is as large as that."""
    n, d = size(capsys, "gap", "--margin", "5pt", "--discordance", discordance)["labels"], float(discordance)
    wanted = Verdict.VERIFIED if gap else Verdict.EQUIVALENT
    settled, studies = 0, 500
    for _ in range(studies):
        u = rng.random(n)
        table = np.ones((n, 2))
        table[u < (d + gap) / 2, 0] = 0
        table[u > 1 - (d - gap) / 2, 1] = 0
        (claim,) = compare_outcomes([outcomes(table)], margins={"accuracy": 0.05}).claims
        settled += claim.verdict is wanted
    assert settled / studies > 0.8 - 3 * math.sqrt(0.8 * 0.2 / studies)


@pytest.mark.parametrize("variance", [0.5, 2.0, 10.0, 300.0])
@pytest.mark.parametrize("tail", [0.025, 0.0025])
def test_units_of_a_t_test_against_the_noncentral_t(variance: float, tail: float) -> None:
    """By z 3 groups of a variance of 0.5 were enough for a gap of 1, and a t test of 3 decides nothing."""
    n = units_for(variance, 1.0, tail=tail, power=0.8, freedom=1.0)

    def power(n: int) -> float:
        return float(nct.sf(student.isf(tail, n - 1), n - 1, math.sqrt(n / variance)))

    assert power(n) > 0.79
    assert n == 5 or power(n - 1) < 0.8


def test_items_in_few_groups_are_sized_by_t_by_hand() -> None:
    shares = Shares(
        conditions=("a", "b"), groups=0.02, items=0.1, draws=0.3, n_items=400, n_groups=20, draws_per_item=3.0,
        items_per_group=20.0,
    )  # fmt: skip
    items = shares.items_for(0.25, 3, alpha=0.05, power=0.8)
    per_item, groups = 0.02 * 20 + 0.1 + 0.3 / 3, items / 20
    reach = student.isf(0.025, groups - 1) + student.isf(0.2, groups - 1)
    assert items >= per_item * (reach / 0.25) ** 2 > items - 20
    assert shares.items_for(0.9, 3, alpha=0.05, power=0.8) == 100  # five groups: four degrees of freedom


def test_clusters_with_few_errors_count_once_as_in_a_gate_by_hand(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("error-rate", "--below", "1%", "--cluster-size", "10", "--intraclass", "0.2")
    assert size(capsys, *words)["labels"] == 2990  # 299 groups of 10; the design effect said 838 items
    six = size(capsys, *words, "--errors", "6")["labels"]
    assert six == pytest.approx(1182 * 2.8, rel=0.02)
    assert six > 1182 * 2.8  # and t of 330 groups in place of z


def test_a_pair_is_sized_by_the_ratio_that_decides_it_whatever_others_cost(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    """One free item of a third condition made the margin of 10% one of 0.10 dollars."""
    cost = np.exp(rng.normal(size=(60, 3))) * 20
    cost[5, 2] = 0.0
    sizes = []
    for number in (2, 3):
        rows = ["item,condition,correct,money_usd"]
        rows += [f"q{i},{'abc'[k]},1,{cost[i, k]}" for i in range(60) for k in range(number)]
        path = tmp_path / f"{number}.csv"
        path.write_text("\n".join(rows))
        sizes.append(size(capsys, "gap", str(path), "a", "b", "--on", "money", "--margin", "10%")["labels"])
    assert sizes[0] == sizes[1]
