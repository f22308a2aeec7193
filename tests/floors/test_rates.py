import math

import numpy as np
import pytest
from scipy.stats import binom

from richter.claims import tango
from richter.errors import InputError
from richter.floors import (
    PRESETS,
    accuracy_floor,
    active_floor,
    bias_variance_bins,
    compose,
    depth_limit,
    detection_limit,
    detection_power,
    effective_n,
    group_labels,
    half_life,
    labels_needed,
    le_cam,
    paired_gap_labels,
    passive_floor,
    phase,
    proportion_labels,
    zero_error_labels,
)

# Table 1: benchmark, n, e, floor at L = 1 as printed.
TABLE_1 = [
    ("MMLU per subject", 250, 0.15, 0.0843),
    ("MMLU", 14_042, 0.15, 0.0220),
    ("TruthfulQA", 817, 0.40, 0.0788),
    ("BBQ per category", 500, 0.30, 0.0843),
    ("ToxiGen", 940, 0.25, 0.0643),
    ("HumanEval", 164, 0.30, 0.1223),
    ("SWE-bench Verified", 500, 0.70, 0.1119),
    ("GPQA Diamond", 198, 0.50, 0.1362),
    ("WinoGender", 720, 0.10, 0.0518),
    ("GSM8K", 1_319, 0.08, 0.0393),
    ("ARC-Challenge", 1_172, 0.10, 0.0440),
]

# Table 4: N, e, L and floor as printed. e has three digits and L two, so a floor may be off by
# (0.0005 / e + 0.005 / L) / 3 of itself, plus its own rounding.
TABLE_4 = [
    (14_042, 0.160, 1.61, 0.0264),
    (14_042, 0.273, 1.00, 0.0269),
    (14_042, 0.165, 5.00, 0.0389),
    (817, 0.234, 2.84, 0.0933),
    (817, 0.656, 3.36, 0.1391),
    (817, 0.250, 3.64, 0.1036),
    (867, 0.054, 5.00, 0.0679),
    (1_171, 0.477, 1.00, 0.0741),
    (1_172, 0.039, 1.00, 0.0322),
    (1_083, 0.113, 1.50, 0.0538),
    (4_625, 0.168, 1.00, 0.0331),
    (9_447, 0.097, 5.00, 0.0372),
    (701, 1.000, 1.00, 0.1126),
    (1_198, 0.208, 5.00, 0.0954),
]

# Table 8: e, c1, m_detect, m_estimate (L = 1, delta = 0.01).
TABLE_8 = [
    (0.01, 0.3780, 15, 10_000),
    (0.02, 0.3638, 27, 20_000),
    (0.05, 0.3474, 61, 50_000),
    (0.10, 0.3326, 111, 100_000),
    (0.15, 0.3206, 155, 150_000),
    (0.20, 0.3093, 192, 200_000),
    (0.25, 0.2982, 223, 250_000),
    (0.30, 0.2873, 248, 300_000),
    (0.35, 0.2759, 267, 350_000),
]


@pytest.mark.parametrize(("name", "n", "e", "floor"), TABLE_1)
def test_table_1_against_paper(name: str, n: int, e: float, floor: float) -> None:
    assert passive_floor(n, e).value == pytest.approx(floor, abs=6e-5)


@pytest.mark.parametrize(("n", "e", "smooth", "floor"), TABLE_4)
def test_table_4_against_paper(n: int, e: float, smooth: float, floor: float) -> None:
    slack = floor * (0.0005 / e + 0.005 / smooth) / 3 + 5e-5
    assert passive_floor(n, min(e, 1.0), lipschitz=smooth).value == pytest.approx(floor, abs=slack)


@pytest.mark.parametrize(("e", "constant", "detect", "estimate"), TABLE_8)
def test_table_8_against_paper(e: float, constant: float, detect: int, estimate: int) -> None:
    assert le_cam(1000, e).constant == pytest.approx(constant, abs=5e-5)
    needed = labels_needed(0.01, e)
    assert needed.detection_bound == detect
    assert needed.estimation == estimate


def test_table_7_against_paper() -> None:
    printed = {
        "eu-ai-act": (1_250_000, 25_000, 1.8),
        "nist-rmf": (1_500_000, 15_000, 3.0),
        "fda-samd": (3_200_000, 32_000, 4.5),
    }
    for key, (total, active, gap) in printed.items():
        labels = PRESETS[key].labels()
        assert (labels.total, labels.active_rate.value) == (total, active)
        assert labels.total / PRESETS[key].available == pytest.approx(gap, abs=0.05)


