"""The verification-tax paper's rule: a gap below the floor is a tie.

Accuracy: floor 2 sqrt(e (1 - e) / n), e the two's mean error rate. Calibration: ECE over B = (L^2 n / e)^(1/3) bins
against (L e / n)^(1/3), L by its recipe (20 bins with 30 answers, the upper quartile of slopes, at most 5).
"""

import numpy as np
from play import claim, sides, versus

requires = "numpy==2.4.6"


def answer(world, table, way):
    if world["question"] == "miscalibrated":
        sure, right = np.array(table["confidence"]), np.array(table["correct"], dtype=float)
        n, wrong = len(sure), max(1 - right.mean(), 1 / len(sure))
        slope = _lipschitz(sure, right)
        bins = max(int((slope**2 * n / wrong) ** (1 / 3)), 1)
        code = np.minimum((sure * bins).astype(int), bins - 1)
        ece = np.abs(np.bincount(code, weights=right - sure)).sum() / n
        return [claim(ece > (slope * wrong / n) ** (1 / 3), ece)]
    found = sides(world, table)
    if found is None or "correct" not in table:
        return None
    mean = {name: np.mean([np.mean(v) for v in items.values()]) for name, items in found.items()}
    (base, first), *_ = found.items()
    claims = []
    for name, _ in versus(found):
        wrong = 1 - (mean[base] + mean[name]) / 2
        gap, floor = mean[name] - mean[base], 2 * np.sqrt(wrong * (1 - wrong) / len(first))
        claims.append(claim(abs(gap) > floor, gap, name=name))
    return claims


def _lipschitz(sure, right):
    code = np.minimum((sure * 20).astype(int), 19)
    size = np.bincount(code, minlength=20)
    use = np.flatnonzero(size >= 30)
    if len(use) < 2:
        return 1.0
    centre = (use + 0.5) / 20
    gap = np.bincount(code, weights=right, minlength=20)[use] / size[use] - centre
    return float(np.clip(np.quantile(np.abs(np.diff(gap) / np.diff(centre)), 0.75), 1e-3, 5))
