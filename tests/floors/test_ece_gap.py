import numpy as np
import pytest
from scipy.special import ndtr

from richter.floors import ece_gap, ece_path


def draw(rng: np.random.Generator, n: int, gaps: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Two simulated conditions on the same items: correlated confidences in [0.5, 1], right less often by their gap."""

    def correlated() -> np.ndarray:
        return ndtr((rng.normal(size=(n, 1)) + rng.normal(size=(n, 2))) / np.sqrt(2))

    c, u = 0.5 + 0.4 * correlated(), correlated()
    return c, (u < c - np.array(gaps)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [(0.0, 0.0), (0.0, 0.08), (0.08, 0.08)])
def test_interval_covers_the_difference_recovers_truth(
    gaps: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    # 200 samples of 500 items: fewer than 178 covered has probability 0.0005 at 95%. The grid is for p-values only.
    monkeypatch.setattr("richter.floors._ece_gap._GRID", np.array([0.5]))
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        c, a = draw(rng, 500, gaps)
        covered += (gaps[1] - gaps[0]) in ece_gap(*(ece_path(c[:, k], a[:, k]) for k in (0, 1))).interval
    assert covered >= 178


def test_p_agrees_with_the_interval_and_mirrors(rng: np.random.Generator) -> None:
    for gap in (0.0, 0.04, 0.08, 0.15):
        c, a = draw(rng, 600, (0.0, gap))
        first, second = (ece_path(c[:, k], a[:, k]) for k in (0, 1))
        test, back = ece_gap(first, second, margin=0.1), ece_gap(second, first, margin=0.1)
        assert (test.p < 0.05) == (0 not in test.interval)
        assert test.delta == -back.delta
        assert test.p == pytest.approx(back.p)
        assert test.interval.low == pytest.approx(-back.interval.high)
        assert test.p_equivalence == pytest.approx(back.p_equivalence)


def test_a_condition_against_itself_is_not_different(rng: np.random.Generator) -> None:
    c, a = draw(rng, 400, (0.1, 0.1))
    path = ece_path(c[:, 0], a[:, 0])
    result = ece_gap(path, path)
    assert result.delta == 0
    assert result.p == 1
