"""The ufuncs of scipy.special, which load without the rest of that package."""

import subprocess
import sys
from pathlib import Path

import richter

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


def test_only_who_needs_more_than_ufuncs_waits_for_the_package() -> None:
    source = Path(richter.__file__).parents[1]
    waiting = {p.name for p in source.rglob("*.py") if "from scipy.special import" in p.read_text("utf-8")}
    assert waiting == {"_gof.py"}
