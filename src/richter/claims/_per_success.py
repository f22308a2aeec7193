"""What one success costs: the total paid for all runs over the number that succeeded, by task."""

import dataclasses
import math

import numpy as np

from richter.claims._question import Evidence
from richter.claims._totals import Bills, as_mean_of_logs, as_ratio_of_logs, with_resampled_reach
from richter.claims._units import Sample, difference_evidence, mean_evidence, weights_of
from richter.errors import InputError
from richter.stats import Bools

__all__ = ["per_success_evidence"]

MIN_SUCCESSES = 5  # tasks with one at the least, below which a ratio has no interval worth its level


def per_success_evidence(amounts: Sample, successes: Sample, conditions: tuple[str, ...]) -> Evidence:
    """One condition's cost per success, or the second's over the first's, minus 1.

    With m_i what the runs of task i cost on average and s_i the share of them that succeed, the cost per success is
    R = sum(m_i) / sum(s_i): failed runs are paid for, too. A task enters as log(R) + m_i / mean(m) - s_i / mean(s),
    whose mean is log(R) and whose spread is that of log(R) to first order; the task is the unit and its runs are
    repeats. The limits are turned back from the logarithm: of two conditions Student's, of one those of resampled tasks
    (bootstrap-t with the guard of `total_evidence`), since expensive tasks are rare and skew one sum more than a ratio
    of two. A condition with successes on fewer than five tasks has no such ratio.
    """
    columns = [amounts.place(name) for name in conditions]
    known: Bools = np.asarray(~np.isnan(amounts.mean[:, columns] + successes.mean[:, columns]).any(axis=1))
    weights = weights_of(amounts.outcomes.weight, known)
    mean, ratios = np.full_like(amounts.mean, np.nan), []
    for name, k in zip(conditions, columns, strict=True):
        paid, won = amounts.mean[known, k], successes.mean[known, k]
        _check(name, paid, won, amounts.metric.noun)
        total, share = float(np.average(paid, weights=weights)), float(np.average(won, weights=weights))
        ratios.append(total / share)
        mean[known, k] = math.log(ratios[-1]) + paid / total - won / share
    metric = dataclasses.replace(amounts.metric, low=None, high=None)
    logs = Sample(
        outcomes=dataclasses.replace(amounts.outcomes, metric=metric, draw=None, run=None, runs=()),
        mean=mean,
        draws=(~np.isnan(mean)).astype(np.intp),
        within=np.zeros_like(mean),
    )
    if len(conditions) == 1:
        two = dataclasses.replace(
            amounts, mean=np.stack([successes.mean[:, columns[0]], amounts.mean[:, columns[0]]], 1)
        )
        found = with_resampled_reach(mean_evidence(logs, conditions[0]), Bills.of(two, [0, 1], known), "new-items")
        return as_mean_of_logs(found)
    return as_ratio_of_logs(difference_evidence(logs, *conditions), tuple(ratios))


def _check(name: str, paid: np.ndarray, won: np.ndarray, noun: str) -> None:
    """Refuse what has no ratio: no amounts, a total of 0, amounts below 0, hardly any success."""
    if not len(paid) or not paid.any():
        raise InputError(f"{name} has no amounts ({noun}).", remedy="Leave this measure out, or give amounts.")
    if (paid < 0).any():
        raise InputError(f"{name} has amounts below 0 ({noun}).", remedy="Correct them: an amount is paid.")
    if np.sum(won > 0) < MIN_SUCCESSES:
        raise InputError(
            f"{name} succeeds on {int(np.sum(won > 0))} of {len(won)} questions: too few for {noun}.",
            remedy="Compare success and cost one by one.",
        )
