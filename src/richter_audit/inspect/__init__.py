"""The Inspect extension, found by its entry point: `inspect eval richter/facts --model richter/smollm2`.

Inspect names what it finds by the package that defines it. All of ours is `richter/...`, whichever of the two packages
it is in.
"""

from richter.plugins.inspect import *
from richter.plugins.inspect import __all__ as _core
from richter_audit.inspect._provider import richter_provider
from richter_audit.inspect._severity_scorers import panel, severity
from richter_audit.inspect._task import facts

__all__ = [*_core, "facts", "panel", "richter_provider", "severity"]