def test_worked_examples_against_paper() -> None:
    assert compose([2, 2], delta=0.05, error_rate=0.05).lipschitz == 5
    assert compose([3, 3], delta=0.05, error_rate=0.05).lipschitz == 10
    assert compose([2] * 3, delta=0.05, error_rate=0.05).lipschitz == 9
    assert compose([3] * 3, delta=0.05, error_rate=0.05).lipschitz == 28
    medical = half_life(0.02, 0.01)
    assert medical.expires_after == pytest.approx(2)
    assert medical.labels_per_unit == pytest.approx(3_125)
    assert half_life(0.01, 0.1).expires_after * 7 * 24 == pytest.approx(16.8)
    assert group_labels(0.02, 0.05, min_share=0.05).smallest_group == 20 * labels_needed(0.02, 0.05).estimation


def test_numbers_of_the_paper_that_its_formulas_do_not_give() -> None:
    """Each line: the formula's value, and the printed one it is not."""
    mmlu = passive_floor(14_042, 0.16, lipschitz=1.4).value
    assert mmlu == pytest.approx(0.02517, abs=1e-5)  # printed: 0.028
    assert mmlu / accuracy_floor(14_042, 0.16) == pytest.approx(4.07, abs=0.01)  # printed: 4.7
    ratio = passive_floor(10_000, 0.16, lipschitz=2.5).value / active_floor(10_000, 0.16).value
    assert ratio == pytest.approx(8.55, abs=0.01)  # section 5: about 5
    parametric = 10_000**-0.5 / passive_floor(10_000, 0.05).value
    assert parametric == pytest.approx(0.585, abs=0.001)  # Appendix N: 0.05
    assert half_life(0.02, 0.02 / 6).labels_per_unit == pytest.approx(1_042, abs=1)  # content moderation: 620
    # The Lipschitz columns of tables 4 and 5 disagree on the same runs (1.61 and 1.41, 1.00 and 2.01, 5.00 and 2.45).
    for e, four, five in ((0.160, 1.61, 1.41), (0.273, 1.00, 2.01), (0.165, 5.00, 2.45)):
        apart = passive_floor(14_042, e, lipschitz=four).value / passive_floor(14_042, e, lipschitz=five).value
        assert abs(apart - 1) > 0.04


def test_active_rate_is_not_called_proved() -> None:
    rate = active_floor(10_000, 0.16)
    assert float(rate) == pytest.approx(0.004)
    assert rate.to_dict()["proved"] is False
    assert "constant 1" in rate.note


def test_accuracy_floor_by_hand() -> None:
    assert accuracy_floor(100, 0.2) == pytest.approx(0.08)
    assert accuracy_floor(100, 0.2, conditions=2) == pytest.approx(0.08 * math.sqrt(2))


def test_bins_and_phase_by_hand() -> None:
    assert bias_variance_bins(8_000, 0.008) == 100
    assert bias_variance_bins(8_000, 0.008, lipschitz=8) == 400
    assert (phase(50, 0.01), phase(500, 0.01), phase(5000, 0.01)) == ("below", "near", "above")


def test_le_cam_by_hand() -> None:
    # One label at e = 1/2: overlap 1 - delta, risk delta (1 - delta) / 2, largest 1/8 at delta = 1/2.
    result = le_cam(1, 0.5)
    assert result.delta == pytest.approx(0.5, abs=1e-4)
    assert result.bound == pytest.approx(0.125, abs=1e-6)


def test_detection_power_by_hand() -> None:
    # Ten labels at e = 0.1: P(X >= 3) = 0.0702, P(X >= 4) = 0.0128, so 4 errors reject at 5%.
    by_sum = sum(math.comb(10, k) * 0.5**10 for k in range(4, 11))
    assert float(detection_power(10, 0.1, 0.4)) == pytest.approx(by_sum)


