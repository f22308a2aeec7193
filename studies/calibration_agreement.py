"""How often draws of a calibrated model are said to agree more or less often than they are right.

100 questions of five classes; the truth is one more draw of the model's own law (temperature 1), or the model is
sharper than that (2). Refusals fall at random.
"""

import numpy as np
from driver import Cell, run_study
from scipy.stats import ttest_1samp

from richter.calibration import agreement_gap

CELLS = [
    {"draws": draws, "temperature": temperature, "refused": refused}
    for draws in (5, 10, 20)
    for temperature, refused in ((1.0, 0.0), (1.0, 0.2), (2.0, 0.0))
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a difference is shown at 5%."""
    law = rng.dirichlet(np.full(5, 0.5), size=100)
    sharp = law ** cell["temperature"] / np.sum(law ** cell["temperature"], axis=1, keepdims=True)
    truth = (rng.random((100, 1)) > np.cumsum(law, axis=1)).sum(axis=1)
    drawn = (rng.random((100, cell["draws"], 1)) > np.cumsum(sharp, axis=1)[:, None]).sum(axis=2)
    labels = np.where(rng.random(drawn.shape) < cell["refused"], -1, drawn)
    found = agreement_gap(labels, np.where(labels < 0, np.nan, drawn == truth[:, None]))
    return {"shown %": ttest_1samp(found.agreement - found.right, 0.0).pvalue <= 0.05}


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=1000)
