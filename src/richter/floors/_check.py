"""Rules that the arguments of every calculator obey."""

import math

from richter.errors import InputError


def check_n(**values: float) -> None:
    """Numbers of items or labels: finite and at least 1."""
    for name, n in values.items():
        if not (math.isfinite(n) and n >= 1):
            raise InputError(f"{name}={n} is not a number of items.", remedy="Give a number of at least 1.")


def check_share(*, zero: bool = False, **values: float) -> None:
    """Rates in (0, 1), or in [0, 1] with `zero`."""
    for name, value in values.items():
        if not (0 <= value <= 1 if zero else 0 < value < 1):
            span = "[0, 1]" if zero else "(0, 1)"
            raise InputError(f"{name}={value} is not a share in {span}.", remedy="Divide percentages by 100.")


def check_positive(**values: float) -> None:
    """Finite numbers above 0."""
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InputError(f"{name}={value} must be a finite number above 0.", remedy="Check its unit.")


def check_level(level: float) -> None:
    """A confidence level in (0, 1)."""
    if not 0 < level < 1:
        raise InputError(f"A confidence level of {level} is not between 0 and 1.", remedy="Use 0.95 for 95%.")
