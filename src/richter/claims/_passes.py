"""Of k tries, one passes or all do: unbiased values of each item from its draws."""

import dataclasses

import numpy as np

from richter.claims._measures import Floats, Outcomes, pass_metric
from richter.errors import InputError

__all__ = ["passes"]

UNCORRECTED = "human labels correct no claim about tries: as it was graded"


def passes(outcomes: Outcomes, k: int, *, every: bool = False) -> Outcomes:
    """One value an item and condition: the chance that k of its draws, without replacement, hold a pass.

    With n draws of which c are right, pass@k = 1 - C(n - c, k) / C(n, k), and pass^k = C(c, k) / C(n, k): both are
    unbiased for k fresh draws, where powers of c / n are not. The item stays the unit, whatever the number of draws.
    """
    if outcomes.metric.kind != "binary":
        raise InputError(
            f"{outcomes.metric.name} is not right or wrong.",
            remedy="Give grades of 0 and 1, or a threshold on the score.",
        )
    if k < 1:
        raise InputError(f"k={k} is not a number of tries.", remedy="Give at least 1.")
    number = len(outcomes.conditions)
    cell = outcomes.item * number + outcomes.condition
    size = len(outcomes.items) * number
    n = np.bincount(cell, minlength=size)
    right = np.bincount(cell, weights=outcomes.value, minlength=size)
    few = (n > 0) & (n < k)
    if few.any():
        where = np.unique(np.flatnonzero(few) % number)
        names = ", ".join(outcomes.conditions[c] for c in where)
        raise InputError(
            f"{int(few.sum()):,} answers of {names} have fewer than {k} draws (the fewest: {int(n[few].min())}).",
            remedy=f"Draw {k} or more for every item, ask for a smaller k, or leave these items out.",
        )
    used = np.flatnonzero(n)
    drawn, good = n[used].astype(np.float64), right[used].astype(np.float64)
    value = _choose(good, k, drawn) if every else 1 - _choose(drawn - good, k, drawn)
    return dataclasses.replace(
        outcomes,
        metric=pass_metric(k, every=every),
        item=used // number,
        condition=used % number,
        value=value,
        draw=None,
        run=None,
        runs=(),
        label=None,
        layer=None,
        judges=outcomes.judges if outcomes.label is None else (),
        notes=outcomes.notes if outcomes.label is None else (*outcomes.notes, UNCORRECTED),
    )


def _choose(c: Floats, k: int, n: Floats) -> Floats:
    """C(c, k) / C(n, k); 0 where c < k."""
    from richter._special import gammaln  # not loaded by who reads tables and asks

    possible = np.maximum(c, k)
    logs = gammaln(possible + 1) - gammaln(possible - k + 1) - gammaln(n + 1) + gammaln(n - k + 1)
    found: Floats = np.where(c >= k, np.exp(logs), 0.0)
    return found
