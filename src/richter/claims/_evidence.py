"""What one estimator says of one quantity, at any level: the form in which evidence reaches a decision."""

import dataclasses
import math
from collections.abc import Callable

from richter.errors import InputError
from richter.records import Interval, Unit

__all__ = ["UNPAIRED", "Evidence", "one_draw", "one_run"]

UNPAIRED = "different items per condition: not paired"
TYPICAL = "ratio of geometric means"
LEAST_FREEDOM = 4.0  # degrees of freedom of a t test below which nothing is decided


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """An estimate with its interval at every level, made by inverting one test.

    `interval(level)` is two-sided and nested: a higher level contains a lower one. `p(value)` is the two-sided
    p-value of the quantity being `value`; where it is None it is found from the intervals, so that p <= 1 - level
    exactly where the interval at `level` excludes the value. With two conditions the estimate is the second minus the
    first; `values` are the conditions' own. `standard_error` is for sizing only, None where there is none; a t
    test takes it with `freedom` degrees.
    `labels` counts the human labels that corrected what others graded; 0 where none did. `judged` says whose grades
    these are where judge models gave them and no labels corrected them. `relative`: the estimate is the second over the
    first, minus 1 (amounts with heavy tails), and `means` are the plain means. `sides`: where two conditions have
    different items, how many each. `counts`: both are plain rates, with exact limits of their counts.
    """

    estimate: float
    interval: Callable[[float], Interval]
    p: Callable[[float], float] | None = None
    values: tuple[float, ...] = ()
    n: int = 0
    units: int = 0
    unit: Unit = "item"
    standard_error: float | None = None
    freedom: float = math.inf
    labels: int = 0
    judged: str = ""
    relative: bool = False
    sides: tuple[int, ...] = ()
    counts: bool = False
    means: tuple[float, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def against(self) -> str:
        """That the sums, which are what is paid, go another way than the ratio of a typical item; else empty."""
        if len(self.means) < 2 or self.estimate * (self.means[1] - self.means[0]) >= 0:
            return ""
        return f"; in sum it is the other way round: {self.means[0]:.4g} and {self.means[1]:.4g} an item on average"


def joint_freedom(*parts: tuple[float | None, float]) -> float:
    """Welch's degrees of freedom of a sum of independent parts, from their standard errors and degrees of freedom."""
    known = [(error**2, freedom) for error, freedom in parts if error is not None]
    spent = sum(v**2 / freedom for v, freedom in known)
    return sum(v for v, _ in known) ** 2 / spent if spent > 0 else math.inf


def one_draw(alone: int, items: int) -> InputError:
    """Why nothing is said about these very items."""
    return InputError(
        f"{alone} of {items} items have one draw, so that nothing says how much draws vary.",
        remedy="Give two draws an item, or ask about such items.",
    )


def one_run(name: str = "") -> InputError:
    """Why nothing is said about such runs."""
    who = f"{name} has" if name else "There is"
    return InputError(
        f"{who} one run, so every sentence is about this checkpoint and this prompt.",
        remedy="Give a `run` column with several seeds, checkpoints or templates, or ask about such items.",
    )
