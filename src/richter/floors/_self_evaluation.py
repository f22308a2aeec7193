"""Does confidence know how wrong it is? The paper's test that self-evaluation says nothing of calibration."""

import dataclasses
import itertools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from richter.errors import TooFewErrors
from richter.records import Result
from richter.stats import Floats, holm

__all__ = ["SelfEvaluation", "self_evaluation", "self_evaluation_verdict"]


_EXACT = 7  # up to 7! = 5,040 orders are all looked at


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelfEvaluation(Result):
    """Spearman's rho over confidence bins, of confidence with |gap| and, as positive control, with accuracy.

    `p` are two-sided permutation p-values. A gap correlation that is not significant while the control is says that
    confidence tells right from wrong but not how wrong itself is. With few bins neither can be significant:
    `smallest_p` is the least the number of bins allows.
    """

    rho_gap: float
    p_gap: float
    rho_accuracy: float
    p_accuracy: float
    bins: int
    smallest_p: float
    n: int


def self_evaluation(
    confidence: ArrayLike,
    correct: ArrayLike,
    *,
    rng: np.random.Generator,
    bins: int = 20,
    min_count: int = 30,
    n_resamples: int = 10_000,
) -> SelfEvaluation:
    """Correlate bins' mean confidence with |accuracy - mean confidence| and with accuracy (section 3, Appendix F).

    Bins as for the Lipschitz constant. The permutation test shuffles bins; up to seven bins all orders are counted.
    A rank correlation without variation (all gaps equal) is undefined and given as 0 with p = 1.
    """
    c, a = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=np.float64)
    index = np.minimum((c * bins + 1e-9).astype(np.intp), bins - 1)
    count = np.bincount(index, minlength=bins)
    kept = count >= min_count
    number = int(np.sum(kept))
    if number < 3:
        raise TooFewErrors(
            f"{number} confidence bins hold {min_count} items; a correlation over bins needs 3.", n=number, needed=3
        )
    mean = np.bincount(index, weights=c, minlength=bins)[kept] / count[kept]
    accuracy = np.bincount(index, weights=a, minlength=bins)[kept] / count[kept]
    rho_gap, p_gap = _spearman(mean, np.abs(accuracy - mean), rng, n_resamples)
    rho_accuracy, p_accuracy = _spearman(mean, accuracy, rng, n_resamples)
    return SelfEvaluation(
        rho_gap=rho_gap,
        p_gap=p_gap,
        rho_accuracy=rho_accuracy,
        p_accuracy=p_accuracy,
        bins=number,
        smallest_p=2 / math.factorial(number) if number <= _EXACT else 1 / (n_resamples + 1),
        n=len(c),
    )


def self_evaluation_verdict(found: Mapping[str, SelfEvaluation], *, level: float = 0.95) -> str:
    """What the test says over all conditions, against the paper's claim that confidence says nothing of its gap.

    At 1 - level each, as the paper counts, and after Holm over the conditions. The estimated |gap| of a bin is the
    noisier the nearer its accuracy is to one half, so that a calibrated model is called significant too often (13% and
    26% at 5% with the confidences of two real benchmarks; 2% and 5% where the true gap is one constant): read a rank
    correlation of a model that is shown to be miscalibrated.
    """
    alpha = 1 - level
    names = list(found)
    alone = sum(found[n].p_gap <= alpha for n in names)
    adjusted = holm([found[n].p_gap for n in names])
    kept = [n for n, p in zip(names, adjusted, strict=True) if p <= alpha]
    told = (
        f"Confidence goes with the size of its own gap in {alone} of {len(names)} conditions at {100 * alpha:g}% each"
    )
    if kept:
        return f"{told}, after Holm in {', '.join(kept)}: against the paper's claim that it says nothing of it."
    if alone:
        return f"{told}, after Holm in none: neither for nor against the paper's claim that it says nothing of it."
    return f"{told}: as the paper claims, though with few bins little else can be seen."


def _spearman(x: Floats, y: Floats, rng: np.random.Generator, n_resamples: int) -> tuple[float, float]:
    rank_x, rank_y = rankdata(x), rankdata(y)
    rank_x, rank_y = rank_x - rank_x.mean(), rank_y - rank_y.mean()
    scale = math.sqrt(float(rank_x @ rank_x) * float(rank_y @ rank_y))
    if scale == 0:
        return 0.0, 1.0
    seen = float(rank_x @ rank_y) / scale
    if len(x) <= _EXACT:
        orders = np.array(list(itertools.permutations(range(len(x)))))
        beyond = np.abs(rank_y[orders] @ rank_x) / scale >= abs(seen) - 1e-12
        return seen, float(np.mean(beyond))
    orders = rng.permuted(np.tile(np.arange(len(x)), (n_resamples, 1)), axis=1)
    beyond = np.abs(rank_y[orders] @ rank_x) / scale >= abs(seen) - 1e-12
    return seen, float((np.sum(beyond) + 1) / (n_resamples + 1))
