"""Numbers and names as a reader meets them: short, with their unit, and never a control character."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from richter.records import printable


def _finite(value: Any) -> float | None:
    """A number, or None where there is none: undefined and infinite values are not numbers to print."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def name(value: Any, *, limit: int = 120) -> str:
    """A name from outside (a condition, a judge, a category) on one line, cut to `limit`."""
    return printable(str(value), limit=limit)


def percent(value: Any) -> str:
    """A share as a percentage with the decimals that its size deserves."""
    share = _finite(value)
    if share is None:
        return "–"
    hundred = 100 * share
    if hundred and abs(hundred) < 0.1:
        return f"{hundred:.2g}%"
    return f"{hundred:.1f}%"


def number(value: Any, *, digits: int = 3) -> str:
    """A number to `digits` significant digits, thousands grouped."""
    finite = _finite(value)
    if finite is None:
        return {"Infinity": "∞", "-Infinity": "−∞"}.get(value, "–") if isinstance(value, str) else "–"
    if finite == int(finite) and abs(finite) < 1e15:
        return f"{int(finite):,}"
    if abs(finite) >= 1000:
        return f"{finite:,.0f}"
    return f"{finite:.{digits}g}"


def signed(value: Any, *, digits: int = 3) -> str:
    """A number with its sign."""
    finite = _finite(value)
    return "–" if finite is None else f"{finite:+.{digits}g}"


def count(value: Any, noun: str, plural: str | None = None) -> str:
    """'1 answer', '1,200 answers'."""
    return f"{number(value)} {noun if value == 1 else plural or noun + 's'}"


def interval_words(interval: Mapping[str, Any] | None, *, as_percent: bool) -> str:
    """'(95% CI 79.9% to 89.0%)' or '(95% CI 0.21 to 0.4)'."""
    if not interval:
        return ""
    show, level = percent if as_percent else number, interval.get("level")
    named = f"{number(100 * level)}% CI " if isinstance(level, int | float) else ""
    return f"({named}{show(interval.get('low'))} to {show(interval.get('high'))})"


def among(names: Sequence[Any], *, most: int = 3, limit: int = 40) -> str:
    """'a, b and c', or 'a, b, c and 4 more'."""
    shown = [name(n, limit=limit) for n in names[:most]]
    rest = len(names) - len(shown)
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " and " + shown[-1] if shown else "none"
