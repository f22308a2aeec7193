"""The Inspect extension, found by its entry point: `inspect eval richter/facts --model richter/smollm2`."""

from richter.plugins.inspect._metrics import error_rate, mean_severity, severity_rate, slope_b, tail_mean, tail_shape
from richter.plugins.inspect._provider import richter_provider
from richter.plugins.inspect._semantic import sem_ece, semantic
from richter.plugins.inspect._severity_scorers import panel, severity
from richter.plugins.inspect._stop_when import StopWhen
from richter.plugins.inspect._task import facts

__all__ = [
    "StopWhen",
    "error_rate",
    "facts",
    "mean_severity",
    "panel",
    "richter_provider",
    "sem_ece",
    "semantic",
    "severity",
    "severity_rate",
    "slope_b",
    "tail_mean",
    "tail_shape",
]
