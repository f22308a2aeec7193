"""The ufuncs of scipy.special, which load without the rest of that package."""

import subprocess
import sys

PROGRAM = """
import sys
from richter._special import ndtri, stdtrit
assert "scipy.special" not in sys.modules
import scipy.special, scipy.stats
assert scipy.special.ndtri is ndtri and scipy.special.stdtrit is stdtrit
assert abs(scipy.stats.t.ppf(0.9, 5) - stdtrit(5, 0.9)) < 1e-12
"""


def test_ufuncs_load_alone_and_are_those_of_scipy_against_scipy() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
