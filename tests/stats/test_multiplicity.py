import numpy as np
import pytest
from scipy.stats import false_discovery_control

from richter.errors import InputError
from richter.stats import benjamini_hochberg, holm


def test_benjamini_hochberg_against_scipy(rng: np.random.Generator) -> None:
    p = rng.random(200) ** 2
    np.testing.assert_allclose(benjamini_hochberg(p), false_discovery_control(p), rtol=1e-12)


def test_holm_by_hand() -> None:
    # sorted 0.01, 0.02, 0.04 times 3, 2, 1 = 0.03, 0.04, 0.04
    np.testing.assert_allclose(holm([0.04, 0.01, 0.02]), [0.04, 0.03, 0.04])


def test_undefined_p_is_refused() -> None:
    with pytest.raises(InputError, match="p-values"):
        holm([0.1, float("nan")])
