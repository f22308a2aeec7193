"""The error rate of each category of a base from every answer: a model predicts, the random sample corrects."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from richter._special import stdtrit
from richter.records import Interval
from richter.store import RunLike
from richter_audit.ascent._frame import drawable_rows
from richter_audit.ascent._population import PopulationRate, effective_wilson
from richter_audit.ascent._summary import read_search_records
from richter_audit.knowledge import KnowledgeBase

__all__ = ["category_rates", "search_categories"]

SCALE = 0.1  # of (1 - cosine)
PRIOR = 2.0  # answers' worth of the base's rate in a prediction
TRUST = 10.0  # answers' worth of the variance without a model
BLOCK = 4096


def category_rates(
    errors: Mapping[int, float],
    sample: Sequence[int],
    vectors: NDArray[np.floating],
    codes: NDArray[np.int64],
    *,
    among: NDArray[np.bool_] | None = None,
    level: float = 0.95,
) -> dict[int, PopulationRate]:
    """The mean error of each category that the random sample met, model-assisted (Sarndal, Swensson and Wretman 1992).

    rate = mean of m over the category + mean of (y - m) over its part of the random sample: m predicts a paragraph's
    error from all answers near it but its own (a kernel mean over cosine and category, with two answers' worth of the
    base's rate), so that what the search chose is used and its bias is taken out by the sample. The interval is
    Wilson's on the effective size n p (1 - p) / s^2 with s^2 the residual variance, held towards p (1 - p) by ten
    answers' worth (whence Student's quantile), and without the share f of the category that was drawn.
    """
    known = np.array([row for row, error in errors.items() if not math.isnan(error)], dtype=np.int64)
    drawn = [row for row in sample if not math.isnan(errors.get(row, math.nan))]
    asked = np.ones(len(codes), dtype=np.bool_) if among is None else among
    base_rate = float(np.mean([errors[row] for row in drawn])) if drawn else 0.0
    rows = np.flatnonzero(asked & np.isin(codes, codes[drawn]))
    predicted = _predict_errors(rows, errors, known, vectors, codes, base_rate)
    size = int(codes.max()) + 1
    total, count = (np.bincount(codes[rows], weights=w, minlength=size) for w in (predicted, None))
    own = dict(zip(rows.tolist(), predicted.tolist(), strict=True))
    asked_of = np.bincount(codes[known], minlength=size)
    rates = {}
    for code in np.unique(codes[drawn]):
        mine = [row for row in drawn if codes[row] == code]
        residual = np.array([errors[row] - own[row] for row in mine])
        rate = float(np.clip(total[code] / count[code] + residual.mean(), 0, 1))
        rates[int(code)] = PopulationRate(
            error_rate=rate,
            interval=_interval(rate, residual, len(mine), int(count[code]), level),
            n=int(asked_of[code]),
            size=int(count[code]),
        )
    return rates


def _predict_errors(
    rows: NDArray[np.int64],
    errors: Mapping[int, float],
    known: NDArray[np.int64],
    vectors: NDArray[np.floating],
    codes: NDArray[np.int64],
    base_rate: float,
) -> NDArray[np.float64]:
    """The error of each paragraph as the answers near it say, without its own."""
    y = np.array([errors[int(row)] for row in known])
    x = np.asarray(vectors[known], dtype=np.float32)
    predicted = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        near = np.exp((np.asarray(vectors[block], dtype=np.float32) @ x.T - 1) / SCALE)
        near += 0.1 * (codes[block][:, None] == codes[known][None, :])
        near[block[:, None] == known[None, :]] = 0.0  # not by its own answer
        predicted[start : start + BLOCK] = (near @ y + PRIOR * base_rate) / (near.sum(axis=1) + PRIOR)
    return predicted


def _interval(rate: float, residual: NDArray[np.float64], n: int, size: int, level: float) -> Interval:
    p = (rate * n + 0.5) / (n + 1)  # a rate of 0 or 1 by few answers is not known to be one
    spread = float(np.square(residual - residual.mean()).sum()) if n > 1 else 0.0
    variance = (spread + TRUST * p * (1 - p)) / (max(n - 1, 0) + TRUST)
    effective = n * p * (1 - p) / max(variance * max(1 - n / size, 1 / (n + 1)), 1e-9)  # all drawn is not certainty
    z = float(stdtrit(n - 1 + TRUST, 0.5 + level / 2))  # as many as the variance rests on
    return effective_wilson(rate, effective, z, level=level, method="wilson, model-assisted effective size")


def search_categories(run: RunLike, base: KnowledgeBase, *, level: float = 0.95) -> dict[str, PopulationRate]:
    """`category_rates` of a search, by name."""
    search = read_search_records(run, base)
    sample, errors = search.finished_sample, search.errors
    if search.frame.kind == "chosen" or all(math.isnan(errors[row]) for row in sample):
        return {}
    names, codes = base.categories
    among = drawable_rows(base, search.note["generator"], int(search.note.get("questions") or 0))
    rates = category_rates(errors, sample, base.vectors, codes, among=among, level=level)
    return {names[code]: rate for code, rate in rates.items()}
