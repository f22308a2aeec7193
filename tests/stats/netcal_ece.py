"""Prints the oracle numbers of test_ece.py (needs `pip install netcal`, which brings torch; not run by the tests)."""

import numpy as np
from netcal.metrics import ECE

rng = np.random.default_rng(7)
for n, bins in [(100, 10), (1000, 10), (1000, 15), (14042, 10)]:
    c = rng.random(n)
    a = (rng.random(n) < c**1.5).astype(int)
    print((n, bins), repr(float(ECE(bins=bins).measure(c, a))))
