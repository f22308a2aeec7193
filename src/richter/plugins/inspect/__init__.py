"""What Inspect loads of the core: metrics, semantic calibration and early stopping.

The task, the judges and the local models are in `richter_audit.inspect`, which the entry point names.
"""

from richter.plugins.inspect._metrics import error_rate, mean_severity, severity_rate, tail_mean
from richter.plugins.inspect._semantic import sem_ece, semantic
from richter.plugins.inspect._stop_when import StopWhen

__all__ = [
    "StopWhen",
    "error_rate",
    "mean_severity",
    "sem_ece",
    "semantic",
    "severity_rate",
    "tail_mean",
]
