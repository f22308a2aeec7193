"""Evidence on calibration: the confidences of graded answers, by unit."""

import dataclasses
import functools

import numpy as np

from richter.claims import (
    EceSide,
    Evidence,
    Question,
    as_judged,
    ece_difference,
    ece_evidence,
    ece_side,
    has_runs,
)
from richter.errors import InputError
from richter.evidence._checks import Policy
from richter.evidence._facts import confident_counts, graded_rows, once, outcomes_of
from richter.stats import Bools
from richter.tables import Dataset, judges_of

__all__ = ["estimate_ece"]


@once
def _side_of(dataset: Dataset, k: int, items: bytes, by_run: bool) -> EceSide:
    """One condition's calibration on some of the items."""
    graded = graded_rows(dataset)
    confidence, correct, item = graded.of(k)
    kept = ~np.isnan(confidence) & np.frombuffer(items, dtype=bool)[item]
    run = graded.run[graded.condition == k][kept] if by_run and graded.run is not None else None
    return ece_side(confidence[kept], correct[kept], item[kept], group=graded.group, weight=graded.weight, run=run)


def estimate_ece(dataset: Dataset, question: Question, policy: Policy) -> Evidence:
    """The calibration error of one condition, or the second's minus the first's on the items that both have.

    Where they share none, or `unpaired`, each has its own.
    """
    counts = confident_counts(dataset)
    has: list[Bools] = [counts[:, dataset.conditions.index(name)] > 0 for name in question.conditions]
    if not all(h.any() for h in has):
        raise InputError("No graded answer has a confidence.", remedy="Give a `confidence` column.")
    use = has
    judged = as_judged(judges_of(dataset, "accuracy"))
    rows = outcomes_of(dataset, "accuracy")
    by_run = has_runs(rows, *(rows.conditions.index(name) for name in question.conditions))
    side = functools.partial(_side_of, dataset)
    if len(has) == 1:
        found = ece_evidence(side(dataset.conditions.index(question.conditions[0]), use[0].tobytes(), by_run))
        return dataclasses.replace(found, judged=judged)
    both = has[0] & has[1]
    is_unpaired = policy.unpaired or not both.any()
    use = has if is_unpaired else [both, both]
    number = (int(np.sum(use[0])), int(np.sum(use[1])))
    if min(number) < 2:
        raise InputError("Fewer than two items have a confidence.", remedy="Give confidences of more answers.")
    one, two = (
        side(dataset.conditions.index(name), kept.tobytes(), by_run)
        for name, kept in zip(question.conditions, use, strict=True)
    )
    found = dataclasses.replace(ece_difference(one, two, paired=not is_unpaired), judged=judged)
    return dataclasses.replace(found, sides=number, n=sum(number)) if is_unpaired else found
