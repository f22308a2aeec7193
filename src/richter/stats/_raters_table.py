"""The items x raters table that every agreement measure starts from, checked once."""

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError, TooFewErrors
from richter.stats._arrays import Floats, Ints

# Ordinal and nominal measures compare every level with every other; a scale has a few levels, a measurement thousands.
MAX_LEVELS = 200


def ratings_table(table: ArrayLike, *, complete: bool) -> Floats:
    """A float table of at least two items by two raters, missing cells as NaN.

    With `complete` a missing cell is an error, since the measure is defined on full tables only. Constant ratings
    are refused: without any variation between items agreement is undefined (0 / 0), not perfect.
    """
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise InputError(
            f"Ratings have {values.ndim} dimension{'s' * (values.ndim != 1)}; a table of items x raters has two.",
            remedy="Give one row per item and one column per rater.",
        )
    n, k = values.shape
    if k < 2:
        raise TooFewErrors(
            f"Agreement needs two raters; {k} was given.", n=k, needed=2, remedy="Have a second one rate."
        )
    whole = n > 0 and np.isfinite(values.sum())  # one pass tells that no cell is missing or infinite
    if not whole and np.isinf(values).any():
        raise InputError("A rating is infinite.", remedy="Give finite ratings; leave missing ones empty (NaN).")
    gaps = 0 if whole else int(np.isnan(values).any(axis=1).sum())
    if complete and gaps:
        raise InputError(
            f"{gaps} of {n} items lack a rating by some rater, and this measure needs full rows.",
            remedy="Leave these items out and say so, or use Krippendorff's alpha, which takes missing cells.",
        )
    if n < 2:
        raise TooFewErrors(f"Agreement needs two rated items; {n} was given.", n=n, needed=2, remedy="Rate more.")
    seen = values if whole else values[~np.isnan(values)]
    if seen.size and seen.min() == seen.max():
        raise InputError(
            f"Agreement is undefined: every rating is {seen.min():g}.",
            remedy="Without variation between items no reliability exists; sample answers of differing quality.",
        )
    return values


def paired_ratings(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Two raters' scores of the same items, the items where either is missing left out."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            f"The two raters' scores have shapes {a.shape} and {b.shape}.",
            remedy="Give two rows of the same length, one score per item.",
        )
    both = ~(np.isnan(a) | np.isnan(b))
    if both.sum() < 2:
        n = int(both.sum())
        raise TooFewErrors(f"Only {n} item{'s were' if n != 1 else ' was'} scored by both.", n=n, needed=2)
    return a[both], b[both]


def level_counts(values: Floats) -> tuple[Floats, Ints]:
    """The distinct levels in order, and how many raters gave each item each level (items x levels)."""
    levels = np.unique(values[~np.isnan(values)])
    if len(levels) > MAX_LEVELS:
        raise InputError(
            f"The ratings take {len(levels)} distinct values; this measure is for a scale of at most {MAX_LEVELS}.",
            remedy="Round the ratings to a scale first, or use icc, which takes measurements.",
        )
    position = np.searchsorted(levels, values)
    counts = np.zeros((len(values), len(levels)), dtype=np.int64)
    rows, columns = np.nonzero(~np.isnan(values))
    np.add.at(counts, (rows, position[rows, columns]), 1)
    return levels, counts
