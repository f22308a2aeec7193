import numpy as np
import pytest

from richter.errors import TooFewErrors
from richter.tail import TailPlan, condition_tail, fit_gpd, stability_scan
from richter.tail._condition import stability_of
from tail.simulated import gpd

PLAN = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2)


def test_scan_of_a_true_gpd_recovers_truth(rng: np.random.Generator) -> None:
    scan = stability_scan(gpd(30_000, 0.2, 1.0, rng))
    assert len(scan.points) == 60
    assert scan.points[0].n_exc == 9000
    assert all(p.n_exc >= 200 for p in scan.points)
    # a GPD is a GPD above every threshold; neighbours share data, so the intervals miss together: allow a fifth
    assert sum(0.2 in p.interval for p in scan.points) >= 48
    assert scan.envelope.low < 0.2 < scan.envelope.high or abs(scan.median - 0.2) < 0.05


def test_scan_leaves_out_thin_thresholds(rng: np.random.Generator) -> None:
    scan = stability_scan(gpd(2000, 0.2, 1.0, rng), quantiles=[0.5, 0.9, 0.95])
    assert [p.q for p in scan.points] == [0.5, 0.9]
    with pytest.raises(TooFewErrors) as caught:
        stability_scan(gpd(100, 0.2, 1.0, rng))
    assert caught.value.needed == 667


def test_band_is_cut_where_exceedances_end_by_hand(rng: np.random.Generator) -> None:
    x = gpd(30_000, 0.0, 1.0, rng)
    stable = condition_tail("x", x, 0.97, PLAN, rng=rng).stability
    assert stable is not None
    assert stable.low is not None
    assert stable.low.q == pytest.approx(0.95)
    assert stable.high is not None
    assert stable.high.n_exc == 500  # q + 0.02 = 0.99 would leave 300
    none = condition_tail("x", x, 0.985, PLAN, rng=rng).stability  # 450 exceedances at q itself
    assert none is not None
    assert none.high is None


def test_chance_of_a_stable_pair_against_review(rng: np.random.Generator) -> None:
    from scipy.special import ndtr

    # q = 0.95, N = 30,000: a perfect pair passes G5 in 96%
    chances = [condition_tail("x", gpd(30_000, 0.0, 1.0, rng), 0.95, PLAN, rng=rng).stability for _ in range(2)]
    assert np.prod([c.chance for c in chances if c]) == pytest.approx(0.96, abs=0.02)
    up = 2 * ndtr(0.05 / np.sqrt(1 / 900 - 1 / 1500)) - 1
    down = 2 * ndtr(0.05 / np.sqrt(1 / 1500 - 1 / 2100)) - 1
    assert (up * down) ** 2 == pytest.approx(0.96, abs=0.005)


@pytest.mark.slow
def test_chance_recovers_truth(rng: np.random.Generator) -> None:
    passed, chance = 0, []
    for _ in range(300):
        x = np.sort(gpd(15_000, 0.0, 1.0, rng))[::-1]
        u = float(np.quantile(x, 0.95))
        s = stability_of(x, 0.95, fit_gpd(x[x > u] - u), PLAN)
        passed += s.largest_move < 0.05
        chance.append(s.chance)
    expected = float(np.mean(chance))
    assert passed / 300 == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 300) + 0.02)