def test_detection_limit_and_labels_agree() -> None:
    needed = labels_needed(0.02, 0.1).detection_test
    assert needed is not None
    enough, half = detection_limit(needed, 0.1), detection_limit(needed // 2, 0.1)
    assert enough is not None
    assert half is not None
    assert enough <= 0.02 + 1e-9 < half
    assert detection_limit(1, 0.5) is None  # one label: P(wrong) = 1/2 never reaches 5%
    assert labels_needed(0.02, 0.99).detection_test is None
    beyond = detection_power([needed + k for k in range(40)], 0.1, 0.02)
    assert (beyond >= 0.8).all()


def test_zero_errors_by_hand() -> None:
    assert zero_error_labels(0.01) == 299  # 0.99^299 = 0.0495
    assert zero_error_labels(0.05) == 59
    assert zero_error_labels(0.05, errors=1) == 93
    assert proportion_labels(0.03, 0.5) == 1068


def mcnemar_power(n: int, gap: float, discordance: float) -> float:
    """Exact: over the number of discordant items, the chance that McNemar's 5% score test finds the better one."""
    better = (discordance + gap) / 2 / discordance
    total = 0.0
    for k in range(1, n + 1):
        share = binom.pmf(k, n, discordance)
        if share > 1e-9:
            least = math.floor((k + 1.959964 * math.sqrt(k)) / 2) + 1  # (2 x - k) / sqrt(k) > z
            total += share * binom.sf(least - 1, k, better)
    return float(total)


@pytest.mark.parametrize(("gap", "discordance"), [(0.05, 0.2), (0.1, 0.3), (0.05, 0.12), (0.03, 0.1)])
def test_paired_labels_give_their_power_by_enumeration(gap: float, discordance: float) -> None:
    n = paired_gap_labels(gap, discordance)
    # Never short of what is promised but for the teeth of counts (1 over the root of the discordant items, a fraction
    # of a percent here), and at most a few points over.
    assert 0.795 < mcnemar_power(n, gap, discordance) < 0.84


def test_paired_labels_are_enough_where_nearly_all_disagreement_is_gap() -> None:
    assert mcnemar_power(paired_gap_labels(0.05, 0.06), 0.05, 0.06) > 0.80  # 11 discordant items: on the safe side


@pytest.mark.parametrize(("margin", "discordance"), [(0.05, 0.2), (0.05, 0.06), (0.1, 0.3)])
def test_equivalence_labels_give_their_power_recovers_truth(margin: float, discordance: float) -> None:
    # 500 samples of two equal conditions: the share found equivalent is known to 1.8%; four of these are allowed.
    n = paired_gap_labels(margin, discordance, equivalence=True)
    cells = np.random.default_rng(1).multinomial(n, [discordance / 2, discordance / 2, 1 - discordance], size=500)
    found = [tango(int(b), int(a), n, level=0.9) for a, b, _ in cells]  # two one-sided tests at 5%
    assert np.mean([-margin < i.low and i.high < margin for i in found]) == pytest.approx(0.80, abs=0.07)


def test_depth_limit_by_hand() -> None:
    # M d^3 / e = 1,000,000 x 1e-6 / 0.1 = 10: 2^3 + 1 = 9 fits, 2^4 + 1 does not; the paper's log2(10) gives 3 too.
    assert depth_limit(2, labels=1_000_000, delta=0.01, error_rate=0.1) == 3
    # 8: the paper's formula gives 3, but 2^3 + 1 = 9 labels' worth does not fit.
    assert depth_limit(2, labels=800_000, delta=0.01, error_rate=0.1) == 2
    assert depth_limit(2, labels=100, delta=0.01, error_rate=0.1) == 0
    assert depth_limit(0.5, labels=1_000_000, delta=0.01, error_rate=0.1) is None


def test_discontinuous_stage_is_unverifiable() -> None:
    result = compose([2, math.inf], delta=0.05, error_rate=0.05)
    assert not result.verifiable
    assert result.labels is None


def test_effective_n_by_hand() -> None:
    assert effective_n(1000, autocorrelation=0.5) == pytest.approx(1000 / 3)
    assert effective_n(1000, cluster_size=5, intraclass=0.25) == pytest.approx(500)


@pytest.mark.parametrize(
    "call",
    [
        lambda: passive_floor(0, 0.1),
        lambda: passive_floor(10, 16),
        lambda: passive_floor(10, 0.1, lipschitz=-1),
        lambda: active_floor(10, float("nan")),
        lambda: labels_needed(0.0, 0.1),
        lambda: compose([], delta=0.1, error_rate=0.1),
        lambda: effective_n(10, cluster_size=2),
    ],
)
def test_impossible_arguments_are_refused(call: object) -> None:
    with pytest.raises(InputError):
        call()  # type: ignore[operator]
