"""Simulations in tests: a seeded sample of their trials in `make test`, all of them in `make soak`."""

import os

from scipy.stats import binom

__all__ = ["RUNS_ALL", "fewest_hits", "most_hits", "n_trials"]

RUNS_ALL = os.environ.get("RICHTER_TRIALS") == "all"  # `make soak`: every trial, and every case of a `sampled` test
SHARE = 1 if RUNS_ALL else 4
CHANCE = 0.002  # that what keeps its promise exactly fails a test


def n_trials(whole: int) -> int:
    """A quarter of the trials, all of them where RICHTER_TRIALS is `all`."""
    return whole // SHARE


def most_hits(trials: int, rate: float) -> int:
    """The number of hits that a rate exceeds with a chance of at most CHANCE, by the binomial law."""
    return int(binom.ppf(1 - CHANCE, trials, rate))


def fewest_hits(trials: int, rate: float) -> int:
    """The number of hits that a rate falls short of with a chance of at most CHANCE, by the binomial law."""
    return int(binom.ppf(CHANCE, trials, rate))
