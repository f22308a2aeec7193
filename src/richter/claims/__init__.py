"""Outcomes in, claims out: one test and its own inversion per kind of data, by unit, with one family per page.

Pure: arrays and records only. `Outcomes` is one metric on items, draws and groups; every reader makes it and every
claim on a score uses it.
"""

from richter.claims._evidence import Evidence, p_value
from richter.claims._outcomes import METRICS, Metric, Outcomes, unit_means

__all__ = ["METRICS", "Evidence", "Metric", "Outcomes", "p_value", "unit_means"]
